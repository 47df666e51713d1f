"""Weights as colours: a fitted hair's joints and what they move, painted on its mesh, for pictures of a fit."""

from __future__ import annotations

import colorsys
from dataclasses import replace

import numpy as np

from ..avatar.description import Avatar, Material
from ..hair import HairRig
from ..rig.fitted import FittedRig
from .camera import frame
from .overlay import overlay, tube_radius
from .picture import sheet
from .raster import Raster
from .scene import Scene

HEAD = np.array([0.30, 0.30, 0.32])  # linear: what the head alone moves
VIEWS = ("front", "side", "back")


def joint_colors(rig: HairRig, chains) -> dict[int, np.ndarray]:
    """Node -> linear colour (3,): a hue for each chain, lighter and darker from joint to joint."""
    found = {}
    for k, c in enumerate(chains):
        hue = (0.02 + 0.618034 * k) % 1.0  # golden ratio: neighbouring numbers get far hues
        for j, node in enumerate(rig.chains[c].joints.tolist()):
            value, saturation = (0.95, 0.55) if j % 2 else (0.75, 0.9)
            found[node] = np.array(colorsys.hsv_to_rgb(hue, saturation, value)) ** 2.2
    return found


def painted(rig: FittedRig) -> Avatar:
    """The fitted avatar with its hair painted by weights, only its new chains left to draw."""
    avatar, surface = rig.avatar, rig.table["surface"]
    colors = joint_colors(rig, rig.fitted)
    table = np.tile(HEAD, (len(avatar.skeleton), 1))
    for node, color in colors.items():
        table[node] = color
    material = Material("weights", np.ones(4), double_sided=True)
    parts = list(avatar.parts)
    for index in surface.parts:
        part = parts[index]
        nodes = np.asarray(avatar.skins[part.skin].joints)[part.joints]
        paint = np.einsum("vk,vkc->vc", part.weights, table[nodes])
        rgba = np.concatenate([paint, np.ones((len(paint), 1))], axis=1)
        parts[index] = replace(part, colors=rgba, material=len(avatar.materials), uvs=None)
    chains = HairRig(tuple(replace(rig.chains[c], parent=None) for c in rig.fitted))
    return replace(avatar, parts=tuple(parts), materials=(*avatar.materials, material), hair=chains)


def fit_picture(rig: FittedRig, title: str = "", size=(300, 360), views=VIEWS, body=None) -> np.ndarray:
    """(H, W, 3) uint8: the fitted hair from several sides, weights as colours, joints and bones drawn over it.

    body: another file's figure that is drawn with it, in the same place.
    """
    avatar = painted(rig)
    scene = Scene((avatar, body) if body is not None else avatar)
    raster = Raster(scene)
    width, height = size
    points = np.concatenate([rig.table["surface"].points, *[lock.guide for lock in rig.locks]])
    cells = []
    for view in views:
        camera = frame(points, view, fov=24.0, aspect=width / height)
        over = overlay(scene, True, False, tube_radius(camera, height)) if rig.fitted else None
        cells.append(raster.picture(camera, width, height, 2, overlay=over))
    return sheet(cells, columns=len(views), captions=list(views), title=title)
