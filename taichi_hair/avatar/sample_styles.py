"""The three hairstyles of the built-in avatars: which locks, which chains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .sample_body import torso_rings
from .sample_hair import COMBED, Spring, Strand, cap, comb, lock, pair, skull, strand_from
from .sample_mesh import Surface, loft, merge, mirror, ring_angles, smoothstep, spline

HAIRLINE = (
    (0.0, 26.0),
    (35.0, 24.0),
    (58.0, 12.0),
    (72.0, -10.0),
    (88.0, -2.0),
    (105.0, -8.0),
    (122.0, -30.0),
    (180.0, -48.0),
)
BANG = Spring((1.6, 1.0), 0.45, 0.0, (0.006, 0.004), ("head",))
SIDE = Spring((1.0, 0.6), 0.40, 0.10, (0.009, 0.006), ("head", "neck", "shoulders"))
FRONT = Spring((0.9, 0.5), 0.40, 0.15, (0.010, 0.007), ("head", "neck", "shoulders", "torso", "arms"))
BACK = Spring((0.9, 0.5), 0.40, 0.15, (0.014, 0.009), ("head", "neck", "shoulders", "torso", "arms"))
TAIL = Spring((0.8, 0.4), 0.35, 0.15, (0.028, 0.012), ("head", "neck", "shoulders", "torso", "arms", "hips"))


@dataclass(frozen=True, eq=False)
class Style:
    """A hairstyle: surfaces by mesh name and colour ("hair", "tie"), and its chains."""

    pieces: dict[tuple[str, str], Surface]
    strands: tuple[Strand, ...]


def _bang(azimuths, tip: float, root: float = 76.0, lift: float = 0.013):
    """Control points of a bang: azimuths at crown, forehead and tip; `tip` is the tip's elevation."""
    a, b, c = azimuths
    return [
        skull(a, root, 0.004),
        skull(a + 0.5 * (b - a), 54.0, lift + 0.001),
        skull(b, 30.0, lift + 0.003),
        skull(b + 0.5 * (c - b), 0.5 * (30.0 + tip), lift + 0.002),
        skull(c, tip, lift - 0.004),
    ]


def _bangs(centre, sides) -> tuple[list[Surface], list[Strand]]:
    """A fringe on three chains: `centre` and mirrored `sides` list azimuths, tip elevation and half width."""
    middle = strand_from("bangs_middle", _bang(*centre[0][:2]), 0.52, 2, BANG)
    locks = [lock(_bang(a, tip), width, 0.0075, middle) for a, tip, width in centre]
    left = strand_from("bangs.L", _bang(*sides[0][:2]), 0.50, 2, BANG)
    locks += pair([lock(_bang(a, tip), width, 0.0075, left) for a, tip, width in sides])
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


def ponytail() -> Style:
    """Combed back into one high tail, with a fringe and two locks before the ears."""
    tie = np.array([0.0, 1.487, -0.118])
    locks, strands = _bangs(
        [((0, -3, -6), -18.0, 0.015), ((8, 9, 5), -8.0, 0.012)],
        [
            ((20, 24, 34), -19.0, 0.019),
            ((34, 42, 54), -24.0, 0.017),
            ((14, 17, 22), -15.0, 0.013),
            ((44, 56, 66), -20.0, 0.014),
        ],
    )
    side_path = [
        skull(52, 52, 0.004),
        skull(62, 22, 0.013),
        (0.0855, 1.408, 0.040),
        (0.0850, 1.350, 0.046),
        (0.0770, 1.285, 0.052),
        (0.066, 1.222, 0.066),
    ]
    side = strand_from("side.L", side_path, 0.36, 3, SIDE)
    locks += pair(
        [
            lock(side_path, 0.014, 0.0075, side),
            lock(
                [
                    skull(66, 45, 0.004),
                    skull(72, 16, 0.011),
                    (0.0870, 1.400, 0.022),
                    (0.0855, 1.350, 0.026),
                    (0.080, 1.305, 0.036),
                ],
                0.011,
                0.006,
                side,
            ),
        ]
    )
    locks.append(cap(HAIRLINE, 0.010))
    for azimuth, elevation in ((62, 24), (78, 2), (96, 2), (112, -16), (130, -38), (152, -46), (171, -48)):
        locks += pair(
            [lock(comb((azimuth, elevation), tie, (0.003, 0.014, 0.010)), 0.021, 0.007, profile=COMBED, bend=0.09)]
        )
    for azimuth in (4, 22, 40, 54):
        locks += pair(
            [
                lock(
                    comb((azimuth, 44 - 0.2 * azimuth), tie, (0.004, 0.016, 0.012)),
                    0.021,
                    0.0075,
                    profile=COMBED,
                    bend=0.09,
                )
            ]
        )
    path = [
        tie + [0, 0.004, 0.012],
        tie + [0, 0.006, -0.014],
        (0.0, 1.498, -0.168),
        (0.0, 1.455, -0.212),
        (0.0, 1.360, -0.226),
        (0.0, 1.240, -0.210),
        (0.0, 1.120, -0.196),
        (0.0, 1.010, -0.214),
    ]
    tail = strand_from("ponytail", path, 0.05, 6, TAIL)
    shape = ((0.0, 0.45), (0.06, 0.42), (0.20, 0.82), (0.40, 1.0), (0.65, 0.86), (0.85, 0.45), (1.0, 0.0))
    pieces = [lock(path, 0.050, 0.036, tail, profile=shape, outward=(0, 0.3, -1), bend=0, rings=48, sides=24)]
    for dx, dz, reach, width in (
        (0.030, 0.010, 0.97, 0.026),
        (0.018, -0.020, 0.90, 0.024),
        (0.036, -0.008, 0.80, 0.020),
    ):
        points = spline(path, 60)[: int(60 * reach)][::7]
        grow = np.sin(np.linspace(0.0, 1.0, len(points)) * 2.3)[:, None]
        for sign in (-1, 1):
            moved = points + grow * [sign * dx, 0.0, dz]
            pieces.append(
                lock(
                    moved,
                    width,
                    0.017,
                    tail,
                    profile=((0, 0.35), (0.3, 0.85), (0.55, 1.0), (0.8, 0.6), (1, 0)),
                    outward=(sign * 0.6, 0.2, -1),
                    bend=0,
                    rings=36,
                    sides=12,
                )
            )
    band = _ring(tie + [0, 0.006, -0.012], (0, 0.25, -1), 0.020, 0.0075)
    return Style(
        {("hair", "hair"): merge(*locks), ("ponytail", "hair"): merge(*pieces), ("hair_tie", "tie"): band},
        (*strands, side, side.mirrored(), tail),
    )


def on_chest(x: float, y: float, lift: float) -> tuple[float, float, float]:
    """Point `lift` metres in front of the body's chest or shoulder at (x, y)."""
    ring = torso_rings(np.array([y]))[0]
    front = ring[:33]  # from +x over +z to -x
    z = np.interp(-x, -front[:, 0], front[:, 2])
    return (x, y, float(z) + lift)


def _to_front(path: np.ndarray) -> np.ndarray:
    """Directions (R, 3) that turn from away from the head to straight ahead where a lock lies on the chest."""
    side = path - [0.0, 1.40, -0.01]
    side[:, 1] = 0.0
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    down = (1.0 - smoothstep(1.20, 1.34, path[:, 1]))[:, None]
    return side * (1.0 - down) + np.array([0.15, 0.0, 1.0]) * down


def layered() -> Style:
    """Long and loose in layers: twelve chains, two long locks over the front of the shirt."""
    locks, strands = _bangs(
        [((0, 4, 8), -17.0, 0.015), ((-6, -7, -12), -12.0, 0.013)],
        [((18, 24, 30), -20.0, 0.018), ((30, 40, 50), -25.0, 0.018), ((42, 54, 64), -30.0, 0.015)],
    )
    front_path = [
        skull(40, 66, 0.004),
        skull(58, 36, 0.016),
        (0.0900, 1.430, 0.034),
        (0.0930, 1.370, 0.046),
        (0.0860, 1.310, 0.060),
        (0.0740, 1.250, 0.068),
        on_chest(0.068, 1.190, 0.028),
        on_chest(0.066, 1.155, 0.031),
        on_chest(0.064, 1.120, 0.028),
        on_chest(0.064, 1.060, 0.026),
        on_chest(0.056, 1.000, 0.030),
    ]
    front = strand_from("front.L", front_path, 0.26, 5, FRONT)
    locks += pair(
        [
            lock(front_path, 0.020, 0.0085, front, rings=36, outward=_to_front, bend=0),
            lock(
                [
                    skull(52, 58, 0.004),
                    skull(66, 26, 0.015),
                    (0.0940, 1.400, 0.022),
                    (0.0950, 1.340, 0.036),
                    (0.0900, 1.285, 0.052),
                    (0.0850, 1.235, 0.064),
                ],
                0.015,
                0.007,
                front,
                rings=28,
            ),
        ]
    )
    side_path = [
        skull(74, 56, 0.004),
        skull(82, 22, 0.016),
        (0.0970, 1.400, -0.006),
        (0.1000, 1.340, -0.012),
        (0.1010, 1.290, -0.020),
        (0.112, 1.262, -0.030),
    ]
    side = strand_from("side.L", side_path, 0.40, 3, SIDE)
    locks += pair(
        [
            lock(side_path, 0.024, 0.009, side, rings=26),
            lock(
                [
                    skull(92, 54, 0.004),
                    skull(98, 18, 0.016),
                    (0.0970, 1.390, -0.030),
                    (0.1010, 1.325, -0.040),
                    (0.112, 1.268, -0.058),
                ],
                0.023,
                0.009,
                side,
            ),
        ]
    )
    locks.append(cap(HAIRLINE, 0.010))
    backs = []
    for index, azimuth in enumerate((180.0, 146.0, 116.0)):
        a = np.radians(azimuth)
        x, z = np.sin(a), np.cos(a)

        def hang(azimuth=azimuth, x=x, z=z, length=1.0, out=0.0, turn=0.0):
            bottom = 1.262 + (0.99 - 1.262) * length
            flick = 0.018
            return [
                skull(azimuth + turn, 70.0, 0.004),
                skull(azimuth + turn, 34.0, 0.017 + out),
                skull(azimuth + turn, 0.0, 0.020 + out),
                (x * 0.101 + out * x, 1.372, z * 0.122 - 0.010 + out * z),
                (x * 0.102 + out * x, 1.300, min(z * 0.120, -0.055) - 0.014 + out * z),
                (x * 0.112 + out * x, 1.222, min(z * 0.110, -0.085) - 0.018 + out * z),
                (x * 0.118 + out * x, 0.5 * (1.222 + bottom), min(z * 0.110, -0.09) - 0.020 + out * z),
                (x * (0.110 + flick) + out * x, bottom, min(z * 0.120, -0.09) - 0.020 - flick + out * z),
            ]

        name = "back_middle" if index == 0 else f"back_{index}.L"
        strand = strand_from(name, hang(length=(1.0, 0.93, 0.80)[index]), 0.34, 5, BACK)
        backs.append(strand)
        new = [lock(hang(length=(1.0, 0.93, 0.80)[index]), 0.036, 0.014, strand, rings=36, sides=14)]
        if index:
            new.append(lock(hang(length=0.62 - 0.1 * index, out=0.010, turn=6.0), 0.027, 0.010, strand, rings=30))
            new.append(lock(hang(length=0.40, out=0.012, turn=-9.0), 0.024, 0.010, strand, rings=30))
            locks += pair(new)
            backs.append(strand.mirrored())
        else:
            locks += new
            locks += pair(
                [
                    lock(
                        [
                            p + np.array([0.024 * k / 7, 0, 0])
                            for k, p in enumerate(np.array(hang(length=0.66, out=0.010, turn=-10.0)))
                        ],
                        0.026,
                        0.010,
                        strand,
                        rings=30,
                    )
                ]
            )
    return Style({("hair", "hair"): merge(*locks)}, (*strands, front, front.mirrored(), side, side.mirrored(), *backs))


def twin_tails() -> Style:
    """Parted in the middle into two long tails at the sides."""
    tie = np.array([0.094, 1.478, -0.040])
    locks, strands = _bangs(
        [((0, 2, 3), -20.0, 0.013), ((7, 12, 14), -14.0, 0.013), ((-7, -12, -15), -15.0, 0.013)],
        [((22, 28, 36), -22.0, 0.018), ((36, 46, 56), -27.0, 0.016)],
    )
    side_path = [
        skull(54, 52, 0.004),
        skull(64, 22, 0.013),
        (0.0865, 1.405, 0.036),
        (0.0870, 1.345, 0.044),
        (0.0820, 1.290, 0.052),
        (0.0740, 1.245, 0.064),
    ]
    side = strand_from("side.L", side_path, 0.36, 3, SIDE)
    locks += pair([lock(side_path, 0.013, 0.0075, side)])
    locks.append(cap(HAIRLINE, 0.010))
    starts = (
        (60, 26),
        (76, 2),
        (100, -4),
        (118, -24),
        (138, -42),
        (160, -47),
        (176, -40),
        (178, -12),
        (178, 14),
        (178, 38),
        (170, 62),
        (120, 84),
        (20, 76),
        (26, 56),
        (44, 44),
    )
    for azimuth, elevation in starts:
        locks += pair(
            [lock(comb((azimuth, elevation), tie, (0.004, 0.014, 0.010)), 0.018, 0.007, profile=COMBED, bend=0.09)]
        )
    path = [
        tie + [-0.012, -0.002, 0.0],
        tie + [0.014, 0.004, -0.004],
        (0.140, 1.492, -0.060),
        (0.176, 1.440, -0.096),
        (0.184, 1.340, -0.124),
        (0.180, 1.220, -0.136),
        (0.176, 1.090, -0.134),
        (0.172, 0.960, -0.122),
        (0.180, 0.850, -0.116),
    ]
    tail = strand_from("tail.L", path, 0.045, 7, TAIL)
    shape = ((0.0, 0.45), (0.06, 0.42), (0.20, 0.86), (0.36, 1.0), (0.65, 0.84), (0.85, 0.46), (1.0, 0.0))
    pieces = [lock(path, 0.043, 0.034, tail, profile=shape, outward=(1, 0.3, 0), bend=0, rings=52, sides=20)]
    for dx, dz, reach, width in (
        (0.010, 0.024, 0.97, 0.022),
        (0.020, -0.016, 0.92, 0.022),
        (-0.012, -0.024, 0.84, 0.020),
        (0.022, 0.010, 0.78, 0.018),
    ):
        points = spline(path, 60)[: int(60 * reach)][::7]
        grow = np.sin(np.linspace(0.0, 1.0, len(points)) * 2.3)[:, None]
        pieces.append(
            lock(
                points + grow * [dx, 0.0, dz],
                width,
                0.015,
                tail,
                profile=((0, 0.35), (0.3, 0.85), (0.55, 1.0), (0.8, 0.6), (1, 0)),
                outward=(dx, 0.2, dz),
                bend=0,
                rings=36,
                sides=12,
            )
        )
    tails = merge(*pieces)
    band = _ring(tie + [0.012, 0.003, -0.003], (1, 0.2, -0.2), 0.019, 0.0075)
    return Style(
        {
            ("hair", "hair"): merge(*locks),
            ("tails", "hair"): merge(tails, mirror(tails)),
            ("hair_tie", "tie"): merge(band, mirror(band)),
        },
        (*strands, side, side.mirrored(), tail, tail.mirrored()),
    )
