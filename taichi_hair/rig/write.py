"""A fitted rig written into its avatar's file: new nodes, skin, weights, springs and colliders, all else kept."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..avatar.description import Avatar, MeshPart, Skin
from ..avatar.document import Document, parse_document
from ..avatar.errors import AssetError
from ..avatar.gltf import glb_bytes, write_whole
from ..avatar.saving import to_bytes, with_members
from ..avatar.spring_members import spring_members
from .fitted import FittedRig
from .secondary_members import secondary_members

CHANGED = ("nodes", "meshes", "skins", "materials", "scenes", "accessors", "bufferViews")
FLOAT, BYTE, SHORT, WORD = 5126, 5121, 5123, 5125
VERTICES, INDICES = 34962, 34963  # bufferView.target of vertex attributes and of triangles


def write_rig(rig: FittedRig, path) -> Path:
    """Write the fitted avatar to `path` (.vrm or .glb), whole or not at all; returns the path."""
    path = Path(path)
    if path.suffix.lower() not in (".vrm", ".glb"):
        raise AssetError(str(path), "file name", f"the ending {path.suffix!r}", ".vrm or .glb")
    write_whole(path, rig_bytes(rig))
    return path


def rig_bytes(rig: FittedRig) -> bytes:
    """The GLB of a fitted avatar: the file it was fitted to with what the fit added, every other byte of its JSON and
    of its binary chunk as it was. A VRM 0.x file stays one: its chains become bone groups."""
    base, avatar = rig.base, rig.avatar
    if base.document is None:
        raise AssetError(base.name, "avatar", "an avatar that was not read from a file", "one that was")
    document = parse_document(to_bytes(replace(base, hair=base.document.cache.get("hair", base.hair))), base.file)
    content = copy.deepcopy(document.json)
    store = _Store(content, bytes(document.binary or b""))
    _nodes(content, base, avatar)
    _meshes(content, store, base, avatar)
    _added(content, store, base, avatar)
    old = base.vrm == "0.x"
    springs = secondary_members(content, rig) if old else spring_members(content, rig, store.view)
    changed = {key: content[key] for key in CHANGED if content.get(key) != document.json.get(key)} | springs
    changed["buffers"] = store.buffers()
    return glb_bytes(with_members(document.json_text, changed), store.data)


class _Store:
    """Appends arrays to the binary chunk, each with a buffer view and an accessor of its own."""

    def __init__(self, content: dict, data: bytes):
        self.content, self.data = content, bytearray(data)
        content.setdefault("bufferViews", [])
        content.setdefault("accessors", [])

    def view(self, data: bytes, target: int | None = None) -> int:
        """Number of a new buffer view of these bytes."""
        self.data.extend(b"\0" * (-len(self.data) % 4))
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data)}
        self.content["bufferViews"].append(view if target is None else {**view, "target": target})
        self.data.extend(data)
        return len(self.content["bufferViews"]) - 1

    def add(self, array: np.ndarray, kind: str, component: int, target: int | None, **more) -> int:
        view = self.view(np.ascontiguousarray(array).tobytes(), target)
        accessor = {"bufferView": view, "componentType": component}
        self.content["accessors"].append({**accessor, "count": len(array), "type": kind, **more})
        return len(self.content["accessors"]) - 1

    def buffers(self) -> list:
        self.data.extend(b"\0" * (-len(self.data) % 4))
        old = list(self.content.get("buffers") or [{}])
        return [{**old[0], "byteLength": len(self.data)}, *old[1:]]


def _nodes(content: dict, base: Avatar, avatar: Avatar) -> None:
    """Append the fitted skeleton's new nodes; parents list them after the children they had."""
    skeleton, nodes = avatar.skeleton, content.setdefault("nodes", [])
    first = len(base.skeleton)
    if len(nodes) != first:
        found = f"{len(nodes)} in the file, {first} in the avatar"
        raise AssetError(base.file, "nodes", found, "the file that the avatar was read from")
    for node in range(first, len(skeleton)):
        entry: dict = {"name": skeleton.names[node], "translation": [float(v) for v in skeleton.translations[node]]}
        nodes.append(entry)
        parent = int(skeleton.parents[node])
        if parent >= 0:
            nodes[parent]["children"] = [*nodes[parent].get("children", []), node]
        else:
            scene = content["scenes"][content.get("scene", 0)]
            scene["nodes"] = [*scene.get("nodes", []), node]


def _meshes(content: dict, store: _Store, base: Avatar, avatar: Avatar) -> None:
    """New skins for the mesh nodes that were fitted, weights for their primitives, places where they were baked."""
    by_mesh: dict[int, list[int]] = {}
    for index, (old, new) in enumerate(zip(base.parts, avatar.parts, strict=False)):
        if new is not old:
            by_mesh.setdefault(new.mesh, []).append(index)
    for mesh, parts in by_mesh.items():
        holders = {avatar.parts[p].node for p in parts}
        users = [n for n, node in enumerate(content["nodes"]) if node.get("mesh") == mesh]
        if len(users) > len(holders) or len(holders) > 1:
            found = f"mesh {mesh}, which {len(users)} nodes show"
            raise AssetError(base.file, f"meshes[{mesh}]", found, "a mesh of one node")
        holder = holders.pop()
        first = avatar.parts[parts[0]]
        content["nodes"][holder]["skin"] = _skin(content, store, avatar.skins[first.skin], first.name)
        for index in parts:
            _primitive(content, store, base, base.parts[index], avatar.parts[index])


def _skin(content: dict, store: _Store, skin: Skin, name: str) -> int:
    """Number of a new skin in the file."""
    binds = np.swapaxes(np.asarray(skin.inverse_bind, dtype=np.float64), 1, 2)
    binds[:, :3, 3], binds[:, 3, 3] = 0.0, 1.0
    matrices = store.add(binds.reshape(-1, 16).astype(np.float32), "MAT4", FLOAT, None)
    joints = [int(j) for j in skin.joints]
    content.setdefault("skins", []).append(
        {"name": f"{name}_fitted", "joints": joints, "inverseBindMatrices": matrices}
    )
    return len(content["skins"]) - 1


def _added(content: dict, store: _Store, base: Avatar, avatar: Avatar) -> None:
    """Meshes that came from another character, each with a node, a skin and a plain material of its own."""
    for part in avatar.parts[len(base.parts) :]:
        material = avatar.materials[part.material]
        plain = {"baseColorFactor": [float(v) for v in material.base_color], "metallicFactor": 0.0}
        entry = {"name": material.name, "pbrMetallicRoughness": plain, "doubleSided": bool(material.double_sided)}
        content.setdefault("materials", []).append(entry)
        places = np.asarray(part.positions, dtype=np.float32)
        bounds = {"min": [float(v) for v in places.min(axis=0)], "max": [float(v) for v in places.max(axis=0)]}
        normals = np.asarray(part.normals, dtype=np.float32)
        primitive = {
            "attributes": {
                "POSITION": store.add(places, "VEC3", FLOAT, VERTICES, **bounds),
                "NORMAL": store.add(normals, "VEC3", FLOAT, VERTICES),
                **_influences(store, part),
            },
            "indices": store.add(part.triangles.astype(np.uint32).reshape(-1), "SCALAR", WORD, INDICES),
            "material": len(content["materials"]) - 1,
        }
        content.setdefault("meshes", []).append({"name": part.name, "primitives": [primitive]})
        skin = _skin(content, store, avatar.skins[part.skin], part.name)
        content["nodes"].append({"name": f"{part.name}_mesh", "mesh": len(content["meshes"]) - 1, "skin": skin})
        scene = content["scenes"][content.get("scene", 0)]
        scene["nodes"] = [*scene.get("nodes", []), len(content["nodes"]) - 1]


def _influences(store: _Store, part: MeshPart) -> dict:
    """JOINTS_n and WEIGHTS_n of a part, as many sets as carry weight."""
    width = -(-part.joints.shape[1] // 4) * 4
    pad = ((0, 0), (0, width - part.joints.shape[1]))
    joints, weights = np.pad(part.joints, pad), np.pad(part.weights, pad).astype(np.float32)
    weights /= weights.sum(axis=1, keepdims=True)
    joints = np.where(weights > 0.0, joints, 0)
    kind, component = (np.uint8, BYTE) if joints.max(initial=0) < 256 else (np.uint16, SHORT)
    attributes = {}
    for k in range(width // 4):
        block = slice(4 * k, 4 * k + 4)
        if k and not weights[:, block].any():
            continue
        attributes[f"JOINTS_{k}"] = store.add(joints[:, block].astype(kind), "VEC4", component, VERTICES)
        attributes[f"WEIGHTS_{k}"] = store.add(weights[:, block], "VEC4", FLOAT, VERTICES)
    return attributes


def _primitive(content: dict, store: _Store, base: Avatar, old: MeshPart, new: MeshPart) -> None:
    primitive = content["meshes"][new.mesh]["primitives"][new.primitive]
    where = f"meshes[{new.mesh}].primitives[{new.primitive}]"
    if "KHR_draco_mesh_compression" in primitive.get("extensions", {}):
        raise AssetError(base.file, where, "Draco-compressed geometry", "plain geometry, which new weights can join")
    attributes = primitive["attributes"] = dict(primitive["attributes"])
    rigid = "JOINTS_0" not in attributes
    if new.joints is not old.joints or rigid:
        for name in [k for k in attributes if k.startswith(("JOINTS_", "WEIGHTS_"))]:
            del attributes[name]
        attributes.update(_influences(store, new))
    if new.positions is not old.positions:
        if primitive.get("targets"):
            found = "morph targets on a mesh whose bind pose is not its rest pose"
            raise AssetError(base.file, where, found, "a mesh without morph targets, or bound in its rest pose")
        places = np.asarray(new.positions, dtype=np.float32)
        bounds = {"min": [float(v) for v in places.min(axis=0)], "max": [float(v) for v in places.max(axis=0)]}
        attributes["POSITION"] = store.add(places, "VEC3", FLOAT, VERTICES, **bounds)
        if "NORMAL" in attributes:
            attributes["NORMAL"] = store.add(np.asarray(new.normals, dtype=np.float32), "VEC3", FLOAT, VERTICES)


def fitted_document(rig: FittedRig) -> Document:
    """The written file as a Document, for readers in the same process."""
    return parse_document(rig_bytes(rig), rig.base.file)
