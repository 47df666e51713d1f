"""The published vectors: they are what the generator writes, and the library's own solver meets them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from rigs import Given, avatar_of

from taichi_hair.sim.crowd import Crowd

FOLDER = Path(__file__).resolve().parent.parent / "conformance"
FILES = sorted((FOLDER / "vectors").glob("*.json"))


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("conformance_generate", FOLDER / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_are_what_the_generator_writes(generator):
    entries = list(generator.vectors())
    assert sorted(entry[0] for entry in entries) == [path.stem for path in FILES]
    for entry in entries:
        stored = json.loads((FOLDER / "vectors" / f"{entry[0]}.json").read_text())
        found = generator.vector(*entry)
        assert np.abs(np.array(found.pop("tails")) - np.array(stored.pop("tails"))).max() < 1e-6
        assert found.keys() == stored.keys()


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_the_solver_meets_the_vector(generator, path):
    vector = json.loads(path.read_text())
    skeleton = generator.skeleton_of(vector["nodes"])
    chains, colliders = generator.rig_of(vector["nodes"], vector["springs"], vector["colliders"])
    motion = Given(generator.worlds_of(skeleton, vector["drive"]), vector["rate"])
    crowd = Crowd("spring-bone", rate=vector["rate"], bone_length="exact")
    ids = crowd.add(avatar_of(skeleton, chains, colliders), motion=motion)
    wanted = np.array(vector["tails"])
    assert np.abs(wanted - wanted[0]).max() > 0.01  # something moves
    for tails in wanted[1:]:
        crowd.advance(1.0 / vector["rate"])
        assert np.abs(crowd.positions(ids)[0] - tails).max() < vector["tolerance"]


@pytest.mark.parametrize("name", [path.stem for path in FILES if json.loads(path.read_text())["colliders"]])
def test_the_colliders_of_a_vector_are_met(generator, name):
    vector = json.loads((FOLDER / "vectors" / f"{name}.json").read_text())
    springs = [{**spring, "colliders": []} for spring in vector["springs"]]
    free = np.array(generator.expected(vector["nodes"], springs, [], vector["drive"]))
    assert np.abs(free - np.array(vector["tails"])).max() > 5e-3
