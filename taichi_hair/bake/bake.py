"""bake(): hair motion as rotation tracks in the avatar's own file or in a VRM animation, played back and compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from .. import rotations
from ..avatar.avatar import Avatar
from ..avatar.document import parse_document
from ..avatar.errors import AssetError
from ..avatar.secondary_animation import HALF_TURN
from ..avatar.skeleton import Skeleton
from ..hair import HairRig
from ..motion.body import Motion
from ..motion.carried import carry
from ..motion.clip import KeyTrack, clips_of
from ..motion.played import Retargeted
from ..motion.retarget import retarget
from ..rig.fitted import owner
from ..rig.floor import with_floor
from ..version import __version__
from .export import with_animation
from .files import write_unseen
from .take import Seam, Take, Weight, end_points, in_place, played, posed, take, within
from .tracks import Tracks, body_tracks, tracks_of
from .vrma import Lean, lean, lean_tracks, vrma_bytes

SPRINGS = "VRM players swing the file's own springs over these tracks: switch their spring bones off to see them"
ENDINGS = (".glb", ".vrm", ".gltf", ".vrma")


@dataclass(frozen=True)
class BakeReport:
    """What was baked, and how well the file plays back."""

    avatar: str
    motion: str
    path: str
    solver: str
    seconds: float
    fps: float
    loop: bool
    chains: int
    hair_tracks: int
    body_tracks: int
    keys: int  # of hair, kept
    keys_recorded: int
    key_error_mm: float  # between keys, worst
    playback_mm: float  # the written file against the simulation, at the kept keys, worst end point
    seam: Seam | None
    bytes: int
    notes: tuple[str, ...]

    def to_dict(self) -> dict:
        return asdict(self)


def bake(
    avatar: Avatar,
    rig: HairRig | None,
    motion: Motion,
    path,
    *,
    loop: bool | None = None,
    fps: float = 60.0,
    solver: str = "rod",
    contact: str | None = None,
    error_mm: float = 0.5,
    body: bool = True,
    name: str | None = None,
    blend: Mapping[str, Weight] | None = None,
    floor: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> BakeReport:
    """Simulate a motion and write its hair as an animation: to .glb, .vrm or .gltf the avatar's own file with one
    animation more, to .vrma the animation alone.

    loop, fps, solver, contact, blend: see `take.take`. error_mm: how far an end point may be from the simulation
    between keys; at keys it is where the simulation has it. body: write the body's tracks as well. floor: height in
    metres of a floor that the hair does not pass; it is not written. The file appears whole or not at all;
    `export.undo` gives the avatar's file back byte for byte.
    """
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise AssetError(str(path), "file name", f"the ending {path.suffix!r}", ", ".join(ENDINGS))
    if not error_mm > 0.0:
        raise ValueError(f"error_mm: found {error_mm:g}, wanted a positive number of millimetres")
    rig = avatar.hair if rig is None else rig
    if not rig.chains:
        raise AssetError(avatar.file, "hair", "no chain", "at least one to bake")
    avatar, motion = owner(avatar, rig), carry(motion, owner(avatar, rig).skeleton)
    taken = take(
        avatar,
        rig if floor is None else with_floor(avatar, rig, floor),
        motion,
        loop=loop,
        fps=fps,
        solver=solver,
        contact=contact,
        blend=blend,
        progress=progress,
    )
    name = name or f"{motion.name} with hair"
    skip = set() if body else _not_authored(avatar, motion)
    tracks = tracks_of(avatar, taken, name, error_mm, body_locals(avatar, motion, taken), skip)
    facts = {
        "version": __version__,
        "solver": solver,
        "fps": float(fps),
        "loop": taken.loop,
        "errorMm": error_mm,
        **({} if floor is None else {"floor": float(floor)}),
        "nodes": list(tracks.nodes),
    }
    bones = None
    if path.suffix.lower() == ".vrma":
        bones = lean(avatar)
        tracks = lean_tracks(avatar, bones, tracks, taken.times, taken.body, skip)
        facts["nodes"] = list(tracks.nodes)
        data = vrma_bytes(bones, tracks, facts)
    else:
        data = with_animation(avatar, tracks, facts, path, rig)
    clip = played(motion)
    notes = [*(clip.notes if clip is not None else ()), *taken.notes]
    if bones is None and avatar.vrm is not None:
        notes.append(SPRINGS)
    playback = played_back(data, path, avatar, taken, tracks, body, bones)
    write_unseen(path, data)
    return BakeReport(
        avatar=avatar.name,
        motion=motion.name,
        path=str(path),
        solver=solver,
        seconds=float(taken.times[-1]),
        fps=float(fps),
        loop=taken.loop,
        chains=len(taken.rig.chains),
        hair_tracks=tracks.hair_tracks,
        body_tracks=len(tracks.tracks) - tracks.hair_tracks,
        keys=tracks.hair_keys,
        keys_recorded=tracks.all_keys,
        key_error_mm=tracks.key_error_mm,
        playback_mm=playback,
        seam=taken.seam,
        bytes=len(data),
        notes=tuple(notes),
    )


def body_locals(avatar: Avatar, motion: Motion, taken: Take) -> tuple[np.ndarray, np.ndarray]:
    """Local translations (K, N, 3) and rotations (K, N, 4) of the motion at a take's times."""
    motion = in_place(motion, taken.loop)
    times = within(taken.times, motion.seconds)
    if isinstance(motion, Retargeted):
        return motion.locals(times)
    return locals_of(avatar, motion.worlds(times))


def locals_of(avatar: Avatar, worlds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Local translations and rotations of world matrices (K, N, 4, 4) whose scales are those of the rest pose."""
    parents = avatar.skeleton.parents
    padded = np.concatenate([worlds, np.broadcast_to(np.eye(4), (len(worlds), 1, 4, 4))], axis=1)
    above = padded[:, parents]
    local = np.linalg.inv(above) @ worlds
    turns = rotations.multiply(rotations.inverse(rotations.from_matrix(above)), rotations.from_matrix(worlds))
    return local[..., :3, 3], turns


def _not_authored(avatar: Avatar, motion: Motion) -> set[int]:
    """All nodes but those of chains that the clip animates."""
    clip = played(motion)
    authored = clip.authored.values() if clip is not None else ()
    return set(range(len(avatar.skeleton))) - {node for own in authored for node in own}


def played_back(
    data: bytes, path, avatar: Avatar, taken: Take, tracks: Tracks, body: bool, bones: Lean | None
) -> float:
    """Worst distance in mm of an end point, at the keys of its chain, between the written file and the simulation.

    The file is played on the avatar: a VRM animation by retargeting, with the hair on the avatar's joints. Without the
    body in the file, the body's poses are the recorded ones.
    """
    clip = clips_of(parse_document(data, str(path), Path(path)))[-1]
    new = bones.new if bones is not None else {n: n for n in range(len(avatar.skeleton))}
    joints = np.array([new[int(j)] for j in taken.joints], dtype=np.int64)
    keys = {t.node: t.times for t in tracks.tracks[: tracks.hair_tracks]}
    motion = retarget(clip, avatar, ground=False, loop=False) if bones is not None and body else None
    worst = 0.0
    for start, count in taken.rig.spans:
        at = np.isin(taken.times, keys[int(joints[start])])
        times = taken.times[at].astype(np.float32).astype(np.float64)
        places, turns, _ = clip.sample(times)
        if bones is not None:
            change = rotations.multiply(rotations.inverse(bones.skeleton.rotations[joints]), turns[:, joints])
            hair = rotations.multiply(avatar.skeleton.rotations[taken.joints], change)
            worlds = posed(avatar, taken.rig, motion.worlds(times) if body else taken.body[at], hair)
        elif not body:
            worlds = posed(avatar, taken.rig, taken.body[at], turns[:, taken.joints])
        else:
            if avatar.turned:
                roots = avatar.skeleton.parents < 0
                turns[:, roots] = rotations.multiply(HALF_TURN, turns[:, roots])
                places[:, roots] = rotations.rotate(HALF_TURN, places[:, roots])
            worlds = avatar.skeleton.world(places, turns)
        ends = end_points(taken.rig, worlds)[:, start : start + count]
        away = np.linalg.norm(ends - taken.positions[at][:, start : start + count], axis=-1)
        worst = max(worst, 1e3 * float(away.max(initial=0.0)))
    return worst


def write_retargeted(avatar: Avatar, motion: Retargeted, path, fps: float = 60.0) -> int:
    """Write a clip on an avatar without its hair: .vrma the animation alone, else the avatar's file with one
    animation more. Returns the number of tracks; none of them moves a hair joint."""
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise AssetError(str(path), "file name", f"the ending {path.suffix!r}", ", ".join(ENDINGS))
    frames = max(1, round(motion.seconds * fps)) if motion.seconds > 0.0 else 0
    times = np.linspace(0.0, motion.seconds, frames + 1)
    motion = replace(motion, loop=False)  # the last key is the clip's own last pose
    hair = set(avatar.hair.joints.tolist())
    facts = {"version": __version__, "fps": float(fps), "loop": motion.report.cycle}
    whole = Tracks(motion.name, (), 0, 0, 0, 0.0, ())
    if path.suffix.lower() == ".vrma":
        bones = lean(avatar)
        whole = lean_tracks(avatar, bones, whole, times, motion.worlds(times), hair)
        data = vrma_bytes(bones, _never_empty(whole, bones.skeleton, bones.roles["hips"]), facts)
    else:
        whole = replace(whole, tracks=tuple(body_tracks(avatar.skeleton, times, *motion.locals(times), skip=hair)))
        data = with_animation(avatar, _never_empty(whole, avatar.skeleton, motion.plan.hips), facts, path)
    write_unseen(path, data)
    return len(whole.tracks)


def _never_empty(tracks: Tracks, skeleton: Skeleton, hips: int) -> Tracks:
    """A clip that holds the rest pose still needs one track: glTF knows no animation without."""
    if tracks.tracks:
        return tracks
    still = KeyTrack(hips, "rotation", "LINEAR", np.zeros(1), skeleton.rotations[hips][None])
    return replace(tracks, tracks=(still,))
