"""The verbs `retarget`, `bake` and `bake-library` of the command line, each thin over the library."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..avatar.avatar import Avatar, load
from ..avatar.errors import AssetError
from ..avatar.samples import SAMPLES, sample
from ..motion.clip import load_clip
from ..motion.retarget import TRAVEL, retarget
from ..motion.steps import CLIPS, made_clip
from ..motion.turn import MOTIONS
from .jobs import AVATAR_FILES, Options, is_clip_file
from .library import ENGINES, bake_library, table

SOLVERS = ("rod", "arc", "spring-bone")
out, err = Console(), Console(stderr=True)


def add_parsers(verbs: argparse._SubParsersAction) -> None:
    """Add the three verbs; each parser's `run` takes the parsed arguments and returns an exit code."""
    moves = f"GLB, glTF, VRMA or BVH file, or a built-in clip: {', '.join(CLIPS)}"
    known = f"VRM, GLB or glTF file, or a built-in avatar: {', '.join(SAMPLES)}"
    one = verbs.add_parser("retarget", help="a clip on another avatar: body tracks, no hair")
    one.add_argument("clip", help=moves)
    one.add_argument("avatar", help=known)
    one.add_argument("-o", "--output", help=".vrma, .vrm, .glb or .gltf to write (default: only report)")
    _clip_options(one)
    one.add_argument("--avatar-mapping", help="JSON file of role -> joint name, for the avatar")
    one.add_argument("--fps", type=float, default=60.0, help="keys a second (default 60)")
    one.set_defaults(run=run_retarget)

    two = verbs.add_parser("bake", help="hair motion as rotation tracks; --undo takes them out again")
    two.add_argument("avatar", help=known + "; with --undo the baked file")
    two.add_argument("clip", nargs="?", help=f"{moves}, or a head motion: {', '.join(MOTIONS)}")
    two.add_argument("-o", "--output", help=".vrm, .glb or .gltf: the avatar with the animation; .vrma: it alone")
    two.add_argument("--undo", action="store_true", help="give back the file as it was before the last bake")
    _clip_options(two)
    kind = two.add_mutually_exclusive_group()
    kind.add_argument("--loop", dest="loop", action="store_true", default=None, help="close it (default for cycles)")
    kind.add_argument("--once", dest="loop", action="store_false", help="record it once")
    _bake_options(two)
    two.add_argument("--blend", action="append", default=[], metavar="CHAIN=WEIGHT", help="1: the clip's own tracks")
    two.set_defaults(run=run_bake)

    many = verbs.add_parser("bake-library", help="every avatar with every clip, resumable")
    many.add_argument(
        "files",
        nargs="+",
        help="avatars and clips in any order, files, folders or built-in; a glTF with animations is a clip",
    )
    many.add_argument("-o", "--output", required=True, help="folder for the files, summary.json and summary.md")
    many.add_argument("--avatars", nargs="+", default=[], help="these are avatars, whatever they hold")
    many.add_argument("--clips", nargs="+", default=[], help="these are clips, whatever they hold")
    many.add_argument("--format", choices=("vrma", "glb", "vrm"), default="vrma")
    many.add_argument("--travel", choices=TRAVEL, default="keep", help="the clip's horizontal way (default: keep)")
    _bake_options(many)
    many.add_argument("--workers", type=int, help="processes (default: one per core; 0: this one)")
    many.add_argument("--engine", choices=ENGINES, default="local")
    many.add_argument("--address", help="of a running Ray cluster (default: one on this machine)")
    many.add_argument("--json", action="store_true", help="print the summary as JSON")
    many.set_defaults(run=run_library)


def _clip_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clip", dest="which", default="0", help="number or name of the clip in its file (default 0)")
    parser.add_argument("--mapping", help="JSON file of role -> joint name, for the clip")
    parser.add_argument("--travel", choices=TRAVEL, default="keep", help="the clip's horizontal way (default: keep)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _bake_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fps", type=float, default=60.0, help="keys a second before reduction (default 60)")
    parser.add_argument("--solver", choices=SOLVERS, default="rod")
    parser.add_argument("--error-mm", type=float, default=0.5, help="allowed between keys (default 0.5)")
    parser.add_argument("--no-body", action="store_true", help="hair tracks only")
    parser.add_argument("--floor", type=float, nargs="?", const=0.0, metavar="M", help="hair stays above it (0 m)")


def _avatar(name: str) -> Avatar:
    return sample(name) if name in SAMPLES else load(name)


def _clip(args):
    if args.clip in CLIPS:
        return made_clip(args.clip)
    which = int(args.which) if args.which.isdigit() else args.which
    return load_clip(args.clip, which, args.mapping)


def _refused(text: str) -> int:
    err.print(f"taichi-hair: {text}", style="red", markup=False, highlight=False, soft_wrap=True)
    return 2


def _print_json(content: dict) -> None:
    sys.stdout.write(json.dumps(content, indent=1) + "\n")


def run_retarget(args) -> int:
    """0 when the transfer is good, 1 when its report names a fault."""
    from .bake import write_retargeted

    avatar, clip = _avatar(args.avatar), _clip(args)
    motion = retarget(clip, avatar, travel=args.travel, mapping=args.avatar_mapping)
    facts = {**motion.report.to_dict(), "notes": list(motion.notes), "tracks": None}
    if args.output:
        facts["tracks"] = write_retargeted(avatar, motion, args.output, args.fps)
    if args.json:
        _print_json(facts)
    else:
        _say(facts)
    return 0 if motion.report.good else 1


def _say(facts: dict) -> None:
    for name, value in facts.items():
        if isinstance(value, dict):
            value = ", ".join(f"{k} {_short(v)}" for k, v in value.items())
        elif isinstance(value, (list, tuple)):
            value = "; ".join(map(str, value)) or "none"
        out.print(f"{name:16} {_short(value)}", markup=False, highlight=False, soft_wrap=True)


def _short(value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def run_bake(args) -> int:
    """0 when the file is written (or given back)."""
    from ..sim.backend import init
    from .bake import bake
    from .export import undo
    from .files import write_unseen

    if args.undo:
        data = undo(args.avatar)
        target = args.output or args.avatar
        write_unseen(target, data)
        err.print(f"wrote {target}: the file as it was", highlight=False, markup=False)
        return 0
    if not args.clip or not args.output:
        return _refused("bake: wanted an avatar, a clip and -o OUTPUT")
    avatar = _avatar(args.avatar)
    if args.clip in MOTIONS:
        motion = MOTIONS[args.clip](avatar)
    else:
        motion = retarget(_clip(args), avatar, travel=args.travel)
    try:
        blend = {name: float(weight) for name, _, weight in (text.rpartition("=") for text in args.blend)}
    except ValueError:
        return _refused(f"--blend: found {args.blend}, wanted CHAIN=WEIGHT with a number")
    init("cpu")
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(f"baking {motion.name}", total=None)
        try:
            report = bake(
                avatar,
                None,
                motion,
                args.output,
                loop=args.loop,
                fps=args.fps,
                solver=args.solver,
                error_mm=args.error_mm,
                body=not args.no_body,
                blend=blend,
                floor=args.floor,
                progress=lambda seconds: bar.update(task, description=f"baking {motion.name}: {seconds:.1f} s of hair"),
            )
        except AssetError:
            raise
        except ValueError as why:
            return _refused(str(why))
    if args.json:
        _print_json(report.to_dict())
    else:
        _say(report.to_dict())
    return 0


def sorted_files(files: list[str]) -> tuple[list[str], list[str]]:
    """Avatars and clips among files, folders and names of built-in avatars, each in the given order."""
    avatars, clips = [], []
    for name in files:
        path = Path(name)
        if name in SAMPLES or name in CLIPS:
            (clips if name in CLIPS else avatars).append(name)
            continue
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.is_file() and ".done" not in p.parts)
            known = (*AVATAR_FILES, ".vrma", ".bvh")
            found = sorted_files([str(p) for p in inside if p.suffix.lower() in known])
            avatars += found[0]
            clips += found[1]
        elif not path.is_file():
            raise AssetError(
                name, "file", "nothing there", f"a file, a folder, or one of {', '.join((*SAMPLES, *CLIPS))}"
            )
        else:
            try:
                (clips if is_clip_file(path) else avatars).append(name)
            except AssetError:
                avatars.append(name)  # the run reports it as a failed pair
    return avatars, clips


def run_library(args) -> int:
    """0 when every pair is done, 1 when one failed."""
    from .cluster import ClusterError

    avatars, clips = sorted_files(args.files)
    avatars, clips = [*avatars, *args.avatars], [*clips, *args.clips]
    if not avatars or not clips:
        return _refused(f"bake-library: found {len(avatars)} avatars and {len(clips)} clip files, wanted some of each")
    options = Options(args.format, args.fps, args.solver, args.error_mm, args.travel, not args.no_body, args.floor)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("baking", total=None)

        def tell(done: int, total: int, row: dict | None) -> None:
            name = f"{row['pair']}{'' if row['status'] == 'done' else ' failed'}" if row else "baking"
            bar.update(task, completed=done, total=total, description=name)

        try:
            library = bake_library(
                avatars,
                clips,
                args.output,
                options=options,
                workers=args.workers,
                engine=args.engine,
                address=args.address,
                progress=tell,
            )
        except ClusterError as why:
            return _refused(str(why))
    if args.json:
        _print_json(library.to_dict())
    else:
        out.print(table(library), markup=False, highlight=False, soft_wrap=True)
    return 1 if library.count("failed") else 0
