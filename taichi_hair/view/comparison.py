"""Comparison: the same motion under several solvers, as a contact sheet over time and as a film side by side."""

from collections.abc import Callable, Sequence

import numpy as np

from ..avatar.avatar import Avatar
from .camera import Camera, frame
from .picture import captioned, sheet
from .raster import Raster
from .scene import Scene

MOMENTS = (0.0, 0.5, 1.0, 1.5, 2.5, 3.5, 4.3, 12.0)  # seconds of the head turn that tell how hair starts, swings, rests


def hair_camera(scene: Scene, reach: np.ndarray, view: str, aspect: float) -> Camera:
    """Frames the head and everything that the hair reaches (P, 3) metres, with air around it."""
    points = np.concatenate([scene.head_points(), reach])
    return frame(points, view, aspect=aspect, margin=1.15)


def over_time(
    avatar: Avatar,
    poses: dict[str, np.ndarray],
    times: np.ndarray,
    *,
    moments: Sequence[float] = MOMENTS,
    view: str = "back_quarter",
    size: tuple[int, int] = (260, 340),
    title: str = "",
) -> np.ndarray:
    """Contact sheet: a row for each solver of `poses` ((T, N, 4, 4) world matrices at `times`), a column per moment."""
    scene = Scene(avatar)
    raster = Raster(scene)
    width, height = size
    camera = hair_camera(scene, reach_of(avatar, poses), view, width / height)
    cells, captions = [], []
    for name, worlds in poses.items():
        for moment in moments:
            k = int(np.argmin(np.abs(times - moment)))
            scene.update(worlds[k])
            cells.append(raster.picture(camera, width, height, samples=3))
            captions.append(f"{name}, {times[k]:.1f} s")
    return sheet(cells, columns=len(moments), captions=captions, title=title)


def reach_of(avatar: Avatar, poses: dict[str, np.ndarray]) -> np.ndarray:
    """(P, 3) places that the hair joints come to in any of the runs, thinned."""
    nodes = np.concatenate([[*chain.joints, *chain.ends[chain.ends >= 0]] for chain in avatar.hair.chains]).astype(int)
    return np.concatenate([worlds[::6, nodes, :3, 3].reshape(-1, 3) for worlds in poses.values()])


def side_by_side(
    avatar: Avatar,
    poses: dict[str, np.ndarray],
    *,
    every: int = 2,
    view: str = "back_quarter",
    size: tuple[int, int] = (300, 400),
    progress: Callable[[int, int], None] | None = None,
) -> list[np.ndarray]:
    """Frames (H, W, 3) of a film with one picture per solver in a row, every `every`-th pose."""
    scene = Scene(avatar)
    raster = Raster(scene)
    width, height = size
    camera = hair_camera(scene, reach_of(avatar, poses), view, width / height)
    count = len(next(iter(poses.values())))
    frames = []
    for k in range(0, count, every):
        cells = []
        for name, worlds in poses.items():
            scene.update(worlds[k])
            cells.append(captioned(raster.picture(camera, width, height, samples=2), name))
        frames.append(np.concatenate(cells, axis=1))
        if progress:
            progress(k + every, count)
    return frames
