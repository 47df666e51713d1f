"""The reader's report on a rich console."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .report import Report


def plain(text) -> Text:
    """Text as it is: no markup, and no control characters, which could steer a terminal."""
    return Text("".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text)), overflow="fold")


def table(title: str, columns: list[tuple[str, str]], rows: list[list]) -> Table:
    """A table of plain texts; columns are (heading, justification)."""
    result = Table(
        title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for heading, justify in columns:
        # Numbers stay whole on a narrow terminal, names fold.
        result.add_column(heading, justify=justify, header_style="dim", no_wrap=justify == "right")
    for row in rows:
        result.add_row(*(plain("-" if cell is None or cell == "" else cell) for cell in row))
    return result


def span(values: list, scale: float = 1.0, digits: int = 3) -> str:
    """One number where all are equal, else the first and the last, or the ends of the range where these agree."""
    texts = [f"{v * scale:.{digits}f}" for v in values]
    texts = [t.rstrip("0").rstrip(".") if "." in t else t for t in texts]
    if len(set(texts)) == 1:
        return texts[0]
    low, high = (texts[0], texts[-1]) if texts[0] != texts[-1] else (min(texts, key=float), max(texts, key=float))
    return f"{low} .. {high}"


def render(report: Report, console: Console) -> None:
    """Write the report, what matters first."""
    head = Text(style="bold")
    head.append_text(plain(report.name))
    head.append(f"  {report.format}", style="not bold cyan")
    console.print(head)
    console.print(plain(report.file), style="dim")
    console.print(_summary(report))
    wide = console.width >= 110
    for piece in (_chains(report, wide), _proposals(report), _colliders(report), _constraints(report), _clips(report)):
        if piece is not None:
            console.print()
            console.print(piece)
    console.print()
    console.print(_meshes(report))
    _sentences(console, "Repaired or left out", report.warnings, "yellow")
    _sentences(console, "Notes", report.notes, "dim")


def _summary(report: Report) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim")
    grid.add_column()

    def row(key: str, value) -> None:
        grid.add_row(key, plain(value))

    size = report.size
    if size["height"] is not None:
        low, high = size["min"], size["max"]
        across = f"x {low[0]:.2f} .. {high[0]:.2f}, z {low[2]:.2f} .. {high[2]:.2f}"
        row("size", f"{size['height']:.3f} m high, {across} ({size['of']})")
    human = len(report.bones["human"])
    missing = report.bones["missing"]
    row(
        "bones",
        f"{report.bones['nodes']} nodes, {human} human bones" + (f", missing {', '.join(missing)}" if missing else ""),
    )
    vertices = sum(m["vertices"] for m in report.meshes)
    triangles = sum(m["triangles"] for m in report.meshes)
    row(
        "meshes", f"{len(report.meshes)} parts, {vertices} vertices, {triangles} triangles, {len(report.images)} images"
    )
    joints = sum(len(c["joints"]) for c in report.chains)
    row("hair", f"{len(report.chains)} chains, {joints} moving joints, {len(report.colliders)} colliders")
    if report.licence:
        row("licence", ", ".join(f"{k} {v}" for k, v in report.licence.items()))
    if report.extensions["kept"]:
        row("kept unread", ", ".join(report.extensions["kept"]))
    return grid


def _chains(report: Report, wide: bool) -> Table | None:
    """One row a chain; a narrow terminal gets it without the ends, the settings of collision and the center."""
    rows = []
    for c in report.chains:
        row = {
            "chain/left": c["name"],
            "from/left": f"{c['joints'][0]} > {c['end'] or 'open end'}" if c["joints"] else None,
            "joints/right": len(c["joints"]),
            "mm/right": f"{c['length'] * 1000:.1f}",
            "radius/right": span(c["hit_radius"], 1000.0, 1),
            "stiffness/right": span(c["stiffness"]),
            "drag/right": span(c["drag"]),
            "gravity/right": span(c["gravity_power"]),
            "colliders/left": ", ".join(str(i) for i in c["colliders"]) or None,
            "center/left": c["center"],
            "on/left": c["carried_by"] or c["attach"],
        }
        rows.append({k: v for k, v in row.items() if wide or k not in ("from/left", "colliders/left", "center/left")})
    if not rows:
        return None
    return table("Chains", [tuple(k.split("/")) for k in rows[0]], [list(row.values()) for row in rows])


def _proposals(report: Report) -> Table | None:
    rows = [[p["name"], " > ".join(p["nodes"]), f"{p['length'] * 1000:.1f}", p["reason"]] for p in report.proposals]
    columns = [("proposed", "left"), ("nodes", "left"), ("mm", "right"), ("why", "left")]
    title = "Looks like hair, and no chain of the file moves it (nothing is taken from here unless asked for)"
    return table(title, columns, rows) if rows else None


def _colliders(report: Report) -> Table | None:
    rows = [
        [i, c["shape"], c["node"], f"{c['radius'] * 1000:.1f}", f"{c['length'] * 1000:.1f}", c["chains"]]
        for i, c in enumerate(report.colliders)
    ]
    columns = [("#", "right"), ("collider", "left"), ("on", "left"), ("radius mm", "right"), ("axis mm", "right")]
    return table("Colliders", [*columns, ("chains", "right")], rows) if rows else None


def _constraints(report: Report) -> Table | None:
    rows = [[c["node"], c["kind"], c["source"], f"{c['weight']:g}"] for c in report.constraints]
    columns = [("constrained", "left"), ("kind", "left"), ("source", "left"), ("weight", "right")]
    return table("Constraints", columns, rows) if rows else None


def _clips(report: Report) -> Table | None:
    rows = [[c["name"], f"{c['seconds']:.2f}", c["channels"], c["nodes"]] for c in report.clips]
    columns = [("clip", "left"), ("seconds", "right"), ("channels", "right"), ("nodes", "right")]
    return table("Clips", columns, rows) if rows else None


def _meshes(report: Report):
    if not report.meshes:
        return Text("no mesh: nothing to draw or to measure stretch on", style="dim")
    rows = [
        [m["mesh"], m["material"], m["vertices"], m["triangles"], m["joints"], m["influences"]] for m in report.meshes
    ]
    columns = [
        ("mesh", "left"),
        ("material", "left"),
        ("vertices", "right"),
        ("triangles", "right"),
        ("joints", "right"),
    ]
    return table("Meshes", [*columns, ("influences", "right")], rows)


def _sentences(console: Console, title: str, sentences: list[str], style: str) -> None:
    if not sentences:
        return
    console.print()
    console.print(Text(f"{title} ({len(sentences)})", style=f"bold {style}"))
    for sentence in sentences:
        console.print(Text("- ").append_text(plain(sentence)))
