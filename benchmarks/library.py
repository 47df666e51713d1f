"""Wall time of a library run with local processes against the same run in one process, and that both write the same.

python benchmarks/library.py [AVATARS AND CLIPS ...] [--workers 2] [--repeats 2] [-o library.json]

Without files: the three built-in avatars with the three built-in clips. Each run starts in a process of its own with
an empty folder, so that loading and compiling count; the runs take turns, and the load of the machine is noted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from taichi_hair.avatar.samples import SAMPLES
from taichi_hair.motion.steps import CLIPS

ONE = [sys.executable, "-m", "taichi_hair.cli", "bake-library", "--json"]


def run(files: list[str], workers: int) -> dict:
    """Wall and processor seconds of one run, its summary, and a sum over all that it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        load, began, before = os.getloadavg()[0], time.perf_counter(), os.times()
        command = [*ONE, *files, "-o", folder, "--workers", str(workers)]
        done = subprocess.run(command, capture_output=True, text=True)
        after = os.times()
        if done.returncode:
            raise SystemExit(f"bake-library failed: {done.stderr[-2000:]}")
        facts = json.loads(done.stdout)
        outputs = sorted(p for p in Path(folder).rglob("*") if p.is_file() and p.suffix in (".vrma", ".glb", ".vrm"))
        total = hashlib.sha256()
        for path in outputs:
            total.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
        return {
            "workers": workers,
            "wall_s": time.perf_counter() - began,
            "cpu_s": after.children_user + after.children_system - before.children_user - before.children_system,
            "pairs": facts["pairs"],
            "failed": facts["failed"],
            "files": len(outputs),
            "sha256": total.hexdigest(),
            "load_before": load,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=[*SAMPLES, *CLIPS], help="avatars and clips")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("-o", "--output", help="JSON file to write")
    args = parser.parse_args()
    rows = []
    for _ in range(args.repeats):
        for workers in (0, args.workers):
            rows.append(run(args.files, workers))
            print(json.dumps(rows[-1]), flush=True)
    assert len({row["sha256"] for row in rows}) == 1, "the runs did not write the same files"
    best = {w: min(r["wall_s"] for r in rows if r["workers"] == w) for w in (0, args.workers)}
    found = {"cores": os.cpu_count(), "wall_s": best, "ratio": best[0] / best[args.workers], "rows": rows}
    print(f"{best[0]:.1f} s in one process, {best[args.workers]:.1f} s with {args.workers}: {found['ratio']:.2f} times")
    if args.output:
        Path(args.output).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
