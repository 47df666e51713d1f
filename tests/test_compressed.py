"""Compressed geometry: streams written by the meshopt encoder, Draco with and without its decoder."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
from glb import QUAD, QUAD_TRIANGLES, Glb

from taichi_hair.avatar import meshopt
from taichi_hair.avatar.avatar import AssetError

# Written by meshoptimizer's reference encoder 0.23 (vertex format 0, index format 1).
QUAD_STREAM = bytes.fromhex(
    "a00000013f000000ffffff013f0000007e7d7e0000010c000000ff010c0000007e00000001030000007e0000"
    "000000000000000000000000000000000000000000000000000000000000"
)
QUAD_INDICES = bytes.fromhex("e1f010007687566778a9866589689801690000")
QUAD_SEQUENCE = bytes.fromhex("d100040400020800000000")
# fmt: off
RANDOM_INDICES = bytes.fromhex(
    "e1fffffffffffffeffffffffffffffffbffaffffffff302b061304ff26111fff020e06f70c07ff132004ff2514ef0308bf050ef80317ff22"
    "0c09f61d02ff14020c7f230ff9043631ff1a130ef111244f2d2a007687566778a9866589689801690000"
)
RANDOM_TRIANGLES = [
    24, 2, 5, 7, 5, 24, 26, 17, 1, 2, 9, 12, 18, 14, 7, 4, 20, 22, 0, 3, 13, 11, 26, 15, 12, 12, 19, 17, 5, 22, 22, 28,
    23, 8, 9, 19, 19, 20, 26, 8, 28, 0, 2, 29, 28, 9, 8, 4, 1, 26, 19, 17, 7, 14, 5, 23, 14, 0, 7, 21,
]
WIDE = bytes.fromhex(
    "a01f00807f807f807f807f957f807f957f806a806a806a806a806a806a956a806a95ffff000088806a956a956a951e002244668faacfcf1f"
    "191017101514131411160d180d0b0b1c0709ffd5000009200503031f00a05fa05fa05fa05f755fa05f755fa08aa08aa08aa08aa08a755f75"
    "8aa08a75ffff0000a8a08a758a758a751e002244668faacfef1d1b101710151413140f160f0d1a0b0b1c0907ffd4000009200503031f00c0"
    "3fc03fc03fc03f553fc03f553fc0aac0aac0aac0aac0aa553f55aac0aa55ffff0000c8553f55aa55aa551e002244688facafef1f19101710"
    "1312131611160d0d180b091c0907ffd1000009072203031f00e01fe01fe01fe01f351fe01f351f351fe0cae0cae0cae0ca351f35ca351f35"
    "ffff0000e835cae0ca35ca351e002246668faacfef1d191710101312111411180f0d1a0b0b091e07ff540000090703221d33333333ffffff"
    "ff15ff151500ffeaffeaffea1500150015ea150015ff3f0000f715ea1515ea151e002444688faacfef1d19171010131211140f0f180d1a0b"
    "0b091e07ffd4000009050503241f00df20df20df20df200a20dff5df200a20dff5dff5dff50a200af5dff50a200affff0000d70af50af50a"
    "200a1e002444688facfeef1d1b17101215141316110f180d0b1a09091e07ff5c000009050503261f00bf40bf40bf40bf402a40bfd5bf402a"
    "402a40bfd52a402a402ad5bfd52ad5bfffff0000b72ad52ad52ad52a1e002446688faafeef1d191710151214130f160f180d0b1a09090920"
    "ff500000090505031f009f609f609f609fb59f609fb59f604a604a604a604a604a604ab59fb54ab59fffff0000974ab54ab54ab54a1e0042"
    "4668f8cafeef1d1917101512111411160f180b0d1c09090920fdd00000090505030000000000000000000000000000000000000100040009"
    "001000190024003100"
)
# fmt: on


def test_a_vertex_stream_decodes_to_the_bytes_that_were_encoded():
    decoded = meshopt.decode_vertices(QUAD_STREAM, 4, 12).view("<f4")
    np.testing.assert_array_equal(decoded, [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.5]])
    wide = (np.arange(320) ** 2 % 65536 % 5003).astype("<u2").reshape(40, 8)
    np.testing.assert_array_equal(meshopt.decode_vertices(WIDE, 40, 16).view("<u2"), wide)


def test_index_streams_decode_to_the_triangles_that_were_encoded():
    np.testing.assert_array_equal(meshopt.decode_triangles(QUAD_INDICES, 6), [0, 1, 2, 2, 1, 3])
    np.testing.assert_array_equal(meshopt.decode_triangles(RANDOM_INDICES, 60), RANDOM_TRIANGLES)
    np.testing.assert_array_equal(meshopt.decode_sequence(QUAD_SEQUENCE, 6), [0, 1, 2, 2, 1, 3])


@pytest.mark.parametrize(
    ("decode", "stream", "size"),
    [
        (lambda d: meshopt.decode_vertices(d, 40, 16), WIDE, 0),
        (lambda d: meshopt.decode_triangles(d, 60), RANDOM_INDICES, 0),
        (lambda d: meshopt.decode_sequence(d, 6), QUAD_SEQUENCE, 0),
    ],
)
def test_streams_that_are_cut_or_too_long_are_refused(decode, stream, size):
    for data in (b"", stream[:1], stream[: len(stream) // 2], stream[:-1], stream + b"\0" * 40, b"\0" + stream[1:]):
        with pytest.raises(ValueError):
            decode(data)


def test_an_octahedral_filter_gives_unit_vectors():
    # Octahedral (x, y) with one = 127: (64, 0) is (64, 0, 63) before it is made long; beyond |x| + |y| = 1 it folds.
    packed = np.array([[64, 0, 127, 5], [0, 0, 127, 0], [127, 127, 127, 0]], dtype=np.int8).view(np.uint8)
    out = meshopt.filter_octahedral(packed).view(np.int8)
    np.testing.assert_array_equal(out[0], [91, 0, 89, 5])  # 127 * 64 / hypot(64, 63) = 90.5 and 89.1
    np.testing.assert_array_equal(out[1], [0, 0, 127, 0])
    np.testing.assert_array_equal(out[2], [0, 0, -127, 0])


def test_a_quaternion_filter_puts_the_largest_component_where_its_code_says():
    packed = np.array([[0, 0, 0, 2047 & ~3 | place] for place in range(4)], dtype=np.int16).view(np.uint8)
    out = meshopt.filter_quaternion(packed.reshape(4, 8)).view(np.int16)
    np.testing.assert_array_equal(out, np.eye(4) * 32767)


def test_an_exponential_filter_gives_mantissa_times_power_of_two():
    words = np.array([[(3 << 24) | 5, (0xFE << 24) | 0xFFFFFD]], dtype=np.uint32)
    out = meshopt.filter_exponential(words.view(np.uint8)).view(np.float32)
    np.testing.assert_array_equal(out, [[5 * 8, -3 * 0.25]])


def packed_quad() -> Glb:
    """The quad with meshopt streams; the plain buffer behind the views has no data."""
    glb = Glb(extensionsRequired=["EXT_meshopt_compression"])
    views = []
    for data, stride, count, mode in ((QUAD_STREAM, 12, 4, "ATTRIBUTES"), (QUAD_INDICES, 2, 6, "TRIANGLES")):
        place = glb.view(data)
        source = glb.json["bufferViews"][place]
        extension = {**source, "byteStride": stride, "count": count, "mode": mode}
        views.append((stride * count, stride if mode == "ATTRIBUTES" else None, extension))
    glb.json["bufferViews"] = []
    for length, stride, extension in views:
        view = {"buffer": 1, "byteLength": length, "extensions": {"EXT_meshopt_compression": extension}}
        glb.add("bufferViews", {**view, "byteStride": stride} if stride else view)
    fallback = {"byteLength": 60, "extensions": {"EXT_meshopt_compression": {"fallback": True}}}
    glb.json["buffers"] = [{"byteLength": len(glb.data)}, fallback]
    glb.add("accessors", {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"})
    glb.add("accessors", {"bufferView": 1, "componentType": 5123, "count": 6, "type": "SCALAR"})
    glb.node("n", mesh=glb.add("meshes", {"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}))
    return glb


def test_a_file_with_meshopt_compression_loads():
    (part,) = packed_quad().load().parts
    np.testing.assert_array_equal(part.positions, [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.5]])
    np.testing.assert_array_equal(part.triangles, [[0, 1, 2], [2, 1, 3]])


@pytest.mark.parametrize(
    "change", [{"count": 100}, {"mode": "POINTS"}, {"byteLength": 9999}, {"filter": "WAVELET"}, {"count": 2**30}]
)
def test_a_faulty_meshopt_view_is_refused_with_its_place(change):
    glb = packed_quad()
    glb.json["bufferViews"][0]["extensions"]["EXT_meshopt_compression"].update(change)
    with pytest.raises(AssetError, match=r"bufferViews\[0\]\.extensions\.EXT_meshopt_compression"):
        glb.load()


def draco_quad(stream: bytes) -> Glb:
    glb = Glb(extensionsRequired=["KHR_draco_mesh_compression"])
    view = glb.view(stream)
    glb.add("accessors", {"componentType": 5126, "count": 4, "type": "VEC3"})
    glb.add("accessors", {"componentType": 5123, "count": 6, "type": "SCALAR"})
    extension = {"KHR_draco_mesh_compression": {"bufferView": view, "attributes": {"POSITION": 0}}}
    body = {"attributes": {"POSITION": 0}, "indices": 1, "extensions": extension}
    glb.node("n", mesh=glb.add("meshes", {"primitives": [body]}))
    return glb


def test_draco_without_its_decoder_is_refused_naming_extension_and_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "DracoPy":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(AssetError, match=r"KHR_draco_mesh_compression.*taichi-hair\[draco\]"):
        draco_quad(b"DRACO").load()


def test_draco_geometry_is_decoded():
    draco = pytest.importorskip("DracoPy", reason="the extra taichi-hair[draco] is not installed")
    stream = draco.encode(QUAD.astype(np.float32), QUAD_TRIANGLES.astype(np.uint32), preserve_order=True)
    (part,) = draco_quad(stream).load().parts
    corners = part.positions[part.triangles].reshape(-1, 3)
    np.testing.assert_allclose(
        sorted(map(tuple, corners)), sorted(map(tuple, QUAD[QUAD_TRIANGLES].reshape(-1, 3))), atol=1e-3
    )
    with pytest.raises(AssetError, match="KHR_draco_mesh_compression"):
        draco_quad(stream[: len(stream) // 2]).load()
