"""Export: a take as an animation at the end of the artist's own file, and the file as it was before."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import numpy as np

from .. import rotations
from ..avatar.avatar import Avatar
from ..avatar.document import Document, parse_document, read_document
from ..avatar.errors import AssetError
from ..avatar.gltf import dump, glb_bytes
from ..avatar.saving import to_bytes
from ..avatar.secondary_animation import HALF_TURN
from ..hair import HairRig
from ..rig.fitted import FittedRig
from ..rig.write import rig_bytes
from .splice import append_items, remove_items, set_in_item, set_item
from .tracks import Tracks

KEY = "taichi_hair"  # in the animation's extras: what undo needs, and how the motion was made
ADDED = ("animations", "accessors", "bufferViews", "buffers")
FLOAT, TYPES = 5126, {1: "SCALAR", 3: "VEC3", 4: "VEC4"}


class Packer:
    """Key times and values as one block of bytes with its accessors and buffer views; equal arrays are stored once."""

    def __init__(self, buffer: int, offset: int, views: int, accessors: int):
        self.buffer, self.offset = buffer, offset
        self.first_view, self.first_accessor = views, accessors
        self.data = bytearray()
        self.views: list[dict] = []
        self.accessors: list[dict] = []
        self._known: dict[tuple, int] = {}

    def add(self, values: np.ndarray, bounds: bool = False) -> int:
        """Accessor index of an array (K,) or (K, D) as float32; `bounds` writes min and max, as key times need."""
        values = np.ascontiguousarray(values, dtype="<f4")
        key = (values.shape, values.tobytes(), bounds)
        if key in self._known:
            return self._known[key]
        view = {"buffer": self.buffer, "byteOffset": self.offset + len(self.data), "byteLength": values.nbytes}
        self.data += values.tobytes()
        self.views.append(view)
        flat = values.reshape(len(values), -1)
        accessor = {
            "bufferView": self.first_view + len(self.views) - 1,
            "componentType": FLOAT,
            "count": len(values),
            "type": TYPES[flat.shape[1]],
        }
        if bounds:
            accessor["min"], accessor["max"] = flat.min(axis=0).tolist(), flat.max(axis=0).tolist()
        self.accessors.append(accessor)
        self._known[key] = self.first_accessor + len(self.accessors) - 1
        return self._known[key]


def animation_of(packer: Packer, tracks: Tracks, turned: dict[int, bool] | None = None) -> dict:
    """A glTF animation of tracks; node by node in `turned`, values go back into the axes of a file that faces -z."""
    samplers, channels = [], []
    turned = turned or {}
    for track in tracks.tracks:
        values = track.values
        if turned.get(track.node):
            if track.path == "rotation":
                values = rotations.multiply(rotations.inverse(HALF_TURN), values)
            else:
                values = rotations.rotate(rotations.inverse(HALF_TURN), values)
        sampler = {
            "input": packer.add(track.times, bounds=True),
            "output": packer.add(values),
            "interpolation": track.interpolation,
        }
        channels.append({"sampler": len(samplers), "target": {"node": track.node, "path": track.path}})
        samplers.append(sampler)
    return {"name": tracks.name, "samplers": samplers, "channels": channels}


def with_animation(avatar: Avatar, tracks: Tracks, facts: dict, path=None, rig: HairRig | None = None) -> bytes:
    """Bytes of the avatar's file with one more animation; what else the file holds keeps its bytes.

    `facts` go into the animation's extras. The ending of `path` decides between GLB and glTF; it must be the kind that
    the avatar was read from, or .glb and .vrm for each other. A fitted `rig` is written into the file first.
    """
    if avatar.document is None:
        raise AssetError(str(path or avatar.name), "avatar", "an avatar that was not read from a file", "one that was")
    base = rig_bytes(rig) if isinstance(rig, FittedRig) else to_bytes(avatar, path)
    document = parse_document(base, avatar.file, Path(path) if path else avatar.document.path)
    text = document.json_text.decode("utf-8")
    lists = {name: len(document.json.get(name) or []) for name in ADDED}
    made = [name for name in ADDED if name not in document.json]
    own = document.binary is not None
    first = (document.json.get("buffers") or [{}])[0]
    inside = own and "uri" not in first and bool(document.json.get("buffers"))
    length = len(document.binary) if own else 0
    packer = Packer(
        0 if inside else lists["buffers"], length if inside else 0, lists["bufferViews"], lists["accessors"]
    )
    turned = {n: True for n in np.flatnonzero(avatar.skeleton.parents < 0).tolist()} if avatar.turned else {}
    animation = animation_of(packer, tracks, turned)
    undo: dict = {"json": len(document.json_text), "sha256": hashlib.sha256(base).hexdigest(), "made": made}
    text, nodes = _with_trs(avatar, document, text, tracks)
    if nodes:
        undo["nodes"] = nodes
    counts = {"animations": 1, "accessors": len(packer.accessors), "bufferViews": len(packer.views), "buffers": 0}
    if inside:
        # Set the length as the number that stands there: the chunk may be padded beyond it.
        undo["binary"], undo["byteLength"] = length, first["byteLength"]
        text = set_in_item(text, "buffers", 0, "byteLength", length + len(packer.data))
    else:
        counts["buffers"] = 1
    undo["added"] = counts
    animation["extras"] = {KEY: {**facts, "undo": undo}}
    text = append_items(text, "accessors", packer.accessors)
    text = append_items(text, "bufferViews", packer.views)
    if not inside:
        uri = "data:application/octet-stream;base64," + base64.b64encode(bytes(packer.data)).decode()
        text = append_items(text, "buffers", [{"byteLength": len(packer.data), "uri": uri}])
    text = append_items(text, "animations", [animation])
    encoded = text.encode("utf-8")
    if base[:4] != b"glTF":
        return encoded
    binary = bytes(document.binary) + bytes(packer.data) if inside else document.binary
    return glb_bytes(encoded, binary)


def _with_trs(avatar: Avatar, document: Document, text: str, tracks: Tracks) -> tuple[str, dict[str, str]]:
    """Text in which no animated node keeps a `matrix`, which glTF forbids, and the JSON of the nodes as they were."""
    nodes: dict[str, str] = {}
    for node in sorted({t.node for t in tracks.tracks}):
        body = document.json["nodes"][node]
        if "matrix" not in body:
            continue
        skeleton = avatar.skeleton
        place, turn = skeleton.translations[node], skeleton.rotations[node]
        if avatar.turned and skeleton.parents[node] < 0:
            back = rotations.inverse(HALF_TURN)
            place, turn = rotations.rotate(back, place), rotations.multiply(back, turn)
        value = {k: v for k, v in body.items() if k != "matrix"}
        value.update(
            translation=place.tolist(), rotation=np.clip(turn, -1.0, 1.0).tolist(), scale=skeleton.scales[node].tolist()
        )
        text, nodes[str(node)] = set_item(text, "nodes", node, dump(value).decode("utf-8"))
    return text, nodes


def baked_animations(document: Document) -> list[int]:
    """Numbers of the animations of a file that were baked into it."""
    found = []
    for index, body in enumerate(document.json.get("animations") or []):
        extras = body.get("extras")
        if isinstance(extras, dict) and isinstance(extras.get(KEY), dict) and "undo" in extras[KEY]:
            found.append(index)
    return found


def undo(path) -> bytes:
    """Bytes of a file as it was before its last animation was baked into it, checked against the sum noted then."""
    document = read_document(path)
    animations = document.json.get("animations") or []
    baked = baked_animations(document)
    if not baked or baked[-1] != len(animations) - 1:
        found = "no baked animation" if not baked else "other animations after the baked one"
        raise AssetError(str(path), "animations", found, "a baked animation at the end")
    note = animations[-1]["extras"][KEY]["undo"]
    text = document.json_text.decode("utf-8")
    for name in ADDED:
        if note["added"][name]:
            text = remove_items(text, name, note["added"][name], name in note["made"])
    binary = document.binary
    if "byteLength" in note:
        text = set_in_item(text, "buffers", 0, "byteLength", note["byteLength"])
        binary = binary[: note["binary"]]
    for node, body in note.get("nodes", {}).items():
        text, _ = set_item(text, "nodes", int(node), body)
    encoded = text.encode("utf-8")[: note["json"]]
    with open(path, "rb") as file:
        whole = file.read(4) == b"glTF"
    data = glb_bytes(encoded, binary) if whole else encoded
    if hashlib.sha256(data).hexdigest() != note["sha256"]:
        found = "a file that was changed after the animation was baked into it"
        raise AssetError(
            str(path), "animations", found, "the file as it was baked, so that it can be taken back exactly"
        )
    return data


def facts_of(path) -> list[dict]:
    """What the baked animations of a file say about themselves."""
    document = read_document(path)
    return [json.loads(dump(document.json["animations"][i]["extras"][KEY])) for i in baked_animations(document)]
