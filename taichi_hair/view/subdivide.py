"""Subdivision: finer triangles where a texture or a normal changes faster than colours at the vertices can follow.

Edges are split, not triangles, so that neighbours agree. Every new vertex is a blend of at most three vertices of the
coarse mesh: the coarse mesh is skinned and simulated, the fine one follows it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..avatar.images import sample
from . import surface

# Measured on Seed-san: a finer tolerance or more rounds gave no visible gain, a coarser one a muddy iris.
TOLERANCE = 0.05  # largest error of an sRGB channel, 0 to 1
SHORTEST = 0.0015  # metres; edges below are left alone
ROUNDS = 5
BEND = np.cos(np.radians(20.0))  # cosine between end normals below which an edge is split for a smooth toon edge
BEND_SHORTEST = 0.006  # metres
BEND_ROUNDS = 2
LOW_POLY = 25000  # triangles; a mesh of more has a smooth toon edge as it is
STEPS = np.arange(1, 8) / 8.0
LARGE = 12.0  # texels along the longest edge, above which a triangle is searched at MANY points instead of a FEW


def _grid(n: int) -> np.ndarray:
    """(S, 3) barycentric points inside a triangle, n to a side."""
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    inside = i + j < n
    a, b = (i[inside] + 1 / 3) / n, (j[inside] + 1 / 3) / n
    return np.stack([a, b, 1.0 - a - b], axis=1)


FEW, MANY = _grid(2), _grid(10)


@dataclass(frozen=True, eq=False)
class FineMesh:
    """F vertices as blends of coarse ones, T triangles in the order of the coarse triangles that they came from."""

    corners: np.ndarray  # (F, 3) int32 coarse vertices
    weights: np.ndarray  # (F, 3), sums to 1
    triangles: np.ndarray  # (T, 3) int32
    parents: np.ndarray  # (T,) coarse triangle of each fine one


def subdivide(points, normals, uvs, triangles, materials, textures, rounds: int = ROUNDS) -> FineMesh:
    """Fine mesh of points (V, 3), unit normals (V, 3), uvs (V, 2), triangles (T, 3) with materials (T,).

    `textures` maps a material to (pixels (H, W, 4) uint8, wrap modes); materials without an entry have one colour.
    """
    count = len(points)
    corners = np.stack([np.arange(count)] * 3, axis=1)
    weights = np.tile([1.0, 0.0, 0.0], (count, 1))
    faces, parents = np.array(triangles, dtype=np.int64), np.arange(len(triangles))
    points, normals, uvs = (np.array(a, dtype=np.float64) for a in (points, normals, uvs))
    fresh = np.ones(len(faces), dtype=bool)  # faces that the round before has not looked at already
    for turn in range(rounds):
        sides = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]], axis=2)  # (T, 3, 2)
        keys, index = np.unique(sides[..., 0] * len(points) + sides[..., 1], return_inverse=True)
        index = index.reshape(-1, 3)  # (T, 3) edge of each side
        a, b = keys // len(points), keys % len(points)
        edges = np.stack([a, b], axis=1)
        length = np.linalg.norm(points[a] - points[b], axis=1)
        split = np.zeros(len(edges), dtype=bool)
        if turn < BEND_ROUNDS and len(triangles) < LOW_POLY:
            split = (np.sum(normals[a] * normals[b], axis=1) < BEND) & (length > BEND_SHORTEST)
        for material, (pixels, wrap) in textures.items():
            own = np.flatnonzero(fresh & (materials[parents] == material))
            if len(own):
                _mark(split, faces, index, edges, length, uvs, own, pixels, wrap)
        if not split.any():
            break
        at = np.full(len(edges), -1, dtype=np.int64)
        at[split] = len(points) + np.arange(split.sum())
        chosen = edges[split]
        points, uvs = (np.concatenate([x, x[chosen].mean(axis=1)]) for x in (points, uvs))
        middle = normals[chosen].mean(axis=1)
        middle /= np.maximum(np.linalg.norm(middle, axis=1, keepdims=True), 1e-12)
        normals = np.concatenate([normals, middle])
        new_corners, new_weights = _blend(corners[chosen], weights[chosen])
        corners, weights = np.concatenate([corners, new_corners]), np.concatenate([weights, new_weights])
        faces, parents, fresh = _cut(faces, parents, at[index])
    return FineMesh(corners.astype(np.int32), weights, faces.astype(np.int32), parents)


def _mark(split, faces, index, edges, length, uvs, own, pixels, wrap) -> None:
    """Marks edges of the faces `own` along which, or beside which, the texture is not a blend of its corners."""
    used = np.unique(index[own])
    texel = np.linalg.norm((uvs[edges[:, 0]] - uvs[edges[:, 1]]) * [pixels.shape[1], pixels.shape[0]], axis=1)
    free = (length > SHORTEST) & (texel > 1.0)
    used = used[free[used] & ~split[used]]
    if len(used):
        a, b = uvs[edges[used, 0]], uvs[edges[used, 1]]
        along = a[:, None] + STEPS[:, None] * (b - a)[:, None]  # (E, 7, 2)
        found = sample(pixels, along.reshape(-1, 2), wrap, linear=False).reshape(len(used), len(STEPS), 4)
        first, last = (sample(pixels, end, wrap, linear=False)[:, None] for end in (a, b))
        split[used] = np.abs(found - first - STEPS[:, None] * (last - first)).max(axis=(1, 2)) > TOLERANCE
    # A detail inside a triangle that touches none of its edges: split the longest edge and look again next round.
    quiet = own[~split[index[own]].any(axis=1)]
    longest = index[quiet][np.arange(len(quiet)), np.argmax(length[index[quiet]], axis=1)]
    quiet, longest = quiet[free[longest]], longest[free[longest]]
    large = texel[longest] > LARGE
    for chosen, share in ((quiet[~large], FEW), (quiet[large], MANY)):
        if len(chosen):
            corner = uvs[faces[chosen]]  # (Q, 3, 2)
            colors = sample(pixels, corner.reshape(-1, 2), wrap, linear=False).reshape(-1, 3, 4)
            inside = np.einsum("sk,qkc->qsc", share, corner).reshape(-1, 2)
            found = sample(pixels, inside, wrap, linear=False).reshape(len(chosen), len(share), 4)
            error = np.abs(found - np.einsum("sk,qkc->qsc", share, colors)).max(axis=(1, 2))
            edge = longest[large] if share is MANY else longest[~large]
            split[edge[error > TOLERANCE]] = True


def _blend(corners: np.ndarray, weights: np.ndarray):
    """Blends (E, 3) halfway between the two blends (E, 2, 3) at an edge's ends: both lie in one coarse triangle."""
    ids = corners.reshape(-1, 6)
    share = 0.5 * weights.reshape(-1, 6)
    order = np.argsort(ids, axis=1, kind="stable")
    ids, share = np.take_along_axis(ids, order, axis=1), np.take_along_axis(share, order, axis=1)
    for k in range(5, 0, -1):  # sums equal vertices into the first of them
        same = ids[:, k] == ids[:, k - 1]
        share[:, k - 1] += np.where(same, share[:, k], 0.0)
        share[:, k] = np.where(same, 0.0, share[:, k])
    best = np.argsort(-share, axis=1, kind="stable")[:, :3]
    ids, share = np.take_along_axis(ids, best, axis=1), np.take_along_axis(share, best, axis=1)
    return np.where(share > 0.0, ids, ids[:, :1]), share


def _cut(faces: np.ndarray, parents: np.ndarray, at: np.ndarray):
    """Faces (T, 3) cut at new vertices `at` (T, 3) on their sides ab, bc, ca (-1: whole); parents; which are new."""
    number = (at >= 0).sum(axis=1)
    out, origin = [faces[number == 0]], [parents[number == 0]]
    # Turn each face so that with one cut it is side ab, and with two cuts side ca stays whole.
    first = np.where(number == 1, np.argmax(at >= 0, axis=1), (np.argmax(at < 0, axis=1) + 1) % 3)
    turn = (first[:, None] + np.arange(3)) % 3
    (a, b, c), (m, n, o) = np.take_along_axis(faces, turn, 1).T, np.take_along_axis(at, turn, 1).T
    patterns = {
        1: ((a, m, c), (m, b, c)),
        2: ((m, b, n), (a, m, n), (a, n, c)),
        3: ((a, m, o), (m, b, n), (o, n, c), (m, n, o)),
    }
    for cuts, pieces in patterns.items():
        chosen = number == cuts
        for piece in pieces:
            out.append(np.stack(piece, axis=1)[chosen])
            origin.append(parents[chosen])
    faces, parents = np.concatenate(out), np.concatenate(origin)
    order = np.argsort(parents, kind="stable")
    return faces[order], parents[order], (order >= (number == 0).sum())


def textures_of(avatar, first_material: int) -> dict:
    """Textures by row of the surface table, for `subdivide`: those of the base colour."""
    found = {}
    for m, material in enumerate(avatar.materials):
        if material.texture is not None and avatar.images[material.texture] is not None:
            found[first_material + m] = (avatar.images[material.texture], material.texture_wrap)
    return found


def baked(avatar, material, uvs: np.ndarray, colors: np.ndarray, row: np.ndarray):
    """Colours at vertices: albedo (F, 4), shade (F, 3), glow (F, 3) in linear light and the toon shift (F,)."""
    albedo = row[surface.BASE : surface.BASE + 4] * colors
    shade = row[surface.SHADE : surface.SHADE + 3] * colors[:, :3]
    glow = np.tile(row[surface.EMISSIVE : surface.EMISSIVE + 3], (len(uvs), 1))
    shift = np.full(len(uvs), row[surface.SHIFT], dtype=np.float64)
    wrap = material.texture_wrap

    def image(index):
        return None if index is None else avatar.images[index]

    base, dark, light, moved = (
        image(i)
        for i in (material.texture, material.shade_texture, material.emissive_texture, material.shading_shift_texture)
    )
    if base is not None:
        albedo = albedo * sample(base, uvs, wrap)
    if material.toon and dark is not None:
        shade = shade * sample(dark, uvs, wrap)[:, :3]
    elif not material.toon and base is not None:
        shade = shade * sample(base, uvs, wrap)[:, :3]
    if light is not None:
        glow = glow * sample(light, uvs, wrap)[:, :3]
    if material.toon and moved is not None:
        shift = shift + row[surface.SHIFT_SCALE] * sample(moved, uvs, wrap, linear=False)[:, 0]
    return albedo, shade, glow, shift
