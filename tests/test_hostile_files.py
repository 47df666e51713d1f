"""A file is data from a stranger: sizes, cycles, paths, depth, pictures. Only AssetError comes out, and quickly."""

from __future__ import annotations

import io
import json
import struct
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from glb import QUAD, QUAD_TRIANGLES, Glb, pack
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taichi_hair.avatar.avatar import AssetError, load, load_bytes
from taichi_hair.avatar.document import json_depth
from taichi_hair.avatar.errors import Log
from taichi_hair.hair import HairRig


def refused(data: bytes, match: str):
    """Loading refuses, within seconds and without much memory."""
    load_bytes(Glb(nodes=[{}]).bytes())  # imports do not count
    start = time.process_time()  # not the wall's: what else the machine does is no fault of the reader
    with pytest.raises(AssetError, match=match) as caught:
        load_bytes(data, "hostile.glb")
    assert time.process_time() - start < 3.0
    tracemalloc.start()
    with pytest.raises(AssetError, match=match):
        load_bytes(data, "hostile.glb")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6
    assert "hostile.glb" in str(caught.value)
    return caught.value


@pytest.mark.parametrize("count", [10**6 * 4, 2**30, 2**31 - 2])
def test_a_small_file_cannot_ask_for_much_memory(count):
    glb = Glb()
    position = glb.add("accessors", {"componentType": 5126, "count": count, "type": "VEC3"})
    mesh = glb.add("meshes", {"primitives": [{"attributes": {"POSITION": position}}]})
    glb.node("n", mesh=mesh)
    refused(glb.bytes(), "memory")


def test_many_references_to_one_accessor_count_every_time():
    glb = Glb()
    position = glb.add("accessors", {"componentType": 5126, "count": 100_000, "type": "VEC3"})
    mesh = glb.add("meshes", {"primitives": [{"attributes": {"POSITION": position}}] * 1000})
    glb.node("n", mesh=mesh)
    refused(glb.bytes(), "memory")


def test_many_morph_targets_of_one_accessor_count_every_time():
    glb = Glb()
    position = glb.add("accessors", {"componentType": 5126, "count": 100_000, "type": "VEC3"})
    body = {"attributes": {"POSITION": position}, "targets": [{"POSITION": position}] * 20_000}
    glb.node("n", mesh=glb.add("meshes", {"primitives": [body], "weights": [1.0] * 20_000}))
    refused(glb.bytes(), "memory")


def test_many_springs_with_many_colliders_count_every_time():
    glb = Glb()
    line = glb.line(2)
    colliders = [{"node": 0, "shape": {"sphere": {}}}] * 5000
    springs = [{"joints": [{"node": n} for n in line], "colliderGroups": [0, 1 + i]} for i in range(5000)]
    glb.springs(springs, colliders, [range(5000), *([i] for i in range(5000))])
    refused(glb.bytes(), "memory")


@pytest.mark.parametrize(
    "nodes",
    [
        [{"children": [0]}],
        [{"children": [1]}, {"children": [0]}],
        [{"children": [1]}, {"children": [2]}, {"children": [1]}],
        [{"children": [2]}, {"children": [2]}, {}],
        [{}, {"children": [2]}, {"children": [3]}, {"children": [1]}],
    ],
)
def test_cycles_and_two_parents_are_refused_with_a_node(nodes):
    error = refused(Glb(nodes=nodes).bytes(), "cycle|two parents")
    assert "nodes[" in error.part


def test_a_chain_of_nodes_deeper_than_any_rig_is_refused():
    count = 20_000
    nodes = [{"children": [i + 1]} for i in range(count - 1)] + [{}]
    refused(Glb(nodes=nodes).bytes(), "ancestors")


@pytest.mark.parametrize("depth", [101, 5000, 500_000])
def test_json_that_nests_deeply_is_refused(depth):
    refused(pack(b'{"a":' + b"[" * depth + b"]" * depth + b"}"), "nesting")


def test_brackets_inside_strings_do_not_count_as_depth():
    assert json_depth(b'{"a": "[[[[{{{\\"[[[\\\\", "b": [1, {"c": 2}]}') == 3
    text = json.dumps({"nodes": [{"name": "[" * 500 + '\\"' + "[" * 500}], "asset": {"version": "2.0"}}).encode()
    assert load_bytes(pack(text)).skeleton.names[0].startswith("[[[")


@pytest.mark.parametrize(
    "uri",
    [
        "../secret.bin",
        "a/../../secret.bin",
        "%2e%2e/secret.bin",
        "/etc/passwd",
        "file:///etc/passwd",
        "http://127.0.0.1:9/x.bin",
        "https://example.com/x.bin",
        "C:/secret.bin",
        "..\\secret.bin",
        "a\0b",
    ],
)
@pytest.mark.parametrize("kind", ["buffers", "images"])
def test_uris_lead_nowhere_but_into_the_model_s_folder(tmp_path, uri, kind):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(100))
    glb = Glb()
    glb.node("n", mesh=glb.mesh(QUAD, QUAD_TRIANGLES))
    glb.json["buffers"] = [{"byteLength": len(glb.data), "uri": "ok.bin"}]
    (folder / "ok.bin").write_bytes(glb.data)
    if kind == "buffers":
        glb.json["buffers"][0]["uri"] = uri
    else:
        glb.json["images"] = [{"uri": uri}]
    (folder / "model.gltf").write_text(json.dumps(glb.json))
    with pytest.raises(AssetError, match="inside the model's own folder"):
        load(folder / "model.gltf")


def test_a_symbolic_link_out_of_the_folder_is_not_followed(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(100))
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    glb = Glb(buffers=[{"byteLength": 100, "uri": "link.bin"}])
    glb.add("bufferViews", {"buffer": 0, "byteLength": 100})
    glb.add("accessors", {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"})
    glb.node("n", mesh=glb.add("meshes", {"primitives": [{"attributes": {"POSITION": 0}}]}))
    (folder / "model.gltf").write_text(json.dumps(glb.json))
    with pytest.raises(AssetError, match="outside"):
        load(folder / "model.gltf")


def test_a_model_from_bytes_has_no_folder_to_read_from():
    glb = Glb(buffers=[{"byteLength": 36, "uri": "triangle.bin"}])
    glb.add("bufferViews", {"buffer": 0, "byteLength": 36})
    glb.add("accessors", {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"})
    glb.node("n", mesh=glb.add("meshes", {"primitives": [{"attributes": {"POSITION": 0}}]}))
    with pytest.raises(AssetError, match="no folder"):
        load_bytes(json.dumps(glb.json).encode())


def png(width: int, height: int) -> bytes:
    """A PNG that says it is that large; its pixels are one row."""
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(("width", "height"), [(20000, 2), (10000, 10000), (2**31 - 1, 2**31 - 1)])
def test_an_image_that_claims_to_be_huge_is_left_out_by_its_header(width, height):
    glb = Glb(nodes=[{}])
    glb.add("images", {"bufferView": glb.view(png(width, height)), "mimeType": "image/png", "name": "huge"})
    avatar = glb.load()
    assert avatar.images[0] is None and avatar.images.problems == []
    assert any("images[0]" in w and "'huge'" in w for w in avatar.warnings)


def test_many_images_are_bounded_together():
    glb = Glb(nodes=[{}])
    view = glb.view(png(8000, 8000))
    glb.json["images"] = [{"bufferView": view}] * 10
    avatar = glb.load()
    assert [avatar.images.size(i) is None for i in range(10)] == [False] + [True] * 9
    assert sum("with the images before it" in w for w in avatar.warnings) == 9


def test_a_broken_image_is_none_and_reported_not_raised():
    glb = Glb(nodes=[{}])
    glb.add("images", {"bufferView": glb.view(png(64, 64)), "name": "cut"})
    glb.add("images", {"bufferView": glb.view(b"no picture at all"), "name": "text"})
    avatar = glb.load()
    assert any("text" in w for w in avatar.warnings)
    assert list(avatar.images) == [None, None]
    assert any("cut" in p for p in avatar.images.problems)
    assert any("cut" in w for w in avatar.report.warnings)


def test_only_known_picture_formats_are_opened():
    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", (4, 4)).save(stream, "EPS")
    glb = Glb(nodes=[{}])
    glb.add("images", {"bufferView": glb.view(stream.getvalue())})
    avatar = glb.load()
    assert avatar.images[0] is None and avatar.warnings


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"glTF",
        b"glTF" + bytes(100),
        b"\x89PNG\r\n\x1a\n",
        b"{",
        b"[]",
        b"null",
        b'{"asset": {"version": "1.0"}}',
        b"\xff\xfe{\x00}\x00",
        pack(b"{}")[:-1],
        pack(b"\xff\xff\xff\xff"),
        b"{" + b'"a":1,' * 3 + b"}",
        b'{"nodes": ' + b"9" * 10_000 + b"}",
    ],
)
def test_what_is_no_gltf_is_refused(data):
    refused(data, "hostile")


def test_a_byte_order_mark_before_the_json_is_no_fault():
    assert len(load_bytes(pack(b"\xef\xbb\xbf" + b'{"nodes": [{}]}')).skeleton) == 1
    assert len(load_bytes(b"\xef\xbb\xbf" + b'{"nodes": [{}]}').skeleton) == 1


def test_names_that_steer_a_terminal_are_shown_as_text():
    from rich.console import Console

    glb = Glb()
    nodes = glb.human()
    line = [glb.node("\x1b[31m[bold]hair\x07", nodes["head"], translation=[0, -0.1, 0])]
    line.append(glb.node("\ud800", line[0], translation=[0, -0.1, 0]))
    glb.springs([{"name": "[red]x\x1b]0;t\x07", "joints": [{"node": n} for n in line]}])
    text = json.dumps(glb.json).encode()
    avatar = load_bytes(pack(text), "[bold]\x1b[0m.glb")
    stream = io.StringIO()
    avatar.report.render(Console(file=stream, width=200, force_terminal=True, color_system=None))
    shown = stream.getvalue()
    assert "\x07" not in shown and "[red]x" in shown and "\x1b[31m" not in shown and "\x1b]" not in shown
    avatar.report.to_json().encode("utf-8")


def test_warnings_are_bounded():
    log = Log()
    for i in range(10_000):
        log.warn("x", str(i))
        log.warn("x", "0")
    assert len(log.warnings) == Log.LIMIT + 1 and str(10_000 - Log.LIMIT) in log.warnings[-1]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def rich_file() -> Glb:
    """A file with a bit of everything that the reader looks at."""
    glb = Glb(scene=0, scenes=[{"nodes": [0]}])
    nodes = glb.human()
    line = glb.line(3, nodes["head"])
    skin = glb.add(
        "skins", {"joints": line, "inverseBindMatrices": glb.accessor(np.tile(np.eye(4).reshape(16), (3, 1)))}
    )
    attributes = {
        "JOINTS_0": glb.accessor(np.zeros((4, 4)), "u1"),
        "WEIGHTS_0": glb.accessor([[1, 0, 0, 0]] * 4),
        "NORMAL": glb.accessor([[0, 0, 1]] * 4),
        "TEXCOORD_0": glb.accessor(QUAD[:, :2]),
    }
    mesh = glb.mesh(QUAD, QUAD_TRIANGLES, attributes=attributes, material=0, targets=[{"POSITION": 0}])
    glb.node("body", nodes["hips"], mesh=mesh, skin=skin)
    glb.add("images", {"bufferView": glb.view(png(2, 2))})
    glb.add("samplers", {"wrapS": 33071})
    glb.add("textures", {"source": 0, "sampler": 0})
    mtoon = {"shadeColorFactor": [1, 1, 1], "shadingShiftTexture": {"index": 0}}
    pbr = {"baseColorTexture": {"index": 0}, "baseColorFactor": [1, 1, 1, 1]}
    glb.add("materials", {"pbrMetallicRoughness": pbr, "extensions": {"VRMC_materials_mtoon": mtoon}})
    limit = {"VRMC_springBone_limit": {"limit": {"cone": {"angle": 0.5}}}}
    glb.springs(
        [{"joints": [{"node": n, "extensions": limit} for n in line], "colliderGroups": [0], "center": 0}],
        [{"node": 0, "shape": {"capsule": {"tail": [0, 1, 0]}}}],
        [[0]],
    )
    roll = {"VRMC_node_constraint": {"constraint": {"roll": {"source": 0, "rollAxis": "X"}}}}
    glb.json["nodes"][nodes["leftHand"]]["extensions"] = roll
    times = glb.accessor([0.0, 1.0])
    target = {"sampler": 0, "target": {"node": 0, "path": "translation"}}
    glb.add("animations", {"samplers": [{"input": times, "output": 0}], "channels": [target]})
    glb.json["buffers"] = [{"byteLength": len(glb.data)}]
    return glb


def paths(value, path=()):
    """Addresses of all values inside a JSON tree."""
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths(inner, (*path, key))


RICH = rich_file()
PATHS = [p for p in paths(RICH.json) if p]


def test_the_file_to_mutate_loads_without_a_word():
    assert RICH.load().warnings == ()


@settings(max_examples=300, deadline=2000, suppress_health_check=list(HealthCheck))
@given(path=st.sampled_from(PATHS), value=VALUES, remove=st.booleans())
def test_any_value_anywhere_is_read_or_refused(path, value, remove):
    content = json.loads(json.dumps(RICH.json))
    parent = content
    for key in path[:-1]:
        parent = parent[key]
    if remove:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    use(pack(json.dumps(content).encode(), bytes(RICH.data)))


@settings(max_examples=200, deadline=2000, suppress_health_check=list(HealthCheck))
@given(changes=st.lists(st.tuples(st.integers(0, len(RICH.bytes()) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_any_byte_anywhere_is_read_or_refused(changes):
    data = bytearray(RICH.bytes())
    for at, byte in changes:
        data[at] = byte
    use(bytes(data))


def use(data: bytes) -> None:
    """Read a file and everything that the reader offers on it; AssetError is the only way out."""
    from taichi_hair.avatar.saving import to_bytes

    try:
        avatar = load_bytes(data, "mutated.glb")
        list(avatar.images)
        for i in range(len(avatar.parts)):
            assert np.isfinite(avatar.vertex_colors(i)).all()
        avatar.report.to_json()
        to_bytes(avatar)
        if avatar.vrm != "0.x":
            to_bytes(replace(avatar, hair=HairRig(avatar.hair.chains, avatar.hair.colliders)))
    except AssetError:
        return
    assert np.isfinite(avatar.skeleton.rest_world).all()
    for chain in avatar.hair.chains:
        assert np.isfinite(chain.tails).all()
