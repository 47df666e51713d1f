"""The tentacle beside both cures: a rest direction that hangs on a bent parent curls the strand, one kept in the head's
frame does not.

    python demos/rest_arc.py [--no-window] [-o rest_arc.png]

A soft ponytail under gravity, the same settings for all three solvers: `spring-bone` measures each rest direction from
the bent joint above, so a small sag at the top bends everything below; `arc` and `rod` remember the artist's arc.
"""

import argparse
from dataclasses import replace

import numpy as np

import taichi_hair as th
from taichi_hair.measure import motion as measures
from taichi_hair.measure.run import record
from taichi_hair.view.comparison import over_time
from taichi_hair.view.picture import save_picture
from taichi_hair.view.scene import Scene
from taichi_hair.view.stepper import CrowdStepper
from taichi_hair.view.window import Window, WindowError, require_window

SOLVERS = ("spring-bone", "arc", "rod")


def soft_ponytail() -> th.Avatar:
    """The sample with a soft ponytail that gravity pulls at, as an artist might leave it."""
    avatar = th.sample("ponytail")
    longest = max(avatar.hair.chains, key=len)
    soft = replace(
        longest,
        stiffness=np.full(len(longest), 0.5),
        drag=np.full(len(longest), 0.4),
        gravity_power=np.full(len(longest), 0.2),
    )
    return replace(avatar, hair=avatar.hair.with_chains(soft if c is longest else c for c in avatar.hair.chains))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-window", action="store_true", help="write a picture even where a display is set")
    parser.add_argument("-o", "--output", default="rest_arc.png", help="picture to write (default: rest_arc.png)")
    args = parser.parse_args()

    th.init("cpu")
    avatar = soft_ponytail()
    turn = th.HeadTurn(avatar, arms=70.0)
    tail = [max(range(len(avatar.hair.chains)), key=lambda c: len(avatar.hair.chains[c]))]
    poses, sag, curl = {}, {}, {}
    for solver in SOLVERS:
        run = record(avatar, avatar.hair, turn, turn.seconds, th.Crowd(solver))
        trace = run.trace.select(tail)
        poses[solver], sag[solver], curl[solver] = run.poses, measures.sag(trace), measures.curl_rest(trace)
        print(f"{solver:12} at rest: {sag[solver]:7.3f} mm off the artist's shape, {curl[solver]:6.3f} degrees of curl")
    assert sag["spring-bone"] > 10.0, "the earlier motion should sag: has the sample become stiff?"
    assert max(sag["arc"], sag["rod"]) < 0.1, "a cure left the artist's shape"
    assert max(curl["arc"], curl["rod"]) < 0.1, "a cure curls at rest"

    try:
        if args.no_window:
            raise WindowError("--no-window was given")
        require_window()
    except WindowError as problem:
        print(f"no window: {problem}")
        title = "Soft hair: the tentacle, and both cures"
        picture = over_time(avatar, poses, run.trace.t, view="side", title=title)
        print(f"wrote {save_picture(args.output, picture)}")
    else:
        with Window(Scene(avatar), CrowdStepper(avatar, turn, SOLVERS[0]), SOLVERS) as window:
            window.run()


if __name__ == "__main__":
    main()
