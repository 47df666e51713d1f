"""Head, face and painted eyes of the built-in avatars."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from .sample_mesh import Surface, both, bump, compact, loft, merge, power, sheet, smoothstep, table

HEAD_CENTRE = np.array([0.0, 1.428, -0.008])  # metres, middle of the skull
_CHIN, _CROWN = 1.306, 1.532

# step from chin (0) to crown (1): height, half width, front z, back z, roundness exponent; metres
_HEAD = [
    (0.000, 1.3060, 0.0000, 0.0600, 0.0560, 2.0),
    (0.035, 1.3072, 0.0130, 0.0740, 0.0400, 2.0),
    (0.080, 1.3110, 0.0235, 0.0805, 0.0240, 2.0),
    (0.150, 1.3210, 0.0370, 0.0845, -0.0020, 2.05),
    (0.230, 1.3350, 0.0515, 0.0868, -0.0350, 2.15),
    (0.310, 1.3510, 0.0640, 0.0885, -0.0620, 2.25),
    (0.400, 1.3710, 0.0735, 0.0895, -0.0830, 2.30),
    (0.490, 1.3940, 0.0785, 0.0900, -0.0960, 2.30),
    (0.580, 1.4200, 0.0805, 0.0910, -0.1030, 2.25),
    (0.670, 1.4470, 0.0800, 0.0900, -0.1040, 2.20),
    (0.760, 1.4750, 0.0755, 0.0840, -0.0980, 2.15),
    (0.850, 1.5000, 0.0655, 0.0710, -0.0850, 2.10),
    (0.920, 1.5190, 0.0500, 0.0510, -0.0650, 2.05),
    (0.965, 1.5280, 0.0275, 0.0250, -0.0400, 2.0),
    (0.988, 1.5315, 0.0100, 0.0030, -0.0190, 2.0),
    (1.000, 1.5320, 0.0000, -0.0080, -0.0080, 2.0),
]


def _section(step: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Points of the head without nose at steps and ring angles of one shape: (..., 3)."""
    step, angle = np.broadcast_arrays(step, angle)
    y, width, front, back, n = np.moveaxis(table(_HEAD, step), -1, 0)
    # The widest line of each ring lies between its front and back, nearer the front where the jaw narrows.
    middle = 0.5 * (front + back) + 0.25 * (front - back) * (1.0 - smoothstep(0.15, 0.5, step)) - 0.004
    x = width * power(np.cos(angle), 2.0 / n)
    sine = power(np.sin(angle), 2.0 / n)
    z = middle + np.where(sine > 0.0, front - middle, middle - back) * sine
    return np.stack([x, y, z], axis=-1)


def _step_of(y: np.ndarray) -> np.ndarray:
    """Step whose ring lies at height y."""
    steps = np.linspace(0.0, 1.0, 2000)
    return np.interp(y, table(_HEAD, steps)[:, 0], steps)


def _nose(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How far the nose stands out at (x, y), metres."""
    tip = 0.0125 * bump(x, 0.0, 0.0052) * np.where(y > 1.3585, bump(y, 1.3585, 0.0115), bump(y, 1.3585, 0.0042))
    return tip + 0.0025 * bump(x, 0.0, 0.006) * bump(y, 1.380, 0.014)


def _lips(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How far lips and chin stand out at (x, y), metres."""
    return 0.0014 * bump(x, 0.0, 0.010) * bump(y, 1.334, 0.006) + 0.0016 * bump(x, 0.0, 0.010) * bump(y, 1.316, 0.006)


def face_z(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """z of the face's surface in front at (x, y), metres, without the nose."""
    step = _step_of(y)
    _, width, front, back, n = np.moveaxis(table(_HEAD, step), -1, 0)
    middle = 0.5 * (front + back) + 0.25 * (front - back) * (1.0 - smoothstep(0.15, 0.5, step)) - 0.004
    inside = np.clip(1.0 - np.abs(x / np.maximum(width, 1e-6)) ** n, 0.0, 1.0)
    return middle + (front - middle) * inside ** (1.0 / n) + _lips(x, y)


def head() -> Surface:
    """Skin of the head with face texture coordinates: u over x, v down y."""
    rows, columns = 64, 80
    step = np.sort(
        np.concatenate([0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, rows - 16)), np.linspace(0.12, 0.42, 16)])
    )
    even = np.linspace(0.0, 2.0 * np.pi, columns, endpoint=False)
    angle = even + 0.62 * np.cos(even)  # crowds the columns at the front, where the nose is
    rings = _section(step[:, None], angle[None, :])
    front = smoothstep(0.2, 0.7, np.sin(angle))[None, :]
    rings[..., 2] += front * (_nose(rings[..., 0], rings[..., 1]) + _lips(rings[..., 0], rings[..., 1]))
    piece = loft(rings, "open", "open")
    x, y, z = piece.positions.T
    # Where the cheek turns to the side, u goes on with the depth, so that nothing is smeared.
    u = np.clip(x + np.sign(x) * np.clip(0.075 - z, 0.0, 0.1), -0.099, 0.099) / 0.2 + 0.5
    uvs = np.stack([u, (1.54 - y) / 0.25], axis=1)
    return Surface(piece.positions, piece.triangles, uvs, piece.normals).on("head")


def ears() -> Surface:
    """Both ears: a rim, a bowl and a lobe."""
    angle = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    tall = np.where(np.sin(angle) > 0, 0.0235, 0.0215)
    outline = np.stack([np.zeros(24), tall * np.sin(angle), (0.0135 + 0.003 * np.sin(angle)) * np.cos(angle)], axis=1)
    # factor of the outline and distance from the head for each ring, from the root over the rim into the bowl
    profile = [
        (0.55, -0.010),
        (0.80, 0.001),
        (0.97, 0.006),
        (1.03, 0.0095),
        (1.00, 0.0125),
        (0.88, 0.0125),
        (0.76, 0.0090),
        (0.50, 0.0070),
    ]
    rings = np.stack([outline * f + [d, 0.0, 0.0] for f, d in profile])
    return both(loft(_beside_head(rings), "open", "flat").on("head"))


def _beside_head(p: np.ndarray) -> np.ndarray:
    """Points (..., 3) of an upright ear, x away from the head, put at the left of the head and spread."""
    lean, flare = np.radians(12.0), np.radians(24.0)
    y = p[..., 1] * np.cos(lean) + p[..., 2] * np.sin(lean)
    z = p[..., 2] * np.cos(lean) - p[..., 1] * np.sin(lean)
    x = p[..., 0] * np.cos(flare) - z * np.sin(flare)
    z = z * np.cos(flare) - 0.3 * p[..., 0] * np.sin(flare)
    return np.stack([x + 0.0795, y + 1.3790, z - 0.010], axis=-1)


def ear_folds() -> Surface:
    """The line of the inner ear on both sides."""
    angle = np.radians(np.linspace(10.0, 255.0, 20))
    path = np.stack([np.full(20, 0.0105), 0.0165 * np.sin(angle), 0.0090 * np.cos(angle)], axis=1)
    size = 0.0007 * np.sin(np.linspace(0.0, np.pi, 20)) ** 0.5
    out = np.stack([np.zeros(20), np.sin(angle), np.cos(angle)], axis=1)
    around = np.linspace(0.0, 2.0 * np.pi, 6, endpoint=False)
    across = np.cos(around)[:, None] * out[:, None] + np.sin(around)[:, None] * np.array([1.6, 0.0, 0.0])
    return both(loft(_beside_head(path[:, None] + size[:, None, None] * across)).on("head"))


@dataclass(frozen=True)
class Look:
    """Colours of the face, sRGB 0 to 255."""

    iris: tuple[int, int, int]
    iris_dark: tuple[int, int, int]
    lash: tuple[int, int, int]
    brow: tuple[int, int, int]


EYE_X, EYE_Y, EYE_WIDTH, EYE_HEIGHT = 0.0345, 1.3845, 0.0225, 0.0235  # centre and half sizes, metres


def _upper_lid(t: np.ndarray) -> np.ndarray:
    """Height of the upper lid from inner (0) to outer corner (1), in half eye heights."""
    return table([(0.0, -0.30), (0.10, 0.33), (0.28, 0.80), (0.50, 0.98), (0.72, 0.86), (0.90, 0.46), (1.0, 0.10)], t)[
        ..., 0
    ]


def _lower_lid(t: np.ndarray) -> np.ndarray:
    """Height of the lower lid, in half eye heights."""
    return table([(0.0, -0.30), (0.12, -0.62), (0.35, -0.90), (0.60, -0.95), (0.85, -0.60), (1.0, 0.10)], t)[..., 0]


def _on_face(x, y, lift: float) -> Surface:
    """Sheet of points (R, C) laid on the left half of the face, `lift` metres in front; u and v are the grid's."""
    z = face_z(x, y) + lift
    grid = np.stack([x, y, z], axis=-1)
    piece = sheet(grid)
    corner = piece.positions[piece.triangles]
    area = np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
    piece = compact(replace(piece, triangles=piece.triangles[area > 1e-11]))
    normals = piece.normals * np.sign(piece.normals[:, 2:].mean())
    normals = np.where(
        np.linalg.norm(normals, axis=1, keepdims=True) > 0.5, normals, [0.0, 0.0, 1.0]
    )  # corners of no area
    triangles = piece.triangles if piece.normals[:, 2].mean() > 0 else piece.triangles[:, ::-1]
    return Surface(piece.positions, triangles, piece.uvs, normals).on("head")


def _strip(t, low, high, x0: float, x1: float, lift: float, rows: int = 3) -> Surface:
    """Band on the face between two heights (C,) in metres, from x0 to x1."""
    x = x0 + (x1 - x0) * t
    share = np.linspace(0.0, 1.0, rows)[:, None]
    return _on_face(np.broadcast_to(x, (rows, len(t))), low + (high - low) * share, lift)


def eye_balls() -> Surface:
    """Both eyes' openings, textured: (0, 0) is the upper inner corner of the eye's box."""
    t = np.linspace(0.0, 1.0, 33)
    x0, x1 = EYE_X - EYE_WIDTH, EYE_X + EYE_WIDTH
    share = np.linspace(0.0, 1.0, 13)[:, None]
    height = _lower_lid(t) + (_upper_lid(t) - _lower_lid(t)) * share
    x = np.broadcast_to(x0 + (x1 - x0) * t, height.shape)
    piece = _on_face(x, EYE_Y + EYE_HEIGHT * height, 0.0006)
    uvs = np.stack(
        [(piece.positions[:, 0] - x0) / (x1 - x0), 0.5 - 0.5 * (piece.positions[:, 1] - EYE_Y) / EYE_HEIGHT], axis=1
    )
    return both(Surface(piece.positions, piece.triangles, uvs, piece.normals, piece.weights))


def lashes() -> Surface:
    """Upper lash lines with their outer wings, lower lash lines and lid folds, on both eyes."""
    x0, x1 = EYE_X - EYE_WIDTH, EYE_X + EYE_WIDTH
    t = np.linspace(-0.02, 1.10, 49)
    inside = np.clip(t, 0.0, 1.0)
    base = EYE_Y + EYE_HEIGHT * (_upper_lid(inside) - 0.9 * np.clip(t - 1.0, 0.0, 1.0) - 0.02)
    thick = table(
        [(-0.02, 0.0), (0.08, 0.0016), (0.30, 0.0034), (0.60, 0.0046), (0.85, 0.0052), (1.0, 0.0040), (1.10, 0.0)], t
    )[..., 0]
    upper = _strip(t, base - 0.0006, base + thick, x0, x1, 0.0012)
    wing_t = np.linspace(0.86, 1.17, 17)
    wing = EYE_Y + EYE_HEIGHT * table([(0.86, 0.52), (1.0, 0.26), (1.17, 0.30)], wing_t)[..., 0]
    wing_thick = table([(0.86, 0.0), (0.95, 0.0035), (1.05, 0.0022), (1.17, 0.0)], wing_t)[..., 0]
    flick = _strip(wing_t, wing - 0.2 * wing_thick, wing + wing_thick, x0, x1, 0.0013)
    low_t = np.linspace(0.30, 0.98, 25)
    low = EYE_Y + EYE_HEIGHT * _lower_lid(low_t)
    low_thick = 0.0011 * np.sin(np.pi * np.linspace(0.0, 1.0, 25)) ** 0.7
    lower = _strip(low_t, low - low_thick, low + 0.0002, x0, x1, 0.0010)
    fold_t = np.linspace(0.16, 0.98, 33)
    fold = EYE_Y + EYE_HEIGHT * (_upper_lid(fold_t) + 0.34) + 0.0006
    fold_thick = 0.0008 * np.sin(np.pi * np.linspace(0.0, 1.0, 33)) ** 0.6
    lid = _strip(fold_t, fold, fold + fold_thick, x0, x1, 0.0008)
    return both(merge(upper, flick, lower, lid))


def brows() -> Surface:
    """Both brows: soft arcs that taper outward."""
    t = np.linspace(0.0, 1.0, 33)
    arc = 1.4205 + 0.0052 * np.sin(np.pi * (0.12 + 0.72 * t)) - 0.0052 * t**2
    thick = 0.0031 * table([(0.0, 0.35), (0.12, 0.9), (0.4, 1.0), (0.8, 0.6), (1.0, 0.05)], t)[..., 0]
    return both(_strip(t, arc - 0.5 * thick, arc + 0.5 * thick, 0.0165, 0.0580, 0.0012))


def mouth() -> Surface:
    """A small smiling line, with a hint of the lower lip."""
    t = np.linspace(-1.0, 1.0, 33)
    line = 1.3335 + 0.0034 * t**2 - 0.0005 * np.cos(np.pi * t)
    thick = 0.0014 * np.sqrt(np.clip(1.03 - t**2, 0.0, 1.0))
    smile = _strip(0.5 + 0.5 * t, line - 0.5 * thick, line + 0.5 * thick, -0.0120, 0.0120, 0.0009)
    lip = 1.3275 + 0.0006 * t**2
    under = _strip(0.5 + 0.5 * t, lip - 0.30 * thick, lip + 0.1 * thick, -0.0035, 0.0035, 0.0009)
    return merge(smile, under)


def eye_texture(look: Look, size: int = 256) -> bytes:
    """PNG of the left eye in its box: white with the lid's shadow, iris with a bright lower half, pupil, highlights."""
    at = (np.arange(2 * size) + 0.5) / (2 * size)
    u, v = np.meshgrid(at, at)
    dark, light = np.array(look.iris_dark, dtype=np.float64), np.array(look.iris, dtype=np.float64)
    image = np.empty((*u.shape, 3))
    image[:] = (252, 251, 253)
    lid = 0.5 - 0.5 * _upper_lid(u)
    image = _over(image, (196, 196, 220), 0.9 * (v < lid + 0.115))

    def oval(cu, cv, ru, rv):
        return np.hypot((u - cu) / ru, (v - cv) / rv)

    r = oval(0.485, 0.500, 0.355, 0.480)
    image = _over(image, dark * 0.45, r < 1.0)
    down = smoothstep(0.10, 0.92, v)[..., None]
    body = dark * (1.0 - down) + light * down
    image = _over(image, body, r < 0.90)
    glow = 1.0 - smoothstep(0.35, 1.0, oval(0.485, 0.80, 0.25, 0.19))
    image = _over(image, light * 0.45 + 255 * 0.55, 0.85 * glow * (r < 0.86))
    ray = np.abs(np.sin(11.0 * np.arctan2(u - 0.485, v - 0.5))) ** 6
    image = _over(image, dark, 0.22 * ray * (r < 0.86) * (r > 0.5))
    image = _over(image, dark * 0.28, oval(0.485, 0.475, 0.155, 0.235) < 1.0)
    image = _over(image, dark * 0.35, 0.70 * (v < lid + 0.15) * (r < 0.97))
    image = _over(image, (255, 255, 255), oval(0.355, 0.285, 0.105, 0.115) < 1.0)
    image = _over(image, (255, 255, 255), oval(0.635, 0.700, 0.050, 0.058) < 1.0)
    return _png(Image.fromarray(image.clip(0, 255).astype(np.uint8)).resize((size, size), Image.Resampling.BOX))


def _over(image: np.ndarray, colour, share) -> np.ndarray:
    """`colour` (3,) or (H, W, 3) over the image by `share` (H, W) in 0 to 1."""
    share = np.asarray(share, dtype=np.float64)[..., None]
    return image * (1.0 - share) + np.asarray(colour, dtype=np.float64) * share


def face_texture(size: int = 256) -> bytes:
    """PNG of what multiplies the skin colour: blush on the cheeks, a touch of red under the nose."""
    image = Image.new("RGB", (size, size), (255, 255, 255))
    draw = ImageDraw.Draw(image)

    def oval(x, y, rx, ry, colour):
        cx, cy = (x / 0.2 + 0.5) * size, (1.54 - y) / 0.25 * size
        draw.ellipse(
            (cx - rx / 0.2 * size, cy - ry / 0.25 * size, cx + rx / 0.2 * size, cy + ry / 0.25 * size), fill=colour
        )

    for sign in (-1, 1):
        oval(sign * 0.0450, 1.3540, 0.0105, 0.0055, (255, 196, 186))
    image = image.filter(ImageFilter.GaussianBlur(size * 0.016))
    draw = ImageDraw.Draw(image)
    oval(0.0, 1.3525, 0.0028, 0.0012, (246, 190, 176))
    return _png(image.filter(ImageFilter.GaussianBlur(size * 0.002)))


def hair_texture(size: int = 256) -> bytes:
    """PNG of what multiplies the hair colour: darker towards the root, thin strands along v."""
    u, v = np.meshgrid((np.arange(size) + 0.5) / size, (np.arange(size) + 0.5) / size)
    image = np.empty((size, size, 3))
    image[:] = 255.0
    root = 1.0 - smoothstep(0.0, 0.45, v)
    image = _over(image, (214, 196, 206), 0.75 * root)
    for centre, width, low, high, share in _STRANDS:
        line = np.exp(-(((u - centre - 0.02 * np.sin(5.0 * v + 9.0 * centre)) / width) ** 2))
        image = _over(
            image,
            (176, 150, 170),
            share * line * smoothstep(low, low + 0.2, v) * (1.0 - smoothstep(high - 0.2, high, v)),
        )
    return _png(Image.fromarray(image.clip(0, 255).astype(np.uint8)))


# centre, width, first and last v, strength of the strands drawn on every lock; u = 0.5 is the lock's other edge
_STRANDS = (
    (0.13, 0.010, 0.05, 0.80, 0.55),
    (0.27, 0.014, 0.25, 1.15, 0.75),
    (0.36, 0.008, 0.00, 0.55, 0.45),
    (0.62, 0.010, 0.10, 0.85, 0.55),
    (0.74, 0.014, 0.30, 1.15, 0.75),
    (0.86, 0.008, 0.00, 0.60, 0.45),
)


def _png(image: Image.Image) -> bytes:
    """The image as PNG bytes."""
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()
