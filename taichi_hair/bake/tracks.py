"""Tracks: what is written of a take, hair first, then the body that carries it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import rotations
from ..avatar.avatar import Avatar
from ..avatar.skeleton import Skeleton
from ..motion.clip import KeyTrack
from .reduce import interpolated, kept_keys, reaches
from .take import Take, end_points, posed

BODY_ERROR = 1e-5  # metres at one metre from a joint: body keys go only where nobody can measure the difference
MOVED = 1e-7  # radians or metres: a node that stays within it of its rest pose gets no track


@dataclass(frozen=True, eq=False)
class Tracks:
    """Tracks of one animation, and what the reduction of keys costs."""

    name: str
    tracks: tuple[KeyTrack, ...]
    hair_tracks: int
    hair_keys: int  # kept
    all_keys: int  # recorded
    key_error_mm: float  # end points at recorded times between keys, worst; 0 at keys
    nodes: tuple[int, ...]  # nodes with hair tracks


def body_tracks(
    skeleton: Skeleton, times: np.ndarray, places: np.ndarray, turns: np.ndarray, skip=()
) -> list[KeyTrack]:
    """Tracks of local translations (K, N, 3) and rotations (K, N, 4); nodes that stay in their rest pose get none."""
    tracks = []
    for node in range(len(skeleton)):
        if node in skip:
            continue
        q = turns[:, node]
        flips = np.sum(q[1:] * q[:-1], axis=-1) < 0.0
        q = q * np.append(1.0, np.where(np.cumsum(flips) % 2 == 1, -1.0, 1.0))[:, None]
        away = rotations.angle(rotations.multiply(rotations.inverse(skeleton.rotations[node]), q))
        if away.max() > MOVED:
            kept = kept_keys(times, q[:, None], np.ones(1), BODY_ERROR)
            tracks.append(KeyTrack(node, "rotation", "LINEAR", times[kept], q[kept]))
        if np.abs(places[:, node] - skeleton.translations[node]).max() > MOVED:
            tracks.append(KeyTrack(node, "translation", "LINEAR", times, places[:, node]))
    return tracks


def hair_tracks(avatar: Avatar, taken: Take, error_mm: float) -> tuple[list[KeyTrack], np.ndarray, int]:
    """Tracks of the hair; (K, S, 4) what a player makes of them; number of keys kept.

    A chain and all that hang on it have their keys at the same times, so that at a key the whole of it is exact.
    """
    reach, depth = reaches(avatar.skeleton, taken.rig)
    families: dict[int, set[int]] = {}
    roots = []
    for c, ((start, length), chain) in enumerate(zip(taken.rig.spans, taken.rig.chains, strict=True)):
        roots.append(c if chain.parent is None else roots[chain.parent[0]])
        span = slice(start, start + length)
        kept = kept_keys(taken.times, taken.rotations[:, span], reach[span], 1e-3 * error_mm / depth[c])
        families.setdefault(roots[c], set()).update(kept.tolist())
    tracks, played, count = [], taken.rotations.copy(), 0
    for c, (start, length) in enumerate(taken.rig.spans):
        span = slice(start, start + length)
        kept = np.array(sorted(families[roots[c]]))
        played[:, span] = interpolated(taken.times, kept, taken.rotations[:, span])
        count += len(kept) * int(length)
        for k in range(start, start + length):
            node = int(taken.joints[k])
            tracks.append(KeyTrack(node, "rotation", "LINEAR", taken.times[kept], taken.rotations[kept, k]))
    return tracks, played, count


def tracks_of(
    avatar: Avatar,
    taken: Take,
    name: str,
    error_mm: float,
    body: tuple[np.ndarray, np.ndarray],
    skip: set[int] = frozenset(),
) -> Tracks:
    """The tracks of a take; `body` holds local translations and rotations at its times, without nodes in `skip`."""
    hair, played, kept = hair_tracks(avatar, taken, error_mm)
    ends = end_points(taken.rig, posed(avatar, taken.rig, taken.body, played))
    worst = 1e3 * float(np.linalg.norm(ends - taken.positions, axis=-1).max(initial=0.0))
    own = set(taken.joints.tolist())
    rest = body_tracks(avatar.skeleton, taken.times, *body, skip=own | set(skip))
    return Tracks(
        name, (*hair, *rest), len(hair), kept, len(taken.times) * len(taken.joints), worst, tuple(sorted(own))
    )
