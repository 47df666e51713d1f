"""Springs: joints with settings, as a file lists them, turned into the chains of a HairRig."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .. import rotations
from ..hair import Chain, Collider, HairRig, Limit
from .errors import Log
from .nodes import label
from .skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class SpringJoint:
    """One listed joint with its settings. `tail` is the end point where no node marks it."""

    node: int
    stiffness: float = 1.0
    drag: float = 0.5
    gravity_power: float = 0.0
    gravity_dir: np.ndarray = field(default_factory=lambda: np.array([0.0, -1.0, 0.0]))
    hit_radius: float = 0.0
    limit: Limit | None = None


@dataclass(frozen=True, eq=False)
class Spring:
    """A row of joints, root first, each an ancestor of the next. The last one ends the row and does not move,
    unless `end` gives the point where its own segment ends."""

    where: str  # address in the file, for messages
    name: str
    joints: tuple[SpringJoint, ...]
    colliders: tuple[int, ...] = ()
    center: int = -1
    end: np.ndarray | None = None  # (3,) in the last joint's own frame


def local_path(skeleton: Skeleton, ancestor: int, node: int) -> list[int] | None:
    """Nodes from below `ancestor` down to `node`, None where `ancestor` is no ancestor of it."""
    path = []
    while node >= 0 and node != ancestor:
        path.append(node)
        node = int(skeleton.parents[node])
    return path[::-1] if node == ancestor and path else None


def tail_in_joint(skeleton: Skeleton, joint: int, end: int) -> np.ndarray:
    """(3,) place of node `end` in the rest frame of its ancestor `joint`, before the joint's own scale."""
    local = skeleton.rest_local
    matrix = np.eye(4)
    for node in local_path(skeleton, joint, end):
        matrix = matrix @ local[node]
    return matrix[:3, 3]


def build_rig(skeleton: Skeleton, springs: list[Spring], colliders: list[Collider], log: Log) -> HairRig:
    """Chains of all usable springs, carried chains after their carriers; what cannot move is left out and named."""
    moved: set[int] = set()
    chains: list[Chain] = []
    for spring in springs:
        joints = _without_repeats(skeleton, spring, log)
        if joints is None or not _ordered(skeleton, spring, joints, log):
            continue
        segments = len(joints) - (spring.end is None)
        if segments < 1:
            log.note(spring.where, f"spring {spring.name!r} has a single joint and no end; nothing of it moves")
            continue
        run: list[int] = []
        for index in range(segments + 1):
            taken = index < segments and joints[index].node in moved
            if taken:
                log.warn(
                    spring.where,
                    f"{label(skeleton, joints[index].node)} of spring {spring.name!r} already moves with an earlier "
                    "spring, which keeps it",
                )
            if (taken or index == segments) and run:
                chains.append(_chain(skeleton, spring, joints, run))
                run = []
            if index < segments and not taken:
                run.append(index)
        moved.update(j.node for j in joints[:segments])
    _report_skipped(skeleton, chains, moved, log)
    return HairRig(tuple(_carried(skeleton, chains)), tuple(colliders))


def _report_skipped(skeleton: Skeleton, chains: list[Chain], moved: set[int], log: Log) -> None:
    """Name the nodes inside a segment that another chain moves: the specification forbids it, results differ."""
    for chain in chains:
        for joint, end in zip(chain.joints.tolist(), chain.ends.tolist(), strict=True):
            between = local_path(skeleton, joint, end)[:-1] if end >= 0 else []
            for node in between:
                if node in moved:
                    log.warn(
                        f"spring {chain.name!r}",
                        f"the segment from {label(skeleton, joint)} to {label(skeleton, end)} passes "
                        f"{label(skeleton, node)}, which another spring moves; both are kept",
                    )


def _without_repeats(skeleton: Skeleton, spring: Spring, log: Log) -> list[SpringJoint] | None:
    """Joints with each node once; a node that is listed again is left out and named."""
    seen: set[int] = set()
    joints = []
    for joint in spring.joints:
        if joint.node in seen:
            log.warn(spring.where, f"lists {label(skeleton, joint.node)} twice in spring {spring.name!r}; taken once")
            continue
        seen.add(joint.node)
        joints.append(joint)
    return joints


def _ordered(skeleton: Skeleton, spring: Spring, joints: list[SpringJoint], log: Log) -> bool:
    """Whether every joint is a descendant of the one before it; says which is not."""
    for index in range(1, len(joints)):
        if local_path(skeleton, joints[index - 1].node, joints[index].node) is None:
            log.warn(
                f"{spring.where}.joints[{index}]",
                f"{label(skeleton, joints[index].node)} of spring {spring.name!r} is no descendant of the joint before "
                f"it, {label(skeleton, joints[index - 1].node)}; the spring is left out",
            )
            return False
    return True


def _chain(skeleton: Skeleton, spring: Spring, joints: list[SpringJoint], run: list[int]) -> Chain:
    rows = [joints[i] for i in run]
    ends, tails = [], []
    for i in run:
        if i + 1 < len(joints):
            ends.append(joints[i + 1].node)
            tails.append(tail_in_joint(skeleton, joints[i].node, joints[i + 1].node))
        else:
            ends.append(-1)
            tails.append(spring.end)
    return Chain(
        name=spring.name,
        joints=np.array([j.node for j in rows], dtype=np.int64),
        ends=np.array(ends, dtype=np.int64),
        tails=np.array(tails, dtype=np.float64),
        attach=int(skeleton.parents[rows[0].node]),
        stiffness=np.array([j.stiffness for j in rows]),
        drag=np.array([j.drag for j in rows]),
        gravity_power=np.array([j.gravity_power for j in rows]),
        gravity_dir=np.array([j.gravity_dir for j in rows]),
        hit_radius=np.array([j.hit_radius for j in rows]),
        colliders=spring.colliders,
        center=spring.center,
        limits=tuple(_oriented(j.limit, tail) for j, tail in zip(rows, tails, strict=True))
        if any(j.limit is not None for j in rows)
        else None,
    )


def initial_frame(tail: np.ndarray) -> np.ndarray:
    """(4,) shortest turn of +y onto a segment; about x where the segment points along -y, as the draft says."""
    if tail[1] < 0.0 and abs(tail[0]) + abs(tail[2]) <= 1e-9 * -tail[1]:
        return np.array([1.0, 0.0, 0.0, 0.0])
    return rotations.from_to(np.array([0.0, 1.0, 0.0]), tail)


def _oriented(limit: Limit | None, tail: np.ndarray) -> Limit | None:
    """The limit with its frame in the joint's rest frame; files state it relative to the segment's direction."""
    return None if limit is None else replace(limit, rotation=rotations.multiply(initial_frame(tail), limit.rotation))


def _carried(skeleton: Skeleton, chains: list[Chain]) -> list[Chain]:
    """Chains in an order where carriers come first (file order otherwise), with `parent` filled in."""
    owner = {int(node): (c, s) for c, chain in enumerate(chains) for s, node in enumerate(chain.joints)}
    carrier: list[tuple[int, int] | None] = []
    for chain in chains:
        node = chain.attach
        while node >= 0 and node not in owner:
            node = int(skeleton.parents[node])
        carrier.append(owner[node] if node >= 0 else None)
    order: list[int] = []
    done = [False] * len(chains)
    for start in range(len(chains)):
        line, c = [], start
        while not done[c]:
            line.append(c)
            done[c] = True
            if carrier[c] is None:
                break
            c = carrier[c][0]
        order.extend(reversed(line))
    place = {c: i for i, c in enumerate(order)}
    return [
        replace(chains[c], parent=None if carrier[c] is None else (place[carrier[c][0]], carrier[c][1])) for c in order
    ]
