"""Retargeting: each joint turns in the world as its counterpart does, whatever the two rest poses are."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from moves import person

from taichi_hair import rotations
from taichi_hair.avatar.avatar import load
from taichi_hair.avatar.constraints import apply_constraints
from taichi_hair.avatar.errors import AssetError
from taichi_hair.avatar.samples import SAMPLES, sample
from taichi_hair.avatar.skeleton import Skeleton
from taichi_hair.motion.clip import Clip, KeyTrack, load_clip, load_clips
from taichi_hair.motion.names import missing_required, roles_of, split
from taichi_hair.motion.retarget import retarget
from taichi_hair.motion.steps import made_clip

X, Y, Z = np.eye(3)
AVATARS = {
    "seed-san": "seed-san/seed-san.vrm",
    "unity-chan": "unity-chan/unitychan.vrm",
    "godette": "godette/Godette_vrm_v4.vrm",
    "superhero": "quaternius/Superhero_Female_FullBody.gltf",
    "casual": "quaternius/women_Casual.glb",
    "kaykit": "kaykit/Rig_Medium_MovementBasic.glb",
    "vroid": "vroid-rig/vroid16_rig.vrm",
    "generated": "vrm-conformance/smoke_spring.vrm",
}


def turn(axis, degrees):
    return rotations.from_axis_angle(np.asarray(axis, dtype=float), np.radians(degrees))


def degrees_between(a, b):
    return np.degrees(rotations.angle(rotations.multiply(rotations.inverse(a), b)))


def clip_on(skeleton: Skeleton, seconds=1.0, **turns) -> Clip:
    """Each role turns from its rest rotation to another one; hips=(rotation, way) moves them as well."""
    roles = {name: i for i, name in enumerate(skeleton.names)}
    times = np.array([0.0, seconds])
    tracks = []
    for role, value in turns.items():
        node = roles[role]
        if isinstance(value, tuple):
            value, way = value
            start = skeleton.translations[node]
            tracks.append(KeyTrack(node, "translation", "LINEAR", times, np.array([start, start + way])))
        keys = np.array([skeleton.rotations[node], rotations.multiply(value, skeleton.rotations[node])])
        tracks.append(KeyTrack(node, "rotation", "LINEAR", times, keys))
    return Clip("made", seconds, skeleton, tuple(tracks), roles)


def world_turns(motion, t):
    return rotations.from_matrix(motion.worlds(np.atleast_1d(t)))


def test_the_stated_pose_of_the_small_animation_is_met(cases):
    for case in json.loads((cases / "cases.json").read_text())["cases"]:
        for check in case.get("facts", {}).get("retarget_check", []):
            avatar = load(cases / check["target_file"])
            motion = retarget(load_clip(cases / case["file"]), avatar)
            places, turns = motion.locals([check["t"]])
            got = turns[0, avatar.humanoid[check["bone"]]]
            assert degrees_between(got, np.array(check["rotation"])) < np.degrees(check["tol"])
            assert places[0, avatar.humanoid["hips"]] == pytest.approx(case["facts"]["hips_translation_at_1"], abs=1e-6)


def test_a_t_pose_turns_joint_by_joint_and_hips_move_in_proportion():
    avatar = sample("ponytail")
    clip = clip_on(person(size=2.0), leftUpperArm=turn(Z, -50), hips=(turn(Y, 30), np.array([0.4, 0.0, 0.2])))
    motion = retarget(clip, avatar, ground=False)
    rest, now = world_turns(motion, 0.0)[0], world_turns(motion, 1.0)[0]
    arm, hips = avatar.humanoid["leftUpperArm"], avatar.humanoid["hips"]
    wanted = rotations.multiply(turn(Y, 30), rotations.multiply(turn(Z, -50), rest[arm]))
    assert degrees_between(now[arm], wanted) < 1e-4
    scale = avatar.skeleton.rest_world[hips, 1, 3] / 1.8
    moved = motion.worlds([1.0])[0, hips, :3, 3] - avatar.skeleton.rest_world[hips, :3, 3]
    assert moved == pytest.approx(scale * np.array([0.4, 0.0, 0.2]), abs=1e-9)


def test_arms_that_hang_at_rest_hang_on_an_avatar_that_rests_with_arms_out():
    avatar = sample("ponytail")
    motion = retarget(clip_on(person(arms_down=True), spine=turn(X, 0)), avatar)
    world = motion.worlds([0.0])[0]
    for side in ("left", "right"):
        a, b = (avatar.humanoid[f"{side}{part}"] for part in ("UpperArm", "Hand"))
        way = world[b, :3, 3] - world[a, :3, 3]
        assert way @ -Y > 0.995 * np.linalg.norm(way)
    assert "brought together" in motion.notes[0]


def test_another_facing_and_another_up_change_nothing():
    avatar = sample("ponytail")
    clip = clip_on(person(), leftUpperArm=turn(Z, -50), rightUpperLeg=turn(X, -60), hips=(turn(Y, 30), 0.2 * Z))
    plain = retarget(clip, avatar).worlds([0.7])
    for spin in (turn(Y, 90), turn(X, 90), rotations.multiply(turn(Z, 180), turn(X, 90))):
        s = clip.skeleton
        around = Skeleton(
            (*s.names, "scene"),
            np.append(np.where(s.parents < 0, len(s), s.parents), -1),
            np.concatenate([s.translations, np.zeros((1, 3))]),
            np.concatenate([s.rotations, spin[None]]),
            np.concatenate([s.scales, np.ones((1, 3))]),
        )
        turned = retarget(replace(clip, skeleton=around), avatar).worlds([0.7])
        assert np.abs(turned - plain).max() < 1e-9


def test_a_joint_that_the_avatar_lacks_is_passed_on_to_its_parent(assets):
    avatar = load(assets / "seed-san" / "seed-san.vrm")
    clip = load_clip(assets / "unity-chan" / "clips" / "WIN00.glb")
    assert "upperChest" not in avatar.humanoid
    roles = clip.humanoid
    motion = retarget(clip, avatar)
    assert any("upperChest" in note for note in motion.notes)
    t, r, s = clip.sample(np.array([1.5]))
    source = rotations.from_matrix(clip.skeleton.world(t, r, s))[0, roles["upperChest"]]
    change = rotations.multiply(
        source, rotations.inverse(rotations.from_matrix(clip.skeleton.rest_world[roles["upperChest"]]))
    )
    chest = avatar.humanoid["chest"]
    rest = rotations.from_matrix(avatar.skeleton.rest_world[chest])
    assert degrees_between(world_turns(motion, 1.5)[0, chest], rotations.multiply(change, rest)) < 1e-4


def test_a_clip_on_the_avatar_it_was_made_for_is_itself(assets):
    avatar = load(assets / "unity-chan" / "unitychan.vrm")
    clip = load_clip(assets / "unity-chan" / "clips" / "JUMP00.glb")
    motion = retarget(clip, avatar, ground=False, loop=False)
    times = np.linspace(0.0, clip.seconds, 9)
    t, r, s = clip.sample(times)
    source = clip.skeleton.world(t, r, s)
    own = motion.worlds(times)
    for role, node in clip.humanoid.items():
        there = avatar.skeleton.index(clip.skeleton.names[node])
        turns = [rotations.from_matrix(world[:, n]) for world, n in ((own, there), (source, node))]
        assert degrees_between(*turns).max() < 0.1, role
        assert np.linalg.norm(own[:, there, :3, 3] - source[:, node, :3, 3], axis=-1).max() < 1e-3, role


def test_travel_is_kept_removed_or_closed():
    avatar = sample("ponytail")
    sway = np.array([0.3, 0.0, 1.0])
    clip = clip_on(person(), hips=(turn(Y, 0), sway))
    hips = avatar.humanoid["hips"]
    times = np.array([0.0, 0.5, 1.0, 1.5])
    way = {}
    for travel in ("keep", "remove", "close"):
        motion = retarget(clip, avatar, travel=travel)
        assert motion.loop and motion.report.cycle
        way[travel] = motion.worlds(times)[:, hips, :3, 3] - avatar.skeleton.rest_world[hips, :3, 3]
    scale = avatar.skeleton.rest_world[hips, 1, 3] / 0.9
    assert way["keep"] == pytest.approx(times[:, None] * scale * sway, abs=1e-9)  # it goes on, round after round
    assert way["remove"][:, [0, 2]] == pytest.approx(0.0) and way["close"] == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(ValueError, match="keep, remove, close"):
        retarget(clip, avatar, travel="stay")


def test_cycles_are_told_from_clips_that_end_elsewhere(assets):
    avatar = sample("ponytail")
    walk = retarget(load_clip(assets / "unity-chan" / "clips" / "WALK00_F.glb"), avatar, travel="close")
    run = retarget(load_clip(assets / "vrma" / "cmu_run.vrma"), avatar)
    assert walk.report.cycle and walk.loop and walk.report.gap_degrees < 0.1
    assert not run.report.cycle and not run.loop and run.report.gap_degrees > 90.0
    assert np.array_equal(run.worlds([run.seconds]), run.worlds([run.seconds + 5.0]))
    once = replace(walk, loop=False)
    assert np.abs(once.worlds([0.0]) - once.worlds([walk.seconds])).max() < 1e-9


def test_a_motion_is_a_pure_function_of_time_for_many_times_at_once(assets):
    avatar = load(assets / "seed-san" / "seed-san.vrm")
    motion = retarget(load_clip(assets / "vrma" / "cmu_dance.vrma"), avatar)
    times = np.array([0.0, 3.3, 7.7, 14.9])
    together = motion.worlds(times)
    assert np.array_equal(together, motion.worlds(times))
    for k, t in enumerate(times):
        assert np.abs(motion.worlds([t])[0] - together[k]).max() < 1e-12


@pytest.mark.parametrize("name", ["layered"])
def test_node_constraints_follow_the_clip(name):
    avatar = sample(name)
    assert avatar.constraints
    motion = retarget(
        clip_on(person(), leftUpperArm=turn(Z, -60), leftHand=turn(X, 70), leftLowerArm=turn(X, 40)), avatar
    )
    free = replace(motion, constraints=())
    places, turns = free.locals([1.0])
    wanted = apply_constraints(avatar.skeleton, avatar.constraints, turns, places)
    assert np.array_equal(motion.locals([1.0])[1], wanted)
    assert any(degrees_between(wanted[0, c.node], turns[0, c.node]) > 5.0 for c in avatar.constraints)


def test_the_solver_yields_to_chains_that_the_clip_animates(assets):
    avatar = load(assets / "unity-chan" / "unitychan.vrm")
    clip = load_clip(assets / "unity-chan" / "clips" / "JUMP00.glb")
    motion = retarget(clip, avatar)
    names = {avatar.hair.chains[c].name for c in motion.authored}
    assert {"J_L_HairTail", "J_R_HairTail"} <= names
    assert any("yields" in note and "J_L_HairTail" in note for note in motion.notes)
    assert names.isdisjoint(chain.name for chain in motion.rig.chains)
    assert len(motion.rig.chains) == len(avatar.hair.chains) - len(names)
    tail = avatar.skeleton.index("J_L_HairTail_03")
    source = clip.skeleton.index("J_L_HairTail_03")
    turned = motion.locals([0.6])[1][0, tail]
    assert degrees_between(turned, clip.sample(np.array([0.6]))[1][0, source]) < 1e-3
    whole = motion.locals(np.linspace(0.0, clip.seconds, 20))[1][:, tail]
    assert degrees_between(whole, avatar.skeleton.rotations[tail]).max() > 20.0
    body = motion.body([0.6])[1][0]
    assert np.array_equal(body[avatar.hair.joints], avatar.skeleton.rotations[avatar.hair.joints])
    ignored = retarget(clip, avatar, authored=False)
    assert ignored.rig is avatar.hair and not ignored.authored


def test_feet_that_stand_below_their_floor_are_raised_and_a_body_that_is_lowered_is_not(assets):
    avatar = load(assets / "unity-chan" / "unitychan.vrm")
    feet = [avatar.humanoid[f"{side}Foot"] for side in ("left", "right")]
    rest = avatar.skeleton.rest_world[feet, 1, 3]
    clip = load_clip(assets / "vrma" / "cmu_walk.vrma")
    times = np.linspace(0.0, clip.seconds, 100)
    sunk = (retarget(clip, avatar, ground=False).worlds(times)[:, feet, 1, 3] - rest).min()
    motion = retarget(clip, avatar)
    assert sunk < -0.07 and any("8 cm below its floor" in note for note in motion.notes)
    assert abs((motion.worlds(times)[:, feet, 1, 3] - rest).min()) < 0.01


def test_a_face_up_flip_turns_the_head_upside_down(assets):
    avatar = sample("ponytail")
    motion = retarget(load_clip(assets / "vrma" / "cmu_backflip.vrma"), avatar)
    head = avatar.humanoid["head"]
    up = motion.worlds(np.linspace(0.0, motion.seconds, 60))[:, head, :3, 1]
    rest_up = avatar.skeleton.rest_world[head, :3, 1]
    assert (up @ rest_up).min() < -0.9 and up[0] @ rest_up > 0.9


def test_an_engine_that_drives_the_body_tick_by_tick_gets_the_same_hair():
    from taichi_hair.sim.crowd import Crowd

    avatar = sample("layered")
    motion = retarget(made_clip("dance"), avatar, travel="remove")
    crowd = Crowd()
    (playing,) = crowd.add(avatar, avatar.hair, motion=motion)
    (driven,) = crowd.add(avatar, avatar.hair)
    crowd.drive(driven, motion.worlds([0.0])[0])
    crowd.teleport(driven)
    crowd.advance(1 / 120)
    crowd.reset()
    rest = np.linalg.norm(crowd.positions(driven)[0] - crowd.positions(playing)[0], axis=-1).max()
    moved = 0.0
    start = crowd.positions(playing)[0]
    for tick in range(1, 121):
        crowd.drive(driven, motion.worlds([tick / 120.0])[0])
        crowd.advance(1 / 120)
        moved = max(moved, np.linalg.norm(crowd.positions(playing)[0] - start, axis=-1).max())
    apart = np.linalg.norm(crowd.positions(driven)[0] - crowd.positions(playing)[0], axis=-1).max()
    assert rest < 1e-6 and moved > 0.1 and apart < 1e-4


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("mixamorig:LeftForeArm", ("left", "forearm")),
        ("UnityChan_RightHandPinky2", ("right", "handpinky2")),
        ("J_Bip_L_UpperArm", ("left", "upperarm")),
        ("J_Bip_C_Hips", ("", "hips")),
        ("upperarm.l", ("left", "upperarm")),
        ("thigh_r", ("right", "thigh")),
        ("LHipJoint", ("left", "hipjoint")),
        ("Bip01 R Calf", ("right", "calf")),
        ("Leg", ("", "leg")),
        ("Root", ("", "root")),
    ],
)
def test_a_name_is_a_side_and_a_part(name, wanted):
    assert split(name) == wanted


def test_joints_of_the_known_families_are_found_by_name():
    families = {
        "Mixamo": (
            "mixamorig:Hips",
            "mixamorig:Spine",
            "mixamorig:Head",
            "mixamorig:{S}{p}",
            "Arm ForeArm Hand UpLeg Leg Foot",
        ),
        "Unity-chan": (
            "UnityChan_Hips",
            "UnityChan_Spine",
            "UnityChan_Head",
            "UnityChan_{S}{p}",
            "Arm ForeArm Hand UpLeg Leg Foot",
        ),
        "classic BVH": ("Hips", "Chest", "Head", "{S}{p}", "Shoulder Elbow Wrist Hip Knee Ankle"),
        "Unreal": ("pelvis", "spine_01", "Head", "{p}_{s}", "upperarm lowerarm hand thigh calf foot"),
        "KayKit": ("hips", "spine", "head", "{p}.{s}", "upperarm lowerarm hand upperleg lowerleg foot"),
        "mocopi": ("root", "torso_1", "head", "{s}_{p}", "up_arm low_arm hand up_leg low_leg foot"),
        "Rigify": ("DEF-hips", "DEF-spine", "DEF-head", "DEF-{p}.{S1}", "upper_arm forearm hand thigh shin foot"),
    }
    for family, (hips, spine, head, pattern, parts) in families.items():
        names = {"hips": hips, "spine": spine, "head": head}
        for side in ("left", "right"):
            for limb, part in zip(
                ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot"), parts.split(), strict=True
            ):
                word = pattern.format(S=side.title(), s=side[0], S1=side[0].upper(), p=part)
                names[f"{side}{limb}"] = word
        skeleton = person(names=names)
        found = roles_of(skeleton)
        assert not missing_required(found), (family, missing_required(found))
        assert all(skeleton.names[found[role]] == name for role, name in names.items()), family


def test_unknown_names_are_refused_and_a_mapping_file_solves_it(tmp_path, assets):
    avatar = sample("ponytail")
    clip = replace(clip_on(person()), humanoid={})
    with pytest.raises(AssetError, match="no joint that is known as the hips"):
        retarget(clip, avatar)
    strange = replace(
        avatar, humanoid={}, skeleton=replace(avatar.skeleton, names=tuple(map(str, range(len(avatar.skeleton)))))
    )
    with pytest.raises(AssetError, match="mapping file"):
        retarget(clip_on(person()), strange)
    path = tmp_path / "names.json"
    path.write_text(json.dumps({role: str(node) for role, node in avatar.humanoid.items()}))
    mapped = retarget(clip_on(person(), leftUpperArm=turn(Z, -50)), strange, mapping=path)
    known = retarget(clip_on(person(), leftUpperArm=turn(Z, -50)), avatar)
    assert np.array_equal(mapped.worlds([0.5]), known.worlds([0.5]))
    for content, words in (
        ('{"tail": "1"}', "'tail'"),
        ('{"hips": "nowhere"}', "0 joints named 'nowhere'"),
        ("[1]", "an object"),
    ):
        path.write_text(content)
        with pytest.raises(AssetError, match=words):
            retarget(clip_on(person()), strange, mapping=path)


def test_a_humanoid_without_a_head_is_refused_with_the_joint_named(cases):
    avatar = load(cases / "vrm1_humanoid_missing_and_duplicate.vrm")
    with pytest.raises(AssetError, match="head"):
        retarget(clip_on(person()), avatar)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SAMPLES, *AVATARS])
def test_every_clip_on_every_avatar_misses_nothing_and_moves_no_hair(assets, name):
    avatar = sample(name) if name in SAMPLES else load(assets / AVATARS[name])
    kinds = ("vrma/*.vrma", "bvh/*.bvh", "unity-chan/clips/*.glb", "kaykit/*.glb")
    clips = [clip for kind in kinds for path in sorted(assets.glob(kind)) for clip in load_clips(path)]
    assert len(clips) == 29
    for clip in clips:
        report = retarget(clip, avatar).report
        assert report.good, report
