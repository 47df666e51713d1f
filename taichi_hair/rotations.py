"""Rotations as quaternions (x, y, z, w), as in glTF: arrays of any leading shape, in NumPy float64."""

from __future__ import annotations

import numpy as np

IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])


def normalise(q: np.ndarray) -> np.ndarray:
    """Unit quaternions (..., 4); a quaternion of length 0 becomes the identity."""
    q = np.asarray(q, dtype=np.float64)
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(length > 1e-12, q / np.where(length > 1e-12, length, 1.0), IDENTITY)


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The rotation b followed by a (Hamilton product a b), (..., 4)."""
    ax, ay, az, aw = np.moveaxis(np.asarray(a, dtype=np.float64), -1, 0)
    bx, by, bz, bw = np.moveaxis(np.asarray(b, dtype=np.float64), -1, 0)
    return np.stack(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        axis=-1,
    )


def inverse(q: np.ndarray) -> np.ndarray:
    """Inverse of unit quaternions (..., 4)."""
    return np.asarray(q, dtype=np.float64) * np.array([-1.0, -1.0, -1.0, 1.0])


def rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors v (..., 3) turned by unit quaternions q (..., 4); leading shapes broadcast."""
    q = np.asarray(q, dtype=np.float64)
    v = np.asarray(v, dtype=np.float64)
    u, w = q[..., :3], q[..., 3:]
    t = 2.0 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def from_to(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Shortest rotation that turns direction a (..., 3) into direction b (..., 3).

    Opposite directions turn half a revolution about an axis perpendicular to a; a zero vector gives the identity.
    """
    a = np.asarray(a, dtype=np.float64)
    b = np.asarray(b, dtype=np.float64)
    a, b = np.broadcast_arrays(a, b)
    la = np.linalg.norm(a, axis=-1, keepdims=True)
    lb = np.linalg.norm(b, axis=-1, keepdims=True)
    degenerate = (la < 1e-12) | (lb < 1e-12)
    a = a / np.where(la < 1e-12, 1.0, la)
    b = b / np.where(lb < 1e-12, 1.0, lb)
    w = 1.0 + np.sum(a * b, axis=-1, keepdims=True)
    axis = np.cross(a, b)
    # Opposite directions: any axis perpendicular to a; the one built on a's smallest component is well conditioned.
    unit = np.eye(3)[np.argmin(np.abs(a), axis=-1)]
    other = np.cross(a, unit)
    opposite = w < 1e-9
    q = np.concatenate([np.where(opposite, other, axis), np.where(opposite, 0.0, w)], axis=-1)
    return np.where(degenerate, IDENTITY, normalise(q))


def from_axis_angle(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Rotation about axis (..., 3) by angle (...) in radians; an axis of length 0 gives the identity."""
    axis = np.asarray(axis, dtype=np.float64)
    half = 0.5 * np.asarray(angle, dtype=np.float64)[..., None]
    length = np.linalg.norm(axis, axis=-1, keepdims=True)
    axis = axis / np.where(length > 1e-12, length, 1.0)
    half = np.where(length > 1e-12, half, 0.0)
    xyz = axis * np.sin(half)
    return np.concatenate([xyz, np.broadcast_to(np.cos(half), xyz.shape[:-1] + (1,))], axis=-1)


def to_matrix(q: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    x, y, z, w = np.moveaxis(np.asarray(q, dtype=np.float64), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(m: np.ndarray) -> np.ndarray:
    """Unit quaternions (..., 4), w >= 0, of matrices (..., 3, 3) that may carry positive scale.

    Shepperd's method (1978): the largest of the four squared components is found first, so that nothing cancels.
    """
    m = np.asarray(m, dtype=np.float64)[..., :3, :3]
    scale = np.linalg.norm(m, axis=-2, keepdims=True)
    m = m / np.where(scale > 1e-30, scale, 1.0)
    m00, m11, m22 = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    squares = np.stack([1 + m00 - m11 - m22, 1 - m00 + m11 - m22, 1 - m00 - m11 + m22, 1 + m00 + m11 + m22], axis=-1)
    a = m[..., 2, 1] - m[..., 1, 2]
    b = m[..., 0, 2] - m[..., 2, 0]
    c = m[..., 1, 0] - m[..., 0, 1]
    d = m[..., 0, 1] + m[..., 1, 0]
    e = m[..., 0, 2] + m[..., 2, 0]
    f = m[..., 1, 2] + m[..., 2, 1]
    candidates = np.stack(
        [
            np.stack([squares[..., 0], d, e, a], axis=-1),
            np.stack([d, squares[..., 1], f, b], axis=-1),
            np.stack([e, f, squares[..., 2], c], axis=-1),
            np.stack([a, b, c, squares[..., 3]], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(squares, axis=-1)
    q = np.take_along_axis(candidates, best[..., None, None], axis=-2)[..., 0, :]
    q = normalise(q)
    return np.where(q[..., 3:] < 0.0, -q, q)


def slerp(a: np.ndarray, b: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Spherical interpolation from a to b (..., 4) at t (...) in [0, 1], along the shorter way."""
    a = np.asarray(a, dtype=np.float64)
    b = np.asarray(b, dtype=np.float64)
    t = np.asarray(t, dtype=np.float64)[..., None]
    cosine = np.sum(a * b, axis=-1, keepdims=True)
    b = np.where(cosine < 0.0, -b, b)
    angle = np.arccos(np.clip(np.abs(cosine), -1.0, 1.0))
    sine = np.sin(angle)
    near = sine < 1e-6
    safe = np.where(near, 1.0, sine)
    wa = np.where(near, 1.0 - t, np.sin((1.0 - t) * angle) / safe)
    wb = np.where(near, t, np.sin(t * angle) / safe)
    return normalise(wa * a + wb * b)


def angle(q: np.ndarray) -> np.ndarray:
    """Angle of rotation (...) in radians, in [0, pi]."""
    q = np.asarray(q, dtype=np.float64)
    return 2.0 * np.arctan2(np.linalg.norm(q[..., :3], axis=-1), np.abs(q[..., 3]))
