"""bake_library(): every avatar with every clip, resumable, with a summary for programs and one for people."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..avatar.samples import SAMPLES
from ..motion.steps import CLIPS
from ..version import __version__
from .files import write_unseen
from .jobs import Options, finished, named, plan
from .workers import run_local

ENGINES = ("local", "ray")


@dataclass(frozen=True)
class Library:
    """What a library run came to: one row per pair, in the order of the plan."""

    folder: Path
    rows: tuple[dict, ...]
    seconds: float  # wall time of this run
    workers: int
    engine: str
    kept: int  # pairs that were there already

    def count(self, status: str) -> int:
        return sum(row["status"] == status for row in self.rows)

    def to_dict(self) -> dict:
        return {
            "version": __version__,
            "pairs": len(self.rows),
            "done": self.count("done"),
            "failed": self.count("failed"),
            "kept": self.kept,
            "missing_joints": sum(len(row.get("missing") or ()) for row in self.rows),
            "invalid_numbers": sum(row.get("invalid") or 0 for row in self.rows),
            "body_tracks_on_hair": sum(len(row.get("hair_tracks_in_body") or ()) for row in self.rows),
            "worst_playback_mm": max((row.get("playback_mm") or 0.0 for row in self.rows), default=0.0),
            "wall_s": self.seconds,
            "single_process_s": sum(row.get("wall_s") or 0.0 for row in self.rows),
            "workers": self.workers,
            "engine": self.engine,
            "rows": list(self.rows),
        }


def bake_library(
    avatars: list[str],
    clips: list[str],
    folder,
    *,
    options: Options | None = None,
    workers: int | None = None,
    engine: str = "local",
    address: str | None = None,
    progress: Callable[[int, int, dict | None], None] | None = None,
) -> Library:
    """Bake every avatar (path or built-in name) with every clip of every clip file into `folder`.

    A pair that was done before with the same files, options and version is kept; a pair that fails is a row with its
    error and stops nothing. workers: processes (0: this one; default: one per core). engine: "local" or "ray".
    progress: called as (pairs done, pairs in all, row). Writes summary.json and summary.md into the folder.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine: found {engine!r}, wanted one of {', '.join(ENGINES)}")
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    options = options or Options()
    workers = (os.cpu_count() or 1) if workers is None else int(workers)
    begin = time.perf_counter()
    jobs, broken = plan([_absolute(a) for a in avatars], [_absolute(c) for c in clips], folder, options)
    pairs = [named(job)["pair"] for job in jobs]
    rows: dict[str, dict] = {}
    for pair, job in zip(pairs, jobs, strict=True):
        row = finished(job)
        if row is not None:
            rows[pair] = {**row, "kept": True}
    kept, total = len(rows), len(jobs) + len(broken)
    if progress:
        progress(kept + len(broken), total, None)

    def report(row: dict) -> None:
        rows[row["pair"]] = row
        if progress:
            progress(len(rows) + len(broken), total, row)

    left = [job for pair, job in zip(pairs, jobs, strict=True) if pair not in rows]
    if engine == "ray":
        from .cluster import run_ray

        run_ray(left, workers, report, address)
    else:
        run_local(left, workers, report)
    done = (*[rows[pair] for pair in pairs], *broken)
    library = Library(folder, done, time.perf_counter() - begin, workers, engine, kept)
    write_unseen(folder / "summary.json", json.dumps(library.to_dict(), indent=1).encode())
    write_unseen(folder / "summary.md", table(library).encode())
    return library


def _absolute(name: str) -> str:
    return name if name in SAMPLES or name in CLIPS else str(Path(name).resolve())


def table(library: Library) -> str:
    """The summary for people, in Markdown: a line per pair, failures first."""
    facts = library.to_dict()
    lines = [
        f"# {facts['pairs']} pairs: {facts['done']} done, {facts['failed']} failed",
        "",
        f"{facts['wall_s']:.1f} s with {facts['workers']} workers ({facts['engine']}), {facts['kept']} kept from "
        f"before; the pairs themselves took {facts['single_process_s']:.1f} s.",
        "",
        "| pair | kind | seconds | seam mm | playback mm | keys | remarks |",
        "|-|-|-|-|-|-|-|",
    ]
    for row in sorted(library.rows, key=lambda r: r["status"] != "failed"):
        if row["status"] == "failed":
            lines.append(f"| {row['pair']} | **failed** | | | | | {_plain(row['error'])} |")
            continue
        seam = row.get("seam")
        kind = "pose" if not row["seconds"] else "loop" if row.get("loop") else "once" if "loop" in row else "body"
        cells = [
            row["pair"],
            kind,
            f"{row['seconds']:.2f}",
            f"{seam['position_mm']:.3f}" if seam else "",
            f"{row['playback_mm']:.4f}" if "playback_mm" in row else "",
            f"{row['keys']} of {row['keys_recorded']}" if "keys" in row else "",
            _plain("; ".join(row.get("notes") or ())),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return text.replace("|", "/").replace("\n", " ")
