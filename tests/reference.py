"""Slow, plain NumPy float64 versions of the laws in world positions: the oracle for the simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taichi_hair import rotations
from taichi_hair.avatar.skeleton import Skeleton
from taichi_hair.hair import ArcParameters, Chain, Collider, RodParameters

TICK = 1.0 / 120.0


@dataclass(frozen=True, eq=False)
class Frames:
    """World motion of a chain's attach node; frame 0 is the state before the first tick, where the hair is at rest."""

    position: np.ndarray  # (T, 3) metres
    rotation: np.ndarray  # (T, 4) xyzw
    scale: float = 1.0  # uniform world scale

    def __len__(self) -> int:
        return len(self.position)


@dataclass(frozen=True, eq=False)
class Shape:
    """World motion of one collider."""

    shape: str  # one of hair.SHAPES
    start: np.ndarray  # (T, 3) centre, start of the axis or point of the plane
    end: np.ndarray  # (T, 3) end of the axis; equal to start for a sphere
    radius: float
    normal: np.ndarray | None = None  # (T, 3) unit


@dataclass(frozen=True, eq=False)
class Strand:
    """A chain's rest shape in the frame of its attach node, in that node's local units."""

    root: np.ndarray  # (3,) the first joint
    rest: np.ndarray  # (J, 3) segments: rest_i = R0_i a_i
    turns: np.ndarray  # (J, 4) rest rotation of each joint
    bind: np.ndarray  # (4,) world rotation of the attach node in the rest pose
    joint_scale: np.ndarray  # (J,) scale of each joint's frame relative to the attach node's


def rigid_parts(world: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position (..., 3), rotation (..., 4) and uniform scale (...) of world matrices (..., 4, 4)."""
    scale = np.cbrt(np.abs(np.linalg.det(world[..., :3, :3])))
    return world[..., :3, 3], rotations.from_matrix(world), scale


def attach_frames(chain: Chain, worlds: np.ndarray) -> Frames:
    """Frames of a chain's attach node from the world matrices of all nodes (T, N, 4, 4)."""
    world = worlds[:, chain.attach] if chain.attach >= 0 else np.broadcast_to(np.eye(4), (len(worlds), 4, 4))
    position, rotation, scale = rigid_parts(world)
    return Frames(position, rotation, float(scale[0]))


def collider_shapes(chain: Chain, colliders: tuple[Collider, ...], worlds: np.ndarray) -> list[Shape]:
    """World shapes of the colliders that a chain meets, in the order of `chain.colliders`."""
    shapes = []
    for index in chain.colliders:
        collider = colliders[index]
        world = worlds[:, collider.node]
        position, rotation, scale = rigid_parts(world)
        start = position + np.einsum("tij,j->ti", world[:, :3, :3], collider.offset)
        end = start
        if collider.tail is not None:
            end = position + np.einsum("tij,j->ti", world[:, :3, :3], collider.tail)
        normal = None if collider.normal is None else rotations.rotate(rotation, collider.normal)
        shapes.append(Shape(collider.shape, start, end, collider.radius * float(scale[0]), normal))
    return shapes


def strand(chain: Chain, skeleton: Skeleton) -> Strand:
    """The rest shape of a chain, read off the rest pose of the skeleton."""
    attach = skeleton.rest_world[chain.attach] if chain.attach >= 0 else np.eye(4)
    position, bind, scale = rigid_parts(attach)
    joint_position, joint_rotation, joint_scale = rigid_parts(skeleton.rest_world[chain.joints])
    tips = joint_position + np.einsum("jik,jk->ji", skeleton.rest_world[chain.joints][:, :3, :3], chain.tails)
    back = rotations.inverse(bind)
    return Strand(
        root=rotations.rotate(back, joint_position[0] - position) / scale,
        rest=rotations.rotate(back, tips - joint_position) / scale,
        turns=rotations.multiply(back, joint_rotation),
        bind=bind,
        joint_scale=joint_scale / scale,
    )


def rest_shape(chain: Chain, skeleton: Skeleton, frames: Frames) -> np.ndarray:
    """End points (T, J, 3) of the rest shape, carried rigidly by the attach node."""
    shape = strand(chain, skeleton)
    local = shape.root + np.cumsum(shape.rest, axis=0)
    turned = rotations.rotate(frames.rotation[:, None], frames.scale * local)
    return frames.position[:, None] + turned


# ---------- spring-bone: the VRM 1.0 reference algorithm ----------


def push_out(shape: Shape, tick: int, point: np.ndarray, radius: float) -> tuple[float, np.ndarray]:
    """Signed distance of a ball from a collider, and the unit direction that leads out (VRMC_springBone, extended)."""
    start, end = shape.start[tick], shape.end[tick]
    if shape.shape == "plane":
        normal = shape.normal[tick]
        return float((point - start) @ normal) - radius, normal
    axis = end - start
    if shape.shape in ("capsule", "inside_capsule") and axis @ axis > 0.0:
        start = start + axis * np.clip((point - start) @ axis / (axis @ axis), 0.0, 1.0)
    away = point - start
    length = float(np.linalg.norm(away))
    direction = away / length if length > 0.0 else np.zeros(3)
    if shape.shape.startswith("inside"):
        return shape.radius - radius - length, -direction
    return length - shape.radius - radius, direction


def spring_bone(
    chain: Chain,
    skeleton: Skeleton,
    frames: Frames,
    dt: float,
    shapes: list[Shape] | tuple[Shape, ...] = (),
    center: np.ndarray | None = None,
    measured_length: bool = True,
) -> np.ndarray:
    """End points (T, J, 3) metres after each update of dt seconds.

    The rest direction of a joint is relative to its parent as it is bent now. `center` (T, 4, 4): world matrices of the
    node in whose frame inertia is measured.

    three-vrm measures a bone's length at each update, from the joint where it is now to the child where it was after
    the update before. The tail that it keeps for inertia, and pushes out of colliders, lies at that distance; only its
    direction turns the bone, so the end points returned have exact lengths. `measured_length` follows it; without, the
    kept tail lies at the bone's own length, as the specification has it.
    """
    shape = strand(chain, skeleton)
    lengths = frames.scale * np.linalg.norm(shape.rest, axis=1)
    radii = chain.hit_radius * frames.scale * shape.joint_scale
    # Each joint's rest rotation relative to the joint above it; the first one's is relative to the attach node.
    above = np.concatenate([rotations.IDENTITY[None], shape.turns[:-1]])
    relative = rotations.multiply(rotations.inverse(above), shape.turns)
    bone_axis = rotations.rotate(rotations.inverse(shape.turns), shape.rest)  # in the joint's own rest frame
    bone_axis = bone_axis / np.maximum(np.linalg.norm(bone_axis, axis=1, keepdims=True), 1e-300)
    if center is None:
        center = np.broadcast_to(np.eye(4), (len(frames), 4, 4))

    positions = rest_shape(chain, skeleton, frames)
    to_center = np.linalg.inv(center[0])
    current = positions[0] @ to_center[:3, :3].T + to_center[:3, 3]
    previous = current.copy()
    for tick in range(1, len(frames)):
        to_center = np.linalg.inv(center[tick])
        parent_turn = frames.rotation[tick]
        joint = frames.position[tick] + rotations.rotate(parent_turn, frames.scale * shape.root)
        for j in range(len(chain)):
            rest_turn = rotations.multiply(parent_turn, relative[j])
            if lengths[j] == 0.0:
                positions[tick, j] = joint
                parent_turn = rest_turn
                continue
            tail = current[j] + (current[j] - previous[j]) * (1.0 - chain.drag[j])
            tail = center[tick, :3, :3] @ tail + center[tick, :3, 3]
            tail = tail + rotations.rotate(rest_turn, bone_axis[j]) * chain.stiffness[j] * dt
            tail = tail + chain.gravity_dir[j] * chain.gravity_power[j] * dt
            reach = np.linalg.norm(positions[tick - 1, j] - joint) if measured_length else lengths[j]
            tail = joint + reach * (tail - joint) / np.linalg.norm(tail - joint)
            for collider in shapes:
                distance, direction = push_out(collider, tick, tail, radii[j])
                if distance < 0.0:
                    tail = tail - direction * distance
                    tail = joint + reach * (tail - joint) / np.linalg.norm(tail - joint)
            previous[j] = current[j]
            current[j] = to_center[:3, :3] @ tail + to_center[:3, 3]
            bend = rotations.from_to(bone_axis[j], rotations.rotate(rotations.inverse(rest_turn), tail - joint))
            parent_turn = rotations.multiply(rest_turn, bend)
            joint = joint + lengths[j] * (tail - joint) / np.linalg.norm(tail - joint)
            positions[tick, j] = joint
    return positions


# ---------- what arc and rod share ----------


def tick_gravity(gravity: np.ndarray, turn: np.ndarray, bind: np.ndarray, sag_free: bool) -> np.ndarray:
    """(3,) m/s^2: gravity, less what the authored style already carries; `turn` (3, 3) is the attach rotation."""
    return gravity - turn @ rotations.to_matrix(bind).T @ gravity if sag_free else gravity


def exact_lengths(
    root: np.ndarray, wanted: np.ndarray, rest: np.ndarray, lengths: np.ndarray, from_wanted: bool
) -> np.ndarray:
    """End points (J, 3) with exact segment lengths, root to tip.

    A segment points from its joint to its wanted end point; with `from_wanted`, along the wanted segment instead (from
    the wanted end point above). Where that direction degenerates it is the rest direction `rest` (J, 3).
    """
    points = np.empty_like(wanted)
    joint = origin = root
    for j in range(len(wanted)):
        along = wanted[j] - origin
        size = np.linalg.norm(along)
        if size < 1e-6 * lengths[j] or size == 0.0:
            along, size = rest[j], lengths[j]
        points[j] = joint + (along * (lengths[j] / size) if lengths[j] > 0.0 else 0.0)
        joint = points[j]
        origin = wanted[j] if from_wanted else points[j]
    return points


# ---------- arc: the published update ----------


def arc(
    chain: Chain,
    skeleton: Skeleton,
    frames: Frames,
    parameters: ArcParameters,
    h: float = TICK,
    sag_free: bool = True,
) -> np.ndarray:
    """End points (T, J, 3) metres of the published update: a spring of each segment toward the carried rest direction.

    Force: joint origins of the start of the tick, attach rotation of the new one. `follow` exempts from damping the
    velocity that the attach node's step, taken as a rigid motion, gives a point at x.
    """
    shape = strand(chain, skeleton)
    rest = frames.scale * shape.rest
    lengths = np.linalg.norm(rest, axis=1)
    turns = rotations.to_matrix(frames.rotation)
    decay = np.exp(-parameters.damping * h)[:, None]
    follow = parameters.follow[:, None]

    positions = rest_shape(chain, skeleton, frames)
    x = positions[0].copy()
    v = np.zeros_like(x)
    root = frames.position + np.einsum("tij,j->ti", turns, frames.scale * shape.root)
    for tick in range(1, len(frames)):
        turn = turns[tick]
        carried_rest = rest @ turn.T
        origins = np.concatenate([root[tick - 1][None], x[:-1]])
        gravity = tick_gravity(parameters.gravity, turn, shape.bind, sag_free)
        force = parameters.stiffness[:, None] * (origins + carried_rest - x) + gravity
        step = turn @ turns[tick - 1].T
        carried = frames.position[tick] + (x - frames.position[tick - 1]) @ step.T
        rigid = follow * (carried - x) / h
        y = x + h * (decay * (v - rigid + h * force) + rigid)
        new = exact_lengths(root[tick], y, carried_rest, lengths, from_wanted=False)
        v = (new - x) / h
        x = new
        positions[tick] = x
    return positions


# ---------- rod: an implicit tapered rod in the attach frame ----------


@dataclass(frozen=True, eq=False)
class Rod:
    """The constant matrices of one chain's rod."""

    K: np.ndarray  # (J, J) 1/s^2, per unit mass; its first mode is the asked frequency
    B: np.ndarray  # (J,) bending stiffness of each joint, scaled with K
    S: np.ndarray  # (J, J) implicit step 1 + (h^2 + beta h) K
    alpha: np.ndarray  # (J,) 1/s, air damping
    beta: float  # s, inside damping is beta K
    keep: float  # g = beta / (h + beta)


def rod_matrices(lengths: np.ndarray, parameters: RodParameters, h: float = TICK) -> Rod:
    """The rod of a strand with segment lengths (J,).

    A segment shorter than a twentieth of the mean counts as that long in the energy: coincident joints stay finite.
    """
    count = len(lengths)
    lengths = np.maximum(lengths, max(0.05 * lengths.mean(), 1e-9))
    total = lengths.sum()
    to_tip = np.cumsum(lengths[::-1])[::-1] / total
    B = parameters.profile * to_tip**parameters.softness
    # delta = D p: link deviations; bend = G delta: differences of neighbouring links, the first against the head.
    D = np.diag(1.0 / lengths) - np.diag(1.0 / lengths[1:], -1)
    G = np.eye(count) - np.eye(count, k=-1)
    K = D.T @ (G.T @ np.diag(B) @ G + parameters.root_share * B.mean() * np.eye(count)) @ D
    w = 2.0 * np.pi * parameters.frequency
    scale = w**2 / np.linalg.eigvalsh(K)[0]
    K, B = K * scale, B * scale
    beta = 2.0 * parameters.damping * (1.0 - parameters.air) / w
    along = np.cumsum(lengths) / total
    alpha = 2.0 * parameters.damping * parameters.air * w * along**parameters.air_tip
    return Rod(K, B, np.eye(count) + (h * h + beta * h) * K, alpha, beta, beta / (h + beta))


def pentadiagonal_factors(S: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(l1, l2, 1/d) of S = L diag(d) L^T for a symmetric matrix with two sub-diagonals."""
    count = len(S)
    d, l1, l2 = np.zeros(count), np.zeros(count), np.zeros(count)
    for i in range(count):
        if i > 1:
            l2[i] = S[i, i - 2] / d[i - 2]
        if i > 0:
            l1[i] = (S[i, i - 1] - (l2[i] * d[i - 2] * l1[i - 1] if i > 1 else 0.0)) / d[i - 1]
        d[i] = S[i, i]
        if i > 0:
            d[i] -= l1[i] ** 2 * d[i - 1]
        if i > 1:
            d[i] -= l2[i] ** 2 * d[i - 2]
    return l1, l2, 1.0 / d


def factored_solve(factors: tuple[np.ndarray, np.ndarray, np.ndarray], right: np.ndarray) -> np.ndarray:
    """Solution (J, 3) of S z = right by the two sweeps that a chain makes each tick."""
    l1, l2, inverse_d = factors
    z = right.copy()
    count = len(z)
    for i in range(count):
        if i > 0:
            z[i] -= l1[i] * z[i - 1]
        if i > 1:
            z[i] -= l2[i] * z[i - 2]
    for i in reversed(range(count)):
        z[i] *= inverse_d[i]
        if i + 1 < count:
            z[i] -= l1[i + 1] * z[i + 1]
        if i + 2 < count:
            z[i] -= l2[i + 2] * z[i + 2]
    return z


def rod(
    chain: Chain,
    skeleton: Skeleton,
    frames: Frames,
    parameters: RodParameters,
    h: float = TICK,
    sag_free: bool = True,
    dense: bool = False,
) -> np.ndarray:
    """End points (T, J, 3) metres of the rod; `dense` solves with numpy.linalg.solve instead of the two sweeps."""
    shape = strand(chain, skeleton)
    rest = frames.scale * shape.rest
    lengths = np.linalg.norm(rest, axis=1)
    matrices = rod_matrices(lengths, parameters, h)
    factors = pentadiagonal_factors(matrices.S)
    decay = np.exp(-matrices.alpha * h)[:, None]
    turns = rotations.to_matrix(frames.rotation)

    positions = rest_shape(chain, skeleton, frames)
    rest_points = positions.copy()
    x = positions[0].copy()
    v = np.zeros_like(x)
    root = frames.position + np.einsum("tij,j->ti", turns, frames.scale * shape.root)
    deviation = np.zeros_like(x)
    for tick in range(1, len(frames)):
        gravity = tick_gravity(parameters.gravity, turns[tick], shape.bind, sag_free)
        y = x + h * decay * (v + h * gravity)
        kept = matrices.keep * deviation
        right = y - rest_points[tick] - kept
        z = np.linalg.solve(matrices.S, right) if dense else factored_solve(factors, right)
        wanted = rest_points[tick] + kept + z
        new = exact_lengths(root[tick], wanted, rest @ turns[tick].T, lengths, from_wanted=True)
        v = (new - x) / h
        x = new
        deviation = x - rest_points[tick]
        positions[tick] = x
    return positions
