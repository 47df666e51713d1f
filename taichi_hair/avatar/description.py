"""Avatar and its pieces as plain data: skins, materials, mesh parts, clips, and what the file says about itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..hair import HairRig
from .skeleton import Skeleton

if TYPE_CHECKING:
    from .constraints import Constraint
    from .document import Document
    from .report import Report


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
    shading_shift_texture: int | None = None  # red channel, times the scale, added to the shift
    shading_shift_scale: float = 1.0
    shading_toony: float = 0.9
    outline_width: float = 0.0  # metres (worldCoordinates) or fraction of the screen's height (screenCoordinates)
    outline_mode: str = "none"  # or "worldCoordinates", "screenCoordinates"
    outline_color: np.ndarray = field(default_factory=lambda: np.zeros(3))
    outline_texture: int | None = None  # green channel, times the width
    outline_lighting_mix: float = 1.0
    rim_color: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rim_power: float = 5.0
    rim_lift: float = 0.0
    rim_lighting_mix: float = 1.0
    unlit: bool = False  # KHR_materials_unlit
    texture_wrap: tuple[str, str] = ("repeat", "repeat")  # u and v: "repeat", "clamp" or "mirror"
    texture_channel: int = 0  # TEXCOORD set that MeshPart.uvs holds
    texture_transform: np.ndarray | None = None  # (2, 3) KHR_texture_transform, already applied to MeshPart.uvs


@dataclass(frozen=True, eq=False)
class MeshPart:
    """One primitive: geometry as stored (skin it before use, the stored vertices need not be the rest pose).

    Default morph weights are applied. Arrays are float64 and read-only.
    """

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
    uvs: np.ndarray | None = None  # (V, 2) of the base colour texture, v down as in glTF
    colors: np.ndarray | None = None  # (V, 4) linear

    @cached_property
    def edges(self) -> np.ndarray:
        """(E, 2) distinct edges of the triangles, smaller vertex first; degenerate edges are left out."""
        pairs = np.concatenate([self.triangles[:, [0, 1]], self.triangles[:, [1, 2]], self.triangles[:, [2, 0]]])
        pairs = np.sort(pairs, axis=1)
        return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


@dataclass(frozen=True, eq=False)
class ClipInfo:
    """What the file says of one of its own animations; `motion` reads the keys."""

    index: int
    name: str
    seconds: float
    channels: int
    nodes: tuple[int, ...]  # nodes it moves, in order of first use
    morphs: bool = False  # moves morph weights


@dataclass(frozen=True, eq=False)
class Avatar:
    """A character as its file has it. Metres, y up; faces +z (a VRM 0.x avatar was turned: see `turned`)."""

    name: str
    path: Path | None
    skeleton: Skeleton
    skins: tuple[Skin, ...]
    parts: tuple[MeshPart, ...]
    materials: tuple[Material, ...]
    images: Sequence[np.ndarray | None]  # (H, W, 4) uint8, sRGB; None where the file names an image that is not there
    humanoid: dict[str, int]  # VRM 1.0 role ("head", "leftUpperArm", ...) to node
    hair: HairRig
    constraints: tuple[Constraint, ...] = ()
    warnings: tuple[str, ...] = ()  # what was repaired or left out, each naming the thing
    notes: tuple[str, ...] = ()  # what was decided in reading, nothing to worry about
    vrm: str | None = None  # "1.0", "0.x", or None for plain glTF
    meta: dict = field(default_factory=dict)  # the VRM extension's meta object as it stands in the file
    turned: bool = False  # roots are turned by half a revolution about y, because the file faces -z (VRM 0.x)
    first_person: dict[int, str] = field(default_factory=dict)  # node that holds a mesh -> "auto", "both", ...
    clips: tuple[ClipInfo, ...] = ()
    document: Document | None = field(default=None, repr=False)  # the file itself: what saving keeps

    @property
    def file(self) -> str:
        """Name of the file for messages."""
        return self.document.file if self.document is not None else str(self.path or self.name)

    @cached_property
    def report(self) -> Report:
        """What was read, repaired and left out; `to_json()` for programs, `render(console)` for people."""
        from .report import make_report

        return make_report(self)

    @cached_property
    def hidden(self) -> dict[int, str]:
        """Parts that a camera beside the avatar does not see, and why: VRM's firstPersonOnly, KHR_node_visibility."""
        skeleton, found = self.skeleton, {}
        items = self.document.items("nodes") if self.document is not None else []
        switched = (item.extension("KHR_node_visibility") if item.has("extensions") else None for item in items)
        off = [n for n, item in enumerate(switched) if item is not None and not item.flag("visible", True)]
        below = skeleton.below(off)
        for index, part in enumerate(self.parts):
            if below[part.node]:
                found[index] = "its node is switched off"
            elif self.first_person.get(part.node) == "firstPersonOnly":
                found[index] = "firstPersonOnly"
        return found

    def vertex_colors(self, part: MeshPart | int) -> np.ndarray:
        """(V, 4) linear RGBA of a part: base colour times vertex colour times the texture sampled at the vertices."""
        from .images import sample

        part = self.parts[part] if isinstance(part, (int, np.integer)) else part
        material = self.materials[part.material]
        colors = np.tile(material.base_color, (len(part.positions), 1))
        if part.colors is not None:
            colors = colors * part.colors
        image = None if material.texture is None or part.uvs is None else self.images[material.texture]
        return colors if image is None else colors * sample(image, part.uvs, material.texture_wrap)
