"""From a hair mesh to a rig: six joints and weights for the sample's ponytail from its geometry alone.

    python demos/ponytail.py [--no-window] [-o ponytail.png]

The artist's weights of the ponytail are thrown away first: the whole mesh follows the head. The fitter walks the
surface from the hair tie outward, lays joints along its middle, and spreads the weights; then both rigs play the turn.
"""

import argparse
from dataclasses import replace

import numpy as np

import taichi_hair as th
from taichi_hair.view.picture import save_picture
from taichi_hair.view.scene import Scene
from taichi_hair.view.stepper import CrowdStepper
from taichi_hair.view.weights import fit_picture
from taichi_hair.view.window import Window, WindowError, require_window

MESH = "ponytail"


def wiped(avatar: th.Avatar) -> th.Avatar:
    """The avatar with the ponytail's mesh on the head alone and no chain for it."""
    parts, head = list(avatar.parts), avatar.humanoid["head"]
    for index, part in enumerate(parts):
        if part.name == MESH:
            joint = list(avatar.skins[part.skin].joints).index(head)
            joints = np.full((len(part.positions), 1), joint, dtype=np.int32)
            parts[index] = replace(part, joints=joints, weights=np.ones((len(part.positions), 1)))
    kept = [c for c in avatar.hair.chains if c.name != MESH]
    return replace(avatar, parts=tuple(parts), hair=avatar.hair.with_chains(kept))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-window", action="store_true", help="write a picture even where a display is set")
    parser.add_argument("-o", "--output", default="ponytail.png", help="picture to write (default: ponytail.png)")
    args = parser.parse_args()

    th.init("cpu")
    artist = th.sample("ponytail")
    bare = wiped(artist)
    rig = th.fit_hair(bare, MESH, joints=6)
    lock = rig.locks[0]
    size = f"{lock.length:.2f} m long, {lock.width:.3f} m wide"
    print(f"fitted in {rig.seconds:.1f} s: {size}, confidence {lock.confidence:.2f}")
    old = next(k for k, c in enumerate(artist.hair.chains) if c.name == MESH)
    for name, avatar, hair, chain in (
        ("artist", artist, artist.hair, old),
        ("fitted", rig.avatar, rig, rig.fitted[0]),
    ):
        found = th.measure(avatar, hair, seconds=7.0, solvers=["rod"], contact=False, chains=[chain]).solvers["rod"]
        stretch = f"{found.stretch_p99:.1f} %, worst edge {found.stretch_worst:.1f} %"
        print(f"{name}: swing {found.swing_mm:.0f} mm, stretch {stretch}, {found.stretch_per_100mm:.1f} % per 100 mm")
        assert found.swing_mm > 30.0, "the ponytail should swing"
    assert found.stretch_worst < 60.0, "the fitted weights tear"
    assert rig.undo() is bare, "undo should give back the avatar that was fitted"

    try:
        if args.no_window:
            raise WindowError("--no-window was given")
        require_window()
    except WindowError as problem:
        print(f"no window: {problem}")
        picture = fit_picture(rig, "Six joints for a ponytail: weights as colours", (360, 440))
        print(f"wrote {save_picture(args.output, picture)}")
    else:
        turn = th.HeadTurn(rig.avatar, arms=70.0)
        with Window(Scene(rig.avatar), CrowdStepper(rig.avatar, turn, "rod"), ("rod", "arc", "spring-bone")) as window:
            window.run()


if __name__ == "__main__":
    main()
