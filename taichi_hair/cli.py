"""The `taichi-hair` command: one subcommand per verb, each thin over the library."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from . import __version__
from .avatar.avatar import Avatar, load
from .avatar.errors import AssetError
from .avatar.samples import SAMPLES, sample
from .bake import commands as bake_commands
from .hair import HairRig
from .measure import bench
from .rig import commands as rig_commands

SOLVER_NAMES = ("rod", "arc", "spring-bone", "mass-spring")
MOTIONS = {"turn": "HeadTurn", "nod": "Nod", "tilt": "Tilt", "sideways": "Sideways", "run": "Run", "stop": "StopTurn"}
STANDING = 70.0  # degrees that the arms hang from a T-pose when hair is shown; measures keep the file's own pose
SUFFIXES = (".vrm", ".glb", ".gltf")

out = Console()
err = Console(stderr=True)


class UsageError(ValueError):
    """The command cannot be carried out as it was given; the message is for the user."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 when it did its work, 1 when what it checked failed, 2 when it could not be carried out."""
    from .sim.backend import BackendError

    parser = _parser()
    args = parser.parse_args(arguments)
    if not hasattr(args, "run"):
        parser.print_help()
        return 2
    try:
        return args.run(args) or 0
    except (AssetError, BackendError, UsageError) as problem:
        _complain(problem)
    except OSError as problem:
        name = f"{problem.filename}: " if problem.filename else ""
        _complain(f"{name}{problem.strerror or problem}")
    except KeyboardInterrupt:
        _complain("stopped")
        return 130
    return 2


def _complain(problem) -> None:
    err.print(f"taichi-hair: {problem}", style="red", markup=False, highlight=False, soft_wrap=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="taichi-hair", description="Hair that swings, follows and comes to rest in the shape the artist made."
    )
    parser.add_argument("--version", action="version", version=f"taichi-hair {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB")
    known = f"VRM, GLB or glTF file, or a built-in avatar: {', '.join(SAMPLES)}"

    demo = verbs.add_parser("demo", help="see hair move: a window, or pictures, a film and the table of measures")
    demo.add_argument("avatar", nargs="?", default="ponytail", help=known)
    demo.add_argument("-o", "--output", default=".", help="folder for demo.png, .webp and .json (default: here)")
    demo.add_argument("--no-window", action="store_true", help="write files even where a display is set")
    demo.set_defaults(run=_demo)

    inspect = verbs.add_parser("inspect", help="what a file holds, what was repaired and what was left out")
    inspect.add_argument("avatar", help=known)
    inspect.add_argument("--json", action="store_true", help="print JSON")
    inspect.set_defaults(run=_inspect)

    simulate = verbs.add_parser("simulate", help="write where the hair went as a .npz trace")
    simulate.add_argument("avatar", help=known)
    simulate.add_argument("-o", "--output", required=True, help="trace.npz: t, positions, bones, head")
    _motion_options(simulate)
    simulate.add_argument("--solver", choices=SOLVER_NAMES, default="rod")
    simulate.add_argument("--fps", type=float, default=60.0, help="frames a second (default 60)")
    simulate.add_argument("--contact", choices=("segment", "end", "off"), help="default: the solver's own")
    _backend_option(simulate)
    simulate.set_defaults(run=_simulate)

    measure = verbs.add_parser("measure", help="stretch, swing, sag, curl, lag ... of every solver side by side")
    measure.add_argument("avatar", help=known)
    _motion_options(measure)
    measure.add_argument("--solver", choices=SOLVER_NAMES, action="append", help="only this one (may be repeated)")
    measure.add_argument("--no-contact", action="store_true", help="let hair pass through colliders")
    measure.add_argument("--json", action="store_true", help="print JSON")
    _backend_option(measure)
    measure.set_defaults(run=_measure)

    view = verbs.add_parser("view", help="open a window on an avatar")
    view.add_argument("avatar", nargs="?", default="ponytail", help=known)
    _motion_options(view, STANDING)
    view.add_argument("--solver", choices=SOLVER_NAMES, default="rod")
    _backend_option(view)
    view.set_defaults(run=_view)

    rig_commands.add_parser(verbs)
    bake_commands.add_parsers(verbs)
    bench.add_parser(verbs)
    return parser


def _motion_options(parser: argparse.ArgumentParser, arms: float = 0.0) -> None:
    parser.add_argument("--motion", choices=MOTIONS, default="turn", help="what the head does (default: turn)")
    parser.add_argument("--clip", help="an animation instead: a GLB, glTF, VRMA or BVH file, or a built-in clip's name")
    parser.add_argument("--seconds", type=float, help="how long (default: the motion's own length)")
    text = f"degrees that the arms are lowered from the file's pose (default {arms:g})"
    parser.add_argument("--arms", type=float, default=arms, help=text)


def _backend_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--backend", default="auto", help="auto, cpu, cuda, vulkan or metal (default: auto)")


# ---- what the verbs share ----


def _avatar(name: str, *, hair: bool = True) -> Avatar:
    if name in SAMPLES:
        avatar = sample(name)
    else:
        path = Path(name)
        if not path.exists():
            raise AssetError(name, "file", "nothing there", f"an avatar file, or one of {', '.join(SAMPLES)}")
        if path.suffix.lower() not in SUFFIXES:
            ending = f"the ending {path.suffix or 'none'!r}"
            raise AssetError(name, "file name", ending, f"one of {', '.join(SUFFIXES)}")
        avatar = load(path)
    if hair and not avatar.hair.chains:
        raise AssetError(
            name, "hair", "no spring chain", "an avatar whose file names hair chains (VRMC_springBone or VRM 0.x)"
        )
    return avatar


def _motion(args, avatar: Avatar):
    from .motion import turn

    seconds = args.seconds
    if seconds is not None and not 0.1 <= seconds <= 3600.0:
        raise UsageError(f"--seconds: found {seconds:g}, wanted 0.1 to 3600")
    if args.clip is not None:
        return _clip_motion(args.clip, avatar, seconds)
    if not -90.0 <= args.arms <= 90.0:
        raise UsageError(f"--arms: found {args.arms:g}, wanted -90 to 90")
    kind = getattr(turn, MOTIONS[args.motion])
    length = {} if seconds is None else {"seconds": seconds}
    return kind(avatar, arms=args.arms, **length)


def _clip_motion(name: str, avatar: Avatar, seconds: float | None):
    from .motion.clip import load_clip
    from .motion.retarget import retarget
    from .motion.steps import CLIPS, made_clip

    if name not in CLIPS and not Path(name).exists():
        raise AssetError(name, "file", "nothing there", f"an animation file, or one of {', '.join(CLIPS)}")
    motion = retarget(made_clip(name) if name in CLIPS else load_clip(name), avatar)
    return motion if seconds is None else replace(motion, seconds=seconds)


def _rig(avatar: Avatar, motion) -> HairRig:
    """The hair to simulate: a clip that animates chains itself keeps them."""
    rig = getattr(motion, "rig", avatar.hair)
    left = len(avatar.hair.chains) - len(rig.chains)
    if left:
        err.print(f"{motion.name} animates {left} of {len(avatar.hair.chains)} chains itself: those are left to it")
    if not rig.chains:
        raise UsageError(f"--clip: {motion.name} animates every hair chain itself, wanted one that leaves some free")
    return rig


def _start(name: str) -> None:
    from .sim.backend import init

    try:
        backend = init(name)
    except ValueError as problem:
        raise UsageError(str(problem)) from None
    err.print(f"running on {backend}", style="dim", highlight=False)


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=err, transient=True)


def _write_whole(path: Path, write) -> None:
    """Let `write(file)` fill a file; it appears under its name only when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as problem:
        raise UsageError(f"{path}: the folder cannot be written ({problem.strerror}), wanted a writable one") from None
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


# ---- the verbs ----


def _inspect(args) -> int:
    avatar = _avatar(args.avatar, hair=False)
    if args.json:
        print_json(avatar.report.to_json())
    else:
        avatar.report.render(out)
    return 0


def print_json(text: str) -> None:
    """JSON on stdout as it is: no colours, no wrapping."""
    sys.stdout.write(text.rstrip("\n") + "\n")


def _simulate(args) -> int:
    target = Path(args.output)
    if target.suffix != ".npz":
        raise UsageError(f"--output: found {args.output!r}, wanted a name that ends in .npz")
    if not 1.0 <= args.fps <= 1000.0:
        raise UsageError(f"--fps: found {args.fps:g}, wanted 1 to 1000")
    if args.contact == "end" and args.solver != "spring-bone":
        raise UsageError(f"--contact end belongs to spring-bone, wanted segment or off for {args.solver}")
    avatar = _avatar(args.avatar)
    motion = _motion(args, avatar)
    _start(args.backend)
    from .motion.turn import carrying_node
    from .sim.crowd import Crowd
    from .sim.settling import settle_into

    crowd = Crowd(solver=args.solver, contact=args.contact)
    rig = _rig(avatar, motion)
    ids = crowd.add(avatar, rig, motion=motion)
    settle_into(crowd, int(ids[0]), motion)
    frames = round(motion.seconds * args.fps)
    t, positions = [0.0], [crowd.positions(ids)[0]]
    with _progress() as bar:
        task = bar.add_task(f"{avatar.name}, {args.solver}", total=frames)
        for frame in range(frames):
            crowd.advance(1.0 / args.fps)
            t.append(crowd.time)
            positions.append(crowd.positions(ids)[0])
            bar.update(task, completed=frame + 1)
    t = np.array(t)
    node = carrying_node(avatar)
    head = motion.worlds(t)[:, node] if node >= 0 else np.tile(np.eye(4), (len(t), 1, 1))
    bones = np.array([avatar.skeleton.names[j] for j in rig.joints])
    _write_whole(
        target, lambda file: np.savez_compressed(file, t=t, positions=np.array(positions), bones=bones, head=head)
    )
    err.print(f"wrote {target}: {len(t)} samples of {len(bones)} end points", highlight=False, markup=False)
    return 0


def _measured(avatar: Avatar, motion, solvers, contact: bool):
    from .measure.run import measure

    with _progress() as bar:
        task = bar.add_task("measuring", total=len(solvers))

        def tell(done: int, total: int, solver: str) -> None:
            bar.update(task, completed=done, total=total, description=f"measuring {solver}".strip())

        rig = _rig(avatar, motion)
        return measure(
            avatar, rig, motion=motion, seconds=motion.seconds, solvers=solvers, contact=contact, progress=tell
        )


def _measure(args) -> int:
    avatar = _avatar(args.avatar)
    motion = _motion(args, avatar)
    if motion.seconds < 1.0:
        raise UsageError(f"--seconds: found {motion.seconds:g}, wanted at least 1 to measure")
    _start(args.backend)
    report = _measured(avatar, motion, tuple(args.solver or ("spring-bone", "arc", "rod")), not args.no_contact)
    if args.json:
        print_json(report.to_json())
    else:
        out.print(report.table())
    return 0


def _view(args) -> int:
    from .view.window import WindowError, require_window

    avatar = _avatar(args.avatar)
    motion = _motion(args, avatar)
    try:
        require_window()
    except WindowError as problem:
        raise UsageError(f"view: {problem}") from None
    _start(args.backend)
    _show(avatar, motion, args.solver)
    return 0


def _show(avatar: Avatar, motion, solver: str) -> None:
    from .view.scene import Scene
    from .view.stepper import CrowdStepper
    from .view.window import Window

    order = (solver, *[name for name in SOLVER_NAMES if name != solver])
    with Window(Scene(avatar), CrowdStepper(avatar, motion, solver), order) as window:
        window.run()


def _demo(args) -> int:
    from .motion.turn import HeadTurn
    from .view.window import WindowError, require_window

    avatar = _avatar(args.avatar)
    motion = HeadTurn(avatar, arms=STANDING)
    _start("cpu")
    if not args.no_window:
        try:
            require_window()
        except WindowError as problem:
            err.print(str(problem), style="dim", highlight=False, markup=False)
        else:
            _show(avatar, motion, "rod")
            return 0
    _demo_files(avatar, motion, Path(args.output))
    return 0


def _demo_files(avatar: Avatar, motion, folder: Path) -> None:
    from .measure.run import record
    from .sim.crowd import Crowd
    from .view.comparison import over_time, side_by_side
    from .view.picture import save_film, save_picture

    folder.mkdir(parents=True, exist_ok=True)
    solvers = ("spring-bone", "arc", "rod")
    report = _measured(avatar, motion, solvers, True)
    poses = {}
    for name in solvers:
        recording = record(avatar, avatar.hair, motion, motion.seconds, Crowd(solver=name))
        poses[name], times = recording.poses, recording.trace.t
    with _progress() as bar:
        task = bar.add_task("drawing", total=None)
        picture = save_picture(
            folder / "demo.png", over_time(avatar, poses, times, title=f"{avatar.name}: the standard head turn")
        )
        until = {name: worlds[times <= 5.5] for name, worlds in poses.items()}
        frames = side_by_side(avatar, until, progress=lambda done, total: bar.update(task, completed=done, total=total))
        film = save_film(folder / "demo.webp", frames, fps=15.0)
    table = folder / "demo.json"
    _write_whole(table, lambda file: file.write(report.to_json().encode()))
    out.print(report.table())
    out.print(f"wrote {picture}, {film} and {table}", highlight=False, markup=False)


if __name__ == "__main__":
    sys.exit(main())
