"""Decoders of EXT_meshopt_compression: vertex, triangle and index streams, and their filters, in NumPy.

The bitstreams are those of the extension's specification. Python reads the bytes, so that a broken stream is a
ValueError and never a fault of the process.
"""

from __future__ import annotations

import numpy as np

TAIL = 32  # bytes: a vertex stream ends in its first element, padded to at least this
GROUP = 16  # bytes of one column that share a bit width


def decode_vertices(data: bytes, count: int, stride: int) -> np.ndarray:
    """(count, stride) uint8 of an ATTRIBUTES stream, version 0."""
    if not data or data[0] != 0xA0:
        raise ValueError(f"a vertex stream with header {data[:1].hex() or 'missing'}, wanted a0")
    if stride % 4 or not 0 < stride <= 256:
        raise ValueError(f"a stride of {stride} bytes, wanted a multiple of 4 up to 256")
    tail = max(stride, TAIL)
    end = len(data) - tail
    if end < 1:
        raise ValueError("a vertex stream that is cut short")
    stream = np.frombuffer(data, dtype=np.uint8)
    last = stream[len(data) - stride :].astype(np.uint8)
    block = min((8192 // stride) & ~15, 256)
    result = np.empty((count, stride), dtype=np.uint8)
    at = 1
    for start in range(0, count, block):
        rows = min(block, count - start)
        groups = -(-rows // GROUP)
        for column in range(stride):
            deltas, at = _column(stream, at, groups, end)
            deltas = (deltas >> 1) ^ (0 - (deltas & 1)).astype(np.uint8)
            result[start : start + rows, column] = np.cumsum(deltas[:rows], dtype=np.uint8) + last[column]
        last = result[start + rows - 1]
    if at != end:
        raise ValueError(f"a vertex stream with {end - at} bytes left over")
    return result


def _column(stream: np.ndarray, at: int, groups: int, end: int) -> tuple[np.ndarray, int]:
    """Zigzag deltas of one byte column, (16 * groups,) uint8, and where the next column starts."""
    header = -(-groups // 4)
    if at + header > end:
        raise ValueError("a vertex stream that is cut short")
    widths = (stream[at : at + header, None] >> np.array([0, 2, 4, 6], dtype=np.uint8)) & 3
    at += header
    out = np.zeros(groups * GROUP, dtype=np.uint8)
    for group, width in enumerate(widths.reshape(-1)[:groups].tolist()):
        if width == 0:
            continue
        size = (0, 4, 8, 16)[width]
        if at + size > end:
            raise ValueError("a vertex stream that is cut short")
        packed = stream[at : at + size]
        at += size
        if width == 3:
            values = packed
        else:
            shifts = np.array([6, 4, 2, 0] if width == 1 else [4, 0], dtype=np.uint8)
            sentinel = 3 if width == 1 else 15
            values = ((packed[:, None] >> shifts) & sentinel).reshape(-1)
            large = values == sentinel
            extra = int(large.sum())
            if at + extra > end:
                raise ValueError("a vertex stream that is cut short")
            values[large] = stream[at : at + extra]
            at += extra
        out[group * GROUP : group * GROUP + GROUP] = values
    return out, at


class _Bytes:
    """A cursor over bytes that refuses to pass `end`."""

    def __init__(self, data: bytes, at: int, end: int):
        self.data, self.at, self.end = data, at, end

    def one(self) -> int:
        if self.at >= self.end:
            raise ValueError("an index stream that is cut short")
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """Variable-length number: seven bits a byte, at most five bytes."""
        value, shift = 0, 0
        while True:
            byte = self.one()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128 or shift == 35:
                return value

    def relative(self, last: int) -> int:
        value = self.number()
        return (last + ((value >> 1) ^ -(value & 1))) & 0xFFFFFFFF


def decode_triangles(data: bytes, count: int) -> np.ndarray:
    """(count,) uint32 of a TRIANGLES stream."""
    if not data or data[0] not in (0xE0, 0xE1):
        raise ValueError(f"a triangle stream with header {data[:1].hex() or 'missing'}, wanted e0 or e1")
    if count % 3:
        raise ValueError(f"a triangle stream of {count} indices, wanted a multiple of 3")
    codes_end = 1 + count // 3
    end = len(data) - 16
    if codes_end > end:
        raise ValueError("a triangle stream that is cut short")
    far = 13 if data[0] == 0xE1 else 15
    table = data[end:]
    stream = _Bytes(data, codes_end, end)
    edges = [(0, 0)] * 16
    fifo = [0] * 16
    e = v = following = last = 0
    out: list[int] = []
    for code in data[1:codes_end]:
        if code < 0xF0:
            a, b = edges[(e - 1 - (code >> 4)) & 15]
            c_code = code & 15
            if c_code == 0:
                c, following = following, following + 1
                fresh = (c,)
            elif c_code < far:
                c = fifo[(v - 1 - c_code) & 15]
                fresh = ()
            else:
                last = (last + (c_code - (c_code ^ 3))) & 0xFFFFFFFF if c_code != 15 else stream.relative(last)
                c = last
                fresh = (c,)
            new_edges = ((c, b), (a, c))
        else:
            aux = table[code & 15] if code < 0xFE else stream.one()
            b_code, c_code = aux >> 4, aux & 15
            if code >= 0xFE and aux == 0:
                following = 0
            a_code = 15 if code == 0xFF else 0
            a = b = c = 0
            if a_code == 0:
                a, following = following, following + 1
            if b_code == 0:
                b, following = following, following + 1
            else:
                b = fifo[(v - b_code) & 15]
            if c_code == 0:
                c, following = following, following + 1
            else:
                c = fifo[(v - c_code) & 15]
            stated = 15 if code >= 0xFE else -1
            if a_code == stated:
                a = last = stream.relative(last)
            if b_code == stated:
                b = last = stream.relative(last)
            if c_code == stated:
                c = last = stream.relative(last)
            fresh = (a, *((b,) if b_code in (0, stated) else ()), *((c,) if c_code in (0, stated) else ()))
            new_edges = ((b, a), (c, b), (a, c))
        out += (a, b, c)
        for vertex in fresh:
            fifo[v & 15] = vertex
            v += 1
        for edge in new_edges:
            edges[e & 15] = edge
            e += 1
    if stream.at != end:
        raise ValueError(f"a triangle stream with {end - stream.at} bytes left over")
    return np.array(out, dtype=np.uint64).astype(np.uint32)


def decode_sequence(data: bytes, count: int) -> np.ndarray:
    """(count,) uint32 of an INDICES stream."""
    if not data or data[0] not in (0xD0, 0xD1):
        raise ValueError(f"an index stream with header {data[:1].hex() or 'missing'}, wanted d0 or d1")
    end = len(data) - 4
    if end < 1 + count:
        raise ValueError("an index stream that is cut short")
    stream = _Bytes(data, 1, end)
    last = [0, 0]
    out = np.empty(count, dtype=np.uint32)
    for i in range(count):
        value = stream.number()
        line = value & 1
        value >>= 1
        last[line] = (last[line] + ((value >> 1) ^ -(value & 1))) & 0xFFFFFFFF
        out[i] = last[line]
    if stream.at != end:
        raise ValueError(f"an index stream with {end - stream.at} bytes left over")
    return out


def filter_octahedral(data: np.ndarray) -> np.ndarray:
    """(count, stride) uint8 of packed octahedral vectors as signed integers x, y, z, w of 8 (stride 4) or 16 bits."""
    kind, top = (np.int8, 127.0) if data.shape[1] == 4 else (np.int16, 32767.0)
    stored = np.ascontiguousarray(data).view(kind)
    values = stored.astype(np.float64)
    x, y, one = values[:, 0], values[:, 1], values[:, 2]
    z = one - np.abs(x) - np.abs(y)
    fold = np.minimum(z, 0.0)
    x = x + np.where(x >= 0.0, fold, -fold)
    y = y + np.where(y >= 0.0, fold, -fold)
    length = np.sqrt(x * x + y * y + z * z)
    scale = top / np.where(length > 0.0, length, 1.0)
    out = stored.copy()
    out[:, :3] = _rounded(np.stack([x, y, z], axis=1) * scale[:, None], top)
    return out.view(np.uint8)


def filter_quaternion(data: np.ndarray) -> np.ndarray:
    """(count, 8) uint8 of packed quaternions as four signed 16-bit integers."""
    stored = np.ascontiguousarray(data).view(np.int16).astype(np.int64)
    scale = (1.0 / np.sqrt(2.0)) / (stored[:, 3] | 3)
    xyz = stored[:, :3] * scale[:, None]
    w = np.sqrt(np.maximum(1.0 - (xyz * xyz).sum(axis=1), 0.0))
    values = _rounded(np.concatenate([xyz, w[:, None]], axis=1) * 32767.0, 32767.0)
    places = (np.arange(1, 5) + (stored[:, 3:] & 3)) % 4
    out = np.empty((len(data), 4), dtype=np.int16)
    np.put_along_axis(out, places, values.astype(np.int16), axis=1)
    return out.view(np.uint8)


def filter_exponential(data: np.ndarray) -> np.ndarray:
    """(count, stride) uint8 of 24-bit mantissas with 8-bit exponents as float32."""
    words = np.ascontiguousarray(data).view(np.int32)
    with np.errstate(over="ignore"):
        return np.ldexp((words << 8 >> 8).astype(np.float64), words >> 24).astype(np.float32).view(np.uint8)


def _rounded(values: np.ndarray, top: float) -> np.ndarray:
    """Nearest integer, halves away from zero, as the specification rounds."""
    return np.clip(np.trunc(values + np.where(values >= 0.0, 0.5, -0.5)), -top - 1, top)
