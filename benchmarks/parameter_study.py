"""The table behind the default parameters: the three laws side by side on real and built-in hair, in NumPy float64.

    python benchmarks/parameter_study.py             # two Markdown tables, some minutes
    python benchmarks/parameter_study.py --json study.json --set ROD_AIR=0.6 --set SHORT=0

Third-party avatars come from the folder TAICHI_HAIR_ASSETS, or shared/assets beside the checkout, and are left out,
with a line that says so, where they are not there. No contact; 120 updates a second for every law; the mesh is read 30
times a second. `--set` gives a constant of taichi_hair/rig/parameters.py another value for this run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import reference  # noqa: E402

from taichi_hair import rotations  # noqa: E402
from taichi_hair.avatar.avatar import Avatar, load  # noqa: E402
from taichi_hair.avatar.samples import sample  # noqa: E402
from taichi_hair.motion.turn import HeadMotion, HeadTurn, Nod, Run, Sideways, Sine, StopTurn, Tilt  # noqa: E402
from taichi_hair.rig import parameters  # noqa: E402

LAWS = ("spring-bone", "arc", "rod")
FILES = ("seed-san/seed-san.vrm", "unity-chan/unitychan.vrm", "vroid-rig/vroid16_rig.vrm")
SAMPLES = ("layered", "ponytail")
# The strand of each avatar that the second table follows.
STRANDS = {
    "seed-san": "TailHair",
    "unitychan": "J_L_HairTail",
    "vroid16_rig": "Hair_15",
    "layered": "back_middle",
    "ponytail": "ponytail",
}
VISIBLE = 0.002  # metres


class Simulated:
    """One avatar, one motion, one law: end points of every chain and the world matrices of every node."""

    def __init__(self, avatar: Avatar, motion: HeadMotion, law: str, chains=None):
        self.avatar = avatar
        self.chains = avatar.hair.chains if chains is None else chains
        self.t = np.arange(round(motion.seconds / reference.TICK) + 1) * reference.TICK
        self.worlds = motion.worlds(self.t)
        self.points, self.carried, self.frames = [], [], []
        for chain in self.chains:
            frames = reference.attach_frames(chain, self.worlds)
            self.frames.append(frames)
            self.carried.append(reference.rest_shape(chain, avatar.skeleton, frames))
            self.points.append(self._solve(chain, frames, law))
            self._write(chain, frames, self.points[-1])

    def _solve(self, chain, frames, law: str) -> np.ndarray:
        skeleton = self.avatar.skeleton
        if law == "spring-bone":
            center = self.worlds[:, chain.center] if chain.center >= 0 else None
            return reference.spring_bone(chain, skeleton, frames, reference.TICK, (), center)
        if law == "arc":
            return reference.arc(chain, skeleton, frames, parameters.arc_parameters(chain, skeleton))
        return reference.rod(chain, skeleton, frames, parameters.rod_parameters(chain, skeleton))

    def _write(self, chain, frames, points: np.ndarray) -> None:
        """Set the world matrices of a chain's joints, and carry what hangs below them."""
        skeleton = self.avatar.skeleton
        shape = reference.strand(chain, skeleton)
        above = np.concatenate([rotations.IDENTITY[None], shape.turns[:-1]])
        relative = rotations.multiply(rotations.inverse(above), shape.turns)
        axis = rotations.rotate(rotations.inverse(shape.turns), shape.rest)
        turn = frames.rotation
        origin = frames.position + rotations.rotate(turn, frames.scale * shape.root)
        for j, joint in enumerate(chain.joints):
            turn = rotations.multiply(turn, relative[j])
            along = rotations.rotate(rotations.inverse(turn), points[:, j] - origin)
            turn = rotations.multiply(turn, rotations.from_to(axis[j], along))
            size = frames.scale * shape.joint_scale[j]
            self.worlds[:, joint, :3, :3] = rotations.to_matrix(turn) * size
            self.worlds[:, joint, :3, 3] = origin
            origin = points[:, j]
        moved = set(int(joint) for joint in chain.joints)
        local = skeleton.local()
        for node in skeleton.order:
            parent = int(skeleton.parents[node])
            if parent in moved and int(node) not in moved:
                moved.add(int(node))
                self.worlds[:, node] = self.worlds[:, parent] @ local[node]

    def deviation(self, c: int, j: int = -1) -> np.ndarray:
        """(T, 3) metres, in the attach node's frame: an end point less where the rigid strand has it."""
        turn = rotations.inverse(self.frames[c].rotation)
        return rotations.rotate(turn, self.points[c][:, j] - self.carried[c][:, j])

    def first_to_last(self, c: int, points: np.ndarray) -> np.ndarray:
        """(T,) degrees between the first and the last link."""
        frames, shape = self.frames[c], reference.strand(self.chains[c], self.avatar.skeleton)
        root = frames.position + rotations.rotate(frames.rotation, frames.scale * shape.root)
        first, last = points[:, 0] - root, points[:, -1] - points[:, -2]
        size = np.linalg.norm(first, axis=1) * np.linalg.norm(last, axis=1)
        return np.degrees(np.arccos(np.clip(np.sum(first * last, axis=1) / np.maximum(size, 1e-300), -1.0, 1.0)))


def touched_edges(avatar: Avatar, chains) -> list[tuple]:
    """Per mesh part (part, skin, edges (E, 2)): edges with an end that is weighted to hair."""
    skeleton = avatar.skeleton
    moved = np.zeros(len(skeleton), dtype=bool)
    for chain in chains:
        moved[chain.joints] = True
    for node in skeleton.order:
        moved[node] |= skeleton.parents[node] >= 0 and moved[skeleton.parents[node]]
    found = []
    for part in avatar.parts:
        skin = avatar.skins[part.skin]
        touched = np.any((part.weights > 0.0) & moved[skin.joints[part.joints]], axis=1)
        edges = np.concatenate([part.triangles[:, [0, 1]], part.triangles[:, [1, 2]], part.triangles[:, [2, 0]]])
        edges = np.unique(np.sort(edges, axis=1), axis=0)
        edges = edges[touched[edges].any(axis=1)]
        if len(edges):
            found.append((part, skin, edges))
    return found


def skinned(part, skin, vertices: np.ndarray, worlds: np.ndarray) -> np.ndarray:
    """(T, V, 3) linear blend skinning of some vertices of a part."""
    matrices = worlds[:, skin.joints] @ skin.inverse_bind
    stored = np.concatenate([part.positions[vertices], np.ones((len(vertices), 1))], axis=1)
    result = np.zeros((len(worlds), len(vertices), 3))
    for k in range(part.joints.shape[1]):
        weight = part.weights[vertices, k]
        if np.any(weight):
            chosen = matrices[:, part.joints[vertices, k], :3]
            result += weight[:, None] * np.einsum("tvij,vj->tvi", chosen, stored)
    return result


def stretch(run: Simulated) -> tuple[float, float] | tuple[None, None]:
    """(99th percentile, worst edge) in percent, of the largest stretch of each edge over the run."""
    largest = []
    for part, skin, edges in touched_edges(run.avatar, run.chains):
        vertices, local = np.unique(edges, return_inverse=True)
        local = local.reshape(edges.shape)
        rest = skinned(part, skin, vertices, run.avatar.skeleton.rest_world[None])
        most = np.zeros(len(local))
        for start in range(0, len(run.t), 240):
            some = skinned(part, skin, vertices, run.worlds[start : start + 240 : 4])
            most = np.maximum(most, np.linalg.norm(some[:, local[:, 0]] - some[:, local[:, 1]], axis=-1).max(axis=0))
        length = np.linalg.norm(rest[0, local[:, 0]] - rest[0, local[:, 1]], axis=-1)
        largest.append(most[length > 1e-7] / length[length > 1e-7])
    if not largest:
        return None, None
    ratio = np.concatenate(largest)
    return 100.0 * (np.quantile(ratio, 0.99) - 1.0), 100.0 * (ratio.max() - 1.0)


def turn_row(avatar: Avatar, law: str) -> dict:
    """Figures of the standard turn over the whole hair. Swing: chains of three links and more, where there are any."""
    run = Simulated(avatar, HeadTurn(avatar), law)
    moving, late = run.t <= 4.0, np.flatnonzero(run.t >= run.t[-1] - 2.0)[::4]
    long = [c for c, chain in enumerate(run.chains) if len(chain) >= 3] or range(len(run.chains))
    tips = [run.deviation(c) for c in long]
    bends = [c for c, chain in enumerate(run.chains) if len(chain) > 1]
    curl = [run.first_to_last(c, run.points[c]) - run.first_to_last(c, run.carried[c]) for c in bends]
    p99, worst = stretch(run)
    swing = 1e3 * np.sqrt(np.mean([np.sum(d[moving] ** 2, axis=1) for d in tips]))
    off = np.concatenate([(p[-1] - c[-1]) for p, c in zip(run.points, run.carried, strict=True)])
    return {
        "swing_mm": swing,
        "swing_about_rest_mm": 1e3 * np.sqrt(np.mean([np.sum((d[moving] - d[-1]) ** 2, axis=1) for d in tips])),
        "stretch_p99": p99,
        "stretch_worst": worst,
        "stretch_per_100mm": None if p99 is None else 100.0 * p99 / swing,
        "curl_deg": max(0.0, max(np.percentile(c[::4], 95.0) for c in curl)),
        "curl_rest_deg": max(0.0, max(c[-1] for c in curl)),
        "sag_mm": 1e3 * np.sqrt(np.mean(np.sum(off**2, axis=1))),
        "settle_mm": 1e3 * max(np.linalg.norm(np.diff(p[late], axis=0), axis=-1).max() for p in run.points),
    }


def lag(run: Simulated, hertz: float) -> list[float]:
    """[first, middle, last end point] degrees behind the rigid strand, after two seconds."""
    steady = run.t > run.t[-1] - np.floor((run.t[-1] - 2.0) * hertz) / hertz + 1e-9
    wave = np.exp(-2j * np.pi * hertz * run.t[steady])[:, None]
    result = []
    for j in (0, len(run.chains[0]) // 2, len(run.chains[0]) - 1):
        hair, rigid = run.points[0][steady, j], run.carried[0][steady, j]
        amplitudes = [((path - path.mean(axis=0)) * wave).sum(axis=0) for path in (rigid, hair)]
        result.append(float(np.degrees(np.angle(np.sum(amplitudes[0] * np.conj(amplitudes[1]))))))
    return result


def after_stop(run: Simulated) -> tuple[float, int]:
    """(overshoot in percent of the largest lag, swings past rest of more than 2 mm)."""
    path = run.points[0][:, -1] - run.carried[0][:, -1]
    size = np.linalg.norm(path, axis=1)
    top = int(np.argmax(size))
    along = path[top:] @ path[top] / size[top]
    parts = np.split(along, np.flatnonzero(np.diff(np.sign(along))) + 1)[1:]
    peaks = [part[np.argmax(np.abs(part))] for part in parts]
    return (100.0 * abs(peaks[0]) / size[top] if peaks else 0.0), sum(abs(peak) > VISIBLE for peak in peaks)


def strand_row(avatar: Avatar, name: str, law: str) -> dict:
    """Figures of one strand under the other motions."""
    chains = [chain for chain in avatar.hair.chains if chain.name == name]
    overshoot, swings = after_stop(Simulated(avatar, StopTurn(avatar), law, chains))
    row = {"strand": name, "overshoot_pct": overshoot, "swings": swings}
    row["lag_deg"] = lag(Simulated(avatar, Sine(avatar, 6.0), law, chains), 1.0)
    tilted = Simulated(avatar, Tilt(avatar, 8.0), law, chains)
    row["droop_mm"] = 1e3 * float(np.linalg.norm(tilted.deviation(0)[-1]))
    for kind in (HeadTurn, Nod, Sideways, Run):
        run = Simulated(avatar, kind(avatar), law, chains)
        moving = run.t <= 4.0
        swing = 1e3 * float(np.sqrt(np.mean(np.sum(run.deviation(0)[moving] ** 2, axis=1))))
        p99, _ = stretch(run)
        row[kind.name] = {"swing_mm": swing, "stretch_per_100mm": None if p99 is None else 100.0 * p99 / swing}
    return row


def avatars() -> dict[str, Avatar]:
    folder = Path(os.environ.get("TAICHI_HAIR_ASSETS", ROOT.parent / "shared" / "assets"))
    found = {}
    for name in FILES:
        if (folder / name).is_file():
            found[Path(name).stem] = load(folder / name)
        else:
            print(f"left out: {folder / name} is not there", file=sys.stderr)
    return found | {name: sample(name) for name in SAMPLES}


def number(value, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def print_tables(study: dict) -> None:
    heads = ["avatar", "law", "swing mm", "about rest", "p99 %", "worst %", "p99 / 100 mm", "curl deg", "at rest"]
    heads += ["sag mm", "settle mm"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for name, laws in study.items():
        for law, row in laws.items():
            r = row["turn"]
            cells = [number(r["swing_mm"], 0), number(r["swing_about_rest_mm"], 0), number(r["stretch_p99"], 1)]
            cells += [number(r["stretch_worst"], 0), number(r["stretch_per_100mm"], 1), number(r["curl_deg"], 0)]
            cells += [number(r["curl_rest_deg"], 2), f"{r['sag_mm']:.1g}", f"{r['settle_mm']:.0e}"]
            print(f"| {name} | {law} | " + " | ".join(cells) + " |")
    print()
    print("| strand | law | overshoot % | swings | lag deg | droop mm | turn | nod | sideways | run |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, laws in study.items():
        for law, row in laws.items():
            r = row["strand"]
            cells = [number(r["overshoot_pct"], 0), str(r["swings"]), " ".join(number(x, 0) for x in r["lag_deg"])]
            cells.append(number(r["droop_mm"], 0))
            for motion in ("turn", "nod", "sideways", "run"):
                m = r[motion]
                cells.append(f"{number(m['stretch_per_100mm'], 1)} ({m['swing_mm']:.0f})")
            print(f"| {name}, {r['strand']} | {law} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="constant of rig/parameters.py"
    )
    parser.add_argument("--only", help="only the avatar of this name")
    arguments = parser.parse_args()
    for item in arguments.set:
        name, value = item.split("=")
        if not isinstance(getattr(parameters, name, None), float):
            parser.error(f"taichi_hair/rig/parameters.py has no number {name}")
        setattr(parameters, name, float(value))
    study = {}
    for name, avatar in avatars().items():
        if arguments.only in (None, name):
            study[name] = {
                law: {"turn": turn_row(avatar, law), "strand": strand_row(avatar, STRANDS[name], law)} for law in LAWS
            }
    print_tables(study)
    if arguments.json:
        arguments.json.write_text(json.dumps(study, indent=1, default=float))


if __name__ == "__main__":
    main()
