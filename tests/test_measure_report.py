"""The report: the JSON contract, null for what was not measured, and a table that a person can read."""

from __future__ import annotations

import json
import re
from dataclasses import fields

import pytest
from rich.console import Console

from taichi_hair.measure.report import ROWS, Report, SolverReport, per_100mm, show

CONTRACT = """swing_mm stretch_p99 stretch_worst stretch_per_100mm settle_mm sag_mm curl_deg curl_rest_deg lag_deg
overshoot_pct swings contact_depth_mm contact_count contact_near occlusion_count occlusion_depth_mm occlusion_near
length_error update_ms_p50 update_ms_p95""".split()


def report(**rod) -> Report:
    return Report(
        avatar="someone",
        motion="turn",
        seconds=12.0,
        backend="cpu",
        version="0.1.0",
        solvers={"spring-bone": SolverReport(swing_mm=95.0), "rod": SolverReport(**rod)},
        notes=("worst edge: mesh hair",),
    )


def drawn(found: Report, width: int = 160) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(found.table())
    return capture.get()


def test_json_has_the_agreed_names_in_their_order():
    read = json.loads(report().to_json())
    assert list(read) == ["avatar", "motion", "seconds", "backend", "version", "solvers"]
    assert list(read["solvers"]) == ["spring-bone", "rod"]
    assert list(read["solvers"]["rod"]) == CONTRACT
    assert list(ROWS) == CONTRACT == [f.name for f in fields(SolverReport)], "every figure has a row in the table"


def test_what_was_not_measured_is_null_and_what_is_zero_stays_zero():
    read = json.loads(report(settle_mm=0.0, swings=0, lag_deg=[1.0, 2.0, 3.0]).to_json())["solvers"]["rod"]
    assert read["settle_mm"] == 0.0
    assert read["swings"] == 0
    assert read["lag_deg"] == [1.0, 2.0, 3.0]
    assert read["swing_mm"] is None
    assert sum(value is None for value in read.values()) == len(CONTRACT) - 3


def test_a_figure_that_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match="JSON compliant"):
        report(swing_mm=float("nan")).to_json()


def test_the_table_sets_solvers_side_by_side():
    text = drawn(report(swing_mm=103.44, lag_deg=[6.1, 43.5, 52.8], length_error=1.23e-7))
    rows = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    lines = {row[0]: row[1:] for row in rows}
    head = text[: text.index("swing, RMS")]
    assert all(word in head for word in ("earlier motion", "(spring-bone)", "rod"))
    assert lines["swing, RMS"] == ["mm", "95.0", "103.4"]
    assert lines["lag at 1 Hz, root to tip"] == ["deg", "-", "6 44 53"], "the solver that was not measured has a dash"
    assert lines["length error, relative"] == ["-", "1.2e-07"]
    assert "occlusion" not in text
    assert "behind clothing" not in text, "a row that nothing fills is left out"
    assert "worst edge: mesh hair" in text


def test_published_names_stand_in_the_head():
    solvers = {name: SolverReport(swing_mm=1.0, lag_deg=[17.0, 122.0, 202.0]) for name in ("spring-bone", "arc", "rod")}
    text = drawn(Report("a", "turn", 1.0, "cpu", "0", solvers), width=80)
    for word in ("earlier", "motion", "(spring-bone)", "published", "improvement", "(arc)", "rod", "17 122 202"):
        assert word in text, "nothing is cut off in a terminal of 80 columns"
    assert "…" not in text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(None, 1, "-"), (1.26, 1, "1.3"), (0.0, 3, "0.000"), (3, 1, "3"), ([1.4, 2.6], 0, "1 3"), (2e-7, -1, "2.0e-07")],
)
def test_figures_as_people_read_them(value, digits, text):
    assert show(value, digits) == text


def test_stretch_per_100_mm_of_swing():
    assert per_100mm(4.9, 104.0) == pytest.approx(4.7115, abs=1e-4)
    assert per_100mm(4.9, 0.0) is None, "hair that does not swing has no such figure"
    assert per_100mm(None, 104.0) is None
