"""The verb `fit` of the command line: hair meshes to chains, written into a file of their own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from ..avatar.avatar import load
from ..avatar.errors import AssetError
from ..avatar.gltf import write_whole
from ..avatar.samples import SAMPLES, sample
from .fit import fit_hair
from .guides import guides, write_guides
from .lint import lint_weights
from .objfile import UNITS, load_body, load_hair
from .write import rig_bytes


def add_parser(subparsers):
    """The parser of `taichi-hair fit`, added to argparse's subparsers."""
    parser = subparsers.add_parser("fit", help="give a hair mesh joints and weights from its geometry")
    parser.add_argument(
        "avatar", help=f"VRM, GLB or glTF file, an OBJ of hair alone, or a built-in avatar: {', '.join(SAMPLES)}"
    )
    parser.add_argument(
        "--mesh", action="append", help="mesh, material, or MESH:PRIMITIVE (may be repeated; default: the only mesh)"
    )
    parser.add_argument("--joints", type=int, default=6, help="joints of a strand, or the most of a lock (default 6)")
    parser.add_argument(
        "--chains", default="1", help="1: one strand (default); auto: a whole hairstyle; or how many chains at most"
    )
    parser.add_argument("--root", help="where the strand begins: x,y,z in metres, or a node's or a mesh's name")
    parser.add_argument("--body", help="file with the head or figure under hair that comes alone (OBJ, glTF, VRM)")
    parser.add_argument("--unit", default="m", help=f"unit of OBJ files: {', '.join(UNITS)} or metres (default m)")
    parser.add_argument("--no-refine", action="store_true", help="leave the weights as they are first made")
    parser.add_argument("-o", "--output", help="VRM or GLB file to write")
    parser.add_argument("--guides", help="OBJ file of the guide curves to write")
    parser.add_argument("--lint", action="store_true", help="only judge the weights of the chains that the file has")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def run(args) -> int:
    """Carry out the verb: 0 when chains were found and written, 1 when all hair was refused or lint found errors."""
    out = Console()
    body = load_body(args.body, args.unit) if args.body else None
    if args.avatar in SAMPLES:
        avatar = sample(args.avatar)
    elif Path(args.avatar).suffix.lower() == ".obj":
        avatar, body = load_hair(args.avatar, args.body, args.unit), None
    else:
        avatar = load(args.avatar)
    if args.lint:
        return _lint(out, avatar, args.json)
    if args.chains != "auto" and not args.chains.isdigit():
        raise AssetError("--chains", "value", repr(args.chains), "auto or a whole number")
    chains = "auto" if args.chains == "auto" else int(args.chains)
    mesh = args.mesh or _only_mesh(avatar)
    rig = fit_hair(
        avatar, mesh, args.joints, chains=chains, root=_root(args.root), body=body, refine=not args.no_refine
    )
    written = []
    if args.guides:
        written.append(str(write_guides(guides(rig), args.guides)))
    if args.output and rig.fitted:
        if Path(args.output).suffix.lower() not in (".vrm", ".glb"):
            raise AssetError(args.output, "file name", "another ending", ".vrm or .glb")
        write_whole(args.output, rig_bytes(rig))
        written.append(args.output)
    if args.json:
        out.file.write(json.dumps({**rig.report(), "written": written}) + "\n")
    else:
        _show(out, rig, written)
    return 0 if rig.fitted else 1


def _only_mesh(avatar):
    hair = [i for i, p in enumerate(avatar.parts) if p.name != "body"]
    if len({avatar.parts[i].name for i in hair}) != 1:
        names = ", ".join(dict.fromkeys(p.name for p in avatar.parts))
        raise AssetError(avatar.file, "--mesh", "no mesh chosen", f"one of {names}")
    return hair


def _root(text: str | None):
    if text is None:
        return None
    try:
        values = [float(v) for v in text.split(",")]
    except ValueError:
        return text
    return np.array(values) if len(values) == 3 else text


def _show(out: Console, rig, written: list[str]) -> None:
    table = Table(title=f"{rig.base.name}: {len(rig.fitted)} chains in {rig.seconds:.1f} s")
    for column in ("chain", "joints", "length m", "width m", "sure", "remarks"):
        table.add_column(column)
    for lock in rig.locks:
        count = str(len(rig.chains[lock.chain]))
        remarks = "; ".join(lock.reasons)
        table.add_row(lock.name, count, f"{lock.length:.3f}", f"{lock.width:.3f}", f"{lock.confidence:.2f}", remarks)
    out.print(table)
    if rig.refinement is not None:
        before, after = rig.refinement.before, rig.refinement.after
        out.print(
            f"stretch over sample poses, 99th percentile {before.p99:.1f} to {after.p99:.1f} %, "
            f"worst edge {before.worst:.1f} to {after.worst:.1f} %"
        )
    for refusal in rig.refused:
        out.print(f"no chain for {refusal.what}: {refusal.reason}", markup=False, highlight=False)
    for name in written:
        out.print(f"wrote {name}", markup=False, highlight=False)


def _lint(out: Console, avatar, as_json: bool) -> int:
    found = lint_weights(avatar)
    if as_json:
        out.file.write(json.dumps([vars(f) for f in found]) + "\n")
    else:
        for f in found:
            out.print(f"{f.level}: {f.chain}: {f.rule}: {f.text}", markup=False, highlight=False)
        out.print(f"{len(found)} findings in {len(avatar.hair.chains)} chains")
    return 1 if any(f.level == "error" for f in found) else 0
