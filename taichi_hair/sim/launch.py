"""From attach frames in float64 to what a launch uploads: only differences of positions are rounded to float32."""

from __future__ import annotations

import numpy as np

from .. import rotations
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
        turn = rotations.multiply(
            frames.center_rotation, rotations.inverse(_before(first, frames, "center_rotation"))
        )
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
    put(row.OFFSET, position - position[:, :1])
    put(row.OFFSET_BEFORE, before - before[:, :1])
    return out


def collider_records(frames: Frames, planes: np.ndarray) -> np.ndarray:
    """(T, COLLIDER_ROWS, B) float64 records: points from the avatar's first attach point; a plane's normal as it is."""
    count, colliders = frames.collider_radius.shape
    out = np.zeros((count, row.COLLIDER_ROWS, colliders))
    if colliders:
        origin = frames.position[:, :1] if frames.position.shape[1] else np.zeros((count, 1, 3))
        out[:, row.POINT_A : row.POINT_A + 3] = np.moveaxis(frames.collider_a - origin, -1, 1)
        b = np.where(planes[:, None], frames.collider_b, frames.collider_b - origin)
        out[:, row.POINT_B : row.POINT_B + 3] = np.moveaxis(b, -1, 1)
        out[:, row.COLLIDER_RADIUS] = frames.collider_radius
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
    joint_state[row.TURN + 3] = 1.0
    chain_state[row.ROOT_BEFORE : row.ROOT_BEFORE + 3] = carried(chain[row.ROOT : row.ROOT + 3], chain_anchor).T
    return joint_state, chain_state
