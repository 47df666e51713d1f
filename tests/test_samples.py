"""The built-in avatars: valid VRM 1.0, one shared body, hair in rings with sound weights, clear of its colliders."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import struct
import subprocess

import numpy as np
import pytest

from taichi_hair.avatar.sample_mesh import loft, spline, table
from taichi_hair.avatar.samples import SAMPLES, figure, sample, sample_glb, write_sample

REQUIRED = (
    "hips spine head leftUpperLeg leftLowerLeg leftFoot rightUpperLeg rightLowerLeg rightFoot "
    "leftUpperArm leftLowerArm leftHand rightUpperArm rightLowerArm rightHand"
).split()
OPTIONAL = "chest upperChest neck leftShoulder rightShoulder leftToes rightToes leftEye rightEye".split()


class Glb:
    """The few things of a GLB that these tests read, without the library's own loader."""

    def __init__(self, raw: bytes) -> None:
        length = struct.unpack_from("<I", raw, 12)[0]
        self.json = json.loads(raw[20 : 20 + length])
        self.bin = raw[28 + length :]
        self.nodes = self.json["nodes"]
        self.parent = {c: i for i, n in enumerate(self.nodes) for c in n.get("children", ())}

    def array(self, index: int) -> np.ndarray:
        a = self.json["accessors"][index]
        view = self.json["bufferViews"][a["bufferView"]]
        kind = {5126: np.float32, 5123: np.uint16, 5125: np.uint32}[a["componentType"]]
        width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}[a["type"]]
        return np.frombuffer(self.bin, kind, a["count"] * width, view["byteOffset"]).reshape(-1, width)

    def place(self, node: int) -> np.ndarray:
        at = np.zeros(3)
        while node is not None:
            at = at + self.nodes[node].get("translation", (0, 0, 0))
            node = self.parent.get(node)
        return at

    def primitives(self):
        for mesh in self.json["meshes"]:
            for primitive in mesh["primitives"]:
                yield mesh["name"], primitive, {k: self.array(v) for k, v in primitive["attributes"].items()}

    @property
    def springs(self) -> list[dict]:
        return self.json["extensions"]["VRMC_springBone"]["springs"]


@pytest.fixture(scope="module", params=SAMPLES)
def glb(request) -> Glb:
    return Glb(sample_glb(request.param))


@pytest.fixture(scope="module")
def layered() -> Glb:
    return Glb(sample_glb("layered"))


def test_names_are_checked():
    with pytest.raises(ValueError, match=r"'bun'.*'ponytail', 'layered', 'twin-tails'"):
        sample_glb("bun")


@pytest.mark.parametrize("name", SAMPLES)
def test_same_bytes_every_time(name, tmp_path):
    first = sample_glb(name)
    sample_glb.cache_clear()
    assert sample_glb(name) == first
    assert write_sample(name, tmp_path / "a.vrm").read_bytes() == first


def test_khronos_validator_finds_no_error(tmp_path):
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        pytest.skip("no node")
    roots = subprocess.run([npm, "root", "-g"], capture_output=True, text=True).stdout.strip()
    program = (
        "const v=require('gltf-validator'),fs=require('fs');(async()=>{for(const f of process.argv.slice(1)){"
        "const r=await v.validateBytes(new Uint8Array(fs.readFileSync(f)));console.log(JSON.stringify(r.issues))}})()"
    )
    files = [str(write_sample(name, tmp_path / f"{name}.glb")) for name in SAMPLES]
    env = os.environ | {"NODE_PATH": os.pathsep.join(filter(None, [os.environ.get("NODE_PATH"), roots]))}
    done = subprocess.run([node, "-e", program, *files], capture_output=True, text=True, env=env)
    if "Cannot find module 'gltf-validator'" in done.stderr:
        pytest.skip("no gltf-validator on NODE_PATH")
    assert done.returncode == 0, done.stderr
    for name, line in zip(SAMPLES, done.stdout.splitlines(), strict=True):
        issues = json.loads(line)
        assert issues["numErrors"] == 0, (name, issues["messages"][:3])
        assert issues["numWarnings"] == 0, (name, issues["messages"][:3])


def test_vrm_says_what_a_reader_needs(glb):
    vrm = glb.json["extensions"]["VRMC_vrm"]
    assert vrm["specVersion"] == "1.0"
    assert (
        vrm["meta"]["name"] and vrm["meta"]["authors"] and vrm["meta"]["licenseUrl"] == "https://vrm.dev/licenses/1.0/"
    )
    bones = vrm["humanoid"]["humanBones"]
    assert set(REQUIRED + OPTIONAL) <= set(bones)
    assert len({b["node"] for b in bones.values()}) == len(bones)
    for material in glb.json["materials"]:
        toon = material["extensions"]["VRMC_materials_mtoon"]
        width = toon["outlineWidthFactor"]
        flat = material["name"] in ("eye", "lash", "brow", "mouth", "crease", "trim")  # they lie on another surface
        assert 0.0008 <= width <= 0.0012 or (flat and width == 0.0), material["name"]
    assert {"VRMC_vrm", "VRMC_springBone", "VRMC_materials_mtoon"} <= set(glb.json["extensionsUsed"])


def test_stands_on_the_floor_facing_forward(glb):
    points = np.concatenate([a["POSITION"] for _, _, a in glb.primitives()])
    assert points[:, 1].min() == pytest.approx(0.0, abs=0.002)
    assert 1.53 < points[:, 1].max() < 1.60
    eyes = next(a["POSITION"] for _, p, a in glb.primitives() if glb.json["materials"][p["material"]]["name"] == "eye")
    assert eyes[:, 2].min() > 0.0
    bones = glb.json["extensions"]["VRMC_vrm"]["humanoid"]["humanBones"]
    assert glb.place(bones["leftHand"]["node"])[0] > 0.5  # the avatar's left is +x when it faces +z


def test_one_skeleton_for_all():
    places = []
    for name in SAMPLES:
        glb = Glb(sample_glb(name))
        bones = glb.json["extensions"]["VRMC_vrm"]["humanoid"]["humanBones"]
        places.append({role: tuple(glb.place(b["node"])) for role, b in bones.items()})
    assert places[0] == places[1] == places[2]


def test_geometry_is_sound(glb):
    for name, primitive, a in glb.primitives():
        corners = glb.array(primitive["indices"]).reshape(-1, 3)
        assert corners.max() < len(a["POSITION"]), name
        assert np.all(np.isfinite(a["POSITION"]))
        assert np.allclose(np.linalg.norm(a["NORMAL"], axis=1), 1.0, atol=1e-3), name
        assert np.allclose(a["WEIGHTS_0"].sum(axis=1), 1.0, atol=1e-6), name
        assert a["WEIGHTS_0"].min() >= 0.0
        assert a["JOINTS_0"].max() < len(glb.json["skins"][0]["joints"])


@pytest.mark.parametrize("name", SAMPLES)
def test_hair_is_closed(name):
    for (mesh, material), piece in figure(name).pieces.items():
        if material == "hair":
            edges = np.sort(
                np.concatenate([piece.triangles[:, [0, 1]], piece.triangles[:, [1, 2]], piece.triangles[:, [2, 0]]]),
                axis=1,
            )
            assert np.all(np.unique(edges, axis=0, return_counts=True)[1] == 2), mesh


@pytest.mark.parametrize("name", SAMPLES)
def test_triangles_face_outward(name):
    for key, piece in figure(name).pieces.items():
        a, b, c = (piece.positions[piece.triangles[:, i]] for i in range(3))
        face = np.cross(b - a, c - a)
        smooth = piece.normals[piece.triangles].sum(axis=1)
        assert np.mean(np.einsum("ij,ij->i", face, smooth) > 0.0) > 0.97, key


def test_chains_are_read_from_springs():
    assert [len(Glb(sample_glb(n)).springs) for n in SAMPLES] == [6, 12, 7]
    joints = {n: {s["name"]: len(s["joints"]) - 1 for s in Glb(sample_glb(n)).springs} for n in SAMPLES}
    assert joints["ponytail"]["ponytail"] == 6
    assert joints["twin-tails"]["tail.L"] == joints["twin-tails"]["tail.R"] == 7
    for name in SAMPLES:
        glb = Glb(sample_glb(name))
        for spring in glb.springs:
            nodes = [j["node"] for j in spring["joints"]]
            assert all(glb.parent[b] == a for a, b in itertools.pairwise(nodes)), spring["name"]
            assert spring["colliderGroups"]


def test_layered_has_what_its_name_promises(layered):
    hair = sum(
        len(a["POSITION"])
        for _, p, a in layered.primitives()
        if layered.json["materials"][p["material"]]["name"] == "hair"
    )
    assert 10_000 <= hair <= 20_000
    kinds = [
        next(iter(n["extensions"]["VRMC_node_constraint"]["constraint"])) for n in layered.nodes if "extensions" in n
    ]
    assert sorted(kinds) == ["aim", "aim", "roll", "roll", "rotation", "rotation"]
    assert "VRMC_node_constraint" in layered.json["extensionsUsed"]


@pytest.mark.parametrize("name", SAMPLES)
def test_roots_stay_on_the_head_and_tips_on_the_chain(name):
    made = figure(name)
    moving = {bone for strand in made.strands for bone in strand.bones}
    for (mesh, material), piece in made.pieces.items():
        if material != "hair":
            continue
        assert set(piece.weights) <= moving | {"head"}, mesh
        root = piece.uvs[:, 1] == 0.0
        assert np.all(piece.weights["head"][root] == 1.0), mesh
    for strand in made.strands:
        own = [p for (_, m), p in made.pieces.items() if m == "hair" and strand.bones[-2] in p.weights]
        assert max(p.weights[strand.bones[-2]].max() for p in own) > 0.99, strand.name


def _clearance(p0, p1, collider, count: int = 40) -> float:
    """Smallest distance from the segment to the collider's surface, metres."""
    t = np.linspace(0.0, 1.0, count)[:, None]
    p = p0 + t * (p1 - p0)
    start = np.array(collider.start)
    axis = (np.array(collider.end) if collider.end is not None else start) - start
    along = np.clip((p - start) @ axis / max(axis @ axis, 1e-12), 0.0, 1.0)
    return float((np.linalg.norm(p - start - along[:, None] * axis, axis=1) - collider.radius).min())


@pytest.mark.parametrize("name", SAMPLES)
def test_at_rest_no_chain_touches_a_collider(name):
    made = figure(name)
    for strand in made.strands:
        joints = strand.joints
        radii = np.linspace(*strand.spring.radius, strand.count)
        for j in range(strand.count):
            for shape in made.shapes:
                if shape.group in strand.spring.groups:
                    gap = _clearance(joints[j], joints[j + 1], shape) - radii[j]
                    assert gap > -0.0005, (strand.name, j, shape.bone, round(gap, 4))


def test_front_locks_lie_over_the_shirt(layered):
    made = figure("layered")
    front = next(s for s in made.strands if s.name == "front.L")
    tip = front.joints[-1]
    assert 0.9 < tip[1] < 1.1  # down to the chest
    hair = made.pieces["hair", "hair"]
    share = sum(w for bone, w in hair.weights.items() if bone in front.bones)
    lock = hair.positions[(share > 0.99) & (hair.positions[:, 1] < 1.24)]
    shirt = made.pieces["shirt", "cloth"].positions
    for p in lock:
        near = shirt[np.hypot(shirt[:, 0] - p[0], shirt[:, 1] - p[1]) < 0.008]
        if len(near):
            assert p[2] > near[:, 2].max() - 0.0005


def test_sample_is_an_avatar():
    for name in SAMPLES:
        avatar = sample(name)
        assert avatar.name == name
        assert [len(c) for c in avatar.hair.chains] == [s.count for s in figure(name).strands]
        assert not avatar.warnings


@pytest.mark.parametrize("name", SAMPLES)
def test_weights_change_smoothly(name):
    for (mesh, material), piece in figure(name).pieces.items():
        edges = np.concatenate([piece.triangles[:, [0, 1]], piece.triangles[:, [1, 2]], piece.triangles[:, [2, 0]]])
        step = np.zeros(len(edges))
        for w in piece.weights.values():
            step += 0.5 * np.abs(w[edges[:, 0]] - w[edges[:, 1]])
        span = np.linalg.norm(piece.positions[edges[:, 0]] - piece.positions[edges[:, 1]], axis=1)
        # At 100 per metre all weight would pass from one bone to the next within a centimetre, which creases.
        assert (step / np.maximum(span, 0.01)).max() < 60.0, (mesh, material)


def test_splines_are_even_and_tables_stay_within_their_rows():
    path = spline([(0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 2)], 50)
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert steps.max() / steps.min() < 1.02
    assert np.allclose(path[[0, -1]], [(0, 0, 0), (1, 1, 2)])
    rows = [(0.0, 1.0), (1.0, 1.0), (2.0, 5.0), (3.0, 5.0)]
    values = table(rows, np.linspace(0.0, 3.0, 301))[:, 0]
    assert values[[0, 100, 200, 300]].tolist() == [1.0, 1.0, 5.0, 5.0]
    assert values.min() > 1.0 - 1e-12 and values.max() < 5.0 + 1e-12 and np.all(np.diff(values) >= -1e-12)


def test_a_loft_closes_its_ends_and_turns_outward():
    angle = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    for turn in (1.0, -1.0):
        ring = np.stack([np.cos(turn * angle), 0.0 * angle, np.sin(angle * turn)], axis=1)
        tube = loft(np.stack([ring, ring + [0.0, 1.0, 0.0], ring * 0.0 + [0.0, 2.0, 0.0]]))
        assert len(tube.positions) == 2 * 12 + 2  # two rings, the middle of the flat end, the tip
        a, b, c = (tube.positions[tube.triangles[:, i]] for i in range(3))
        volume = np.einsum("ij,ij->", np.cross(a, b), c) / 6.0
        area = 0.5 * 12 * np.sin(np.pi / 6)  # of the 12-gon
        assert volume == pytest.approx(area * (1.0 + 1.0 / 3.0))  # a prism under a pyramid
