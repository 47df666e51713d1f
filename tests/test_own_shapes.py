"""Shapes that VRM does not have: kept in extras, read back the same, with a stand-in for other programs."""

from __future__ import annotations

import json
import struct
from dataclasses import replace

import numpy as np
import pytest
from test_save import assert_same

from taichi_hair import rotations
from taichi_hair.avatar.avatar import load, load_bytes
from taichi_hair.avatar.errors import AssetError
from taichi_hair.avatar.own_shapes import stand_in, stand_ins
from taichi_hair.avatar.samples import sample
from taichi_hair.avatar.saving import save, to_bytes
from taichi_hair.hair import Collider, Surface
from taichi_hair.rig.fit import fit_hair
from taichi_hair.rig.floor import with_floor
from taichi_hair.rig.write import rig_bytes

TURN = rotations.from_axis_angle(np.array([1.0, 0.0, 0.0]), 0.5 * np.pi)  # y becomes z


def ball(cells=9, radius=0.3):
    """Distances to a ball about the middle of a grid that is 1 wide."""
    x = np.linspace(-0.5, 0.5, cells)
    where = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1)
    return Surface((np.linalg.norm(where, axis=-1) - radius).astype(np.float32), 1.0 / (cells - 1))


def shapes(node):
    at = np.array([0.1, 0.2, 0.3])
    return [
        Collider("cone", node, "tapered_capsule", at, 0.1, tail=at + [0, 0.4, 0], tail_radius=0.04, friction=0.2),
        Collider("pack", node, "box", at, 0.02, half_size=np.array([0.1, 0.3, 0.4]), rotation=TURN),
        Collider("chest", node, "surface", at, 0.005, surface=ball(), speed_loss=0.5),
        Collider("plain", node, "capsule", at, 0.1, tail=at + [0, 0.4, 0], friction=0.3),
    ]


@pytest.fixture(scope="module")
def changed():
    avatar = sample("ponytail")
    first = len(avatar.hair.colliders)
    colliders = (*avatar.hair.colliders, *shapes(avatar.humanoid["upperChest"]))
    chain = avatar.hair.chains[0]
    own = replace(chain, colliders=(*chain.colliders, *range(first, first + 4)))
    rig = replace(avatar.hair, chains=(own, *avatar.hair.chains[1:]), colliders=colliders)
    return replace(avatar, hair=rig)


@pytest.mark.parametrize("ending", [".vrm", ".gltf"])
def test_every_shape_comes_back_the_same(changed, tmp_path, ending):
    copy = load(save(changed, tmp_path / f"own{ending}"))
    for mine, theirs in zip(changed.hair.colliders[-4:-1], copy.hair.colliders[-4:-1], strict=True):
        assert_same(mine, theirs, mine.name)
    assert copy.hair.colliders[-1].friction == 0.3
    assert copy.hair.chains[0].colliders == changed.hair.chains[0].colliders
    assert sum("in its extras" in note for note in copy.notes) == 3
    for index in range(len(copy.parts)):
        np.testing.assert_array_equal(copy.parts[index].positions, changed.parts[index].positions)


def test_an_unchanged_file_with_own_shapes_keeps_every_byte(changed):
    data = to_bytes(changed)
    assert to_bytes(load_bytes(data)) == data


def test_stand_ins_are_where_the_shapes_are_and_are_named(changed):
    cone, pack, chest, _ = shapes(0)
    assert stand_in(cone) == {
        "capsule": {"offset": [0.1, 0.2, 0.3], "radius": pytest.approx(0.07), "tail": pytest.approx([0.1, 0.6, 0.3])}
    }
    # The longest edge, local z, is turned to -y; radius sqrt(0.1 0.3) + 0.02, ends that far inside the box's own.
    body = stand_in(pack)["capsule"]
    radius = np.sqrt(0.03) + 0.02
    assert body["radius"] == pytest.approx(radius)
    assert body["offset"] == pytest.approx([0.1, 0.2 + 0.42 - radius, 0.3])
    assert body["tail"] == pytest.approx([0.1, 0.2 - 0.42 + radius, 0.3])
    # Deepest in the middle of the grid, half a unit from its corner along every axis.
    assert stand_in(chest) == {"sphere": {"offset": pytest.approx([0.6, 0.7, 0.8]), "radius": pytest.approx(0.3)}}
    lines = stand_ins(changed.hair)
    assert [line.split(":")[0] for line in lines] == ["cone", "pack", "chest"]
    assert "tapered capsule" in lines[0] and "radius 0.07" in lines[0]


def test_a_surface_without_an_inside_has_a_stand_in_that_meets_nothing():
    empty = Collider("thin", 0, "surface", np.zeros(3), 0.0, surface=Surface(np.ones((2, 2, 2), np.float32), 0.1))
    assert stand_in(empty)["sphere"]["radius"] == 0.0


def test_a_fitted_file_holds_them_and_a_floor(changed):
    base = sample("ponytail")
    rig = fit_hair(base, "ponytail", joints=4, refine=False)
    rig = replace(rig, colliders=(*rig.colliders, *shapes(base.humanoid["upperChest"])))
    rig = with_floor(base, rig, 0.1)
    again = load_bytes(rig_bytes(rig))
    assert [c.shape for c in again.hair.colliders] == [c.shape for c in rig.colliders]
    np.testing.assert_array_equal(again.hair.colliders[-3].surface.distance, ball().distance)
    floor = again.hair.colliders[-1]
    assert again.skeleton.parents[floor.node] == -1 and again.skeleton.names[floor.node] == "world"
    assert floor.offset.tolist() == [0.0, 0.1, 0.0] and floor.friction > 0.0
    assert len(again.hair.colliders) - 1 in again.hair.chains[-1].colliders


@pytest.mark.parametrize(
    ("shape", "change", "words"),
    [
        ("box", {"shape": "pyramid"}, "tapered_capsule, box, surface"),
        ("box", {"halfSize": [1, 2]}, "halfSize"),
        ("box", {"rotation": [0, 0, 0, 0]}, "length 0"),
        ("surface", {"size": [9, 9]}, "three numbers of corners"),
        ("surface", {"size": [9, 9, 8]}, "2,592 bytes"),
        ("surface", {"bufferView": 9999}, "bufferView"),
        ("surface", {"cell": 0.0}, "positive length"),
    ],
)
def test_faulty_extras_are_named(changed, shape, change, words):
    data = to_bytes(changed)
    size = struct.unpack_from("<I", data, 12)[0]
    content, rest = json.loads(data[20 : 20 + size]), data[20 + size :]
    for collider in content["extensions"]["VRMC_springBone"]["colliders"]:
        own = collider.get("extras", {}).get("taichi_hair", {})
        if own.get("shape") == shape:
            own.update(change)
    text = json.dumps(content).encode()
    text += b" " * (-len(text) % 4)
    head = struct.pack("<4sIIII", b"glTF", 2, 20 + len(text) + len(rest), len(text), 0x4E4F534A)
    with pytest.raises(AssetError, match=r"extras\.taichi_hair") as error:
        load_bytes(head + text + rest)
    assert words in str(error.value)
