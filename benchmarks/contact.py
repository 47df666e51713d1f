"""Contact through clips: depth, hidden vertices and stretch of fitted and authored rigs; and its cost per joint-tick.

    python benchmarks/contact.py [--assets FOLDER] [--only layered] [--cost] [--json contact.json]

Clips are the head turn and, where the folder of assets has them, walk, run, back flip, dance and dogeza. A row is one
avatar, clip, rig and solver; positions are compared bit for bit between 30 and 120 frames a second.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np

import taichi_hair as th
from taichi_hair.hair import Collider
from taichi_hair.measure.contact import between_ticks
from taichi_hair.measure.occlusion import FrontLocks
from taichi_hair.measure.run import hair_chains
from taichi_hair.measure.stretch import HairMesh
from taichi_hair.motion.clip import load_clip
from taichi_hair.motion.retarget import retarget
from taichi_hair.sim.pose import apply_hair
from taichi_hair.sim.settling import settle_into

CLIPS = {
    "walk": "vrma/cmu_walk.vrma",
    "run": "vrma/cmu_run.vrma",
    "back flip": "vrma/cmu_backflip.vrma",
    "dance": "vrma/cmu_dance.vrma",
    "dogeza": "vrma/fm_002_dogeza.vrma",
}
LONGEST = 4.0  # seconds of a clip that are played


def played(avatar, rig, motion, seconds: float, solver: str, fps: int, **options):
    """Times (T,), end points (T, S, 3) and roots (T, C, 3) of every frame."""
    crowd = th.Crowd(solver, **options)
    (member,) = crowd.add(avatar, rig, motion=motion)
    settle_into(crowd, int(member), motion)
    ends, roots = [crowd.positions(member)[0]], [crowd.roots(member)[0]]
    for _ in range(round(seconds * fps)):
        crowd.advance(1 / fps)
        ends.append(crowd.positions(member)[0])
        roots.append(crowd.roots(member)[0])
    crowd.remove(member)
    return np.arange(len(ends)) / fps, np.array(ends), np.array(roots)


def row(avatar, rig, motion, seconds: float, solver: str, label: str) -> dict:
    """All figures of one run: contact in every tick and between, the mesh 30 times a second."""
    chains = hair_chains(avatar, rig)
    times, ends, roots = played(avatar, rig, motion, seconds, solver, 120)
    slow = played(avatar, rig, motion, seconds, solver, 30)[1]
    # At time 0 the hair is put on in its rest shape, before any contact: the pose of a clip may press on it.
    touched = between_ticks(avatar, rig, motion, times[1:], ends[1:], roots[1:], chains, between=2)
    poses = apply_hair(avatar.skeleton, rig, motion.worlds(times[::4]), ends[::4])
    free = apply_hair(
        avatar.skeleton,
        rig,
        motion.worlds(times[::4]),
        played(avatar, rig, motion, seconds, solver, 120, contact="off")[1][::4],
    )
    locks, mesh, loose = FrontLocks(avatar, rig, chains), HairMesh(avatar, rig, chains), HairMesh(avatar, rig, chains)
    for pose, other in zip(poses, free, strict=True):
        locks.add(pose)
        mesh.add(pose)
        loose.add(other)
    hidden = locks.result()
    return {
        "avatar": avatar.name,
        "motion": motion.name,
        "rig": label,
        "solver": solver,
        "same_bits_30_120": bool(np.array_equal(slow, ends[::4])),
        "depth_mm": touched.depth_mm if touched else None,
        "over_1_mm": touched.count if touched else None,
        "near": touched.near if touched else None,
        "between_ticks_mm": touched.between_mm if touched else None,
        "hidden": hidden.count if hidden else None,
        "hidden_mm": hidden.depth_mm if hidden else None,
        "hidden_near": hidden.near if hidden else None,
        "stretch_p99": mesh.percentile(),
        "stretch_p99_free": loose.percentile(),
    }


def cost(solver: str, copies: int = 200, seconds: float = 1.0) -> dict:
    """Processor nanoseconds per joint and tick, free and with eight capsules about the strands: medians of five."""
    avatar = th.sample("layered")
    body = [c for c in avatar.hair.colliders if c.shape == "capsule"][:7]
    head = avatar.hair.colliders[0]
    eight = tuple([*body, Collider(head.name, head.node, "capsule", head.offset, head.radius, head.offset)])
    rig = th.HairRig(tuple(th.Chain(**{**vars(c), "colliders": tuple(range(8))}) for c in avatar.hair.chains), eight)
    found = {}
    for contact in ("off", "segment"):
        crowd = th.Crowd(solver, contact=contact)
        ids = crowd.add(avatar, rig, count=copies, motion=th.HeadTurn(avatar))
        crowd.advance(1 / 15)
        times = []
        for _ in range(5):
            start = process_time()
            for _ in range(round(15 * seconds / 5)):
                crowd.advance(1 / 15)
                crowd.positions(ids[:1])
            times.append(process_time() - start)
        ticks = round(15 * seconds / 5) * 8
        found[contact] = 1e9 * float(np.median(times)) / (ticks * copies * len(rig.joints))
        crowd.remove(ids)
    return {"solver": solver, "avatars": copies, "ns_free": found["off"], "ns_8_capsules": found["segment"],
            "ratio": found["segment"] / found["off"]}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assets", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "assets")
    parser.add_argument("--only", default="", choices=("layered", "unitychan"), help="one avatar (default: both)")
    parser.add_argument("--cost", action="store_true", help="measure the cost and nothing else")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    th.init("cpu")
    rows = []
    if args.cost:
        rows = [cost(solver) for solver in ("rod", "arc")]
        for one in rows:
            print(one)
    else:
        avatars = [("layered", lambda: th.sample("layered"))]
        file = args.assets / "unity-chan" / "unitychan.vrm"
        if file.is_file():
            avatars.append(("unitychan", lambda: th.load(file)))
        for name, make in avatars:
            if args.only in ("", name):
                avatar = make()
                fitted = th.fit_colliders(avatar)
                motions = [(th.HeadTurn(avatar), 5.0)]
                for label, path in CLIPS.items():
                    if (args.assets / path).is_file():
                        moved = retarget(load_clip(args.assets / path), avatar, travel="remove")
                        motions.append((replace(moved, name=label), min(np.floor(moved.seconds * 30) / 30, LONGEST)))
                for motion, seconds in motions:
                    for rig, label, solver in (  # the last is what the first is measured against
                        (fitted, "fitted", "rod"),
                        (avatar.hair, "authored", "spring-bone"),
                    ):
                        rows.append(row(avatar, rig, motion, seconds, solver, label))
                        print(json.dumps(rows[-1]), flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
