"""Outlines: what the inverted hull needs, merged normals and the width of the line at every vertex."""

from __future__ import annotations

import numpy as np

from ..avatar.description import Avatar
from ..avatar.images import sample
from . import surface

MERGE_DISTANCE = 1e-5  # metres; vertices split along a seam are stored with equal positions
OPPOSED = 0.25  # a merged normal shorter than this (of 1) joins sheets that face away from each other


def merged_normals(avatar: Avatar, parts) -> np.ndarray:
    """(V, 3) unit normals that agree wherever vertices of one skin coincide, so that the hull does not tear at seams.

    Where coinciding vertices face away from each other (the two sides of a sheet), each keeps its own normal.
    """
    positions = np.concatenate([p.positions for p in parts])
    own = np.concatenate([p.normals for p in parts]).astype(np.float64)
    skin = np.concatenate([np.full(len(p.positions), p.skin) for p in parts])
    key = np.concatenate([np.round(positions / MERGE_DISTANCE), skin[:, None]], axis=1).astype(np.int64)
    _, group = np.unique(key, axis=0, return_inverse=True)
    group = group.reshape(-1)
    total = np.zeros((group.max() + 1, 3))
    np.add.at(total, group, own)
    count = np.bincount(group)
    mean = (total / count[:, None])[group]
    length = np.linalg.norm(mean, axis=1, keepdims=True)
    return np.where(length > OPPOSED, mean / np.maximum(length, 1e-12), own)


def widths(avatar: Avatar, parts, table: np.ndarray, first_material: int) -> np.ndarray:
    """(V,) width of the line at each vertex: the material's width times its mask (green channel) at the vertex."""
    out = []
    for part in parts:
        material = avatar.materials[part.material]
        width = np.full(len(part.positions), table[first_material + part.material, surface.OUTLINE_WIDTH])
        image = material.outline_texture
        if image is not None and part.uvs is not None and avatar.images[image] is not None:
            width = width * sample(avatar.images[image], part.uvs, material.texture_wrap, linear=False)[:, 1]
        out.append(width)
    return np.concatenate(out).astype(np.float32)
