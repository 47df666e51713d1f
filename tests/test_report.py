"""The reader's report: facts as plain values, JSON that parses, a page that reads well in a terminal."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from glb import QUAD, QUAD_TRIANGLES, Glb
from rich.console import Console

from taichi_hair.avatar.avatar import load
from taichi_hair.avatar.report_view import span


def shown(avatar, width: int = 160) -> str:
    stream = io.StringIO()
    avatar.report.render(Console(file=stream, width=width))
    return stream.getvalue()


def haired() -> Glb:
    glb = Glb()
    nodes = glb.human()
    glb.json["nodes"][nodes["head"]].update(scale=[0.5] * 3, translation=[0.0, 0.5, 0.0])
    line = glb.line(3, nodes["head"])
    glb.node("body", mesh=glb.mesh(QUAD, QUAD_TRIANGLES, name="quad"))
    joints = [{"node": n, "hitRadius": 0.02} for n in line]
    collider = {"node": nodes["head"], "shape": {"capsule": {"radius": 0.1, "offset": [0, 1, 0], "tail": [0, 2, 0]}}}
    glb.springs([{"name": "tail", "joints": joints, "colliderGroups": [0], "center": 0}], [collider], [[0]])
    return glb


def test_lengths_and_radii_are_world_metres_and_settings_the_file_s_own():
    report = haired().load().report
    (chain,) = report.chains
    assert chain["length"] == pytest.approx(0.1) and chain["lengths"] == [0.05, 0.05]
    assert chain["hit_radius"] == [0.01, 0.01] and chain["drag"] == [0.5, 0.5] and chain["center"] == "hips"
    assert (chain["joints"], chain["end"], chain["attach"]) == (["hair0", "hair1"], "hair2", "head")
    (collider,) = report.colliders
    assert collider["radius"] == pytest.approx(0.05) and collider["length"] == pytest.approx(0.5)
    assert collider["at"] == pytest.approx([0.0, 2.0, 0.0]) and collider["chains"] == 1
    assert report.size["height"] == 1.0 and report.format == "VRM 1.0"
    assert report.bones["missing"] == [] and report.meshes[0]["vertices"] == 4


def test_json_is_the_report():
    report = haired().load().report
    assert json.loads(report.to_json()) == json.loads(json.dumps(report.to_dict()))


def test_a_page_shows_chains_colliders_and_what_was_left_out():
    glb = haired()
    glb.json["extensions"]["VRMC_springBone"]["springs"].append({"name": "empty"})
    page = shown(glb.load())
    for text in ("tail", "hair0 > hair2", "100", "Colliders", "capsule", "Repaired or left out (1)", "'empty'", "quad"):
        assert text in page, text


def test_a_file_without_a_mesh_says_so():
    glb = Glb()
    glb.human()
    avatar = glb.load()
    assert "no mesh" in shown(avatar)
    assert avatar.report.size["of"] == "nodes"


def test_an_empty_file_has_a_report():
    avatar = Glb().load()
    assert avatar.report.size["height"] is None and avatar.warnings
    assert "0 nodes" in shown(avatar)


def test_unread_extensions_are_listed_as_kept():
    glb = haired()
    glb.extend("ACME_secret", {})
    assert glb.load().report.extensions == {
        "read": ["VRMC_vrm", "VRMC_springBone"],
        "kept": ["ACME_secret"],
    }


def test_seed_san_s_report_agrees_with_its_readme(assets):
    avatar = load(assets / "seed-san" / "seed-san.vrm")
    report = avatar.report
    assert len(report.chains) == 9 and len(report.colliders) == 8 and len(report.constraints) == 23
    np.testing.assert_allclose(report.chains[0]["lengths"], [0.0563, 0.0703, 0.0787, 0.0725, 0.0645, 0.0603], atol=6e-5)
    assert report.size["height"] == pytest.approx(1.58, abs=0.001)
    assert report.licence["creditNotation"] == "required" and len(report.images) == 16
    page = shown(avatar)
    assert "TailHair" in page and "VirtualCast" in page and max(map(len, page.splitlines())) <= 160


@pytest.mark.parametrize(
    ("values", "text"), [([1.0, 1.0], "1"), ([4.0, 3.0, 2.0], "4 .. 2"), ([1.0, 5.0, 1.0], "1 .. 5"), ([100.0], "100")]
)
def test_settings_that_change_along_a_chain_show_how(values, text):
    assert span(values) == text
    assert span(values, 1.0, 0) == text


def test_a_narrow_terminal_gets_the_whole_report(assets):
    avatar = load(assets / "unity-chan" / "unitychan.vrm")
    assert max(map(len, shown(avatar, 80).splitlines())) <= 80
