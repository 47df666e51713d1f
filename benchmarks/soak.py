"""A crowd that is never left alone: random adding, removing, jumps, pauses, new clips and broken input, for minutes.

    python benchmarks/soak.py [--avatars 1000] [--minutes 10] [--seed 1] [-o benchmarks/soak.json]

Minutes are simulated ones, counted as frames of 1/60 s. All levels of detail come up.
Fails where a position is not finite, a segment changes its length, or memory keeps growing.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time

import numpy as np

from taichi_hair.measure.bench import machine
from taichi_hair.measure.bench_rig import Turning, bench_avatar
from taichi_hair.motion.turn import HeadTurn, Nod, Run, carrying_node
from taichi_hair.sim.backend import init
from taichi_hair.sim.crowd import Crowd
from taichi_hair.sim.lod import LEVELS
from taichi_hair.sim.solvers.lut import PoseTable, samples


def rest_table(avatar) -> PoseTable:
    """A pose table that knows the rest pose only: quick to make, and posed like any other."""
    crowd = Crowd("rod")
    member = crowd.add(avatar)
    head = avatar.skeleton.rest_world[carrying_node(avatar), :3, 3]
    rest = crowd.positions(member)[0] - head
    return PoseTable.of(
        np.repeat(rest[None], len(samples()), axis=0), crowd.roots(member)[0] - head, avatar.hair.spans, rest
    )


def disturb(crowd: Crowd, rng, kinds, bad: set[int]) -> None:
    """One random act on one or a few members."""
    ids = crowd.ids
    some = rng.choice(ids, size=min(len(ids), int(rng.integers(1, 4))), replace=False)
    act = int(rng.integers(0, 9))
    avatar, motions = kinds[int(rng.integers(len(kinds)))]
    if act == 0:
        place = rng.uniform(-10_000.0, 10_000.0, 3)
        crowd.add(avatar, motion=motions[int(rng.integers(len(motions)))], at=place, speed=float(rng.uniform(0.0, 2.0)))
    elif act == 1 and len(ids) > 2:
        crowd.remove(some[0])
        bad.discard(int(some[0]))
    elif act == 2:
        crowd.teleport(some, rng.uniform(-50.0, 50.0, (len(some), 3)))
    elif act == 3:
        (crowd.pause if rng.random() < 0.5 else crowd.resume)(some)
    elif act == 4:
        one = int(some[0])
        own = crowd._members[one].kind.avatar
        crowd.play(one, next(m for a, m in kinds if a is own)[int(rng.integers(2))], speed=float(rng.uniform(0.2, 3.0)))
        bad.discard(one)
    elif act == 5 and len(bad) < 5:
        one = int(some[0])
        crowd.drive(one, np.full((len(crowd._members[one].kind.avatar.skeleton), 4, 4), np.nan))
        bad.add(one)
    elif act == 6:
        level = LEVELS[int(rng.integers(len(LEVELS)))]
        crowd.set_level([i for i in some if level != "lut" or crowd._members[int(i)].clip is not None], level)
    elif act == 7:
        crowd.reset(some)
    elif act == 8:
        crowd.look_from(rng.uniform(-60.0, 60.0, 3))


def check(crowd: Crowd, kinds) -> float:
    """Largest relative length error of all members; infinite where anything is not finite."""
    worst = 0.0
    for avatar, _ in kinds:
        ids = [i for i in crowd.ids if crowd._members[int(i)].kind.avatar is avatar]
        if not ids:
            continue
        chains = len(avatar.hair.chains)
        ends = crowd.positions(ids).reshape(len(ids), chains, -1, 3)
        points = np.concatenate([crowd.roots(ids)[:, :, None], ends], axis=2)
        if not np.isfinite(points).all():
            return np.inf
        lengths = np.linalg.norm(np.diff(points, axis=2), axis=-1)
        rest = np.array([np.linalg.norm(c.tails, axis=1) for c in avatar.hair.chains])
        worst = max(worst, float(np.abs(lengths / rest - 1.0).max()))
    return worst


def soak(avatars: int, seconds: float, seed: int = 1, contact: str | None = None, say=None) -> dict:
    """Run it; returns what was found."""
    rng = np.random.default_rng(seed)
    kinds = []
    for shape in ((12, 6, 8), (5, 7, 3)):
        avatar = bench_avatar(*shape)
        kinds.append((avatar, [Turning(avatar), HeadTurn(avatar), Nod(avatar), Run(avatar)]))
    crowd = Crowd("rod", contact=contact)
    for avatar, _ in kinds:
        crowd.use_table(avatar, rest_table(avatar))
    for k in range(2):
        count = (avatars + 1 - k) // 2
        crowd.add(kinds[k][0], count=count, motion=kinds[k][1][0], phase=rng.uniform(0, 2, count))
    worst, memory, bad = 0.0, [], set()
    frames = round(seconds * 60)
    for frame in range(frames):
        disturb(crowd, rng, kinds, bad)
        crowd.advance(float(rng.choice([1 / 60, 1 / 60, 1 / 60, 1 / 30, 1 / 144, 0.0])))
        if frame % 120 == 0 or frame == frames - 1:
            worst = max(worst, check(crowd, kinds))
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0)
            if say:
                say(f"{frame / 60:6.1f} s, {len(crowd.ids)} avatars, length error {worst:.1e}, {memory[-1]:.0f} MiB")
    half = memory[len(memory) // 2]
    return {
        "avatars": [avatars, len(crowd.ids)],
        "frames": frames,
        "simulated_seconds": round(crowd.time, 1),
        "length_error": worst,
        "megabytes": round(memory[-1], 1),
        "grown_in_second_half": round(memory[-1] - half, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--avatars", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", help="write what was found as JSON")
    args = parser.parse_args()
    init("cpu")
    begin = time.perf_counter()
    found = soak(args.avatars, 60.0 * args.minutes, args.seed, say=print)
    found |= {"wall_seconds": round(time.perf_counter() - begin, 1), "seed": args.seed, "machine": machine()}
    print(f"{args.minutes:g} minutes of {args.avatars} avatars: {found}")
    if args.output:
        with open(args.output, "w", encoding="utf-8") as file:
            file.write(json.dumps(found, indent=1) + "\n")
    return 0 if found["length_error"] < 1e-4 and found["grown_in_second_half"] < 32.0 else 1


if __name__ == "__main__":
    sys.exit(main())
