"""Compressed geometry in a document: KHR_draco_mesh_compression through DracoPy, EXT_meshopt_compression by our own."""

from __future__ import annotations

import numpy as np

from . import meshopt
from .document import MAX_FILE, Document
from .fields import Item

MODES = ("ATTRIBUTES", "TRIANGLES", "INDICES")
FILTERS = {
    "OCTAHEDRAL": (meshopt.filter_octahedral, (4, 8)),
    "QUATERNION": (meshopt.filter_quaternion, (8,)),
    "EXPONENTIAL": (meshopt.filter_exponential, None),
}


def decode_meshopt(document: Document, packed: Item, name: str) -> memoryview:
    """Bytes of a buffer view that a meshopt extension holds, of length count * byteStride."""
    count = packed.integer("count", low=0, below=MAX_FILE)
    stride = packed.integer("byteStride", low=1, below=257)
    mode = packed.text("mode")
    if mode not in MODES:
        raise packed.error("mode", repr(mode), " or ".join(MODES))
    source = document.buffer(packed.integer("buffer", below=len(document.items("buffers"))))
    offset = packed.integer("byteOffset", 0, below=MAX_FILE)
    length = packed.integer("byteLength", low=0, below=MAX_FILE)
    if offset + length > len(source):
        found = f"bytes {offset} to {offset + length} of a buffer of {len(source)}"
        raise packed.error("", found, "a stream inside its buffer")
    document.charge(count * max(stride, 16) * 2, packed.where)
    data = bytes(source[offset : offset + length])
    try:
        if mode == "ATTRIBUTES":
            values = meshopt.decode_vertices(data, count, stride)
        else:
            if stride not in (2, 4):
                raise ValueError(f"indices of {stride} bytes, wanted 2 or 4")
            indices = (meshopt.decode_triangles if mode == "TRIANGLES" else meshopt.decode_sequence)(data, count)
            values = indices.astype(np.uint16 if stride == 2 else np.uint32).view(np.uint8).reshape(count, stride)
    except ValueError as why:
        raise packed.error("", str(why), f"a whole {name} stream") from None
    kind = packed.text("filter", "NONE")
    if kind != "NONE":
        if kind not in FILTERS or mode != "ATTRIBUTES":
            raise packed.error(
                "filter", f"{kind!r} on {mode}", "NONE, or one of " + ", ".join(FILTERS) + " on ATTRIBUTES"
            )
        decode, strides = FILTERS[kind]
        if (strides is not None and stride not in strides) or stride % 4:
            raise packed.error("byteStride", f"{stride} with {kind}", "a stride that the filter has")
        values = decode(values)
    return memoryview(np.ascontiguousarray(values)).cast("B")


def decode_draco(document: Document, primitive: Item, packed: Item) -> dict[str, np.ndarray]:
    """Attribute name -> decoded array, and "indices", of a primitive that KHR_draco_mesh_compression holds."""
    try:
        import DracoPy
    except ImportError:
        raise primitive.error(
            "extensions.KHR_draco_mesh_compression",
            "compressed geometry, and no decoder for it is installed",
            'pip install "taichi-hair[draco]", or the file exported without KHR_draco_mesh_compression',
        ) from None
    from .accessors import COMPONENTS, view_bytes

    view = packed.integer("bufferView", below=len(document.items("bufferViews")))
    accessors = document.items("accessors")
    attributes = primitive.child("attributes") or Item({}, primitive.where + ".attributes", primitive.file)
    numbers = packed.child("attributes") or Item({}, packed.where + ".attributes", packed.file)
    for name in numbers.value:
        count = accessors[attributes.integer(name, below=len(accessors))].integer("count", low=0, below=MAX_FILE)
        document.charge(count * 64, packed.where)
    try:
        mesh = DracoPy.decode(bytes(view_bytes(document, view)[0]))
        stored = {a["unique_id"]: np.asarray(a["data"]) for a in mesh.attributes}
        faces = getattr(mesh, "faces", None)
    except Exception as why:
        found = f"KHR_draco_mesh_compression data that does not decode ({why})"
        raise packed.error("bufferView", found, "a Draco stream") from None
    result = {}
    for name in numbers.value:
        number = numbers.integer(name)
        if number not in stored:
            raise numbers.error(name, f"attribute {number}, which the Draco stream lacks", f"one of {sorted(stored)}")
        values = stored[number]
        accessor = accessors[attributes.integer(name)]
        if accessor.flag("normalized") and values.dtype.kind in "iu":
            component = COMPONENTS.get(accessor.integer("componentType"), values.dtype)
            values = np.maximum(values / float(np.iinfo(component).max), -1.0)
        values = values.reshape(len(values), -1)
        if values.dtype.kind == "f" and not (np.abs(values) <= 1e30).all():
            raise numbers.error(name, "a value that is NaN or not finite", "finite numbers")
        result[name] = values
    if faces is not None:
        result["indices"] = np.asarray(faces).reshape(-1)
    return result
