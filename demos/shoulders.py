"""Hair and shoulders: contact at end points beside contact along whole strands against fitted colliders.

    python demos/shoulders.py [--no-window] [-o shoulders.png]

The same hair and the same head turn three times: spring bones that test end points against the author's colliders, our
rod against the same colliders along whole segments, and the rod against colliders fitted to the shirt.
"""

import argparse
from dataclasses import replace

import taichi_hair as th
from taichi_hair.measure.contact import swept_contact
from taichi_hair.measure.occlusion import occlusion
from taichi_hair.measure.run import record
from taichi_hair.view.comparison import over_time
from taichi_hair.view.picture import save_picture
from taichi_hair.view.scene import Scene
from taichi_hair.view.stepper import CrowdStepper
from taichi_hair.view.window import Window, WindowError, require_window

MOMENTS = (0.6, 1.0, 1.6, 2.0, 2.6, 5.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-window", action="store_true", help="write a picture even where a display is set")
    parser.add_argument("-o", "--output", default="shoulders.png", help="picture to write (default: shoulders.png)")
    parser.add_argument("--view", default="front", help="side to look from (default: front)")
    args = parser.parse_args()

    th.init("cpu")
    avatar = th.sample("layered")
    fitted = th.fit_colliders(avatar)
    turn = th.HeadTurn(avatar, seconds=6.0)
    runs = {
        "end points": ("spring-bone", avatar.hair),
        "whole strands": ("rod", avatar.hair),
        "whole strands, fitted": ("rod", fitted),
    }
    poses, found = {}, {}
    for name, (solver, rig) in runs.items():
        main_run = record(avatar, rig, turn, turn.seconds, th.Crowd(solver))
        poses[name] = main_run.poses
        hidden = occlusion(avatar, rig, main_run.poses)
        touched = swept_contact(avatar, rig, turn, turn.seconds, th.Crowd(solver), between=1)
        found[name] = (hidden, touched)
        print(
            f"{name}: {hidden.count} of {hidden.vertices} vertices of the front locks behind the shirt, up to "
            f"{hidden.depth_mm:.1f} mm ({hidden.near} near); segments up to {touched.depth_mm:.2f} mm in colliders, "
            f"{touched.count} over 1 mm ({touched.near} near)"
        )
    assert found["end points"][1].depth_mm > 10.0 and found["end points"][0].count > 10
    assert found["whole strands"][1].depth_mm < 1.0
    assert found["whole strands, fitted"][0].count == 0 and found["whole strands, fitted"][0].near > 500

    try:
        if args.no_window:
            raise WindowError("--no-window was given")
        require_window()
    except WindowError as problem:
        print(f"no window: {problem}")
        title = "Hair stays outside the body"
        picture = over_time(avatar, poses, main_run.trace.t, moments=MOMENTS, view=args.view, title=title)
        print(f"wrote {save_picture(args.output, picture)}")
    else:
        subject = replace(avatar, hair=fitted)
        solvers = ("rod", "arc", "spring-bone")
        with Window(Scene(subject), CrowdStepper(subject, turn, solvers[0]), solvers) as window:
            window.run()


if __name__ == "__main__":
    main()
