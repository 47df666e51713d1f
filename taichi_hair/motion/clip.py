"""Clip: keyed tracks of one animation on the skeleton of its file, sampled at any time as the file says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from .. import rotations
from ..avatar.accessors import read_accessor
from ..avatar.document import Document, read_document
from ..avatar.errors import AssetError
from ..avatar.fields import Item, describe
from ..avatar.nodes import read_skeleton
from ..avatar.skeleton import Skeleton
from .names import mapped_roles, roles_of

PATHS = {"translation": 3, "rotation": 4, "scale": 3}
INTERPOLATIONS = ("LINEAR", "STEP", "CUBICSPLINE")


@dataclass(frozen=True, eq=False)
class KeyTrack:
    """Keys of one property of one node. Rotations are unit quaternions without sign flips between neighbours."""

    node: int
    path: str  # "translation", "rotation" or "scale"
    interpolation: str
    times: np.ndarray  # (K,) seconds, increasing
    values: np.ndarray  # (K, D); CUBICSPLINE (K, 3, D): in-tangent, value, out-tangent

    def sample(self, times: np.ndarray) -> np.ndarray:
        """(T, D) values at times (T,); the first and the last key hold outside."""
        return interpolate(self.interpolation, self.path, self.times, self.values[:, None], times)[:, 0]


def interpolate(kind: str, path: str, keys: np.ndarray, values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """(T, M, D) values at times (T,) of M tracks with common key times (K,); values (K, M, D) or (K, M, 3, D)."""
    cubic = kind == "CUBICSPLINE"
    points = values[:, :, 1] if cubic else values
    if len(keys) == 1:
        return np.repeat(points, len(times), axis=0)
    k = np.clip(np.searchsorted(keys, times, side="right") - 1, 0, len(keys) - 2)
    span = keys[k + 1] - keys[k]
    u = np.clip((times - keys[k]) / span, 0.0, 1.0)
    if kind == "STEP":
        return points[np.where(u >= 1.0, k + 1, k)]
    a, b = points[k], points[k + 1]
    w = u[:, None, None]
    if cubic:
        m0, m1 = values[k][:, :, 2] * span[:, None, None], values[k + 1][:, :, 0] * span[:, None, None]
        w2, w3 = w * w, w * w * w
        out = (2 * w3 - 3 * w2 + 1) * a + (w3 - 2 * w2 + w) * m0 + (3 * w2 - 2 * w3) * b + (w3 - w2) * m1
        if path == "rotation":
            out = rotations.normalise(out)
    elif path == "rotation":
        out = rotations.slerp(a, b, np.broadcast_to(u[:, None], a.shape[:2]))
    else:
        out = a + (b - a) * w
    # Exactly the key where a time is a key, whatever the arithmetic above rounds to.
    out = np.where(w <= 0.0, a, out)
    return np.where(w >= 1.0, b, out)


@dataclass(frozen=True, eq=False)
class Clip:
    """One animation: tracks on a skeleton, whose own transforms are the pose before anything animates."""

    name: str
    seconds: float  # last key, measured from 0
    skeleton: Skeleton
    tracks: tuple[KeyTrack, ...]
    humanoid: dict[str, int] = field(default_factory=dict)  # VRM 1.0 role -> node
    file: str = ""
    floor: float | None = 0.0  # metres of height; None where the file does not say
    notes: tuple[str, ...] = ()

    @cached_property
    def keyed(self) -> frozenset[int]:
        """Nodes that have a track."""
        return frozenset(track.node for track in self.tracks)

    @cached_property
    def key_times(self) -> np.ndarray:
        """(K,) all key times, increasing."""
        found = [t.times for t in self.tracks]
        return np.unique(np.concatenate([np.zeros(1), *found])) if found else np.zeros(1)

    @cached_property
    def rate(self) -> float:
        """Keys a second of the densest track; 30 where there is none."""
        count = max((len(t.times) for t in self.tracks), default=1)
        return (count - 1) / self.seconds if self.seconds > 0.0 and count > 1 else 30.0

    @cached_property
    def _groups(self):
        """Tracks of one path, interpolation and set of key times together, for few and large array operations."""
        groups: dict[tuple, list[KeyTrack]] = {}
        for track in self.tracks:
            groups.setdefault((track.path, track.interpolation, track.times.tobytes()), []).append(track)
        return [
            (path, kind, own[0].times, np.array([t.node for t in own]), np.stack([t.values for t in own], axis=1))
            for (path, kind, _), own in groups.items()
        ]

    def local_time(self, times: np.ndarray, loop: bool) -> np.ndarray:
        """Times (T,) brought into the clip: wrapped, or held at its ends."""
        times = np.asarray(times, dtype=np.float64)
        if loop and self.seconds > 0.0:
            return times - self.seconds * np.floor(times / self.seconds)
        return np.clip(times, 0.0, self.seconds)

    def sample(self, times: np.ndarray, loop: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Local translations (T, N, 3), rotations (T, N, 4) and scales (T, N, 3) at times (T,) in seconds."""
        times = self.local_time(np.atleast_1d(times), loop)
        s = self.skeleton
        out = {
            "translation": np.repeat(s.translations[None], len(times), axis=0),
            "rotation": np.repeat(s.rotations[None], len(times), axis=0),
            "scale": np.repeat(s.scales[None], len(times), axis=0),
        }
        for path, kind, keys, nodes, values in self._groups:
            out[path][:, nodes] = interpolate(kind, path, keys, values, times)
        return out["translation"], out["rotation"], out["scale"]


def load_clips(path, mapping: Mapping[str, str] | str | Path | None = None) -> tuple[Clip, ...]:
    """All clips of a GLB, glTF, VRM, VRMA or BVH file, in file order; AssetError says what is wrong with it.

    Roles come from the file's humanoid map, from `mapping` (role -> joint name, or a JSON file of that), or else from
    the joints' names.
    """
    path = Path(path)
    if path.suffix.lower() == ".bvh":
        from .bvh import read_bvh

        clips = (read_bvh(path),)
    else:
        clips = clips_of(read_document(path))
    if mapping is not None:
        return tuple(replace(c, humanoid=mapped_roles(c.skeleton, mapping, c.file)) for c in clips)
    return clips


def load_clip(path, which: int | str = 0, mapping: Mapping[str, str] | str | Path | None = None) -> Clip:
    """One clip of a file, by number or by name; see `load_clips`."""
    clips = load_clips(path, mapping)
    names = [clip.name for clip in clips]
    if isinstance(which, str):
        if names.count(which) != 1:
            found = f"{names.count(which)} clips named {which!r}"
            raise AssetError(str(path), "animations", found, f"one of {', '.join(map(repr, names)) or 'none'}")
        return clips[names.index(which)]
    if not 0 <= which < len(clips):
        raise AssetError(str(path), "animations", f"{len(clips)} clips", f"at least {which + 1}")
    return clips[which]


def clips_of(document: Document) -> tuple[Clip, ...]:
    """The clips of a glTF document. A VRM animation's humanoid map, or a VRM avatar's, gives the roles."""
    from .vrma import read_roles

    skeleton = read_skeleton(document)
    vrma, roles = read_roles(document, skeleton)
    if not roles:
        roles = roles_of(skeleton)
    clips = []
    for index, item in enumerate(document.items("animations")):
        tracks, notes = _tracks(document, item, skeleton)
        seconds = max((float(t.times[-1]) for t in tracks), default=0.0)
        name = item.text("name", "") or f"{Path(document.file).stem}{index or ''}"
        clips.append(Clip(name, seconds, skeleton, tracks, roles, document.file, 0.0, (*vrma, *notes)))
    return tuple(clips)


def _tracks(document: Document, animation: Item, skeleton: Skeleton) -> tuple[tuple[KeyTrack, ...], list[str]]:
    samplers = animation.children("samplers")
    tracks: dict[tuple[int, str], KeyTrack] = {}
    notes = []
    for channel in animation.children("channels"):
        target = channel.child("target")
        if target is None:
            raise channel.error("target", "nothing", "a node and a path")
        path = target.text("path")
        sampler = samplers[channel.integer("sampler", below=len(samplers))]
        node = target.integer("node", None, below=len(skeleton))
        if node is None or path in ("weights", "pointer"):
            notes.append(f"{channel.where}: {'no target node' if node is None else path}; left out")
            continue
        if path not in PATHS:
            raise target.error("path", describe(path), "translation, rotation, scale or weights")
        if (node, path) in tracks:
            raise channel.error("target", f"a second {path} track of node {node}", "one track per property of a node")
        tracks[node, path] = _track(document, sampler, node, path)
    return tuple(tracks.values()), notes


def _track(document: Document, sampler: Item, node: int, path: str) -> KeyTrack:
    kind = sampler.text("interpolation", "LINEAR")
    if kind not in INTERPOLATIONS:
        raise sampler.error("interpolation", describe(kind), ", ".join(INTERPOLATIONS))
    size = PATHS[path]
    source, target = sampler.integer("input"), sampler.integer("output")
    times = read_accessor(document, source, ("SCALAR",)).astype(np.float64)
    values = read_accessor(document, target, ("VEC4" if size == 4 else "VEC3",)).astype(np.float64)
    where = f"{sampler.where} of node {node}"
    per_key = 3 if kind == "CUBICSPLINE" else 1
    if len(times) == 0:
        raise document.error(f"{where}: input", "no keys", "at least one")
    if len(values) != per_key * len(times):
        raise document.error(f"{where}: output", f"{len(values)} values", f"{per_key * len(times)} for the keys")
    if per_key == 3:
        values = values.reshape(len(times), 3, size)
    return checked(document.file, where, node, path, kind, times, values)


def checked(file: str, where: str, node: int, path: str, kind: str, times, values) -> KeyTrack:
    """A track whose keys are in order, finite and, for rotations, unit quaternions on one side."""
    if not np.isfinite(times).all() or not np.isfinite(values).all():
        raise AssetError(file, where, "a key that is not finite", "finite numbers")
    back = np.flatnonzero(np.diff(times) < 0.0)
    if len(back) or times[0] < 0.0:
        k = int(back[0]) + 1 if len(back) else 0
        raise AssetError(file, where, f"key {k} at {times[k]:g} s", "times from 0 on, in increasing order")
    kept = np.append(np.diff(times) > 0.0, True)  # of keys at one time the last one counts
    times, values = times[kept], np.array(values[kept])
    if path == "rotation":
        points = values[:, 1] if kind == "CUBICSPLINE" else values
        length = np.linalg.norm(points, axis=-1)
        if (length < 1e-6).any():
            k = int(np.argmin(length))
            raise AssetError(file, where, f"key {k} with a quaternion of length {length[k]:.2g}", "unit quaternions")
        if kind == "CUBICSPLINE":
            values /= length[:, None, None]
        else:
            values /= length[:, None]
        points = values[:, 1] if kind == "CUBICSPLINE" else values
        turned = np.cumsum(np.append(0, np.sum(points[1:] * points[:-1], axis=-1) < 0.0)) % 2 == 1
        values[turned] *= -1.0
    values.setflags(write=False)
    return KeyTrack(node, path, kind, times, values)
