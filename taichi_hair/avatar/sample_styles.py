"""The three hairstyles of the built-in avatars: which locks, which chains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .sample_hair import COMBED, PARTED, Spring, Strand, cap, comb, lock, pair, skull, strand_from
from .sample_mesh import Surface, loft, merge, mirror, ring_angles, spline
from .sample_trims import bow

# Azimuth from the front and elevation of the hairline, degrees: over the brow, round the ear, to the nape
HAIRLINE = (
    (0.0, 26.0),
    (35.0, 24.0),
    (55.0, 11.0),
    (68.0, -6.0),
    (76.0, -8.0),
    (86.0, -1.0),
    (98.0, -1.0),
    (112.0, -12.0),
    (126.0, -30.0),
    (150.0, -43.0),
    (180.0, -48.0),
)
BANG = Spring((3.0, 2.0), 0.45, 0.0, (0.006, 0.004), ("head",))
SIDE = Spring((1.6, 1.0), 0.40, 0.04, (0.009, 0.006), ("head", "neck", "shoulders"))
FRONT = Spring((0.9, 0.5), 0.40, 0.06, (0.010, 0.007), ("head", "neck", "shoulders", "torso", "arms"))
BACK = Spring((1.0, 0.6), 0.40, 0.06, (0.014, 0.009), ("head", "neck", "shoulders", "torso"))
TAIL = Spring((0.8, 0.4), 0.35, 0.08, (0.028, 0.012), ("head", "neck", "shoulders", "torso", "arms", "hips"))


@dataclass(frozen=True, eq=False)
class Style:
    """A hairstyle: surfaces by mesh name and colour ("hair", "tie"), and its chains."""

    pieces: dict[tuple[str, str], Surface]
    strands: tuple[Strand, ...]


def bang(azimuths, tip: float, root: float = 76.0, lift: float = 0.013):
    """Control points of a bang: azimuths at crown, forehead and tip; `tip` is the tip's elevation."""
    a, b, c = azimuths
    return [
        skull(a, root, 0.012),
        skull(a + 0.5 * (b - a), 55.0, lift + 0.005),
        skull(b, 30.0, lift + 0.003),
        skull(b + 0.5 * (c - b), 0.5 * (30.0 + tip), lift + 0.002),
        skull(c, tip, lift - 0.004),
    ]


def bangs(centre, sides) -> tuple[list[Surface], list[Strand]]:
    """A fringe on three chains: `centre` and mirrored `sides` list azimuths, tip elevation and half width."""
    middle = strand_from("bangs_middle", bang(*centre[0][:2]), 0.52, 2, BANG)
    locks = [lock(bang(a, tip), width, 0.0075, middle) for a, tip, width in centre]
    left = strand_from("bangs.L", bang(*sides[0][:2]), 0.50, 2, BANG)
    locks += pair([lock(bang(a, tip), width, 0.0075, left) for a, tip, width in sides])
    return locks, [middle, left, left.mirrored()]


def _ring(centre, axis, radius: float, tube: float) -> Surface:
    """A hair tie: a torus about `axis`."""
    axis = np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)
    u = np.cross(axis, [0.3, 0.2, 1.0])
    u /= np.linalg.norm(u)
    v = np.cross(axis, u)
    a = ring_angles(24)[:, None, None]
    b = ring_angles(10)[None, :, None]
    way = np.cos(a) * u + np.sin(a) * v
    rings = np.asarray(centre) + way * (radius + tube * np.cos(b)) + axis * tube * 1.25 * np.sin(b)
    return loft(np.concatenate([rings, rings[:1]]), "open", "open").on("head")


def _tail(path, strand: Strand, width: float, thick: float, outward, side) -> list[Surface]:
    """A gathered tail: one furrowed body and looser locks round it that end at different lengths.

    The loose locks lie off the body's path by `side` rows (metres x, z; share of the length; half width).
    """
    shape = ((0.0, 0.44), (0.05, 0.42), (0.20, 0.84), (0.36, 1.0), (0.62, 0.88), (0.84, 0.50), (0.95, 0.22), (1.0, 0.0))
    loose = ((0.0, 0.35), (0.3, 0.85), (0.55, 1.0), (0.8, 0.62), (0.93, 0.28), (1.0, 0.0))
    pieces = [
        lock(
            path, width, thick, strand, profile=shape, outward=outward, bend=0, rings=52, sides=36, lobes=9, depth=0.22
        )
    ]
    for x, z, reach, half in side:
        points = spline(path, 80)[: int(80 * reach)][::8]
        grow = np.sin(np.linspace(0.0, 1.0, len(points)) * 2.6) + 0.35 * np.linspace(0.0, 1.0, len(points)) ** 3
        moved = points + grow[:, None] * [x, 0.0, z]
        pieces.append(
            lock(moved, half, 0.6 * half, strand, profile=loose, outward=(x, 0.002, z), bend=0, rings=34, sides=12)
        )
    return pieces


def ponytail() -> Style:
    """Combed back into one high tail, with a fringe and two locks before the ears."""
    tie = np.array([0.0, 1.487, -0.118])
    locks, strands = bangs(
        [((0, -3, -6), -18.0, 0.015), ((8, 9, 5), -8.0, 0.012)],
        [
            ((20, 24, 34), -19.0, 0.019),
            ((34, 42, 54), -24.0, 0.017),
            ((14, 17, 22), -15.0, 0.013),
            ((44, 56, 66), -20.0, 0.014),
        ],
    )
    front = [
        skull(52, 52, 0.006),
        skull(62, 22, 0.013),
        (0.0875, 1.408, 0.040),
        (0.0875, 1.350, 0.046),
        (0.0790, 1.285, 0.054),
        (0.0700, 1.222, 0.072),
    ]
    rear = [
        skull(66, 45, 0.004),
        skull(72, 16, 0.011),
        (0.0880, 1.400, 0.022),
        (0.0870, 1.350, 0.028),
        (0.0790, 1.300, 0.040),
    ]
    side = strand_from("side.L", front, 0.36, 3, SIDE)
    locks += pair([lock(front, 0.014, 0.0075, side), lock(rear, 0.011, 0.006, side)])
    locks.append(cap(HAIRLINE, 0.010, crown=0.006))
    nape = ((62, 28), (77, 10), (94, 10), (111, -4), (130, -26), (151, -36), (171, -39))
    crown = ((4, 43), (22, 40), (40, 36), (54, 33))
    for start in nape:
        locks += pair(
            [lock(comb(start, tie, (0.003, 0.014, 0.010)), 0.021, 0.007, profile=COMBED, bend=0.09, rings=18, sides=10)]
        )
    for start in crown:
        locks += pair(
            [
                lock(
                    comb(start, tie, (0.006, 0.018, 0.012)),
                    0.021,
                    0.0075,
                    profile=COMBED,
                    bend=0.09,
                    rings=18,
                    sides=10,
                )
            ]
        )
    path = [
        tie + [0, 0.004, 0.012],
        tie + [0, 0.006, -0.014],
        (0.0, 1.500, -0.166),
        (0.0, 1.462, -0.214),
        (0.0, 1.370, -0.234),
        (0.0, 1.250, -0.218),
        (0.0, 1.130, -0.198),
        (0.0, 1.020, -0.214),
        (0.0, 0.950, -0.240),
    ]
    tail = strand_from("ponytail", path, 0.05, 6, TAIL)
    loose = [
        (sign * x, z, reach, width)
        for x, z, reach, width in (
            (0.034, 0.012, 0.95, 0.024),
            (0.022, -0.026, 0.88, 0.024),
            (0.042, -0.012, 0.76, 0.019),
        )
        for sign in (-1.0, 1.0)
    ]
    pieces = _tail(path, tail, 0.050, 0.038, (0, 0.3, -1), [*loose, (0.004, 0.030, 0.84, 0.022)])
    band = merge(
        _ring(tie + [0, 0.006, -0.012], (0, 0.25, -1), 0.020, 0.0075),
        bow(tie + [0, 0.034, -0.008], (0, 1.0, -0.25), (0, 0.25, 1), 0.058, 0.9).on("head"),
    )
    return Style(
        {("hair", "hair"): merge(*locks), ("ponytail", "hair"): merge(*pieces), ("hair_tie", "tie"): band},
        (*strands, side, side.mirrored(), tail),
    )


def twin_tails() -> Style:
    """Parted in the middle into two long tails at the sides."""
    tie = np.array([0.094, 1.478, -0.040])
    locks, strands = bangs(
        [((0, 2, 3), -20.0, 0.013), ((7, 12, 14), -14.0, 0.013), ((-7, -12, -15), -15.0, 0.013)],
        [((22, 28, 36), -22.0, 0.018), ((36, 46, 56), -27.0, 0.016)],
    )
    front = [
        skull(54, 52, 0.006),
        skull(64, 22, 0.013),
        (0.0880, 1.405, 0.036),
        (0.0890, 1.345, 0.044),
        (0.0830, 1.290, 0.054),
        (0.0770, 1.235, 0.072),
    ]
    side = strand_from("side.L", front, 0.36, 3, SIDE)
    locks += pair([lock(front, 0.013, 0.0075, side)])
    locks.append(cap(HAIRLINE, 0.010, crown=0.006))
    sides = ((60, 30), (78, 12), (100, 8), (118, -5), (138, -23), (160, -30), (20, 76), (26, 56), (44, 44))
    parting = ((180, -32), (180, -18), (180, -2), (180, 16), (180, 34), (180, 52), (178, 70), (120, 86))
    for start, profile in (*((s, COMBED) for s in sides), *((s, PARTED) for s in parting)):
        locks += pair(
            [
                lock(
                    comb(start, tie, (0.006, 0.014, 0.010)),
                    0.019,
                    0.007,
                    profile=profile,
                    bend=0.09,
                    rings=18,
                    sides=10,
                )
            ]
        )
    path = [
        tie + [-0.012, -0.002, 0.0],
        tie + [0.014, 0.004, -0.004],
        (0.142, 1.494, -0.058),
        (0.182, 1.446, -0.096),
        (0.194, 1.345, -0.130),
        (0.186, 1.220, -0.142),
        (0.178, 1.090, -0.136),
        (0.184, 0.970, -0.126),
        (0.206, 0.850, -0.128),
        (0.228, 0.790, -0.140),
    ]
    tail = strand_from("tail.L", path, 0.045, 7, TAIL)
    loose = (
        (0.014, 0.028, 0.95, 0.021),
        (0.026, -0.016, 0.90, 0.021),
        (-0.016, -0.028, 0.84, 0.019),
        (0.030, 0.012, 0.76, 0.017),
        (-0.022, 0.010, 0.88, 0.018),
    )
    tails = merge(*_tail(path, tail, 0.042, 0.036, (1, 0.3, 0), loose))
    band = merge(
        _ring(tie + [0.012, 0.003, -0.003], (1, 0.2, -0.2), 0.019, 0.0075),
        bow(tie + [0.014, 0.026, 0.014], (0.35, 0.75, 0.6), (-0.2, 0.8, -0.6), 0.056, 1.5).on("head"),
    )
    return Style(
        {
            ("hair", "hair"): merge(*locks),
            ("tails", "hair"): merge(tails, mirror(tails)),
            ("hair_tie", "tie"): merge(band, mirror(band)),
        },
        (*strands, side, side.mirrored(), tail, tail.mirrored()),
    )
