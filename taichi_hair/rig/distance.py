"""Signed distance grids of the visible trunk: the fine level of contact, baked once and kept on disk."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..avatar.avatar import Avatar
from ..hair import Collider, HairRig, Surface
from .body import SHOULDERS, TORSO, UPPER_ARMS, Surfaces, surfaces
from .coverage import FEWEST, build_of

PUSH_OUT = 0.02  # metres of an adult: hair nearer to the cloth than this is pushed out (the value of a shipped system)
SPEED_LOSS = 0.3  # share of the speed that such a contact takes (the same source), here within 1/60 s
ADULT = 0.55  # metres from hips to head, the body size that PUSH_OUT speaks of
LARGEST = 128  # corners of a grid along its longest edge
CELLS = 64
BAND = 0.08  # of the body's size: how far around the cloth the grid reaches
NEIGHBOURS = 6  # nearest surface samples whose triangles are looked at
VERSION = b"1"


def surface_colliders(
    avatar: Avatar,
    rig: HairRig | None = None,
    *,
    chains=None,
    resolution: int = CELLS,
    push_out: float = PUSH_OUT,
    speed_loss: float = SPEED_LOSS,
    roles=("upperChest", "chest"),
    hidden=(),
) -> HairRig:
    """A rig in which these chains (the ones that `fit_colliders` chose by default) also meet what is visible itself.

    One grid for each of the bones `roles` that the avatar has and that carries visible body or cloth; the grid rides on
    the bone. push_out is in metres of an adult and goes with the body's size. Nothing is added where a role or its
    geometry is missing. Grids are kept in the folder TAICHI_HAIR_CACHE, by default ~/.cache/taichi-hair.
    """
    rig = avatar.hair if rig is None else rig
    if not 8 <= resolution <= LARGEST:
        raise ValueError(f"surface_colliders: resolution is {resolution}, wanted 8 to {LARGEST}")
    build = build_of(avatar)
    chosen = (rig.fit.whole if rig.fit else range(len(rig.chains))) if chains is None else chains
    if build is None:
        return rig
    skins = surfaces(avatar, rig, hidden)
    new = []
    for role in roles:
        if role in avatar.humanoid:
            surface = bake(avatar, skins, role, resolution, BAND * build.size)
            if surface is not None:
                offset, grid = surface
                scale = float(np.cbrt(abs(np.linalg.det(avatar.skeleton.rest_world[avatar.humanoid[role], :3, :3]))))
                margin = push_out * build.size / ADULT / scale
                new.append(
                    Collider(
                        f"{role}, surface",
                        avatar.humanoid[role],
                        "surface",
                        offset,
                        radius=margin,
                        surface=grid,
                        speed_loss=speed_loss,
                    )
                )
    more = tuple(range(len(rig.colliders), len(rig.colliders) + len(new)))
    grown = [replace(c, colliders=c.colliders + more) if k in set(chosen) else c for k, c in enumerate(rig.chains)]
    return replace(rig, chains=tuple(grown), colliders=rig.colliders + tuple(new))


def bake(
    avatar: Avatar, skins: Surfaces, role: str, resolution: int = CELLS, band: float = 0.04
) -> tuple[np.ndarray, Surface] | None:
    """First corner (3,) and grid, in the bone's frame, of the trunk about the vertices that a bone owns; None where it
    owns nothing visible."""
    own = skins.of((role,))
    if own.sum() < FEWEST:
        return None
    world = avatar.skeleton.rest_world[avatar.humanoid[role]]
    back = np.linalg.inv(world)
    points = skins.positions() @ back[:3, :3].T + back[:3, 3]
    trunk = skins.of(TORSO + SHOULDERS + UPPER_ARMS)
    triangles = skins.triangles[trunk[skins.triangles].all(axis=1)]
    scale = float(np.cbrt(abs(np.linalg.det(world[:3, :3]))))
    low, high = points[own].min(axis=0) - band / scale, points[own].max(axis=0) + band / scale
    cell = float((high - low).max() / (resolution - 1))
    size = np.maximum(np.ceil((high - low) / cell).astype(int) + 1, 2)
    corners = points[triangles]
    near = ((corners.max(axis=1) > low - band / scale) & (corners.min(axis=1) < high + band / scale)).all(axis=1)
    corners = np.ascontiguousarray(corners[near])
    if not len(corners):
        return None
    key = hashlib.sha256(VERSION + corners.tobytes() + low.tobytes() + size.tobytes() + np.float64(cell).tobytes())
    path = _folder() / f"{key.hexdigest()[:32]}.npy"
    if path.is_file():
        found = np.load(path)
        if found.shape == tuple(size) and found.dtype == np.float32:
            return low, Surface(found, cell)
    axes = [low[i] + cell * np.arange(size[i]) for i in range(3)]
    where = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    found = signed_distance(where, corners, 0.5 * cell).reshape(size).astype(np.float32)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.npy")
        np.save(part, found)
        part.replace(path)
    except OSError:
        pass  # a folder that cannot be written costs time at the next start, nothing else
    return low, Surface(found, cell)


def signed_distance(points: np.ndarray, corners: np.ndarray, spacing: float) -> np.ndarray:
    """(n,) distance from points (n, 3) to triangles (T, 3, 3), negative behind them.

    The triangles of the nearest surface samples, one every `spacing`, are measured exactly. Where several are equally
    near, at an edge or a corner, the one that faces the point most decides the side.
    """
    from scipy.spatial import cKDTree

    samples, of = _samples(corners, spacing)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1)
    normal = normal / np.maximum(length, 1e-30)[:, None]
    tree = cKDTree(samples)
    out = np.empty(len(points))
    for part in np.array_split(np.arange(len(points)), max(1, len(points) // 50_000)):
        _, index = tree.query(points[part], k=min(NEIGHBOURS, len(samples)), workers=-1)
        index = index.reshape(len(part), -1)
        triangle = of[index]
        nearest = _nearest_on(points[part][:, None], corners[triangle])
        away = points[part][:, None] - nearest
        distance = np.linalg.norm(away, axis=-1)
        least = distance.min(axis=1)
        facing = np.sum(away * normal[triangle], axis=-1) / np.maximum(distance, 1e-12)
        tied = distance <= least[:, None] * (1.0 + 1e-4) + 1e-9
        pick = np.where(tied, np.abs(facing), -1.0).argmax(axis=1)
        side = facing[np.arange(len(part)), pick]
        out[part] = np.where(side < 0.0, -least, least)
    return out


def _samples(corners: np.ndarray, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """(S, 3) points on the triangles, no farther than about `spacing` from each other, and (S,) their triangles."""
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(axis=1)
    steps = np.clip(np.ceil(longest / spacing).astype(int), 1, 64)
    points, of = [], []
    for n in np.unique(steps):
        which = np.flatnonzero(steps == n)
        u, v = np.meshgrid((np.arange(n) + 1 / 3) / n, (np.arange(n) + 1 / 3) / n, indexing="ij")
        inside = u + v < 1.0
        u, v = u[inside], v[inside]
        a, b, c = (corners[which, i][:, None] for i in range(3))
        points.append((a + u[:, None] * (b - a) + v[:, None] * (c - a)).reshape(-1, 3))
        of.append(np.repeat(which, len(u)))
    return np.concatenate(points), np.concatenate(of)


def _nearest_on(p: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """(..., 3) the point of triangles (..., 3, 3) nearest to p (..., 3)."""
    a, b, c = (corners[..., i, :] for i in range(3))
    ab, ac, ap = b - a, c - a, p - a
    d00, d01, d11 = _dot(ab, ab), _dot(ab, ac), _dot(ac, ac)
    d20, d21 = _dot(ap, ab), _dot(ap, ac)
    det = np.maximum(d00 * d11 - d01 * d01, 1e-30)
    v, w = (d11 * d20 - d01 * d21) / det, (d00 * d21 - d01 * d20) / det
    inside = (v >= 0.0) & (w >= 0.0) & (v + w <= 1.0)
    best = a + v[..., None] * ab + w[..., None] * ac
    distance = np.where(inside, np.linalg.norm(p - best, axis=-1), np.inf)
    for start, end in ((a, b), (b, c), (c, a)):
        e = end - start
        t = np.clip(_dot(p - start, e) / np.maximum(_dot(e, e), 1e-30), 0.0, 1.0)
        q = start + t[..., None] * e
        d = np.linalg.norm(p - q, axis=-1)
        nearer = d < distance
        best, distance = np.where(nearer[..., None], q, best), np.minimum(distance, d)
    return best


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.sum(a * b, axis=-1)


def _folder() -> Path:
    given = os.environ.get("TAICHI_HAIR_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "taichi-hair"
