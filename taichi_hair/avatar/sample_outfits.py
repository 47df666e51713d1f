"""What each built-in avatar wears, and in which colours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import sample_clothes as c
from . import sample_trims as trims
from .sample_body import arm_rings, body_weights, hands, leg
from .sample_face import Look
from .sample_mesh import Surface, both, loft, merge, smoothstep
from .sample_suit import suit

Pieces = dict[tuple[str, str], Surface]  # by mesh and material name


@dataclass(frozen=True)
class Paint:
    """A material: lit and shaded colour (sRGB hex), toon shift, outline in metres, texture name."""

    lit: str
    shade: str
    shift: float = 0.0
    outline: float = 0.0010
    texture: str = ""


SKIN = {
    "face": Paint("#ffe6d5", "#f7bfae", 0.45, 0.0009, "face"),
    "skin": Paint("#ffe6d5", "#f2b3a3", 0.10, 0.0009),
    "eye": Paint("#ffffff", "#ffffff", 1.0, 0.0, "eye"),
    "crease": Paint("#e2a08e", "#e2a08e", 1.0, 0.0),
    "mouth": Paint("#a85050", "#a85050", 1.0, 0.0),
}


def skin(leg_low: float, leg_high: float) -> Pieces:
    """The visible skin below the head: neck and collar bones, arms, hands, and the legs between two heights."""
    body = suit(1.075, lambda a: np.full_like(a, 1.350), 0.628, lambda p: np.zeros(len(p)), rows=6, upper=18)
    legs = (
        [both(leg(leg_low, leg_high, 0.0, rows=max(6, int((leg_high - leg_low) / 0.03))))] if leg_high > leg_low else []
    )
    return {("body", "skin"): merge(body, hands(), *legs)}


def sailor() -> Pieces:
    """White blouse with a navy sailor collar, red bow, pleated skirt, knee socks, loafers."""
    neck = c.v_neck(0.112)
    puff = c.shaped_sleeve([(0.10, 1.0, 0.0), (0.15, 1.10, 0.0), (0.19, 1.20, 0.004), (0.215, 1.08, 0.002)])
    blouse = c.top(0.925, neck, 0.215, 0.008, sleeve=puff, loose=0.004)
    collar, stripe = c.sailor_collar(neck, 0.0135)
    ribbon = trims.bow((0.0, 1.138, 0.0895), (0, 0.12, 1), (0, 1, 0), 0.046, 1.25)
    cuffs = c.sleeve_band(0.208, 0.226, 0.0468, 0.006)
    rows = (
        (0.715, 0.212, 0.178, 0.192),
        (0.80, 0.180, 0.150, 0.156),
        (0.88, 0.146, 0.112, 0.112),
        (0.935, 0.119, 0.094, 0.080),
        (0.965, 0.1090, 0.0880, 0.0710),
    )
    skirt, folds = c.skirt(rows, 20, 0.11)
    hem = c.skirt_band(rows, 20, 0.11, 0.731, 0.7385, 0.0012)
    waist = c.skirt_band(rows, 20, 0.11, 0.941, 0.967, 0.0030)
    upper, sole = c.shoes()
    return {
        **skin(0.36, 0.80),
        ("shirt", "cloth"): blouse,
        ("shirt", "collar"): merge(collar, cuffs),
        ("shirt", "trim"): stripe,
        ("ribbon", "ribbon"): ribbon.weighted(body_weights(ribbon.positions)),
        ("skirt", "skirt"): skirt,
        ("skirt", "fold"): folds,
        ("skirt", "trim"): hem,
        ("skirt", "collar"): waist,
        ("shoes", "socks"): c.sock(0.385, 0.0022),
        ("shoes", "leather"): upper,
        ("shoes", "sole"): sole,
    }


def bell() -> Pieces:
    """Cream blouse with wide sleeves, indigo skirt with a golden hem, tights, boots."""
    wide = c.shaped_sleeve(
        [(0.10, 1.0, 0.0), (0.17, 1.02, 0.0), (0.30, 1.20, 0.002), (0.42, 1.85, 0.012), (0.50, 2.75, 0.026)]
    )
    blouse = c.top(0.95, c.round_neck(1.282, 0.006), 0.50, 0.0085, sleeve=wide, loose=0.004)
    blouse = blouse.weighted(sleeve_weights(blouse.positions, blouse.weights))
    front = c.from_front(c.ring_angles(c.COLUMNS))
    collar = c.on_torso(
        np.full(c.COLUMNS, 1.255) - 0.014 * (front < 60) * (1 - front / 60),
        np.full(c.COLUMNS, 1.284),
        0.0125,
        0.005,
        rows=5,
    )
    rows = (
        (0.600, 0.232, 0.210, 0.222),
        (0.70, 0.206, 0.182, 0.190),
        (0.80, 0.176, 0.150, 0.152),
        (0.88, 0.147, 0.118, 0.113),
        (0.94, 0.118, 0.093, 0.079),
        (1.005, 0.1080, 0.0880, 0.0700),
    )
    skirt, folds = c.skirt(rows, 16, 0.095)
    bands = [c.skirt_band(rows, 16, 0.095, *band) for band in ((0.613, 0.633, 0.0014), (0.978, 1.008, 0.0035))]
    front = np.array([[0.0065, 1.215], [-0.0065, 1.215], [-0.0065, 1.000], [0.0065, 1.000]])
    rim = np.concatenate(
        [np.linspace(a, b, 12, endpoint=False) for a, b in zip(front, np.roll(front, -1, 0), strict=True)]
    )
    placket = trims.badge(rim, 0.0145, 0.008)
    buttons = [trims.badge(trims.disc(0.0, y, 0.0055), 0.0168, 0.008) for y in (1.165, 1.115, 1.065)]
    upper, sole = c.shoes(sole=0.018, shaft=0.205)
    brooch = trims.bow((0.0, 1.238, 0.0470), (0, 0.35, 1), (0, 1, -0.35), 0.030, 1.5)
    hem = sleeve_trim(0.474, 0.4995, 0.0100, wide)
    return {
        **skin(0.60, 0.60),
        ("shirt", "cloth"): blouse,
        ("shirt", "trim"): merge(hem, *buttons),
        ("shirt", "collar"): merge(collar, placket),
        ("ribbon", "ribbon"): brooch.weighted(body_weights(brooch.positions)),
        ("skirt", "skirt"): skirt,
        ("skirt", "fold"): folds,
        ("skirt", "trim"): merge(*bands),
        ("legs", "socks"): both(leg(0.07, 0.80, 0.0015, rows=26)),
        ("shoes", "leather"): upper,
        ("shoes", "sole"): sole,
    }


def sleeve_weights(p: np.ndarray, weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Weights in which the wide sleeves hang on their own bones: half-way shoulder, sleeve and cuff on each side."""
    weights = dict(weights)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        x = sign * p[:, 0]
        between = 2.0 * np.minimum(weights[f"{side}Shoulder"], weights[f"{side}UpperArm"]) * (x > 0.0)
        weights[f"{side}Shoulder"] = weights[f"{side}Shoulder"] - 0.5 * between
        weights[f"{side}UpperArm"] = weights[f"{side}UpperArm"] - 0.5 * between
        weights[f"{side}SleeveTop"] = between
        fore = weights[f"{side}LowerArm"] + weights[f"{side}Hand"]
        cuff = 0.5 * smoothstep(0.40, 0.50, x)
        weights[f"{side}Sleeve"] = fore * (1.0 - cuff)
        weights[f"{side}Cuff"] = fore * cuff
        weights[f"{side}LowerArm"] = weights[f"{side}Hand"] = np.zeros(len(p))
    return weights


def sleeve_trim(low: float, high: float, thick: float, shape) -> Surface:
    """A band on the wide sleeves between two |x|."""
    angle = c.ring_angles(32)
    profile = [
        (low, thick - 0.003),
        (low, thick),
        (0.5 * (low + high), thick),
        (high, thick),
        (high + 0.001, thick - 0.004),
    ]
    rings = []
    for x, off in profile:
        ring = arm_rings(np.array([x]), angle)[0]
        out = ring - [x, c.ARM_Y, c.ARM_Z]
        rings.append(shape(ring + out / np.linalg.norm(out, axis=1, keepdims=True) * off))
    piece = loft(np.stack(rings), "open", "open")
    return both(piece.weighted(sleeve_weights(piece.positions, body_weights(piece.positions))))


def hoodie() -> Pieces:
    """Loose hoodie with pocket and cords, shorts, long socks, sneakers."""
    baggy = c.shaped_sleeve(
        [
            (0.10, 1.0, 0.0),
            (0.20, 1.0, 0.0),
            (0.33, 1.12, 0.004),
            (0.44, 1.22, 0.008),
            (0.49, 1.20, 0.006),
            (0.515, 0.90, 0.0),
        ]
    )
    hoody = c.top(0.850, c.round_neck(1.272, 0.012), 0.515, 0.0155, sleeve=baggy, loose=0.010)
    pocket = trims.badge(trims.slab(0.076, 0.076, 0.046, 0.888, 0.972), 0.0305, 0.012)
    print_ = trims.badge(trims.star(0.0, 1.085, 0.040), 0.0190, 0.006)
    cords = merge(
        *(
            trims.cord(
                [
                    (s * 0.026, 1.252, 0.040),
                    (s * 0.030, 1.225, 0.068),
                    (s * 0.034, 1.185, 0.0885),
                    (s * 0.035, 1.150, 0.100),
                ],
                0.0026,
            )
            for s in (-1.0, 1.0)
        )
    )
    upper, sole = c.shoes(sole=0.022, collar=0.009)
    socks = c.sock(0.585, 0.0024)
    stripes = merge(*(both(leg(y0, y0 + 0.011, 0.0036, rows=3)) for y0 in (0.545, 0.564)))
    return {
        **skin(0.56, 0.80),
        ("shirt", "cloth"): merge(hoody, c.hood()),
        ("shirt", "trim"): merge(
            c.belt(0.836, 0.870, 0.0300), print_, c.sleeve_band(0.508, 0.534, 0.0268, 0.006), cords
        ),
        ("shirt", "collar"): pocket,
        ("shorts", "skirt"): c.shorts(0.665, 0.010),
        ("shoes", "socks"): socks,
        ("shoes", "trim"): stripes,
        ("shoes", "leather"): upper,
        ("shoes", "sole"): sole,
    }


OUTFITS = {"ponytail": sailor, "layered": bell, "twin-tails": hoodie}
LOOKS = {
    "ponytail": Look((96, 190, 160), (28, 84, 92), (58, 34, 36), (112, 56, 40)),
    "layered": Look((240, 172, 84), (150, 72, 52), (62, 44, 84), (140, 108, 176)),
    "twin-tails": Look((104, 172, 240), (34, 66, 150), (70, 44, 34), (196, 146, 66)),
}
PAINTS = {
    "ponytail": {
        "hair": Paint("#b8623a", "#7c3630", 0.0, 0.0010, "hair"),
        "tie": Paint("#e0444e", "#98233f"),
        "lash": Paint("#3a2226", "#3a2226", 1.0, 0.0),
        "brow": Paint("#7a3f2c", "#7a3f2c", 1.0, 0.0),
        "cloth": Paint("#fbfafc", "#c3c8e4"),
        "collar": Paint("#33477f", "#222c5c"),
        "trim": Paint("#ffffff", "#ccd0ea", 0.0, 0.0),
        "ribbon": Paint("#e0444e", "#a02440"),
        "fold": Paint("#2a3768", "#222a58"),
        "skirt": Paint("#38497f", "#232c5a"),
        "socks": Paint("#2c3560", "#1c2144"),
        "leather": Paint("#7c4a34", "#4f2b29"),
        "sole": Paint("#4a2f2a", "#2f1d20"),
    },
    "layered": {
        "hair": Paint("#d7b9ec", "#a284cc", 0.0, 0.0010, "hair"),
        "lash": Paint("#3e2c54", "#3e2c54", 1.0, 0.0),
        "brow": Paint("#9a78bc", "#9a78bc", 1.0, 0.0),
        "cloth": Paint("#fff9ee", "#d8c6d2"),
        "collar": Paint("#fffaf0", "#d8c6d2"),
        "trim": Paint("#eec366", "#b98243", 0.0, 0.0008),
        "ribbon": Paint("#4c4d96", "#32306c"),
        "fold": Paint("#3b3b7e", "#222a58"),
        "skirt": Paint("#4c4d96", "#32306c"),
        "socks": Paint("#3c3a5e", "#292747"),
        "leather": Paint("#6b4760", "#432b44"),
        "sole": Paint("#3c2b3c", "#2a1d2c"),
    },
    "twin-tails": {
        "hair": Paint("#fbdc84", "#dd9f5c", 0.0, 0.0010, "hair"),
        "tie": Paint("#3a3f5c", "#24273f"),
        "lash": Paint("#4a3028", "#4a3028", 1.0, 0.0),
        "brow": Paint("#c2924a", "#c2924a", 1.0, 0.0),
        "cloth": Paint("#8fd0ee", "#5b93cc"),
        "collar": Paint("#7cc2e6", "#4f86c2"),
        "trim": Paint("#fdfdff", "#bfcbe8"),
        "skirt": Paint("#454b69", "#2c2f4a"),
        "socks": Paint("#3a3f5c", "#262a44"),
        "leather": Paint("#fafafd", "#bcc6e2"),
        "sole": Paint("#ef8fa0", "#b95a78"),
    },
}
