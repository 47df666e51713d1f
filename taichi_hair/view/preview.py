"""Preview: a contact sheet of one avatar at rest from several sides, as a command and as a function.

python -m taichi_hair.view.preview avatar.vrm -o out.png --views front,side,back,three_quarter,face --size 640x960
"""

import argparse
import sys

from ..avatar.avatar import load
from ..sim.backend import init
from .camera import VIEWS, frame
from .overlay import overlay, tube_radius
from .picture import save_picture, sheet
from .raster import Raster
from .scene import Scene

DEFAULT = ("front", "three_quarter", "side", "back", "face")
CLOSE = ("face", "face_side", "face_three_quarter", "face_back")
HAIR = ("hair", "hair_side", "hair_three_quarter", "hair_back")


def camera_for(scene: Scene, view: str, aspect: float):
    """Camera of a named view: the whole figure, the head (names in CLOSE) or the head with its hair (names in HAIR)."""
    if view in CLOSE:
        return frame(scene.head_points(), view[5:] or "front", fov=20.0, aspect=aspect, margin=1.25)
    if view in HAIR:
        return frame(scene.hair_points(), view[5:] or "front", fov=24.0, aspect=aspect)
    return frame(scene.positions(), view, aspect=aspect)


def preview(
    avatar, views=DEFAULT, width: int = 480, height: int = 720, samples: int = 2, chains=False, colliders=False
):
    """Contact sheet (H, W, 3) uint8 of an avatar at rest, one cell of width x height pixels per view."""
    scene = Scene(avatar)
    raster = Raster(scene)
    cells = []
    for view in views:
        camera = camera_for(scene, view, width / height)
        over = overlay(scene, chains, colliders, tube_radius(camera, height)) if chains or colliders else None
        cells.append(raster.picture(camera, width, height, samples, overlay=over))
    return sheet(cells, captions=[view.replace("_", " ") for view in views])


def main(arguments=None) -> int:
    """The command: 0 when the picture is written, 2 with a sentence on stderr when it cannot be."""
    parser = argparse.ArgumentParser(prog="python -m taichi_hair.view.preview", description=__doc__.splitlines()[0])
    parser.add_argument("avatar", help="GLB, glTF or VRM file")
    parser.add_argument("-o", "--output", required=True, help="PNG or WebP file to write")
    parser.add_argument(
        "--views", default=",".join(DEFAULT), help=f"comma-separated: {', '.join((*VIEWS, *CLOSE, *HAIR))}"
    )
    parser.add_argument("--size", default="480x720", help="pixels of one view, WIDTHxHEIGHT")
    parser.add_argument("--samples", type=int, default=2, help="samples along each side of a pixel")
    parser.add_argument("--chains", action="store_true", help="draw the hair chains")
    parser.add_argument("--colliders", action="store_true", help="draw the colliders")
    args = parser.parse_args(arguments)
    try:
        width, height = (int(n) for n in args.size.lower().split("x"))
    except ValueError:
        parser.error(f"--size {args.size!r}: wanted WIDTHxHEIGHT, such as 640x960")
    views = tuple(v.strip() for v in args.views.split(",") if v.strip())
    unknown = [v for v in views if v not in (*VIEWS, *CLOSE, *HAIR)]
    if unknown or not views:
        parser.error(f"--views {args.views!r}: wanted names from {', '.join((*VIEWS, *CLOSE, *HAIR))}")
    try:
        avatar = load(args.avatar)
        init("cpu")
        save_picture(args.output, preview(avatar, views, width, height, args.samples, args.chains, args.colliders))
    except (OSError, ValueError) as why:
        sys.stderr.write(f"{why}\n")
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
