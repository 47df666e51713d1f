"""From attach frames in float64 to what a launch uploads: only differences of positions are rounded to float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import rotations
from ..hair import Collider
from ..motion.body import Frames
from . import layout as row

TELEPORT = 0.5  # metres at rest scale that no body moves in one tick (60 m/s at 120 ticks a second)


def _before(first: Frames, frames: Frames, name: str) -> np.ndarray:
    return np.concatenate([getattr(first, name), getattr(frames, name)[:-1]])


def jumps(first: Frames, frames: Frames) -> np.ndarray:
    """(T,) ticks in which the body is somewhere else at once; such a tick carries the hair along rigidly."""
    if not frames.position.shape[1]:
        return np.zeros(len(frames), dtype=bool)
    step = np.linalg.norm(_before(first, frames, "position") - frames.position, axis=-1)
    return np.any(step > TELEPORT * np.maximum(frames.scale, 1e-6), axis=1)


def anchor_records(first: Frames, frames: Frames, teleport: np.ndarray, centered: np.ndarray) -> np.ndarray:
    """(T, ANCHOR_ROWS, A) float64 records of `frames`; `first` is the single frame before them.

    `teleport` (T,) says which ticks carry the hair rigidly, `centered` (A,) which anchors have a centre.
    """
    count, anchors = frames.position.shape[:2]
    out = np.zeros((count, row.ANCHOR_ROWS, anchors))
    position, before = frames.position, _before(first, frames, "position")
    spin = rotations.multiply(frames.rotation, rotations.inverse(_before(first, frames, "rotation")))
    step = before - position
    carry = np.broadcast_to(rotations.IDENTITY, spin.shape)
    shift = step
    if centered.any():
        center, center_before = frames.center_position, _before(first, frames, "center_position")
        turn = rotations.multiply(frames.center_rotation, rotations.inverse(_before(first, frames, "center_rotation")))
        carried = rotations.rotate(turn, before - center_before) + center - position
        carry = np.where(centered[:, None], turn, carry)
        shift = np.where(centered[:, None], carried, shift)
    rigid = teleport[:, None, None]
    carry = np.where(rigid, spin, carry)
    shift = np.where(rigid, 0.0, shift)

    def put(first_row, value):
        out[:, first_row : first_row + value.shape[-1]] = np.moveaxis(value, -1, 1)

    put(row.CARRY, carry)
    put(row.SHIFT, shift)
    out[:, row.SCALE] = frames.scale
    put(row.ATTACH, frames.rotation)
    put(row.SPIN, spin)
    put(row.STEP, np.where(rigid, 0.0, step))
    out[:, row.RIGID] = teleport[:, None]
    put(row.ATTACH_BEFORE, _before(first, frames, "rotation"))
    out[:, row.SCALE_BEFORE] = _before(first, frames, "scale")
    return out


@dataclass(frozen=True, eq=False)
class ColliderSizes:
    """What launches need of a rig's colliders beyond their frames, once per kind; lengths in local units.

    One entry per collider and anchor whose chains meet it.
    """

    collider: np.ndarray  # (P,) of the rig
    anchor: np.ndarray  # (P,) of the avatar
    planes: np.ndarray  # (P,)
    endless: np.ndarray  # (P,) planes and shapes that hold hair inside: no sphere bounds them
    solid: np.ndarray  # (P,) boxes and surfaces
    size: np.ndarray  # (P, 3) half edges of a box, cell of a surface's grid
    middle: np.ndarray  # (P, 3) of a box or surface, from its own point along its own axes
    extent: np.ndarray  # (P,) from there to its farthest corner
    thin: np.ndarray  # (P,) least half edge of a box, two cells of a surface

    def __len__(self) -> int:
        return len(self.planes)


def collider_sizes(colliders: Sequence[Collider], placed: np.ndarray) -> ColliderSizes:
    """The sizes of a rig's colliders; `placed` (P, 2) names collider and anchor of each entry."""
    count = len(colliders)
    size, middle, extent, thin = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros(count), np.zeros(count)
    for b, collider in enumerate(colliders):
        if collider.shape == "box":
            size[b] = collider.half_size
            extent[b], thin[b] = np.linalg.norm(collider.half_size), np.min(collider.half_size)
        elif collider.shape == "surface":
            cell = collider.surface.cell
            size[b] = cell
            middle[b] = 0.5 * cell * (np.array(collider.surface.distance.shape) - 1.0)
            extent[b], thin[b] = np.linalg.norm(middle[b]), 2.0 * cell
    at = placed[:, 0]
    shapes = np.array([collider.shape for collider in colliders], dtype=object)[at]
    return ColliderSizes(
        collider=at,
        anchor=placed[:, 1],
        planes=shapes == "plane",
        endless=np.isin(shapes, ("plane", "inside_sphere", "inside_capsule")),
        solid=np.isin(shapes, ("box", "surface")),
        size=size[at],
        middle=middle[at],
        extent=extent[at],
        thin=thin[at],
    )


def clip_collider_records(frames: Frames, sizes: ColliderSizes) -> np.ndarray:
    """(T, CLIP_COLLIDER_ROWS, P) float64: colliders frame by frame, each from its own anchor's attach point."""
    at, anchor = sizes.collider, sizes.anchor
    out = np.zeros((len(frames), row.CLIP_COLLIDER_ROWS, len(sizes)))
    if not len(sizes):
        return out
    a, b, turn = frames.collider_a[:, at], frames.collider_b[:, at], frames.collider_rotation[:, at]
    radius, tail_radius = frames.collider_radius[:, at], frames.collider_tail_radius[:, at]
    scale, origin = frames.collider_scale[:, at], frames.position[:, anchor]
    solid = sizes.solid[:, None]
    center = np.where(solid, a + rotations.rotate(turn, sizes.middle * scale[..., None]), 0.5 * (a + b))
    bound = np.where(sizes.solid, sizes.extent * scale, 0.5 * np.linalg.norm(b - a, axis=-1))
    bound = bound + np.maximum(radius, tail_radius)

    def put(first_row, value):
        out[:, first_row : first_row + value.shape[-1]] = np.moveaxis(value, -1, 1)

    put(row.CLIP_A, a - origin)
    put(row.CLIP_B, np.where(solid, sizes.size * scale[..., None], np.where(sizes.planes[:, None], b, b - origin)))
    out[:, row.CLIP_RADIUS] = radius
    out[:, row.CLIP_TAIL_RADIUS] = tail_radius
    put(row.CLIP_BOUND, np.where(sizes.endless[:, None], 0.0, center - origin))
    out[:, row.CLIP_BOUND + 3] = np.where(sizes.endless, 1e15, bound)
    thickness = np.minimum(radius, tail_radius) + sizes.thin * scale
    out[:, row.CLIP_THICKNESS] = np.where(sizes.endless, 1e15, thickness)
    out[:, row.CLIP_EXTENT] = sizes.extent * scale
    put(row.CLIP_TURN, turn)
    out[:, row.CLIP_POINT_B] = np.where(sizes.planes, 1.0, np.where(sizes.solid, 2.0, 0.0))
    out[:, row.CLIP_OWNER] = anchor
    return out


def collider_records(first: Frames, frames: Frames, sizes: ColliderSizes, anchor: np.ndarray) -> np.ndarray:
    """(T, COLLIDER_ROWS, P) float64 records of `frames`, which follow the single frame `first`.

    anchor: what `anchor_records` has made of the same frames; where a collider was is carried as the hair is.
    """
    out = np.zeros((len(frames), row.COLLIDER_ROWS, len(sizes)))
    if not len(sizes):
        return out
    all_frames = Frames(**{n: np.concatenate([getattr(first, n), v]) for n, v in vars(frames).items()})
    clip = np.moveaxis(clip_collider_records(all_frames, sizes), 1, 2)  # (T + 1, P, rows)
    now, was = clip[1:], clip[:-1]
    carry = np.moveaxis(anchor[:, row.CARRY : row.CARRY + 4, sizes.anchor], 1, 2)
    shift = np.moveaxis(anchor[:, row.SHIFT : row.SHIFT + 3, sizes.anchor], 1, 2)
    a, b, turn = (slice(f, f + n) for f, n in ((row.CLIP_A, 3), (row.CLIP_B, 3), (row.CLIP_TURN, 4)))
    was_a = rotations.rotate(carry, was[..., a]) + shift
    was_b = rotations.rotate(carry, was[..., b]) + shift
    was_b = np.where(sizes.planes[:, None], rotations.rotate(carry, was[..., b]), was_b)
    was_b = np.where(sizes.solid[:, None], was[..., b], was_b)
    was_turn = rotations.multiply(carry, was[..., turn])
    moved = np.linalg.norm(now[..., a] - was_a, axis=-1)
    axis = ~(sizes.planes | sizes.solid)
    moved = np.where(axis, np.maximum(moved, np.linalg.norm(now[..., b] - was_b, axis=-1)), moved)
    dot = np.minimum(np.abs(np.sum(now[..., turn] * was_turn, axis=-1)), 1.0)
    twist = np.where(sizes.solid, 4.0 * np.sqrt(1.0 - dot * dot) * now[..., row.CLIP_EXTENT], 0.0)

    def put(first_row, value):
        out[:, first_row : first_row + value.shape[-1]] = np.moveaxis(value, -1, 1)

    put(row.POINT_A, now[..., a])
    put(row.POINT_B, now[..., b])
    put(row.WAS_A, was_a)
    put(row.WAS_B, was_b)
    out[:, row.COLLIDER_RADIUS] = now[..., row.CLIP_RADIUS]
    out[:, row.TAIL_RADIUS] = now[..., row.CLIP_TAIL_RADIUS]
    put(row.BOUND, now[..., row.CLIP_BOUND : row.CLIP_BOUND + 4])
    out[:, row.BOUND + 3] += moved + twist
    out[:, row.THICKNESS] = now[..., row.CLIP_THICKNESS]
    out[:, row.TWIST] = twist
    put(row.COLLIDER_TURN, now[..., turn])
    put(row.WAS_TURN, was_turn)
    return out


def rest_state(joint: np.ndarray, chain: np.ndarray, chain_anchor: np.ndarray, frame: Frames):
    """(STATE_JOINT_ROWS, block) and (STATE_CHAIN_ROWS, C) float64 of hair that one frame carries in its rest shape.

    `joint` and `chain` are the kind's model rows. Joint-major: column c + C j belongs to chain c.
    """
    chains, block = len(chain_anchor), joint.shape[1]
    joint_state = np.zeros((row.STATE_JOINT_ROWS, block))
    chain_state = np.zeros((row.STATE_CHAIN_ROWS, chains))
    if not chains:
        return joint_state, chain_state
    anchor = np.tile(chain_anchor, block // chains)

    def carried(point, which):
        return rotations.rotate(frame.rotation[0, which], point.T.astype(np.float64)) * frame.scale[0, which, None]

    x = carried(joint[row.REST_POINT : row.REST_POINT + 3], anchor).T
    for first in (row.POSITION, row.WORK, row.BEFORE):
        joint_state[first : first + 3] = x
    chain_state[row.ROOT_BEFORE : row.ROOT_BEFORE + 3] = carried(chain[row.ROOT : row.ROOT + 3], chain_anchor).T
    return joint_state, chain_state
