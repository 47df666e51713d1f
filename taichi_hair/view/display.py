"""Display: whether a window can open here, found out in a child process because a wrong answer ends the process."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile

ADVICE = "pictures and films need neither: use view.raster, or `taichi-hair demo` without a display"

# A display that is named but dead makes GLFW end the process, so that it is opened here first. Then a hidden window
# draws one frame: this finds missing and broken Vulkan drivers alike.
_PROBE = """
import ctypes, ctypes.util, os, sys
os.environ["ENABLE_TAICHI_HEADER_PRINT"] = "False"
if sys.argv[1] == "display":
    library = ctypes.util.find_library("X11")
    if not library:
        sys.exit(10)
    x11 = ctypes.CDLL(library)
    x11.XOpenDisplay.restype = ctypes.c_void_p
    if not x11.XOpenDisplay(None):
        sys.exit(11)
import taichi as ti
ti.init(arch=ti.cpu, log_level=ti.ERROR, offline_cache=False, cpu_max_num_threads=1)
window = ti.ui.Window("probe", (64, 64), show_window=False)
window.get_canvas().set_background_color((1.0, 0.0, 0.0))
red = window.get_image_buffer_as_numpy()[32, 32, 0]
window.destroy()
sys.exit(0 if red > 0.9 else 12)
"""


class WindowError(RuntimeError):
    """A window cannot open here; the message says why and what to do instead."""


def require_window(shown: bool = True) -> None:
    """Raises WindowError unless a window (with `shown`, on a display) can open here."""
    reason = _obstacle(shown, os.environ.get("DISPLAY", ""))
    if reason:
        raise WindowError(f"no window: {reason}; {ADVICE}")


@functools.lru_cache(maxsize=8)
def _obstacle(shown: bool, display: str) -> str:
    """What stands in the way, empty when nothing does. The display's name is part of the question."""
    desktop = sys.platform in ("darwin", "win32")
    if shown and not desktop and not display:
        return "no display is set (DISPLAY is empty)"
    check = "display" if shown and not desktop else "driver"
    try:
        # The panel's library leaves a settings file in the working folder.
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run(
                [sys.executable, "-c", _PROBE, check],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=90,
                check=False,
                stdin=subprocess.DEVNULL,
                cwd=folder,
            )
    except (OSError, subprocess.TimeoutExpired) as why:
        return f"the trial window did not answer ({type(why).__name__})"
    known = {
        0: "",
        10: "the X11 library is not installed",
        11: f"the display {display!r} does not answer",
        12: "the Vulkan driver draws wrong colours",
    }
    if run.returncode in known:
        return known[run.returncode]
    lines = [line.strip() for line in run.stderr.splitlines() if line.strip()]
    detail = lines[-1][:160] if lines else f"exit status {run.returncode}"
    return f"no Vulkan driver draws ({detail})"
