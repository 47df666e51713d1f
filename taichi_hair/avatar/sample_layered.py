"""The layered hairstyle: long and loose on twelve chains, with two locks over the front of the shirt."""

from __future__ import annotations

import numpy as np

from .sample_hair import Strand, cap, lock, pair, skull, strand_from
from .sample_mesh import Surface, merge, smoothstep, table
from .sample_styles import BACK, FRONT, HAIRLINE, SIDE, Style, bangs

# Height, and how far loose hair hangs from the head's axis at the side and at the back; metres
_FALL = [
    (0.94, 0.128, 0.150),
    (1.02, 0.122, 0.138),
    (1.10, 0.116, 0.128),
    (1.18, 0.111, 0.122),
    (1.25, 0.107, 0.122),
    (1.32, 0.105, 0.126),
    (1.38, 0.104, 0.128),
    (1.44, 0.101, 0.122),
]
# azimuth, height of the tip, lift, half width, sideways sweep of the tip, chain; outer layers last
_BACK = (
    (180.0, 0.985, 0.000, 0.030, 0.000, "middle"),
    (160.0, 1.015, -0.002, 0.027, 0.012, "middle"),
    (148.0, 1.040, 0.000, 0.029, -0.012, "first"),
    (130.0, 1.090, -0.002, 0.027, 0.014, "first"),
    (116.0, 1.150, 0.000, 0.027, 0.012, "second"),
    (104.0, 1.185, -0.003, 0.022, 0.012, "second"),
    (170.0, 1.105, 0.011, 0.026, -0.016, "middle"),
    (141.0, 1.130, 0.011, 0.027, 0.016, "first"),
    (113.0, 1.190, 0.008, 0.026, 0.010, "second"),
    (180.0, 1.190, 0.017, 0.022, 0.000, "middle"),
    (157.0, 1.200, 0.017, 0.024, 0.012, "first"),
    (126.0, 1.215, 0.014, 0.025, 0.008, "second"),
)
_LOOSE = ((0.0, 0.30), (0.12, 0.75), (0.30, 1.0), (0.60, 1.0), (0.82, 0.70), (0.93, 0.36), (1.0, 0.0))


def _to_front(path: np.ndarray) -> np.ndarray:
    """Directions (R, 3) that turn from away from the head to straight ahead where a lock lies on the chest."""
    side = path - [0.0, 1.40, -0.01]
    side[:, 1] = 0.0
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    down = (1.0 - smoothstep(1.20, 1.34, path[:, 1]))[:, None]
    return side * (1.0 - down) + np.array([0.15, 0.0, 1.0]) * down


def _hang(azimuth: float, tip: float, lift: float, sweep: float) -> np.ndarray:
    """Control points of hair from the whorl down the back: off the skull, behind the shoulder."""
    a = np.radians(azimuth)
    y = np.concatenate([np.array([1.385, 1.32, 1.255]), np.linspace(1.255, tip, 4)[1:]])
    side, back = np.moveaxis(table(_FALL, y), -1, 0)
    x, z = np.sin(a) * (side + lift), np.cos(a) * (back + lift) - 0.010
    # Below the chin the hair gathers behind the shoulders, towards the spine.
    behind = 1.0 - smoothstep(1.215, 1.330, y)
    x = x * (1.0 - 0.30 * behind)
    z = z + behind * (np.minimum(z, -0.112 - 0.8 * lift) - z)
    end = np.linspace(0.0, 1.0, len(y)) ** 3
    x = x + end * sweep * np.sign(np.sin(a) + 1e-9)
    z = z - 0.012 * end
    head = [
        skull(azimuth, e, h + lift * k)
        for e, h, k in ((82.0, 0.010, 0.1), (60.0, 0.016, 0.6), (32.0, 0.019, 0.9), (4.0, 0.020, 1.0))
    ]
    return np.concatenate([np.array(head), np.stack([x, y, z], axis=1)])


def _backs() -> tuple[list[Surface], list[Strand]]:
    """The back hair in three layers on five chains."""
    chains: dict[str, Strand] = {}
    pieces: list[Surface] = []
    for azimuth, tip, lift, width, sweep, chain in _BACK:
        path = _hang(azimuth, tip, lift, sweep)
        if chain not in chains:
            name = "back_middle" if chain == "middle" else f"back_{chain}.L"
            chains[chain] = strand_from(name, path, 0.34, 4 if chain == "second" else 5, BACK)
        rings = 32 + int(12 * (1.3 - tip) / 0.3)
        piece = lock(path, width, 0.0115, chains[chain], profile=_LOOSE, rings=rings, sides=12, bend=0.085)
        pieces += [piece] if azimuth == 180.0 else pair([piece])
    middle, first, second = chains["middle"], chains["first"], chains["second"]
    return pieces, [middle, first, first.mirrored(), second, second.mirrored()]


def layered() -> Style:
    """Long hair in layers: short bangs, side locks, two long front locks, the back."""
    locks, strands = bangs(
        [((0, 4, 8), -17.0, 0.015), ((-6, -7, -12), -12.0, 0.013)],
        [((18, 24, 30), -20.0, 0.018), ((30, 40, 50), -25.0, 0.018), ((42, 54, 64), -31.0, 0.015)],
    )
    front_path = [
        skull(50, 80, 0.011),
        skull(60, 56, 0.013),
        skull(66, 28, 0.017),
        (0.0955, 1.425, 0.026),
        (0.0970, 1.365, 0.042),
        (0.0890, 1.305, 0.060),
        (0.0770, 1.250, 0.074),
        (0.0690, 1.195, 0.092),
        (0.0665, 1.140, 0.1065),
        (0.0665, 1.080, 0.1090),
        (0.0680, 1.030, 0.1060),
        (0.0580, 0.975, 0.1000),
    ]
    front = strand_from("front.L", front_path, 0.30, 5, FRONT)
    short = [
        skull(62, 80, 0.010),
        skull(72, 54, 0.011),
        skull(76, 22, 0.015),
        (0.0985, 1.395, 0.016),
        (0.1000, 1.335, 0.030),
        (0.0950, 1.285, 0.046),
        (0.0960, 1.240, 0.058),
    ]
    locks += pair(
        [
            lock(front_path, 0.019, 0.0085, front, profile=_LOOSE, rings=38, outward=_to_front, bend=0),
            lock(short, 0.015, 0.007, front, profile=_LOOSE, rings=28),
        ]
    )
    side_path = [
        skull(86, 81, 0.011),
        skull(86, 56, 0.014),
        skull(88, 26, 0.019),
        (0.1030, 1.395, -0.010),
        (0.1060, 1.335, -0.014),
        (0.1050, 1.290, -0.018),
        (0.1160, 1.268, -0.020),
    ]
    rear = [
        skull(100, 81, 0.010),
        skull(98, 54, 0.012),
        skull(99, 22, 0.016),
        (0.1010, 1.385, -0.036),
        (0.1040, 1.325, -0.046),
        (0.1030, 1.285, -0.056),
        (0.1150, 1.258, -0.066),
    ]
    side = strand_from("side.L", side_path, 0.45, 3, SIDE)
    locks += pair(
        [
            lock(side_path, 0.023, 0.009, side, profile=_LOOSE, rings=28),
            lock(rear, 0.023, 0.009, side, profile=_LOOSE, rings=28),
        ]
    )
    backs, chains = _backs()
    locks += [cap(HAIRLINE, 0.010), *backs]
    return Style({("hair", "hair"): merge(*locks)}, (*strands, front, front.mirrored(), side, side.mirrored(), *chains))
