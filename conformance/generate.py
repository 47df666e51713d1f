"""Write the conformance vectors: small spring-bone rigs, what drives them, and where every bone's tail must be.

    python conformance/generate.py

The expected positions come from the slow float64 reference in tests/reference.py, which is checked against three-vrm.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests")]

import reference  # noqa: E402

from taichi_hair import rotations  # noqa: E402
from taichi_hair.avatar.skeleton import Skeleton  # noqa: E402
from taichi_hair.hair import Chain, Collider  # noqa: E402

RATE = 60
FRAMES = 150
DOWN = [0.0, -1.0, 0.0]


def node(name, parent, translation, rotation=(0.0, 0.0, 0.0, 1.0), scale=1.0):
    return {
        "name": name,
        "parent": parent,
        "translation": [float(x) for x in translation],
        "rotation": [float(x) for x in rotation],
        "scale": float(scale),
    }


def hanging(links=(0.1, 0.1, 0.1, 0.1), bend=0.15, turned=False, scale=1.0):
    """A root, a head on it and a chain of len(links) bones behind the head that hangs down and bends backwards.

    `turned` gives the nodes rest rotations, so that bones point along other axes than in a plain file.
    """
    nodes = [node("root", -1, (0, 0, 0), scale=scale), node("head", 0, (0, 1.5, 0))]
    skew = rotations.from_axis_angle([0.3, 1.0, -0.2], 1.1) if turned else rotations.IDENTITY
    back = rotations.inverse(skew)
    frame = rotations.IDENTITY  # of the parent, in the unturned rig
    offset = np.array([0.0, 0.0, -0.1])
    for j in range(len(links) + 1):
        turn = rotations.from_axis_angle([1.0, 0.0, 0.0], bend if j else 0.0)
        local = turn if j == 0 else rotations.multiply(back, turn)
        place = offset if j == 0 else rotations.rotate(back, offset)
        nodes.append(node(f"bone{j}", len(nodes) - 1, place, rotations.multiply(local, skew)))
        frame = rotations.multiply(frame, turn)
        offset = np.array([0.0, -links[j], 0.0]) if j < len(links) else offset
    return nodes


def spring(nodes, joints=None, colliders=(), center=None, **settings):
    """A spring over the bones of `nodes`; settings are numbers or lists, one per joint that moves."""
    joints = list(range(2, len(nodes))) if joints is None else joints
    count = len(joints) - 1
    values = {"stiffness": 1.0, "dragForce": 0.4, "gravityPower": 0.0, "hitRadius": 0.02, **settings}
    entries = []
    for j in range(count):
        entry = {key: float(np.broadcast_to(value, (count,))[j]) for key, value in values.items()}
        entries.append({"node": joints[j], **entry, "gravityDir": DOWN})
    entries.append({"node": joints[-1]})
    out = {"joints": entries, "colliders": list(colliders)}
    return out if center is None else {**out, "center": center}


def turn(amplitude=60.0, hertz=0.5, seconds=1.5):
    """(FRAMES + 1,) degrees about y of the head: a sine that stops after `seconds`."""
    t = np.arange(FRAMES + 1) / RATE
    return amplitude * np.sin(2 * np.pi * hertz * np.minimum(t, seconds))


def drive(yaw=None, slide=None, root_yaw=None):
    """Per frame the local rotation of head (1) and root (0) and the translation of the root; frame 0 is at rest."""
    zero = np.zeros(FRAMES + 1)
    frames = []
    for a, s, r in zip(
        yaw if yaw is not None else zero,
        slide if slide is not None else zero,
        root_yaw if root_yaw is not None else zero,
        strict=True,
    ):
        head = rotations.from_axis_angle(np.array([0.0, 1.0, 0.0]), np.radians(a))
        root = rotations.from_axis_angle(np.array([0.0, 1.0, 0.0]), np.radians(r))
        frames.append(
            {
                "0": {"translation": [round(float(s), 9), 0.0, 0.0], "rotation": [round(float(x), 12) for x in root]},
                "1": {"rotation": [round(float(x), 12) for x in head]},
            }
        )
    return frames


def ball(at, radius, kind="sphere", where=1, **more):
    return {"node": where, "shape": kind, "offset": [float(x) for x in at], "radius": float(radius), **more}


def vectors():
    """(name, what it shows, nodes, springs, colliders, drive)"""
    plain, turned = hanging(), hanging(turned=True)
    t = np.arange(FRAMES + 1) / RATE
    slide = 0.3 * np.sin(2 * np.pi * 0.8 * t)
    yield "turn", "stiffness and inertia: the head turns and stops", plain, [spring(plain)], [], drive(turn())
    yield (
        "gravity",
        "gravity against stiffness, no motion: the strand sags to its equilibrium",
        plain,
        [spring(plain, gravityPower=0.3)],
        [],
        drive(),
    )
    yield (
        "drag",
        "drag of 0, 0.5 and 1: full inertia, half, none",
        plain,
        [spring(plain, dragForce=[0.05, 0.5, 1.0, 0.5])],
        [],
        drive(turn()),
    )
    yield (
        "per-joint",
        "every joint has its own stiffness, drag, gravity and radius",
        plain,
        [spring(plain, stiffness=[4, 2, 1, 0.3], dragForce=[0.2, 0.4, 0.6, 0.8], gravityPower=[0, 0.1, 0.2, 0.5])],
        [],
        drive(turn(), slide),
    )
    yield (
        "rest-rotations",
        "bones that point along any axis: the rest rotation enters, not the axis",
        turned,
        [spring(turned, gravityPower=0.1)],
        [],
        drive(turn()),
    )
    yield (
        "slide",
        "the whole model slides: inertia is measured in the world",
        plain,
        [spring(plain)],
        [],
        drive(slide=slide),
    )
    yield (
        "center",
        "the same with the root as centre: no inertia from its motion",
        plain,
        [spring(plain, center=0)],
        [],
        drive(turn(30), slide, 40 * np.sin(2 * np.pi * 0.4 * t)),
    )
    yield (
        "sphere",
        "a ball in the way, hit radius included",
        plain,
        [spring(plain, colliders=[0])],
        [ball([0.12, -0.25, -0.12], 0.06, where=0) | {"offset": [0.12, 1.25, -0.12]}],
        drive(turn()),
    )
    yield (
        "capsule",
        "a capsule in the way, nearest point of its axis",
        plain,
        [spring(plain, colliders=[0])],
        [ball([0.1, 1.3, -0.2], 0.05, "capsule", 0, tail=[0.14, 1.1, 0.05])],
        drive(turn()),
    )
    yield (
        "two-colliders",
        "two balls that meet one bone: pushed by one after the other, in the order of the file",
        plain,
        [spring(plain, colliders=[0, 1])],
        [ball([0.1, 1.25, -0.1], 0.05, where=0), ball([0.12, 1.2, -0.17], 0.05, where=0)],
        drive(turn()),
    )
    yield (
        "plane",
        "extended collider: a plane that hair stays above",
        plain,
        [spring(plain, colliders=[0])],
        [ball([0.08, 1.2, 0], 0.0, "plane", 0, normal=[-1.0, 0.0, 0.0])],
        drive(turn()),
    )
    yield (
        "inside-sphere",
        "extended collider: hair stays inside a ball",
        plain,
        [spring(plain, colliders=[0])],
        [ball([-0.06, 1.3, -0.1], 0.26, "inside_sphere", 0)],
        drive(turn()),
    )
    yield (
        "inside-capsule",
        "extended collider: hair stays inside a capsule",
        plain,
        [spring(plain, colliders=[0])],
        [ball([0.0, 1.5, -0.08], 0.15, "inside_capsule", 0, tail=[0.0, 1.0, -0.15])],
        drive(turn()),
    )
    scaled = hanging(scale=2.0)
    yield (
        "scale",
        "a root scaled by 2: bone lengths, hit radii and colliders scale, stiffness and gravity do not",
        scaled,
        [spring(scaled, colliders=[0], gravityPower=0.1)],
        [ball([0.1, 1.25, -0.1], 0.05, where=0)],
        drive(turn()),
    )


def skeleton_of(nodes) -> Skeleton:
    return Skeleton(
        tuple(n["name"] for n in nodes),
        np.array([n["parent"] for n in nodes]),
        np.array([n["translation"] for n in nodes], dtype=np.float64),
        np.array([n["rotation"] for n in nodes], dtype=np.float64),
        np.array([[n["scale"]] * 3 for n in nodes]),
    )


def rig_of(nodes, springs, colliders) -> tuple[list[Chain], tuple[Collider, ...]]:
    """The same rig as descriptions of this library."""
    skeleton = skeleton_of(nodes)
    chains = []
    for s, entry in enumerate(springs):
        ids = np.array([joint["node"] for joint in entry["joints"]])
        moving = entry["joints"][:-1]
        chains.append(
            Chain(
                name=f"spring {s}",
                joints=ids[:-1],
                ends=ids[1:],
                tails=skeleton.translations[ids[1:]],
                attach=int(skeleton.parents[ids[0]]),
                stiffness=np.array([joint["stiffness"] for joint in moving]),
                drag=np.array([joint["dragForce"] for joint in moving]),
                gravity_power=np.array([joint["gravityPower"] for joint in moving]),
                gravity_dir=np.array([joint["gravityDir"] for joint in moving]),
                hit_radius=np.array([joint["hitRadius"] for joint in moving]),
                colliders=tuple(entry["colliders"]),
                center=entry.get("center", -1),
            )
        )
    shapes = tuple(
        Collider(
            f"collider {c}",
            entry["node"],
            entry["shape"],
            np.array(entry["offset"]),
            entry["radius"],
            np.array(entry["tail"]) if "tail" in entry else None,
            np.array(entry["normal"]) if "normal" in entry else None,
        )
        for c, entry in enumerate(colliders)
    )
    return chains, shapes


def worlds_of(skeleton: Skeleton, frames) -> np.ndarray:
    """(T, N, 4, 4) world matrices of a drive."""
    translations = np.repeat(skeleton.translations[None], len(frames), axis=0)
    turns = np.repeat(skeleton.rotations[None], len(frames), axis=0)
    for f, frame in enumerate(frames):
        for index, pose in frame.items():
            translations[f, int(index)] = pose.get("translation", translations[f, int(index)])
            turns[f, int(index)] = pose["rotation"]
    return skeleton.world(translations, turns)


def expected(nodes, springs, colliders, frames) -> list:
    """Tails (frames, bones, 3) of all springs after each update, frame 0 being the start."""
    skeleton = skeleton_of(nodes)
    chains, shapes = rig_of(nodes, springs, colliders)
    worlds = worlds_of(skeleton, frames)
    found = []
    for chain in chains:
        center = worlds[:, chain.center] if chain.center >= 0 else None
        found.append(
            reference.spring_bone(
                chain,
                skeleton,
                reference.attach_frames(chain, worlds),
                1.0 / RATE,
                reference.collider_shapes(chain, shapes, worlds),
                center,
                measured_length=False,
            )
        )
    return np.round(np.concatenate(found, axis=1), 7).tolist()


def vector(name, what, nodes, springs, colliders, frames) -> dict:
    return {
        "name": name,
        "shows": what,
        "rate": RATE,
        "nodes": nodes,
        "colliders": colliders,
        "springs": springs,
        "drive": frames,
        "tolerance": 1e-4,
        "tails": expected(nodes, springs, colliders, frames),
    }


def main() -> None:
    for entry in vectors():
        path = HERE / "vectors" / f"{entry[0]}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(vector(*entry), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
