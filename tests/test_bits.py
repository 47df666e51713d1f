"""CPU results are bit-for-bit the same for any frame rate, thread count, kernel structure and place in a crowd."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rigs import capsule, sphere, strand

from taichi_hair.motion.turn import HeadTurn
from taichi_hair.sim import layout as row
from taichi_hair.sim.crowd import Crowd
from taichi_hair.sim.solvers.kinds import SOLVERS
from taichi_hair.sim.storage import read

HERE = Path(__file__).resolve().parent


def avatar(links: int = 5):
    """A strand that meets a ball and a capsule while the head turns."""
    colliders = (sphere([0.06, 1.2, -0.12], 0.05), capsule([-0.1, 1.15, -0.1], [-0.02, 1.1, -0.1], 0.03))
    return strand(np.linspace(0.05, 0.07, links), colliders=colliders)


def final(solver: str, fps: float, seconds: float = 2.0, **options) -> bytes:
    subject = avatar()
    crowd = Crowd(solver, **options)
    ids = crowd.add(subject, motion=HeadTurn(subject))
    for _ in range(round(seconds * fps)):
        crowd.advance(1.0 / fps)
    assert crowd.clock.ticks == round(seconds * 120)
    return crowd.positions(ids).tobytes()


def device_bits(crowd: Crowd, member: int) -> bytes:
    """Positions and velocities as the device holds them, before the host adds kilometres."""
    m = crowd._members[int(member)]
    return read(crowd._storage.state.joint, m.joint + m.kind.constants.columns, row.POSITION, 6).tobytes()


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_bits_at_every_frame_rate(solver):
    found = {fps: final(solver, fps, contact="segment") for fps in (24, 30, 60, 90, 120, 144)}
    assert len(set(found.values())) == 1


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_bits_from_phase_kernels_and_frame_kernel(solver):
    assert final(solver, 60, contact="segment") == final(solver, 60, contact="segment", phases=True)


def test_contact_took_place_in_these_runs():
    assert final("rod", 60, contact="segment") != final("rod", 60, contact="off")


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_bits_alone_and_as_number_37_of_50(solver):
    subject, other = avatar(), avatar(7)
    motion = HeadTurn(subject)
    alone = Crowd(solver)
    one = alone.add(subject, motion=motion)
    crowd = Crowd(solver)
    places = np.random.default_rng(1).uniform(-10_000.0, 10_000.0, (50, 3))
    ids = []
    for k in range(50):
        kind = other if k % 3 == 1 and k != 37 else subject
        ids.append(crowd.add(kind, motion=HeadTurn(kind) if kind is other else motion, at=places[k])[0])
    crowd.remove(ids[11])
    for _ in range(90):
        alone.advance(1 / 60)
        crowd.advance(1 / 60)
    assert device_bits(alone, one[0]) == device_bits(crowd, ids[37])
    assert np.abs(crowd.positions(ids[37])[0] - places[37] - alone.positions(one)[0]).max() < 1e-8


def test_same_bits_on_one_and_two_threads():
    script = (
        "import sys; sys.path[:0] = [sys.argv[2], sys.argv[3]]\n"
        "from taichi_hair.sim.backend import init\n"
        "init('cpu', threads=int(sys.argv[1]))\n"
        "import taichi_hair.sim.crowd as crowd\n"
        "crowd.SERIAL_FAMILIES = 0\n"
        "import hashlib, test_bits\n"
        "found = b''.join(test_bits.final(s, 60, contact='segment') for s in ('rod', 'arc', 'spring-bone'))\n"
        "print(hashlib.sha256(found).hexdigest())\n"
    )
    hashes = set()
    for threads in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", script, threads, str(HERE), str(HERE.parent)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        hashes.add(run.stdout.strip())
    assert len(hashes) == 1
