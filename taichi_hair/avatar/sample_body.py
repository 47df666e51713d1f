"""Skeleton and body of the built-in avatars: one shape in a T-pose, from which skin and clothes are cut."""

from __future__ import annotations

import numpy as np

from .sample_mesh import (
    Surface,
    along_bones,
    both,
    bump,
    loft,
    merge,
    mix,
    power,
    ring_angles,
    smoothstep,
    spline,
    table,
)

# Bone: parent and world position in metres, of the left half and the middle; chosen for a figure of 6.4 heads.
_BONES = {
    "hips": ("", (0.0, 0.845, -0.004)),
    "spine": ("hips", (0.0, 0.915, -0.006)),
    "chest": ("spine", (0.0, 1.010, -0.010)),
    "upperChest": ("chest", (0.0, 1.110, -0.014)),
    "neck": ("upperChest", (0.0, 1.252, -0.020)),
    "head": ("neck", (0.0, 1.322, -0.010)),
    "leftEye": ("head", (0.034, 1.384, 0.055)),
    "leftShoulder": ("upperChest", (0.030, 1.222, -0.012)),
    "leftUpperArm": ("leftShoulder", (0.108, 1.216, -0.014)),
    "leftLowerArm": ("leftUpperArm", (0.330, 1.216, -0.014)),
    "leftHand": ("leftLowerArm", (0.535, 1.216, -0.014)),
    "leftUpperLeg": ("hips", (0.070, 0.800, -0.002)),
    "leftLowerLeg": ("leftUpperLeg", (0.066, 0.438, 0.004)),
    "leftFoot": ("leftLowerLeg", (0.064, 0.078, -0.014)),
    "leftToes": ("leftFoot", (0.066, 0.020, 0.082)),
}
ROLES = (*_BONES, *("right" + name[4:] for name in _BONES if name.startswith("left")))
ARM_Y, ARM_Z = 1.216, -0.014  # metres: the arms' axis in the T-pose
COLUMNS = 64

# y, half width, front, back, roundness exponent; metres
_TORSO = [
    (0.740, 0.108, 0.060, 0.076, 2.3),
    (0.800, 0.127, 0.072, 0.094, 2.3),
    (0.840, 0.127, 0.074, 0.092, 2.25),
    (0.880, 0.117, 0.072, 0.078, 2.2),
    (0.930, 0.099, 0.066, 0.060, 2.2),
    (0.985, 0.089, 0.062, 0.052, 2.2),
    (1.040, 0.094, 0.066, 0.060, 2.2),
    (1.085, 0.101, 0.071, 0.068, 2.2),
    (1.130, 0.107, 0.074, 0.073, 2.25),
    (1.170, 0.110, 0.070, 0.074, 2.3),
    (1.205, 0.109, 0.058, 0.071, 2.3),
    (1.228, 0.096, 0.044, 0.064, 2.2),
    (1.243, 0.077, 0.033, 0.056, 2.1),
    (1.256, 0.055, 0.025, 0.050, 2.0),
    (1.272, 0.038, 0.022, 0.045, 2.0),
    (1.295, 0.0325, 0.023, 0.042, 2.0),
    (1.330, 0.0315, 0.028, 0.036, 2.0),
    (1.360, 0.0315, 0.030, 0.034, 2.0),
]
# |x|, half height, half depth; metres
_ARM = [
    (0.100, 0.044, 0.044),
    (0.140, 0.0385, 0.0400),
    (0.190, 0.0345, 0.0360),
    (0.260, 0.0310, 0.0310),
    (0.330, 0.0265, 0.0260),
    (0.380, 0.0272, 0.0272),
    (0.450, 0.0235, 0.0235),
    (0.520, 0.0175, 0.0190),
    (0.540, 0.0165, 0.0195),
    (0.562, 0.0160, 0.0260),
    (0.590, 0.0145, 0.0315),
    (0.612, 0.0125, 0.0325),
    (0.622, 0.0100, 0.0300),
    (0.628, 0.0040, 0.0240),
]
# y, centre x, centre z, half width, half depth; metres
_LEG = [
    (0.070, 0.064, -0.012, 0.0260, 0.0300),
    (0.100, 0.064, -0.014, 0.0255, 0.0290),
    (0.160, 0.064, -0.014, 0.0300, 0.0330),
    (0.250, 0.065, -0.013, 0.0400, 0.0440),
    (0.320, 0.066, -0.010, 0.0430, 0.0470),
    (0.390, 0.066, -0.001, 0.0405, 0.0425),
    (0.440, 0.066, 0.004, 0.0400, 0.0420),
    (0.500, 0.067, 0.005, 0.0450, 0.0460),
    (0.600, 0.068, 0.004, 0.0550, 0.0570),
    (0.700, 0.068, 0.000, 0.0640, 0.0680),
    (0.780, 0.068, -0.004, 0.0680, 0.0760),
    (0.840, 0.064, -0.006, 0.0620, 0.0760),
]


def bones() -> dict[str, tuple[str, np.ndarray]]:
    """Every bone of the body: parent name ("" for the root) and world position (3,) in metres."""
    both_sides = {name: (parent, np.array(at)) for name, (parent, at) in _BONES.items()}
    for name, (parent, at) in _BONES.items():
        if name.startswith("left"):
            up = "right" + parent[4:] if parent.startswith("left") else parent
            both_sides["right" + name[4:]] = (up, np.array(at) * [-1.0, 1.0, 1.0])
    return both_sides


def body_weights(p: np.ndarray) -> dict[str, np.ndarray]:
    """Bone weights of rest positions (V, 3) on or near torso, neck and arms."""
    weights = along_bones(
        ("hips", "spine", "chest", "upperChest", "neck", "head"),
        (0.915, 1.010, 1.105, 1.258, 1.322),
        (0.045, 0.045, 0.050, 0.022, 0.018),
        p[:, 1],
    )
    for side, sign in (("left", 1.0), ("right", -1.0)):
        x = sign * p[:, 0]
        arm = along_bones(
            (f"{side}Shoulder", f"{side}UpperArm", f"{side}LowerArm", f"{side}Hand"),
            (0.112, 0.330, 0.535),
            (0.046, 0.042, 0.020),
            x,
        )
        # Below the armpit the chest keeps the cloth; the fade follows a line that slants outward and down.
        share = smoothstep(0.040, 0.118, x) * smoothstep(1.105, 1.195, p[:, 1] + 0.4 * np.clip(x - 0.12, 0.0, 0.3))
        weights = mix(weights, arm, share)
    return weights


def leg_weights(p: np.ndarray) -> dict[str, np.ndarray]:
    """Bone weights of rest positions (V, 3) on the legs and feet, on either side."""
    left = smoothstep(-0.012, 0.012, p[:, 0])
    sides = []
    for side in ("right", "left"):
        leg = along_bones(
            (f"{side}Foot", f"{side}LowerLeg", f"{side}UpperLeg", "hips"),
            (0.078, 0.438, 0.835),
            (0.022, 0.05, 0.06),
            p[:, 1],
        )
        toes = smoothstep(0.065, 0.100, p[:, 2]) * (p[:, 1] < 0.1)
        sides.append(mix(leg, {f"{side}Toes": np.ones(len(p))}, toes))
    return mix(sides[0], sides[1], left)


def torso_rings(y: np.ndarray, columns: int = COLUMNS) -> np.ndarray:
    """Points (R, columns, 3) of the torso at heights y, (R,) or (R, columns); columns run from +x to +z."""
    y = np.broadcast_to(np.asarray(y, dtype=np.float64).reshape(len(y), -1), (len(y), columns))
    width, front, back, n = np.moveaxis(table(_TORSO, y), -1, 0)
    angle = ring_angles(columns)
    x = width * power(np.cos(angle), 2.0 / n)
    sine = power(np.sin(angle), 2.0 / n)
    z = np.where(sine > 0.0, front, back) * sine
    chest = bump(y, 1.122, 0.030) * (bump(x, 0.047, 0.024) + bump(x, -0.047, 0.024)) * smoothstep(0.2, 0.8, sine)
    z = z + 0.020 * chest
    centre = -0.012 * smoothstep(1.0, 1.2, y) - 0.002
    return np.stack([x, y, z + centre], axis=-1)


def front_z(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """z of the torso's front at x and y of one shape, metres."""
    x, y = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
    ring = torso_rings(y.ravel())[:, : COLUMNS // 2 + 1]  # from +x over +z to -x
    z = [np.interp(-at, -points[:, 0], points[:, 2]) for at, points in zip(x.ravel(), ring, strict=True)]
    return np.array(z).reshape(x.shape)


def arm_rings(x: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Points (R, N, 3) of the left arm and palm at distances x (R,), at `angle` (N,) or (R, N) from +z by +y."""
    height, depth = np.moveaxis(table(_ARM, x), -1, 0)[:, :, None]
    # Forearm and palm flatten from a circle to a rounded slab.
    n = 2.0 + 0.6 * smoothstep(0.53, 0.60, x)[:, None]
    angle = np.broadcast_to(angle, (len(x), np.shape(angle)[-1]))
    y = ARM_Y + height * power(np.sin(angle), 2.0 / n)
    z = ARM_Z + depth * power(np.cos(angle), 2.0 / n)
    return np.stack([np.broadcast_to(np.asarray(x)[:, None], y.shape), y, z], axis=-1)


def hands() -> Surface:
    """Four fingers and a thumb on each side, slightly curled, palm down."""
    fingers = []
    for z, length, radius in (
        (0.0235, 0.058, 0.0080),
        (0.0080, 0.066, 0.0083),
        (-0.0075, 0.060, 0.0080),
        (-0.0220, 0.046, 0.0072),
    ):
        path = spline(
            [
                (0.598, ARM_Y + 0.001, ARM_Z + z * 0.92),
                (0.624, ARM_Y + 0.001, ARM_Z + z),
                (0.624 + 0.5 * length, ARM_Y - 0.003, ARM_Z + z * 1.02),
                (0.624 + length * 0.97, ARM_Y - 0.014, ARM_Z + z * 1.0),
            ],
            14,
        )
        fingers.append(_finger(path, radius))
    thumb = spline(
        [
            (0.552, ARM_Y - 0.004, ARM_Z + 0.012),
            (0.575, ARM_Y - 0.006, ARM_Z + 0.032),
            (0.600, ARM_Y - 0.011, ARM_Z + 0.047),
            (0.622, ARM_Y - 0.018, ARM_Z + 0.052),
        ],
        14,
    )
    fingers.append(_finger(thumb, 0.0092))
    return both(merge(*fingers).on("leftHand"))


def _finger(path: np.ndarray, radius: float) -> Surface:
    """A round finger along `path` (K, 3) that tapers to a soft tip."""
    t = np.linspace(0.0, 1.0, len(path))
    r = radius * table([(0, 1.0), (0.6, 0.95), (0.85, 0.82), (0.95, 0.55), (1.0, 0.05)], t)
    along = np.gradient(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    side = np.cross(along, [0.0, 1.0, 0.0])
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(side, along)
    angle = ring_angles(10)[None, :, None]
    rings = path[:, None] + r[:, None] * (np.cos(angle) * side[:, None] + np.sin(angle) * up[:, None])
    return loft(rings)


def leg(low: float, high: float, offset, rows: int = 24, columns: int = 32, fold: float = 0.0) -> Surface:
    """Left leg between two heights, `offset` metres (a number or a function of y) larger than the skin.

    `fold` metres of the upper edge are turned in.
    """
    y = np.linspace(low, high, rows)
    x, z, width, depth = np.moveaxis(table(_LEG, y), -1, 0)
    more = offset(y) if callable(offset) else np.full(len(y), offset)
    angle = ring_angles(columns)
    # The calf swells to the back, the shin stays straighter.
    calf = 1.0 + 0.10 * bump(y, 0.31, 0.07)[:, None] * np.clip(-np.sin(angle), 0.0, 1.0)
    rings = np.stack(
        [
            x[:, None] + (width + more)[:, None] * np.cos(angle),
            np.broadcast_to(y[:, None], (rows, columns)),
            z[:, None] + (depth + more)[:, None] * calf * np.sin(angle),
        ],
        axis=-1,
    )
    if fold:
        centre = rings[-1].mean(axis=0)
        inner = centre + (rings[-1] - centre) * (1.0 - fold / np.linalg.norm(rings[-1] - centre, axis=1, keepdims=True))
        rings = np.concatenate([rings, inner[None], inner[None] - [[[0.0, 0.02, 0.0]]]])
    piece = loft(rings)
    return piece.weighted(leg_weights(piece.positions))
