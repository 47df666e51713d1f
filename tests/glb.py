"""A small writer of GLBs for tests: every call says one thing, nothing is checked."""

from __future__ import annotations

import json
import struct

import numpy as np

from taichi_hair.avatar.avatar import Avatar, load_bytes

CODES = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
REQUIRED = (
    "hips spine head leftUpperLeg leftLowerLeg leftFoot rightUpperLeg rightLowerLeg rightFoot "
    "leftUpperArm leftLowerArm leftHand rightUpperArm rightLowerArm rightHand"
).split()


class Glb:
    """Grows a glTF in `json` and its binary chunk in `data`."""

    def __init__(self, **top):
        self.json = {"asset": {"version": "2.0"}, **top}
        self.data = bytearray()

    def add(self, key: str, value: dict) -> int:
        self.json.setdefault(key, []).append(value)
        return len(self.json[key]) - 1

    def view(self, data, **more) -> int:
        self.data += b"\0" * (-len(self.data) % 4)
        start = len(self.data)
        self.data += bytes(data)
        return self.add("bufferViews", {"buffer": 0, "byteOffset": start, "byteLength": len(data), **more})

    def accessor(self, values, kind: str = "f4", **more) -> int:
        values = np.asarray(values, dtype="<" + kind)
        flat = values.reshape(len(values), -1)
        return self.add(
            "accessors",
            {
                "bufferView": self.view(values.tobytes()),
                "componentType": CODES[kind],
                "count": len(values),
                "type": TYPES[flat.shape[1]],
                **more,
            },
        )

    def node(self, name: str = "", parent: int | None = None, **more) -> int:
        index = self.add("nodes", {"name": name, **more} if name else dict(more))
        if parent is not None:
            self.json["nodes"][parent].setdefault("children", []).append(index)
        return index

    def line(self, count: int, parent: int | None = None, step=(0.0, -0.1, 0.0), name: str = "hair") -> list[int]:
        """Nodes below one another, `step` apart."""
        nodes = []
        for i in range(count):
            parent = self.node(f"{name}{i}", parent, translation=list(step))
            nodes.append(parent)
        return nodes

    def mesh(self, positions, triangles=None, name: str = "mesh", attributes=None, **primitive) -> int:
        attributes = {"POSITION": self.accessor(positions), **(attributes or {})}
        body = {"attributes": attributes, **primitive}
        if triangles is not None:
            body["indices"] = self.accessor(np.reshape(triangles, -1), "u2")
        return self.add("meshes", {"name": name, "primitives": [body]})

    def human(self) -> dict[str, int]:
        """Nodes for the required human bones, all below the hips, and the VRM 1.0 extension that names them."""
        hips = self.node("hips", translation=[0.0, 1.0, 0.0])
        nodes = {"hips": hips, **{role: self.node(role, hips) for role in REQUIRED if role != "hips"}}
        bones = {role: {"node": node} for role, node in nodes.items()}
        self.extend("VRMC_vrm", {"specVersion": "1.0", "meta": {"name": "test"}, "humanoid": {"humanBones": bones}})
        return nodes

    def extend(self, name: str, value: dict) -> None:
        self.json.setdefault("extensions", {})[name] = value
        self.json.setdefault("extensionsUsed", []).append(name)

    def springs(self, springs, colliders=(), groups=()) -> None:
        body = {"specVersion": "1.0", "springs": list(springs)}
        if colliders:
            body["colliders"] = list(colliders)
        if groups:
            body["colliderGroups"] = [{"colliders": list(g)} for g in groups]
        self.extend("VRMC_springBone", body)

    def bytes(self) -> bytes:
        content = self.json
        if self.data and "buffers" not in content:
            content = {**content, "buffers": [{"byteLength": len(self.data)}]}
        return pack(json.dumps(content, ensure_ascii=False).encode(), bytes(self.data) if self.data else None)

    def load(self, name: str = "test.glb") -> Avatar:
        return load_bytes(self.bytes(), name)


def pack(text: bytes, binary: bytes | None = None) -> bytes:
    """A GLB of JSON text and a binary chunk."""
    text += b" " * (-len(text) % 4)
    body = struct.pack("<II", len(text), 0x4E4F534A) + text
    if binary is not None:
        binary += b"\0" * (-len(binary) % 4)
        body += struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


QUAD = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
QUAD_TRIANGLES = np.array([[0, 1, 2], [2, 1, 3]])
