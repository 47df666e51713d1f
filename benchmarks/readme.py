"""Measure again what the README says of the cost of crowds: its table, its plot and benchmarks/bench.json.

    python benchmarks/readme.py [--quick] [--from benchmarks/bench.json] [--backend cpu]

Needs matplotlib; has the peer in the same run where node is installed. `--from` only draws and writes again.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from taichi_hair.measure.bench import bench
from taichi_hair.measure.bench_plot import markdown, plot

HOUSE = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- bench -->\n", "<!-- /bench -->\n"


def placed(text: str, table: str) -> str:
    """A README with the table between its two marks."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"README.md: wanted one line {BEGIN.strip()} and one {END.strip()}")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return before + BEGIN + table + END + after


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer sizes")
    parser.add_argument("--from", dest="source", help="rows that were measured before")
    parser.add_argument("--backend", default="cpu")
    args = parser.parse_args()
    if args.source:
        result = json.loads(Path(args.source).read_text(encoding="utf-8"))
    else:
        result = bench(args.backend, quick=args.quick, peer="three-vrm", say=lambda text: print(text, file=sys.stderr))
        (HOUSE / "benchmarks" / "bench.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    plot(result, HOUSE / "docs" / "images" / "bench.webp")
    readme = HOUSE / "README.md"
    readme.write_text(placed(readme.read_text(encoding="utf-8"), markdown(result)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
