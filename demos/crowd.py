"""A thousand heads of hair: different avatars that walk, dance and turn, each at its own place, speed and phase.

    python demos/crowd.py [--avatars 1000] [--budget MS] [--levels] [--lut] [--no-window] [-o crowd.webp]

All are simulated, the front rows drawn; the map shows everyone, on request in the colours of their levels of detail.
--lut makes pose tables first, a minute or two, so that hair far away can be looked up.
"""

import argparse

import numpy as np

import taichi_hair as th
from taichi_hair.view.camera import Camera
from taichi_hair.view.display import WindowError
from taichi_hair.view.overhead import overhead
from taichi_hair.view.picture import captioned, save_film
from taichi_hair.view.raster import Raster
from taichi_hair.view.scene import Scene
from taichi_hair.view.screen import show

EYE, DRAWN = np.array([0.0, 1.7, 4.0]), 14  # where levels are seen from, and avatars with a mesh in the picture


def crowd_of(count: int, lut: bool) -> tuple[th.Crowd, dict]:
    """A crowd on a loose grid in front of the eye, and which avatar each member is."""
    rng, crowd, who, side = np.random.default_rng(4), th.Crowd("rod"), {}, int(np.ceil(np.sqrt(count)))
    places = np.array([[(k % side - (side - 1) / 2) * 1.1, 0.0, -1.3 * (k // side)] for k in range(count)])
    places += rng.uniform(-0.2, 0.2, (count, 3)) * [1.0, 0.0, 1.0]
    avatars, kind = [th.sample(name) for name in ("ponytail", "twin-tails", "layered")], rng.integers(0, 9, count)
    for avatar in avatars if lut else ():
        crowd.use_table(avatar, th.pose_table(avatar, seconds=1.0))
    for k in np.unique(kind):
        avatar, n = avatars[k % 3], int(np.sum(kind == k))
        motion = th.retarget(th.made_clip(("dance", "stroll", "look")[k // 3]), avatar, travel="remove", loop=True)
        own = {"phase": rng.uniform(0.0, motion.seconds, n), "speed": rng.uniform(0.8, 1.2, n)}
        who |= dict.fromkeys(crowd.add(avatar, count=n, motion=motion, at=places[kind == k], **own).tolist(), avatar)
    return crowd, who


def pictures(crowd: th.Crowd, who: dict, seconds: float, coloured: bool):
    """The crowd as it moves, 15 times a second: who stands in front, the map, and what a frame takes."""
    near = crowd.ids[np.argsort(np.linalg.norm(crowd.places() - EYE, axis=1))[:DRAWN]].tolist()
    scene, times, camera = Scene([who[i] for i in near]), [], Camera((0.0, 1.05, -1.5), 5.6, 0.0, 0.12, 0.62)
    raster = Raster(scene)
    for frame in range(round(seconds * 60)):
        crowd.look_from(EYE)
        crowd.advance(1 / 60)
        times.append(crowd.frame_ms)
        if frame % 4 == 3:
            scene.update([crowd.pose(i) for i in near])
            both = [raster.picture(camera, 640, 420, 1)[..., :3], overhead(crowd, EYE, 420, coloured)]
            yield captioned(np.concatenate(both, 1), f"{len(who)} avatars, {np.median(times[-30:]):.1f} ms a frame")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, kind, default in (("--avatars", int, 1000), ("--seconds", float, 4.0), ("--budget", float, None)):
        parser.add_argument(name, type=kind, default=default)
    for name in ("--levels", "--lut", "--no-window"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("-o", "--output", default="crowd.webp")
    args = parser.parse_args()
    th.init("cpu")
    crowd, who = crowd_of(args.avatars, args.lut)
    crowd.budget(args.budget)
    film = pictures(crowd, who, args.seconds, args.levels)
    try:
        if args.no_window:
            raise WindowError("no window was wanted")
        show(film, "a crowd")
    except WindowError as problem:
        print(f"{problem}; wrote {save_film(args.output, list(film), fps=15.0)}")
    assert all(np.isfinite(crowd.positions(i)).all() for i in who), "some hair is nowhere"
    assert args.avatars < 500 or set(crowd.levels()) != {"full"}, "everyone is at full level: is nobody far away?"


if __name__ == "__main__":
    main()
