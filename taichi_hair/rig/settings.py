"""Spring settings of a new chain: those of the chain that moved the mesh before, else by its length and place."""

from __future__ import annotations

import numpy as np

from ..avatar.description import Avatar
from ..hair import Chain

STIFFNESS, DRAG = 2.0, 0.6  # chosen: VRM values between those of stiff and of loose artist rigs
RADIUS = 0.35  # chosen: contact radius over the half width of the lock; the whole would hold strands off the body
THICKEST, THINNEST = 0.03, 0.004  # metres


def chain_settings(avatar: Avatar, strand, before: list[Chain]) -> dict:
    """Arguments of Chain, per joint; `before` are the chains that the new ones replace.

    The nearest one's settings are read at the same share of the length. A chain without a model takes the colliders of
    the hair that the file rigs itself.
    """
    count = len(strand.places) - 1
    place = (np.arange(count) + 0.5) / count
    model = _nearest(avatar, strand, before)
    if model is not None:
        old = (np.arange(len(model)) + 0.5) / len(model)
        keys = ("stiffness", "drag", "gravity_power", "hit_radius")
        read = {key: np.interp(place, old, getattr(model, key)) for key in keys}
        read["gravity_dir"] = np.stack([np.interp(place, old, model.gravity_dir[:, k]) for k in range(3)], axis=1)
        scale = np.cbrt(np.abs(np.linalg.det(avatar.skeleton.rest_world[model.joints[0], :3, :3])))
        read["hit_radius"] = read["hit_radius"] * scale
        return {**read, "colliders": model.colliders, "center": model.center}
    radius = float(np.clip(RADIUS * 0.5 * strand.lock.width, THINNEST, THICKEST))
    head = avatar.humanoid.get("head")
    on_head = avatar.skeleton.below([] if head is None else head)
    carried = (c for c in avatar.hair.chains if c.attach >= 0 and on_head[c.attach])
    used = sorted({b for chain in carried for b in chain.colliders})
    return {
        "stiffness": np.full(count, STIFFNESS),
        "drag": np.full(count, DRAG),
        "gravity_power": np.zeros(count),
        "gravity_dir": np.tile([0.0, -1.0, 0.0], (count, 1)),
        "hit_radius": np.full(count, radius),
        "colliders": tuple(used),
        "center": -1,
    }


def _nearest(avatar: Avatar, strand, before: list[Chain]) -> Chain | None:
    best, found = np.inf, None
    for chain in before:
        world = avatar.skeleton.rest_world[chain.joints]
        ends = (world[:, :3, :3] @ chain.tails[:, :, None])[..., 0] + world[:, :3, 3]
        places = np.concatenate([world[:1, :3, 3], ends])
        share = np.linspace(0.0, 1.0, 9)
        away = float(np.linalg.norm(_read(strand.places, share) - _read(places, share), axis=0).mean())
        if away < best and away < 0.5 * strand.lock.length:
            best, found = away, chain
    return found


def _read(places: np.ndarray, share: np.ndarray) -> np.ndarray:
    """(3, K) points at shares (K,) of a row of places."""
    return np.stack([np.interp(share, np.linspace(0, 1, len(places)), places[:, k]) for k in range(3)])
