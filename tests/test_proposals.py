"""Chains for files that name none: proposed by name and shape, or named by the user."""

from __future__ import annotations

import numpy as np
import pytest
from glb import QUAD, QUAD_TRIANGLES, Glb

from taichi_hair.avatar.avatar import AssetError, load
from taichi_hair.avatar.proposals import propose_chains, with_hair


def figure() -> tuple[Glb, dict[str, int]]:
    """A plain glTF figure: a head with eyes, a jaw, a ponytail by name and a lock by shape only."""
    glb = Glb()
    hips = glb.node("Hips", translation=[0.0, 1.0, 0.0])
    head = glb.node("Head", glb.node("Spine", hips), translation=[0.0, 0.5, 0.0])
    nodes = {"Hips": hips, "Head": head}
    nodes["eye"] = glb.line(3, head, name="Eye_L_")[0]
    nodes["jaw"] = glb.line(3, head, name="jaw")[0]
    nodes["tail"] = glb.line(4, head, name="PonyTail_")[0]
    nodes["lock"] = glb.line(3, head, name="bone_")[0]
    glb.line(3, hips, name="leg")
    return glb, nodes


def test_rows_are_proposed_by_name_and_by_shape_and_nothing_is_taken():
    glb, nodes = figure()
    avatar = glb.load()
    assert avatar.hair.chains == ()
    found = {p.nodes[0]: p for p in propose_chains(avatar)}
    assert set(found) == {nodes["tail"], nodes["lock"]}
    assert len(found[nodes["tail"]].nodes) == 4 and found[nodes["tail"]].length == pytest.approx(0.3)
    assert "name" in found[nodes["tail"]].reason and "below the head" in found[nodes["lock"]].reason
    assert [p["name"] for p in avatar.report.proposals] == ["PonyTail_0", "bone_0"]


def test_proposals_become_chains_when_asked_for(tmp_path):
    glb, nodes = figure()
    path = tmp_path / "figure.glb"
    path.write_bytes(glb.bytes())
    avatar = load(path, hair="propose")
    assert [c.name for c in avatar.hair.chains] == ["PonyTail_0", "bone_0"]
    assert all(c.attach == nodes["Head"] for c in avatar.hair.chains)
    assert len(avatar.notes) == 2 and "was not in the file" in avatar.notes[0]


def test_a_row_named_by_its_first_node_or_by_both_ends():
    glb, nodes = figure()
    avatar = glb.load()
    (chain,) = with_hair(avatar, ["PonyTail_0"]).hair.chains
    assert list(chain.joints) == [nodes["tail"], nodes["tail"] + 1, nodes["tail"] + 2]
    (chain,) = with_hair(avatar, ["PonyTail_1 > PonyTail_2"]).hair.chains
    assert list(chain.joints) == [nodes["tail"] + 1] and list(chain.ends) == [nodes["tail"] + 2]
    (chain,) = with_hair(avatar, [nodes["jaw"]]).hair.chains
    assert chain.name == "jaw0"


@pytest.mark.parametrize("name", ["Tail", "Hips>Nowhere", "Head>leg0", "leg2", 99])
def test_a_name_that_does_not_fit_is_refused_with_a_hint(name):
    glb, _ = figure()
    with pytest.raises(AssetError, match="wanted"):
        with_hair(glb.load(), [name])


def test_a_last_node_that_moves_vertices_gets_a_segment_of_its_own():
    glb, nodes = figure()
    line = [nodes["tail"] + i for i in range(4)]
    glb.add("skins", {"joints": line})
    attributes = {"JOINTS_0": glb.accessor([[3, 0, 0, 0]] * 4, "u1"), "WEIGHTS_0": glb.accessor([[1, 0, 0, 0]] * 4)}
    glb.node("mesh", mesh=glb.mesh(QUAD, QUAD_TRIANGLES, attributes=attributes), skin=0)
    (chain,) = with_hair(glb.load(), ["PonyTail_0"]).hair.chains
    assert list(chain.joints) == line and chain.ends[-1] == -1
    np.testing.assert_allclose(chain.tails[-1], [0.0, -0.1, 0.0], atol=1e-12)


def test_a_fork_follows_the_longest_line():
    glb, nodes = figure()
    glb.line(1, nodes["tail"], name="twig")
    glb.json["nodes"][nodes["tail"]]["children"].reverse()
    (chain,) = with_hair(glb.load(), ["PonyTail_0"]).hair.chains
    assert len(chain) == 3


def test_a_file_with_nothing_like_hair_says_so():
    glb = Glb()
    glb.line(4, name="leg")
    with pytest.raises(AssetError, match="no node that looks like hair"):
        with_hair(glb.load())


def test_the_hand_made_ponytail_is_proposed(assets):
    avatar = load(assets / "makehuman-hair" / "ponytail01_rigged.glb", hair="propose")
    (chain,) = avatar.hair.chains
    names = [avatar.skeleton.names[n] for n in [*chain.joints, chain.ends[-1]]]
    assert names == ["ponytail", "ponytail1", "ponytail2", "ponytail3", "ponytail4", "ponytail_end"]


def test_unskinned_hair_boxes_hang_on_proposed_chains(assets):
    avatar = load(assets / "unity-chan" / "box_unitychan.glb", hair="propose")
    lengths = {c.name: len(c) for c in avatar.hair.chains}
    assert lengths["J_L_HairTail_00"] == lengths["J_R_HairTail_00"] == 6 and len(lengths) == 6
    moved = {int(n) for c in avatar.hair.chains for n in c.joints}
    carried = [p for p in avatar.parts if int(avatar.skeleton.parents[p.node]) in moved]
    assert len(carried) >= 12


@pytest.mark.parametrize("name", ["kaykit/Rig_Medium_MovementBasic.glb", "quaternius/women_Casual.glb"])
def test_rigs_without_hair_bones_get_no_proposal(assets, name):
    assert propose_chains(load(assets / name)) == ()
