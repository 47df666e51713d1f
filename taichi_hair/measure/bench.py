"""What a crowd costs: time per joint and tick over sizes, solvers, colliders and threads, start-up and memory."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

FRAME = 1.0 / 60.0
TICKS = 2  # of a frame
SOLVERS = ("arc", "rod", "spring-bone", "mass-spring")
LEVELS_TIMED = ("full", "reduced", "half", "lut", "frozen")
CHAINS, JOINTS, CAPSULES = 12, 6, 8
HERE = Path(__file__).resolve().parents[2] / "benchmarks"


def machine() -> str:
    """Processor, cores and system in one line."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        name = found[0] if found else name
    return f"{name}, {os.cpu_count()} threads, {platform.system()}, Python {platform.python_version()}"


def timed(
    solver: str,
    avatars: int,
    capsules: int = CAPSULES,
    contact: str | None = None,
    frames: int = 40,
    level: str = "full",
    joints: int = JOINTS,
) -> dict:
    """One row: a crowd of turning heads, each at its own place in its clip; medians over frames of 1/60 s. What a level
    of detail costs is also told per joint and tick of the full strands."""
    from ..sim.backend import current, ti
    from ..sim.crowd import Crowd
    from .bench_rig import Turning, bench_avatar, bench_table

    avatar = bench_avatar(CHAINS, joints, capsules)
    crowd = Crowd(solver, contact=contact)
    phases = (np.arange(avatars) * 0.37) % 2.0
    begin = perf_counter()
    ids = crowd.add(avatar, count=avatars, motion=Turning(avatar), phase=phases)
    added = perf_counter() - begin
    if level == "lut":
        crowd.use_table(avatar, bench_table(avatar))
    crowd.set_level(ids, level)
    for _ in range(4):
        crowd.advance(FRAME)
    wall, cpu = [], []
    for _ in range(frames):
        t, p = perf_counter(), process_time()
        crowd.advance(FRAME)
        ti.sync()  # a GPU answers at once and works later
        wall.append(perf_counter() - t)
        cpu.append(process_time() - p)
    work = avatars * CHAINS * joints * TICKS
    return {
        "solver": solver,
        "backend": current().name,
        "level": level,
        "avatars": avatars,
        "chains": CHAINS,
        "joints": joints,
        "capsules": capsules,
        "contact": crowd.contact,
        "threads": current().threads,
        "ns_per_joint_tick": round(1e9 * float(np.median(wall)) / work, 2),
        "cpu_ns_per_joint_tick": round(1e9 * float(np.median(cpu)) / work, 2),
        "ms_per_frame_p50": round(1e3 * float(np.percentile(wall, 50)), 4),
        "ms_per_frame_p95": round(1e3 * float(np.percentile(wall, 95)), 4),
        "add_ms": round(1e3 * added, 2),
    }


def one_by_one(avatars: int = 1000, times: int = 40) -> dict:
    """Milliseconds to add and to remove one avatar of a crowd, medians."""
    from ..sim.crowd import Crowd
    from .bench_rig import Turning, bench_avatar

    avatar = bench_avatar(CHAINS, JOINTS, CAPSULES)
    motion = Turning(avatar)
    crowd = Crowd("arc")
    ids = list(crowd.add(avatar, count=avatars, motion=motion))
    crowd.remove(ids.pop(0))
    add, remove = [], []
    for k in range(times):
        t = perf_counter()
        ids.append(crowd.add(avatar, motion=motion)[0])
        add.append(perf_counter() - t)
        t = perf_counter()
        crowd.remove(ids.pop((37 * k) % len(ids)))
        remove.append(perf_counter() - t)
    return {"avatars": avatars, "add_ms": 1e3 * float(np.median(add)), "remove_ms": 1e3 * float(np.median(remove))}


def memory() -> dict:
    """Bytes of device memory of one avatar: its columns in the state, its place in a clip and in the lists."""
    from ..sim import layout as row
    from ..sim.constants import build
    from ..sim.solvers.kinds import ARC
    from .bench_rig import bench_avatar

    avatar = bench_avatar(CHAINS, JOINTS, CAPSULES)
    c = build(avatar.skeleton, avatar.hair, solver=ARC, h=1 / 120, sag_free=True)
    numbers = c.joint.shape[1] * row.STATE_JOINT_ROWS
    numbers += CHAINS * (row.STATE_CHAIN_ROWS + row.STATE_SLOT_ROWS + row.FAMILY_ROWS + 2)
    numbers += c.anchors * (row.TICKS_PER_LAUNCH * row.ANCHOR_ROWS + 4)
    numbers += CAPSULES * row.TICKS_PER_LAUNCH * row.COLLIDER_ROWS
    numbers += row.PILOT_ROWS + row.PLACE_ROWS + 1
    return {"bytes_per_avatar": 4 * numbers}


def looked_up(avatars: int = 1000, times: int = 30) -> dict:
    """What a pose by table costs: microseconds of one avatar's pose, plain and with its lag, and CPU nanoseconds a
    chain in a batch, of a frame that finds how much of each shape there is, and of all joints mixed from them."""
    from ..sim.crowd import Crowd
    from ..sim.forms import shapes
    from .bench_rig import Turning, bench_avatar, bench_table

    avatar = bench_avatar(CHAINS, JOINTS, CAPSULES)
    table = bench_table(avatar)
    rng = np.random.default_rng(1)
    q = rng.normal(size=(500, 4))
    q = (q / np.linalg.norm(q, axis=1, keepdims=True)).tolist()
    late = [0.1, 0.2, 0.0, float(np.sqrt(0.95))]
    single = {"one_us": [], "one_with_lag_us": []}
    for one in q:
        for name, follow in (("one_us", None), ("one_with_lag_us", late)):
            t = perf_counter()
            table.one(one, follow)
            single[name].append(1e6 * (perf_counter() - t))
    crowd = Crowd("rod")
    crowd.use_table(avatar, table)
    ids = crowd.add(avatar, count=avatars, motion=Turning(avatar), phase=(np.arange(avatars) * 0.37) % 2.0)
    crowd.set_level(ids, "lut")
    members = [crowd._members[int(i)] for i in ids]
    found = {"frame": [], "joints": []}
    for _ in range(times):
        t = process_time()
        crowd.advance(FRAME)
        found["frame"].append(process_time() - t)
        t = process_time()
        shapes(crowd._storage, crowd._tables, members, moving=False)
        found["joints"].append(process_time() - t)
    out = {name: round(float(np.median(values)), 2) for name, values in single.items()}
    for name, values in found.items():
        out[f"{name}_cpu_ns_per_chain"] = round(1e9 * float(np.median(values[5:])) / (avatars * CHAINS), 2)
    return out


START = """
import sys, time
t = time.perf_counter()
import taichi_hair as th
from taichi_hair.measure.bench_rig import Turning, bench_avatar
th.init(sys.argv[1])
crowd = th.Crowd(sys.argv[2])
avatar = bench_avatar()
crowd.add(avatar, motion=Turning(avatar))
crowd.advance(1 / 60)
print(time.perf_counter() - t)
"""


def start_up(backend: str, solver: str = "rod") -> float:
    """Seconds from nothing to the first frame in a new process, kernels cached or not as they are."""
    run = subprocess.run(
        [sys.executable, "-c", START, backend, solver], capture_output=True, text=True, check=True, timeout=300
    )
    return round(float(run.stdout.split()[-1]), 3)


ELSEWHERE = """
import json, sys
from taichi_hair.sim.backend import init
init(sys.argv[1], threads=int(sys.argv[2]) or None)
from taichi_hair.measure.bench import timed
print(json.dumps(timed(sys.argv[3], int(sys.argv[4]), frames=int(sys.argv[5]))))
"""


def elsewhere(backend: str, threads: int, solver: str, avatars: int, frames: int = 40) -> dict | None:
    """A row from a process of its own: with another number of CPU threads (0: all), or on another backend. None where
    that does not answer."""
    command = [sys.executable, "-c", ELSEWHERE, backend, *map(str, (threads, solver, avatars, frames))]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    except subprocess.SubprocessError:
        return None
    return json.loads(run.stdout.splitlines()[-1])


def compiled(threads: int, folder: Path) -> list[dict]:
    """The C reference, scalar and eight chains side by side; nothing where no compiler is found."""
    rows = []
    source = HERE / "reference.c"
    for lanes in (1, 8):
        program = folder / f"reference{lanes}"
        options = ["-O3", "-march=native", "-ffast-math", f"-DW={lanes}", str(source), "-lm", "-lpthread"]
        try:
            subprocess.run(["cc", *options, "-o", str(program)], check=True, capture_output=True, timeout=120)
        except (OSError, subprocess.SubprocessError):
            return rows
        command = [str(program), "1000", str(CHAINS), str(JOINTS), str(CAPSULES), str(threads), "40"]
        text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
        wall, cpu = np.array([line.split() for line in text.splitlines()], dtype=float).T
        rows.append(
            {
                "solver": f"C reference, {lanes} lane{'s' if lanes > 1 else ''}",
                "avatars": 1000,
                "chains": CHAINS,
                "joints": JOINTS,
                "capsules": CAPSULES,
                "threads": threads,
                "ns_per_joint_tick": round(float(np.median(wall)), 2),
                "cpu_ns_per_joint_tick": round(float(np.median(cpu)), 2),
                "ms_per_frame_p50": round(float(np.median(wall)) * 1000 * CHAINS * JOINTS * TICKS * 1e-6, 4),
                "ms_per_frame_p95": round(float(np.percentile(wall, 95)) * 1000 * CHAINS * JOINTS * TICKS * 1e-6, 4),
            }
        )
    return rows


def three_vrm(avatars: int, folder: Path, frames: int = 120) -> dict | None:
    """The peer on the same rig through Node: one update a frame, as it is used. None where node or npm is missing."""
    harness = HERE / "peer"
    try:
        if not (folder / "node_modules").exists():
            installed = os.environ.get("TAICHI_HAIR_NODE")
            for name in ("package.json", "three_vrm.mjs"):
                (folder / name).write_bytes((harness / name).read_bytes())
            if installed and (Path(installed) / "node_modules" / "@pixiv").exists():
                (folder / "node_modules").symlink_to(Path(installed).resolve() / "node_modules")
            else:
                subprocess.run(
                    ["npm", "i", "--no-audit", "--no-fund"], cwd=folder, check=True, capture_output=True, timeout=300
                )
        command = ["node", "three_vrm.mjs", *map(str, (avatars, CHAINS, JOINTS, CAPSULES, frames))]
        run = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.SubprocessError):
        return None
    found = json.loads(run.stdout)
    joints = avatars * CHAINS * JOINTS
    return {
        "solver": f"three-vrm {found['version']}",
        "avatars": avatars,
        "chains": CHAINS,
        "joints": JOINTS,
        "capsules": CAPSULES,
        "threads": 1,
        "ns_per_joint_tick": round(1e6 * found["ms_p50"] / joints, 2),
        "cpu_ns_per_joint_tick": round(1e6 * found["cpu_ms_p50"] / joints, 2),
        "ms_per_frame_p50": round(found["ms_p50"], 4),
        "ms_per_frame_p95": round(found["ms_p95"], 4),
    }


def bench(backend: str = "auto", *, quick: bool = False, peer: str | None = None, say=lambda text: None) -> dict:
    """All rows, as the command prints them with --json."""
    import tempfile

    from ..sim.backend import init

    device = init(backend)
    sizes = (1, 100, 1000) if quick else (1, 10, 100, 1000, 5000, 20000)
    capsules = (0, 8) if quick else (0, 4, 8, 16, 32)
    rows = []
    for solver in SOLVERS[:2] if quick else SOLVERS:
        for avatars in sizes:
            say(f"{solver}, {avatars} avatars")
            rows.append(timed(solver, avatars, frames=40 if avatars <= 1000 else 8))
    for count in capsules:
        say(f"arc, {count} capsules")
        rows.append(timed("arc", 300, count, frames=20))
    for level in LEVELS_TIMED:
        for joints in (JOINTS,) if quick or level == "lut" else (JOINTS, 12):
            say(f"level {level}, {joints} joints")
            rows.append(timed("rod", 1000, frames=20, level=level, joints=joints))
    if not quick:
        others = [("cpu", threads) for threads in range(1, min(os.cpu_count() or 1, 2) + 1)]
        others += [(name, 0) for name in ("vulkan", "cuda", "metal") if name != device.name]
        for name, threads in others:
            say(f"{name}, {threads or 'all'} threads")
            rows.append(elsewhere(name, threads, "arc", 1000, 8 if name == "vulkan" else 40))
        rows = [row for row in rows if row is not None]
    with tempfile.TemporaryDirectory(prefix="taichi-hair-bench-") as name:
        folder = Path(name)
        say("the same maths in C")
        rows += compiled(device.threads or os.cpu_count() or 1, folder)
        if peer == "three-vrm":
            for avatars in (1, 100) if quick else (1, 10, 100, 300):
                say(f"three-vrm, {avatars} avatars")
                found = three_vrm(avatars, folder)
                if found is not None:
                    rows.append(found)
                    _ratio(rows, found)
    say("adding and removing")
    result = {"machine": machine(), "backend": str(device), "rows": rows, "one_of_1000": one_by_one(), **memory()}
    say("single poses")
    result["lut"] = looked_up()
    say("start-up")
    result["start_seconds"] = [start_up(device.name) for _ in range(2)]
    return result


def _ratio(rows: list[dict], peer: dict) -> None:
    """How many times the peer's throughput per simulated second our rows of the same size have."""
    for r in rows:
        same = all(r[key] == peer[key] for key in ("avatars", "capsules", "joints"))
        if same and r.get("level") == "full" and r.get("backend") == "cpu":
            r["peer_ratio"] = round(peer["ms_per_frame_p50"] / r["ms_per_frame_p50"], 1)


def add_parser(subparsers) -> argparse.ArgumentParser:
    """The `bench` verb."""
    verb = subparsers.add_parser("bench", help="what a crowd costs: over sizes, solvers, colliders, threads and a peer")
    verb.add_argument("--quick", action="store_true", help="fewer sizes, a minute instead of many")
    verb.add_argument("--peer", choices=("three-vrm",), help="measure it in the same run (needs node and npm)")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.add_argument("--plot", metavar="FILE", help="also draw the rows (needs matplotlib)")
    verb.add_argument("--backend", default="auto", help="auto, cpu, cuda, vulkan or metal (default: auto)")
    verb.set_defaults(run=run)
    return verb


def run(args) -> int:
    """Carry the verb out."""
    from rich.console import Console
    from rich.table import Table

    from ..sim.backend import init
    from .bench_plot import require_plot

    err = Console(stderr=True)
    try:  # before minutes of measuring
        if args.plot:
            require_plot(args.plot)
        init(args.backend)
    except ValueError as problem:
        err.print(f"taichi-hair: {problem}", style="red", markup=False, highlight=False, soft_wrap=True)
        return 2
    with err.status("measuring") as status:
        result = bench(args.backend, quick=args.quick, peer=args.peer, say=status.update)
    if args.plot:
        from .bench_plot import plot

        plot(result, args.plot)
    if args.json:
        sys.stdout.write(json.dumps(result, indent=1) + "\n")
        return 0
    table = Table(title=f"{result['machine']}; {result['backend']}")
    columns = {
        "solver": "solver",
        "backend": "backend",
        "level": "level",
        "avatars": "avatars",
        "joints": "joints",
        "capsules": "capsules",
        "threads": "threads",
        "ns_per_joint_tick": "ns/joint/tick",
        "cpu_ns_per_joint_tick": "CPU ns",
        "ms_per_frame_p50": "ms/frame",
        "ms_per_frame_p95": "p95",
        "peer_ratio": "x peer",
    }
    for title in columns.values():
        table.add_column(title, justify="left" if title == "solver" else "right")
    for r in result["rows"]:
        table.add_row(*("" if r.get(key) is None else str(r[key]) for key in columns))
    out = Console()
    out.print(table)
    one = result["one_of_1000"]
    out.print(
        f"one avatar of 1,000: added in {one['add_ms']:.2f} ms, removed in {one['remove_ms']:.2f} ms; "
        f"{result['bytes_per_avatar']} bytes each; a pose by table {result['lut']['one_us']} us, in a batch "
        f"{result['lut']['frame_cpu_ns_per_chain']} ns a chain and {result['lut']['joints_cpu_ns_per_chain']} for its "
        f"joints; first frame after {result['start_seconds']} s"
    )
    return 0
