"""Document: one GLB or glTF file taken apart into JSON and buffers, with every size checked before memory is taken."""

from __future__ import annotations

import base64
import binascii
import json
import struct
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from .errors import AssetError, Log
from .fields import Item, describe

MAX_FILE = 2**31 - 1  # bytes; larger avatars are mistakes, and offsets stay below 2^31
MAX_JSON_DEPTH = 100  # glTF itself needs about 12
MEMORY_BASE = 64 * 2**20  # bytes that decoding any file may take ...
MEMORY_FACTOR = 64  # ... plus this many times the file's own size: quantised and sparse data grow by less

_JSON_CHUNK, _BIN_CHUNK = 0x4E4F534A, 0x004E4942


@dataclass(eq=False)
class Document:
    """The file's JSON with its buffers; `root` reads it with checks, `log` collects what was repaired or left out."""

    file: str  # name for messages
    path: Path | None
    json_text: bytes  # as in the file
    json: dict
    binary: memoryview | None  # the GLB's BIN chunk
    size: int  # bytes of the file
    log: Log = field(default_factory=Log)
    taken: int = 0  # bytes of memory charged so far
    _buffers: dict[int, memoryview] = field(default_factory=dict)
    _lists: dict[str, list[Item]] = field(default_factory=dict)
    cache: dict = field(default_factory=dict)  # decoded accessors and buffer views

    @cached_property
    def root(self) -> Item:
        return Item(self.json, "", self.file)

    def items(self, key: str) -> list[Item]:
        """The objects of a top-level list, read once."""
        if key not in self._lists:
            self._lists[key] = self.root.children(key)
        return self._lists[key]

    def error(self, part: str, found: str, wanted: str) -> AssetError:
        return AssetError(self.file, part, found, wanted)

    def charge(self, size: int, part: str) -> None:
        """Count `size` bytes that are about to be allocated; refuse what no honest file of this size needs."""
        limit = MEMORY_BASE + MEMORY_FACTOR * self.size
        if self.taken + size > limit:
            raise self.error(
                part,
                f"a demand for {self.taken + size:,} bytes of memory by a file of {self.size:,} bytes",
                f"at most {limit:,} bytes",
            )
        self.taken += size

    def buffer(self, index: int) -> memoryview:
        """Bytes of buffer `index`, exactly byteLength long."""
        if index not in self._buffers:
            self._buffers[index] = self._read_buffer(index)
        return self._buffers[index]

    def _read_buffer(self, index: int) -> memoryview:
        item = self.items("buffers")[index]
        length = item.integer("byteLength", low=0, below=MAX_FILE)
        uri = item.text("uri", None)
        if uri is not None:
            data = self.resource(uri, item.where + ".uri")
        elif index == 0 and self.binary is not None:
            data = self.binary
        elif (
            item.extension("EXT_meshopt_compression") is not None
            or item.extension("KHR_meshopt_compression") is not None
        ):
            raise item.error(
                "", "a fallback buffer of a compressed file, which has no data", "the compressed buffer view"
            )
        else:
            raise item.error(
                "uri", "nothing, and the file has no binary chunk for it", "a URI or a GLB with a BIN chunk"
            )
        if len(data) < length:
            raise item.error(
                "byteLength", f"{length} bytes promised, but only {len(data)} are there", "a buffer of full length"
            )
        return data[:length]

    def resource(self, uri: str, part: str) -> memoryview:
        """Bytes behind a URI: a data URI, or a file inside the model's own folder. Never the network."""
        if uri[:5].lower() == "data:":
            return self._data_uri(uri, part)
        target = self.inside(uri, part)
        if not target.is_file():
            raise FileNotFoundError(target)
        size = target.stat().st_size
        if size > MAX_FILE:
            raise self.error(part, f"{uri!r} with {size:,} bytes", f"a file of at most {MAX_FILE:,} bytes")
        self.size += size
        return memoryview(target.read_bytes())

    def _data_uri(self, uri: str, part: str) -> memoryview:
        header, comma, body = uri.partition(",")
        if not comma:
            raise self.error(part, "a data URI without a comma", "data:TYPE;base64,BYTES")
        try:
            if header.lower().endswith(";base64"):
                return memoryview(base64.b64decode(unquote(body), validate=True))
            return memoryview(unquote(body, encoding="latin-1").encode("latin-1", "replace"))
        except (binascii.Error, ValueError) as why:
            raise self.error(part, f"a data URI that does not decode ({why})", "base64 text") from None

    def inside(self, uri: str, part: str) -> Path:
        """Path of a relative URI, checked to lie in the model's folder."""
        wanted = "a relative path inside the model's own folder"
        name = unquote(uri)
        if self.path is None:
            raise self.error(part, f"the external file {describe(name)} in a model that has no folder", "embedded data")
        if "\0" in name or "\\" in name or name.startswith("/") or ":" in name.split("/")[0] or ".." in name.split("/"):
            raise self.error(part, describe(name), wanted)
        folder = self.path.parent.resolve()
        try:
            target = (folder / name).resolve()
        except (OSError, RuntimeError) as why:
            raise self.error(part, f"{describe(name)} ({why})", wanted) from None
        if not target.is_relative_to(folder):
            raise self.error(part, f"{describe(name)}, which leads outside", wanted)
        return target


def read_document(path) -> Document:
    """Read a GLB, VRM, VRMA or glTF file from disk; AssetError says what is wrong with it."""
    path = Path(path)
    try:
        if path.is_dir():
            raise AssetError(str(path), "file", "a folder", "a GLB, VRM or glTF file")
        if not path.is_file():
            found = "something that is not a regular file" if path.exists() else "no such file"
            raise AssetError(str(path), "file", found, "a GLB, VRM or glTF file")
        size = path.stat().st_size
        if size > MAX_FILE:
            raise AssetError(str(path), "file", f"{size:,} bytes", f"at most {MAX_FILE:,} bytes")
        data = path.read_bytes()
    except OSError as why:
        raise AssetError(
            str(path), "file", f"a file that cannot be read ({why.strerror or why})", "a readable file"
        ) from None
    except ValueError as why:  # a name with a NUL byte
        if isinstance(why, AssetError):
            raise
        raise AssetError(repr(str(path)), "file", f"a name that is not valid ({why})", "a file name") from None
    return parse_document(data, str(path), path)


def parse_document(data: bytes, name: str, path: Path | None = None) -> Document:
    """Take apart the bytes of a GLB or a glTF; `path` is where external files are looked for."""
    if data[:4] == b"glTF":
        text, binary, trailing = _glb_chunks(memoryview(data), name)
    else:
        head = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
        if not head.startswith(b"{"):
            found = f"a file that begins with {bytes(data[:12])!r}" if data else "an empty file"
            raise AssetError(name, "magic", found + ", not a GLB or glTF", "the GLB magic 'glTF' or a JSON object")
        text, binary, trailing = bytes(data).removeprefix(b"\xef\xbb\xbf"), None, 0
    document = Document(name, path, text, _parse_json(text, name), binary, len(data))
    if trailing:
        document.log.warn("file", f"{trailing} bytes after the GLB's end were ignored")
    _check_asset(document)
    return document


def _glb_chunks(data: memoryview, name: str) -> tuple[bytes, memoryview | None, int]:
    """JSON text, BIN chunk and number of trailing bytes of a GLB."""
    if len(data) < 20:
        raise AssetError(name, "GLB header", f"a file of {len(data)} bytes: truncated", "at least 20 bytes")
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise AssetError(name, "GLB header", f"version {version}", "version 2")
    if length > len(data):
        raise AssetError(
            name, "GLB header", f"a length of {length} bytes in a file of {len(data)}: truncated", "the whole file"
        )
    text, binary, at, index = None, None, 12, 0
    while at + 8 <= length:
        size, kind = struct.unpack_from("<II", data, at)
        at += 8
        if size > length - at:
            found = f"{size} bytes promised, {length - at} left: truncated"
            raise AssetError(name, f"GLB chunk {index}", found, "a chunk that ends inside the file")
        if index == 0:
            if kind != _JSON_CHUNK:
                raise AssetError(name, "GLB chunk 0", f"type 0x{kind:08x}", "the JSON chunk first")
            text = bytes(data[at : at + size])
        elif kind == _BIN_CHUNK and binary is None:
            binary = data[at : at + size]
        at += size + (-size % 4 if index == 0 and size % 4 else 0)
        index += 1
    if text is None:
        raise AssetError(name, "GLB", "no chunk", "a JSON chunk")
    return text, binary, len(data) - length


_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[[ord("{"), ord("[")]] = 1
_STEPS[[ord("}"), ord("]")]] = -1


def json_depth(text: bytes) -> int:
    """How deep brackets nest in JSON text; brackets inside strings do not count."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")
    codes = np.frombuffer(text, dtype=np.uint8)
    deepest = depth = inside = 0
    for start in range(0, len(codes), 1 << 20):  # in pieces, because the sums need more room than the text
        piece = codes[start : start + (1 << 20)]
        quoted = np.bitwise_xor.accumulate((piece == ord('"')).view(np.uint8)) ^ inside
        steps = _STEPS[piece]
        at = np.flatnonzero(steps)
        levels = depth + np.cumsum(np.where(quoted[at], 0, steps[at]), dtype=np.int64)
        deepest = max(deepest, int(levels.max(initial=0)))
        depth, inside = int(levels[-1]) if len(levels) else depth, int(quoted[-1])
    return deepest


def _parse_json(text: bytes, name: str) -> dict:
    depth = json_depth(text)
    if depth > MAX_JSON_DEPTH:
        raise AssetError(name, "JSON", f"{depth} levels of nesting", f"at most {MAX_JSON_DEPTH}")
    try:
        value = json.loads(text.decode("utf-8-sig").rstrip("\0"))
    except UnicodeDecodeError as why:
        raise AssetError(name, "JSON", f"bytes that are not UTF-8 at {why.start}", "UTF-8 text") from None
    except (ValueError, RecursionError) as why:
        raise AssetError(name, "JSON", f"text that does not parse ({why})", "valid JSON") from None
    if not isinstance(value, dict):
        raise AssetError(name, "JSON", describe(value), "an object")
    return value


def _check_asset(document: Document) -> None:
    asset = document.root.child("asset")
    if asset is None:
        document.log.warn("asset", "missing; read as glTF 2.0")
        return
    version = asset.text("version", "2.0")
    if not version.startswith("2"):
        raise asset.error("version", repr(version), "2.0")
