"""Window: a scene in motion on the screen, with orbit, pause, restart, solver switch, chains and colliders.

One window exists in a process at a time: a second one crashes Taichi.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Protocol

import numpy as np

from ..sim.backend import ti
from .camera import Camera, frame
from .display import WindowError, require_window
from .overlay import Overlay, overlay, tube_radius
from .raster import Raster, Stage
from .scene import Scene

__all__ = ["Stepper", "Window", "WindowError", "require_window"]

LONGEST_STEP = 0.25  # seconds; what a hitch may hand to the simulation at most
ORBIT_SPEED = 4.0  # radians across the width of the window
ZOOM_STEP = 1.12
STILL_AFTER = 0.2  # seconds without any change before the picture is refined
STILL = 1e-6  # metres; matrices that differ by less show the same picture
PANEL = (12, 12, 252, 206)  # left, top, width, height in pixels; holds what _panel() writes
VIEW_KEYS = {"1": "front", "2": "three_quarter", "3": "side", "4": "back"}
HELP = "drag: orbit, up/down: zoom\nkeys: space r s c b h 1-4"

_open: Window | None = None


class Stepper(Protocol):
    """What the window shows. It knows the simulation, the window does not."""

    def step(self, dt: float) -> np.ndarray:
        """World matrices (K, N, 4, 4), or a sequence of K arrays, dt seconds later; dt = 0 gives the present ones."""

    def restart(self) -> None:
        """Back to the start."""

    def set_solver(self, name: str) -> None:
        """Go on with another solver."""


class Window:
    """Shows a scene that a stepper moves.

    `solvers` are the names that the button goes through, the first one is running. With `shown=False` nothing appears
    on a screen and `picture()` returns what would. Raises WindowError where a window cannot open.
    """

    def __init__(
        self,
        scene: Scene,
        stepper: Stepper,
        solvers: tuple[str, ...] = (),
        size: tuple[int, int] = (1280, 720),
        title: str = "taichi_hair",
        shown: bool = True,
        camera: Camera | None = None,
        stage: Stage | None = None,
    ):
        global _open
        if _open is not None:
            raise WindowError(
                "no window: another one is open in this process, and Taichi crashes on a second; close it first"
            )
        if not all(16 <= n <= 8192 for n in size):
            raise ValueError(f"window size is {size}, wanted 16 to 8192 pixels each way")
        require_window(shown)
        self.scene, self.stepper, self.solvers, self.shown = scene, stepper, tuple(solvers), shown
        self.solver = 0
        self.paused = self.chains = self.colliders = False
        self.stage = stage or Stage()
        self.time = 0.0  # seconds shown since the start
        aspect = size[0] / size[1]
        self.camera = self._home = camera or frame(scene.positions(), "three_quarter", aspect=aspect)
        self._aspect = aspect
        self._painter = _painter(scene)
        self._had_settings = os.path.exists("imgui.ini")
        self._settings = os.path.abspath("imgui.ini")
        self._window = ti.ui.Window(title, size, show_window=shown, vsync=True)
        _open = self
        self._canvas, self._gui = self._window.get_canvas(), self._window.get_gui()
        self._cursor, self._dragged = None, ""
        self._worlds, self._changed_at, self._clock, self._cost = None, 0.0, time.perf_counter(), 0.0
        self._drawn = None
        self._pixels = None
        try:
            self._move(0.0)
        except BaseException:
            self.close()
            raise

    @property
    def running(self) -> bool:
        """Whether the window is open and nobody has asked to close it."""
        return self._window is not None and (not self.shown or bool(self._window.running))

    def run(self) -> None:
        """Shows frames at the pace of the clock until the window is closed."""
        try:
            while self.running:
                self.advance()
        finally:
            self.close()

    def advance(self, dt: float | None = None) -> None:
        """One frame: input, one step of dt seconds (by default what the clock says), the picture, the panel."""
        if self._window is None:
            raise WindowError("no window: it has been closed")
        now = time.perf_counter()
        elapsed, self._clock = now - self._clock, now
        self._cost += 0.1 * (elapsed - self._cost)
        if self.shown:
            self._input()
        if not self.paused:
            self._move(min(elapsed, LONGEST_STEP) if dt is None else dt)
        self._draw(now)
        self._panel()
        if self.shown:
            self._window.show()
        else:
            buffer = (
                self._window.get_image_buffer_as_numpy()
            )  # (width, height, 4), rows from below; also draws the frame
            picture = np.swapaxes(buffer[..., :3], 0, 1)[::-1]
            self._pixels = np.clip(np.rint(picture * 255.0), 0, 255).astype(np.uint8)

    def picture(self) -> np.ndarray:
        """(H, W, 3) uint8 sRGB content of a hidden window, panel included, after `advance`."""
        if self._pixels is None:
            raise WindowError("no picture: wanted a hidden window (shown=False) after advance()")
        return self._pixels

    def close(self) -> None:
        """Closes the window; closing twice is fine."""
        global _open
        if self._window is not None:
            self._canvas = self._gui = None
            self._window.destroy()
            self._window = None
            if not self._had_settings:  # the panel's library leaves its window positions in the working folder
                with contextlib.suppress(OSError):
                    os.unlink(self._settings)
        if _open is self:
            _open = None

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *why) -> None:
        self.close()

    def restart(self) -> None:
        """Back to the start, with the same solver."""
        self.stepper.restart()
        self.time = 0.0
        self._move(0.0)

    def next_solver(self) -> None:
        """Goes on with the next solver, after the last with the first."""
        if self.solvers:
            self.solver = (self.solver + 1) % len(self.solvers)
            self.stepper.set_solver(self.solvers[self.solver])
            self._move(0.0)

    def look_from(self, view: str) -> None:
        """Frames all avatars from a named view."""
        self.camera = frame(self.scene.positions(), view, aspect=self._aspect)

    def _move(self, dt: float) -> None:
        """Steps and skins; notes whether anything has moved."""
        worlds = [np.asarray(w) for w in self.stepper.step(dt)]
        self.time += dt
        before, self._worlds = self._worlds, worlds
        if before is None or any(
            a.shape != b.shape or np.abs(a - b).max(initial=0.0) > STILL for a, b in zip(worlds, before, strict=False)
        ):
            self.scene.update(worlds if len(self.scene.avatars) > 1 else worlds[0])
            self._changed_at = self._clock

    def _draw(self, now: float) -> None:
        """Draws the scene: coarse while it moves, finer when it stands still, not at all when nothing has changed."""
        width, height = self._window.get_window_shape()
        if width < 1 or height < 1:  # minimised
            return
        self._aspect = width / height
        look = (self.camera, self.chains, self.colliders, width, height)
        if self._drawn is not None and self._drawn[0] != look:
            self._changed_at = now
        still = now - self._changed_at > STILL_AFTER
        state = (look, still, None if still else self._clock)
        over = None
        if self.chains or self.colliders:
            over = overlay(self.scene, self.chains, self.colliders, tube_radius(self.camera, height))
        self._painter.draw(
            self._window, self._canvas, self.camera, (width, height), still, state == self._drawn, self.stage, over
        )
        self._drawn = state

    def _panel_share(self) -> tuple[float, float, float, float]:
        """PANEL as shares of the window."""
        width, height = self._window.get_window_shape()
        left, top, wide, high = PANEL
        return left / max(width, 1), top / max(height, 1), wide / max(width, 1), high / max(height, 1)

    def _panel(self) -> None:
        """Buttons and boxes."""
        with self._gui.sub_window("hair", *self._panel_share()) as panel:
            panel.text(f"{self.time:.1f} s   {1000 * self._cost:.0f} ms a frame")
            if self.solvers and panel.button(f"solver: {self.solvers[self.solver]}"):
                self.next_solver()
            if panel.button("go on" if self.paused else "pause"):
                self.paused = not self.paused
            if panel.button("restart"):
                self.restart()
            self.chains = bool(panel.checkbox("chains", self.chains))
            self.colliders = bool(panel.checkbox("colliders", self.colliders))
            for line in HELP.splitlines():
                panel.text(line)

    def _input(self) -> None:
        """Keys and mouse: the left button orbits outside the panel, the right one everywhere, the middle one moves."""
        for event in self._window.get_events(ti.ui.PRESS):
            self._press(event.key)
        if self._window.is_pressed(ti.ui.UP):
            self.camera = self.camera.zoomed(ZOOM_STEP**-0.35)
        if self._window.is_pressed(ti.ui.DOWN):
            self.camera = self.camera.zoomed(ZOOM_STEP**0.35)
        x, y = self._window.get_cursor_pos()
        held = next((b for b in (ti.ui.RMB, ti.ui.MMB, ti.ui.LMB) if self._window.is_pressed(b)), "")
        if held and held == self._dragged and self._cursor is not None:
            dx, dy = x - self._cursor[0], y - self._cursor[1]
            if held == ti.ui.MMB:
                size = 2.0 * self.camera.distance * np.tan(0.5 * self.camera.fov)
                self.camera = self.camera.moved(-dx * size * self._aspect, -dy * size)
            elif dx or dy:
                self.camera = self.camera.orbited(-ORBIT_SPEED * dx, -ORBIT_SPEED * dy / self._aspect)
        elif held and held != self._dragged:
            left, top, width, height = self._panel_share()
            on_panel = left <= x <= left + width and top <= 1.0 - y <= top + height
            held = "" if held == ti.ui.LMB and on_panel else held
            # A drag that began on the panel stays with the panel until the button is let go.
            self._cursor = None if not held else (x, y)
            self._dragged = held or "panel"
            return
        self._dragged = "" if not held else self._dragged
        self._cursor = (x, y)

    def _press(self, key: str) -> None:
        """What a key does."""
        if key == ti.ui.ESCAPE:
            self._window.running = False
        elif key == ti.ui.SPACE:
            self.paused = not self.paused
        elif key == "r":
            self.restart()
        elif key == "s":
            self.next_solver()
        elif key == "c":
            self.chains = not self.chains
        elif key == "b":
            self.colliders = not self.colliders
        elif key == "h":
            self.camera = self._home
        elif key in VIEW_KEYS:
            self.look_from(VIEW_KEYS[key])


class RasterPainter:
    """Draws through the rasteriser: for Taichi on the CPU."""

    def __init__(self, scene: Scene):
        self.raster = Raster(scene)
        self._image = None

    def draw(self, window, canvas, camera, size, still: bool, same: bool, stage: Stage, over: Overlay | None) -> None:
        """One sample a pixel while things move, 2 x 2 when they stand still; `same` shows the last picture again."""
        if self._image is None or not same:
            picture = self.raster.picture(camera, *size, 2 if still else 1, stage, over)
            self._image = np.ascontiguousarray(np.swapaxes(picture[::-1], 0, 1))  # GGUI counts columns, from below
        canvas.set_image(self._image)


def _painter(scene: Scene):
    """What draws on the device that Taichi runs on."""
    if ti.cfg.arch in (ti.x64, ti.arm64):
        return RasterPainter(scene)
    from .meshes import MeshPainter

    return MeshPainter(scene)
