"""Shared fixtures: where other people's assets lie, and one Taichi for the whole test process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared_folder(name: str) -> Path | None:
    """Folder `name` of the data that lies beside the checkout, or None."""
    if name == "assets" and os.environ.get("TAICHI_HAIR_ASSETS"):
        folder = Path(os.environ["TAICHI_HAIR_ASSETS"])
    else:
        folder = ROOT.parent / "shared" / name
    return folder if folder.is_dir() else None


def _require(name: str) -> Path:
    folder = shared_folder(name)
    if folder is None:
        pytest.skip(f"no third-party {name}: set TAICHI_HAIR_ASSETS or lay shared/{name} beside the checkout")
    return folder


@pytest.fixture(scope="session")
def assets() -> Path:
    return _require("assets")


@pytest.fixture(scope="session")
def cases() -> Path:
    return _require("cases")


@pytest.fixture(scope="session")
def peers() -> Path:
    return _require("peers")


@pytest.fixture(scope="session", autouse=True)
def taichi_cpu():
    """Taichi on the CPU, started once: a second start in one process would invalidate every field."""
    from taichi_hair.sim.backend import init

    return init("cpu")
