"""VRM node constraints (roll, aim, rotation): records, and their evaluation on a batch of poses in dependency order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import rotations
from .document import Document
from .errors import Log
from .fields import Item, describe
from .nodes import label
from .skeleton import Skeleton

AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
AIMS = {
    f"{sign}{axis}": tuple((1 if sign == "Positive" else -1) * v for v in AXES[axis])
    for axis in AXES
    for sign in ("Positive", "Negative")
}


@dataclass(frozen=True, eq=False)
class Constraint:
    """How one node's rotation follows another node."""

    kind: str  # "roll", "aim" or "rotation"
    node: int  # the node that is turned
    source: int
    weight: float = 1.0
    axis: np.ndarray | None = None  # (3,) roll or aim axis in the node's own frame


def read_constraints(document: Document, skeleton: Skeleton) -> tuple[Constraint, ...]:
    """All node constraints of the file in an order in which they can be evaluated.

    A constraint on itself, and all members of a cycle, are left out with a warning that names the nodes.
    """
    found = []
    for node, item in enumerate(document.items("nodes")):
        extension = item.extension("VRMC_node_constraint")
        if extension is None:
            continue
        constraint = _read(document, skeleton, extension, node)
        if constraint is not None:
            found.append(constraint)
    return ordered(skeleton, found, document.log)


def _read(document: Document, skeleton: Skeleton, extension: Item, node: int) -> Constraint | None:
    body = extension.child("constraint")
    kinds = [kind for kind in ("roll", "aim", "rotation") if body is not None and body.has(kind)]
    if len(kinds) != 1:
        document.log.warn(extension.where, f"holds {len(kinds)} of roll, aim and rotation, not one; left out")
        return None
    kind = kinds[0]
    item = body.child(kind)
    source = item.integer("source", below=len(skeleton))
    weight = item.number("weight", 1.0)
    if not 0.0 <= weight <= 1.0:
        document.log.warn(item.where, f"weight {weight:g} is outside 0 to 1; brought inside")
        weight = min(max(weight, 0.0), 1.0)
    axis = None
    if kind != "rotation":
        key, table = ("rollAxis", AXES) if kind == "roll" else ("aimAxis", AIMS)
        name = item.text(key)
        if name not in table:
            raise item.error(key, describe(name), " or ".join(table))
        axis = np.array(table[name])
    return Constraint(kind, node, source, weight, axis)


def ordered(skeleton: Skeleton, constraints: list[Constraint], log: Log | None = None) -> tuple[Constraint, ...]:
    """The constraints so that each comes after those it depends on; cycles are left out and named in the log.

    A roll or rotation reads its source's local rotation. An aim reads the place of its source and the frame of its own
    parent in the world, so every constrained node above either of them comes first.
    """
    by_node = {c.node: c for c in constraints}
    needs: dict[int, list[int]] = {}
    for constraint in constraints:
        wanted = {constraint.source} if constraint.kind != "aim" else set()
        if constraint.kind == "aim":
            for walk in (constraint.source, int(skeleton.parents[constraint.node])):
                while walk >= 0:
                    wanted.add(walk)
                    walk = int(skeleton.parents[walk])
        needs[constraint.node] = sorted(n for n in wanted if n in by_node)
    waiting = {node: len(own) for node, own in needs.items()}
    followers: dict[int, list[int]] = {}
    for node, own in needs.items():
        for source in own:
            followers.setdefault(source, []).append(node)
    ready = [c.node for c in constraints if waiting[c.node] == 0]
    for node in ready:  # grows while it is walked
        for follower in followers.get(node, ()):
            waiting[follower] -= 1
            if waiting[follower] == 0:
                ready.append(follower)
    stuck = [c.node for c in constraints if waiting[c.node] > 0]
    if stuck and log is not None:
        names = ", ".join(label(skeleton, n) for n in stuck)
        log.warn("constraints", f"a circular dependency (cycle) holds {names}; these constraints are left out")
    return tuple(by_node[node] for node in ready)


def apply_constraints(
    skeleton: Skeleton, constraints: tuple[Constraint, ...], turns: np.ndarray, translations: np.ndarray | None = None
) -> np.ndarray:
    """Local rotations (..., N, 4) after all constraints, of local rotations (..., N, 4) and translations (..., N, 3).

    Formulas of VRMC_node_constraint 1.0. The constraints must be in the order that `ordered` gives.
    """
    turns = np.array(turns, dtype=np.float64)
    world = None
    for constraint in constraints:
        rest = skeleton.rotations[constraint.node]
        if constraint.kind == "aim":
            if world is None:
                world = skeleton.world(translations, turns)
            target = _aimed(skeleton, constraint, world)
            if target is None:
                continue
        else:
            target = _followed(skeleton, constraint, turns[..., constraint.source, :])
        turns[..., constraint.node, :] = rotations.slerp(
            np.broadcast_to(rest, target.shape), target, np.full(target.shape[:-1], constraint.weight)
        )
        world = None
    return turns


def _followed(skeleton: Skeleton, constraint: Constraint, source: np.ndarray) -> np.ndarray:
    """Target rotation (..., 4) of a roll or rotation constraint whose source has the local rotation (..., 4)."""
    rest = skeleton.rotations[constraint.node]
    source_rest = skeleton.rotations[constraint.source]
    delta = rotations.multiply(rotations.inverse(source_rest), source)
    if constraint.kind == "rotation":
        return rotations.multiply(rest, delta)
    in_parent = rotations.multiply(rotations.multiply(source_rest, delta), rotations.inverse(source_rest))
    in_node = rotations.multiply(rotations.multiply(rotations.inverse(rest), in_parent), rest)
    swing = rotations.from_to(
        np.broadcast_to(constraint.axis, in_node.shape[:-1] + (3,)), rotations.rotate(in_node, constraint.axis)
    )
    return rotations.multiply(rotations.multiply(rest, rotations.inverse(swing)), in_node)


def _aimed(skeleton: Skeleton, constraint: Constraint, world: np.ndarray) -> np.ndarray | None:
    """Target rotation (..., 4) of an aim constraint in a pose of world matrices (..., N, 4, 4)."""
    parent = int(skeleton.parents[constraint.node])
    rest = skeleton.rotations[constraint.node]
    if parent >= 0:
        frame = rotations.from_matrix(world[..., parent, :3, :3])
    else:
        frame = np.broadcast_to(rotations.IDENTITY, world.shape[:-3] + (4,))
    held = rotations.multiply(frame, rest)
    start = rotations.rotate(held, constraint.axis)
    toward = world[..., constraint.source, :3, 3] - world[..., constraint.node, :3, 3]
    turn = rotations.from_to(start, toward)  # the identity where source and node coincide
    return rotations.multiply(rotations.inverse(frame), rotations.multiply(turn, held))
