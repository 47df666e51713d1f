"""retarget(): a clip on another avatar, in world space between rest poses, joint by humanoid role."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np

from .. import rotations
from ..avatar.avatar import Avatar
from ..avatar.errors import AssetError
from ..avatar.vrm import REQUIRED_BONES
from .authored import authored_tracks
from .clip import Clip
from .names import mapped_roles, missing_required, roles_of
from .played import Plan, Retargeted, RetargetReport
from .rest import body_axes, limb_turns, stance

TRAVEL = ("keep", "remove", "close")
TRUNK = ("hips", "spine", "chest", "upperChest")  # in this order from the pelvis up
FLOOR_SAMPLES = 240  # poses that tell where the floor of a clip is
FLAT = float(np.cos(np.radians(15.0)))  # a foot tilted by less stands on its sole
SINK = 0.01  # share of the hips' height that feet may sink below a clip's floor before the clip is raised
SLOW = 0.1  # hips' heights a second: an ankle that rises or sinks faster does not stand


def retarget(
    clip: Clip,
    avatar: Avatar,
    *,
    travel: str = "keep",
    loop: bool | None = None,
    mapping: Mapping[str, str] | str | Path | None = None,
    authored: bool = True,
    constraints: bool = True,
    ground: bool = True,
) -> Retargeted:
    """The motion of a clip on an avatar: a pure function of time that obeys the avatar's own node constraints.

    Each joint turns in the world as its counterpart does, measured from the two rest poses; joints that the clip lacks
    keep their rest pose, a part of the spine that the avatar lacks is passed on to the part below it. Hips move in
    proportion to their height. No hair joint is moved by the transfer.

    travel: "keep" the horizontal way, "remove" it (the hips stay over their place), or "close" it (only what is left
    over after one round is taken out, of the way and of a cycle's pose, so that a cycle ends exactly as it began).
    loop: whether time wraps at the clip's end; by default it does where the clip is a cycle. mapping: role -> joint
    name of the avatar (or a JSON file of that), for avatars without a humanoid map whose names are not known.
    authored: follow the clip's own tracks on chains of this avatar that the clip keys, see `Retargeted.rig`.
    constraints: evaluate the avatar's node constraints. ground: where limbs have other proportions, move the hips up or
    down so that feet and knees are as far from the floor as the clip's.
    """
    if travel not in TRAVEL:
        raise ValueError(f"travel: found {travel!r}, wanted one of {', '.join(TRAVEL)}")
    roles, own = avatar_roles(avatar, mapping), clip.humanoid
    notes = list(clip.notes)
    if "hips" not in own:
        raise AssetError(clip.file, clip.name, "no joint that is known as the hips", "a humanoid, or a mapping file")
    report = RetargetReport(clip.name, avatar.name, clip.seconds, missing_required(own))
    source, target = clip.skeleton, avatar.skeleton
    axes_s, axes_t = body_axes(source, own), body_axes(target, roles)
    facing = rotations.from_matrix(axes_t @ axes_s.T)
    turns = limb_turns(source, own, target, roles, facing)
    if turns:
        degrees = max(np.degrees(rotations.angle(q)) for q in turns.values())
        notes.append(
            f"limbs at rest differ by up to {degrees:.0f} degrees; they were brought together before comparing"
        )
    pairs, passed = _pairs(own, roles)
    if passed:
        notes.append("joints the avatar lacks, passed on to their parents: " + ", ".join(passed))
    hair = set(int(j) for j in avatar.hair.joints)
    on_hair = [role for role, _, node in pairs if node in hair]
    if on_hair:
        raise AssetError(avatar.file, "humanoid", f"{', '.join(on_hair)} on hair joints", "body joints of their own")
    plan = _plan(clip, avatar, own, roles, pairs, facing, turns, ground, notes)
    tracks = authored_tracks(clip, avatar, roles) if authored else {}
    if tracks:
        names = ", ".join(avatar.hair.chains[c].name for c in tracks)
        notes.append(f"the clip itself animates {names}; the simulation yields to it there")
    motion = Retargeted(
        name=clip.name,
        seconds=clip.seconds,
        clip=clip,
        avatar=avatar,
        loop=bool(loop),
        travel=travel,
        plan=plan,
        authored=tracks,
        constraints=avatar.constraints if constraints else (),
        notes=tuple(notes),
        report=report,
    )
    return motion.finished(loop)


def avatar_roles(avatar: Avatar, mapping: Mapping[str, str] | str | Path | None = None) -> dict[str, int]:
    """Role -> node of an avatar: its humanoid map, a mapping, or its joints' names; required joints must be there."""
    if mapping is not None:
        roles = mapped_roles(avatar.skeleton, mapping, avatar.file)
    elif avatar.humanoid:
        roles = dict(avatar.humanoid)
    else:
        roles = roles_of(avatar.skeleton, body_joints(avatar))
    missing = missing_required(roles)
    if missing:
        found = f"no joint for {', '.join(missing)}" if roles else "no humanoid map, and joint names of no known rig"
        raise AssetError(avatar.file, "humanoid", found, f"all of {', '.join(REQUIRED_BONES)}, or a mapping file")
    return roles


def body_joints(avatar: Avatar) -> frozenset[int]:
    """Joints of the skin that moves most joints: the body's, where hair or clothes bring a skeleton of their own."""
    sizes = [len(set(skin.joints.tolist())) for skin in avatar.skins]
    return frozenset(avatar.skins[int(np.argmax(sizes))].joints.tolist()) if sizes else frozenset()


def _pairs(own: dict[str, int], roles: dict[str, int]) -> tuple[list[tuple[str, int, int]], list[str]]:
    """(role, source node, target node) of what is transferred, and the roles passed on to a parent."""
    source = dict(own)
    passed = []
    for lower, upper in reversed(list(pairwise(TRUNK))):
        if upper in source and upper not in roles:
            passed.append(upper)
            if lower != "hips":
                source[lower] = source[upper]
    return [(role, source[role], node) for role, node in roles.items() if role in source], passed


def _plan(clip, avatar, own, roles, pairs, facing, turns, ground, notes) -> Plan:
    source, target = clip.skeleton, avatar.skeleton
    here, there = stance(source, own, facing, turns), stance(target, roles, rotations.IDENTITY, {})
    rest = here.pelvis.copy()
    known = clip.floor is not None and rest[1] > 1e-6
    if known:
        scale, floor, ankle = there.pelvis[1] / rest[1], 0.0, here.ankle
    else:
        scale = there.drop / here.drop if here.drop and there.drop else 1.0
        ankle = there.ankle / scale
        floor = 0.0
    if not there.pelvis[1] > 1e-6:
        scale = there.drop / here.drop if here.drop and there.drop else 1.0
    s_world = rotations.from_matrix(source.rest_world[[s for _, s, _ in pairs]])
    t_world = rotations.from_matrix(target.rest_world[[t for _, _, t in pairs]])
    post = rotations.multiply(rotations.inverse(s_world), rotations.inverse(facing))
    post = rotations.multiply(post, np.array([turns.get(role, rotations.IDENTITY) for role, _, _ in pairs]))
    post = rotations.multiply(post, t_world)
    plan = Plan.build(clip, avatar, own, roles, pairs, facing, post, scale, here, there, ground)
    times = np.linspace(0.0, clip.seconds, FLOOR_SAMPLES)
    world, _ = plan.source_world(times, False)
    places = plan.points_of(world)
    ankles = places[:, list(plan.ankles_s), 1].min(axis=1) if plan.ankles_s else np.zeros(len(times))
    if known:
        slow = SLOW * rest[1] * (times[1] - times[0])
        sunk = _sunk(plan, world, ankles - ankle, slow) if ground and plan.ankles_s else 0.0
        if sunk < -SINK * rest[1]:
            notes.append(f"the clip's feet stand {-100 * sunk:.0f} cm below its floor; it was raised by that")
            return plan.placed(rest, sunk, ankle, sunk)
        return plan.placed(rest, 0.0, ankle)
    # The file does not say where the floor is: the lowest its ankles come (but for one pose in a hundred) tells.
    if plan.ankles_s:
        floor = float(np.percentile(ankles, 1.0)) - ankle
    first = places[0, 0]
    return plan.placed(np.array([first[0], floor + there.pelvis[1] / scale, first[2]]), floor, ankle)


def _sunk(plan: Plan, world: np.ndarray, clearance: np.ndarray, slow: float) -> float:
    """Metres above the floor at which the lower ankle stands, over its height at rest, while that foot is flat.

    A foot that lies on its side, stands on its toes or goes up or down by more than `slow` metres from one pose to the
    next says nothing. 0 where no foot ever stands.
    """
    nodes = plan.probes[list(plan.ankles_s)]
    up = rotations.rotate(rotations.inverse(plan.facing), np.array([0.0, 1.0, 0.0]))
    rest = rotations.from_matrix(plan.clip.skeleton.rest_world[plan.needed[nodes]])
    turn = rotations.multiply(rotations.from_matrix(world[:, nodes]), rotations.inverse(rest))
    tilt = np.sum(rotations.rotate(turn, up) * up, axis=-1)  # (T, feet) cosine
    height = world[:, nodes][..., :3, 3] @ up
    lower = np.argmin(height, axis=1)[:, None]
    speed = np.abs(np.gradient(height, axis=0))
    stands = np.take_along_axis((tilt > FLAT) & (speed < slow), lower, axis=1)[:, 0]
    return float(np.percentile(clearance[stands], 5.0)) if stands.sum() >= 5 else 0.0
