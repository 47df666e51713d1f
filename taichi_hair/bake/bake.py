"""bake(): hair motion as rotation tracks in the avatar's own file or in a VRM animation, played back and compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from .. import rotations
from ..avatar.avatar import Avatar
from ..avatar.document import parse_document
from ..avatar.errors import AssetError
from ..avatar.gltf import write_whole
from ..avatar.secondary_animation import HALF_TURN
from ..hair import HairRig
from ..motion.body import Motion
from ..motion.clip import clips_of
from ..motion.played import Retargeted
from ..version import __version__
from .export import with_animation
from .take import Seam, Take, Weight, end_points, in_place, posed, take, within
from .tracks import Tracks, body_tracks, tracks_of
from .vrma import vrma_bytes

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
    progress: Callable[[float], None] | None = None,
) -> BakeReport:
    """Simulate a motion and write its hair as an animation: to .glb, .vrm or .gltf the avatar's own file with one
    animation more, to .vrma the animation alone.

    loop, fps, solver, contact, blend: see `take.take`. error_mm: how far an end point may be from the simulation
    between keys; at keys it is where the simulation has it. body: write the body's tracks as well. The file appears
    whole or not at all; `export.undo` gives the avatar's file back byte for byte.
    """
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise AssetError(str(path), "file name", f"the ending {path.suffix!r}", ", ".join(ENDINGS))
    if not error_mm > 0.0:
        raise ValueError(f"error_mm: found {error_mm:g}, wanted a positive number of millimetres")
    rig = avatar.hair if rig is None else rig
    if not rig.chains:
        raise AssetError(avatar.file, "hair", "no chain", "at least one to bake")
    taken = take(
        avatar, rig, motion, loop=loop, fps=fps, solver=solver, contact=contact, blend=blend, progress=progress
    )
    name = name or f"{motion.name} with hair"
    tracks = tracks_of(avatar, taken, name, error_mm, body_locals(avatar, motion, taken) if body else None)
    facts = {
        "version": __version__,
        "solver": solver,
        "fps": float(fps),
        "loop": taken.loop,
        "errorMm": error_mm,
        "nodes": list(tracks.nodes),
    }
    if path.suffix.lower() == ".vrma":
        data = vrma_bytes(avatar, tracks, facts)
    else:
        data = with_animation(avatar, tracks, facts, path)
    playback = played_back(data, path, avatar, taken, tracks, body)
    write_whole(path, data)
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
        notes=(*(motion.notes if isinstance(motion, Retargeted) else ()), *taken.notes),
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


def played_back(data: bytes, path, avatar: Avatar, taken: Take, tracks: Tracks, body: bool) -> float:
    """Worst distance in mm of an end point, at the keys of its chain, between the written file and the simulation."""
    document = parse_document(data, str(path), Path(path))
    clip = clips_of(document)[-1]
    worst = 0.0
    keys = {t.node: t.times for t in tracks.tracks[: tracks.hair_tracks]}
    for (start, count), chain in zip(taken.rig.spans, taken.rig.chains, strict=True):
        at = np.isin(taken.times, keys[int(chain.joints[0])])
        times = taken.times[at]
        places, turns, _ = clip.sample(times.astype(np.float32).astype(np.float64))
        if avatar.turned and path.suffix.lower() != ".vrma":
            roots = avatar.skeleton.parents < 0
            turns[:, roots] = rotations.multiply(HALF_TURN, turns[:, roots])
            places[:, roots] = rotations.rotate(HALF_TURN, places[:, roots])
        if body:
            worlds = avatar.skeleton.world(places, turns)
        else:
            worlds = posed(avatar, taken.rig, taken.body[at], turns[:, taken.joints])
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
    tracks = body_tracks(avatar, times, *motion.locals(times), skip=set(avatar.hair.joints.tolist()))
    if not tracks:  # a clip that holds the rest pose still needs one track, so that the file has an animation
        from ..motion.clip import KeyTrack

        node = motion.plan.hips
        tracks = [KeyTrack(node, "rotation", "LINEAR", times[:1], avatar.skeleton.rotations[node][None])]
    whole = Tracks(motion.name, tuple(tracks), 0, 0, 0, 0.0, ())
    facts = {"version": __version__, "fps": float(fps), "loop": motion.report.cycle}
    data = (
        vrma_bytes(avatar, whole, facts)
        if path.suffix.lower() == ".vrma"
        else with_animation(avatar, whole, facts, path)
    )
    write_whole(path, data)
    return len(tracks)
