"""Overhead: a crowd on a map, the eye at the bottom, in the colours of its levels of detail where that is wanted."""

from __future__ import annotations

import numpy as np

from ..sim.crowd import Crowd
from ..sim.lod import LEVELS

COLOURS = dict(zip(LEVELS, ("#d6336c", "#ae3ec9", "#f08c00", "#2f9e44", "#1c7ed6", "#adb5bd"), strict=True))


def overhead(crowd: Crowd, eye: np.ndarray, height: int, coloured: bool = True) -> np.ndarray:
    """(height, 2/3 height, 3) uint8 sRGB: a dot for every member from above, seen from `eye` (3,) along -z."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (height * 2 // 3, height), "white")
    draw, places = ImageDraw.Draw(image), crowd.places() - eye
    levels = crowd.levels()
    scale = min(height * 0.84 / max(-places[:, 2].min(), 1.0), height * 0.62 / max(np.ptp(places[:, 0]), 1.0))
    for (x, _, z), level in zip(places, levels, strict=True):
        u, v = height / 3 + x * scale, height * 0.98 + z * scale
        draw.ellipse((u - 2.5, v - 2.5, u + 2.5, v + 2.5), COLOURS[level] if coloured else COLOURS["full"])
    for k, level in enumerate(LEVELS if coloured else ()):
        draw.text((8 + 92 * (k % 3), 6 + 14 * (k // 3)), f"{level} {levels.count(level)}", COLOURS[level])
    return np.asarray(image)
