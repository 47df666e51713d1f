"""The bench as a picture and as Markdown: cost over sizes, solvers, levels and colliders, with its limits beside it."""

from __future__ import annotations

import os
from pathlib import Path

PEER, REFERENCE = "three-vrm", "C reference, 8 lanes"


def _rows(result: dict, **wanted) -> list[dict]:
    full = {"level": "full", "joints": 6, "backend": "cpu"} | wanted
    return [r for r in result["rows"] if all(r.get(key, full[key]) == value for key, value in full.items())]


def sizes(result: dict) -> dict[str, list[dict]]:
    """Rows over the number of avatars with 8 capsules, by solver."""
    out: dict[str, dict[int, dict]] = {}
    backend = next(r["backend"] for r in result["rows"] if "backend" in r)
    for r in _rows(result, capsules=8, backend=backend):
        out.setdefault(r["solver"], {}).setdefault(r["avatars"], r)
    return {solver: [by[n] for n in sorted(by)] for solver, by in out.items()}


def require_plot(path) -> None:
    """ValueError with what is missing where a plot could not be written there."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ValueError("bench --plot: matplotlib is not installed, wanted `pip install taichi-hair[bench]`") from None
    path, endings = Path(path), Figure().canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in endings:
        raise ValueError(f"bench --plot: found {str(path)!r}, wanted a name that ends in .png, .webp or .svg")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"bench --plot: found no folder {str(path.parent)!r} to write to, wanted one")


def plot(result: dict, path) -> None:
    """Draw it; the file's ending says how (png, webp, svg)."""
    require_plot(path)
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(13.0, 4.2), width_ratios=(2.0, 1.2, 1.2))
    for solver, rows in sizes(result).items():
        x, y = [r["avatars"] for r in rows], [r["cpu_ns_per_joint_tick"] for r in rows]
        peer, c = solver.startswith(PEER), solver.startswith("C reference")
        if c:
            left.axhline(y[-1], linestyle=":" if "8" in solver else "--", color="grey", linewidth=1.2, label=solver)
        else:
            left.plot(x, y, "s--" if peer else "o-", label=f"{solver}, per update" if peer else solver)
    left.set(xscale="log", yscale="log", xlabel="avatars (12 chains of 6 joints, 8 capsules)")
    left.set(ylabel="processor ns per joint and tick")
    left.grid(alpha=0.3, which="both")
    left.legend(fontsize=8)
    capsules: dict[int, dict] = {}
    for r in _rows(result, solver="arc", avatars=300):
        capsules.setdefault(r["capsules"], r)
    if capsules:
        middle.plot(sorted(capsules), [capsules[n]["cpu_ns_per_joint_tick"] for n in sorted(capsules)], "o-")
    middle.set(xlabel="capsules (arc, 300 avatars)", ylim=(0.0, None))
    middle.grid(alpha=0.3)
    levels = [r for r in result["rows"] if r.get("solver") == "rod" and r["avatars"] == 1000 and "level" in r]
    names = list(dict.fromkeys(r["level"] for r in levels))
    for at, joints in ((-0.2, 6), (0.2, 12)):
        own = {r["level"]: r["cpu_ns_per_joint_tick"] for r in levels if r["joints"] == joints}
        if own:
            places = [k + at for k, name in enumerate(names) if name in own]
            right.bar(places, [own[name] for name in names if name in own], 0.4, label=f"{joints} joints")
    right.set_xticks(range(len(names)), names)
    right.set(yscale="log", xlabel="level of detail (rod, 1,000 avatars)")
    right.legend(fontsize=8)
    figure.suptitle(f"{result['machine']}; {result['backend']}", fontsize=9)
    figure.tight_layout()
    path = Path(path)
    if path.suffix == ".webp":
        import io

        from PIL import Image

        held = io.BytesIO()
        figure.savefig(held, format="png", dpi=90)
        Image.open(held).convert("RGB").save(path, quality=85, method=6)
    else:
        figure.savefig(path, dpi=90)
    pyplot.close(figure)


def markdown(result: dict) -> str:
    """The same as a table for a README, with the machine."""
    by = sizes(result)
    counts = sorted({r["avatars"] for rows in by.values() for r in rows})
    lines = [
        f"Processor time in ns per joint and tick ({result['machine']}; {result['backend']}; 12 chains of 6 joints, 8 "
        "capsules, heads that turn):",
        "",
        "| avatars | " + " | ".join(f"{n:,}" for n in counts) + " |",
        "|---|" + "---|" * len(counts),
    ]
    for solver, rows in by.items():
        own = {r["avatars"]: r for r in rows}
        name = f"{solver}, per update" if solver.startswith(PEER) else solver
        cells = [f"{own[n]['cpu_ns_per_joint_tick']:.0f}" if n in own else "" for n in counts]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    levels = [r for r in result["rows"] if r.get("solver") == "rod" and r["avatars"] == 1000 and "level" in r]
    for joints in (6, 12):
        own = {r["level"]: r["cpu_ns_per_joint_tick"] for r in levels if r["joints"] == joints}
        if own:
            told = ", ".join(f"{name} {value:.1f}" for name, value in own.items())
            lines += ["", f"Levels of detail, rod, 1,000 avatars, {joints} joints: {told}."]
    capsules: dict[int, dict] = {}
    for r in _rows(result, solver="arc", avatars=300):
        capsules.setdefault(r["capsules"], r)
    told = ", ".join(f"{n}: {capsules[n]['cpu_ns_per_joint_tick']:.0f}" for n in sorted(capsules))
    others = [r for r in result["rows"] if r.get("backend") not in (None, result["rows"][0].get("backend"))]
    one, lut = result["one_of_1000"], result["lut"]
    ratios = [r for r in result["rows"] if r.get("peer_ratio")]
    lines += ["", f"Capsules, arc, 300 avatars: {told}."]
    for r in others:
        lines.append(f"On {r['backend']}: arc, 1,000 avatars, {r['ns_per_joint_tick']:.0f} ns by the clock.")
    for r in ratios:
        if r["avatars"] == 100:
            lines.append(f"{r['solver']} has {r['peer_ratio']} times the peer's throughput at 100 avatars.")
    lines += [
        f"One avatar of 1,000 is added in {one['add_ms']:.2f} ms and removed in {one['remove_ms']:.2f} ms, and takes "
        f"{result['bytes_per_avatar']} bytes. A pose by table takes {lut['one_us']:.0f} us alone "
        f"({lut['one_with_lag_us']:.0f} with its lag), in a batch {lut['frame_cpu_ns_per_chain']:.0f} ns a chain and "
        f"{lut['joints_cpu_ns_per_chain']:.0f} for all its joints where they are read. First frame after "
        f"{' and '.join(f'{s:.1f}' for s in result['start_seconds'])} s.",
    ]
    return "\n".join(lines) + "\n"
