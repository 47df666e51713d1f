"""Other devices: each runs in a process of its own, since Taichi starts once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from taichi_hair.sim import backend

HERE = Path(__file__).resolve().parent

SCRIPT = """
import json, sys
sys.path[:0] = [sys.argv[2], sys.argv[3]]
import numpy as np
from taichi_hair.sim.backend import init
found = init(sys.argv[1])
from rigs import arc_numbers, rod_numbers, sphere, strand
from taichi_hair.motion.turn import HeadTurn
from taichi_hair.sim.crowd import Crowd
avatar = strand((0.05,) * 5, colliders=(sphere([-0.08, 1.22, -0.12], 0.04),), arc=arc_numbers(5, 400.0, 24.0),
                rod=rod_numbers(5, 1.5, 0.8))
out = {"backend": found.name}
for solver in ("rod", "arc", "spring-bone"):
    frames = {}
    for phases in (False, True):
        crowd = Crowd(solver, contact="segment", phases=phases)
        ids = crowd.add(avatar, count=3, motion=HeadTurn(avatar))
        for _ in range(60):
            crowd.advance(1 / 60)
        frames[phases] = crowd.positions(ids)
    assert frames[False].tobytes() == frames[True].tobytes(), "phase kernels and frame kernel differ"
    out[solver] = frames[False].tolist()
    free = Crowd(solver, contact="off")
    ids = free.add(avatar, motion=HeadTurn(avatar))
    for _ in range(60):
        free.advance(1 / 60)
    assert abs(free.positions(ids)[0] - frames[False][0]).max() > 1e-3, "contact did not take place"
print(json.dumps(out))
"""


def run_on(name: str) -> dict:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, name, str(HERE), str(HERE.parent)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("name", ["vulkan", "cuda", "metal"])
def test_a_gpu_moves_hair_as_the_cpu_does(name):
    if not backend.probe(name):
        pytest.skip(f"{name} does not answer here (for Vulkan on Debian: apt install mesa-vulkan-drivers)")
    found, wanted = run_on(name), run_on("cpu")
    assert found["backend"] == name
    for solver in ("rod", "arc", "spring-bone"):
        assert np.abs(np.array(found[solver]) - np.array(wanted[solver])).max() < 1e-4


def test_auto_does_not_take_a_software_driver():
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    code = "from taichi_hair.sim import backend; print(backend.init('auto').name, backend.vulkan_devices())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stderr
    name, devices = run.stdout.split(" ", 1)
    if "True" not in devices and not backend._cuda_present() and sys.platform != "darwin":
        assert name == "cpu"


def test_a_second_device_in_one_process_is_refused():
    with pytest.raises(backend.BackendError, match="already runs on cpu"):
        backend.init("vulkan")
    assert backend.init("cpu") is backend.current()
    assert backend.init("auto") is backend.current()


def test_an_unknown_device_is_named():
    with pytest.raises(ValueError, match="'opengl' is unknown"):
        backend.init("opengl")


def test_a_device_that_is_not_there_is_refused_without_a_crash():
    name = "metal" if sys.platform != "darwin" else "cuda"
    code = f"from taichi_hair.sim import backend\ntry:\n backend.init({name!r})\n"
    code += "except backend.BackendError as problem:\n print(problem)"
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stderr
    assert "does not answer" in run.stdout
