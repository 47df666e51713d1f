"""Small problem files, one per kind of trouble: each loads, warns or refuses as its case says, and its facts hold."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import shared_folder

from taichi_hair import rotations
from taichi_hair.avatar.avatar import AssetError, load
from taichi_hair.avatar.constraints import apply_constraints
from taichi_hair.avatar.skinning import skin_vertices

FOLDER = shared_folder("cases")
CASES = json.loads((FOLDER / "cases.json").read_text())["cases"] if FOLDER else []


def with_fact(*names):
    rows = [c for c in CASES if any(n in c.get("facts", {}) for n in names) and c["load"] != "error"]
    return pytest.mark.parametrize("case", rows or [pytest.param(None, marks=pytest.mark.skip("no cases"))], ids=_id)


def _id(case):
    return f"{case['id']}-{case['file']}" if case else "none"


def read(case):
    return load(FOLDER / case["file"])


def segments(avatar):
    """(head node, end node or -1, world rest length, world hit radius, end point) of every moving segment."""
    rows = []
    for chain in avatar.hair.chains:
        for j, node in enumerate(chain.joints):
            world = avatar.skeleton.rest_world[node]
            end = (world @ np.append(chain.tails[j], 1.0))[:3]
            rows.append((int(node), int(chain.ends[j]), np.linalg.norm(end - world[:3, 3]), chain.hit_radius[j], end))
    return rows


@pytest.mark.parametrize("case", CASES or [pytest.param(None, marks=pytest.mark.skip("no cases"))], ids=_id)
def test_the_file_loads_warns_or_refuses_as_its_case_says(case):
    load_meaning, mentions = case["load"], case.get("facts", {}).get("error_mentions_any")
    try:
        avatar = read(case)
    except AssetError as refusal:
        assert load_meaning != "ok" and load_meaning != "ok_with_warning", refusal
        assert case["file"] in str(refusal)
        if mentions:
            assert any(word in str(refusal) for word in mentions), refusal
        return
    assert load_meaning != "error"
    if load_meaning in ("ok_with_warning", "ok_with_warning_or_error"):
        assert avatar.warnings
        if mentions:
            assert any(word in sentence for word in mentions for sentence in avatar.warnings), avatar.warnings
    if case["id"] == "C01":
        assert avatar.warnings == ()
    assert np.isfinite(avatar.skeleton.rest_world).all()
    for part in avatar.parts:
        assert np.isfinite(skin_vertices(avatar, part)).all()


@with_fact("chains")
def test_the_number_of_chains_is_right(case):
    avatar = read(case)
    facts = case["facts"]
    moving = sum(len(s) for s in ([x for x in facts.get("segments", []) if "head" in x],))
    springs = avatar.document.json["extensions"].get("VRMC_springBone", {}).get("springs", [])
    listed = [s for s in springs if s.get("joints")]
    if "joints" in facts:
        # The facts count listed joints, ends included, of springs that list any.
        assert sum(len(s["joints"]) for s in listed) == facts["joints"]
        single = sum(1 for s in listed if len(s["joints"]) == 1)
        assert sum(len(c) for c in avatar.hair.chains) == facts["joints"] - facts["chains"]
        assert len(avatar.hair.chains) == facts["chains"] - single
    else:
        assert len(avatar.hair.chains) == facts["chains"]
    if moving:
        assert sum(len(c) for c in avatar.hair.chains) == moving


@with_fact("segments", "real_segments", "segments_min")
def test_the_moving_segments_are_the_listed_ones(case):
    avatar = read(case)
    facts = case["facts"]
    found = {head: (end, length, radius) for head, end, length, radius, _ in segments(avatar)}
    wanted = facts.get("segments") or facts.get("real_segments") or facts["segments_min"]
    allowed = wanted + facts.get("optional_segment", [])
    assert set(found) <= {w["head"] for w in allowed} and {w["head"] for w in wanted} <= set(found)
    for row in allowed:
        if row["head"] not in found:
            continue
        end, length, radius = found[row["head"]]
        assert end == row.get("tail", -1)
        assert length == pytest.approx(row["length"], abs=1e-5)
        if "hit_radius" in row:
            assert radius == row["hit_radius"]


@with_fact("rest_world")
def test_nodes_rest_where_the_case_says(case):
    avatar = read(case)
    for node, place in case["facts"]["rest_world"].items():
        np.testing.assert_allclose(avatar.skeleton.rest_world[int(node)][:3, 3], place, atol=2e-6)


@with_fact("colliders")
def test_the_number_of_colliders_is_right(case):
    assert len(read(case).hair.colliders) == case["facts"]["colliders"]


@with_fact("defaults")
def test_missing_joint_settings_take_the_specification_s_defaults(case):
    (chain,) = read(case).hair.chains
    wanted = case["facts"]["defaults"]
    np.testing.assert_array_equal(chain.hit_radius, wanted["hitRadius"])
    np.testing.assert_array_equal(chain.stiffness, wanted["stiffness"])
    np.testing.assert_array_equal(chain.gravity_power, wanted["gravityPower"])
    np.testing.assert_array_equal(chain.gravity_dir, [wanted["gravityDir"]] * len(chain))
    np.testing.assert_array_equal(chain.drag, wanted["dragForce"])


@with_fact("skin_check", "skin_check_four")
def test_posed_vertices_are_the_listed_ones(case):
    avatar = read(case)
    for check in case["facts"]["skin_check"]:
        turns = avatar.skeleton.rotations.copy()
        moves = avatar.skeleton.translations.copy()
        for node, pose in check["pose"].items():
            turns[int(node)] = pose.get("rotation", turns[int(node)])
            moves[int(node)] = pose.get("translation", moves[int(node)])
        parts = [p for p in avatar.parts if p.node == check["mesh_node"]]
        assert len(parts) == 1
        posed = skin_vertices(avatar, parts[0], avatar.skeleton.world(moves, turns))
        for vertex, place in check["vertices"].items():
            np.testing.assert_allclose(posed[int(vertex)], place, atol=check["tol"])


@with_fact("constraint_check")
def test_constrained_nodes_turn_as_listed(case):
    avatar = read(case)
    for check in case["facts"]["constraint_check"]:
        turns = avatar.skeleton.rotations.copy()
        for node, pose in check["pose"].items():
            turns[int(node)] = pose["rotation"]
        result = apply_constraints(avatar.skeleton, avatar.constraints, turns)[check["node"]]
        wanted = np.array(check["rotation"])
        assert min(np.abs(result - wanted).max(), np.abs(result + wanted).max()) <= check["tol"]


@with_fact("distinct_edges")
def test_the_mesh_has_the_listed_number_of_edges(case):
    avatar = read(case)
    assert sum(len(p.edges) for p in avatar.parts) == case["facts"]["distinct_edges"]


@with_fact("zero_length_edges")
def test_zero_length_edges_are_there_to_be_ignored(case):
    avatar = read(case)
    count = 0
    for part in avatar.parts:
        posed = skin_vertices(avatar, part)
        count += int((np.linalg.norm(posed[part.edges[:, 0]] - posed[part.edges[:, 1]], axis=1) < 1e-9).sum())
    assert count == case["facts"]["zero_length_edges"]


@with_fact("chains_with_segments")
def test_single_joint_springs_give_no_chain(case):
    avatar = read(case)
    assert len(avatar.hair.chains) == case["facts"]["chains_with_segments"]
    assert avatar.warnings == ()


@with_fact("duplicate_node")
def test_a_doubled_node_is_named(case):
    avatar = read(case)
    node = case["facts"]["duplicate_node"]
    assert any(f"node {node}" in w for w in avatar.warnings)


@with_fact("chains_valid")
def test_a_spring_in_the_wrong_order_is_left_out_and_named(case):
    avatar = read(case)
    assert len(avatar.hair.chains) == case["facts"]["chains_valid"]
    assert any("descendant" in w for w in avatar.warnings)


@with_fact("center")
def test_the_center_node_is_read(case):
    avatar = read(case)
    assert [c.center for c in avatar.hair.chains] == [case["facts"]["center"], -1]


@with_fact("collider_world")
def test_left_handed_collider_offsets_land_where_the_case_says(case):
    avatar = read(case)
    (collider,) = avatar.hair.colliders
    place = (avatar.skeleton.rest_world[collider.node] @ np.append(collider.offset, 1.0))[:3]
    if avatar.turned:  # the case states the file's own space
        place = rotations.rotate(np.array([0.0, 1.0, 0.0, 0.0]), place)
    np.testing.assert_allclose(place, case["facts"]["collider_world"], atol=1e-6)
    assert avatar.turned == (case["facts"]["facing"] == "-Z")


@with_fact("usable_roots")
def test_vrm0_groups_without_bones_are_skipped(case):
    avatar = read(case)
    roots = [c for c in avatar.hair.chains if c.parent is None]
    assert len(roots) == case["facts"]["usable_roots"]
    np.testing.assert_array_equal(roots[0].drag, 0.4)
    np.testing.assert_array_equal(roots[0].hit_radius, 0.02)


def test_a_branch_listed_first_comes_after_its_trunk():
    if FOLDER is None:
        pytest.skip("no cases")
    trunk, branch = load(FOLDER / "vrm1_branch_listed_first.vrm").hair.chains
    assert list(trunk.joints) == [17, 18, 19, 20] and trunk.parent is None
    assert list(branch.joints) == [23, 24] and branch.parent == (0, 1)
