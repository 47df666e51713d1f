"""dev.py: which Python it takes, when it makes .venv anew, when it installs, and what it says when it cannot."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
posix = pytest.mark.skipif(os.name == "nt", reason="stand-in interpreters are shell scripts")


@pytest.fixture()
def dev():
    spec = importlib.util.spec_from_file_location("dev_under_test", ROOT / "dev.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stand_in(folder: Path, name: str, version: str, has_ensurepip: bool = True) -> Path:
    """A command that answers dev.py's questions as a Python of that version would."""
    path = folder / name
    imports = "exit 0" if has_ensurepip else "exit 1"
    answers = f"*version_info*) echo {version.replace('.', ' ')};; *ensurepip*) {imports};;"
    path.write_text(f'#!/bin/sh\ncase "$2" in {answers} esac\n')
    path.chmod(0o755)
    return path


def use_only(monkeypatch, folder: Path, running: Path) -> None:
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(sys, "_base_executable", str(running), raising=False)


def test_range_of_pythons_is_the_package_s_own(dev):
    declared = re.search(r'requires-python = ">=(\d+)\.(\d+),<(\d+)\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    low, high = declared.groups()[:2], declared.groups()[2:]
    assert dev.OLDEST == (int(low[0]), int(low[1]))
    assert (dev.NEWEST[0], dev.NEWEST[1] + 1) == (int(high[0]), int(high[1]))


def test_supported(dev):
    versions = [(3, 9), (3, 10), (3, 13), (3, 14), None]
    assert [dev.supported(version) for version in versions] == [False, True, True, False, False]


def test_starts_under_an_old_python_and_needs_the_standard_library_only():
    tree = ast.parse((ROOT / "dev.py").read_text(), feature_version=(3, 8))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= set(sys.stdlib_module_names)


@posix
def test_takes_a_suitable_python_from_the_path_when_the_running_one_is_too_new(dev, tmp_path, monkeypatch):
    running = stand_in(tmp_path, "python3.14", "3.14")
    stand_in(tmp_path, "python3.11", "3.11")
    stand_in(tmp_path, "python3.12", "3.12")
    use_only(monkeypatch, tmp_path, running)
    assert dev.choose_interpreter() == [str(tmp_path / "python3.12")]


@posix
def test_passes_over_a_command_that_does_not_start(dev, tmp_path, monkeypatch):
    running = stand_in(tmp_path, "python3.14", "3.14")
    broken = tmp_path / "python3.13"
    broken.write_text("#!/bin/sh\necho no such version >&2\nexit 127\n")
    broken.chmod(0o755)
    stand_in(tmp_path, "python3.10", "3.10")
    use_only(monkeypatch, tmp_path, running)
    assert dev.choose_interpreter() == [str(tmp_path / "python3.10")]


@posix
def test_says_which_pythons_would_do_when_there_is_none(dev, tmp_path, monkeypatch, capsys):
    use_only(monkeypatch, tmp_path, stand_in(tmp_path, "python3", "3.14"))
    monkeypatch.setattr(dev.Environment.__init__, "__defaults__", (tmp_path,))
    assert dev.main(["demo"]) == 2
    said = capsys.readouterr().err
    assert "3.10 to 3.13" in said
    assert "3.14" in said
    assert "no wheel" in said


@posix
def test_says_what_debian_lacks_when_ensurepip_is_missing(dev, tmp_path, monkeypatch):
    use_only(monkeypatch, tmp_path, stand_in(tmp_path, "python3", "3.11", has_ensurepip=False))
    with pytest.raises(dev.SetupError, match=r"apt install python3-venv \(or python3\.11-venv\)"):
        dev.choose_interpreter()


@posix
def test_prefers_another_python_over_one_without_ensurepip(dev, tmp_path, monkeypatch):
    running = stand_in(tmp_path, "python3", "3.11", has_ensurepip=False)
    stand_in(tmp_path, "python3.12", "3.12")
    use_only(monkeypatch, tmp_path, running)
    assert dev.choose_interpreter() == [str(tmp_path / "python3.12")]


class Recorder:
    """Counts installs in place of pip, and writes the stamp as a finished install does."""

    def __init__(self, environment):
        self.environment = environment
        self.installed = []

    def __call__(self, extras):
        self.installed.append(extras)
        self.environment.stamp.write_text(json.dumps(self.environment.wanted(extras)))


@pytest.fixture()
def environment(dev, tmp_path, monkeypatch):
    """A real, empty environment in a folder of its own, with pip's part recorded."""
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'one'\n")
    made = dev.Environment(tmp_path)
    recorder = Recorder(made)
    monkeypatch.setattr(made, "install", recorder)
    made.installed = recorder.installed
    return made


@posix
def test_life_of_an_environment(environment, tmp_path):
    environment.ensure()
    assert environment.usable()
    assert environment.installed == [[]], "a new environment is filled"

    environment.ensure()
    assert environment.installed == [[]], "nothing to do the second time"

    environment.ensure("dev")
    environment.ensure("dev")
    environment.ensure()
    assert environment.installed == [[], ["dev"]], "development's needs come once, and hold the plain ones"

    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'two'\n")
    environment.ensure()
    assert environment.installed == [[], ["dev"], ["dev"]], "changed requirements are installed, with what was there"

    mark = environment.folder / "mark"
    mark.touch()
    environment.stamp.write_text("{half a stam")
    environment.ensure()
    assert environment.installed[3:] == [[]], "an unreadable stamp counts as none"
    assert mark.exists()

    environment.python.unlink()
    environment.python.symlink_to(tmp_path / "an interpreter that was removed")
    assert not environment.usable()
    environment.ensure()
    assert environment.usable()
    assert not mark.exists(), "a broken environment is made anew"


def test_an_environment_from_another_place_is_not_used(environment, monkeypatch, dev):
    environment.folder.mkdir()
    monkeypatch.setattr(dev, "version_of", lambda interpreter: (3, 11))
    monkeypatch.setattr(dev, "ask", lambda interpreter, code: "")
    assert environment.usable()
    environment.stamp.write_text(json.dumps({**environment.wanted([]), "root": "/somewhere/else"}))
    assert not environment.usable()


def test_does_not_remove_what_is_not_a_folder(environment, dev):
    environment.folder.write_text("someone's file")
    with pytest.raises(dev.SetupError, match="not a folder"):
        environment.create()
    assert environment.folder.read_text() == "someone's file"


@posix
def test_says_so_when_pip_fails(dev, tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    environment = dev.Environment(tmp_path)
    environment.bin.mkdir(parents=True)
    environment.python.write_text("#!/bin/sh\nexit 1\n")
    environment.python.chmod(0o755)
    with pytest.raises(dev.SetupError, match="pip could not install"):
        environment.install(["dev"])
    assert not environment.stamp.exists()


@pytest.mark.parametrize(("failing", "code"), [(None, 0), ("ruff", 3), ("lint-imports", 4), ("pytest", 5)])
def test_a_failure_of_any_part_of_the_tests_is_a_failure(dev, tmp_path, failing, code):
    ran = []

    class Tools:
        python = "python"

        def ensure(self, *extras):
            assert extras == ("dev",)

        def tool(self, name):
            return name

        def run(self, *command, cwd=None):
            name = next(part for part in ("ruff", "lint-imports", "pytest") if part in command)
            ran.append(name)
            return code if name == failing else 0

    assert dev.test(Tools(), []) == code
    assert ran == ["ruff", "lint-imports", "pytest"], "every part runs, the tests last"


def test_demo_runs_where_its_user_stands_and_writes_into_out(dev, tmp_path, monkeypatch):
    environment = dev.Environment(tmp_path / "checkout")
    ran = []
    monkeypatch.setattr(environment, "ensure", lambda *extras: ran.append(extras))
    monkeypatch.setattr(environment, "run", lambda *command, cwd: ran.append((command, cwd)) or 7)
    monkeypatch.chdir(tmp_path)
    assert dev.demo(environment, ["own.vrm"]) == 7
    extras, (command, cwd) = ran
    assert extras == (), "a demo needs nothing of development"
    out = str(tmp_path / "checkout" / "out")
    assert command == (environment.tool("taichi-hair"), "demo", "--output", out, "own.vrm")
    assert cwd == tmp_path


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_calls_the_same_jobs(dev):
    for job in dev.JOBS:
        shown = subprocess.run(["make", "-n", job, "ARGS=a b"], cwd=ROOT, capture_output=True, text=True, check=True)
        assert f"dev.py {job} a b" in shown.stdout
