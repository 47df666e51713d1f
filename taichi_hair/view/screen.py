"""Screen: pictures that were drawn elsewhere, one after the other in a GGUI window."""

from __future__ import annotations

import numpy as np

from ..sim.backend import ti
from .display import require_window


def show(frames, title: str = "taichi_hair") -> int:
    """Shows equal (H, W, 3) uint8 sRGB pictures in a window until they end or it is closed; returns how many.

    Raises WindowError where a window cannot open.
    """
    require_window()
    window, shown = None, 0
    try:
        for frame in frames:
            if window is None:
                window = ti.ui.Window(title, frame.shape[1::-1], vsync=True)
            if not window.running or window.is_pressed(ti.ui.ESCAPE):
                break
            picture = np.swapaxes(frame[::-1], 0, 1).astype(np.float32) / 255.0
            window.get_canvas().set_image(np.ascontiguousarray(picture))
            window.show()
            shown += 1
    finally:
        if window is not None:
            window.destroy()
    return shown
