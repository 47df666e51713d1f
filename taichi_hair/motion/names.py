"""Names of joints to humanoid roles: known families of rigs, and a mapping file for the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from ..avatar.errors import AssetError
from ..avatar.skeleton import Skeleton
from ..avatar.vrm import BONES, REQUIRED_BONES

# Rig makers name the eight joints of a side in a handful of ways. Words are compared without case and separators.
_LIMBS = ("Shoulder", "UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot", "Toes")
FAMILIES: dict[str, tuple[tuple[str, ...], ...]] = {
    "Mixamo, Unity-chan, CMU (Motionbuilder-friendly)": (
        ("shoulder",),
        ("arm",),
        ("forearm",),
        ("hand",),
        ("upleg",),
        ("leg",),
        ("foot",),
        ("toebase", "toe", "toes"),
    ),
    "CMU (Poser), classic BVH": (
        ("collar",),
        ("shoulder",),
        ("elbow",),
        ("wrist",),
        ("hip",),
        ("knee",),
        ("ankle",),
        ("toe", "toes"),
    ),
    "Universal Animation Library, Unreal": (
        ("clavicle",),
        ("upperarm",),
        ("lowerarm",),
        ("hand",),
        ("thigh",),
        ("calf",),
        ("foot",),
        ("ball",),
    ),
    "KayKit, Quaternius, VRoid": (
        ("shoulder",),
        ("upperarm",),
        ("lowerarm",),
        ("hand", "wrist"),
        ("upperleg",),
        ("lowerleg",),
        ("foot",),
        ("toes", "toebase", "toe"),
    ),
    "mocopi": (
        ("shoulder",),
        ("uparm",),
        ("lowarm",),
        ("hand",),
        ("upleg",),
        ("lowleg",),
        ("foot",),
        ("toes",),
    ),
    "Biped, Rigify": (
        ("clavicle", "shoulder"),
        ("upperarm",),
        ("forearm",),
        ("hand",),
        ("thigh",),
        ("calf", "shin"),
        ("foot",),
        ("toe0", "toe", "toes"),
    ),
}
_HIPS = ("hips", "pelvis", "hip", "root")
_SPINE = re.compile(r"(waist|lowerback|abdomen|torso\d*|spine\d*|chest\d*|upperchest|csbvh)$")
_NECK = re.compile(r"(lowerneck|neck\d*)$")
_PREFIX = re.compile(r"^(mixamorig\d*[:_]?|unitychan_|j_bip_(c_)?|bip0*1[ _]|valvebiped\.|def-|org-|.*:)", re.I)
_SIDES = (
    re.compile(r"^(?P<side>left|right)[_ .\-]*(?P<part>.+)$", re.I),
    re.compile(r"^(?P<part>.+?)[_ .\-]*(?P<side>left|right)$", re.I),
    re.compile(r"^(?P<side>l|r)[_ .\-]+(?P<part>.+)$", re.I),
    re.compile(r"^(?P<part>.+?)[_ .\-]+(?P<side>l|r)$", re.I),
    re.compile(r"^(?P<side>L|R)(?P<part>[A-Z].*)$"),
)
_FINGER = re.compile(
    r"^(?:hand)?(thumb|index|middle|ring|pinky|little)(?:finger)?0?([123]|metacarpal|proximal|intermediate|distal)$"
)
_PARTS = {"thumb": ("Metacarpal", "Proximal", "Distal"), "": ("Proximal", "Intermediate", "Distal")}


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def split(name: str) -> tuple[str, str]:
    """("left", "right" or "", part in small letters without separators) of a joint's name."""
    name = _PREFIX.sub("", name.strip())
    for pattern in _SIDES:
        match = pattern.match(name)
        if match:
            return ("left" if match["side"].lower().startswith("l") else "right"), _plain(match["part"])
    return "", _plain(name)


def _finger(side: str, part: str) -> str | None:
    match = _FINGER.match(part)
    if not match or not side:
        return None
    finger, place = match[1], match[2]
    if place.isdigit():
        place = _PARTS.get(finger, _PARTS[""])[int(place) - 1]
    role = f"{side}{'Little' if finger in ('pinky', 'little') else finger.title()}{place.title()}"
    return role if role in BONES else None


def roles_of(skeleton: Skeleton, preferred: frozenset[int] = frozenset()) -> dict[str, int]:
    """Role -> node by names alone; the family that explains most joints counts. Empty where no family has hips.

    Where several joints fit one role, a preferred one is taken, else the one nearest to the root. A spine of more than
    three joints gives its first, middle and last.
    """
    parsed = [split(name) for name in skeleton.names]
    order = sorted((int(n) for n in skeleton.order), key=lambda n: n not in preferred)  # stable: parents stay first
    best: dict[str, int] = {}
    for family in FAMILIES.values():
        found: dict[str, int] = {}
        for words, limb in zip(family, _LIMBS, strict=True):
            for word in reversed(words):  # the first word is the best fit, so it is set last
                for node in reversed(order):
                    side, part = parsed[node]
                    if side and part == word:
                        found[f"{side}{limb}"] = node
        if len(found) > len(best):
            best = found
    hips = _hips(parsed, order, best, skeleton)
    if hips is None:
        return {}
    roles = {"hips": hips, **best}
    _add_trunk(skeleton, parsed, order, roles)
    for node in reversed(order):
        role = _finger(*parsed[node])
        if role:
            roles[role] = node
    return {role: node for role, node in roles.items() if role == "hips" or _above(skeleton, node, hips)}


def _above(skeleton: Skeleton, node: int, wanted: int) -> bool:
    """Whether `wanted` is an ancestor of a node."""
    while node >= 0:
        node = int(skeleton.parents[node])
        if node == wanted:
            return True
    return False


def _hips(parsed, order, limbs: dict[str, int], skeleton: Skeleton) -> int | None:
    for word in _HIPS:
        for node in order:
            if parsed[node] == ("", word):
                legs = [limbs[r] for r in ("leftUpperLeg", "rightUpperLeg") if r in limbs]
                if legs and all(_above(skeleton, leg, node) for leg in legs):
                    return node
    return None


def _add_trunk(skeleton: Skeleton, parsed, order, roles: dict[str, int]) -> None:
    """Spine, chest, upper chest, neck and head, where they lie on the way from the hips to the head."""
    heads = [n for n in order if parsed[n] == ("", "head") and _above(skeleton, n, roles["hips"])]
    if not heads:
        return
    roles["head"] = heads[0]
    line = []
    node = int(skeleton.parents[heads[0]])
    while node >= 0 and node != roles["hips"]:
        line.insert(0, node)
        node = int(skeleton.parents[node])
    spine = [n for n in line if not parsed[n][0] and _SPINE.match(parsed[n][1])]
    neck = [n for n in line if not parsed[n][0] and _NECK.match(parsed[n][1])]
    if spine:
        roles["spine"] = spine[0]
    if len(spine) == 2:
        roles["chest"] = spine[1]
    elif len(spine) > 2:
        roles["chest"], roles["upperChest"] = spine[len(spine) // 2], spine[-1]
    if neck:
        roles["neck"] = neck[-1]


def read_mapping(path) -> dict[str, str]:
    """Role -> joint name from a JSON file: one object whose keys are VRM 1.0 roles."""
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as why:
        raise AssetError(str(path), "file", why.strerror or str(why), "a JSON file of roles and joint names") from None
    except ValueError as why:
        raise AssetError(str(path), "JSON", f"text that does not parse ({why})", "one JSON object") from None
    if not isinstance(content, dict) or not all(isinstance(v, str) for v in content.values()):
        raise AssetError(str(path), "JSON", "something else", 'an object such as {"hips": "Pelvis", ...}')
    return content


def mapped_roles(skeleton: Skeleton, mapping: Mapping[str, str] | str | Path, file: str) -> dict[str, int]:
    """Role -> node of a mapping (role -> joint name) or of a mapping file, checked against a skeleton."""
    names = dict(mapping) if isinstance(mapping, Mapping) else read_mapping(mapping)
    roles: dict[str, int] = {}
    for role, name in names.items():
        if role not in BONES:
            raise AssetError(file, "mapping", f"the role {role!r}", f"VRM 1.0 roles such as {', '.join(BONES[:4])}")
        nodes = [i for i, n in enumerate(skeleton.names) if n == name]
        if len(nodes) != 1:
            raise AssetError(file, f"mapping of {role}", f"{len(nodes)} joints named {name!r}", "exactly one")
        if nodes[0] in roles.values():
            raise AssetError(file, f"mapping of {role}", f"{name!r}, which has another role too", "each joint once")
        roles[role] = nodes[0]
    return roles


def missing_required(roles: Mapping[str, int]) -> tuple[str, ...]:
    """Roles that every humanoid must have and this one has not."""
    return tuple(role for role in REQUIRED_BONES if role not in roles)
