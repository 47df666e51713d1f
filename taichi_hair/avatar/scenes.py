"""Scenes: which nodes a file shows, and whether it asks for extensions that this reader does not have."""

from __future__ import annotations

from .document import Document
from .skeleton import Skeleton

UNDERSTOOD = {
    "KHR_draco_mesh_compression",
    "KHR_materials_emissive_strength",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_unlit",
    "KHR_mesh_quantization",
    "KHR_node_visibility",
    "KHR_texture_transform",
    "EXT_meshopt_compression",
    "KHR_meshopt_compression",
    "EXT_texture_webp",
    "VRM",
    "VRMC_vrm",
    "VRMC_vrm_animation",
    "VRMC_springBone",
    "VRMC_springBone_extended_collider",
    "VRMC_springBone_limit",
    "VRMC_node_constraint",
    "VRMC_materials_mtoon",
}
# These change how a surface is lit or which picture it shows, never where hair is: left out with a warning.
ORNAMENTS = (
    "KHR_materials_",
    "VRMC_materials_",
    "KHR_lights_",
    "KHR_texture_basisu",
    "EXT_texture_",
    "KHR_xmp",
    "EXT_lights_",
    "KHR_animation_pointer",
)


def check_extensions(document: Document) -> None:
    """Refuse a file that requires an extension without which its geometry cannot be read."""
    required = document.json.get("extensionsRequired")
    if required is None:
        return
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise document.error("extensionsRequired", repr(required)[:60], "a list of names")
    for name in required:
        if name in UNDERSTOOD:
            continue
        if name.startswith(ORNAMENTS):
            document.log.warn("extensionsRequired", f"{name[:60]} is not read; surfaces may look different")
            continue
        raise document.error(
            "extensionsRequired", f"the extension {name[:60]!r}, which is not read", "a file exported without it"
        )


def shown_nodes(document: Document, skeleton: Skeleton) -> list[int]:
    """Nodes of the default scene, of all scenes where none is the default, of the whole file where it has no scene."""
    scenes = document.items("scenes")
    default = document.root.integer("scene", None, below=len(scenes)) if scenes else None
    if not scenes:
        return list(range(len(skeleton)))
    chosen = scenes if default is None else [scenes[default]]
    roots = {node for scene in chosen for node in scene.indices("nodes", len(skeleton))}
    shown = [False] * len(skeleton)
    for node in skeleton.order.tolist():
        parent = int(skeleton.parents[node])
        shown[node] = node in roots or (parent >= 0 and shown[parent])
    items = document.items("nodes")
    for node, item in enumerate(items):
        if not shown[node] and item.has("mesh"):
            document.log.warn(item.where, f"its mesh is in no shown scene ({item.text('name')!r}); left out")
    return [node for node in range(len(items)) if shown[node]]
