"""Real avatars load whole: counts and places as the READMEs beside them say."""

from __future__ import annotations

import re

import numpy as np
import pytest

from taichi_hair.avatar.avatar import AssetError, load, load_bytes
from taichi_hair.avatar.skinning import skin_vertices


@pytest.fixture(scope="module")
def seed_san(assets):
    return load(assets / "seed-san" / "seed-san.vrm")


def chain(avatar, name):
    return next(c for c in avatar.hair.chains if c.name == name)


def test_seed_san_has_the_chains_joints_and_colliders_of_its_readme(seed_san, assets):
    text = (assets / "seed-san" / "README.md").read_text()
    rows = re.findall(r"^\| (\w+) \| (\S+(?: > \S+)+) \| ([\d. ]+) \| ([\d., ]+) \| ([\d., ]+) \|", text, re.M)
    assert len(rows) == len(seed_san.hair.chains) == 9
    assert sum(len(c) for c in seed_san.hair.chains) == 19
    assert len(seed_san.hair.colliders) == 8
    world = seed_san.skeleton.rest_world[:, :3, 3]
    for name, joints, lengths, _, stiffness in rows:
        found = chain(seed_san, name)
        names = [seed_san.skeleton.names[n] for n in [*found.joints, found.ends[-1]]]
        assert names == joints.split(" > ")
        segments = np.linalg.norm(world[found.ends] - world[found.joints], axis=1)
        np.testing.assert_allclose(segments, [float(v) for v in lengths.split()], atol=6e-5)
        assert set(found.stiffness) == {float(v) for v in stiffness.split(",")}
        assert (found.drag == 1.0).all() and (found.gravity_power == 0.0).all()


def test_seed_san_tail_has_its_torso_group_and_center(seed_san):
    tail = chain(seed_san, "TailHair")
    assert [seed_san.skeleton.names[seed_san.hair.colliders[c].node] for c in tail.colliders] == ["spine"] + [
        "chest"
    ] * 3
    assert tail.center == seed_san.humanoid["hips"]
    assert (tail.hit_radius == 0.02).all()
    assert chain(seed_san, "FrontHairA").colliders == ()
    assert chain(seed_san, "RoboWire").center == -1


def test_seed_san_rest_pose_has_the_boxes_of_its_readme_only_when_skinned(seed_san, assets):
    text = (assets / "seed-san" / "README.md").read_text()
    number = r"(-?[\d.]+)"
    pattern = rf"^\| (\w+) \| (\w+) \| (\d+) \| (\d+) \| \d+ \| {' '.join([number] * 3)} \| {' '.join([number] * 3)} \|"
    rows = re.findall(pattern, text, re.M)
    assert len(rows) == len(seed_san.parts) == 21
    for mesh, material, vertices, triangles, *box in rows:
        part = next(p for p in seed_san.parts if p.name == mesh and seed_san.materials[p.material].name == material)
        assert (len(part.positions), len(part.triangles)) == (int(vertices), int(triangles))
        posed = skin_vertices(seed_san, part)
        box = np.array(box, dtype=float)
        np.testing.assert_allclose(posed.min(axis=0), box[:3], atol=6e-4)
        np.testing.assert_allclose(posed.max(axis=0), box[3:], atol=6e-4)
    arm = next(p for p in seed_san.parts if p.name == "robo_arm")
    assert np.abs(skin_vertices(seed_san, arm) - arm.positions).max() > 0.5


def test_seed_san_materials_carry_what_a_toon_picture_needs(seed_san):
    face = next(m for m in seed_san.materials if m.name == "body_bake")
    assert face.toon and face.shading_toony == 0.8 and face.shading_shift == -0.2
    assert face.outline_mode == "worldCoordinates" and face.outline_width == 0.0011
    shift, outline = seed_san.images[face.shading_shift_texture], seed_san.images[face.outline_texture]
    assert shift.dtype == np.uint8 and shift.shape[2] == 4 and outline.shape[2] == 4
    green = next(m for m in seed_san.materials if m.name == "green_emit")
    np.testing.assert_allclose(green.emissive, np.array([0.17801047895249428, 1.0, 0.1884816790861631]) * 1.3041189)


def test_vertex_colors_are_base_colour_times_texture(seed_san):
    plain = next(p for p in seed_san.parts if seed_san.materials[p.material].name == "huku_bake")
    material = seed_san.materials[plain.material]
    np.testing.assert_array_equal(
        seed_san.vertex_colors(plain), np.tile(material.base_color, (len(plain.positions), 1))
    )
    index = next(i for i, p in enumerate(seed_san.parts) if seed_san.materials[p.material].name == "body_bake")
    colors = seed_san.vertex_colors(index)
    assert colors.shape == (len(seed_san.parts[index].positions), 4)
    assert (colors >= 0.0).all() and (colors <= 1.0).all() and colors[:, :3].std() > 0.05


def test_unitychan_loads_whole(assets):
    avatar = load(assets / "unity-chan" / "unitychan.vrm")
    assert len({p.mesh for p in avatar.parts}) == 23
    assert sum(len(p.positions) for p in avatar.parts) == 11355
    assert len(avatar.skeleton) == 166 and len(avatar.humanoid) == 52
    lengths = [len(c) for c in avatar.hair.chains]
    assert len(lengths) == 18 and lengths.count(6) == 2
    assert [c.shape for c in avatar.hair.colliders] == ["capsule"] * 10
    assert all(c.center == -1 for c in avatar.hair.chains)
    heights = np.concatenate([skin_vertices(avatar, p)[:, 1] for p in avatar.parts])
    assert 1.5 < heights.max() - heights.min() < 1.6
    assert avatar.warnings == ()


def test_vroid_rig_loads_without_a_mesh(assets):
    avatar = load(assets / "vroid-rig" / "vroid16_rig.vrm")
    assert [len(c) for c in avatar.hair.chains] == [2] * 16
    assert len(avatar.skeleton) == 123 and len(avatar.humanoid) == 52
    assert avatar.parts == () and avatar.hair.colliders == ()
    assert all(
        avatar.skeleton.names[c.attach] == avatar.skeleton.names[avatar.humanoid["head"]] for c in avatar.hair.chains
    )


def test_load_bytes_reads_the_same_as_load(assets):
    path = assets / "seed-san" / "seed-san.vrm"
    one, other = load(path), load_bytes(path.read_bytes(), "copy.vrm")
    assert other.path is None and other.file == "copy.vrm"
    for a, b in zip(one.parts, other.parts, strict=True):
        np.testing.assert_array_equal(a.positions, b.positions)
        np.testing.assert_array_equal(a.weights, b.weights)
    np.testing.assert_array_equal(one.skeleton.rest_world, other.skeleton.rest_world)


def test_weights_sum_to_one_and_triangles_fit_on_every_avatar(assets):
    for path in ("seed-san/seed-san.vrm", "unity-chan/unitychan.vrm", "godette/Godette_vrm_v4.vrm"):
        avatar = load(assets / path)
        for part in avatar.parts:
            np.testing.assert_allclose(part.weights.sum(axis=1), 1.0, atol=1e-12)
            np.testing.assert_allclose(np.linalg.norm(part.normals, axis=1), 1.0, atol=1e-9)
            assert part.triangles.max(initial=0) < len(part.positions)
            assert part.joints.max(initial=0) < len(avatar.skins[part.skin].joints)


@pytest.mark.parametrize("name", ["nothing.vrm", "."])
def test_a_path_that_is_no_file_is_refused_with_its_name(tmp_path, name):
    with pytest.raises(AssetError) as caught:
        load(tmp_path / name)
    assert str(tmp_path) in str(caught.value)


def test_an_asset_error_says_file_part_found_and_wanted(tmp_path):
    path = tmp_path / "page.vrm"
    path.write_text("<!doctype html><title>404</title>")
    with pytest.raises(AssetError, match="magic") as caught:
        load(path)
    error = caught.value
    assert error.file == str(path) and "<!doctype" in error.found and "glTF" in error.wanted
    assert isinstance(error, ValueError)
