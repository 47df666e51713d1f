"""BVH motion capture: joints, offsets and frames of Euler angles as a Clip."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .. import rotations
from ..avatar.errors import AssetError
from ..avatar.skeleton import Skeleton
from .clip import Clip, checked
from .names import roles_of

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
TALL = 1.7  # metres from the lowest to the highest joint of a person at rest; BVH files state no unit
METRIC = (1.2, 2.3)  # metres: a figure of this height is taken as it is
MAX_JOINTS, MAX_FRAMES = 2000, 1_000_000


class _Reader:
    """The words of the HIERARCHY part, one after another, with the line they stand in for messages."""

    def __init__(self, file: str, lines: list[str]):
        self.file = file
        self.words = [(word, n) for n, line in enumerate(lines, start=1) for word in line.split()]
        self.at = 0

    def error(self, found: str, wanted: str) -> AssetError:
        line = self.words[min(self.at, len(self.words) - 1)][1] if self.words else 1
        return AssetError(self.file, f"line {line}", found, wanted)

    def next(self, wanted: str = "more") -> str:
        if self.at >= len(self.words):
            raise self.error("the end of the file", wanted)
        self.at += 1
        return self.words[self.at - 1][0]

    def expect(self, word: str) -> None:
        found = self.next(word)
        if found.lower() != word.lower():
            self.at -= 1
            raise self.error(repr(found), word)

    def number(self) -> float:
        text = self.next("a number")
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            self.at -= 1
            raise self.error(repr(text), "a finite number")
        return value

    def name(self) -> str:
        """A joint's name, which may have spaces: everything before the opening brace."""
        words = []
        while self.at < len(self.words) and self.words[self.at][0] != "{":
            words.append(self.next())
        return " ".join(words)


def read_bvh(path, unit: float | None = None) -> Clip:
    """The clip of a BVH file; AssetError names the line that is wrong.

    unit: metres of one unit of length. Without it a figure 1.2 to 2.3 units tall is in metres, one a hundred times as
    tall in centimetres, and any other is made 1.7 m tall; the clip's notes say which. The rest pose is the file's
    offsets without rotation. End sites become joints without tracks, so that toes and head have a length.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError as why:
        raise AssetError(str(path), "file", why.strerror or str(why), "a BVH file") from None
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.strip().upper().startswith("MOTION")), None)
    if not text.lstrip().upper().startswith("HIERARCHY") or start is None:
        raise AssetError(str(path), "file", "no HIERARCHY or no MOTION", "a BVH file with both")
    reader = _Reader(str(path), lines[:start])
    names, parents, offsets, channels = _hierarchy(reader)
    width = sum(len(c) for c in channels)
    seconds, frames = _motion(str(path), lines, start, width)
    offsets = np.array(offsets)
    size, note = _unit(names, parents, offsets) if unit is None else (unit, f"a unit is {unit:g} m, as asked for")
    skeleton = Skeleton(
        tuple(names),
        np.array(parents),
        offsets * size,
        np.tile(rotations.IDENTITY, (len(names), 1)),
        np.ones((len(names), 3)),
    )
    times = np.arange(len(frames)) * seconds
    tracks, column = [], 0
    for node, own in enumerate(channels):
        block = frames[:, column : column + len(own)]
        column += len(own)
        tracks += _joint_tracks(str(path), names[node], node, own, block, times, skeleton.translations[node], size)
    length = float(times[-1])
    return Clip(path.stem, length, skeleton, tuple(tracks), roles_of(skeleton), str(path), None, (note,))


def _hierarchy(reader: _Reader):
    """Names, parents, offsets and channels of every joint; an end site has no channels."""
    names, parents, offsets, channels = [], [], [], []
    reader.expect("HIERARCHY")
    stack: list[int] = []
    while reader.at < len(reader.words):
        word = reader.next().upper()
        if word == "}":
            if not stack:
                raise reader.error("a closing brace too many", "as many as opening ones")
            stack.pop()
            continue
        if word not in ("ROOT", "JOINT", "END"):
            reader.at -= 1
            raise reader.error(repr(word), "ROOT, JOINT, End Site or }")
        if word != "ROOT" and not stack:
            raise reader.error(f"{word} outside of any joint", "a ROOT first")
        if word == "END":
            reader.name()
            name = f"{names[stack[-1]]}_end"
        else:
            name = reader.name()
        reader.expect("{")
        names.append(name)
        parents.append(stack[-1] if stack else -1)
        stack.append(len(names) - 1)
        if len(names) > MAX_JOINTS:
            raise reader.error(f"more than {MAX_JOINTS} joints", "a person")
        reader.expect("OFFSET")
        offsets.append([reader.number() for _ in range(3)])
        channels.append(_channels(reader) if word != "END" else ())
    if stack or not names:
        raise reader.error("the end of the hierarchy", "a closing brace for every joint")
    return names, parents, offsets, channels


def _channels(reader: _Reader) -> tuple[str, ...]:
    if reader.at >= len(reader.words) or reader.words[reader.at][0].upper() != "CHANNELS":
        return ()
    reader.next()
    count = int(reader.number())
    own = tuple(reader.next("a channel").lower() for _ in range(count))
    for name in own:
        if name[:1] not in AXES or name[1:] not in ("position", "rotation"):
            raise reader.error(repr(name), "Xposition ... Zrotation")
    if len(set(own)) != len(own):
        raise reader.error("the same channel twice", "each channel once")
    return own


def _motion(file: str, lines: list[str], start: int, width: int) -> tuple[float, np.ndarray]:
    """Seconds of a frame and the (F, width) numbers of all frames."""
    header: dict[str, float] = {}
    at = start + 1
    while at < len(lines) and len(header) < 2:
        key, _, value = lines[at].partition(":")
        if lines[at].strip():
            try:
                header[key.strip().lower()] = float(value)
            except ValueError:
                raise AssetError(file, f"line {at + 1}", repr(lines[at][:40]), "Frames: N and Frame Time: S") from None
        at += 1
    count, seconds = header.get("frames"), header.get("frame time")
    if count is None or not 1 <= count <= MAX_FRAMES:
        raise AssetError(file, "Frames", str(count), f"1 to {MAX_FRAMES} frames")
    if seconds is None or not 0.0 < seconds < 10.0:
        raise AssetError(file, "Frame Time", str(seconds), "seconds of one frame")
    rows = [(n, line.split()) for n, line in enumerate(lines[at:], start=at + 1) if line.strip()]
    if len(rows) < count:
        raise AssetError(file, "MOTION", f"{len(rows)} frames", f"{int(count)}, as the header says")
    for n, row in rows[: int(count)]:
        if len(row) != width:
            raise AssetError(file, f"line {n}", f"{len(row)} numbers", f"{width}, one for each channel")
    try:
        frames = np.array([row for _, row in rows[: int(count)]], dtype=np.float64)
    except ValueError as why:
        raise AssetError(file, "MOTION", str(why), "numbers") from None
    bad = np.flatnonzero(~np.isfinite(frames).all(axis=1))
    if len(bad):
        raise AssetError(file, f"line {rows[int(bad[0])][0]}", "a value that is not finite", "finite numbers")
    return seconds, frames.reshape(int(count), width)


def _unit(names, parents, offsets: np.ndarray) -> tuple[float, str]:
    """Metres of one unit, from the height of the figure at rest (its legs and trunk stretched out)."""
    reach = np.zeros(len(names))
    for node, parent in enumerate(parents):
        if parent >= 0:
            reach[node] = reach[parent] + np.linalg.norm(offsets[node])
    roles = roles_of(Skeleton(tuple(names), np.array(parents), offsets, np.zeros((len(names), 4)), offsets))
    ends = [n for n, p in enumerate(parents) if n not in parents]
    feet = [e for e in ends if _below(parents, e, roles.get("leftUpperLeg", -1))]
    heads = [e for e in ends if _below(parents, e, roles.get("head", -1))]
    tall = max((reach[e] for e in feet), default=0.0) + max((reach[e] for e in heads), default=0.0)
    if not feet or not heads:
        tall = float(np.ptp(offsets.cumsum(axis=0)[:, 1])) or 1.0
    for size, name in ((1.0, "metre"), (0.01, "centimetre")):
        if METRIC[0] <= tall * size <= METRIC[1]:
            return size, f"a figure {tall:.4g} units tall: a unit is a {name}"
    return TALL / tall, f"a figure {tall:.4g} units tall: made {TALL} m tall, a unit is {TALL / tall:.4g} m"


def _below(parents, node: int, wanted: int) -> bool:
    while node >= 0 and node != wanted:
        node = parents[node]
    return node >= 0


def _joint_tracks(file: str, name: str, node: int, own, block, times, offset, size):
    """Rotation and translation tracks of one joint; rotations multiply in the order of their channels."""
    turn = np.tile(rotations.IDENTITY, (len(times), 1))
    place = np.tile(offset, (len(times), 1))
    for k, channel in enumerate(own):
        if channel.endswith("rotation"):
            q = rotations.from_axis_angle(np.array(AXES[channel[0]]), np.radians(block[:, k]))
            turn = rotations.multiply(turn, q)
        else:
            place[:, "xyz".index(channel[0])] = block[:, k] * size
    tracks = []
    if any(c.endswith("rotation") for c in own):
        tracks.append(checked(file, f"joint {name}", node, "rotation", "LINEAR", times, turn))
    if any(c.endswith("position") for c in own):
        tracks.append(checked(file, f"joint {name}", node, "translation", "LINEAR", times, place))
    return tracks
