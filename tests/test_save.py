"""Load, save, load again: the same; what nobody reads keeps its bytes; a file is whole or not there."""

from __future__ import annotations

import base64
import json
from dataclasses import fields, replace

import numpy as np
import pytest
from conftest import shared_folder
from glb import QUAD, QUAD_TRIANGLES, Glb, pack

from taichi_hair.avatar import gltf
from taichi_hair.avatar.avatar import AssetError, load, load_bytes
from taichi_hair.avatar.saving import member_spans, save, to_bytes, with_members
from taichi_hair.hair import Chain, HairRig

FILES = [
    path
    for name in ("cases", "assets")
    if shared_folder(name)
    for path in sorted(shared_folder(name).rglob("*"))
    if path.suffix in (".glb", ".vrm", ".vrma", ".gltf")
]
needs_files = pytest.mark.parametrize(
    "path", FILES or [pytest.param(None, marks=pytest.mark.skip("no files"))], ids=str
)


def assert_same(a, b, where: str = "avatar") -> None:
    """Two descriptions hold the same values, all the way down."""
    assert type(a) is type(b), where
    if hasattr(a, "__dataclass_fields__"):
        for f in fields(a):
            if f.name not in ("document", "path", "name", "images"):
                assert_same(getattr(a, f.name), getattr(b, f.name), f"{where}.{f.name}")
    elif isinstance(a, np.ndarray):
        np.testing.assert_array_equal(a, b, err_msg=where)
    elif isinstance(a, (tuple, list)):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}[{i}]")
    else:
        assert a == b, where


@needs_files
def test_every_file_that_loads_is_the_same_after_saving(path, tmp_path):
    try:
        avatar = load(path)
    except AssetError:
        pytest.skip("does not load")
    copy = load(save(avatar, tmp_path / "copy.glb"))
    warned = [w for w in avatar.warnings if "bytes after" not in w]
    assert_same(replace(avatar, warnings=()), replace(copy, warnings=()))
    assert len(copy.warnings) == len(warned)
    for i in range(len(avatar.images)):
        assert avatar.images.encoded(i) == copy.images.encoded(i)
    if path.suffix != ".gltf":
        assert (tmp_path / "copy.glb").read_bytes() == path.read_bytes()


def odd() -> Glb:
    """A file with extras, unknown extensions, odd spacing and odd numbers."""
    glb = Glb(extras={"note": "kept"})
    nodes = glb.human()
    line = glb.line(3, nodes["head"])
    glb.node("mesh", mesh=glb.mesh(QUAD, QUAD_TRIANGLES))
    glb.springs([{"name": "s", "joints": [{"node": n} for n in line]}])
    glb.extend("ACME_secret", {"x": 1})
    return glb


UNKNOWN = '{ "x" : 1.0,  "y": 1E-09, "z": [ 1, 01e0 ]\t, "name": "\\u30ab\\u30df" }'.replace("01e0", "1e0")


def odd_bytes() -> bytes:
    glb = odd()
    glb.json["buffers"] = [{"byteLength": len(glb.data)}]
    text = json.dumps(glb.json, indent=1).replace(json.dumps({"x": 1}, indent=1).replace("\n", "\n  "), UNKNOWN)
    assert UNKNOWN in text
    return pack(text.encode(), bytes(glb.data))


def test_an_unchanged_avatar_keeps_every_byte():
    data = odd_bytes()
    assert to_bytes(load_bytes(data)) == data


def test_a_changed_rig_is_written_and_everything_else_keeps_its_bytes():
    avatar = load_bytes(odd_bytes())
    (chain,) = avatar.hair.chains
    changed = replace(avatar, hair=avatar.hair.with_chains([replace(chain, stiffness=chain.stiffness * 3.0)]))
    data = to_bytes(changed)
    assert UNKNOWN.encode() in data
    copy = load_bytes(data)
    assert_same(changed.hair, copy.hair)
    assert_same(avatar.parts, copy.parts)
    assert copy.document.json["extras"] == {"note": "kept"}


def test_a_rig_with_everything_survives_saving(tmp_path):
    glb = odd()
    springs = glb.json["extensions"]["VRMC_springBone"]
    limit = {"hinge": {"angle": 0.5, "rotation": [0.0, 0.0, 0.6, 0.8]}}
    springs["springs"][0]["joints"][0]["extensions"] = {"VRMC_springBone_limit": {"limit": limit}}
    shapes = [
        {"plane": {"normal": [0.0, 1.0, 0.0], "offset": [0.0, 1.0, 0.0]}},
        {"sphere": {"radius": 0.5, "inside": True}},
        {"capsule": {"radius": 0.5, "tail": [0, 1, 0], "inside": True}},
    ]
    springs["colliders"] = [
        {"node": 0, "extensions": {"VRMC_springBone_extended_collider": {"shape": shape}}} for shape in shapes
    ] + [{"node": 1, "shape": {"capsule": {"radius": 0.1, "tail": [0, 0.2, 0]}}}]
    springs["colliderGroups"] = [{"colliders": [3, 0, 1, 2]}]
    springs["springs"][0].update(colliderGroups=[0], center=0)
    avatar = glb.load()
    (chain,) = avatar.hair.chains
    free = replace(chain, name="open end", ends=np.array([*chain.ends[:-1], -1]), parent=None)
    changed = replace(avatar, hair=avatar.hair.with_chains([free]))
    copy = load(save(changed, tmp_path / "rig.vrm"))
    (written,) = copy.hair.chains
    assert copy.skeleton.names[written.ends[-1]] == "hair1_end" and len(copy.skeleton) == len(avatar.skeleton) + 1
    assert written.colliders == (3, 0, 1, 2) and written.center == 0
    np.testing.assert_allclose(written.tails, chain.tails, atol=1e-12)
    np.testing.assert_allclose(written.limits[0].rotation, chain.limits[0].rotation, atol=1e-12)
    assert_same(avatar.hair.colliders, copy.hair.colliders)


def test_external_data_moves_into_the_file(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    glb = odd()
    picture = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    (folder / "a.bin").write_bytes(glb.data)
    (folder / "skin.png").write_bytes(picture)
    glb.json["buffers"] = [{"byteLength": len(glb.data), "uri": "a.bin"}]
    glb.json["images"] = [{"uri": "skin.png", "extras": {"k": 1}}, {"uri": "gone.png"}]
    (folder / "model.gltf").write_text(json.dumps(glb.json))
    avatar = load(folder / "model.gltf")
    for name in ("one.glb", "one.gltf"):
        copy = load(save(avatar, tmp_path / name))
        assert_same(avatar.parts, copy.parts)
        assert copy.images.encoded(0) == picture and copy.images.encoded(1) is None
        assert copy.document.json["images"][0]["extras"] == {"k": 1}
        assert copy.document.json["extensions"]["ACME_secret"] == {"x": 1}
    assert load(save(avatar, folder / "beside.gltf")).document.json == avatar.document.json


def test_two_buffers_become_one(tmp_path):
    glb = Glb()
    first, second = QUAD.astype("<f4").tobytes(), QUAD_TRIANGLES.astype("<u2").tobytes()
    (tmp_path / "a.bin").write_bytes(first[:46] + first[46:])
    (tmp_path / "b.bin").write_bytes(b"\0" + second)
    glb.json["buffers"] = [{"byteLength": len(first), "uri": "a.bin"}, {"byteLength": 1 + len(second), "uri": "b.bin"}]
    glb.add("bufferViews", {"buffer": 0, "byteLength": len(first)})
    glb.add("bufferViews", {"buffer": 1, "byteOffset": 1, "byteLength": len(second)})
    glb.add("accessors", {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"})
    glb.add("accessors", {"bufferView": 1, "componentType": 5123, "count": 6, "type": "SCALAR"})
    glb.node("n", mesh=glb.add("meshes", {"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}))
    (tmp_path / "model.gltf").write_text(json.dumps(glb.json))
    copy = load(save(load(tmp_path / "model.gltf"), tmp_path / "one.glb"))
    np.testing.assert_array_equal(copy.parts[0].triangles, QUAD_TRIANGLES)
    assert len(copy.document.json["buffers"]) == 1


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.glb"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(gltf.os, "replace", full)
    with pytest.raises(AssetError, match=r"a\.glb.*No space left"):
        save(load_bytes(odd().bytes()), path)
    assert path.read_bytes() == b"old" and [p.name for p in tmp_path.iterdir()] == ["a.glb"]


@pytest.mark.parametrize("name", ["a.obj", "a", "no/such/folder/a.glb"])
def test_a_place_that_cannot_be_written_is_named(tmp_path, name):
    with pytest.raises(AssetError, match="wanted"):
        save(load_bytes(odd().bytes()), tmp_path / name)


def test_a_changed_rig_of_a_vrm_0_file_is_refused(assets):
    avatar = load(assets / "godette" / "Godette_vrm_v4.vrm")
    with pytest.raises(AssetError, match=r"VRM 1\.0"):
        to_bytes(replace(avatar, hair=avatar.hair.with_chains([])))


def test_members_are_found_and_set_in_text_that_stays_as_it_is():
    text = b'{ "a" : [1, {"b": "}"}] ,"c":{"d": 1 } }'
    spans = member_spans(text.decode())
    assert {k: text[s:e] for k, (s, e) in spans.items()} == {"a": b'[1, {"b": "}"}]', "c": b'{"d": 1 }'}
    assert with_members(text, {"a": None}) == b'{"c":{"d": 1 }}'
    assert json.loads(with_members(text, {"e": 5})) == {**json.loads(text), "e": 5}
    assert with_members(text, {"c.d": [2]}) == b'{ "a" : [1, {"b": "}"}] ,"c":{"d": [2] } }'
    assert json.loads(with_members(b"{}", {"x.y": 1})) == {"x": {"y": 1}}
    assert json.loads(with_members(b'{"x": null, "z": {}}', {"x.y": 1})) == {"x": {"y": 1}, "z": {}}


def test_a_rig_for_a_plain_file_is_written_where_members_are_missing_or_null():
    glb = Glb(extensions=None, extensionsUsed=None)
    glb.node("hair", translation=[0.0, 0.1, 0.0], children=None)
    avatar = glb.load()
    chain = Chain(
        "one",
        np.array([0]),
        np.array([-1]),
        np.array([[0.0, 0.2, 0.0]]),
        -1,
        *(np.array([v]) for v in (1.0, 0.4, 0.0)),
        np.array([[0.0, -1.0, 0.0]]),
        np.array([0.01]),
    )
    copy = load_bytes(to_bytes(replace(avatar, hair=HairRig((chain,)))))
    (written,) = copy.hair.chains
    np.testing.assert_array_equal(written.tails, chain.tails)
    assert copy.skeleton.names == ("hair", "hair_end")
    assert copy.document.json["extensionsUsed"] == ["VRMC_springBone"]
