"""guides(): the curves that locks follow, for other tools, as arrays or as an OBJ file of polylines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..avatar.description import Avatar
from ..avatar.gltf import write_whole
from .centreline import polyline
from .fitted import FittedRig
from .locks import find_locks, loose_quads
from .roots import attach_node, find_head
from .selection import select_parts
from .surface import read_surface


@dataclass(frozen=True, eq=False)
class Guide:
    """One curve from where hair is held to its tip, rest pose, world metres."""

    name: str
    points: np.ndarray  # (K, 3)
    width: float  # metres across the hair around it
    confidence: float = 1.0
    chain: int = -1  # of the rig, where there is one


def guides(source: FittedRig | Avatar, meshes=None, points: int = 32, body: Avatar | None = None) -> list[Guide]:
    """Guide curves of a fitted rig, one per chain; or of an avatar's hair meshes, one per lock before any grouping."""
    if isinstance(source, FittedRig):
        return [
            Guide(lock.name, polyline(lock.guide, points).points, lock.width, lock.confidence, lock.chain)
            for lock in source.locks
        ]
    parts = select_parts(source, meshes)
    surface = read_surface(source, parts)
    if loose_quads(surface) is not None:
        return []
    head = find_head(source, surface, attach_node(source, parts), body)
    pieces = find_locks(surface, head, head.height(surface.points))[0]
    name = source.parts[parts[0]].name or "hair"
    return [
        Guide(f"{name}_{k + 1}", p.curve.at(np.linspace(0.0, p.length, points)), p.width) for k, p in enumerate(pieces)
    ]


def write_guides(curves: list[Guide], path) -> Path:
    """An OBJ of polylines (`l`), one object per guide, metres, y up."""
    lines, first = ["# guide curves, metres, y up, root to tip"], 1
    for guide in curves:
        lines.append(f"o {guide.name}")
        lines += [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in guide.points]
        lines.append("l " + " ".join(str(first + k) for k in range(len(guide.points))))
        first += len(guide.points)
    path = Path(path)
    write_whole(path, ("\n".join(lines) + "\n").encode())
    return path
