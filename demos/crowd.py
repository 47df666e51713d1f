"""A thousand heads of hair: different avatars that stroll, dance and turn, each at its own place, speed and phase.

    python demos/crowd.py [--avatars 1000] [--budget MS] [--levels] [--seconds 4] [-o crowd.webp]

All of them are simulated, the front rows drawn. The map shows every avatar, coloured by level of detail on request.
"""

import argparse
from time import perf_counter

import numpy as np
from PIL import Image, ImageDraw

import taichi_hair as th
from taichi_hair.sim.lod import LEVELS
from taichi_hair.view.camera import Camera
from taichi_hair.view.picture import captioned, save_film, save_picture
from taichi_hair.view.raster import Raster
from taichi_hair.view.scene import Scene

COLOURS = {"full": "#d6336c", "half": "#f08c00", "frozen": "#1c7ed6", "culled": "#adb5bd"}
DRAWN = 14  # avatars with a mesh in the picture
EYE = np.array([0.0, 1.7, 4.0])


def crowd_of(count: int) -> tuple[th.Crowd, dict]:
    """A crowd on a loose grid in front of the eye, and which avatar each member is."""
    rng, crowd, who = np.random.default_rng(4), th.Crowd("rod"), {}
    side = int(np.ceil(np.sqrt(count)))
    places = np.array([[(k % side - (side - 1) / 2) * 1.1, 0.0, -1.3 * (k // side)] for k in range(count)])
    places[:, [0, 2]] += rng.uniform(-0.2, 0.2, (count, 2))
    avatars = [th.sample(name) for name in ("ponytail", "twin-tails", "layered")]
    kind = rng.integers(0, 9, count)
    for k in np.unique(kind):
        avatar, clip = avatars[k % 3], th.made_clip(("dance", "stroll", "look")[k // 3])
        motion = th.retarget(clip, avatar, travel="remove", loop=True)
        mine = places[kind == k]
        own = {"phase": rng.uniform(0.0, motion.seconds, len(mine)), "speed": rng.uniform(0.8, 1.2, len(mine))}
        ids = crowd.add(avatar, count=len(mine), motion=motion, at=mine, **own)
        who |= dict.fromkeys(ids.tolist(), avatar)
    return crowd, who


def drawn_map(crowd: th.Crowd, coloured: bool, height: int) -> np.ndarray:
    """Every member from above, the eye at the bottom."""
    image = Image.new("RGB", (height * 2 // 3, height), "white")
    draw = ImageDraw.Draw(image)
    places = crowd.places()
    scale = min(height * 0.9 / (4.0 - places[:, 2].min()), height * 0.62 / np.ptp(places[:, 0]))
    for (x, _, z), level in zip(places, crowd.levels(), strict=True):
        u, v = height / 3 + x * scale, height * 0.98 + (z - 4.0) * scale
        draw.ellipse((u - 2.5, v - 2.5, u + 2.5, v + 2.5), COLOURS[level if coloured else "full"])
    return np.asarray(image)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--avatars", type=int, default=1000)
    parser.add_argument("--budget", type=float, help="milliseconds a frame (default: levels by distance)")
    parser.add_argument("--levels", action="store_true", help="colour the map by level of detail")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of the film")
    parser.add_argument("-o", "--output", default="crowd.webp", help="film, or a .png of its last frame")
    args = parser.parse_args()
    th.init("cpu")
    crowd, who = crowd_of(args.avatars)
    crowd.budget(args.budget)
    near = crowd.ids[np.argsort(np.linalg.norm(crowd.places() - EYE, axis=1))[:DRAWN]]
    scene = Scene([who[int(i)] for i in near])
    raster, camera = Raster(scene), Camera((0.0, 1.05, -1.5), 5.6, 0.0, 0.12, 0.62)
    frames, times = [], []
    for frame in range(round(args.seconds * 60)):
        begin = perf_counter()
        crowd.look_from(EYE)
        crowd.advance(1 / 60)
        times.append(1e3 * (perf_counter() - begin))
        if frame % 4 == 3:
            scene.update([crowd.pose(int(i)) for i in near])
            picture = raster.picture(camera, 640, 420, 1)
            both = np.concatenate([picture[..., :3], drawn_map(crowd, args.levels, 420)], axis=1)
            frames.append(captioned(both, f"{args.avatars} avatars, {np.median(times[-30:]):.1f} ms a frame"))
    kinds = {id(avatar): [i for i, a in who.items() if a is avatar] for avatar in who.values()}
    assert all(np.isfinite(crowd.positions(ids)).all() for ids in kinds.values()), "some hair is nowhere"
    found = {level: crowd.levels().count(level) for level in LEVELS}
    assert args.avatars < 500 or found["full"] < args.avatars, "everyone is at full level: is nobody far away?"
    png = args.output.endswith(".png")
    path = save_picture(args.output, frames[-1]) if png else save_film(args.output, frames, fps=15.0)
    print(f"wrote {path}: {args.avatars} avatars, median {np.median(times[10:]):.1f} ms a frame, levels {found}")


if __name__ == "__main__":
    main()
