"""Meshes: primitives of a glTF as MeshParts, with skins, morph defaults, strips and fans, repaired weights."""

from __future__ import annotations

import numpy as np

from .accessors import read_accessor
from .description import Material, MeshPart, Skin
from .document import Document
from .fields import Item
from .skeleton import Skeleton

POINTS_OR_LINES = {0: "points", 1: "lines", 2: "a line loop", 3: "a line strip"}
MAX_SETS = 16  # JOINTS_n / WEIGHTS_n


def read_skins(document: Document, skeleton: Skeleton) -> list[Skin]:
    """All skins of the file, in file order."""
    skins = []
    for item in document.items("skins"):
        joints = np.array(item.indices("joints", len(skeleton)), dtype=np.int64)
        if not len(joints):
            raise item.error("joints", "no joint", "at least one")
        document.charge(len(joints) * 256, item.where)
        matrices = item.integer("inverseBindMatrices", None)
        if matrices is None:
            inverse = np.tile(np.eye(4), (len(joints), 1, 1))
        else:
            inverse = read_accessor(document, matrices, ("MAT4",))
            if len(inverse) < len(joints):
                raise item.error(
                    "inverseBindMatrices", f"{len(inverse)} matrices", f"one for each of {len(joints)} joints"
                )
            inverse = np.array(inverse[: len(joints)], dtype=np.float64)
        skins.append(Skin(joints, inverse))
    return skins


class PartReader:
    """Reads the mesh parts of a document; rigid meshes get a one-joint skin, made once per node."""

    def __init__(self, document: Document, skeleton: Skeleton, skins: list[Skin], materials: list[Material]):
        self.document = document
        self.skeleton = skeleton
        self.skins = skins
        self.materials = materials
        self.rigid: dict[int, int] = {}
        self.plain: int | None = None

    def read(self, nodes: list[int]) -> tuple[MeshPart, ...]:
        """Parts of the meshes that the given nodes hold, in that order."""
        parts = []
        items = self.document.items("nodes")
        meshes = self.document.items("meshes")
        for node in nodes:
            mesh = items[node].integer("mesh", None, below=len(meshes))
            if mesh is None:
                continue
            skin = items[node].integer("skin", None, below=len(self.document.items("skins")))
            weights = items[node].vector("weights", None, None)
            if weights is None:
                weights = meshes[mesh].vector("weights", None, ())
            for index, item in enumerate(meshes[mesh].children("primitives")):
                part = self._primitive(item, node, mesh, index, skin, weights)
                if part is not None:
                    parts.append(part)
        return tuple(parts)

    def _rigid_skin(self, node: int) -> int:
        if node not in self.rigid:
            self.rigid[node] = len(self.skins)
            self.skins.append(Skin(np.array([node], dtype=np.int64), np.eye(4)[None]))
        return self.rigid[node]

    def _material(self, item: Item) -> int:
        index = item.integer("material", None, below=len(self.document.items("materials")))
        if index is not None:
            return index
        if self.plain is None:
            self.plain = len(self.materials)
            self.materials.append(Material("default", np.ones(4)))
        return self.plain

    def _primitive(self, item: Item, node: int, mesh: int, index: int, skin, morph) -> MeshPart | None:
        document, log = self.document, self.document.log
        name = document.items("meshes")[mesh].text("name")
        where = f"{item.where} of mesh {name!r}"
        mode = item.integer("mode", 4, below=7)
        if mode in POINTS_OR_LINES:
            log.warn(where, f"is drawn as {POINTS_OR_LINES[mode]}, which has no surface; left out")
            return None
        attributes = self._attributes(item)
        if "POSITION" not in attributes:
            log.warn(where, "has no POSITION; left out")
            return None
        positions = self._array(item, attributes, "POSITION", ("VEC3",), None)
        count = len(positions)
        document.charge(count * 160, where)  # positions, normals, joints, weights, uvs and their intermediates
        triangles = self._triangles(item, attributes, mode, count, where)
        normals = self._array(item, attributes, "NORMAL", ("VEC3",), count)
        positions, normals = self._morphed(item, positions, normals, morph, count)
        normals = _unit_normals(positions, normals, triangles)
        skin_index, joints, weights = self._influences(item, attributes, count, node, skin, where)
        material = self._material(item)
        description = self.materials[material]
        uvs = self._array(item, attributes, f"TEXCOORD_{description.texture_channel}", ("VEC2",), count)
        if uvs is None and description.texture is not None:
            log.warn(where, f"has a texture but no TEXCOORD_{description.texture_channel}; drawn without it")
        if uvs is not None and description.texture_transform is not None:
            uvs = uvs @ description.texture_transform[:, :2].T + description.texture_transform[:, 2]
        colors = self._array(item, attributes, "COLOR_0", ("VEC3", "VEC4"), count)
        if colors is not None and colors.shape[1] == 3:
            colors = np.concatenate([colors, np.ones((count, 1))], axis=1)
        arrays = (positions, normals, triangles, joints, weights, uvs, colors)
        for array in arrays:
            if array is not None:
                array.setflags(write=False)
        return MeshPart(name, node, mesh, index, skin_index, material, *arrays)

    def _attributes(self, item: Item) -> dict:
        """Attribute name -> accessor index, or the decoded array where Draco holds the geometry."""
        attributes = item.child("attributes")
        result = dict(attributes.value) if attributes is not None else {}
        packed = item.extension("KHR_draco_mesh_compression")
        if packed is not None:
            from .compressed import decode_draco

            result.update(decode_draco(self.document, item, packed))
        return result

    def _array(self, item: Item, attributes: dict, key: str, kinds, count: int | None) -> np.ndarray | None:
        """Attribute as float64, None where the primitive has none."""
        if key not in attributes:
            return None
        value = attributes[key]
        if not isinstance(value, np.ndarray):
            value = read_accessor(self.document, value, kinds)
        if count is not None and len(value) != count:
            raise item.error(f"attributes.{key}", f"{len(value)} elements", f"{count}, as many as POSITION has")
        return np.asarray(value, dtype=np.float64)

    def _joints(self, item: Item, attributes: dict, key: str, count: int) -> np.ndarray:
        value = attributes[key]
        if not isinstance(value, np.ndarray):
            value = read_accessor(self.document, value, ("VEC4",))
        if len(value) != count or value.dtype.kind != "u":
            found = f"{len(value)} elements of type {value.dtype}"
            raise item.error(f"attributes.{key}", found, f"{count} times four unsigned integers")
        return value

    def _triangles(self, item: Item, attributes: dict, mode: int, count: int, where: str) -> np.ndarray:
        """(T, 3) int32 corners; strips and fans taken apart, their degenerate triangles left out."""
        accessor = item.integer("indices", None)
        if "indices" in attributes:
            indices = attributes["indices"].reshape(-1).astype(np.int64)
        elif accessor is None:
            self.document.charge(count * 8, where)
            indices = np.arange(count, dtype=np.int64)
        else:
            indices = read_accessor(self.document, accessor, ("SCALAR",))
            if indices.dtype.kind != "u":
                raise item.error("indices", "an accessor that is not of whole numbers", "unsigned integers")
            indices = indices.astype(np.int64)
        if len(indices) and int(indices.max()) >= count:
            raise item.error("indices", f"index {int(indices.max())}", f"indices below the {count} vertices")
        self.document.charge(len(indices) * 24, where)
        if mode == 4:
            if len(indices) % 3:
                self.document.log.warn(where, f"has {len(indices)} indices, not a multiple of 3; the rest is left out")
            return indices[: len(indices) // 3 * 3].reshape(-1, 3).astype(np.int32)
        if len(indices) < 3:
            return np.zeros((0, 3), dtype=np.int32)
        if mode == 5:
            corners = np.stack([indices[:-2], indices[1:-1], indices[2:]], axis=1)
            corners[1::2] = corners[1::2][:, [1, 0, 2]]  # every other triangle of a strip is wound the other way
        else:
            corners = np.stack([np.full(len(indices) - 2, indices[0]), indices[1:-1], indices[2:]], axis=1)
        a, b, c = corners.T
        return corners[(a != b) & (b != c) & (c != a)].astype(np.int32)

    def _morphed(self, item: Item, positions, normals, morph, count: int):
        """Positions and normals with the default morph weights applied."""
        targets = item.children("targets")
        for weight, target in zip(morph, targets, strict=False):
            if weight == 0.0:
                continue
            self.document.charge(count * 48, item.where)
            change = self._array(item, target.value, "POSITION", ("VEC3",), count)
            if change is not None:
                positions = positions + weight * change
            change = self._array(item, target.value, "NORMAL", ("VEC3",), count)
            if change is not None and normals is not None:
                normals = normals + weight * change
        if len(targets) and len(morph) > len(targets):
            self.document.log.warn(
                item.where, f"has {len(targets)} morph targets and {len(morph)} weights; the rest is ignored"
            )
        return positions, normals

    def _influences(self, item: Item, attributes: dict, count: int, node: int, skin: int | None, where: str):
        """Skin, joints (V, K) and weights (V, K) of a primitive; weights are repaired to sum to 1."""
        log = self.document.log
        sets = [n for n in range(MAX_SETS) if f"JOINTS_{n}" in attributes and f"WEIGHTS_{n}" in attributes]
        if skin is None or not sets:
            if skin is not None:
                log.warn(where, f"is skinned by nodes[{node}] but has no JOINTS_0 and WEIGHTS_0; moves with its node")
            zeros = np.zeros((count, 1), dtype=np.int32)
            return self._rigid_skin(node), zeros, np.ones((count, 1))
        joints, weights = [], []
        self.document.charge(count * 96 * len(sets), where)
        for n in sets:
            joints.append(self._joints(item, attributes, f"JOINTS_{n}", count))
            weights.append(self._array(item, attributes, f"WEIGHTS_{n}", ("VEC4",), count))
        joints = np.concatenate(joints, axis=1) if len(sets) > 1 else joints[0]
        weights = np.concatenate(weights, axis=1) if len(sets) > 1 else weights[0]
        limit = len(self.skins[skin].joints)
        carries = weights != 0.0
        bad = (joints >= limit) & carries
        if bad.any():
            vertex = int(np.argmax(bad.any(axis=1)))
            found = f"joint {joints[vertex][bad[vertex]][0]} for vertex {vertex}"
            raise item.error("attributes.JOINTS_0", found, f"joints below the skin's {limit}")
        joints = np.where(carries, joints, 0).astype(np.int32)
        if len(sets) > 1:
            used = max(4, int(carries.sum(axis=1).max(initial=0)))
            order = np.argsort(-weights, axis=1, kind="stable")[:, :used]
            joints, weights = np.take_along_axis(joints, order, axis=1), np.take_along_axis(weights, order, axis=1)
        return skin, joints, self._repaired(weights, where)

    def _repaired(self, weights: np.ndarray, where: str) -> np.ndarray:
        log = self.document.log
        if weights.min(initial=0.0) < 0.0:
            log.warn(
                where, f"WEIGHTS_0: {int((weights < 0).any(axis=1).sum())} vertices have negative weights; taken as 0"
            )
            weights = np.maximum(weights, 0.0)
        total = weights.sum(axis=1)
        if total.min(initial=1.0) < 1e-9:
            empty = total < 1e-9
            log.warn(
                where, f"WEIGHTS_0: {int(empty.sum())} vertices have no weight; they follow the skin's first joint"
            )
            weights = np.where(empty[:, None], np.eye(1, weights.shape[1]), weights)
            total = np.where(empty, 1.0, total)
        # Normalised bytes of four influences sum to 1 within 4/255 at worst, so only more than that is a fault.
        if len(total) and not 0.984 <= total.min() <= total.max() <= 1.016:
            off = np.abs(total - 1.0)
            worst = float(total[np.argmax(off)])
            log.warn(
                where,
                f"WEIGHTS_0 of {int((off > 0.016).sum())} vertices sum to {worst:.4g} at worst; normalised to 1",
            )
        return weights / total[:, None]


def _unit_normals(positions: np.ndarray, normals: np.ndarray | None, triangles: np.ndarray) -> np.ndarray:
    """(V, 3) unit normals; the triangles' where the file has none or a vertex has a zero one."""
    if normals is not None:
        length = np.sqrt(np.einsum("ij,ij->i", normals, normals))[:, None]
        if length.min(initial=1.0) > 1e-9:
            return normals / length
    corners = positions[triangles]
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    smooth = np.zeros((len(positions), 3))
    for axis in range(3):
        smooth[:, axis] = np.bincount(triangles.reshape(-1), np.repeat(flat[:, axis], 3), len(positions))
    size = np.linalg.norm(smooth, axis=1, keepdims=True)
    smooth = np.where(size > 1e-30, smooth / np.where(size > 1e-30, size, 1.0), (0.0, 1.0, 0.0))
    if normals is None:
        return smooth
    return np.where(length > 1e-9, normals / np.where(length > 1e-9, length, 1.0), smooth)
