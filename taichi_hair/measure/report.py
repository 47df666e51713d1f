"""What a measurement found: one record per solver, as JSON for programs and as a table for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from rich import box
from rich.table import Table

TITLES = {"spring-bone": "earlier motion (spring-bone)", "arc": "published improvement (arc)", "rod": "rod"}


# Field of SolverReport: its label, unit and digits after the point (-1: two significant digits and an exponent).
ROWS = {
    "swing_mm": ("swing, RMS", "mm", 1),
    "stretch_p99": ("stretch, 99th percentile", "%", 1),
    "stretch_worst": ("stretch, worst edge", "%", 1),
    "stretch_per_100mm": ("stretch per 100 mm of swing", "%", 1),
    "settle_mm": ("settling, last 2 s", "mm", 5),
    "sag_mm": ("sag at rest, RMS", "mm", 4),
    "curl_deg": ("curl in motion", "deg", 1),
    "curl_rest_deg": ("curl at rest", "deg", 3),
    "lag_deg": ("lag at 1 Hz, root to tip", "deg", 0),
    "overshoot_pct": ("overshoot after a stop", "%", 0),
    "swings": ("swings after a stop", "", 0),
    "contact_depth_mm": ("depth in colliders", "mm", 2),
    "contact_count": ("segments deeper than 1 mm", "", 0),
    "contact_near": ("segments within 20 mm", "", 0),
    "occlusion_count": ("vertices behind clothing", "", 0),
    "occlusion_depth_mm": ("depth behind clothing", "mm", 2),
    "occlusion_near": ("vertices near clothing", "", 0),
    "length_error": ("length error, relative", "", -1),
    "update_ms_p50": ("one update, median", "ms", 3),
    "update_ms_p95": ("one update, 95th percentile", "ms", 3),
}


@dataclass(frozen=True)
class SolverReport:
    """The figures of one solver in one run; None is what was not measured. Each is defined where it is computed."""

    swing_mm: float | None = None
    stretch_p99: float | None = None
    stretch_worst: float | None = None
    stretch_per_100mm: float | None = None
    settle_mm: float | None = None
    sag_mm: float | None = None
    curl_deg: float | None = None
    curl_rest_deg: float | None = None
    lag_deg: list[float] | None = None
    overshoot_pct: float | None = None
    swings: int | None = None
    contact_depth_mm: float | None = None
    contact_count: int | None = None
    contact_near: int | None = None
    occlusion_count: int | None = None
    occlusion_depth_mm: float | None = None
    occlusion_near: int | None = None
    length_error: float | None = None
    update_ms_p50: float | None = None
    update_ms_p95: float | None = None


@dataclass(frozen=True)
class Report:
    """All solvers' figures from one measurement of one avatar."""

    avatar: str
    motion: str
    seconds: float
    backend: str
    version: str
    solvers: Mapping[str, SolverReport]
    notes: tuple[str, ...] = ()  # what a reader must know: what was left out, and where the worst edge is

    def to_dict(self) -> dict:
        """Plain values under the names that scripts rely on; None stays None."""
        head = {name: getattr(self, name) for name in ("avatar", "motion", "seconds", "backend", "version")}
        return {**head, "solvers": {name: asdict(found) for name, found in self.solvers.items()}}

    def to_json(self, indent: int | None = 2) -> str:
        """The same as JSON; a figure that is not a number is refused rather than written."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def table(self) -> Table:
        """Measures down, solvers across, a dash where nothing was measured; rows that no solver has are left out."""
        title = f"{self.avatar}, {self.motion}, {self.seconds:g} s, {self.backend}"
        table = Table(title=title, caption="\n".join(self.notes) or None, box=box.SIMPLE)
        table.add_column("measure", no_wrap=True)
        table.add_column("unit")
        for name in self.solvers:
            title = TITLES.get(name, name).replace(" (", "\n(")
            table.add_column(title, justify="right", min_width=max(map(len, title.split())))
        for name, (label, unit, digits) in ROWS.items():
            values = [getattr(found, name) for found in self.solvers.values()]
            if any(value is not None for value in values):
                table.add_row(label, unit, *[show(value, digits) for value in values])
        return table


def show(value, digits: int) -> str:
    """A figure as a person reads it; -1 digits asks for two significant ones with an exponent."""
    if value is None:
        return "-"
    if isinstance(value, (list, tuple)):
        return " ".join(show(part, digits) for part in value)
    if isinstance(value, int):
        return str(value)
    return f"{value:.1e}" if digits < 0 else f"{value:.{digits}f}"


def per_100mm(stretch_percent: float | None, swing_mm: float | None) -> float | None:
    """Stretch for 100 mm of swing; None where the hair did not swing by a tenth of a millimetre."""
    if stretch_percent is None or swing_mm is None or swing_mm < 0.1:
        return None
    return 100.0 * stretch_percent / swing_mm
