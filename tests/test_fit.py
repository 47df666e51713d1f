"""fit_hair on single strands: rest pose, rigid motion, undo, the chain's place, and clear errors."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from taichi_hair.avatar.avatar import load
from taichi_hair.avatar.errors import AssetError
from taichi_hair.avatar.samples import sample
from taichi_hair.avatar.saving import to_bytes
from taichi_hair.avatar.skinning import skin_vertices
from taichi_hair.motion.carried import lengthened
from taichi_hair.motion.turn import HeadTurn, Sideways
from taichi_hair.rig.fit import fit_hair
from taichi_hair.rig.fitted import FittedRig, owner


@pytest.fixture(scope="module")
def ponytail():
    avatar = sample("ponytail")
    return avatar, fit_hair(avatar, "ponytail", joints=6)


def part_index(avatar, name):
    return next(i for i, p in enumerate(avatar.parts) if p.name == name)


def test_new_chain_takes_the_old_ones_place(ponytail):
    avatar, rig = ponytail
    assert len(rig.fitted) == 1 and len(rig.chains[rig.fitted[0]]) == 6
    assert len(rig.chains) == len(avatar.hair.chains)  # the strand's old chain moves nothing now and is left out
    assert rig.avatar.skeleton.names[: len(avatar.skeleton)] == avatar.skeleton.names
    lock = rig.locks[0]
    assert lock.confidence > 0.8 and 0.5 < lock.length < 0.65


def test_joints_lie_on_the_artists_strand(ponytail):
    avatar, rig = ponytail
    old = next(c for c in avatar.hair.chains if c.name == "ponytail")
    world = avatar.skeleton.rest_world
    places = np.concatenate([world[old.joints, :3, 3], world[old.ends[-1:], :3, 3]])
    fine = np.concatenate([a + np.linspace(0, 1, 50)[:, None] * (b - a) for a, b in pairwise(places)])
    mine = rig.avatar.skeleton.rest_world[rig.chains[rig.fitted[0]].joints, :3, 3]
    away = np.linalg.norm(mine[:, None] - fine[None], axis=-1).min(axis=1)
    assert away.mean() < 0.01


def test_rest_pose_is_unchanged(ponytail):
    avatar, rig = ponytail
    for index in range(len(avatar.parts)):
        off = np.abs(skin_vertices(avatar, index) - skin_vertices(rig.avatar, index)).max()
        assert off < 1e-6


def test_rigid_motion_of_the_head_moves_the_hair_rigidly(ponytail):
    avatar, rig = ponytail
    index = part_index(avatar, "ponytail")
    head = avatar.humanoid["head"]
    worlds = HeadTurn(avatar).worlds(np.array([0.6, 1.3]))
    posed = skin_vertices(rig.avatar, index, lengthened(worlds, rig.avatar.skeleton))
    rest = skin_vertices(avatar, index)
    move = worlds[:, head] @ np.linalg.inv(avatar.skeleton.rest_world[head])
    wanted = np.einsum("tij,vj->tvi", move[:, :3, :3], rest) + move[:, None, :3, 3]
    assert np.abs(posed - wanted).max() < 1e-5
    shifted = Sideways(rig.avatar).worlds(np.array([0.5]))
    step = shifted[0, head, :3, 3] - avatar.skeleton.rest_world[head, :3, 3]
    assert np.abs(skin_vertices(rig.avatar, index, shifted)[0] - rest - step).max() < 1e-5


def test_undo_gives_the_same_avatar_and_bytes(ponytail):
    avatar, rig = ponytail
    before = to_bytes(avatar)
    assert rig.undo() is avatar
    assert to_bytes(rig.undo()) == before


def test_root_band_follows_the_head_alone_and_the_tip_does_not(ponytail):
    avatar, rig = ponytail
    part = rig.avatar.parts[part_index(avatar, "ponytail")]
    nodes = rig.avatar.skins[part.skin].joints[part.joints]
    on_head = np.sum(part.weights * (nodes == avatar.humanoid["head"]), axis=1)
    y = skin_vertices(avatar, part_index(avatar, "ponytail"))[:, 1]
    assert on_head[y < 1.3].max() == 0.0
    surface, plan = rig.table["surface"], rig.table["plan"]
    assert plan.fixed.sum() > 50
    band = np.isin(surface.owners[0], np.flatnonzero(plan.fixed))
    assert on_head[surface.vertices[0][band]].min() == 1.0
    assert (part.weights > 0).sum(axis=1).max() <= 4
    assert np.allclose(part.weights.sum(axis=1), 1.0)


def test_refinement_lowers_the_worst_stretch(ponytail):
    _, rig = ponytail
    assert rig.refinement.after.worst < 0.9 * rig.refinement.before.worst
    assert rig.refinement.after.p99 <= 1.02 * rig.refinement.before.p99


def test_named_root_and_joint_count():
    avatar = sample("ponytail")
    rig = fit_hair(avatar, "ponytail", joints=3, root="hair_tie", refine=False)
    chain = rig.chains[rig.fitted[0]]
    assert len(chain) == 3
    tip = fit_hair(avatar, "ponytail", joints=3, root=np.array([0.0, 0.95, -0.24]), refine=False)
    first = tip.avatar.skeleton.rest_world[tip.chains[tip.fitted[0]].joints[0], 1, 3]
    assert first < 1.15  # the user's word counts, even at the wrong end


def test_faces_select_a_part_of_a_mesh():
    avatar = sample("twin-tails")
    index = part_index(avatar, "tails")
    part = avatar.parts[index]
    left = (part.positions[part.triangles][..., 0] > 0).all(axis=1)
    rig = fit_hair(avatar, "tails", joints=5, faces=left, refine=False)
    assert rig.locks[0].guide[:, 0].min() > 0.0
    right = skin_vertices(avatar, index)[:, 0] < -0.05
    nodes = rig.avatar.skins[rig.avatar.parts[index].skin].joints[rig.avatar.parts[index].joints]
    new = nodes >= len(avatar.skeleton)
    assert not np.any(new[right] & (rig.avatar.parts[index].weights[right] > 0))


def test_errors_name_what_is_wrong():
    avatar = sample("twin-tails")
    with pytest.raises(AssetError, match="none named 'tail'"):
        fit_hair(avatar, "tail")
    with pytest.raises(AssetError, match="pieces that lie apart"):
        fit_hair(avatar, "tails")
    with pytest.raises(AssetError, match="joints"):
        fit_hair(avatar, "tails", joints=0)
    with pytest.raises(AssetError, match="no triangle chosen"):
        fit_hair(avatar, "tails", faces=np.zeros(len(avatar.parts[part_index(avatar, "tails")].triangles), dtype=bool))
    with pytest.raises(AssetError, match="root"):
        fit_hair(sample("ponytail"), "ponytail", root="nowhere")


def broken(avatar, name, **changes):
    index = part_index(avatar, name)
    parts = list(avatar.parts)
    parts[index] = replace(parts[index], **changes)
    return replace(avatar, parts=tuple(parts))


def test_broken_meshes_are_refused():
    avatar = sample("ponytail")
    part = avatar.parts[part_index(avatar, "ponytail")]
    bad = np.array(part.positions)
    bad[17] = np.nan
    with pytest.raises(AssetError, match="vertex 17 at a place that is not finite"):
        fit_hair(broken(avatar, "ponytail", positions=bad), "ponytail")
    with pytest.raises(AssetError, match="no triangle"):
        fit_hair(broken(avatar, "ponytail", triangles=np.zeros((0, 3), dtype=np.int32)), "ponytail")
    with pytest.raises(AssetError, match="all vertices in one place"):
        fit_hair(broken(avatar, "ponytail", positions=np.ones_like(part.positions)), "ponytail")


def test_a_rig_goes_with_the_avatar_it_was_fitted_to(ponytail):
    avatar, rig = ponytail
    assert owner(avatar, rig) is rig.avatar
    assert owner(rig.avatar, rig) is rig.avatar
    assert owner(avatar, avatar.hair) is avatar
    with pytest.raises(ValueError, match="fitted to another avatar"):
        owner(sample("layered"), rig)


def test_crowd_and_measure_take_the_rig_beside_the_avatar(ponytail):
    from taichi_hair.measure.run import measure
    from taichi_hair.sim.crowd import Crowd

    avatar, rig = ponytail
    crowd = Crowd(solver="rod")
    (member,) = crowd.add(avatar, rig, motion=HeadTurn(avatar))
    crowd.advance(0.2)
    assert crowd.positions(member).shape[1] == len(rig.joints)
    crowd.drive(member, avatar.skeleton.rest_world)
    crowd.advance(0.1)
    crowd.remove(member)
    report = measure(avatar, rig, seconds=1.0, solvers=("rod",), chains=rig.fitted)
    assert report.solvers["rod"].swing_mm > 1.0


def test_seed_sans_tail_is_found_again(assets):
    avatar = load(assets / "seed-san" / "seed-san.vrm")
    rig = fit_hair(avatar, "hair_tail", joints=6)
    assert rig.locks[0].confidence > 0.8
    world, old = avatar.skeleton.rest_world, avatar.hair.chains[0]
    places = np.concatenate([world[old.joints, :3, 3], world[old.ends[-1:], :3, 3]])
    fine = np.concatenate([a + np.linspace(0, 1, 50)[:, None] * (b - a) for a, b in pairwise(places)])
    mine = rig.avatar.skeleton.rest_world[rig.chains[rig.fitted[0]].joints, :3, 3]
    assert np.linalg.norm(mine[:, None] - fine[None], axis=-1).min(axis=1).mean() < 0.02
    assert rig.refinement.after.p99 < 0.85 * rig.refinement.before.p99
    off = np.abs(skin_vertices(avatar, 6) - skin_vertices(rig.avatar, 6)).max()
    assert off < 1e-6


def test_colliders_are_fitted_for_a_fitted_rig(ponytail):
    from taichi_hair.rig.colliders import fit_colliders

    avatar, rig = ponytail
    with_body = fit_colliders(avatar, rig)
    assert isinstance(with_body, FittedRig) and with_body.fitted == rig.fitted
    assert owner(avatar, with_body) is rig.avatar
    assert len(with_body.colliders) >= len(rig.colliders)
