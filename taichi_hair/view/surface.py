"""Surfaces: the materials of all avatars in a scene as one table, their textures as one pool of texels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..avatar.description import Avatar, Material

# Columns of the surface table (float32). Images are indices into the texture pool, -1 where there is none.
BASE = 0  # 4: linear colour and opacity
SHADE = 4  # 3: linear colour of the shaded side
EMISSIVE = 7  # 3
RIM = 10  # 3
RIM_POWER = 13
RIM_LIFT = 14
SHIFT = 15
SHIFT_SCALE = 16
TOONY = 17
CUTOFF = 18
MODE = 19  # OPAQUE, MASK or BLEND
BOTH_SIDES = 20
HAIR = 21  # share of the highlight band
OUTLINE = 22  # 3: linear colour
OUTLINE_WIDTH = 25
OUTLINE_SCREEN = 26  # 1: the width is a fraction of the picture's height, 0: metres
BASE_IMAGE = 27
SHADE_IMAGE = 28
SHIFT_IMAGE = 29
EMISSIVE_IMAGE = 30
SHADE_FROM_ALBEDO = 31  # 1: the shaded side is derived from the lit colour
OUTLINE_MIX = 32  # share of the surface's own colour in the line
WRAP = 33  # how images go on beyond their edges: code of u + 3 * code of v
COLUMNS = 34

OPAQUE, MASK, BLEND = 0, 1, 2
WRAPS = {"repeat": 0, "clamp": 1, "mirror": 2}
MODES = {"OPAQUE": OPAQUE, "MASK": MASK, "BLEND": BLEND}

# Above this the step between light and shade is narrower than a sample and crawls (look.md measured 0.94).
TOONY_LIMIT = 0.94
# What a material without toon settings gets; chosen for looks on untextured and PBR avatars.
PLAIN_SHIFT = 0.05
PLAIN_TOONY = 0.9
PLAIN_OUTLINE = 0.0007  # metres
PLAIN_OUTLINE_COLOR = (0.16, 0.13, 0.15)  # linear, times the surface's colour
# An avatar whose file has no colour at all (every material white, no texture, no vertex colour) is shown as clay, its
# hair in another tint so that it can be told apart. Linear colours, chosen for looks.
CLAY = (0.70, 0.63, 0.60)
CLAY_HAIR = (0.62, 0.36, 0.13)
MAX_TEXELS = 2048  # longest side of a texture in the pool; larger images are halved until they fit


def linear_to_srgb(c: np.ndarray) -> np.ndarray:
    """sRGB encoding of linear light in [0, 1], any shape (IEC 61966-2-1)."""
    c = np.asarray(c, dtype=np.float64)
    return np.where(c <= 0.0031308, c * 12.92, 1.055 * np.maximum(c, 0.0031308) ** (1 / 2.4) - 0.055)


@dataclass(frozen=True, eq=False)
class Surfaces:
    """Tables that the shading reads."""

    table: np.ndarray  # (M, COLUMNS) float32
    images: np.ndarray  # (I, 3) int32: first texel, width, height
    texels: np.ndarray  # (P,) uint32, red in the lowest byte
    first_material: tuple[int, ...]  # per avatar, where its materials start in the table


def build(avatars, hair_materials=()) -> Surfaces:
    """Surfaces of several avatars; `hair_materials` holds index pairs (avatar, material) that carry a hair band."""
    rows, images, texels, firsts, where = [], [], [], [], {}
    size = 0
    for number, avatar in enumerate(avatars):
        firsts.append(len(rows))

        def pooled(index, avatar=avatar):
            nonlocal size
            if index is None or not 0 <= index < len(avatar.images) or avatar.images[index] is None:
                return -1
            key = id(avatar.images[index])
            if key not in where:
                pixels = _fitted(np.asarray(avatar.images[index], dtype=np.uint8))
                where[key] = len(images)
                images.append((size, pixels.shape[1], pixels.shape[0]))
                texels.append(np.ascontiguousarray(pixels).view(np.uint32).reshape(-1))
                size += texels[-1].size
            return where[key]

        colourless = is_colourless(avatar)
        for m, material in enumerate(avatar.materials):
            hair = (number, m) in hair_materials
            rows.append(_row(avatar, material, pooled, hair))
            if colourless:
                rows[-1][BASE : BASE + 3] = rows[-1][SHADE : SHADE + 3] = CLAY_HAIR if hair else CLAY
    if not rows:
        raise ValueError("no avatar in the scene has a material; every mesh part needs one")
    pool = np.concatenate(texels) if texels else np.zeros(1, dtype=np.uint32)
    table = np.array(images if images else [(0, 1, 1)], dtype=np.int32)
    return Surfaces(np.array(rows, dtype=np.float32), table, pool, tuple(firsts))


def is_colourless(avatar: Avatar) -> bool:
    """Whether the file gives no surface a colour: all white, without toon settings, textures or vertex colours."""
    plain = all(
        not m.toon and m.texture is None and not np.any(m.emissive) and np.allclose(m.base_color[:3], 1.0)
        for m in avatar.materials
    )
    return plain and all(p.colors is None or np.allclose(p.colors[:, :3], 1.0) for p in avatar.parts)


def _row(avatar: Avatar, m: Material, pooled, hair: bool) -> np.ndarray:
    """One line of the surface table."""
    if m.alpha_mode not in MODES:
        raise ValueError(
            f"{avatar.name}, material {m.name!r}: alpha mode {m.alpha_mode!r}, wanted one of {', '.join(MODES)}"
        )
    row = np.zeros(COLUMNS)
    row[BASE : BASE + 4] = m.base_color
    row[EMISSIVE : EMISSIVE + 3] = m.emissive
    row[RIM : RIM + 3] = m.rim_color
    row[RIM_POWER], row[RIM_LIFT] = m.rim_power, m.rim_lift
    row[CUTOFF], row[MODE] = m.alpha_cutoff, MODES[m.alpha_mode]
    row[BOTH_SIDES], row[HAIR] = m.double_sided, hair
    row[BASE_IMAGE] = pooled(m.texture)
    row[EMISSIVE_IMAGE] = pooled(m.emissive_texture)
    row[SHADE_IMAGE] = row[SHIFT_IMAGE] = -1
    row[WRAP] = WRAPS[m.texture_wrap[0]] + 3 * WRAPS[m.texture_wrap[1]]
    if m.toon:
        row[SHADE : SHADE + 3] = m.shade_color
        row[SHADE_IMAGE] = pooled(m.shade_texture)
        row[SHIFT], row[SHIFT_SCALE] = m.shading_shift, m.shading_shift_scale
        row[SHIFT_IMAGE] = pooled(m.shading_shift_texture)
        row[TOONY] = min(m.shading_toony, TOONY_LIMIT)
        if m.outline_mode != "none":
            row[OUTLINE : OUTLINE + 3] = m.outline_color
            row[OUTLINE_WIDTH] = m.outline_width
            row[OUTLINE_MIX] = m.outline_lighting_mix
            row[OUTLINE_SCREEN] = m.outline_mode == "screenCoordinates"
    else:
        row[SHIFT], row[TOONY] = PLAIN_SHIFT, PLAIN_TOONY
        row[SHADE_FROM_ALBEDO] = not m.unlit
        row[SHADE : SHADE + 3] = row[BASE : BASE + 3]  # an unlit surface looks the same in light and shade
        row[SHADE_IMAGE] = row[BASE_IMAGE]
        # Converted models often hold sheets that their own renderer showed from both sides; closed meshes do not mind.
        row[BOTH_SIDES] = 1.0
        if m.alpha_mode == "OPAQUE":
            row[OUTLINE : OUTLINE + 3] = PLAIN_OUTLINE_COLOR
            row[OUTLINE_WIDTH], row[OUTLINE_MIX] = PLAIN_OUTLINE, 1.0
    return row


def _fitted(pixels: np.ndarray) -> np.ndarray:
    """(H, W, 4) uint8 image, halved by averaging until no side is longer than MAX_TEXELS."""
    if pixels.ndim != 3 or pixels.shape[2] != 4:
        raise ValueError(f"an image has shape {pixels.shape}, wanted (height, width, 4)")
    while max(pixels.shape[:2]) > MAX_TEXELS:
        h, w = max(pixels.shape[0] // 2, 1), max(pixels.shape[1] // 2, 1)
        fy, fx = pixels.shape[0] // h, pixels.shape[1] // w
        blocks = pixels[: h * fy, : w * fx].reshape(h, fy, w, fx, 4).astype(np.uint16)
        pixels = ((blocks.sum(axis=(1, 3)) + fy * fx // 2) // (fy * fx)).astype(np.uint8)
    return pixels
