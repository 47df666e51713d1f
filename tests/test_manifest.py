"""Every third-party file loads or refuses as its row in the manifest says, with the counts that the row states."""

from __future__ import annotations

import re

import pytest
from conftest import shared_folder

from taichi_hair.avatar.avatar import AssetError, load

FOLDER = shared_folder("assets")
ROW = re.compile(r"^\| `([^`]+\.(?:vrm|vrma|glb|gltf))` \|(.*)\|$", re.MULTILINE)
ROWS = [(m[1], m[2]) for m in ROW.finditer((FOLDER / "MANIFEST.md").read_text())] if FOLDER else []
rows = pytest.mark.parametrize(
    ("file", "facts"),
    ROWS or [pytest.param(None, None, marks=pytest.mark.skip("no assets"))],
    ids=[file for file, _ in ROWS] or None,
)


def stated(facts: str, what: str) -> int | None:
    """The number that the row states before a word, such as `11 355 vertices`."""
    found = re.findall(rf"(?<![\d-])(\d[\d ]*) {what}", facts)
    return int(found[0].replace(" ", "")) if len(found) == 1 else None


@rows
def test_a_file_loads_or_refuses_as_its_row_says(file, facts):
    path = FOLDER / file
    if "error expected" in facts:
        with pytest.raises(AssetError) as caught:
            load(path)
        assert str(path) in str(caught.value)
        return
    avatar = load(path)
    counted = {
        "vertices": sum(len(p.positions) for p in avatar.parts),
        "nodes": len(avatar.skeleton),
        "human bones": len(avatar.humanoid),
        "skinned meshes": len({p.mesh for p in avatar.parts}),
        "springs": len(avatar.hair.chains),
        "capsules": sum(c.shape == "capsule" for c in avatar.hair.colliders),
        "clips": len(avatar.clips),
    }
    if file.endswith(".vrma"):
        counted.pop("human bones")  # the map of an animation is read with its keys
        counted.pop("nodes")  # such rows count nodes of a kind
    for what, number in counted.items():
        wanted = stated(facts, what)
        assert wanted is None or number == wanted, what
    for name, number in re.findall(r"(\d+) springs? of (\d+) joints", facts):
        assert [len(c) for c in avatar.hair.chains] == [int(number) - 1] * int(name)
    seconds = re.search(r", (\d+\.\d+) s,", facts)
    if seconds and len(avatar.clips) == 1:
        assert avatar.clips[0].seconds == pytest.approx(float(seconds[1]), abs=0.02)


def test_the_manifest_was_read():
    if FOLDER is None:
        pytest.skip("no assets")
    assert len(ROWS) > 40


def test_missing_textures_are_a_warning_and_the_mesh_is_there(assets):
    avatar = load(assets / "quaternius" / "Superhero_Female_FullBody.gltf")
    assert sum(len(p.positions) for p in avatar.parts) == 8844
    assert any("is not there" in w for w in avatar.warnings) and list(avatar.images) == [None] * len(avatar.images)
    assert avatar.vertex_colors(0).shape == (len(avatar.parts[0].positions), 4)


def test_collider_vectors_that_mix_whole_and_broken_numbers_are_read_whole(assets):
    avatar = load(assets / "vrm-conformance" / "springbone_collider_sphere_x0p02_r0p05.vrm")
    (collider,) = avatar.hair.colliders
    assert collider.offset[0] == pytest.approx(0.02) and collider.radius == pytest.approx(0.05)


def test_scale_on_chain_and_collider_nodes_stays_in_the_nodes(assets):
    from taichi_hair.avatar.report import world_scale

    avatar = load(assets / "three-vrm-springbone" / "sphere-collider.gltf")
    (chain,) = avatar.hair.chains
    (collider,) = avatar.hair.colliders
    assert world_scale(avatar, int(chain.joints[0])) == pytest.approx(0.25)
    assert world_scale(avatar, collider.node) == pytest.approx(0.5)
    assert chain.hit_radius[0] == 0.25  # as stored; the world radius is a quarter of it
