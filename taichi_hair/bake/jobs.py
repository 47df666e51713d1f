"""Jobs: one avatar with one clip, baked in whatever process has time; the same job gives the same file."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from ..avatar.avatar import Avatar, load
from ..avatar.samples import SAMPLES, sample
from ..motion.clip import Clip, load_clips
from ..motion.retarget import retarget
from ..motion.steps import CLIPS, made_clip
from ..version import __version__
from .bake import bake, write_retargeted
from .files import write_unseen

LONGEST_ERROR = 600  # characters of an error in a row
AVATAR_FILES, CLIP_FILES = (".vrm", ".glb", ".gltf"), (".vrma", ".bvh", ".glb", ".gltf")


@dataclass(frozen=True)
class Options:
    """What all pairs of a library share."""

    format: str = "vrma"  # ending of the outputs: "vrma", "glb" or "vrm"
    fps: float = 60.0
    solver: str = "rod"
    error_mm: float = 0.5
    travel: str = "keep"
    body: bool = True
    floor: float | None = None  # height in metres of a floor that hair does not pass


@dataclass(frozen=True)
class Job:
    """One pair. Everything in it is plain, so that it can go to another process or machine."""

    avatar: str  # path, or the name of a built-in avatar
    clip: str  # path
    index: int  # of the clip in its file
    name: str  # of the clip
    output: str
    key: str  # of both files' contents, the options and the version: the same key, the same result
    options: Options


def avatar_stem(avatar: str) -> str:
    """Folder name of an avatar's outputs."""
    return avatar if avatar in SAMPLES else _safe(Path(avatar).stem)


def _safe(name: str) -> str:
    return re.sub(r"[^\w.\-]+", "_", name).strip("._") or "clip"


def is_clip_file(path: Path) -> bool:
    """Whether a file is taken as clips: BVH, VRMA, and glTF with animations."""
    if path.suffix.lower() in (".bvh", ".vrma"):
        return True
    if path.suffix.lower() not in CLIP_FILES:
        return False
    from ..avatar.document import read_document

    return bool(read_document(path).json.get("animations"))


def plan(avatars: list[str], clips: list[str], folder: Path, options: Options) -> tuple[list[Job], list[dict]]:
    """Jobs of every avatar with every clip, avatar by avatar, and rows of clip files that cannot be read."""
    sums = {name: _sum(name) for name in dict.fromkeys([*avatars, *clips])}
    lists: list[tuple[str, list[Clip]]] = []
    broken = []
    for path in clips:
        try:
            lists.append((path, list(find_clips(path))))
            if not lists[-1][1]:
                broken.append(_unreadable(path, f"{path}: no animation"))
        except (ValueError, OSError) as why:
            broken.append(_unreadable(path, str(why)))
    jobs, taken = [], set()
    for avatar in avatars:
        for path, found in lists:
            for index, clip in enumerate(found):
                name = clip.name if len(found) > 1 else Path(path).stem
                stem = base = f"{_safe(Path(path).stem)}.{_safe(name)}" if len(found) > 1 else _safe(name)
                number = 1
                while (avatar_stem(avatar), stem.lower()) in taken:
                    number += 1
                    stem = f"{base}-{number}"
                taken.add((avatar_stem(avatar), stem.lower()))
                output = folder / avatar_stem(avatar) / f"{stem}.{options.format}"
                facts = [sums[avatar], sums[path], index, asdict(options), __version__]
                key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]
                jobs.append(Job(avatar, path, index, clip.name, str(output), key, options))
    return jobs, broken


def _sum(name: str) -> str:
    path = Path(name)
    if name in SAMPLES or name in CLIPS or not path.is_file():
        return name
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _unreadable(clip: str, error: str) -> dict:
    name = Path(clip).name
    return {
        "pair": name,
        "avatar": None,
        "clip": name,
        "name": None,
        "status": "failed",
        "output": None,
        "error": error,
    }


def named(job: Job) -> dict:
    """The part of a row that says which pair it is."""
    pair = f"{avatar_stem(job.avatar)}/{Path(job.output).name}"
    return {"pair": pair, "avatar": avatar_stem(job.avatar), "clip": Path(job.clip).name, "name": job.name}


def failed(job: Job, error: str) -> dict:
    """The row of a pair that came to nothing."""
    return {**named(job), "status": "failed", "output": None, "error": error}


def result_path(job: Job) -> Path:
    """Where a finished job leaves its report, which also says that it is finished."""
    output = Path(job.output)
    return output.parent / ".done" / f"{output.name}.json"


def finished(job: Job) -> dict | None:
    """The report of a job that was done before with the same inputs, options and version; None if it was not."""
    path = result_path(job)
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        whole = Path(job.output).stat().st_size == row["bytes"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return row if row.get("key") == job.key and row.get("status") == "done" and whole else None


@lru_cache(maxsize=2)
def _avatar(name: str) -> Avatar:
    return sample(name) if name in SAMPLES else load(name)


@lru_cache(maxsize=4)
def find_clips(name: str) -> tuple[Clip, ...]:
    """The clips of a file, or the built-in clip of that name."""
    return (made_clip(name),) if name in CLIPS else load_clips(name)


def run(job: Job) -> dict:
    """Bake one pair; returns its row for the summary, whatever happens. A file is written whole or not at all."""
    begin = time.perf_counter()
    row = {**named(job), "status": "done", "output": job.output, "key": job.key, "pid": os.getpid()}
    try:
        row.update(_bake(job))
        row["wall_s"] = time.perf_counter() - begin
        path = result_path(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_unseen(path, json.dumps(row, indent=1).encode())
    except Exception as why:  # one pair must never stop the others, whatever goes wrong in it
        text = " ".join(f"{type(why).__name__}: {why}".split())
        row = {**failed(job, text[:LONGEST_ERROR]), "wall_s": time.perf_counter() - begin, "pid": os.getpid()}
    return row


def _start() -> None:
    from ..sim.backend import BackendError, init

    try:
        init("cpu", threads=1)
    except BackendError:
        pass  # this process runs on another device already, which does as well


def _bake(job: Job) -> dict:
    options = job.options
    avatar, clip = _avatar(job.avatar), find_clips(job.clip)[job.index]
    motion = retarget(clip, avatar, travel=options.travel)
    report = motion.report
    row = {
        "seconds": clip.seconds,
        "cycle": report.cycle,
        "missing": list(report.missing),
        "invalid": report.invalid,
        "hair_tracks_in_body": list(report.hair),
    }
    if report.invalid or report.hair:
        raise ValueError(f"{report.invalid} invalid numbers, body tracks on hair joints: {', '.join(report.hair) or 0}")
    Path(job.output).parent.mkdir(parents=True, exist_ok=True)
    why = None
    if not avatar.hair.chains:
        why = "the avatar has no hair chain: body only"
    elif not clip.seconds > 0.0:
        why = "a pose without a length: body only"
    if why is not None:
        tracks = write_retargeted(avatar, motion, job.output, options.fps)
        size = Path(job.output).stat().st_size
        return {**row, "body_tracks": tracks, "bytes": size, "notes": [*motion.notes, why]}
    _start()
    made = bake(
        avatar,
        None,
        motion,
        job.output,
        fps=options.fps,
        solver=options.solver,
        error_mm=options.error_mm,
        body=options.body,
        floor=options.floor,
    ).to_dict()
    notes = list(made.pop("notes"))
    for name in ("avatar", "motion", "path", "seconds"):
        made.pop(name)
    return {**row, **made, "notes": notes}
