"""Hair that any program plays: one clip with its hair baked into the avatar's own file, and taken out again.

    python demos/bake_clip.py [avatar.vrm] [clip.vrma] [-o baked.vrm] [--no-window]

The loop is simulated until it comes round, closed, and written as rotation tracks. The file is then read back and
played: its hair is where the simulation had it, and without the animation it is the artist's file byte for byte.
"""

import argparse
from pathlib import Path

import numpy as np

import taichi_hair as th
from taichi_hair.avatar.saving import to_bytes
from taichi_hair.bake.export import undo
from taichi_hair.motion.clip import load_clips
from taichi_hair.view.camera import frame
from taichi_hair.view.picture import save_picture, sheet
from taichi_hair.view.raster import Raster
from taichi_hair.view.scene import Scene
from taichi_hair.view.stepper import CrowdStepper
from taichi_hair.view.window import Window, WindowError, require_window


def pictures(avatar: th.Avatar, worlds: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Contact sheet of poses (T, N, 4, 4)."""
    scene = Scene(avatar)
    raster, cells = Raster(scene), []
    camera = frame(scene.positions(), "three_quarter", aspect=0.6)
    for pose in worlds:
        scene.update(pose)
        cells.append(raster.picture(camera, 240, 400, 2))
    return sheet(cells, captions=[f"{t:.2f} s" for t in times])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("avatar", nargs="?", help="VRM or GLB file (default: the built-in twin tails)")
    parser.add_argument("clip", nargs="?", help="GLB, VRMA or BVH file (default: the built-in dance)")
    parser.add_argument("-o", "--output", default="baked.vrm", help="file to write (default: baked.vrm)")
    parser.add_argument("--no-window", action="store_true", help="write a picture even where a display is set")
    args = parser.parse_args()

    th.init("cpu")
    avatar = th.load(args.avatar) if args.avatar else th.sample("twin-tails")
    motion = th.retarget(th.load_clip(args.clip) if args.clip else th.made_clip("dance"), avatar, travel="remove")
    report = th.bake(avatar, None, motion, args.output)
    kind = f"a loop, {report.seam.position_mm:.3f} mm at its seam" if report.seam else "once"
    print(f"wrote {report.path}: {report.seconds:.2f} s, {kind}; {report.keys} of {report.keys_recorded} keys")
    print(f"played back: {report.playback_mm:.4f} mm from the simulation at keys, {report.key_error_mm:.2f} between")
    for note in report.notes:
        print(f"  {note}")
    assert report.playback_mm < 0.1, "the file does not play what was simulated"
    assert report.seam is None or report.seam.position_mm < 0.5, "the loop jumps at its seam"
    assert undo(args.output) == to_bytes(avatar, args.output), "the artist's file did not come back"
    print("without the animation it is the artist's file, byte for byte")

    try:
        if args.no_window:
            raise WindowError("--no-window was given")
        require_window()
    except WindowError as problem:
        print(f"no window: {problem}")
        clip = load_clips(args.output)[-1]
        times = np.linspace(0.0, clip.seconds, 6)
        played = th.load(args.output)
        places, turns, _ = clip.sample(times)
        picture = pictures(played, played.skeleton.world(places, turns), times)
        print(f"wrote {save_picture(Path(args.output).with_suffix('.png'), picture)}")
    else:
        with Window(Scene(avatar), CrowdStepper(avatar, motion, "rod"), ("rod", "arc", "spring-bone")) as window:
            window.run()


if __name__ == "__main__":
    main()
