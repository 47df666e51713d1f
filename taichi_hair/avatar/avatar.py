"""Avatar: what one file says about a character, and load(), which reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..hair import HairRig
from .skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class Skin:
    """Joints that move vertices. A mesh part without a skin in the file gets one with its node alone."""

    joints: np.ndarray  # (K,) nodes
    inverse_bind: np.ndarray  # (K, 4, 4)


@dataclass(frozen=True, eq=False)
class Material:
    """Colours of a surface; MToon's where the file has them. Colours are linear, as stored in glTF."""

    name: str
    base_color: np.ndarray  # (4,)
    texture: int | None = None  # index into Avatar.images
    emissive: np.ndarray = field(default_factory=lambda: np.zeros(3))
    emissive_texture: int | None = None
    alpha_mode: str = "OPAQUE"  # or "MASK", "BLEND"
    alpha_cutoff: float = 0.5
    double_sided: bool = False
    toon: bool = False  # VRMC_materials_mtoon (or its VRM 0.x form) is present
    shade_color: np.ndarray = field(default_factory=lambda: np.ones(3))
    shade_texture: int | None = None
    shading_shift: float = 0.0
    shading_shift_texture: int | None = None
    shading_shift_scale: float = 1.0
    shading_toony: float = 0.9
    outline_width: float = 0.0  # metres (worldCoordinates) or fraction of the screen's height (screenCoordinates)
    outline_mode: str = "none"  # or "worldCoordinates", "screenCoordinates"
    outline_color: np.ndarray = field(default_factory=lambda: np.zeros(3))
    outline_texture: int | None = None
    outline_lighting_mix: float = 1.0
    rim_color: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rim_power: float = 5.0
    rim_lift: float = 0.0


@dataclass(frozen=True, eq=False)
class MeshPart:
    """One primitive: geometry as stored (skin it before use, the stored vertices need not be the rest pose)."""

    name: str  # mesh name
    node: int  # node that holds the mesh
    mesh: int  # index of the mesh in the file
    primitive: int  # index of the primitive in the mesh
    skin: int  # index into Avatar.skins
    material: int  # index into Avatar.materials
    positions: np.ndarray  # (V, 3)
    normals: np.ndarray  # (V, 3) unit
    triangles: np.ndarray  # (T, 3) int32
    joints: np.ndarray  # (V, K) int32, index into the skin's joints
    weights: np.ndarray  # (V, K) sums to 1
    uvs: np.ndarray | None = None  # (V, 2)
    colors: np.ndarray | None = None  # (V, 4) linear


@dataclass(frozen=True, eq=False)
class Avatar:
    """A character as its file has it. Metres, y up; faces +z."""

    name: str
    path: Path | None
    skeleton: Skeleton
    skins: tuple[Skin, ...]
    parts: tuple[MeshPart, ...]
    materials: tuple[Material, ...]
    images: tuple[np.ndarray | None, ...]  # (H, W, 4) uint8, sRGB; None where the file names an image that is not there
    humanoid: dict[str, int]  # VRM 1.0 role ("head", "leftUpperArm", ...) to node
    hair: HairRig
    constraints: tuple = ()
    warnings: tuple[str, ...] = ()  # what was repaired or left out, each naming the thing
