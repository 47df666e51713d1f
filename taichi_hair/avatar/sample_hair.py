"""Locks of hair and the chains that move them: the tools with which the built-in avatars' hairstyles are laid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .sample_mesh import (
    Surface,
    along_bones,
    lengths,
    loft,
    mirror,
    other_side,
    points_at,
    ring_angles,
    smoothstep,
    spline,
    table,
)

SKULL = np.array([0.0, 1.428, -0.008])  # metres, centre of the skull
_SKULL_RADII = np.array([0.0800, 0.1045, 0.0970])
_SKULL_EXPONENT = 2.25


@dataclass(frozen=True)
class Spring:
    """Settings of a chain in VRM 1.0 units; pairs run from root to tip."""

    stiffness: tuple[float, float]
    drag: float
    gravity: float
    radius: tuple[float, float]  # metres
    groups: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Strand:
    """A chain: `count` moving joints evenly along `path`, which begins at the first joint and ends at the tip."""

    name: str
    path: np.ndarray  # (K, 3) fine polyline, metres
    count: int
    spring: Spring

    @property
    def bones(self) -> list[str]:
        """Names of the moving joints and of the end node."""
        return [f"{self.name}_{i + 1}" for i in range(self.count)] + [f"{self.name}_end"]

    @property
    def joints(self) -> np.ndarray:
        """(count + 1, 3) places of the bones."""
        return points_at(self.path, np.linspace(0.0, lengths(self.path)[-1], self.count + 1))

    def weights(self, points: np.ndarray) -> dict[str, np.ndarray]:
        """Bone weights of ring centres (R, 3) in order from root to tip: one ring moves as one piece."""
        along = lengths(self.path)
        start = self.path[0] - self.path[1]
        before = np.clip((points - self.path[0]) @ (start / np.linalg.norm(start)), 0.0, None)
        nearest = np.argmin(np.linalg.norm(points[:, None] - self.path[None], axis=2), axis=1)
        at = np.maximum.accumulate(np.where(nearest == 0, -before, along[nearest]))
        step = along[-1] / self.count
        widths = np.full(self.count, 0.5 * step)
        # The first joint bends most: its blend is wider, but leaves the root ring on the head.
        widths[0] = min(0.9 * step, max(-at[0], 1e-4))
        return along_bones(["head", *self.bones[:-1]], step * np.arange(self.count), widths, at)

    def mirrored(self) -> Strand:
        """The chain of the other side."""
        return replace(self, name=other_side(self.name), path=self.path * [-1.0, 1.0, 1.0])


def skull(azimuth, elevation, lift) -> np.ndarray:
    """Points (..., 3) `lift` metres over the skull.

    Degrees: azimuth 0 is in front, 90 at the avatar's left; elevation 90 is on top.
    """
    azimuth, elevation, lift = np.broadcast_arrays(np.radians(azimuth), np.radians(elevation), lift)
    level = np.cos(elevation)
    way = np.stack([level * np.sin(azimuth), np.sin(elevation), level * np.cos(azimuth)], axis=-1)
    return _over_skull(way, lift)


def _over_skull(way: np.ndarray, lift) -> np.ndarray:
    """Points (..., 3) over the skull in directions `way` (..., 3), unit."""
    reach = (np.abs(way / _SKULL_RADII) ** _SKULL_EXPONENT).sum(axis=-1) ** (-1.0 / _SKULL_EXPONENT)
    return SKULL + way * (reach + lift)[..., None]


def comb(start: tuple[float, float], goal: np.ndarray, lifts: tuple[float, float, float], count: int = 7) -> np.ndarray:
    """Control points (count, 3) of hair combed over the skull from (azimuth, elevation) to the place `goal` (3,)."""
    a = skull(*start, 0.0) - SKULL
    b = np.asarray(goal) - SKULL
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    angle = np.arccos(np.clip(a @ b, -1.0, 1.0))
    t = np.linspace(0.0, 1.0, count)[:, None]
    way = (np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / np.sin(angle)
    points = _over_skull(way, table([(0.0, lifts[0]), (0.5, lifts[1]), (1.0, lifts[2])], t[:, 0])[..., 0])
    points[-1] = goal
    return points


TAPER = ((0.0, 0.55), (0.25, 0.95), (0.50, 1.0), (0.75, 0.72), (0.90, 0.36), (1.0, 0.0))
PARTED = ((0.0, 0.55), (0.12, 0.85), (0.35, 1.0), (0.8, 0.75), (1.0, 0.45))
COMBED = ((0.0, 0.15), (0.2, 0.8), (0.5, 1.0), (0.8, 0.75), (1.0, 0.45))


def lock(
    points,
    width: float,
    thick: float,
    strand: Strand | None = None,
    profile=TAPER,
    outward=None,
    bend: float = 0.10,
    rings: int = 26,
    sides: int = 12,
    lobes: int = 0,
    depth: float = 0.0,
) -> Surface:
    """A closed lock along the curve through `points` (K, 3); `width` and `thick` are half sizes in metres.

    `profile` lists the share of the size from root to tip. The flat side faces away from the head, or along `outward`,
    a direction (3,) or a function of the path (R, 3) that gives one for each ring; `bend` is the radius of
    the hollow with which it wraps around the head (0 for none). `lobes` furrows, as deep as the share `depth` of the
    size, divide it lengthwise.
    """
    t = np.linspace(0.0, 1.0, rings)
    # Rings crowd towards the tip, where the outline turns fastest.
    t = t + 0.10 * np.sin(np.pi * t)
    fine = spline(points, 8 * rings)
    path = points_at(fine, t * lengths(fine)[-1])
    size = np.maximum(table(profile, t)[..., 0], 0.0)
    along = np.gradient(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    if outward is None:
        axis = np.stack([np.zeros(rings), np.clip(path[:, 1], 1.33, SKULL[1]), np.full(rings, SKULL[2])], axis=1)
        out = path - axis
    else:
        out = outward(path) if callable(outward) else np.broadcast_to(np.asarray(outward, dtype=np.float64), path.shape)
    out = out - along * np.einsum("ij,ij->i", out, along)[:, None]
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    side = np.cross(along, out)
    angle = ring_angles(sides)
    furrow = 1.0 - depth * np.abs(np.cos(0.5 * lobes * angle)) ** 5 * smoothstep(0.05, 0.3, t)[:, None]
    u = (width * size)[:, None] * np.cos(angle) * furrow
    thin = size**0.75
    n = (thick * thin)[:, None] * np.sin(angle) * furrow
    if bend:
        n = n - u * u / (2.0 * bend)
    rings_ = path[:, None] + u[..., None] * side[:, None] + n[..., None] * out[:, None]
    piece = loft(rings_, "flat", "flat")
    if strand is None:
        return piece.on("head")
    carried = strand.weights(path)
    ring = np.minimum(_ring_of(piece, rings_), rings - 1)
    return piece.weighted({bone: w[ring] for bone, w in carried.items()})


def _ring_of(piece: Surface, rings: np.ndarray) -> np.ndarray:
    """Number of the ring (V,) that each vertex of a lofted piece lies on, by its v coordinate."""
    along = lengths(rings.mean(axis=1))
    v = piece.uvs[:, 1] * along[-1]
    return np.argmin(np.abs(v[:, None] - along[None]), axis=1)


def cap(hairline, lift: float, crown: float = 0.009, rows: int = 18, columns: int = 96) -> Surface:
    """A shell over the scalp from the crown down to `hairline`: rows of azimuth (0 to 180) and elevation, degrees.

    It lies `lift` metres off the skull, and `crown` more on top.
    """
    azimuth = np.degrees(ring_angles(columns))
    folded = np.minimum(azimuth, 360.0 - azimuth)
    low = table(hairline, folded)[..., 0]
    t = np.linspace(0.0, 1.0, rows)[:, None]
    elevation = low + (90.0 - low) * t
    height = lift * (0.35 + 0.65 * smoothstep(0.0, 0.25, t)) + crown * smoothstep(35.0, 90.0, elevation)
    rings = skull(azimuth, elevation, height)
    inner = skull(azimuth, low + 1.0, -0.012)
    return loft(np.concatenate([inner[None], rings]), "flat", "open").on("head")


def strand_from(name: str, points, start: float, count: int, spring: Spring) -> Strand:
    """A chain along the curve through `points`, from the share `start` of its length to its end."""
    fine = spline(points, 200)
    along = lengths(fine)
    return Strand(name, points_at(fine, np.linspace(start * along[-1], along[-1], 120)), count, spring)


def pair(pieces: list[Surface]) -> list[Surface]:
    """The pieces with their mirror images."""
    return [*pieces, *(mirror(p) for p in pieces)]
