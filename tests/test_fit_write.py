"""Writing a fitted rig: the file reads back the same, keeps everything else, and other programs take it."""

from __future__ import annotations

import itertools
import json
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from taichi_hair.avatar.avatar import load, load_bytes
from taichi_hair.avatar.errors import AssetError
from taichi_hair.avatar.samples import sample
from taichi_hair.avatar.saving import save
from taichi_hair.avatar.skinning import skin_vertices
from taichi_hair.hair import Collider
from taichi_hair.motion.turn import HeadTurn
from taichi_hair.rig.fit import fit_hair
from taichi_hair.rig.floor import with_floor
from taichi_hair.rig.write import rig_bytes, write_rig
from taichi_hair.sim.crowd import Crowd


def content_of(data: bytes) -> dict:
    size = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20 : 20 + size])


@pytest.fixture(scope="module")
def fitted():
    avatar = sample("ponytail")
    return avatar, fit_hair(avatar, "ponytail", joints=6)


def test_reads_back_the_same(fitted):
    avatar, rig = fitted
    again = load_bytes(rig_bytes(rig))
    assert not [w for w in again.warnings if w not in avatar.warnings]
    assert [c.name for c in again.hair.chains] == [c.name for c in rig.chains]
    for mine, theirs in zip(rig.chains, again.hair.chains, strict=True):
        assert mine.joints.tolist() == theirs.joints.tolist()
        assert np.allclose(mine.tails, theirs.tails, atol=1e-6)
        assert np.allclose(mine.stiffness, theirs.stiffness)
        assert np.allclose(mine.hit_radius, theirs.hit_radius)
        assert mine.colliders == theirs.colliders
    for index in range(len(avatar.parts)):
        assert np.abs(skin_vertices(again, index) - skin_vertices(avatar, index)).max() < 1e-6
    assert again.skeleton.names == rig.avatar.skeleton.names


def test_same_motion_from_the_file(fitted):
    _, rig = fitted
    again = load_bytes(rig_bytes(rig))
    crowd = Crowd(solver="rod")
    a = crowd.add(rig.avatar, rig, motion=HeadTurn(rig.avatar))
    b = crowd.add(again, motion=HeadTurn(again))
    for _ in range(30):
        crowd.advance(1 / 30)
    assert np.abs(crowd.positions(a) - crowd.positions(b)).max() < 1e-4
    crowd.remove(None)


def test_everything_else_is_kept(fitted):
    avatar, rig = fitted
    old, new = avatar.document.json, content_of(rig_bytes(rig))
    for key in old:
        if key in ("nodes", "meshes", "skins", "accessors", "bufferViews", "buffers", "extensions", "extensionsUsed"):
            continue
        assert new[key] == old[key], key
    for key in ("skins", "accessors", "bufferViews"):
        assert new[key][: len(old[key])] == old[key]
    assert {k: v for k, v in new["extensions"].items() if k != "VRMC_springBone"} == {
        k: v for k, v in old["extensions"].items() if k != "VRMC_springBone"
    }
    data = rig_bytes(rig)
    start = 20 + struct.unpack_from("<I", data, 12)[0] + 8
    assert data[start : start + len(avatar.document.binary)] == bytes(avatar.document.binary)


def test_primitive_of_a_shared_mesh_and_an_unrigged_file(tmp_path, assets):
    avatar = load(assets / "quaternius" / "women_Casual.glb")
    rig = fit_hair(avatar, "Hair_Blond", joints=3, chains="auto", refine=False)
    again = load(write_rig(rig, tmp_path / "women.glb"))
    for index in range(len(avatar.parts)):
        assert np.abs(skin_vertices(again, index) - skin_vertices(avatar, index)).max() < 2e-6
    assert len(again.hair.chains) == len(rig.chains) > 0


@pytest.mark.parametrize("mesh", ["hair_tail", "hair"])
def test_no_skin_names_a_joint_twice(assets, mesh):
    """The file's binds of one mesh differ by rounding, and those of the other by more: the head stands once in both."""
    avatar = load(assets / "seed-san" / "seed-san.vrm")
    rig = fit_hair(avatar, mesh, joints=4, chains="auto", refine=False)
    for skin in content_of(rig_bytes(rig))["skins"]:
        assert len(set(skin["joints"])) == len(skin["joints"]), skin["name"]
    again = load_bytes(rig_bytes(rig))
    for index in (i for i, p in enumerate(avatar.parts) if p.name == mesh):
        assert np.abs(skin_vertices(again, index) - skin_vertices(avatar, index)).max() < 1e-6


def test_rigid_mesh_gets_a_skin(assets):
    avatar = load(assets / "quaternius" / "origin-at-0" / "Hair_Buns.gltf")
    rig = fit_hair(avatar, 0, joints=3, chains="auto", refine=False)
    again = load_bytes(rig_bytes(rig))
    assert np.abs(skin_vertices(again, 0) - skin_vertices(avatar, 0)).max() < 1e-6
    assert len(again.hair.chains) == len(rig.fitted) > 0


def test_refuses_what_it_cannot_write(tmp_path, assets, fitted):
    with pytest.raises(AssetError, match="file name"):
        write_rig(fitted[1], tmp_path / "a.obj")
    godette = load(assets / "godette" / "Godette_vrm_v4.vrm")
    rig = with_floor(godette, fit_hair(godette, "BodyMesh", joints=2, chains="auto", refine=False))
    with pytest.raises(AssetError, match=r"floor.*a plane.*balls and capsules"):
        rig_bytes(rig)


@pytest.mark.parametrize("mesh", ["FaceMesh", "BodyMesh"])
def test_a_vrm_0_file_stays_one_and_holds_the_chains_as_bone_groups(assets, mesh):
    godette = load(assets / "godette" / "Godette_vrm_v4.vrm")
    rig = fit_hair(godette, mesh, joints=3, chains="auto", refine=False)
    again = load_bytes(rig_bytes(rig), "old.vrm")
    assert again.vrm == "0.x" and not [w for w in again.warnings if w not in godette.warnings]
    assert again.skeleton.names == rig.avatar.skeleton.names
    for index in range(len(godette.parts)):
        assert np.abs(skin_vertices(again, index) - skin_vertices(godette, index)).max() < 1e-6
    by_root = {int(c.joints[0]): c for c in again.hair.chains}
    assert len(by_root) == len(rig.chains) and rig.fitted
    for number, mine in enumerate(rig.chains):
        theirs = by_root[int(mine.joints[0])]
        count = len(mine)
        assert theirs.joints[:count].tolist() == mine.joints.tolist()
        assert len(theirs) == count + (number in rig.fitted)  # the end swings too: UniVRM makes it 7 cm long
        assert np.allclose(theirs.tails[:count], mine.tails, atol=1e-6)
        assert np.allclose(theirs.stiffness, mine.stiffness.mean()) and np.allclose(theirs.drag, mine.drag.mean())
        assert np.allclose(theirs.gravity_dir, mine.gravity_dir.mean(axis=0))
        assert [again.hair.colliders[b].radius for b in theirs.colliders] == [
            rig.colliders[b].radius for b in mine.colliders
        ]
    old = content_of(rig_bytes(rig))["extensions"]["VRM"]
    assert {k: v for k, v in old.items() if k != "secondaryAnimation"} == {
        k: v for k, v in godette.document.json["extensions"]["VRM"].items() if k != "secondaryAnimation"
    }


def test_colliders_that_vrm_0_has_not_become_balls(assets):
    godette = load(assets / "godette" / "Godette_vrm_v4.vrm")
    rig = fit_hair(godette, "BodyMesh", joints=3, chains="auto", refine=False)
    node = godette.humanoid["chest"]
    bar = Collider("bar", node, "capsule", np.zeros(3), 0.08, tail=np.array([0.0, 0.24, 0.0]))
    place = len(rig.colliders)
    grown = tuple(replace(c, colliders=(place,)) for c in rig.chains)
    again = load_bytes(rig_bytes(replace(rig, chains=grown, colliders=(*rig.colliders, bar))), "old.vrm")
    new = again.hair.colliders[place:]
    # 0.24 m in steps of at most 0.75 * 0.08: five balls, 6 cm apart.
    assert [c.shape for c in new] == ["sphere"] * 5 and {c.node for c in new} == {node}
    assert np.allclose([c.offset for c in new], [[0.0, 0.06 * k, 0.0] for k in range(5)])
    fitted = [c for c in again.hair.chains if int(c.joints[0]) >= len(godette.skeleton)]
    assert all(c.colliders == tuple(range(place, place + 5)) for c in fitted) and fitted


def test_save_says_how_to_write_a_fitted_avatar(tmp_path, fitted):
    with pytest.raises(AssetError, match="write_rig"):
        save(fitted[1].avatar, tmp_path / "a.vrm")


SCRIPT = """
import { readFileSync } from 'node:fs';
globalThis.self = globalThis; globalThis.ProgressEvent = class {};
globalThis.document = { createElementNS: () => ({ style: {}, addEventListener() {}, removeEventListener() {} }) };
const THREE = await import('three');
const { GLTFLoader } = await import('three/examples/jsm/loaders/GLTFLoader.js');
const { VRMLoaderPlugin } = await import('@pixiv/three-vrm');
const none = { width: 1, height: 1, close() {} };
THREE.TextureLoader.prototype.load = (u, ok) => { const t = new THREE.Texture(); setTimeout(() => ok?.(t)); return t; };
THREE.ImageBitmapLoader.prototype.load = (u, ok) => { setTimeout(() => ok?.(none)); };
const b = readFileSync(process.argv[2]);
const loader = new GLTFLoader(); loader.register((p) => new VRMLoaderPlugin(p));
loader.parse(b.buffer.slice(b.byteOffset, b.byteOffset + b.length), '', (gltf) => {
  const vrm = gltf.userData.vrm, joints = [...vrm.springBoneManager.joints];
  const names = joints.map((j) => j.bone.name);
  gltf.scene.updateMatrixWorld(true);
  vrm.springBoneManager.setInitState();
  const head = vrm.humanoid.getRawBoneNode('head'); let far = 0;
  const tip = joints.find((j) => j.bone.name === process.argv[3]);
  const at = () => tip.child.getWorldPosition(new THREE.Vector3());
  const rest = at();
  for (let k = 0; k < 60; k++) {
    head.rotation.y = 0.6 * Math.sin(k * 0.1); gltf.scene.updateMatrixWorld(true);
    vrm.springBoneManager.update(1 / 60); gltf.scene.updateMatrixWorld(true);
    far = Math.max(far, at().distanceTo(rest));
  }
  console.log(JSON.stringify({ names, colliders: vrm.springBoneManager.colliders.length, far }));
}, (e) => { console.error(e); process.exit(1); });
"""


@pytest.mark.slow
def test_opens_in_three_vrm(tmp_path, fitted):
    """Needs Node with `three` and `@pixiv/three-vrm` in a node_modules named by TAICHI_HAIR_NODE."""
    import os

    modules = Path(os.environ.get("TAICHI_HAIR_NODE", ""))
    if not shutil.which("node") or not (modules / "@pixiv" / "three-vrm").is_dir():
        pytest.skip("no Node with three-vrm: set TAICHI_HAIR_NODE to a node_modules that holds it")
    _, rig = fitted
    path = write_rig(rig, tmp_path / "fitted.vrm")
    (tmp_path / "node_modules").symlink_to(modules.resolve())
    (tmp_path / "open.mjs").write_text(SCRIPT)
    chain = rig.chains[rig.fitted[0]]
    names = [rig.avatar.skeleton.names[j] for j in chain.joints]
    run = subprocess.run(
        ["node", "open.mjs", str(path), names[-1]], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout.strip().splitlines()[-1])
    assert set(names) <= set(told["names"])
    assert len(told["names"]) == len(rig.joints)
    assert told["colliders"] == len(rig.colliders)
    assert told["far"] > 0.02  # the new chain swings


BLENDER = """
import bpy, sys, json
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.import_scene.gltf(filepath=sys.argv[-1])
arm = [o for o in bpy.data.objects if o.type == 'ARMATURE']
bones = {b.name: (b.parent.name if b.parent else None) for a in arm for b in a.data.bones}
groups = {o.name: [g.name for g in o.vertex_groups] for o in bpy.data.objects if o.type == 'MESH'}
used = {}
for o in bpy.data.objects:
    if o.type == 'MESH':
        hit = set()
        for v in o.data.vertices:
            hit.update(o.vertex_groups[g.group].name for g in v.groups if g.weight > 0)
        used[o.name] = sorted(hit)
print('RESULT' + json.dumps({'bones': bones, 'groups': groups, 'used': used}))
"""


@pytest.mark.slow
def test_opens_in_blender(tmp_path, fitted):
    """Needs a Python with bpy, named by TAICHI_HAIR_BPY."""
    import os

    python = os.environ.get("TAICHI_HAIR_BPY", "")
    if not python or not Path(python).exists():
        pytest.skip("no Blender: set TAICHI_HAIR_BPY to a Python that has bpy")
    _, rig = fitted
    path = write_rig(rig, tmp_path / "fitted.glb")
    run = subprocess.run([python, "-c", BLENDER, str(path)], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    line = [x for x in run.stdout.splitlines() if x.startswith("RESULT")]
    assert line, run.stderr[-2000:]
    told = json.loads(line[0][6:])
    names = [rig.avatar.skeleton.names[j] for j in rig.chains[rig.fitted[0]].joints]
    for above, name in itertools.pairwise(names):
        assert told["bones"][name] == above
    assert told["bones"][names[0]] == "head"
    assert any(set(names) <= set(groups) for groups in told["used"].values())
