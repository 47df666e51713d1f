"""Accessors: typed arrays in a document's buffers, checked against their buffer before they are touched."""

from __future__ import annotations

import math

import numpy as np

from .document import MAX_FILE, Document
from .fields import Item

COMPONENTS = {
    5120: np.dtype("<i1"),
    5121: np.dtype("<u1"),
    5122: np.dtype("<i2"),
    5123: np.dtype("<u2"),
    5125: np.dtype("<u4"),
    5126: np.dtype("<f4"),
}
SHAPES = {"SCALAR": (), "VEC2": (2,), "VEC3": (3,), "VEC4": (4,), "MAT2": (2, 2), "MAT3": (3, 3), "MAT4": (4, 4)}
MESHOPT = ("EXT_meshopt_compression", "KHR_meshopt_compression")


def read_accessor(document: Document, index: int, wanted: tuple[str, ...] = ()) -> np.ndarray:
    """Array (count, ...) of accessor `index`: float64 (normalised integers decoded), other integers as stored.

    Matrices come as rows and columns. `wanted` names the types that fit the place, such as ("VEC3",). The array is
    shared between callers and read-only. Values that are not finite are refused.
    """
    accessors = document.items("accessors")
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(accessors):
        raise document.error(f"accessors[{index}]", "a reference to it", f"an index below {len(accessors)}")
    item = accessors[index]
    kind = item.text("type")
    if kind not in SHAPES:
        raise item.error("type", repr(kind), "one of " + ", ".join(SHAPES))
    if wanted and kind not in wanted:
        raise item.error("type", kind, " or ".join(wanted))
    key = ("accessor", index)
    if key not in document.cache:
        values = _decode(document, item, kind)
        values.setflags(write=False)
        document.cache[key] = values
    return document.cache[key]


def _decode(document: Document, item: Item, kind: str) -> np.ndarray:
    component = item.integer("componentType", low=0)
    if component not in COMPONENTS:
        raise item.error("componentType", str(component), "5120, 5121, 5122, 5123, 5125 or 5126")
    dtype = COMPONENTS[component]
    count = item.integer("count", low=0, below=MAX_FILE)
    shape = SHAPES[kind]
    elements = count * math.prod(shape)
    view = item.integer("bufferView", None, below=len(document.items("bufferViews")))
    if view is None:
        document.charge(elements * 8, item.where)
        values = np.zeros((count, *shape), dtype=dtype)
    else:
        offset = item.integer("byteOffset", 0, below=MAX_FILE)
        values = _strided(document, item, view, offset, dtype, shape, count)
        document.charge(elements * 8, item.where)  # only now: an external buffer counts into the file's own size
    if item.has("sparse"):
        values = _sparse(document, item, np.array(values), dtype, shape, count)
    if len(shape) == 2:
        values = values.swapaxes(1, 2)  # stored column by column
    if dtype.kind == "f":
        # Values beyond 1e30 overflow in products, so they are no more use than infinity. NaN fails both comparisons.
        if count and not (values.min() >= -1e30 and values.max() <= 1e30):
            good = np.abs(values) <= 1e30
            bad = int(np.argmin(good.reshape(count, -1).all(axis=1)))
            raise item.error("", f"a value in element {bad} that is NaN or not finite", "finite numbers")
        return values.astype(np.float64)
    if item.flag("normalized"):
        limit = float(np.iinfo(dtype).max)
        return np.maximum(values.astype(np.float64) / limit, -1.0)
    return np.array(values)


def _strided(document: Document, item: Item, view: int, offset: int, dtype, shape, count: int) -> np.ndarray:
    """View of `count` elements in buffer view `view`, tight or interleaved; a copy only where columns are padded."""
    data, stride = view_bytes(document, view)
    rows = shape[0] if len(shape) == 2 else 1
    column = dtype.itemsize * rows
    padded = column + (-column % 4 if len(shape) == 2 else 0)  # matrix columns start at multiples of four bytes
    size = padded * shape[1] if len(shape) == 2 else dtype.itemsize * math.prod(shape)
    stride = stride or size
    if stride < size:
        raise item.error(
            "bufferView", f"byteStride {stride} for elements of {size} bytes", "a stride of at least an element"
        )
    needed = offset + (stride * (count - 1) + size if count else 0)
    if needed > len(data):
        raise item.error(
            "",
            f"an accessor that needs {needed:,} bytes of bufferViews[{view}], which has {len(data):,}",
            "an accessor that fits its buffer view",
        )
    if count == 0:
        return np.zeros((0, *shape), dtype=dtype)
    if len(shape) == 2:
        strides = (stride, padded, dtype.itemsize)
        return np.ndarray((count, shape[1], rows), dtype, buffer=data, offset=offset, strides=strides)
    strides = (stride,) + ((dtype.itemsize,) if shape else ())
    return np.ndarray((count, *shape), dtype, buffer=data, offset=offset, strides=strides)


def view_bytes(document: Document, index: int) -> tuple[memoryview, int | None]:
    """Bytes of buffer view `index` and its stride (None where tight), decompressed where it is compressed."""
    item = document.items("bufferViews")[index]
    for name in MESHOPT if item.has("extensions") else ():
        packed = item.extension(name)
        if packed is not None:
            key = ("view", index)
            if key not in document.cache:
                from .compressed import decode_meshopt

                document.cache[key] = decode_meshopt(document, packed, name)
            return document.cache[key], packed.integer("byteStride", low=1, below=257)
    buffer = document.buffer(item.integer("buffer", below=len(document.items("buffers"))))
    offset = item.integer("byteOffset", 0, below=MAX_FILE)
    length = item.integer("byteLength", low=0, below=MAX_FILE)
    if offset + length > len(buffer):
        raise item.error(
            "", f"bytes {offset} to {offset + length} of a buffer of {len(buffer)}", "a view inside its buffer"
        )
    return buffer[offset : offset + length], item.integer("byteStride", None, below=1 << 16) or None


def _sparse(document: Document, item: Item, values: np.ndarray, dtype, shape, count: int) -> np.ndarray:
    sparse = item.child("sparse")
    number = sparse.integer("count", low=0, below=count + 1)
    views = len(document.items("bufferViews"))
    where, what = sparse.child("indices"), sparse.child("values")
    if where is None or what is None:
        raise sparse.error("", "no indices or no values", "both")
    component = where.integer("componentType")
    if component not in (5121, 5123, 5125):
        raise where.error("componentType", str(component), "5121, 5123 or 5125")
    at = where.integer("byteOffset", 0, below=MAX_FILE)
    view = where.integer("bufferView", below=views)
    indices = _strided(document, where, view, at, COMPONENTS[component], (), number).astype(np.int64)
    if number and int(indices.max()) >= count:
        raise where.error("", f"index {int(indices.max())}", f"indices below {count}")
    at = what.integer("byteOffset", 0, below=MAX_FILE)
    patch = _strided(document, what, what.integer("bufferView", below=views), at, dtype, shape, number)
    values[indices] = patch
    return values
