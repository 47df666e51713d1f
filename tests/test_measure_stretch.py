"""Stretch of mesh edges against numbers that can be worked out by hand, and fast skinning against the obvious one."""

from __future__ import annotations

import numpy as np
import pytest

from taichi_hair import rotations
from taichi_hair.avatar.avatar import Avatar, MeshPart, Skin
from taichi_hair.avatar.skeleton import Skeleton
from taichi_hair.avatar.skinning import skin_vertices
from taichi_hair.hair import Chain, HairRig
from taichi_hair.measure.stretch import Blend, EdgeStretch, HairMesh, moved_nodes, unique_edges


def test_shared_edges_count_once_and_in_either_direction():
    assert unique_edges([[0, 1, 2], [2, 1, 3]]).tolist() == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    assert unique_edges([[0, 0, 1]]).tolist() == [[0, 1]], "a corner named twice makes no edge with itself"


def on_a_line(*xs):
    return np.array([[x, 0.0, 0.0] for x in xs])


def test_each_edge_keeps_its_own_maximum():
    # Two edges of 100 mm. One is 110 mm long in the first frame, the other 130 mm in the second: 10 % and 30 %, though
    # no frame has both. A mean over time would show 5 % and 15 %.
    stretch = EdgeStretch([[0, 1], [1, 2]], on_a_line(0.0, 0.1, 0.2))
    stretch.add(on_a_line(0.0, 0.11, 0.21))
    stretch.add(on_a_line(0.0, 0.1, 0.23))
    assert 100 * (stretch.largest - 1) == pytest.approx([10.0, 30.0])
    assert stretch.worst() == pytest.approx(30.0)
    assert stretch.worst_edge() == (1, 2)
    assert stretch.percentile(50) == pytest.approx(20.0)


def test_the_99th_percentile_forgives_one_edge_in_a_hundred():
    # 101 edges, stretched by 0, 1, ... 100 percent: 99 % of the edges stayed at or below 99 %.
    n = np.arange(101)
    rest = np.stack([np.stack([0 * n, n, 0 * n], -1), np.stack([0 * n + 1, n, 0 * n], -1)], 1).reshape(-1, 3) * 1.0
    now = rest.copy()
    now[1::2, 0] = 1.0 + n / 100
    stretch = EdgeStretch(np.arange(202).reshape(-1, 2), rest)
    stretch.add(now)
    assert stretch.percentile() == pytest.approx(99.0)
    assert stretch.worst() == pytest.approx(100.0)


def test_frames_may_come_one_by_one_or_together():
    rng = np.random.default_rng(1)
    rest, frames = rng.normal(size=(6, 3)), rng.normal(size=(5, 6, 3))
    edges = unique_edges([[0, 1, 2], [3, 4, 5], [2, 3, 4]])
    one, all_at_once = EdgeStretch(edges, rest), EdgeStretch(edges, rest)
    for frame in frames:
        one.add(frame)
    all_at_once.add(frames)
    assert one.frames == all_at_once.frames == 5
    assert np.array_equal(one.largest, all_at_once.largest)


def test_edges_without_length_are_left_out_and_counted():
    stretch = EdgeStretch([[0, 1], [1, 2]], on_a_line(0.0, 0.0, 0.1))
    stretch.add(on_a_line(0.0, 0.05, 0.15))
    assert stretch.skipped == 1
    assert stretch.worst() == pytest.approx(0.0)


def test_nothing_measured_is_none_not_zero():
    empty = EdgeStretch([[0, 1]], on_a_line(0.0, 0.1))
    assert empty.worst() is None
    assert empty.percentile() is None
    assert empty.worst_edge() is None
    nowhere = EdgeStretch([[0, 1]], on_a_line(0.1, 0.1))
    nowhere.add(on_a_line(0.0, 1.0))
    assert nowhere.worst() is None


def test_positions_that_do_not_fit_are_refused():
    stretch = EdgeStretch([[0, 1]], on_a_line(0.0, 0.1))
    with pytest.raises(ValueError, match=r"shape \(3, 3\), wanted \(2, 3\)"):
        stretch.add(on_a_line(0.0, 0.1, 0.2))
    with pytest.raises(ValueError, match="not finite"):
        stretch.add(on_a_line(0.0, np.nan))


def strand_avatar() -> Avatar:
    """A head with two joints of hair below it, a ribbon skinned to all three, and a hat that hair does not touch."""
    skeleton = Skeleton(
        names=("head", "hair1", "hair2", "leaf"),
        parents=np.array([-1, 0, 1, 2]),
        translations=np.array([[0.0, 1.5, 0.0], [0.0, 0.0, -0.1], [0.0, -0.1, 0.0], [0.0, -0.1, 0.0]]),
        rotations=np.tile(rotations.IDENTITY, (4, 1)),
        scales=np.ones((4, 3)),
    )
    inverse_bind = np.linalg.inv(skeleton.rest_world)
    ribbon = MeshPart(
        name="ribbon",
        node=0,
        mesh=0,
        primitive=0,
        skin=0,
        material=0,
        positions=np.array([[0, 1.6, -0.1], [0, 1.5, -0.15], [0, 1.42, -0.05], [0.02, 1.3, -0.1], [0, 1.7, -0.1]]),
        normals=np.tile([0.0, 0.0, 1.0], (5, 1)),
        triangles=np.array([[0, 1, 2], [1, 2, 3], [0, 4, 4]], dtype=np.int32),
        joints=np.array([[0, 0], [0, 1], [1, 2], [2, 3], [0, 0]], dtype=np.int32),
        weights=np.array([[1, 0], [0.5, 0.5], [0.25, 0.75], [0.5, 0.5], [1, 0]]),
    )
    hat = MeshPart(
        name="hat",
        node=0,
        mesh=1,
        primitive=0,
        skin=0,
        material=0,
        positions=np.eye(3),
        normals=np.eye(3),
        triangles=np.array([[0, 1, 2]], dtype=np.int32),
        joints=np.zeros((3, 1), dtype=np.int32),
        weights=np.ones((3, 1)),
    )
    chain = Chain(
        name="strand",
        joints=np.array([1, 2]),
        ends=np.array([2, 3]),
        tails=np.array([[0.0, -0.1, 0.0]] * 2),
        attach=0,
        stiffness=np.ones(2),
        drag=np.ones(2),
        gravity_power=np.zeros(2),
        gravity_dir=np.tile([0.0, -1.0, 0.0], (2, 1)),
        hit_radius=np.zeros(2),
    )
    return Avatar(
        name="strand",
        path=None,
        skeleton=skeleton,
        skins=(Skin(joints=np.arange(4), inverse_bind=inverse_bind),),
        parts=(ribbon, hat),
        materials=(),
        images=(),
        humanoid={"head": 0},
        hair=HairRig(chains=(chain,)),
    )


def bent_pose(avatar: Avatar, degrees: float) -> np.ndarray:
    turns = avatar.skeleton.rotations.copy()
    turns[1:3] = rotations.from_axis_angle(np.array([1.0, 0.0, 0.3]), np.array(np.radians(degrees)))
    return avatar.skeleton.world(rotations_=turns)


def test_fast_skinning_is_the_obvious_one():
    avatar = strand_avatar()
    part = avatar.parts[0]
    chosen = np.array([3, 1, 2])
    pose = bent_pose(avatar, 40.0)
    fast = Blend(part, avatar.skins[0], chosen).positions(pose)
    assert np.allclose(fast, skin_vertices(avatar, part, pose)[chosen], atol=1e-14)
    assert np.abs(fast - part.positions[chosen]).max() > 0.01, "the pose moves something"


def test_edges_that_hair_touches_are_measured_and_no_others():
    avatar = strand_avatar()
    mesh = HairMesh(avatar, avatar.hair)
    assert [piece.name for piece in mesh.pieces] == ["ribbon"]
    assert mesh.pieces[0].vertices.tolist() == [0, 1, 2, 3], "the edge from 0 to 4 hangs on the head alone"
    assert mesh.edges == 5
    mesh.add(avatar.skeleton.rest_world)
    assert mesh.percentile() == pytest.approx(0.0, abs=1e-9)
    assert mesh.worst()[0] == pytest.approx(0.0, abs=1e-9)


def test_worst_edge_names_part_and_vertices():
    avatar = strand_avatar()
    mesh = HairMesh(avatar, avatar.hair)
    pose = bent_pose(avatar, 40.0)
    mesh.add(pose)
    percent, part, (a, b) = mesh.worst()
    positions, rest = skin_vertices(avatar, avatar.parts[0], pose), avatar.parts[0].positions
    ratios = {
        (int(i), int(j)): np.linalg.norm(positions[i] - positions[j]) / np.linalg.norm(rest[i] - rest[j])
        for i, j in unique_edges(avatar.parts[0].triangles)
    }
    assert part == "ribbon"
    assert (a, b) == max(ratios, key=ratios.get)
    assert percent == pytest.approx(100 * (ratios[(a, b)] - 1), abs=1e-9)
    assert percent > 1.0


def test_no_pose_or_no_hair_mesh_is_none():
    avatar = strand_avatar()
    assert HairMesh(avatar, avatar.hair).percentile() is None
    assert HairMesh(avatar, avatar.hair).worst() is None
    bald = HairMesh(avatar, HairRig())
    bald.add(avatar.skeleton.rest_world)
    assert bald.pieces == []
    assert bald.percentile() is None


def test_nodes_below_a_joint_are_moved_with_it():
    avatar = strand_avatar()
    assert moved_nodes(avatar, np.array([2])).tolist() == [False, False, True, True]
