"""The fit of colliders to the visible body: what it measures, what it leaves alone, and that it knows no names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import taichi_hair as th
from taichi_hair.avatar.skeleton import Skeleton
from taichi_hair.hair import HairRig
from taichi_hair.rig.body import SHOULDERS, TORSO, surfaces
from taichi_hair.rig.coverage import build_of, distance, placed

TRUNK = TORSO + SHOULDERS


@pytest.fixture(scope="module")
def avatar():
    return th.sample("layered")


@pytest.fixture(scope="module")
def rig(avatar):
    return th.fit_colliders(avatar)


def radii(rig: HairRig) -> dict[str, float]:
    return {rig.colliders[b].name: fitted for b, (_, fitted) in rig.fit.radii.items()}


def thicker(avatar, by: float):
    """The same avatar with trunk cloth and skin moved out along its normals by `by` metres."""
    skins = surfaces(avatar, avatar.hair)
    wanted = skins.of((*TRUNK, "leftUpperArm", "rightUpperArm"))
    parts, first = list(avatar.parts), 0
    for k in skins.parts:
        part = parts[k]
        mine = wanted[first : first + len(part.positions)]
        parts[k] = replace(part, positions=part.positions + by * mine[:, None] * part.normals)
        first += len(part.positions)
    return replace(avatar, parts=tuple(parts))


def scaled(avatar, size: float):
    """The same avatar in other units: everything `size` times as large."""
    s = avatar.skeleton
    skeleton = Skeleton(s.names, s.parents, s.translations * size, s.rotations, s.scales, s.listed)
    skins = []
    for skin in avatar.skins:
        inverse = skin.inverse_bind.copy()
        inverse[:, :3, 3] *= size
        skins.append(replace(skin, inverse_bind=inverse))
    parts = tuple(replace(p, positions=p.positions * size) for p in avatar.parts)
    colliders = tuple(
        replace(c, offset=c.offset * size, radius=c.radius * size, tail=None if c.tail is None else c.tail * size)
        for c in avatar.hair.colliders
    )
    chains = tuple(replace(c, tails=c.tails * size, hit_radius=c.hit_radius * size) for c in avatar.hair.chains)
    return replace(avatar, skeleton=skeleton, skins=tuple(skins), parts=parts, hair=HairRig(chains, colliders))


def stands_out(avatar, rig, chains_of_whole=True) -> float:
    """Metres by which the 95th percentile of the trunk's cloth stands out of the colliders that whole chains meet."""
    skins = surfaces(avatar, avatar.hair)
    points = skins.positions()[skins.of(("upperChest", "chest", *SHOULDERS))]
    chosen = sorted({b for c in rig.fit.whole for b in rig.chains[c].colliders})
    solids = [placed(avatar, rig.colliders[b], avatar.skeleton.rest_world) for b in chosen]
    return float(np.percentile(np.min([distance(points, *s) for s in solids], axis=0), 95))


def test_colliders_cover_what_is_visible(avatar, rig):
    authored = replace(rig, chains=tuple(avatar.hair.chains), colliders=avatar.hair.colliders)
    before, after = stands_out(avatar, authored), stands_out(avatar, rig)
    assert before > 0.02
    assert after < 0.5 * before and after < 0.012


def test_bangs_and_what_cannot_reach_stay_as_they_were(avatar, rig):
    """The three bangs end above the eyes; the long locks, sides and back reach the shoulders."""
    lengths = [np.linalg.norm(c.tails, axis=1).sum() for c in avatar.hair.chains]
    for k, (old, new) in enumerate(zip(avatar.hair.chains, rig.chains, strict=True)):
        if k in rig.fit.whole:
            assert lengths[k] > 0.1
            assert len(new.colliders) >= len(old.colliders)
            assert any(b >= len(avatar.hair.colliders) for b in new.colliders)
        else:
            assert new is old
    assert rig.fit.whole == tuple(range(3, 12))
    assert rig.colliders[: len(avatar.hair.colliders)] == avatar.hair.colliders


def test_everything_is_restored_exactly(avatar, rig):
    assert rig.restored is avatar.hair
    again = th.fit_colliders(avatar, rig)
    assert again.restored is avatar.hair and radii(again) == radii(rig)
    assert avatar.hair.restored is avatar.hair


def test_bounds_are_tied_to_the_size_of_the_body(avatar, rig):
    size = build_of(avatar).size
    for authored, fitted in rig.fit.radii.values():
        assert -0.03 * size - 1e-9 <= fitted - authored <= 0.05 * size + 1e-9


def test_renamed_bones_change_nothing(avatar, rig):
    names = tuple(f"x{k * 7919 % 1000}" for k in range(len(avatar.skeleton)))
    hair = replace(
        avatar.hair,
        chains=tuple(replace(c, name=f"q{k}") for k, c in enumerate(avatar.hair.chains)),
        colliders=tuple(replace(c, name=f"r{k}") for k, c in enumerate(avatar.hair.colliders)),
    )
    parts = tuple(replace(p, name=f"m{k}") for k, p in enumerate(avatar.parts))
    other = replace(avatar, name="y", skeleton=replace(avatar.skeleton, names=names), parts=parts, hair=hair)
    found = th.fit_colliders(other)
    assert found.fit.radii == rig.fit.radii and found.fit.whole == rig.fit.whole
    assert [c.colliders for c in found.chains] == [c.colliders for c in rig.chains]


@pytest.mark.parametrize("size", [0.1, 10.0])
def test_scale_changes_nothing_but_scale(avatar, rig, size):
    found = th.fit_colliders(scaled(avatar, size))
    assert found.fit.whole == rig.fit.whole
    assert len(found.colliders) == len(rig.colliders)
    for a, b in zip(found.colliders, rig.colliders, strict=True):
        assert a.radius == pytest.approx(size * b.radius, rel=1e-6)
    assert [c.colliders for c in found.chains] == [c.colliders for c in rig.chains]


def test_thick_and_thin_cloth_are_followed(avatar, rig):
    """Cloth 8 mm farther out or in: the radii around the chest follow, as far as their bounds allow."""
    start = replace(avatar, hair=replace(rig, fit=None))  # radii that already match leave room to both sides
    usual, thin, thick = (radii(th.fit_colliders(thicker(start, by))) for by in (0.0, -0.008, 0.008))
    names = [n for n in usual if n in thin and n in thick]
    assert len(names) >= 5
    grown = np.array([thick[n] - usual[n] for n in names])
    shrunk = np.array([usual[n] - thin[n] for n in names])
    assert (grown > -0.003).all() and (shrunk > -0.003).all()
    assert np.median(grown) > 0.002 and np.median(shrunk) > 0.002 and (grown + shrunk).max() < 0.03


def test_a_hidden_accessory_does_not_count(avatar, rig):
    """A pack on the chest that is not shown changes nothing; shown, it does."""
    k = next(
        i for i, p in enumerate(avatar.parts) if surfaces(avatar, avatar.hair).of(("upperChest",)).any() and i == 9
    )
    shirt = avatar.parts[k]
    pack = replace(shirt, positions=shirt.positions + 0.02 * shirt.normals)
    with_pack = replace(avatar, parts=(*avatar.parts, pack))
    hidden = th.fit_colliders(with_pack, hidden=(len(avatar.parts),))
    assert hidden.fit.radii == rig.fit.radii
    # The same where the file says so: a node of its own whose mesh only the wearer sees.
    worn = replace(with_pack, parts=(*avatar.parts, replace(pack, node=0)), first_person={0: "firstPersonOnly"})
    told = th.fit_colliders(worn)
    assert told.fit.radii == rig.fit.radii
    assert any("not shown (firstPersonOnly)" in line for line in told.fit.lines)
    assert radii(th.fit_colliders(replace(worn, first_person={0: "thirdPersonOnly"}))) != radii(rig)
    assert radii(th.fit_colliders(with_pack)) != radii(rig)


def test_missing_torso_coverage_is_added(avatar):
    """Without any collider on the trunk, capsules come from the body's bones; hair owns none of them."""
    head = tuple(c for c in avatar.hair.colliders if c.node == avatar.humanoid["head"])
    chains = tuple(replace(c, colliders=tuple(range(len(head)))) for c in avatar.hair.chains)
    rig = th.fit_colliders(avatar, HairRig(chains, head))
    roles = {role for role, node in avatar.humanoid.items() for b in rig.fit.added if rig.colliders[b].node == node}
    assert {"chest", "upperChest", "neck", "leftShoulder", "rightShoulder"} <= roles
    assert stands_out(avatar, rig) < 0.015
    assert 3 in rig.fit.whole and set(rig.fit.added) & set(rig.chains[3].colliders)


def test_missing_roles_keep_the_authors_settings_and_say_so(avatar):
    nameless = replace(avatar, humanoid={})
    rig = th.fit_colliders(nameless)
    assert rig.chains == avatar.hair.chains and rig.colliders == avatar.hair.colliders
    assert "stay as they are" in rig.fit.lines[0]
    some = {r: n for r, n in avatar.humanoid.items() if r not in ("leftShoulder", "leftUpperArm", "leftLowerArm")}
    rig = th.fit_colliders(replace(avatar, humanoid=some))
    assert any(line.startswith("leftShoulder: the avatar has no such bone") for line in rig.fit.lines)


def test_without_geometry_nothing_is_measured(avatar):
    bare = replace(avatar, parts=tuple(p for p in avatar.parts if p.name in ("face", "hair")))
    rig = th.fit_colliders(bare)
    assert not rig.fit.added
    assert any("too few to measure" in line for line in rig.fit.lines)


@pytest.mark.parametrize("name", ["seed-san/seed-san.vrm", "unity-chan/unitychan.vrm"])
def test_files_of_others(assets, name):
    avatar = th.load(assets / name)
    rig = th.fit_colliders(avatar)
    assert rig.fit.whole and rig.fit.radii
    assert all(np.isfinite(c.radius) and c.radius > 0.0 for c in rig.colliders)
    # Short chains at the front of the head keep what their author gave them.
    short = [k for k, c in enumerate(avatar.hair.chains) if len(c) == 1]
    assert short and not set(short) & set(rig.fit.whole)
