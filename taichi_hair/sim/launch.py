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
    put(row.OFFSET, position - position[:, :1])
    put(row.OFFSET_BEFORE, before - before[:, :1])
    return out


@dataclass(frozen=True, eq=False)
class ColliderSizes:
    """What launches need of a rig's colliders beyond their frames, once per kind; lengths in local units."""

    planes: np.ndarray  # (B,)
    endless: np.ndarray  # (B,) planes and shapes that hold hair inside: no sphere bounds them
    solid: np.ndarray  # (B,) boxes and surfaces
    size: np.ndarray  # (B, 3) half edges of a box, cell of a surface's grid
    middle: np.ndarray  # (B, 3) of a box or surface, from its own point along its own axes
    extent: np.ndarray  # (B,) from there to its farthest corner
    thin: np.ndarray  # (B,) least half edge of a box, two cells of a surface

    def __len__(self) -> int:
        return len(self.planes)


def collider_sizes(colliders: Sequence[Collider]) -> ColliderSizes:
    """The sizes of a rig's colliders."""
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
    shapes = np.array([collider.shape for collider in colliders], dtype=object)
    return ColliderSizes(
        planes=shapes == "plane",
        endless=np.isin(shapes, ("plane", "inside_sphere", "inside_capsule")),
        solid=np.isin(shapes, ("box", "surface")),
        size=size,
        middle=middle,
        extent=extent,
        thin=thin,
    )


def collider_records(first: Frames, frames: Frames, sizes: ColliderSizes, centered: np.ndarray) -> np.ndarray:
    """(T + 1, COLLIDER_ROWS, B) float64 records of `first` and then of `frames`: points from the avatar's first attach
    point; a plane's normal as it is. The sphere about each collider holds it from the record before to this one."""
    all_frames = Frames(**{n: np.concatenate([getattr(first, n), v]) for n, v in vars(frames).items()})
    count, colliders = all_frames.collider_radius.shape
    out = np.zeros((count, row.COLLIDER_ROWS, colliders))
    if not colliders:
        return out
    a, b, turn = all_frames.collider_a, all_frames.collider_b, all_frames.collider_rotation
    radius, tail_radius, scale = (
        all_frames.collider_radius,
        all_frames.collider_tail_radius,
        all_frames.collider_scale,
    )
    origin = all_frames.position[:, :1] if all_frames.position.shape[1] else np.zeros((count, 1, 3))
    lengths = sizes.size * scale[..., None]
    axis_end = np.where(sizes.planes[:, None], b, b - origin)
    center = np.where(sizes.solid[:, None], a + rotations.rotate(turn, sizes.middle * scale[..., None]), 0.5 * (a + b))
    dot = np.abs(np.sum(turn[1:] * turn[:-1], axis=-1))
    twist = np.zeros((count, colliders))
    twist[1:] = np.where(sizes.solid, 4.0 * np.sqrt(np.maximum(1.0 - dot * dot, 0.0)) * sizes.extent * scale[1:], 0.0)
    bound = np.where(sizes.solid, sizes.extent * scale, 0.5 * np.linalg.norm(b - a, axis=-1))
    bound = bound + np.maximum(radius, tail_radius) + twist
    bound[1:] += _moved(all_frames, centered)

    def put(first_row, value):
        out[:, first_row : first_row + value.shape[-1]] = np.moveaxis(value, -1, 1)

    put(row.POINT_A, a - origin)
    put(row.POINT_B, np.where(sizes.solid[:, None], lengths, axis_end))
    out[:, row.COLLIDER_RADIUS] = radius
    out[:, row.TAIL_RADIUS] = tail_radius
    put(row.COLLIDER_TURN, turn)
    put(row.BOUND, np.where(sizes.endless[:, None], 0.0, center - origin))
    out[:, row.BOUND + 3] = np.where(sizes.endless, 1e15, bound)
    out[:, row.TWIST] = twist
    thickness = np.minimum(radius, tail_radius) + sizes.thin * scale
    out[:, row.THICKNESS] = np.where(sizes.endless, 1e15, thickness)
    return out


def _moved(frames: Frames, centered: np.ndarray) -> np.ndarray:
    """(T, B) the farthest that an axis point of each collider moves between two frames, in the world or as any centre
    sees it."""
    ends = np.stack([frames.collider_a, frames.collider_b], axis=2)
    before, now = ends[:-1], ends[1:]
    most = np.linalg.norm(now - before, axis=-1).max(axis=2)
    for k in np.flatnonzero(centered):
        at, q = frames.center_position[:, k, None, None], frames.center_rotation[:, k]
        turn = rotations.multiply(q[1:], rotations.inverse(q[:-1]))[:, None, None]
        carried = rotations.rotate(turn, before - at[:-1]) + at[1:]
        most = np.maximum(most, np.linalg.norm(now - carried, axis=-1).max(axis=2))
    return most


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
