"""GLB writer of the built-in avatars: surfaces, bones and springs to a VRM 1.0 file in memory."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field

import numpy as np

from .sample_hair import Strand
from .sample_mesh import Surface
from .sample_outfits import Paint
from .sample_rig import Shape

_FLOAT, _U16, _U32 = 5126, 5123, 5125


@dataclass(frozen=True, eq=False)
class Figure:
    """Everything one avatar is made of, in world space of the rest pose."""

    name: str
    bones: dict[str, tuple[str, np.ndarray]]  # parent name ("" for the root) and position, parents first
    roles: tuple[str, ...]  # bones that are VRM humanoid roles
    pieces: dict[tuple[str, str], Surface]  # by mesh and material name
    paints: dict[str, Paint]
    textures: dict[str, bytes]  # PNG by name
    strands: tuple[Strand, ...]
    shapes: list[Shape]
    constraints: dict[str, dict] = field(default_factory=dict)  # by bone


class _Buffer:
    """Binary chunk under construction, with its views and accessors."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict] = []
        self.accessors: list[dict] = []

    def view(self, raw: bytes, target: int | None = None) -> int:
        self.data += b"\0" * (-len(self.data) % 4)
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(raw)}
        if target:
            view["target"] = target
        self.data += raw
        self.views.append(view)
        return len(self.views) - 1

    def add(self, array: np.ndarray, kind: str, component: int, target: int | None = None, bounds: bool = False) -> int:
        entry = {
            "bufferView": self.view(array.tobytes(), target),
            "componentType": component,
            "count": len(array),
            "type": kind,
        }
        if bounds:
            entry["min"], entry["max"] = array.min(axis=0).tolist(), array.max(axis=0).tolist()
        self.accessors.append(entry)
        return len(self.accessors) - 1


def linear(colour: str) -> list[float]:
    """Linear RGB of an sRGB colour "#rrggbb", rounded so that the file reads well."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    return np.round(np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4), 5).tolist()


def four_bones(weights: dict[str, np.ndarray], index: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """The four strongest bones of each vertex: joints (V, 4) uint16 and weights (V, 4) float32 that sum to 1."""
    names = list(weights)
    dense = np.stack([weights[name] for name in names], axis=1)
    if dense.shape[1] < 4:
        dense = np.pad(dense, ((0, 0), (0, 4 - dense.shape[1])))
        names += [names[0]] * (4 - len(names))
    order = np.argsort(-dense, axis=1, kind="stable")[:, :4]
    kept = np.take_along_axis(dense, order, axis=1)
    kept[kept < 1e-4] = 0.0
    kept = (kept / kept.sum(axis=1, keepdims=True)).astype(np.float32)
    kept[:, 0] += 1.0 - kept.sum(axis=1, dtype=np.float32)
    joints = np.array([index[name] for name in names], dtype=np.uint16)[order]
    joints[kept == 0.0] = 0
    return joints, kept


def _material(name: str, paint: Paint, texture: dict[str, int]) -> dict:
    """A glTF material with its MToon extension."""
    base = {"baseColorFactor": [*linear(paint.lit), 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.9}
    toon = {
        "specVersion": "1.0",
        "shadeColorFactor": linear(paint.shade),
        "shadingShiftFactor": paint.shift,
        "shadingToonyFactor": 0.9,
        "giEqualizationFactor": 0.9,
        "parametricRimColorFactor": [0.06, 0.06, 0.06] if paint.outline else [0.0, 0.0, 0.0],
        "parametricRimFresnelPowerFactor": 5.0,
        "parametricRimLiftFactor": 0.0,
        "outlineWidthMode": "worldCoordinates" if paint.outline else "none",
        "outlineWidthFactor": paint.outline,
        "outlineColorFactor": [round(0.22 * v, 5) for v in linear(paint.shade)],
        "outlineLightingMixFactor": 0.0,
    }
    if paint.texture:
        base["baseColorTexture"] = {"index": texture[paint.texture]}
        toon["shadeMultiplyTexture"] = {"index": texture[paint.texture]}
    return {"name": name, "pbrMetallicRoughness": base, "extensions": {"VRMC_materials_mtoon": toon}}


def _springs(figure: Figure, node: dict[str, int]) -> dict:
    """The VRMC_springBone extension."""
    groups = list(dict.fromkeys(s.group for s in figure.shapes))
    colliders = []
    for shape in figure.shapes:
        at = figure.bones[shape.bone][1]
        local = np.round(np.array(shape.start) - at, 6).tolist()
        if shape.end is None:
            form = {"sphere": {"offset": local, "radius": shape.radius}}
        else:
            form = {
                "capsule": {
                    "offset": local,
                    "radius": shape.radius,
                    "tail": np.round(np.array(shape.end) - at, 6).tolist(),
                }
            }
        colliders.append({"node": node[shape.bone], "shape": form})
    springs = []
    for strand in figure.strands:
        joints = []
        for i, bone in enumerate(strand.bones):
            t = min(i / max(strand.count - 1, 1), 1.0)
            stiff, radius = ((1 - t) * a + t * b for a, b in (strand.spring.stiffness, strand.spring.radius))
            joints.append(
                {
                    "node": node[bone],
                    "hitRadius": round(radius, 5),
                    "stiffness": round(stiff, 4),
                    "gravityPower": strand.spring.gravity,
                    "gravityDir": [0.0, -1.0, 0.0],
                    "dragForce": strand.spring.drag,
                }
            )
        used = [groups.index(g) for g in strand.spring.groups]
        springs.append({"name": strand.name, "joints": joints, "colliderGroups": used})
    return {
        "specVersion": "1.0",
        "colliders": colliders,
        "colliderGroups": [
            {"name": g, "colliders": [i for i, s in enumerate(figure.shapes) if s.group == g]} for g in groups
        ],
        "springs": springs,
    }


def _vrm(figure: Figure, node: dict[str, int], meshes: list[int]) -> dict:
    """The VRMC_vrm extension."""
    return {
        "specVersion": "1.0",
        "meta": {
            "name": figure.name,
            "version": "1",
            "authors": ["The taichi_hair authors"],
            "licenseUrl": "https://vrm.dev/licenses/1.0/",
            "otherLicenseUrl": "https://www.apache.org/licenses/LICENSE-2.0",
            "avatarPermission": "everyone",
            "allowExcessivelyViolentUsage": False,
            "allowExcessivelySexualUsage": False,
            "commercialUsage": "corporation",
            "allowPoliticalOrReligiousUsage": False,
            "allowAntisocialOrHateUsage": False,
            "creditNotation": "unnecessary",
            "allowRedistribution": True,
            "modification": "allowModificationRedistribution",
        },
        "humanoid": {"humanBones": {role: {"node": node[role]} for role in figure.roles}},
        "firstPerson": {"meshAnnotations": [{"node": m, "type": "auto"} for m in meshes]},
    }


def write_glb(figure: Figure) -> bytes:
    """The figure as a VRM 1.0 file; the same figure gives the same bytes."""
    names = list(figure.bones)
    node = {name: i for i, name in enumerate(names)}
    nodes = []
    for name, (parent, at) in figure.bones.items():
        origin = figure.bones[parent][1] if parent else np.zeros(3)
        entry: dict = {"name": name, "translation": np.round(at - origin, 6).tolist()}
        children = [node[n] for n, (p, _) in figure.bones.items() if p == name]
        if children:
            entry["children"] = children
        if name in figure.constraints:
            kind, settings = next(iter(figure.constraints[name].items()))
            constraint = {kind: {**settings, "source": node[settings["source"]]}}
            entry["extensions"] = {"VRMC_node_constraint": {"specVersion": "1.0", "constraint": constraint}}
        nodes.append(entry)
    buffer = _Buffer()
    textures = {name: i for i, name in enumerate(figure.textures)}
    images = [
        {"name": name, "mimeType": "image/png", "bufferView": buffer.view(raw)} for name, raw in figure.textures.items()
    ]
    used = list(dict.fromkeys(material for _, material in figure.pieces))
    carriers = sorted(
        {bone for piece in figure.pieces.values() for bone, w in piece.weights.items() if np.any(w > 1e-4)},
        key=node.get,
    )
    index = {bone: i for i, bone in enumerate(carriers)}
    index |= {bone: 0 for bone in names if bone not in index}
    places = _summed(figure, names)
    inverse = np.tile(np.eye(4, dtype=np.float32), (len(carriers), 1, 1))
    inverse[:, 3, :3] = [-places[bone] for bone in carriers]  # column-major
    bind = buffer.add(inverse.reshape(-1, 16), "MAT4", _FLOAT)
    meshes: dict[str, list[dict]] = {}
    for (mesh, material), piece in figure.pieces.items():
        joints, weights = four_bones(dict(piece.weights), index)
        attributes = {
            "POSITION": buffer.add(piece.positions.astype(np.float32), "VEC3", _FLOAT, 34962, True),
            "NORMAL": buffer.add(piece.normals.astype(np.float32), "VEC3", _FLOAT, 34962),
            "JOINTS_0": buffer.add(joints, "VEC4", _U16, 34962),
            "WEIGHTS_0": buffer.add(weights, "VEC4", _FLOAT, 34962),
        }
        if figure.paints[material].texture:
            attributes["TEXCOORD_0"] = buffer.add(piece.uvs.astype(np.float32), "VEC2", _FLOAT, 34962)
        corners = buffer.add(piece.triangles.astype(np.uint32).ravel(), "SCALAR", _U32, 34963)
        meshes.setdefault(mesh, []).append(
            {"attributes": attributes, "indices": corners, "material": used.index(material)}
        )
    mesh_nodes = list(range(len(nodes), len(nodes) + len(meshes)))
    nodes += [{"name": name, "mesh": i, "skin": 0} for i, name in enumerate(meshes)]
    extensions = {"VRMC_vrm": _vrm(figure, node, mesh_nodes), "VRMC_springBone": _springs(figure, node)}
    names_used = [*extensions, "VRMC_materials_mtoon", *(["VRMC_node_constraint"] if figure.constraints else [])]
    document = {
        "asset": {"version": "2.0", "generator": "taichi_hair"},
        "extensionsUsed": names_used,
        "scene": 0,
        "scenes": [
            {"name": figure.name, "nodes": [node[n] for n, (p, _) in figure.bones.items() if not p] + mesh_nodes}
        ],
        "nodes": nodes,
        "meshes": [{"name": name, "primitives": primitives} for name, primitives in meshes.items()],
        "skins": [{"name": "skin", "joints": [node[b] for b in carriers], "inverseBindMatrices": bind, "skeleton": 0}],
        "materials": [_material(name, figure.paints[name], textures) for name in used],
        "samplers": [{"magFilter": 9729, "minFilter": 9987, "wrapS": 33071, "wrapT": 33071}],
        "textures": [{"name": name, "source": i, "sampler": 0} for name, i in textures.items()],
        "images": images,
        "accessors": buffer.accessors,
        "bufferViews": buffer.views,
        "buffers": [{"byteLength": len(buffer.data)}],
        "extensions": extensions,
    }
    return _chunks(document, bytes(buffer.data))


def _summed(figure: Figure, names: list[str]) -> dict[str, np.ndarray]:
    """World positions of the bones as a reader adds them up from the rounded translations."""
    places: dict[str, np.ndarray] = {}
    for name in names:
        parent, at = figure.bones[name]
        origin = figure.bones[parent][1] if parent else np.zeros(3)
        places[name] = np.round(at - origin, 6) + (places[parent] if parent else 0.0)
    return places


def _chunks(document: dict, data: bytes) -> bytes:
    """JSON and binary as one GLB."""
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    data += b"\0" * (-len(data) % 4)
    head = struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + len(data))
    return head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
