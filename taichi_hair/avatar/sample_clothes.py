"""Garments of the built-in avatars: tops, skirts, socks, shoes, bows, cut from the body's shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .sample_body import ARM_Y, ARM_Z, COLUMNS, body_weights, leg, leg_weights, torso_rings
from .sample_mesh import (
    Surface,
    both,
    compact,
    loft,
    merge,
    mix,
    normals_of,
    power,
    ring_angles,
    smoothstep,
    surface,
    table,
)
from .sample_suit import suit

Neckline = Callable[[np.ndarray], np.ndarray]


def from_front(angle: np.ndarray) -> np.ndarray:
    """Angle of a torso ring measured from the front, 0 to 180 degrees."""
    return np.degrees(np.abs(np.angle(np.exp(1j * (angle - 0.5 * np.pi)))))


def v_neck(depth: float, half_angle: float = 46.0, high: float = 1.266) -> Neckline:
    """A V in front, `depth` metres deep."""
    return lambda angle: high - depth * np.clip(1.0 - from_front(angle) / half_angle, 0.0, 1.0)


def round_neck(high: float, dip: float = 0.0) -> Neckline:
    """A round neck at height `high`, `dip` metres lower in front."""
    return lambda angle: high - dip * (0.5 + 0.5 * np.cos(np.radians(np.minimum(2.0 * from_front(angle), 180.0))))


def top(bottom: float, neckline: Neckline, arm_end: float, thick: float, sleeve=None, loose: float = 0.0) -> Surface:
    """A shirt `thick` metres off the body; `loose` more at the waist."""

    def offset(p: np.ndarray) -> np.ndarray:
        return thick + loose * (1.0 - smoothstep(0.96, 1.12, p[:, 1])) * (np.abs(p[:, 0]) < 0.2)

    return suit(bottom, neckline, arm_end, offset, sleeve=sleeve)


def shaped_sleeve(rows) -> Callable[[np.ndarray], np.ndarray]:
    """A sleeve whose distance from the arm's axis is multiplied along |x|; `rows` are (|x|, factor, drop in metres)."""

    def shape(p: np.ndarray) -> np.ndarray:
        factor, drop = np.moveaxis(table(rows, p[:, 0]), -1, 0)
        y = (
            ARM_Y
            + (p[:, 1] - ARM_Y) * factor
            - drop * (0.5 - 0.5 * np.sign(p[:, 1] - ARM_Y) * np.minimum(np.abs(p[:, 1] - ARM_Y) / 0.03, 1.0))
        )
        z = ARM_Z + (p[:, 2] - ARM_Z) * factor
        return np.stack([p[:, 0], y, z], axis=1)

    return shape


def sleeve_band(low: float, high: float, radius: float, thick: float, drop: float = 0.0) -> Surface:
    """A cuff round each arm between two |x|, `radius` metres."""
    angle = ring_angles(32)
    profile = [
        (low, radius - thick),
        (low, radius),
        (0.5 * (low + high), radius + 0.001),
        (high, radius),
        (high, radius - thick),
    ]
    rings = np.stack(
        [
            np.stack(
                [np.full(32, x), ARM_Y - 0.5 * drop + (r + 0.5 * drop) * np.sin(angle), ARM_Z + r * np.cos(angle)],
                axis=1,
            )
            for x, r in profile
        ]
    )
    piece = loft(rings, "open", "open")
    return both(piece.weighted(body_weights(piece.positions)))


def on_torso(low: np.ndarray, high: np.ndarray, lift: float, thick: float, rows: int = 8) -> Surface:
    """A flap on the torso between heights low and high (COLUMNS,), `lift` metres off, `thick` metres at the edges."""
    share = np.linspace(0.0, 1.0, rows)[:, None]
    rings = torso_rings(low + (high - low) * share)
    flat = np.arange(rows * COLUMNS).reshape(rows, COLUMNS)
    a, b = flat, np.roll(flat, 1, axis=1)
    triangles = np.concatenate(
        [np.stack([a[:-1], b[:-1], b[1:]], -1).reshape(-1, 3), np.stack([a[:-1], b[1:], a[1:]], -1).reshape(-1, 3)]
    )
    normals = normals_of(rings.reshape(-1, 3), triangles).reshape(rings.shape)
    outer, inner = rings + normals * lift, rings + normals * (lift - thick)
    piece = loft(np.concatenate([inner[:1], outer, inner[-1:]]), "open", "open")
    return piece.weighted(body_weights(piece.positions))


def sailor_collar(neckline: Neckline, lift: float) -> tuple[Surface, Surface]:
    """A collar that meets in front in a V and hangs as a flap at the back, and the stripe along its edge."""
    front = from_front(ring_angles(COLUMNS))
    high = neckline(ring_angles(COLUMNS)) + 0.003
    low = table(
        [
            (0.0, -0.012),
            (22.0, -0.050),
            (46.0, -0.050),
            (70.0, -0.028),
            (100.0, -0.030),
            (122.0, -0.050),
            (136.0, -0.120),
            (180.0, -0.128),
        ],
        front,
    )[..., 0]
    low = high + low
    collar = on_torso(low, high, lift, 0.004, rows=10)
    gap = np.minimum(0.010, 0.25 * (high - low))
    stripe = on_torso(low + gap, low + gap + np.minimum(0.0048, 0.1 * (high - low)), lift + 0.0012, 0.001, rows=3)
    return collar, stripe


def _pleated(rows, y: np.ndarray, pleats: int, depth: float) -> np.ndarray:
    """Points (R, 6 * pleats, 3) of a skirt at heights y (R,); column 5 of each pleat lies in the fold."""
    rows = np.asarray(rows, dtype=np.float64)
    width, front, back = np.moveaxis(table(rows, y), -1, 0)[..., None]
    angle = ring_angles(6 * pleats)
    fold = np.tile([0.0, 0.28, 0.55, 0.80, 1.0, 0.45], pleats) - 0.5
    down = 1.0 - (y - rows[0, 0]) / (rows[-1, 0] - rows[0, 0])
    more = 1.0 + (depth * (0.12 + 0.88 * down))[:, None] * fold
    sine = np.sin(angle)
    x, z = width * np.cos(angle) * more, np.where(sine > 0, front, back) * sine * more - 0.004
    return np.stack([x, np.broadcast_to(y[:, None], x.shape), z], axis=-1)


def skirt(rows, pleats: int, depth: float, hem: float = 0.004) -> tuple[Surface, Surface]:
    """A skirt through `rows` (y rising, half width, front, back) in metres, with knife pleats that open downward.

    The second surface holds the faces inside the folds, for a darker colour.
    """
    low, high = rows[0][0], rows[-1][0]
    rings = _pleated(rows, np.linspace(low, high, 18), pleats, depth)
    inside = rings[:12] - _outward(rings[:12]) * hem
    whole = loft(np.concatenate([inside[::-1], rings]), "open", "open")
    folded = np.any(whole.triangles % 6 == 5, axis=1) & np.all(whole.triangles >= 12 * 6 * pleats, axis=1)
    parts = [compact(surface(whole.positions, whole.triangles[which])) for which in (~folded, folded)]
    return tuple(p.weighted(skirt_weights(p.positions, high, low)) for p in parts)


def skirt_band(rows, pleats: int, depth: float, low: float, high: float, lift: float) -> Surface:
    """A band on a skirt of the same rows, pleats and depth between two heights, `lift` metres off."""
    y = np.linspace(low, high, 4)
    rings = _pleated(rows, y, pleats, depth)
    out = _outward(rings)
    shell = np.concatenate([rings[:1] - out[:1] * 0.001, rings + out * lift, rings[-1:] - out[-1:] * 0.001])
    piece = loft(shell, "open", "open")
    return piece.weighted(skirt_weights(piece.positions, rows[-1][0], rows[0][0]))


def _outward(rings: np.ndarray) -> np.ndarray:
    """Level unit directions (R, N, 3) away from the rings' middles."""
    out = rings - rings.mean(axis=1, keepdims=True)
    out[..., 1] = 0.0
    return out / np.linalg.norm(out, axis=-1, keepdims=True)


def skirt_weights(p: np.ndarray, high: float, low: float, most: float = 0.62) -> dict[str, np.ndarray]:
    """Weights of a skirt (V, 3): the waist follows hips and spine, the hem follows both thighs, softly divided."""
    left = smoothstep(-0.09, 0.09, p[:, 0])
    one = np.ones(len(p))
    share = most * (1.0 - smoothstep(low, 0.86, p[:, 1]))
    legs = {"leftUpperLeg": left, "rightUpperLeg": 1.0 - left}
    waist = mix({"hips": one}, {"spine": one}, smoothstep(0.87, 0.96, p[:, 1]))
    waist = mix(waist, {"chest": one}, smoothstep(0.97, 1.06, p[:, 1]))
    return mix(waist, legs, share)


def belt(y0: float, y1: float, lift: float) -> Surface:
    """A band round the waist between two heights."""
    y = np.array([y0, y0 + 0.2 * (y1 - y0), 0.5 * (y0 + y1), y1 - 0.2 * (y1 - y0), y1])
    rings = torso_rings(y)
    out = _outward(rings)
    rings = rings + out * (lift + np.array([-0.005, 0.0, 0.001, 0.0, -0.005]))[:, None, None]
    piece = loft(rings, "open", "open")
    return piece.weighted(body_weights(piece.positions))


def shorts(hem: float, thick: float) -> Surface:
    """Shorts down to the height `hem`."""
    y = np.linspace(0.735, 0.955, 14)
    pelvis = torso_rings(y)
    # Between the legs the pelvis rounds off to a crotch.
    taper = table([(0.735, 0.35, 0.62), (0.77, 0.72, 0.85), (0.81, 1.0, 1.0)], y)[:, None]
    pelvis = (pelvis + _outward(pelvis) * thick) * np.stack(
        [taper[..., 1], np.ones_like(taper[..., 0]), taper[..., 0]], axis=-1
    )
    pelvis = loft(pelvis, "flat", "open")
    pelvis = pelvis.weighted(
        mix(
            leg_weights(pelvis.positions),
            body_weights(pelvis.positions),
            smoothstep(0.78, 0.86, pelvis.positions[:, 1]),
        )
    )
    tube = leg(hem, 0.835, lambda y: thick + 0.010 * (1.0 - smoothstep(hem, 0.78, y)), rows=12)
    rim = tube.positions[:32]
    inner = rim + (rim.mean(axis=0) - rim) * 0.10
    lip = loft(np.stack([inner + [0, 0.03, 0], inner, rim]), "open", "open")
    lip = lip.weighted(leg_weights(lip.positions))
    return merge(pelvis, both(merge(tube, lip)))


def sock(high: float, thick: float, low: float = 0.05) -> Surface:
    """A sock on each leg up to the height `high`, its edge folded in."""
    return both(leg(low + 0.02, high, thick, rows=20, fold=0.006))


# z, half width, height of the upper; metres
_SHOE = [
    (-0.066, 0.010, 0.030),
    (-0.062, 0.021, 0.056),
    (-0.050, 0.030, 0.074),
    (-0.025, 0.0345, 0.083),
    (0.005, 0.0350, 0.084),
    (0.035, 0.0365, 0.072),
    (0.070, 0.0410, 0.055),
    (0.105, 0.0420, 0.045),
    (0.135, 0.0365, 0.039),
    (0.152, 0.0250, 0.033),
    (0.160, 0.0110, 0.024),
]
_FOOT_X = 0.066


def shoes(sole: float = 0.014, collar: float = 0.006, shaft: float = 0.0) -> tuple[Surface, Surface]:
    """Uppers and soles of both shoes; `collar` pads the ankle, `shaft` is the height of a boot's leg (0 for none)."""
    z = np.linspace(_SHOE[0][0], _SHOE[-1][0], 30)
    z = z[0] + (z[-1] - z[0]) * (0.5 - 0.5 * np.cos(np.pi * np.linspace(0.0, 1.0, 30)))
    width, height = np.moveaxis(table(_SHOE, z), -1, 0)[..., None]
    angle = ring_angles(28)
    x = _FOOT_X + width * power(np.cos(angle), 2 / 2.5)
    y = np.where(
        np.sin(angle) > 0, sole + (height - sole) * power(np.sin(angle), 2 / 2.1), sole + 0.004 * np.sin(angle)
    )
    upper = loft(np.stack([x, y, np.broadcast_to(z[:, None], x.shape)], axis=-1))
    pieces = [upper.weighted(leg_weights(upper.positions))]
    if shaft:
        pieces.append(leg(0.05, shaft, lambda y: 0.007 + 0.004 * smoothstep(0.10, shaft, y), rows=12, fold=0.007))
    elif collar:
        pieces.append(leg(0.058, 0.094, lambda y: collar - 0.003 * smoothstep(0.085, 0.094, y), rows=6, fold=0.005))
    outline = np.concatenate(
        [np.stack([_FOOT_X + width[:, 0] + 0.0025, z], 1), np.stack([_FOOT_X - width[:, 0] - 0.0025, z], 1)[::-1]]
    )
    layers = [(0.94, 0.0), (1.0, 0.003), (1.0, sole - 0.001), (0.96, sole + 0.001)]
    centre = outline.mean(axis=0)
    rings = np.stack([np.insert(centre + (outline - centre) * f, 1, h, axis=1) for f, h in layers])
    base = loft(rings)
    return both(merge(*pieces)), both(base.weighted(leg_weights(base.positions)))


def hood() -> Surface:
    """A hood that lies on the back and round the neck."""
    angle = np.radians(np.linspace(-128.0, 128.0, 41))  # 0 at the back
    t = np.linspace(0.0, 2.0 * np.pi, 17)
    back = np.cos(0.5 * angle) ** 1.2
    middle = np.stack(
        [
            0.084 * np.sin(angle) * (1 - 0.10 * back),
            1.262 + 0.010 * np.cos(angle) - 0.022 * (1 - back),
            -0.024 - 0.062 * np.cos(angle),
        ],
        axis=1,
    )
    radius = 0.012 + 0.020 * back
    fall = 0.052 * back**2
    out = np.stack([np.sin(angle), np.zeros(41), -np.cos(angle)], axis=1)
    across, along = np.cos(t), np.sin(t)
    rings = middle[:, None] + (radius[:, None] * across)[..., None] * out[:, None]
    rings[..., 1] += (radius[:, None] * 0.9) * along - fall[:, None] * np.clip(-along + 0.4 * across, 0, 1.2)
    rings = rings[:, :-1]
    piece = loft(rings)
    return piece.weighted(body_weights(piece.positions))
