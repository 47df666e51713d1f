"""The command: what cannot be done is one sentence on stderr and exit code 2; what can be leaves whole files."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from taichi_hair import cli
from taichi_hair.avatar.samples import write_sample


@pytest.fixture
def hairless(tmp_path):
    """A valid GLB without hair: one node."""
    document = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"name": "root"}]}
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    head = b"glTF" + (2).to_bytes(4, "little") + (20 + len(text)).to_bytes(4, "little")
    path = tmp_path / "bald.glb"
    path.write_bytes(head + len(text).to_bytes(4, "little") + b"JSON" + text)
    return path


def refused(capsys, *arguments: str) -> str:
    """Run a command that must be refused; its one sentence."""
    try:
        code = cli.main(list(arguments))
    except SystemExit as stop:  # argparse
        code = stop.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err


@pytest.mark.parametrize("verb", ["demo", "inspect", "simulate", "measure", "view"])
def test_a_missing_file_is_named(capsys, verb):
    extra = ["-o", "x.npz"] if verb == "simulate" else []
    message = refused(capsys, verb, "no/such/avatar.vrm", *extra)
    assert "no/such/avatar.vrm" in message
    assert "nothing there" in message


def test_a_file_that_is_no_avatar_says_what_it_is(capsys, tmp_path):
    path = tmp_path / "page.vrm"
    path.write_text("<html>not found</html>")
    message = refused(capsys, "measure", str(path))
    assert "page.vrm" in message
    assert "wanted" in message


def test_a_wrong_ending_is_named(capsys, tmp_path):
    path = tmp_path / "avatar.fbx"
    path.write_bytes(b"Kaydara")
    message = refused(capsys, "demo", str(path))
    assert "'.fbx'" in message
    assert ".vrm" in message


def test_a_folder_is_no_avatar(capsys, tmp_path):
    folder = tmp_path / "folder.vrm"
    folder.mkdir()
    assert "folder.vrm" in refused(capsys, "inspect", str(folder))


@pytest.mark.parametrize("verb", ["demo", "measure"])
def test_a_file_without_hair_says_so(capsys, hairless, verb):
    message = refused(capsys, verb, str(hairless))
    assert "bald.glb: hair: found no spring chain" in " ".join(message.split())


def test_an_unknown_backend_is_named(capsys):
    message = refused(capsys, "measure", "ponytail", "--backend", "opengl")
    assert "'opengl' is unknown" in message
    assert "vulkan" in message
    assert "'opengl' is unknown" in refused(capsys, "bench", "--quick", "--backend", "opengl")


def test_a_plot_that_cannot_be_written_is_refused_before_anything_is_measured(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    assert "ends in .png" in refused(capsys, "bench", "--backend", "cpu", "--plot", str(tmp_path / "bench.doc"))
    assert "no folder" in refused(capsys, "bench", "--backend", "cpu", "--plot", str(tmp_path / "none" / "bench.png"))


def test_a_folder_that_cannot_be_written_is_named_with_the_file_that_was_asked_for(capsys, tmp_path, monkeypatch):
    def denied(**_):
        raise PermissionError(13, "Permission denied", "/made/up/name")

    monkeypatch.setattr(cli.tempfile, "mkstemp", denied)
    target = tmp_path / "trace.npz"
    message = refused(capsys, "simulate", "ponytail", "--seconds", "0.1", "--backend", "cpu", "-o", str(target))
    assert str(target) in message and "Permission denied" in message and "made/up" not in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "ponytail", "-o", "trace.csv"], "ends in .npz"),
        (["simulate", "ponytail", "-o", "trace.npz", "--fps", "0"], "--fps"),
        (["simulate", "ponytail", "-o", "trace.npz", "--seconds", "nan"], "--seconds"),
        (["simulate", "ponytail", "-o", "trace.npz", "--contact", "end"], "belongs to spring-bone"),
        (["measure", "ponytail", "--seconds", "0.5"], "at least 1"),
        (["measure", "ponytail", "--solver", "magic"], "magic"),
        ([], "usage"),
    ],
)
def test_options_that_make_no_sense(capsys, arguments, message):
    try:
        code = cli.main(arguments)
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err + captured.out


def test_the_command_itself_shows_no_traceback(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "taichi_hair.cli", "inspect", str(tmp_path / "x.vrm")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


def test_simulate_writes_the_trace_that_the_documentation_names(capsys, tmp_path):
    avatar = tmp_path / "ponytail.vrm"
    write_sample("ponytail", avatar)
    target = tmp_path / "deep" / "trace.npz"
    assert cli.main(["simulate", str(avatar), "--seconds", "1", "--fps", "30", "-o", str(target)]) == 0
    trace = np.load(target)
    assert trace["t"].shape == (31,)
    assert trace["t"][-1] == pytest.approx(1.0)
    joints = len(trace["bones"])
    assert trace["positions"].shape == (31, joints, 3)
    assert trace["head"].shape == (31, 4, 4)
    assert np.abs(np.diff(trace["positions"], axis=0)).max() > 0.001
    assert [p.name for p in target.parent.iterdir()] == ["trace.npz"]
    assert capsys.readouterr().out == ""


def test_inspect_prints_json_and_nothing_else(capsys):
    assert cli.main(["inspect", "ponytail", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_measure_prints_the_contract(capsys):
    arguments = ["measure", "ponytail", "--seconds", "2", "--solver", "rod", "--json", "--backend", "cpu"]
    assert cli.main(arguments) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"avatar", "motion", "seconds", "backend", "version", "solvers"}
    found = report["solvers"]["rod"]
    assert found["swing_mm"] > 10.0
    assert found["length_error"] < 1e-6
    assert len(found["lag_deg"]) == 3
