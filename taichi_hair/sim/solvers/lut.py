"""lut: from the head's rotation to the pose of the hair by a table, for crowds far away and for machines without time.

Rotations are sampled on four faces of the sphere of quaternions, one for each component that is the largest, as a grid
of the other three divided by it; q and -q are one rotation, so four faces are all. A rotation between samples takes the
four corners of the tetrahedron of its cell that holds it, with weights that sum to 1. What a style does over all
rotations is a few shapes mixed: the table keeps how much of each (the principal components of the sampled poses).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np

from ... import rotations

SHAPE = (7, 6, 6)  # samples of a face along its three directions: 4 x 252 = 1,008 in all
FACE = SHAPE[0] * SHAPE[1] * SHAPE[2]
STEP = (SHAPE[1] * SHAPE[2], SHAPE[2], 1)  # from a sample to the next, along each direction
HALF = tuple(0.5 * (n - 1) for n in SHAPE)  # cells from the middle to an end
LAST = tuple(n - 2 for n in SHAPE)  # number of the last cell
MOST_BYTES = 128 * 1024
SHAPES = 16  # principal components, fewer where the style has many joints
FREQUENCY, DAMPING = 0.9, 0.5  # Hz and ratio of a follower, chosen: nearest to the rod on the standard turn
FOLLOW = 0.7  # share of the follower's lag that a tip takes, chosen: on a nod all of it is too much
FORMAT = 1


def samples() -> np.ndarray:
    """(K, 4) the sampled rotations, unit quaternions, face after face."""
    axes = [np.linspace(-1.0, 1.0, n) for n in SHAPE]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    faces = [np.insert(grid, face, 1.0, axis=1) for face in range(4)]
    return rotations.normalise(np.concatenate(faces))


def neighbours(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(M, 4) samples about each rotation (M, 4) and (M, 4) their weights, at least 0 and 1 in sum."""
    q = np.asarray(q, dtype=np.float64).reshape(-1, 4)
    face = np.argmax(np.abs(q), axis=1)
    rows = np.arange(len(q))
    others = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])[face]
    u = q[rows[:, None], others] / q[rows, face][:, None]
    size = np.array(SHAPE)
    at = np.clip((u + 1.0) * 0.5 * (size - 1), 0.0, size - 1)
    cell = np.minimum(at.astype(np.int64), size - 2)
    part = at - cell
    order = np.argsort(-part, axis=1, kind="stable")
    sorted_part = np.take_along_axis(part, order, axis=1)
    edges = np.concatenate([np.ones((len(q), 1)), sorted_part, np.zeros((len(q), 1))], axis=1)
    weights = edges[:, :4] - edges[:, 1:]
    step = np.array([SHAPE[1] * SHAPE[2], SHAPE[2], 1])
    first = face * int(np.prod(size)) + cell @ step
    corners = np.concatenate([np.zeros((len(q), 1), dtype=np.int64), np.cumsum(step[order], axis=1)], axis=1)
    return first[:, None] + corners, weights


@dataclass(frozen=True, eq=False)
class PoseTable:
    """One style: end points of all segments, from the attach node along its own axes, over the head's rotation."""

    roots: np.ndarray  # (C, 3) f32 joint of each chain's first segment
    spans: np.ndarray  # (C, 2) first segment and number of segments of each chain
    lengths: np.ndarray  # (S,) f32
    mean: np.ndarray  # (S, 3) f32
    shapes: np.ndarray  # (R, S, 3) f32
    amounts: np.ndarray  # (K, R) f32

    @property
    def nbytes(self) -> int:
        """Bytes of the table."""
        return sum(getattr(self, f.name).nbytes for f in fields(self))

    @staticmethod
    def of(poses: np.ndarray, roots: np.ndarray, spans: np.ndarray, rest: np.ndarray) -> PoseTable:
        """From poses (K, S, 3) at `samples()`: equilibria or recorded motion; `rest` (S, 3) gives lengths."""
        poses = np.asarray(poses, dtype=np.float64)
        if poses.shape != (4 * int(np.prod(SHAPE)), *rest.shape):
            raise ValueError(f"lut: poses have shape {poses.shape}, wanted {(4 * int(np.prod(SHAPE)), *rest.shape)}")
        if not np.isfinite(poses).all():
            raise ValueError("lut: found a pose that is not finite")
        spans = np.asarray(spans, dtype=np.int32)
        flat = poses.reshape(len(poses), -1)
        mean = flat.mean(axis=0)
        fixed = 4 * (3 * len(roots) + 4 * len(rest)) + spans.nbytes
        count = int(min(SHAPES, flat.shape[1], (MOST_BYTES - fixed) // (4 * (flat.shape[1] + len(poses)))))
        if count < 1:
            raise ValueError(f"lut: {len(rest)} segments are too many for a table of {MOST_BYTES} bytes")
        u, s, v = np.linalg.svd(flat - mean, full_matrices=False)
        parts = [np.concatenate([roots[c : c + 1], rest[a : a + n - 1]]) for c, (a, n) in enumerate(spans)]
        joints = np.concatenate(parts)
        f32 = np.float32
        return PoseTable(
            roots=np.asarray(roots, dtype=f32),
            spans=spans,
            lengths=np.linalg.norm(rest - joints, axis=1).astype(f32),
            mean=mean.reshape(rest.shape).astype(f32),
            shapes=v[:count].reshape(count, *rest.shape).astype(f32),
            amounts=(u[:, :count] * s[:count]).astype(f32),
        )

    def pose(self, q: np.ndarray, follow: np.ndarray | None = None) -> np.ndarray:
        """(M, S, 3) f32 end points in the attach frame for head rotations (M, 4); lengths are exact.

        follow: rotations (M, 4) of the tip against the head, from a Follower; it grows from the root on, and hair
        hangs as it would from a head that has come as far as the ball: it takes time to fall.
        """
        index, weights = neighbours(q if follow is None else rotations.multiply(q, follow))
        amount = np.einsum("mk,mkr->mr", weights.astype(np.float32), self.amounts[index])
        points = self.mean + np.tensordot(amount, self.shapes, axes=1)
        if follow is not None:
            along = np.concatenate([FOLLOW * np.arange(1, n + 1) / n for _, n in self.spans]).astype(np.float32)
            points = points + along[:, None] * (rotations.rotate(follow[:, None], points) - points)
        return self._exact(points)

    def one(self, q, follow: np.ndarray | None = None) -> np.ndarray:
        """(S, 3) f32 the pose for a single head rotation (4,), as `pose` has it, without the overhead of a batch."""
        b = self._single
        index, weights = _corners(*(q if follow is None else _product(*q, *follow)))
        amount = weights.dot(b.amounts.take(index, axis=0))
        if follow is None:
            links = amount.dot(b.link_shapes)
        else:
            amount.dot(b.shapes, out=b.points_flat)
            moved = b.points_rows.dot(b.turn(follow))
            moved *= b.along
            moved += b.points_rows
            moved = moved.reshape(b.points.shape)
            links = moved[:, 1:] - moved[:, :-1]
        rows = links.reshape(-1, 3)
        size = (rows * rows).dot(b.ones)
        if b.guarded:
            size += b.tiny
        np.sqrt(size, out=size)
        np.divide(b.lengths, size, out=size)
        rows *= size[:, None]
        chains = rows.reshape(b.chains)
        np.add.accumulate(chains, axis=1, out=chains)
        chains += b.roots
        return rows if b.even else chains[b.there]

    @cached_property
    def _single(self) -> _Single:
        return _Single(self)

    def _exact(self, points: np.ndarray) -> np.ndarray:
        """The same with every segment at its length, root to tip, all chains of equal depth at once."""
        out = np.empty(points.shape, dtype=np.float32)
        first, count = self.spans.T
        joint = np.broadcast_to(self.roots, (len(points), *self.roots.shape))
        for j in range(int(count.max())):
            has = count > j
            s = first[has] + j
            d = points[:, s] - (points[:, s - 1] if j else joint[:, has])
            d *= (self.lengths[s] / np.maximum(np.sqrt(np.einsum("msi,msi->ms", d, d)), 1e-12))[..., None]
            out[:, s] = (out[:, s - 1] if j else joint[:, has]) + d
        return out

    def save(self, path) -> None:
        """Write a .npz file that another table can stand in for."""
        numbers = {f.name: getattr(self, f.name) for f in fields(self)}
        np.savez_compressed(path, format=FORMAT, shape=np.array(SHAPE), **numbers)

    @staticmethod
    def load(path) -> PoseTable:
        """Read a table that `save` wrote."""
        path = Path(path)
        with np.load(path) as file:
            found = tuple(file["shape"]) if "shape" in file else None
            if "format" not in file or int(file["format"]) != FORMAT or found != SHAPE:
                raise ValueError(f"{path}: not a pose table of format {FORMAT} with samples {SHAPE}, found {found}")
            return PoseTable(**{name: file[name] for name in PoseTable.__dataclass_fields__})


class _Single:
    """A table laid out for one pose at a time: chains side by side, filled up to the longest, the root before each."""

    def __init__(self, table: PoseTable) -> None:
        count, most = len(table.spans), int(table.spans[:, 1].max())
        place = np.minimum(np.arange(most), table.spans[:, 1:] - 1) + table.spans[:, :1]  # the last one stays
        self.there = np.arange(most) < table.spans[:, 1:]
        self.even = bool(self.there.all())
        self.roots = table.roots[:, None]
        ones = np.ones((len(table.amounts), 1), dtype=np.float32)  # mixes the mean in
        self.amounts = np.concatenate([table.amounts, ones], axis=1)
        shapes = np.zeros((len(table.shapes) + 1, count, most + 1, 3), dtype=np.float32)
        shapes[:-1, :, 1:] = table.shapes[:, place]
        shapes[-1] = np.concatenate([self.roots, table.mean[place]], axis=1)
        self.shapes = shapes.reshape(len(shapes), -1)
        self.link_shapes = np.diff(shapes, axis=2).reshape(len(shapes), -1)
        self.lengths = np.where(self.there, table.lengths[place], np.float32(0.0)).ravel()
        self.guarded = bool(self.lengths.min() < 1e-9)
        along = np.zeros((count, most + 1), dtype=np.float32)
        along[:, 1:] = np.where(self.there, FOLLOW * np.arange(1, most + 1) / table.spans[:, 1:], FOLLOW)
        self.along = along.reshape(-1, 1)
        self.points = np.zeros((count, most + 1, 3), dtype=np.float32)
        self.points_rows, self.points_flat = self.points.reshape(-1, 3), self.points.ravel()
        self.chains = (count, most, 3)
        self.ones, self.tiny = np.ones(3, dtype=np.float32), np.float32(1e-24)

    @staticmethod
    def turn(q) -> np.ndarray:
        """(3, 3) f32 that adds to rows what a turn by q (4,) moves them by."""
        x, y, z, w = (float(v) for v in q)
        return np.array(
            (
                (-2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)),
                (2 * (x * y - z * w), -2 * (x * x + z * z), 2 * (y * z + x * w)),
                (2 * (x * z + y * w), 2 * (y * z - x * w), -2 * (x * x + y * y)),
            ),
            dtype=np.float32,
        )


def _corners(x: float, y: float, z: float, w: float) -> tuple[list[int], np.ndarray]:
    """`neighbours` of one rotation in plain numbers."""
    ax, ay, az, aw = abs(x), abs(y), abs(z), abs(w)
    most = max(ax, ay, az, aw)
    if ax == most:
        face, u = 0, (y / x, z / x, w / x)
    elif ay == most:
        face, u = 1, (x / y, z / y, w / y)
    elif az == most:
        face, u = 2, (x / z, y / z, w / z)
    else:
        face, u = 3, (x / w, y / w, z / w)
    # Written out: a loop and a sort over three take a microsecond longer.
    p0, p1, p2 = (u[0] + 1.0) * HALF[0], (u[1] + 1.0) * HALF[1], (u[2] + 1.0) * HALF[2]
    c0, c1, c2 = int(p0), int(p1), int(p2)
    if c0 > LAST[0]:
        c0 = LAST[0]
    if c1 > LAST[1]:
        c1 = LAST[1]
    if c2 > LAST[2]:
        c2 = LAST[2]
    p0, p1, p2 = p0 - c0, p1 - c1, p2 - c2
    s0, s1, s2 = STEP
    at = face * FACE + c0 * s0 + c1 * s1 + c2
    if p1 > p0:
        p0, p1, s0, s1 = p1, p0, s1, s0
    if p2 > p1:
        p1, p2, s1, s2 = p2, p1, s2, s1
    if p1 > p0:
        p0, p1, s0, s1 = p1, p0, s1, s0
    weights = np.array((1.0 - p0, p0 - p1, p1 - p2, p2), dtype=np.float32)
    return [at, at + s0, at + s0 + s1, at + s0 + s1 + s2], weights


def _product(ax, ay, az, aw, bx, by, bz, bw) -> tuple[float, float, float, float]:
    """The rotation b followed by a, in plain numbers."""
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


class Follower:
    """A cheap follow-through: a heavy ball on a spring turns after each head, and the tips go with it in part.

    It knows turning only. Of the tips' swing against the head that the rod has, a table with its follower leaves about
    six tenths as error in the standard turn, and eight tenths in a nod; hair that swings because the body moves along
    is not followed at all.
    """

    def __init__(self, q: np.ndarray, frequency: float = FREQUENCY, damping: float = DAMPING) -> None:
        self._w = 2.0 * np.pi * float(frequency)
        self._damping = float(damping)
        self._late = np.array(q, dtype=np.float64).reshape(-1, 4)
        self._spin = np.zeros((len(self._late), 3))  # radians a second

    def step(self, q: np.ndarray, dt: float) -> np.ndarray:
        """(M, 4) rotation of the balls in the frame of heads that have turned to q (M, 4) within dt seconds."""
        q = np.asarray(q, dtype=np.float64).reshape(-1, 4)
        w, h = self._w, max(float(dt), 0.0)
        behind = _vector(rotations.multiply(q, rotations.inverse(self._late)))
        # Implicit in both the spring and the damping: no dt makes it grow.
        self._spin = (self._spin + h * w * w * behind) / (1.0 + 2.0 * self._damping * w * h + w * w * h * h)
        angle = np.linalg.norm(self._spin, axis=1) * h
        axis = self._spin / np.maximum(np.linalg.norm(self._spin, axis=1), 1e-12)[:, None]
        turn = np.concatenate([axis * np.sin(0.5 * angle)[:, None], np.cos(0.5 * angle)[:, None]], axis=1)
        self._late = rotations.normalise(rotations.multiply(turn, self._late))
        return rotations.multiply(rotations.inverse(q), self._late)


def _vector(q: np.ndarray) -> np.ndarray:
    """(M, 3) axis times angle, radians, of rotations (M, 4), the short way round."""
    q = np.where(q[:, 3:] < 0.0, -q, q)
    size = np.linalg.norm(q[:, :3], axis=1, keepdims=True)
    return q[:, :3] / np.maximum(size, 1e-12) * (2.0 * np.arctan2(size, q[:, 3:]))
