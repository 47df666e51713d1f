"""The window: each case in its own process, because Taichi's windows end the process where they fail."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import figures
import numpy as np
import pytest

from taichi_hair.view.display import WindowError, require_window
from taichi_hair.view.scene import Scene
from taichi_hair.view.subdivide import subdivide
from taichi_hair.view.window import Window

HERE = Path(__file__).parent

PRELUDE = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import figures, numpy as np
from taichi_hair.sim.backend import init
init(sys.argv[2])
from taichi_hair.view.scene import Scene
from taichi_hair.view.window import Window, WindowError

class Stepper:
    def __init__(self, avatar):
        self.avatar, self.log, self.time = avatar, [], 0.0
    def step(self, dt):
        self.time += dt
        turned = self.avatar.skeleton.rotations.copy()
        turned[2] = [np.sin(self.time), 0, 0, np.cos(self.time)]
        return self.avatar.skeleton.world(rotations_=turned)[None]
    def restart(self):
        self.log.append("restart"); self.time = 0.0
    def set_solver(self, name):
        self.log.append(name)

avatar = figures.tailed()
scene, stepper = Scene(avatar), Stepper(avatar)
"""

HIDDEN = """
pictures = []
with Window(scene, stepper, ("rod", "arc"), size=(320, 240), shown=False) as window:
    try:
        Window(scene, stepper, shown=False)
        refused = ""
    except WindowError as why:
        refused = str(why)
    window.advance(0.0)  # the panel appears with the second frame
    window.advance(0.1)
    pictures.append(window.picture())
    window.advance(0.4)
    pictures.append(window.picture())
    window.paused = window.chains = window.colliders = True
    window.next_solver(); window.next_solver()
    window.advance(0.4)
    pictures.append(window.picture())
    window.restart()
    state = [stepper.log, stepper.time, window.time]
with Window(scene, stepper, size=(200, 100), shown=False) as again:  # another one after the first is fine
    again.advance(0.0)
    small = list(again.picture().shape)
changes = [float((a != b).any(-1).mean()) for a, b in zip(pictures, pictures[1:])]
np.save("last.npy", pictures[1])
print(json.dumps([pictures[0].shape, refused, state, small, changes, os.listdir(".")]))
"""


def run(script, backend, folder, env=None, before=()):
    """Standard output of a script run in its own process and folder."""
    command = [*before, sys.executable, "-c", PRELUDE + script, str(HERE), backend]
    paths = os.pathsep.join(p for p in (str(HERE.parent), os.environ.get("PYTHONPATH")) if p)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, **(env or {})},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="session")
def vulkan():
    """Skips where no hidden window draws."""
    try:
        require_window(shown=False)
    except WindowError as why:
        pytest.skip(str(why))


def test_a_hidden_window_draws_steps_pauses_restarts_and_switches(vulkan, tmp_path):
    shape, refused, state, small, changes, files = json.loads(run(HIDDEN, "cpu", tmp_path).splitlines()[-1])
    assert shape == [240, 320, 3] and small == [100, 200, 3]
    assert "another one is open" in refused
    assert state == [["arc", "rod", "restart"], 0.0, 0.0]
    assert 0.01 < changes[0] < 0.6  # the tail swings
    assert changes[1] > 0.01  # chains and colliders appear, the panel shows the pause
    assert files == ["last.npy"]  # no settings file stays behind


def test_meshes_on_a_gpu_look_like_the_rasteriser(vulkan, tmp_path):
    """Runs on any Vulkan device, also on a software one."""
    pictures = {}
    for backend in ("cpu", "vulkan"):
        folder = tmp_path / backend
        folder.mkdir()
        run(HIDDEN, backend, folder)
        pictures[backend] = np.load(folder / "last.npy").astype(int)
    difference = np.abs(pictures["cpu"] - pictures["vulkan"])
    figure = np.abs(pictures["cpu"] - np.median(pictures["cpu"], axis=1, keepdims=True)).max(-1) > 40
    assert figure.mean() > 0.05
    assert difference.mean() < 4.0 and (difference.max(-1) > 60).mean() < 0.02


SHOWN = """
window = Window(scene, stepper, ("rod", "arc"), size=(640, 480), title="hair under test")
yaw = window.camera.yaw
print("open", flush=True)
window.run()
print(json.dumps([stepper.log, window.paused, window.chains, window.colliders, yaw, float(window.camera.yaw)]))
"""

MOUSE = """
set -e
"$@" > out.txt 2> err.txt &
program=$!
for i in $(seq 100); do
  W=$(xdotool search --name 'hair under test' | head -1 || true)
  [ -n "$W" ] && break
  sleep 0.2
done
[ -n "$W" ] || { cat err.txt >&2; exit 3; }
sleep 2
eval "$(xdotool getwindowgeometry --shell "$W")"
click() {
  xdotool mousemove $((X + $1)) $((Y + $2)); sleep 0.4
  xdotool mousedown 1; sleep 0.4; xdotool mouseup 1; sleep 0.4
}
click 60 66    # the solver's button
click 30 135   # the chains' box
xdotool mousemove $((X + 450)) $((Y + 300)); sleep 0.3
xdotool mousedown 1; sleep 0.3
for i in 1 2 3 4; do xdotool mousemove_relative 20 0; sleep 0.3; done
xdotool mouseup 1; sleep 0.3
for key in b r space; do xdotool keydown $key; sleep 0.4; xdotool keyup $key; sleep 0.2; done
xdotool keydown Escape; sleep 0.4; xdotool keyup Escape || true
wait $program
cat out.txt
"""


@pytest.mark.slow
def test_mouse_and_keys_reach_a_real_window(vulkan, tmp_path):
    missing = [tool for tool in ("xvfb-run", "Xvfb", "xdotool") if shutil.which(tool) is None]
    if missing or sys.platform != "linux":
        pytest.skip(f"not installed: {', '.join(missing) or 'an X server'}")
    before = ("xvfb-run", "-a", "-s", "-screen 0 900x700x24", "bash", "-c", MOUSE, "mouse")
    log, paused, chains, colliders, yaw, turned = json.loads(
        run(SHOWN, "cpu", tmp_path, before=before).splitlines()[-1]
    )
    assert log == ["arc", "restart"] and paused and chains and colliders
    # 80 of 640 pixels to the right: an eighth of the width, 4 rad across it.
    assert yaw - turned == pytest.approx(0.5, abs=0.02)


def test_without_a_display_the_reason_is_given(monkeypatch):
    if sys.platform != "linux":
        pytest.skip("only X11 has a DISPLAY")
    monkeypatch.delenv("DISPLAY", raising=False)
    scene = Scene(figures.tailed())
    with pytest.raises(WindowError, match=r"no window: no display is set .*view\.raster"):
        Window(scene, None)
    monkeypatch.setenv("DISPLAY", ":4711")
    with pytest.raises(WindowError, match=r"':4711' does not answer|X11 library is not installed"):
        require_window()


def test_without_a_driver_the_reason_is_given():
    script = "from taichi_hair.view.display import *\ntry: require_window(False)\nexcept WindowError as why: print(why)"
    env = {**os.environ, "VK_ICD_FILENAMES": "/nowhere.json", "VK_DRIVER_FILES": "/nowhere.json"}
    env["PYTHONPATH"] = str(HERE.parent)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=env, timeout=200, check=True
    )
    assert "no window: no Vulkan driver draws" in done.stdout


def test_sizes_out_of_range_are_refused():
    with pytest.raises(ValueError, match=r"window size is \(0, 100\)"):
        Window(Scene(figures.tailed()), None, size=(0, 100), shown=False)


def test_subdivision_follows_the_texture_and_keeps_the_surface():
    image = np.full((64, 64, 4), 255, np.uint8)
    image[42:50, 12:20, :3] = 0  # a small dark spot inside the square, on no edge of it
    square = figures.square()
    plain, spotted = (
        subdivide(square.positions, square.normals, square.uvs, square.triangles, np.zeros(2, int), textures)
        for textures in ({}, {0: (image, ("repeat", "repeat"))})
    )
    assert len(plain.triangles) == 2 and np.array_equal(plain.corners[:, 0], np.arange(4))
    assert 20 < len(spotted.triangles) < 3000
    points = np.einsum("fk,fkc->fc", spotted.weights, square.positions[spotted.corners])
    np.testing.assert_allclose(spotted.weights.sum(axis=1), 1.0, atol=1e-12)
    corner = points[spotted.triangles]
    area = 0.5 * np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    assert area[:, 2].min() > 0 and area[:, 2].sum() == pytest.approx(1.0, abs=1e-9)  # nothing flipped, nothing lost
    # Neighbours agree: inside the square every edge belongs to two triangles.
    sides = np.sort(spotted.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    edges, count = np.unique(sides, axis=0, return_counts=True)
    rim = (np.abs(np.abs(points[edges]) - 0.5) < 1e-9).any(axis=2).all(axis=1)
    assert (count[~rim] == 2).all()


def test_low_poly_curves_are_split_for_a_smooth_toon_edge():
    ball = figures.ball(0.5, rings=6)
    mesh = subdivide(ball.positions, ball.normals, ball.uvs, ball.triangles, np.zeros(len(ball.triangles), int), {})
    assert len(mesh.triangles) > 2 * len(ball.triangles)
