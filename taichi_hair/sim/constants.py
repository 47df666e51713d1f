"""From a HairRig to the columns of a HairModel: rest shape, parameters, collider pairs and their rest overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import rotations
from ..avatar.skeleton import Skeleton
from ..hair import LIMITS, SHAPES, Chain, Collider, HairRig
from ..motion.body import Frames, anchors, frames, mean_scale
from ..rig.parameters import arc_parameters, rod_parameters
from ..rig.shapes import gap
from . import layout as row
from .solvers.kinds import ARC, MASS_SPRING, ROD, SPRING_BONE
from .solvers.mass_spring import springs
from .solvers.rod import factors


@dataclass(frozen=True, eq=False)
class RigConstants:
    """One avatar kind, ready for upload; starts and columns count from 0 within the kind."""

    joint: np.ndarray  # f32 (MODEL_JOINT_ROWS, block): joint-major, so that neighbouring chains are neighbours
    columns: np.ndarray  # (S,) column of each segment in the block
    chain: np.ndarray  # f32 (MODEL_CHAIN_ROWS, C)
    span: np.ndarray  # i32 (MODEL_SPAN_ROWS, C)
    pair: np.ndarray  # i32 (MODEL_PAIR_ROWS, P)
    pair_number: np.ndarray  # f32 (MODEL_PAIR_NUMBER_ROWS, P)
    allowance: np.ndarray  # f32 (sum over pairs of the chain's segments,)
    grid: np.ndarray  # f32 (G,) distances of all surfaces
    chain_anchor: np.ndarray  # (C,)
    anchors: int
    path: np.ndarray  # i32 (MODEL_PATH_ROWS, segments above branches)
    order: np.ndarray  # (C,) chains, family after family, a chain before those that hang on it
    sizes: np.ndarray  # (F,) chains of each family
    placed: np.ndarray  # (P, 2) collider and anchor of each collider column of a member
    chain_colliders: np.ndarray  # (C,) first of them of each chain, which meets len(chain.colliders) of them
    overlaps: tuple[tuple[int, int, float], ...]  # (segment, collider, metres) that overlap in the rest pose


def rest_shape(skeleton: Skeleton, chain: Chain) -> tuple[np.ndarray, np.ndarray]:
    """(J, 3) joints and (J, 3) end points of a chain in the rest pose, world metres."""
    world = skeleton.rest_world[chain.joints]
    ends = (world[:, :3, :3] @ chain.tails[:, :, None])[..., 0] + world[:, :3, 3]
    joints = np.concatenate([world[:1, :3, 3], ends[:-1]])
    return joints, ends


def rest_overlap(collider: Collider, frames: Frames, b: int, joints, ends, radii) -> np.ndarray:
    """(J,) how deep, metres, each segment of a chain lies in collider `b` in the rest pose; 0 where it does not.

    As contact sees it: a plane and the shapes that hold hair inside meet the end point only.
    """
    starts = ends if collider.shape in ("plane", "inside_sphere", "inside_capsule") else joints
    place = (
        frames.collider_a[0, b],
        frames.collider_b[0, b],
        frames.collider_radius[0, b],
        frames.collider_tail_radius[0, b],
        frames.collider_rotation[0, b],
        frames.collider_scale[0, b],
    )
    return np.maximum(0.0, -gap(collider, *place, starts, ends, radii))


def _families(rig: HairRig) -> tuple[np.ndarray, np.ndarray]:
    """(C,) chains, family after family, and (F,) chains of each family."""
    family = np.arange(len(rig.chains))
    for c, chain in enumerate(rig.chains):
        if chain.parent is not None:
            above = chain.parent[0]
            if not 0 <= above < c:
                raise ValueError(f"chain {chain.name!r}: carried by chain {above}, wanted one that comes before it")
            family[c] = family[above]
    _, sizes = np.unique(family, return_counts=True)
    return np.argsort(family, kind="stable"), sizes


def _path(rig: HairRig, c: int) -> list[tuple[int, int, int]]:
    """(column in the state, column in the model, chain or -1) of each segment from the attach node to what carries a
    branch, the carrying segment included."""
    chain = rig.chains[c]
    if chain.parent is None:
        return []
    above, segment = chain.parent
    columns = [above + len(rig.chains) * j for j in range(segment + 1)]
    return _path(rig, above) + [(k, k, above if j == 0 else -1) for j, k in enumerate(columns)]


def build(
    skeleton: Skeleton,
    rig: HairRig,
    *,
    solver: int,
    h: float,
    sag_free: bool,
    keep_overlap: bool = True,
    measured: bool = True,
    ticks: int = 1,
) -> RigConstants:
    """Constants of a rig for ticks of h seconds.

    keep_overlap: what overlaps in the rest pose may go on so. measured: `spring-bone` measures bones in each tick.
    ticks: of the crowd that are one of this rig's.
    """
    pairs_of_anchor, chain_anchor = anchors(rig)
    rest_frames: Frames = frames(skeleton, rig, skeleton.rest_world[None])
    stride = len(rig.chains)
    depth = max((len(chain) for chain in rig.chains), default=0)
    joints_of_kind = np.zeros((row.MODEL_JOINT_ROWS, stride * depth))
    columns = np.zeros(len(rig.joints), dtype=np.int64)
    chain_rows = np.zeros((row.MODEL_CHAIN_ROWS, len(rig.chains)))
    span = np.zeros((row.MODEL_SPAN_ROWS, len(rig.chains)), dtype=np.int64)
    pair: list[tuple[int, ...]] = []
    pair_number: list[tuple[float, float]] = []
    grids: list[np.ndarray] = []
    grid_start: dict[int, int] = {}
    path: list[tuple[int, int, int]] = []
    allowance: list[float] = []
    overlaps: list[tuple[int, int, float]] = []
    placed: list[tuple[int, int]] = []
    lists: dict[tuple, int] = {}
    chain_colliders = []
    for c, (chain, (start, count)) in enumerate(zip(rig.chains, rig.spans, strict=True)):
        anchor = chain_anchor[c]
        position = rest_frames.position[0, anchor]
        to_attach = rotations.inverse(rest_frames.rotation[0, anchor])
        joints, ends = rest_shape(skeleton, chain)
        world = skeleton.rest_world[chain.joints]
        turns = rotations.from_matrix(world)
        lengths = np.linalg.norm(ends - joints, axis=1)
        radii = chain.hit_radius * mean_scale(world)
        above, place = rotations.inverse(to_attach), position
        if chain.parent is not None:
            other, segment = chain.parent
            carrier = skeleton.rest_world[rig.chains[other].joints[segment]]
            above, place = rotations.from_matrix(carrier), carrier[:3, 3]
        offset = rotations.rotate(rotations.inverse(above), joints[0] - place)
        before = np.concatenate([above[None], turns[:-1]])
        columns[start : start + count] = c + stride * np.arange(count)
        joint = np.zeros((row.MODEL_JOINT_ROWS, count))
        joint[row.REST : row.REST + 3] = rotations.rotate(to_attach, ends - joints).T
        joint[row.REST_POINT : row.REST_POINT + 3] = rotations.rotate(to_attach, ends - position).T
        joint[row.LENGTH] = lengths
        joint[row.RADIUS] = radii
        joint[row.REST_TURN : row.REST_TURN + 4] = rotations.multiply(rotations.inverse(before), turns).T
        axis = rotations.rotate(rotations.inverse(turns), ends - joints)
        safe = np.where(lengths > 1e-9, lengths, 1.0)[:, None]
        joint[row.AXIS : row.AXIS + 3] = np.where(lengths[:, None] > 1e-9, axis / safe, [0.0, 1.0, 0.0]).T
        _parameters(chain, skeleton, lengths, joint, chain_rows[:, c], solver, h, measured)
        joint[row.LIMIT_TURN + 3] = 1.0
        for j, limit in enumerate(chain.limits or ()):
            if limit is not None:
                joint[row.LIMIT, j] = 1 + LIMITS.index(limit.kind)
                joint[row.LIMIT_FIRST, j], joint[row.LIMIT_SECOND, j] = limit.angles[0], limit.angles[-1]
                joint[row.LIMIT_TURN : row.LIMIT_TURN + 4, j] = limit.rotation
        joints_of_kind[:, columns[start : start + count]] = joint
        if sag_free:
            gravity = chain_rows[row.GRAVITY : row.GRAVITY + 3, c]
            chain_rows[row.GRAVITY_CARRIED : row.GRAVITY_CARRIED + 3, c] = rotations.rotate(to_attach, gravity)
        chain_rows[row.ROOT : row.ROOT + 3, c] = rotations.rotate(to_attach, joints[0] - position)
        chain_rows[row.OFFSET_ABOVE : row.OFFSET_ABOVE + 3, c] = offset
        way = _path(rig, c)
        span[:, c] = [count, c, stride, len(pair), len(chain.colliders), len(allowance), len(path), len(way)]
        path += way
        chain_rows[row.TICKS, c] = ticks
        chain_rows[row.REACH, c] = lengths.sum() + radii.max(initial=0.0)
        key = (int(anchor), tuple(map(int, chain.colliders)))
        if key not in lists:
            lists[key] = len(placed)
            placed += [(b, key[0]) for b in key[1]]
        chain_colliders.append(lists[key])
        for b in chain.colliders:
            collider = rig.colliders[b]
            corners = (0, 0, 0)
            if collider.surface is not None:
                corners = collider.surface.distance.shape
                if b not in grid_start:
                    grid_start[b] = sum(map(len, grids))
                    grids.append(collider.surface.distance.astype(np.float32).ravel())
            pair.append((SHAPES.index(collider.shape), grid_start.get(b, 0), *corners))
            pair_number.append((collider.friction, (1.0 - collider.speed_loss) ** (60.0 * h)))
            deep = rest_overlap(collider, rest_frames, b, joints, ends, radii)
            allowance.extend(deep if keep_overlap else 0.0 * deep)
            overlaps.extend((int(start + s), int(b), float(deep[s])) for s in np.flatnonzero(deep > 0.0))
    order, sizes = _families(rig)
    return RigConstants(
        joint=joints_of_kind.astype(np.float32),
        columns=columns,
        chain=chain_rows.astype(np.float32),
        span=span.astype(np.int32),
        pair=np.array(pair, dtype=np.int32).reshape(-1, row.MODEL_PAIR_ROWS).T.copy(),
        pair_number=np.array(pair_number, dtype=np.float32).reshape(-1, row.MODEL_PAIR_NUMBER_ROWS).T.copy(),
        allowance=np.array(allowance, dtype=np.float32),
        grid=np.concatenate([np.zeros(0, dtype=np.float32), *grids]),
        chain_anchor=chain_anchor,
        anchors=len(pairs_of_anchor),
        path=np.array(path, dtype=np.int32).reshape(-1, row.MODEL_PATH_ROWS).T.copy(),
        order=order,
        sizes=sizes,
        placed=np.array(placed, dtype=np.int64).reshape(-1, 2),
        chain_colliders=np.array(chain_colliders, dtype=np.int64),
        overlaps=tuple(overlaps),
    )


def _parameters(
    chain: Chain, skeleton: Skeleton, lengths, joint, chain_row, solver: int, h: float, measured: bool
) -> None:
    """Fill the rows of the laws' own numbers for one chain (views of the kind's arrays)."""
    arc, rod = arc_parameters(chain, skeleton), rod_parameters(chain, skeleton)
    constants = factors(rod, lengths, h)
    joint[row.PULL] = arc.stiffness
    joint[row.FOLLOW] = arc.follow
    joint[row.PIVOT] = constants.pivot
    joint[row.LOWER1] = constants.lower1
    joint[row.LOWER2] = constants.lower2
    joint[row.STIFFNESS] = chain.stiffness
    joint[row.DRIFT : row.DRIFT + 3] = (chain.gravity_dir * chain.gravity_power[:, None]).T
    chain_row[row.MEMORY] = constants.memory if solver == ROD else float(measured)
    chain_row[row.GRAVITY : row.GRAVITY + 3] = rod.gravity if solver == ROD else arc.gravity
    keep = {ARC: np.exp(-arc.damping * h), ROD: constants.keep, SPRING_BONE: 1.0 - chain.drag}
    if solver == MASS_SPRING:
        joint[row.PULL], joint[row.KEEP] = springs(len(chain), h)
    else:
        joint[row.KEEP] = keep[solver]
