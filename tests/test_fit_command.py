"""The verb `fit`: it writes files, tells programs and people what it found, and says what is wrong."""

from __future__ import annotations

import argparse
import json

import pytest

from taichi_hair.avatar.avatar import load
from taichi_hair.avatar.errors import AssetError
from taichi_hair.rig.commands import add_parser


def fit(*words: str) -> int:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    args = parser.parse_args(["fit", *words])
    return args.run(args)


def test_writes_a_rig_and_its_guides(tmp_path, capsys):
    target, curves = tmp_path / "out.vrm", tmp_path / "guides.obj"
    words = ("ponytail", "--mesh", "ponytail", "--joints", "5", "--no-refine", "-o", str(target))
    assert fit(*words, "--guides", str(curves), "--json") == 0
    told = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert told["chains"][0]["joints"] == 5 and told["written"] == [str(curves), str(target)]
    again = load(target)
    assert any(len(c) == 5 and c.name == "ponytail" for c in again.hair.chains)
    assert curves.read_text().count("\nl ") == 1


def test_says_why_hair_gets_no_chain(capsys, assets):
    folder = assets / "makehuman-hair"
    words = (str(folder / "afro01.obj"), "--body", str(folder / "body.obj"), "--unit", "dm", "--chains", "auto")
    assert fit(*words) == 1
    assert "loose pieces" in capsys.readouterr().out


def test_lints(capsys):
    assert fit("ponytail", "--lint", "--json") == 0
    assert json.loads(capsys.readouterr().out) == []


def test_errors_are_for_the_user():
    with pytest.raises(AssetError, match="no mesh chosen"):
        fit("ponytail")
    with pytest.raises(AssetError, match="--chains"):
        fit("ponytail", "--mesh", "ponytail", "--chains", "some")
    with pytest.raises(AssetError, match="unit"):
        fit("hair.obj", "--unit", "ell", "--body", "body.obj")
