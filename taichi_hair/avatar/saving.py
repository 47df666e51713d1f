"""save(): an avatar back into a GLB, VRM or glTF file; what did not change keeps its bytes."""

from __future__ import annotations

import base64
import copy
import json
from json.decoder import scanstring
from pathlib import Path

from .description import Avatar
from .document import Document
from .errors import AssetError
from .gltf import dump, glb_bytes, write_whole
from .spring_members import spring_members

SPACE = " \t\r\n"


def save(avatar: Avatar, path) -> Path:
    """Write an avatar to `path` (.glb, .vrm or .gltf), whole or not at all; returns the path.

    Everything that was loaded is kept, extras and unknown extensions byte for byte. Chains and colliders are written
    anew only where `avatar.hair` is another rig than the file's; they go into VRMC_springBone, and what that has no
    shape for into extras (`own_shapes.stand_ins` names it). External buffers and images move into the file, unless a
    .gltf is saved beside its own.
    """
    path = Path(path)
    if path.suffix.lower() not in (".glb", ".vrm", ".gltf"):
        raise AssetError(str(path), "file name", f"the ending {path.suffix!r}", ".glb, .vrm or .gltf")
    write_whole(path, to_bytes(avatar, path))
    return path


def to_bytes(avatar: Avatar, path=None) -> bytes:
    """The bytes of the file that `save` writes; a GLB where no path is given."""
    document = avatar.document
    if document is None:
        raise AssetError(str(path or avatar.name), "avatar", "an avatar that was not read from a file", "one that was")
    if len(avatar.skeleton) != len(document.items("nodes")):
        found = f"{len(avatar.skeleton)} nodes, {len(document.items('nodes'))} of them in the file"
        raise AssetError(document.file, "nodes", found, "a fitted rig, written with write_rig")
    blobs: list[bytes] = []
    changed = _hair(avatar, document, blobs)
    as_text = path is not None and Path(path).suffix.lower() == ".gltf"
    external = {i for i, b in enumerate(document.items("buffers")) if _is_external(b.value.get("uri"))}
    pictures = {i for i, b in enumerate(document.items("images")) if _is_external(b.value.get("uri"))}
    beside = as_text and document.path is not None and Path(path).resolve().parent == document.path.resolve().parent
    if as_text and beside and document.binary is None and not blobs:
        return with_members(document.json_text, changed)
    if not as_text and not external and not pictures and not blobs:
        return glb_bytes(with_members(document.json_text, changed), document.binary)
    members, binary = _packed(document, external, pictures, changed, blobs)
    if as_text and binary:
        first = dict(members["buffers"][0])
        first["uri"] = "data:application/octet-stream;base64," + base64.b64encode(binary).decode()
        members["buffers"] = [first, *members["buffers"][1:]]
        binary = b""
    text = with_members(document.json_text, members)
    return text if as_text else glb_bytes(text, binary or None)


def _is_external(uri) -> bool:
    return isinstance(uri, str) and not uri.lower().startswith("data:")


def _hair(avatar: Avatar, document: Document, blobs: list[bytes]) -> dict:
    """Top-level members that change because the rig is not the file's own; `blobs` become the next buffer views."""
    if avatar.hair is document.cache.get("hair"):
        return {}
    if avatar.vrm == "0.x":
        raise AssetError(
            document.file,
            "VRM.secondaryAnimation",
            "a changed rig for a VRM 0.x file, which has one setting for a whole group of bones",
            "the avatar as VRM 1.0",
        )

    def store(data: bytes) -> int:
        blobs.append(data)
        return len(document.items("bufferViews")) + len(blobs) - 1

    return spring_members(document.json, avatar.hair, store)


def _packed(document: Document, external: set[int], pictures: set[int], changed: dict, blobs: list[bytes]):
    """Members and binary chunk of a file that holds its external buffers and images itself, and the `blobs`."""
    members = dict(changed)
    views = [copy.deepcopy(item.value) for item in document.items("bufferViews")]
    binary = bytearray(document.binary or b"")
    place: dict[int, tuple[int, int]] = {}
    rest = []
    for index, item in enumerate(document.items("buffers")):
        if index in external or (index == 0 and document.binary is not None):
            data = document.buffer(index)
            if index in external:
                binary += b"\0" * (-len(binary) % 4)
                place[index] = (0, len(binary))
                binary += data
            else:
                place[index] = (0, 0)
        else:
            rest.append((index, item.value))
    for data in blobs:
        _append(views, binary, data)
    for index in sorted(pictures):
        _embed_picture(document, index, members, views, binary, place)
    first = {k: v for k, v in (document.json.get("buffers") or [{}])[0].items() if k not in ("uri", "byteLength")}
    buffers = [{**first, "byteLength": len(binary)}] if binary else []
    for index, value in rest:
        place[index] = (len(buffers), 0)
        buffers.append(value)
    for view in views:
        if view.pop("_own", False):
            continue
        extensions = view.get("extensions")
        packed = [e for e in extensions.values() if isinstance(e, dict)] if isinstance(extensions, dict) else []
        for body in (view, *packed):
            _move(body, place)
    members["buffers"] = buffers or None
    members["bufferViews"] = views or None
    return members, bytes(binary)


def _move(body: dict, place: dict[int, tuple[int, int]]) -> None:
    """Point a buffer view, or a compressed stream, to where its buffer's bytes are now."""
    index, offset = body.get("buffer"), body.get("byteOffset", 0)
    if not isinstance(index, int) or index not in place or not isinstance(offset, int):
        return  # a faulty view that nothing reads stays as it is
    body["buffer"], shift = place[index]
    if shift:
        body["byteOffset"] = offset + shift


def _append(views: list, binary: bytearray, data: bytes) -> None:
    """Bytes at the end of the binary chunk, with a buffer view that needs no moving."""
    binary += b"\0" * (-len(binary) % 4)
    views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(data), "_own": True})
    binary += data


def _embed_picture(document: Document, index: int, members: dict, views: list, binary: bytearray, place) -> None:
    item = document.items("images")[index]
    try:
        data = bytes(document.resource(item.text("uri"), item.where))
    except (OSError, AssetError):
        return  # it was not there when it was read; the reference stays as it is
    images = members.setdefault("images", copy.deepcopy(document.json["images"]))
    _append(views, binary, data)
    image = images[index]
    del image["uri"]
    kinds = {b"\x89P": "image/png", b"\xff\xd8": "image/jpeg", b"RI": "image/webp"}
    image.setdefault("mimeType", kinds.get(data[:2], "image/png"))
    image["bufferView"] = len(views) - 1


def member_spans(text: str, at: int = 0) -> dict[str, tuple[int, int]]:
    """Key -> (start, end) of its value in the JSON object that begins at text[at]; the last of equal keys counts."""
    decoder = json.JSONDecoder()
    spans: dict[str, tuple[int, int]] = {}
    at = _skip(text, text.index("{", at) + 1)
    while text[at] != "}":
        key, at = scanstring(text, at + 1)
        at = _skip(text, _skip(text, at) + 1)
        start = at
        _, at = decoder.raw_decode(text, at)
        spans[key] = (start, at)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return spans


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in SPACE:
        at += 1
    return at


def with_members(text: bytes, members: dict) -> bytes:
    """JSON text of an object with some members set (None takes one out); every other byte stays as it is.

    A member named `extensions.NAME` is one of the object under `extensions`.
    """
    if not members:
        return text
    result = text.decode("utf-8")
    for name, value in members.items():
        outer, _, inner = name.partition(".")
        new = None if value is None else dump(value).decode("utf-8")
        if not inner:
            result = _set(result, 0, outer, new)
            continue
        spans = member_spans(result)
        if outer not in spans or result[spans[outer][0]] != "{":
            result = _set(result, 0, outer, "{" + json.dumps(inner) + ":" + new + "}")
        else:
            result = _set(result, spans[outer][0], inner, new)
    return result.encode("utf-8")


def _set(text: str, at: int, key: str, new: str | None) -> str:
    spans = member_spans(text, at)
    if key in spans:
        start, end = spans[key]
        if new is not None:
            return text[:start] + new + text[end:]
        kept = {k: text[s:e] for k, (s, e) in spans.items() if k != key}
        close = _object_end(text, at)
        inside = ",".join(json.dumps(k, ensure_ascii=False) + ":" + v for k, v in kept.items())
        return text[: text.index("{", at)] + "{" + inside + "}" + text[close:]
    if new is None:
        return text
    start = text.index("{", at) + 1
    comma = "," if spans else ""
    return text[:start] + json.dumps(key, ensure_ascii=False) + ":" + new + comma + text[start:]


def _object_end(text: str, at: int) -> int:
    return json.JSONDecoder().raw_decode(text, text.index("{", at))[1]
