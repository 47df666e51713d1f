"""VRM 0.x in VRM 1.0 terms: bone groups, the 7 cm end, left-handed vectors, the half turn, names, materials."""

from __future__ import annotations

import numpy as np
import pytest
from glb import QUAD, QUAD_TRIANGLES, Glb

from taichi_hair.avatar.avatar import AssetError, load
from taichi_hair.avatar.images import srgb_to_linear
from taichi_hair.avatar.skinning import skin_vertices


def old(groups=(), colliders=(), **more) -> tuple[Glb, int]:
    """A hips and head with a VRM 0.x extension; the head."""
    glb = Glb()
    hips = glb.node("hips", translation=[0.0, 1.0, 0.2])
    head = glb.node("head", hips, translation=[0.0, 0.5, 0.0])
    bones = [{"bone": "hips", "node": hips}, {"bone": "head", "node": head}]
    secondary = {"boneGroups": list(groups), "colliderGroups": list(colliders)}
    glb.extend("VRM", {"humanoid": {"humanBones": bones}, "secondaryAnimation": secondary, **more})
    return glb, head


def test_the_avatar_is_turned_to_face_plus_z_by_its_roots():
    glb, head = old()
    glb.node("nose", head, translation=[0.0, 0.0, -0.1], mesh=glb.mesh(QUAD, QUAD_TRIANGLES))
    avatar = glb.load()
    assert avatar.turned and avatar.vrm == "0.x"
    np.testing.assert_allclose(avatar.skeleton.rest_world[2][:3, 3], [0.0, 1.5, -0.2 + 0.1], atol=1e-12)
    np.testing.assert_allclose(skin_vertices(avatar, 0)[1], [-1.0, 1.5, -0.1], atol=1e-12)
    np.testing.assert_array_equal(avatar.skeleton.translations[1:], [[0.0, 0.5, 0.0], [0.0, 0.0, -0.1]])


def test_every_bone_below_a_root_swings_and_a_childless_one_has_7_cm():
    glb, head = old()
    trunk = glb.line(3, head)
    branch = glb.line(2, trunk[0], step=(0.0, 0.0, -0.1), name="branch")
    glb.json["extensions"]["VRM"]["secondaryAnimation"]["boneGroups"] = [{"bones": [trunk[0]], "stiffiness": 2.0}]
    main, side = glb.load().hair.chains
    assert list(main.joints) == trunk and list(main.ends) == [*trunk[1:], -1]
    np.testing.assert_allclose(main.tails, [[0, -0.1, 0], [0, -0.1, 0], [0, -0.07, 0]], atol=1e-12)
    assert list(side.joints) == branch and side.parent == (0, 0) and side.attach == trunk[0]
    np.testing.assert_allclose(side.tails, [[0, 0, -0.1], [0, 0, -0.07]], atol=1e-12)
    np.testing.assert_array_equal(main.stiffness, 2.0)


def test_the_7_cm_end_is_a_world_length_along_the_line_from_the_parent():
    glb, head = old()
    glb.json["nodes"][head].update(scale=[0.5] * 3, rotation=[0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)])
    line = glb.line(2, head)
    glb.json["nodes"][line[1]]["rotation"] = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]
    glb.json["extensions"]["VRM"]["secondaryAnimation"]["boneGroups"] = [{"bones": [line[0]]}]
    avatar = glb.load()
    (chain,) = avatar.hair.chains
    linear = avatar.skeleton.rest_world[line[1]][:3, :3]
    along = avatar.skeleton.rest_world[line[1]][:3, 3] - avatar.skeleton.rest_world[line[0]][:3, 3]
    np.testing.assert_allclose(linear @ chain.tails[1], along / np.linalg.norm(along) * 0.07, atol=1e-12)


def test_missing_settings_are_those_of_the_component_that_wrote_such_files():
    glb, head = old()
    line = glb.line(2, head)
    glb.json["extensions"]["VRM"]["secondaryAnimation"]["boneGroups"] = [{"bones": [line[0]]}]
    (chain,) = glb.load().hair.chains
    assert (chain.stiffness[0], chain.drag[0], chain.gravity_power[0], chain.hit_radius[0]) == (1.0, 0.4, 0.0, 0.02)
    assert chain.center == -1


def test_left_handed_vectors_change_the_sign_of_z_and_world_ones_turn_with_the_avatar():
    group = {"node": 1, "colliders": [{"offset": {"x": 0.1, "y": 0.2, "z": 0.3}, "radius": 0.05}]}
    glb, head = old(colliders=[group])
    line = glb.line(2, head)
    glb.json["extensions"]["VRM"]["secondaryAnimation"]["boneGroups"] = [
        {"bones": [line[0]], "gravityDir": {"x": 0.6, "y": 0.0, "z": 0.8}, "gravityPower": 1, "colliderGroups": [0]}
    ]
    avatar = glb.load()
    (collider,) = avatar.hair.colliders
    np.testing.assert_allclose(collider.offset, [0.1, 0.2, -0.3])
    # In glTF's axes of the file (0.6, 0, -0.8); turned with the avatar (-0.6, 0, 0.8).
    np.testing.assert_allclose(avatar.hair.chains[0].gravity_dir[0], [-0.6, 0.0, 0.8], atol=1e-12)
    assert avatar.hair.chains[0].colliders == (0,)


def test_thumbs_get_their_vrm_1_names():
    glb, head = old()
    nodes = [glb.node(n, head) for n in "abc"]
    glb.json["extensions"]["VRM"]["humanoid"]["humanBones"] += [
        {"bone": f"leftThumb{part}", "node": node}
        for part, node in zip(("Proximal", "Intermediate", "Distal"), nodes, strict=True)
    ]
    humanoid = glb.load().humanoid
    assert [humanoid[f"leftThumb{p}"] for p in ("Metacarpal", "Proximal", "Distal")] == nodes


def test_first_person_flags_go_from_meshes_to_the_nodes_that_hold_them():
    glb, head = old(firstPerson={"meshAnnotations": [{"mesh": 0, "firstPersonFlag": "ThirdPersonOnly"}]})
    node = glb.node("face", head, mesh=glb.mesh(QUAD, QUAD_TRIANGLES))
    assert glb.load().first_person == {node: "thirdPersonOnly"}


def test_mtoon_0_becomes_mtoon_1():
    properties = {
        "shader": "VRM/MToon",
        "floatProperties": {"_ShadeShift": -0.4, "_ShadeToony": 0.8, "_OutlineWidth": 0.2, "_OutlineWidthMode": 1},
        "vectorProperties": {"_Color": [0.5, 0.5, 0.5, 0.25], "_ShadeColor": [0.2, 0.4, 0.6, 1]},
    }
    glb, _ = old(materialProperties=[properties])
    glb.add("materials", {"name": "skin"})
    (material,) = glb.load().materials
    # toony = lerp(0.8, 1, 0.5 + 0.5 * -0.4) = 0.86; shift = 0.4 - (1 - 0.86) = 0.26
    assert material.shading_toony == pytest.approx(0.86) and material.shading_shift == pytest.approx(0.26)
    np.testing.assert_allclose(material.base_color, [*srgb_to_linear([0.5] * 3), 0.25])
    np.testing.assert_allclose(material.shade_color, srgb_to_linear([0.2, 0.4, 0.6]))
    assert (material.outline_mode, material.outline_width) == ("worldCoordinates", pytest.approx(0.002))


@pytest.mark.parametrize("bones", [7, [99], ["a"], {"a": 1}])
def test_bones_that_are_no_nodes_are_refused(bones):
    glb, _ = old(groups=[{"bones": bones}])
    with pytest.raises(AssetError, match="bones"):
        glb.load()


def test_a_root_of_minus_one_is_left_out_and_named():
    glb, head = old()
    line = glb.line(2, head)
    glb.json["extensions"]["VRM"]["secondaryAnimation"]["boneGroups"] = [{"bones": [-1, line[0]]}]
    avatar = glb.load()
    assert len(avatar.hair.chains) == 1 and any("-1" in w for w in avatar.warnings)


def test_godette_loads_as_its_manifest_row_says(assets):
    avatar = load(assets / "godette" / "Godette_vrm_v4.vrm")
    assert avatar.vrm == "0.x" and len(avatar.humanoid) == 45 and len(avatar.skeleton) == 71
    assert sum(len(p.positions) for p in avatar.parts) == 8067
    # 8 roots, each a joint and its `_End`; the end swings as well, with 7 cm.
    assert len(avatar.hair.chains) == 8 and all(len(c) == 2 for c in avatar.hair.chains)
    assert [c.shape for c in avatar.hair.colliders] == ["sphere"] * 4
    assert sum(not c.colliders for c in avatar.hair.chains) == 3
    places = np.concatenate([skin_vertices(avatar, p) for p in avatar.parts])
    assert 1.4 < np.ptp(places[:, 1]) < 1.6
    place = {role: avatar.skeleton.rest_world[node][:3, 3] for role, node in avatar.humanoid.items()}
    assert place["leftHand"][0] > 0.3 and place["leftToes"][2] > place["leftFoot"][2]  # it faces +z
    assert avatar.warnings == ()
