"""Weights of a strand by hand-worked numbers, their refinement, and the lint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from taichi_hair.avatar.samples import sample
from taichi_hair.rig.fit import fit_hair
from taichi_hair.rig.lint import lint_weights
from taichi_hair.rig.poses import bone_moves, sample_ends
from taichi_hair.rig.refine import neighbours_allowed, refined, stretches
from taichi_hair.rig.weights import along_chain, as_influences, limited, spread


def test_weights_along_a_chain_by_hand():
    # Joints at 0.1, 0.3 and 0.5, tip at 0.7: segment middles at 0.2, 0.4, 0.6; the head holds up to 0.1.
    knots = np.array([0.1, 0.3, 0.5, 0.7])
    weights = along_chain(np.array([0.0, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6, 0.7]), knots, 0.1)
    wanted = [
        [1, 0, 0, 0],
        [1, 0, 0, 0],
        [0.5, 0.5, 0, 0],
        [0, 1, 0, 0],
        [0, 0.5, 0.5, 0],
        [0, 0, 0.75, 0.25],
        [0, 0, 0, 1],
        [0, 0, 0, 1],
    ]
    assert np.allclose(weights, wanted)


def test_limited_keeps_the_four_largest():
    table = np.array([[0.3, 0.25, 0.2, 0.15, 0.1], [0.2, 0.2, 0.2, 0.2, 0.2]])
    out = limited(table)
    assert (out > 0).sum(axis=1).tolist() == [4, 4]
    assert np.allclose(out[0], [0.3 / 0.9, 0.25 / 0.9, 0.2 / 0.9, 0.15 / 0.9, 0])
    columns, values = as_influences(out)
    assert columns[0].tolist() == [0, 1, 2, 3] and np.allclose(values.sum(axis=1), 1.0)


def test_spread_averages_and_keeps_what_is_fixed():
    edges = np.array([[0, 1], [1, 2]])
    values = spread(np.array([[1.0], [0.0], [0.0]]), edges, 1, np.array([True, False, False]))
    assert np.allclose(values[:, 0], [1.0, 0.25, 0.0])


def strip(length=0.4, width=0.03, rows=41):
    s = np.linspace(0, length, rows)
    points = np.concatenate([np.stack([np.full(rows, x), -s, 0 * s], 1) for x in (-width / 2, 0.0, width / 2)])
    index = np.arange(rows)
    edges = [(c * rows + a, c * rows + a + 1) for c in range(3) for a in index[:-1]]
    edges += [(a, rows + a) for a in index] + [(rows + a, 2 * rows + a) for a in index]
    edges += [(a, rows + a + 1) for a in index[:-1]] + [(rows + a, 2 * rows + a + 1) for a in index[:-1]]
    return points, np.array(edges), np.tile(s, 3)


def test_smooth_weights_stretch_less_than_hard_ones_and_refined_ones_less_again():
    points, edges, s = strip()
    knots = np.linspace(0.03, 0.4, 6)
    places = np.stack([0 * knots, -knots, 0 * knots], axis=1)
    moves = bone_moves(places, sample_ends(places))
    smooth = limited(along_chain(s, knots, 0.02))
    hard = np.eye(6)[np.argmax(smooth, axis=1)]
    fixed = s <= 0.02
    first = stretches(points, edges, smooth, moves)
    assert first.p99 < 0.5 * stretches(points, edges, hard, moves).p99
    allowed = neighbours_allowed(smooth, [(1, 5)], s < 0.1)
    better = refined(points, edges, smooth, moves, fixed, allowed)
    after = stretches(points, edges, better, moves)
    assert after.p99 < 0.95 * first.p99 and after.worst < first.worst
    assert np.array_equal(better[fixed], smooth[fixed])
    assert np.allclose(better.sum(axis=1), 1.0) and better.min() >= 0.0
    assert not np.any(better[~allowed] > 0)
    # The tip goes where it went: refinement must not win by moving less.
    tip = s > 0.39
    far = [np.abs(np.einsum("pc,cij->pij", w, moves[0])[tip][:, :, 3]).max() for w in (smooth, better)]
    assert far[1] > 0.95 * far[0]


def test_bone_moves_are_the_simulations_own_rule():
    from taichi_hair.sim.pose import apply_hair

    avatar = sample("ponytail")
    rig = fit_hair(avatar, "ponytail", joints=4, refine=False)
    chain = rig.chains[rig.fitted[0]]
    places = rig.table["plan"].strands[0].places
    ends = sample_ends(places)[3]
    only = replace(rig, chains=(replace(chain, parent=None),))
    posed = apply_hair(rig.avatar.skeleton, only, rig.avatar.skeleton.rest_world, ends)
    wanted = posed[chain.joints] @ np.linalg.inv(rig.avatar.skeleton.rest_world[chain.joints])
    assert np.allclose(bone_moves(places, ends[None])[0, 1:], wanted[:, :3], atol=1e-9)


def test_lint_is_quiet_on_good_weights_and_names_bad_ones():
    avatar = sample("ponytail")
    assert not [f for f in lint_weights(avatar) if f.level == "error"]
    index = next(i for i, p in enumerate(avatar.parts) if p.name == "ponytail")
    part = avatar.parts[index]
    skin = np.asarray(avatar.skins[part.skin].joints).tolist()
    hips = avatar.humanoid["hips"]

    def with_part(**changes):
        parts = list(avatar.parts)
        parts[index] = replace(part, **changes)
        return replace(avatar, parts=tuple(parts))

    column = skin.index(hips) if hips in skin else None
    if column is not None:
        joints, weights = np.array(part.joints), np.array(part.weights)
        low = part.positions[:, 1] < 1.1
        joints[low, 3], weights[low, 3] = column, 0.2
        weights /= weights.sum(axis=1, keepdims=True)
        found = lint_weights(with_part(joints=joints, weights=weights))
        assert any(f.rule == "stray" and "hips" in f.text for f in found)
    chain = next(c for c in avatar.hair.chains if c.name == "ponytail")
    first = skin.index(int(chain.joints[0]))
    joints, weights = np.zeros_like(part.joints), np.zeros_like(part.weights)
    joints[:, 0], weights[:, 0] = first, 1.0
    found = lint_weights(with_part(joints=joints, weights=weights))
    rules = {f.rule for f in found if f.chain == "ponytail"}
    assert {"root", "tip", "unused"} <= rules
