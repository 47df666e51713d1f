"""How long the reader takes for a file, beside trimesh on the same file in the same run.

    python benchmarks/load_time.py ../shared/assets/seed-san/seed-san.vrm

Both are imported before the clock starts; times alternate. What each does differs: ours reads springs, materials and
constraints as well, trimesh builds its own scene; neither decodes pictures before they are asked for.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def timed(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = ROOT.parent / "shared" / "assets" / "seed-san" / "seed-san.vrm"
    parser.add_argument("file", type=Path, nargs="?", default=default)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--record", type=Path, help="write the result here as JSON")
    args = parser.parse_args()
    import trimesh

    from taichi_hair.avatar.avatar import load

    first = timed(lambda: load(args.file))
    ours, theirs, pictures = [], [], []
    for _ in range(args.times):
        ours.append(timed(lambda: load(args.file)))
        theirs.append(timed(lambda: trimesh.load(args.file, file_type="glb")))
    for _ in range(3):
        pictures.append(timed(lambda: list(load(args.file).images)))
    result = {
        "file": args.file.name,
        "first_load_ms": round(first * 1e3, 1),
        "load_ms_median": round(statistics.median(ours) * 1e3, 1),
        "load_ms_worst": round(max(ours) * 1e3, 1),
        "load_with_pictures_ms": round(statistics.median(pictures) * 1e3, 1),
        "trimesh_ms_median": round(statistics.median(theirs) * 1e3, 1),
        "trimesh_ms_worst": round(max(theirs) * 1e3, 1),
        "trimesh": trimesh.__version__,
        "runs": args.times,
    }
    print(json.dumps(result, indent=2))
    if args.record:
        args.record.write_text(json.dumps(result, indent=2) + "\n")
    return 0 if result["load_ms_median"] <= result["trimesh_ms_median"] and first < 1.0 else 1


if __name__ == "__main__":
    sys.exit(main())
