"""Node constraints: the specification's formulas, on batches, in dependency order, without cycles."""

from __future__ import annotations

import numpy as np
import pytest
from glb import Glb

from taichi_hair import rotations
from taichi_hair.avatar.avatar import AssetError, load
from taichi_hair.avatar.constraints import apply_constraints

X, Y, Z = np.eye(3)


def turn(axis, degrees):
    return rotations.from_axis_angle(np.asarray(axis), np.radians(degrees))


def same(a, b, tolerance=1e-9):
    return bool((1.0 - np.abs(np.sum(a * b, axis=-1)) < tolerance).all())


def constrained(glb: Glb, node: int, kind: str, **body) -> None:
    extension = {"specVersion": "1.0", "constraint": {kind: body}}
    glb.json["nodes"][node]["extensions"] = {"VRMC_node_constraint": extension}


def test_a_rotation_constraint_copies_the_change_from_rest():
    glb = Glb()
    source = glb.node("source", rotation=turn(Z, 90).tolist())
    node = glb.node("node", rotation=turn(X, 30).tolist())
    constrained(glb, node, "rotation", source=source)
    avatar = glb.load()
    turns = avatar.skeleton.rotations.copy()
    turns[source] = rotations.multiply(turns[source], turn(Y, 40))
    result = apply_constraints(avatar.skeleton, avatar.constraints, turns)
    assert same(result[node], rotations.multiply(turn(X, 30), turn(Y, 40)))
    assert same(result[source], turns[source])


def test_a_weight_goes_part_of_the_way():
    glb = Glb()
    source, node = glb.node("source"), glb.node("node")
    constrained(glb, node, "rotation", source=source, weight=0.25)
    avatar = glb.load()
    turns = np.stack([turn(Y, 80), rotations.IDENTITY])
    assert same(apply_constraints(avatar.skeleton, avatar.constraints, turns)[node], turn(Y, 20))


def test_a_roll_takes_the_twist_about_its_axis_and_nothing_of_the_swing():
    glb = Glb()
    source, node = glb.node("source"), glb.node("node")
    constrained(glb, node, "roll", source=source, rollAxis="X")
    avatar = glb.load()
    turns = np.stack([rotations.multiply(turn(Z, 50), turn(X, 30)), rotations.IDENTITY])
    assert same(apply_constraints(avatar.skeleton, avatar.constraints, turns)[node], turn(X, 30))


def test_an_aim_points_its_axis_at_the_source_in_the_world():
    glb = Glb()
    parent = glb.node("parent", rotation=turn(Y, 33).tolist(), translation=[0.2, 0.0, 0.0])
    node = glb.node("node", parent, rotation=turn(X, 20).tolist(), translation=[0.0, 0.3, 0.0])
    source = glb.node("source", translation=[1.0, 2.0, 3.0])
    constrained(glb, node, "aim", source=source, aimAxis="NegativeZ")
    avatar = glb.load()
    moves = np.tile(avatar.skeleton.translations, (3, 1, 1))
    moves[:, source] = [[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0], [0.0, -4.0, 0.1]]
    turns = np.tile(avatar.skeleton.rotations, (3, 1, 1))
    result = apply_constraints(avatar.skeleton, avatar.constraints, turns, moves)
    world = avatar.skeleton.world(moves, result)
    axis = -world[:, node, :3, 2]
    toward = world[:, source, :3, 3] - world[:, node, :3, 3]
    np.testing.assert_allclose(axis, toward / np.linalg.norm(toward, axis=1, keepdims=True), atol=1e-9)


def test_an_aim_at_its_own_place_keeps_the_rest_rotation():
    glb = Glb()
    node, source = glb.node("node", rotation=turn(X, 20).tolist()), glb.node("source")
    constrained(glb, node, "aim", source=source, aimAxis="PositiveX")
    avatar = glb.load()
    result = apply_constraints(avatar.skeleton, avatar.constraints, avatar.skeleton.rotations)
    assert same(result[node], turn(X, 20))


def test_constraints_follow_one_another_whatever_their_order_in_the_file():
    glb = Glb()
    nodes = [glb.node(n) for n in "abcd"]
    for node, source in ((0, 1), (1, 2), (2, 3)):
        constrained(glb, nodes[node], "rotation", source=nodes[source])
    avatar = glb.load()
    turns = np.tile(rotations.IDENTITY, (4, 1))
    turns[3] = turn(Y, 70)
    assert same(apply_constraints(avatar.skeleton, avatar.constraints, turns), np.tile(turns[3], (4, 1)))


def test_an_aim_waits_for_the_constrained_ancestors_of_its_source():
    glb = Glb()
    aim = glb.node("aim")
    arm = glb.node("arm")
    hand = glb.node("hand", arm, translation=[1.0, 0.0, 0.0])
    driver = glb.node("driver")
    constrained(glb, aim, "aim", source=hand, aimAxis="PositiveX")
    constrained(glb, arm, "rotation", source=driver)
    avatar = glb.load()
    turns = avatar.skeleton.rotations.copy()
    turns[driver] = turn(Z, 90)
    assert same(apply_constraints(avatar.skeleton, avatar.constraints, turns)[aim], turn(Z, 90))


def test_members_of_a_cycle_and_what_hangs_on_them_are_left_out_and_named():
    glb = Glb()
    a, b, c, free, source = (glb.node(n) for n in ("a", "b", "c", "free", "source"))
    constrained(glb, a, "rotation", source=b)
    constrained(glb, b, "rotation", source=a)
    constrained(glb, c, "rotation", source=c)
    constrained(glb, free, "rotation", source=source)
    avatar = glb.load()
    assert [k.node for k in avatar.constraints] == [free]
    (warning,) = avatar.warnings
    assert "cycle" in warning and all(f"'{n}'" in warning for n in "abc")


@pytest.mark.parametrize("body", [{"source": 9}, {"source": 0, "rollAxis": "W"}, {"rollAxis": "X"}])
def test_a_faulty_constraint_is_refused_with_its_place(body):
    glb = Glb()
    glb.node("a")
    constrained(glb, glb.node("b"), "roll", **body)
    with pytest.raises(AssetError, match=r"nodes\[1\]"):
        glb.load()


def test_seed_san_s_robot_arm_copies_the_left_arm(assets):
    avatar = load(assets / "seed-san" / "seed-san.vrm")
    assert len(avatar.constraints) == 23
    turns = avatar.skeleton.rotations.copy()
    arm, robot = avatar.humanoid["leftUpperArm"], avatar.skeleton.index("robo_upper_arm.L")
    change = turn(Y, 25)
    turns[arm] = rotations.multiply(turns[arm], change)
    result = apply_constraints(avatar.skeleton, avatar.constraints, turns)
    assert same(result[robot], rotations.multiply(avatar.skeleton.rotations[robot], change))
    rest = apply_constraints(avatar.skeleton, avatar.constraints, avatar.skeleton.rotations)
    assert same(rest, avatar.skeleton.rotations)
