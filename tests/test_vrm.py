"""VRM 1.0: springs, colliders, limits, humanoid map, first person."""

from __future__ import annotations

import math

import numpy as np
import pytest
from glb import REQUIRED, Glb

from taichi_hair import rotations
from taichi_hair.avatar.avatar import AssetError


def rig(springs=None, colliders=(), groups=(), count: int = 4, **spring):
    """A human with a line of hair below the head and one spring along it."""
    glb = Glb()
    nodes = glb.human()
    line = glb.line(count, nodes["head"])
    if springs is None:
        springs = [{"name": "s", "joints": [{"node": n} for n in line], **spring}]
    glb.springs(springs, colliders, groups)
    return glb, line, nodes


def test_per_joint_settings_belong_to_the_segment_below_the_joint():
    glb, line, _ = rig()
    for i, joint in enumerate(glb.json["extensions"]["VRMC_springBone"]["springs"][0]["joints"]):
        joint.update(hitRadius=0.01 * (i + 1), stiffness=i, dragForce=0.1 * i, gravityPower=i, gravityDir=[1, 0, 0])
    avatar = glb.load()
    (chain,) = avatar.hair.chains
    assert list(chain.joints) == line[:-1] and list(chain.ends) == line[1:]
    np.testing.assert_allclose(chain.hit_radius, [0.01, 0.02, 0.03])
    np.testing.assert_allclose(chain.stiffness, [0, 1, 2])
    np.testing.assert_allclose(chain.drag, [0.0, 0.1, 0.2])
    np.testing.assert_allclose(chain.tails, [[0.0, -0.1, 0.0]] * 3)
    np.testing.assert_allclose(chain.gravity_dir, [[1.0, 0.0, 0.0]] * 3)
    assert avatar.warnings == ()


def test_skipped_ancestors_are_rigid_parts_of_the_segment():
    glb, line, _ = rig()
    glb.json["nodes"][line[1]]["rotation"] = [0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)]
    glb.json["extensions"]["VRMC_springBone"]["springs"][0]["joints"] = [{"node": line[0]}, {"node": line[2]}]
    (chain,) = glb.load().hair.chains
    # line[1] lies 0.1 below line[0]; its own child, 0.1 along -y of a frame turned by 90 degrees, lies 0.1 along +x.
    np.testing.assert_allclose(chain.tails, [[0.1, -0.1, 0.0]], atol=1e-12)


def test_tails_are_in_local_units_under_node_scale():
    glb, line, nodes = rig()
    glb.json["nodes"][nodes["head"]]["scale"] = [0.01] * 3
    avatar = glb.load()
    (chain,) = avatar.hair.chains
    np.testing.assert_allclose(chain.tails[0], [0.0, -0.1, 0.0])
    world = avatar.skeleton.rest_world[line[0]]
    assert np.linalg.norm(world[:3, :3] @ chain.tails[0]) == pytest.approx(0.001)


def test_two_springs_on_one_joint_keep_the_first_and_split_the_second():
    glb, line, _ = rig(springs=[])
    side = glb.line(2, line[1], step=(0.1, 0.0, 0.0), name="side")
    glb.json["extensions"]["VRMC_springBone"]["springs"] = [
        {"name": "trunk", "joints": [{"node": n} for n in line]},
        {"name": "fork", "joints": [{"node": n} for n in [line[0], line[1], *side]]},
    ]
    avatar = glb.load()
    trunk, fork = avatar.hair.chains
    assert list(trunk.joints) == line[:3]
    assert list(fork.joints) == [side[0]] and fork.parent == (0, 1) and fork.attach == line[1]
    assert sum("already moves" in w for w in avatar.warnings) == 2


def test_a_segment_that_passes_another_spring_s_joint_is_named():
    glb, line, _ = rig(springs=[])
    glb.json["extensions"]["VRMC_springBone"]["springs"] = [
        {"name": "long", "joints": [{"node": line[0]}, {"node": line[2]}]},
        {"name": "inner", "joints": [{"node": line[1]}, {"node": line[3]}]},
    ]
    assert any("passes" in w and "'hair1'" in w for w in glb.load().warnings)


def test_collider_groups_become_collider_numbers_in_listed_order_once():
    colliders = [{"node": 0, "shape": {"sphere": {"offset": [0, 0, i], "radius": 0.1}}} for i in range(4)]
    glb, _, _ = rig(colliders=colliders, groups=[[3, 1], [1, 0]], colliderGroups=[0, 1])
    avatar = glb.load()
    assert avatar.hair.chains[0].colliders == (3, 1, 0)
    assert [c.offset[2] for c in avatar.hair.colliders] == [0, 1, 2, 3]


def test_a_collider_without_shape_is_left_out_and_the_others_keep_their_meaning():
    colliders = [{"node": 0}, {"node": 0, "shape": {"sphere": {"radius": 0.2}}}]
    glb, _, _ = rig(colliders=colliders, groups=[[0, 1]], colliderGroups=[0])
    avatar = glb.load()
    assert [c.radius for c in avatar.hair.colliders] == [0.2]
    assert avatar.hair.chains[0].colliders == (0,)
    assert any("colliders[0]" in w for w in avatar.warnings)


EXTENDED = "VRMC_springBone_extended_collider"


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ({"sphere": {"radius": 1.0, "inside": True}}, "inside_sphere"),
        ({"sphere": {"radius": 1.0}}, "sphere"),
        ({"capsule": {"radius": 1.0, "tail": [0, 1, 0], "inside": True}}, "inside_capsule"),
        ({"capsule": {"radius": 1.0, "tail": [0, 1, 0]}}, "capsule"),
        ({"plane": {"offset": [0, 1, 0], "normal": [0, 0, 2]}}, "plane"),
    ],
)
@pytest.mark.parametrize("base", [None, {"sphere": {"offset": [10000, 0, 0], "radius": 10000}}])
def test_extended_shapes_replace_the_base_shape_and_need_none(shape, kind, base):
    collider = {"node": 0, "extensions": {EXTENDED: {"specVersion": "1.0", "shape": shape}}}
    if base:
        collider["shape"] = base
    glb, _, _ = rig(colliders=[collider], groups=[[0]], colliderGroups=[0])
    (found,) = glb.load().hair.colliders
    assert found.shape == kind
    if kind == "plane":
        np.testing.assert_array_equal(found.normal, [0.0, 0.0, 1.0])
        np.testing.assert_array_equal(found.offset, [0.0, 1.0, 0.0])
    else:
        assert found.radius == 1.0


@pytest.mark.parametrize(
    ("limit", "kind", "angles"),
    [
        ({"cone": {"angle": 0.5}}, "cone", (0.5,)),
        ({"hinge": {"angle": 9.0}}, "hinge", (math.pi,)),
        ({"spherical": {"pitch": 4.0, "yaw": 2.0}}, "spherical", (math.pi, math.pi / 2)),
    ],
)
def test_limits_are_read_in_radians_and_brought_into_their_range(limit, kind, angles):
    glb, _, _ = rig()
    joints = glb.json["extensions"]["VRMC_springBone"]["springs"][0]["joints"]
    joints[1]["extensions"] = {"VRMC_springBone_limit": {"specVersion": "1.0-draft", "limit": limit}}
    (chain,) = glb.load().hair.chains
    assert chain.limits[0] is None and chain.limits[2] is None
    assert chain.limits[1].kind == kind and chain.limits[1].angles == pytest.approx(angles)


def test_a_limit_s_frame_has_y_along_the_segment_then_its_own_rotation():
    turn = rotations.from_axis_angle(np.array([0.0, 0.0, 1.0]), np.array(0.3))
    limit = {"cone": {"angle": 0.5, "rotation": turn.tolist()}}
    for step, start in (
        ((0.1, 0.0, 0.0), rotations.from_axis_angle(np.array([0.0, 0.0, -1.0]), np.array(math.pi / 2))),
        ((0.0, -0.1, 0.0), np.array([1.0, 0.0, 0.0, 0.0])),  # straight down: half a turn about x, as the draft says
    ):
        glb = Glb()
        line = glb.line(2, glb.human()["head"], step=step)
        extension = {"VRMC_springBone_limit": {"specVersion": "1.0-draft", "limit": limit}}
        glb.springs([{"joints": [{"node": line[0], "extensions": extension}, {"node": line[1]}]}])
        frame = glb.load().hair.chains[0].limits[0].rotation
        wanted = rotations.multiply(start, turn)
        assert abs(np.dot(frame, wanted)) == pytest.approx(1.0)


def test_settings_outside_their_range_are_brought_inside_and_named():
    glb, _, _ = rig()
    joint = glb.json["extensions"]["VRMC_springBone"]["springs"][0]["joints"][0]
    joint.update(dragForce=1.5, stiffness=-1.0, hitRadius=-0.1)
    avatar = glb.load()
    (chain,) = avatar.hair.chains
    assert (chain.drag[0], chain.stiffness[0], chain.hit_radius[0]) == (1.0, 0.0, 0.0)
    assert len(avatar.warnings) == 3


def test_the_length_of_a_gravity_direction_is_kept_and_noted():
    glb, _, _ = rig()
    joint = glb.json["extensions"]["VRMC_springBone"]["springs"][0]["joints"][0]
    joint.update(gravityDir=[0, -2, 0], gravityPower=1.0)
    avatar = glb.load()
    np.testing.assert_array_equal(avatar.hair.chains[0].gravity_dir[0], [0, -2, 0])
    assert any("length 2" in n for n in avatar.notes) and avatar.warnings == ()


def test_a_center_below_the_chain_is_taken_as_none():
    glb, line, nodes = rig()
    glb.json["extensions"]["VRMC_springBone"]["springs"][0]["center"] = line[2]
    avatar = glb.load()
    assert avatar.hair.chains[0].center == -1 and any("center" in w for w in avatar.warnings)
    glb.json["extensions"]["VRMC_springBone"]["springs"][0]["center"] = nodes["hips"]
    assert glb.load().hair.chains[0].center == nodes["hips"]


def test_a_group_that_does_not_exist_is_refused_with_its_place():
    glb, _, _ = rig(colliderGroups=[5])
    with pytest.raises(AssetError, match=r"springs\[0\]\.colliderGroups\[0\].*found 5"):
        glb.load()


def test_the_humanoid_map_keeps_required_roles_and_names_what_is_wrong():
    glb, _, nodes = rig()
    bones = glb.json["extensions"]["VRMC_vrm"]["humanoid"]["humanBones"]
    bones["leftShoulder"] = {"node": nodes["leftUpperArm"]}
    bones["tail"] = {"node": 0}
    del bones["head"]
    bones["jaw"], bones["leftEye"], bones["neck"] = {}, {"node": -1}, None
    avatar = glb.load()
    assert avatar.humanoid["leftUpperArm"] == nodes["leftUpperArm"] and "leftShoulder" not in avatar.humanoid
    assert set(avatar.humanoid) == set(REQUIRED) - {"head"}
    text = " ".join(avatar.warnings)
    assert "'tail'" in text and "missing: head" in text and "leftShoulder" in text
    assert all(f"{role} names no node" in text for role in ("jaw", "leftEye", "neck"))


def test_first_person_flags_belong_to_nodes():
    glb, _, nodes = rig()
    glb.json["extensions"]["VRMC_vrm"]["firstPerson"] = {
        "meshAnnotations": [{"node": nodes["head"], "type": "thirdPersonOnly"}, {"node": 0, "type": "sometimes"}]
    }
    avatar = glb.load()
    assert avatar.first_person == {nodes["head"]: "thirdPersonOnly", 0: "auto"}
    assert any("sometimes" in w for w in avatar.warnings)


def test_springs_are_read_without_a_humanoid():
    glb = Glb()
    line = glb.line(3)
    glb.springs([{"joints": [{"node": n} for n in line]}])
    avatar = glb.load()
    assert avatar.vrm is None and len(avatar.hair.chains) == 1 and avatar.hair.chains[0].attach == -1


def test_chains_come_after_the_chain_that_carries_them_whatever_the_order():
    glb, line, _ = rig(springs=[])
    one = glb.line(2, line[1], name="one")
    two = glb.line(2, one[0], name="two")
    orders = ([two, one, line], [line, two, one], [one, line, two])
    for order in orders:
        glb.json["extensions"]["VRMC_springBone"]["springs"] = [
            {"name": str(row[0]), "joints": [{"node": n} for n in row]} for row in order
        ]
        chains = glb.load().hair.chains
        place = {c.name: i for i, c in enumerate(chains)}
        assert place[str(line[0])] < place[str(one[0])] < place[str(two[0])]
        assert chains[place[str(one[0])]].parent == (place[str(line[0])], 1)
        assert chains[place[str(two[0])]].parent == (place[str(one[0])], 0)
