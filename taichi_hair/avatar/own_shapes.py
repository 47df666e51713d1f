"""Colliders that VRM has no shape for: kept in a collider's extras, beside a stand-in that every program knows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .. import rotations
from ..hair import Collider, HairRig, Surface
from .accessors import view_bytes
from .document import Document
from .fields import Item, describe

KEY = "taichi_hair"  # in the extras of a collider
OWN = ("tapered_capsule", "box", "surface")
LARGEST = 512  # corners of a surface's grid along an edge that a file may name
NOWHERE = {"sphere": {"offset": [0.0, -10000.0, 0.0], "radius": 0.0}}  # as the extended collider has it: meets nothing


def stand_in(collider: Collider) -> dict:
    """The VRM shape nearest to a shape that VRM does not have: a capsule, or a sphere where it has no length."""
    if collider.shape == "tapered_capsule":
        radius = 0.5 * (collider.radius + collider.tail_radius)
        return _capsule(collider.offset, collider.tail, radius)
    if collider.shape == "box":
        order = np.argsort(collider.half_size)
        radius = float(np.sqrt(np.prod(collider.half_size[order[:2]]))) + collider.radius
        reach = max(float(collider.half_size[order[2]]) + collider.radius - radius, 0.0)
        along = reach * _turned(collider, np.eye(3)[order[2]])
        return _capsule(collider.offset - along, collider.offset + along, radius)
    grid = collider.surface
    at = np.unravel_index(int(np.argmin(grid.distance)), grid.distance.shape)
    depth = -float(grid.distance[at])
    if depth <= 0.0:
        return NOWHERE
    centre = collider.offset + _turned(collider, grid.cell * np.array(at, dtype=np.float64))
    return _capsule(centre, centre, depth)


def stand_ins(rig: HairRig) -> tuple[str, ...]:
    """A line for each collider of a rig that other programs see as something else once it is saved."""
    lines = []
    for collider in rig.colliders:
        if collider.shape in OWN:
            (kind, shape), *_ = stand_in(collider).items()
            seen = f"a {kind} of radius {shape['radius']:.4g}" if shape["radius"] else "nothing"
            lines.append(f"{collider.name}: VRM has no {collider.shape.replace('_', ' ')}; others see {seen}")
    return tuple(lines)


def extras_of(collider: Collider, store: Callable[[bytes], int]) -> dict | None:
    """What a file keeps of a collider beside its VRM shape, None where that says all. `store` puts bytes into the
    file and gives the number of their buffer view."""
    body: dict = {}
    if collider.shape in OWN:
        body = {"shape": collider.shape, "name": collider.name, "offset": _list(collider.offset)}
        body["radius"] = float(collider.radius)
    if collider.shape == "tapered_capsule":
        body.update(tail=_list(collider.tail), tailRadius=float(collider.tail_radius))
    if collider.shape == "box":
        body["halfSize"] = _list(collider.half_size)
    if collider.shape == "surface":
        grid = np.ascontiguousarray(collider.surface.distance, dtype="<f4")
        body.update(cell=float(collider.surface.cell), size=list(grid.shape), bufferView=store(grid.tobytes()))
    if collider.rotation is not None:
        body["rotation"] = _list(collider.rotation)
    for key, value in (("friction", collider.friction), ("speedLoss", collider.speed_loss)):
        if value:
            body[key] = float(value)
    return {KEY: body} if body else None


def with_extras(document: Document, item: Item, collider: Collider) -> Collider:
    """A collider as its extras have it; the collider itself where they say nothing of ours."""
    extras = item.value.get("extras")
    if not isinstance(extras, dict) or not isinstance(extras.get(KEY), dict):
        return collider
    own = Item(extras[KEY], f"{item.where}.extras.{KEY}", item.file)
    changed: dict = {"friction": _positive(own, "friction"), "speed_loss": min(_positive(own, "speedLoss"), 1.0)}
    shape = own.text("shape", "")
    if shape:
        if shape not in OWN:
            raise own.error("shape", describe(shape), f"one of {', '.join(OWN)}")
        changed.update(shape=shape, name=own.text("name", collider.name), tail=None)
        changed.update(offset=own.vector("offset", 3), radius=_positive(own, "radius"))
        document.log.note(item.where, f"taken as the {shape.replace('_', ' ')} in its extras, not as its stand-in")
    if shape == "tapered_capsule":
        changed.update(tail=own.vector("tail", 3), tail_radius=_positive(own, "tailRadius"))
    if shape == "box":
        changed["half_size"] = np.abs(own.vector("halfSize", 3))
    if shape == "surface":
        changed["surface"] = _surface(document, own)
    turn = own.vector("rotation", 4, None)
    if turn is not None:
        length = float(np.linalg.norm(turn))
        if length < 1e-6:
            raise own.error("rotation", "a quaternion of length 0", "a unit quaternion")
        changed["rotation"] = turn / length if abs(length - 1.0) > 1e-12 else turn
    return replace(collider, **changed)


def _surface(document: Document, own: Item) -> Surface:
    size = own.indices("size", LARGEST + 1)
    if len(size) != 3 or min(size) < 2:
        raise own.error("size", describe(own.value.get("size")), f"three numbers of corners, 2 to {LARGEST}")
    cell = own.number("cell")
    if not cell > 0.0:
        raise own.error("cell", describe(cell), "a positive length")
    data, _ = view_bytes(document, own.integer("bufferView", below=len(document.items("bufferViews"))))
    count = math.prod(size)
    if len(data) != 4 * count:
        raise own.error("bufferView", f"{len(data):,} bytes for a grid of {count:,} corners", f"{4 * count:,} bytes")
    document.charge(4 * count, own.where)
    distance = np.frombuffer(data, dtype="<f4").reshape(size)
    if not np.isfinite(distance).all():
        raise own.error("bufferView", "a distance that is not finite", "finite numbers")
    return Surface(distance, cell)


def _positive(own: Item, key: str) -> float:
    return max(own.number(key, 0.0), 0.0)


def _capsule(start: np.ndarray, end: np.ndarray, radius: float) -> dict:
    body = {"offset": _list(start), "radius": float(radius)}
    if float(np.linalg.norm(np.subtract(end, start))) < 1e-9:
        return {"sphere": body}
    return {"capsule": {**body, "tail": _list(end)}}


def _turned(collider: Collider, direction: np.ndarray) -> np.ndarray:
    return direction if collider.rotation is None else rotations.rotate(collider.rotation, direction)


def _list(values) -> list[float]:
    return [float(v) for v in values]
