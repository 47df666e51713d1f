"""Every avatar with every clip: body by retargeting, hair by simulation, one file per pair.

    python demos/library.py [avatars and clips ...] [-o library] [--workers N] [--engine ray] [--no-window]

Without arguments: the three built-in avatars with the three built-in clips. Run it again and nothing is done twice;
kill it halfway and no half file is left. The window shows the first pair; without one a sheet shows all of them.
"""

import argparse
from pathlib import Path

import numpy as np

import taichi_hair as th
from taichi_hair.avatar.samples import SAMPLES
from taichi_hair.bake.commands import sorted_files
from taichi_hair.bake.library import bake_library
from taichi_hair.motion.steps import CLIPS
from taichi_hair.view.camera import frame
from taichi_hair.view.picture import save_picture, sheet
from taichi_hair.view.raster import Raster
from taichi_hair.view.scene import Scene
from taichi_hair.view.stepper import CrowdStepper
from taichi_hair.view.window import Window, WindowError, require_window


def cell(avatar: th.Avatar, path: str) -> np.ndarray:
    """Picture (H, W, 3) of a baked animation at its middle, hair and body as the file has them."""
    clip = th.load_clip(path)
    scene = Scene(avatar)
    scene.update(th.retarget(clip, avatar, travel="remove").worlds([0.4 * clip.seconds])[0])
    return Raster(scene).picture(frame(scene.positions(), "three_quarter", aspect=0.7), 210, 300, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="avatars and clips (default: the built-in ones)")
    parser.add_argument("-o", "--output", default="library", help="folder to write (default: library)")
    parser.add_argument("--workers", type=int, default=0, help="processes (default 0: this one)")
    parser.add_argument("--engine", choices=("local", "ray"), default="local")
    parser.add_argument("--no-window", action="store_true", help="write a picture even where a display is set")
    args = parser.parse_args()

    th.init("cpu")
    avatars, clips = sorted_files(args.files) if args.files else (list(SAMPLES), list(CLIPS))
    library = bake_library(
        avatars, clips, args.output, workers=args.workers, engine=args.engine,
        progress=lambda done, total, row: print(f"{done}/{total} {row['pair'] if row else ''}", flush=True),
    )  # fmt: skip
    facts = library.to_dict()
    print(f"{facts['done']} of {facts['pairs']} pairs, {facts['kept']} of them kept, in {facts['wall_s']:.1f} s;")
    print(f"worst playback error {facts['worst_playback_mm']:.4f} mm, table in {library.folder / 'summary.md'}")
    assert facts["failed"] == 0, [row["error"] for row in library.rows if row["status"] == "failed"]
    assert facts["missing_joints"] == facts["invalid_numbers"] == facts["body_tracks_on_hair"] == 0
    assert facts["worst_playback_mm"] < 0.1, "a file does not play what was simulated"
    assert bake_library(avatars, clips, args.output, workers=0).kept == facts["pairs"], "something was done twice"

    read = {Path(a).stem: (th.sample(a) if a in SAMPLES else th.load(a)) for a in avatars}
    rows = [row for row in library.rows if next(v for k, v in read.items() if k == row["avatar"]).parts]
    try:
        if args.no_window:
            raise WindowError("--no-window was given")
        require_window()
    except WindowError as problem:
        print(f"no window: {problem}")
        cells = [cell(read[row["avatar"]], row["output"]) for row in rows]
        picture = sheet(cells, columns=len(cells) // len(read), captions=[row["pair"] for row in rows])
        print(f"wrote {save_picture(library.folder / 'library.png', picture)}")
    else:
        avatar = read[rows[0]["avatar"]]
        motion = th.retarget(th.load_clip(rows[0]["output"]), avatar, authored=False)
        with Window(Scene(avatar), CrowdStepper(avatar, motion, "rod"), ("rod", "arc", "spring-bone")) as window:
            window.run()


if __name__ == "__main__":
    main()
