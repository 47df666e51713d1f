"""Makes .venv and runs the project's jobs in it. Standard library only, so that any Python 3 can start it."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
OLDEST, NEWEST = (3, 10), (3, 13)  # the Pythons that the pinned Taichi has wheels for, from 3.10 on


class SetupError(Exception):
    """Something outside the project is missing; the message says what, and what to do."""


def supported(version) -> bool:
    """Whether a (major, minor) version, or None, is one that taichi-hair runs on."""
    return version is not None and OLDEST <= tuple(version) <= NEWEST


def ask(interpreter: list, code: str) -> str | None:
    """What an interpreter prints for one line of code; None if it cannot run it."""
    try:
        done = subprocess.run([*interpreter, "-c", code], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def version_of(interpreter: list) -> tuple | None:
    """(major, minor) of an interpreter; None if it does not start."""
    answer = ask(interpreter, "import sys; print(*sys.version_info[:2])")
    try:
        major, minor = (answer or "").split()
        return int(major), int(minor)
    except ValueError:
        return None


def candidates():
    """Commands that may be a Python: the running one first, then what the PATH offers, newest first."""
    # Inside a virtual environment the base interpreter is meant: the environment itself may be about to be replaced.
    yield [getattr(sys, "_base_executable", None) or sys.executable]
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        if found:
            yield [found]
        if os.name == "nt" and shutil.which("py"):
            yield ["py", f"-3.{minor}"]


def choose_interpreter() -> list:
    """The first supported Python that can make a virtual environment."""
    seen, without_pip = [], None
    for interpreter in candidates():
        version = version_of(interpreter)
        if version is None:
            continue
        seen.append("{}.{} ({})".format(*version, " ".join(interpreter)))
        if not supported(version):
            continue
        if ask(interpreter, "import venv, ensurepip") is not None:
            return interpreter
        without_pip = without_pip or (version, interpreter)
    if without_pip:
        (major, minor), interpreter = without_pip
        raise SetupError(
            f"Python {major}.{minor} ({' '.join(interpreter)}) cannot make a virtual environment: its ensurepip module "
            f"is missing.\nOn Debian and Ubuntu: apt install python3-venv (or python{major}.{minor}-venv). "
            "Then run the same command again."
        )
    raise SetupError(
        f"taichi-hair needs Python {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}: Taichi, which it runs on, "
        f"has no wheel for others.\nFound: {', '.join(seen) or 'none that starts'}.\n"
        f"Install one beside it, for example Python {NEWEST[0]}.{NEWEST[1]}; its command python{NEWEST[0]}.{NEWEST[1]} "
        "must be on the PATH. Then run the same command again."
    )


class Environment:
    """The project's virtual environment, with a stamp that says what was installed into it from where."""

    def __init__(self, root: Path = ROOT):
        self.root = root
        self.folder = root / ".venv"
        self.bin = self.folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.bin / ("python.exe" if os.name == "nt" else "python")
        self.stamp = self.folder / "taichi-hair.json"

    def wanted(self, extras) -> dict:
        """The stamp of an environment that is up to date."""
        digest = hashlib.sha256((self.root / "pyproject.toml").read_bytes()).hexdigest()
        return {"root": str(self.root), "pyproject": digest, "extras": sorted(extras)}

    def read_stamp(self) -> dict:
        """What the last finished install wrote; empty if there was none or it cannot be read."""
        try:
            stamp = json.loads(self.stamp.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return stamp if isinstance(stamp, dict) and isinstance(stamp.get("extras"), list) else {}

    def usable(self) -> bool:
        """Whether the environment starts, has a supported Python, has pip and was not moved here from elsewhere."""
        version = version_of([str(self.python)])
        if not supported(version) or ask([str(self.python)], "import pip") is None:
            return False
        return self.read_stamp().get("root", str(self.root)) == str(self.root)

    def ensure(self, *extras: str) -> None:
        """Make the environment hold taichi-hair, editable, with these extras; instant when it already does."""
        stamp = self.read_stamp() if self.usable() else None
        if stamp is None:
            self.create()
            stamp = {}
        have = stamp.get("extras", [])
        if stamp == self.wanted(have) and set(extras) <= set(have):
            return
        self.install(sorted(set(have) | set(extras)))

    def create(self) -> None:
        """A new environment in place of whatever stands there."""
        interpreter = choose_interpreter()
        if self.folder.is_dir() and not self.folder.is_symlink():
            say(f"{self.folder} cannot be used as it is: making it anew")
            shutil.rmtree(self.folder)
        elif self.folder.exists() or self.folder.is_symlink():
            raise SetupError(f"{self.folder} is not a folder. Move it away, then run the same command again.")
        say(f"making {self.folder} with {' '.join(interpreter)}")
        done = subprocess.run([*interpreter, "-m", "venv", str(self.folder)])
        if done.returncode != 0:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise SetupError(f"{' '.join(interpreter)} could not make {self.folder}; its own message is above.")

    def install(self, extras: list) -> None:
        """Install the project and its requirements with pip, then write the stamp."""
        what = ".[" + ",".join(extras) + "]" if extras else "."
        say(f"installing {what} into {self.folder} (once; a minute or two)")
        pip = [str(self.python), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
        done = subprocess.run([*pip, "--editable", what], cwd=self.root)
        if done.returncode != 0:
            raise SetupError(
                "pip could not install what taichi-hair needs; its own message is above.\n"
                "Without a network, or behind a proxy, pip cannot reach its index. Where it finds no taichi: there are "
                "wheels for Linux x86_64 (glibc), Windows x86_64 and macOS, "
                f"and this is {platform.system()} {platform.machine()}, {platform.architecture()[0]}.\n"
                "Nothing else is lost: run the same command again."
            )
        self.stamp.write_text(json.dumps(self.wanted(extras)), encoding="utf-8")

    def tool(self, name: str) -> str:
        """Path of a command that was installed into the environment."""
        return str(self.bin / (name + ".exe" if os.name == "nt" else name))

    def run(self, *command: str, cwd: Path | None = None) -> int:
        """Run a command, from the project's folder unless another is given; its exit code."""
        return subprocess.run(command, cwd=cwd or self.root).returncode


def say(text: str) -> None:
    """One line to the person who waits."""
    print(f"dev.py: {text}", file=sys.stderr, flush=True)


def demo(environment: Environment, arguments: list) -> int:
    """`taichi-hair demo`: a window, or without a display a picture, a film and the table of measures in out/."""
    environment.ensure()
    # Its own --output comes later on the line than this one, and wins.
    command = [environment.tool("taichi-hair"), "demo", "--output", str(environment.root / "out")]
    return environment.run(*command, *arguments, cwd=Path.cwd())


def lint(environment: Environment, arguments: list) -> int:
    """Ruff over the tree, then the layers of the house: imports point down, and below `sim` nothing knows Taichi."""
    environment.ensure("dev")
    style = environment.run(environment.tool("ruff"), "check", *(arguments or ["."]))
    layers = environment.run(environment.tool("lint-imports"))
    return style or layers


def test(environment: Environment, arguments: list) -> int:
    """Lint, layers and all tests; arguments go to pytest. Every part runs; the first that failed sets the exit code."""
    linted = lint(environment, [])
    # A file stays with one worker, so that what its tests share (a compiled kernel, a loaded avatar) is made once.
    workers = str(min(4, os.cpu_count() or 1))
    pytest = [str(environment.python), "-m", "pytest", "-n", workers, "--dist", "loadfile", *arguments]
    tested = environment.run(*pytest)
    return linted or tested


def setup(environment: Environment, arguments: list) -> int:
    """Only the environment, with everything that development needs."""
    environment.ensure("dev")
    say(f"{environment.folder} is ready")
    return 0


JOBS = {"demo": demo, "test": test, "lint": lint, "setup": setup}


def main(arguments: list | None = None) -> int:
    """Run one job; exit code 2 with a sentence when something outside the project is missing."""
    parser = argparse.ArgumentParser(prog="dev.py", description="Makes .venv and runs one of the project's jobs in it.")
    parser.add_argument("job", choices=sorted(JOBS), help="demo: see it move; test: lint and all tests; setup: .venv")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="for the job's own program")
    chosen = parser.parse_args(arguments)
    try:
        return JOBS[chosen.job](Environment(), chosen.arguments)
    except SetupError as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
