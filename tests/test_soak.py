"""A crowd under random acts and broken input stays finite, keeps its lengths and gives back what it held."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from taichi_hair.sim.storage import shared_storage

HERE = Path(__file__).resolve().parent
SCRIPT = HERE.parent / "benchmarks" / "soak.py"


@pytest.mark.parametrize("seed", [1, 2])
def test_random_acts_break_nothing(seed):
    spec = importlib.util.spec_from_file_location("soak", SCRIPT)
    soak = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(soak)
    found = soak.soak(12, 8.0, seed, contact="off")
    assert found["length_error"] < 1e-4
    used = {name: pool.used for name, pool in shared_storage().state_pools.items()}
    soak.soak(12, 8.0, seed, contact="off")
    assert {name: pool.used for name, pool in shared_storage().state_pools.items()} == used
