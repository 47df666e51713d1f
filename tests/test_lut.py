"""lut: samples and weights on the sphere of rotations, exact lengths, files, and what a table leaves of a style."""

from __future__ import annotations

import numpy as np
import pytest

from taichi_hair import rotations
from taichi_hair.sim.solvers.lut import MOST_BYTES, Follower, PoseTable, neighbours, samples

CHAINS, JOINTS = 12, 6
SPANS = np.array([[c * JOINTS, JOINTS] for c in range(CHAINS)])


def style() -> tuple[np.ndarray, np.ndarray]:
    """(C, 3) roots about a head and (S, 3) end points of strands that hang down."""
    angle = 2.0 * np.pi * np.arange(CHAINS) / CHAINS
    roots = 0.1 * np.stack([np.sin(angle), 0.0 * angle, np.cos(angle)], axis=1)
    rest = np.repeat(roots, JOINTS, axis=0)
    rest[:, 1] -= 0.05 * np.tile(np.arange(1, JOINTS + 1), CHAINS)
    return roots, rest


def hanging(q: np.ndarray) -> np.ndarray:
    """(M, S, 3) a made-up law: strands lean by a fifth towards where down is for a head turned by q."""
    roots, _ = style()
    down = rotations.rotate(rotations.inverse(q), np.array([0.0, -1.0, 0.0]))
    along = np.tile(np.arange(1, JOINTS + 1), CHAINS)[:, None] * 0.05
    straight = 0.8 * np.array([0.0, -1.0, 0.0]) + 0.2 * down
    straight /= np.linalg.norm(straight, axis=-1, keepdims=True)
    return np.repeat(roots, JOINTS, axis=0) + along * straight[:, None]


@pytest.fixture(scope="module")
def table() -> PoseTable:
    roots, rest = style()
    return PoseTable.of(hanging(samples()), roots, SPANS, rest)


def test_a_thousand_unit_rotations_and_weights_that_sum_to_one():
    q = samples()
    assert 1000 <= len(q) <= 1024
    assert np.abs(np.linalg.norm(q, axis=1) - 1.0).max() < 1e-12
    some = rotations.normalise(np.random.default_rng(1).normal(size=(2000, 4)))
    index, weights = neighbours(some)
    assert index.min() >= 0 and index.max() < len(q)
    assert weights.min() >= 0.0
    assert np.abs(weights.sum(axis=1) - 1.0).max() < 1e-12
    angle = 2.0 * np.arccos(np.clip(np.abs(np.sum(q[index] * some[:, None], axis=-1)), 0.0, 1.0))
    assert np.degrees((angle * (weights > 1e-3)).max()) < 65.0
    assert np.array_equal(neighbours(-some)[0], index)


def test_the_pose_is_that_of_the_law_within_millimetres_and_lengths_are_exact(table):
    q = rotations.normalise(np.random.default_rng(2).normal(size=(500, 4)))
    found = table.pose(q)
    error = np.linalg.norm(found - hanging(q), axis=-1)
    assert np.sqrt(np.mean(error**2)) < 0.005  # of strands of 300 mm that lean by up to 60 mm
    joints = np.concatenate([np.broadcast_to(table.roots[:, None], (500, CHAINS, 1, 3)),
                             found.reshape(500, CHAINS, JOINTS, 3)[:, :, :-1]], axis=2)  # fmt: skip
    lengths = np.linalg.norm(found.reshape(500, CHAINS, JOINTS, 3) - joints, axis=-1)
    assert np.abs(lengths - 0.05).max() < 1e-6


def test_one_pose_alone_is_that_of_the_batch(table):
    q = rotations.normalise(np.random.default_rng(3).normal(size=(200, 4)))
    late = rotations.from_axis_angle([0.2, 1.0, 0.1], np.full(200, 0.4))
    for follow in (None, late):
        batch = table.pose(q, follow)
        alone = [table.one(q[k], None if follow is None else follow[k]) for k in range(200)]
        assert np.abs(batch - alone).max() < 1e-6
    ragged = PoseTable.of(hanging(samples())[:, :9], style()[0][:2], np.array([[0, 6], [6, 3]]), style()[1][:9])
    assert np.abs(ragged.pose(q, late) - [ragged.one(a, b) for a, b in zip(q, late, strict=True)]).max() < 1e-6


def test_it_fits_its_bytes_and_comes_back_from_a_file(table, tmp_path):
    assert table.nbytes <= MOST_BYTES
    table.save(tmp_path / "style.npz")
    again = PoseTable.load(tmp_path / "style.npz")
    q = samples()[:7]
    assert again.pose(q).tobytes() == table.pose(q).tobytes()
    np.savez(tmp_path / "other.npz", a=1)
    with pytest.raises(ValueError, match="not a pose table"):
        PoseTable.load(tmp_path / "other.npz")


def test_poses_of_another_shape_or_without_numbers_are_refused():
    roots, rest = style()
    with pytest.raises(ValueError, match="poses have shape"):
        PoseTable.of(np.zeros((10, 72, 3)), roots, SPANS, rest)
    bad = hanging(samples())
    bad[3, 4] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        PoseTable.of(bad, roots, SPANS, rest)


def test_the_tip_follows_late_and_arrives(table):
    turn = rotations.from_axis_angle([0.0, 1.0, 0.0], np.array([0.6]))
    follower = Follower(rotations.IDENTITY)
    first = table.pose(turn, follower.step(turn, 1 / 60))
    still = table.pose(turn)
    tips = np.linalg.norm(first - still, axis=-1).reshape(CHAINS, JOINTS)
    assert tips[:, -1].max() > 0.01 or tips[0, 0] < tips[0, -1]
    for _ in range(600):
        last = table.pose(turn, follower.step(turn, 1 / 60))
    assert np.abs(last - still).max() < 1e-4
