"""VRM 1.0: humanoid map, springs with colliders and limits, first-person flags, as plain records."""

from __future__ import annotations

import math

import numpy as np

from ..hair import Collider, Limit
from .document import Document
from .fields import Item, describe
from .nodes import label
from .own_shapes import with_extras
from .skeleton import Skeleton
from .springs import Spring, SpringJoint

REQUIRED_BONES = (
    "hips spine head leftUpperLeg leftLowerLeg leftFoot rightUpperLeg rightLowerLeg rightFoot "
    "leftUpperArm leftLowerArm leftHand rightUpperArm rightLowerArm rightHand"
).split()
_FINGERS = [
    f"{side}{finger}{part}"
    for side in ("left", "right")
    for finger, parts in (
        ("Thumb", ("Metacarpal", "Proximal", "Distal")),
        *((f, ("Proximal", "Intermediate", "Distal")) for f in ("Index", "Middle", "Ring", "Little")),
    )
    for part in parts
]
BONES = (
    *REQUIRED_BONES,
    *"chest upperChest neck leftEye rightEye jaw leftToes rightToes leftShoulder rightShoulder".split(),
    *_FINGERS,
)
FIRST_PERSON = ("auto", "both", "thirdPersonOnly", "firstPersonOnly")


def read_humanoid(document: Document, skeleton: Skeleton, vrm: Item) -> dict[str, int]:
    """Role -> node. What is missing, unknown or doubled is a warning that names it."""
    humanoid = vrm.child("humanoid")
    bones = humanoid.child("humanBones") if humanoid is not None else None
    found: dict[str, int] = {}
    for role in bones.value if bones is not None else ():
        if role not in BONES:
            document.log.warn(bones.where, f"{describe(role)} is no human bone of VRM 1.0; left out")
            continue
        bone = bones.child(role)
        node = bone.integer("node", -1, low=-1, below=len(skeleton)) if bone is not None else -1
        if node >= 0:
            found[role] = node
        else:
            document.log.warn(bones.where, f"{role} names no node; left out")
    return checked_humanoid(document, skeleton, found)


def checked_humanoid(document: Document, skeleton: Skeleton, found: dict[str, int]) -> dict[str, int]:
    """The map with each node once (a required role wins), with warnings for what is missing or doubled."""
    log = document.log
    missing = [role for role in REQUIRED_BONES if role not in found]
    if missing:
        log.warn("humanoid", "required human bones are missing: " + ", ".join(missing))
    owner: dict[int, str] = {}
    for role in sorted(found, key=lambda r: r not in REQUIRED_BONES):
        node = found[role]
        if node in owner:
            log.warn("humanoid", f"{label(skeleton, node)} is both {owner[node]} and {role}; kept as {owner[node]}")
        else:
            owner[node] = role
    kept = set(owner.values())
    return {role: node for role, node in found.items() if role in kept}


def read_first_person(document: Document, skeleton: Skeleton, vrm: Item) -> dict[int, str]:
    """Node that holds a mesh -> how first-person cameras show it."""
    first = vrm.child("firstPerson")
    flags: dict[int, str] = {}
    for item in first.children("meshAnnotations") if first is not None else ():
        kind = item.text("type", "auto")
        if kind not in FIRST_PERSON:
            document.log.warn(item.where, f"{describe(kind)} is no first-person type; taken as auto")
            kind = "auto"
        flags[item.integer("node", below=len(skeleton))] = kind
    return flags


def read_springs(document: Document, skeleton: Skeleton) -> tuple[list[Spring], list[Collider]]:
    """Springs and colliders of VRMC_springBone, in file order; faulty springs are left out with a warning."""
    root = document.root.extension("VRMC_springBone")
    if root is None:
        return [], []
    check_version(document, root, "VRMC_springBone", ("1.0", "1.0-beta"))
    groups = root.children("colliderGroups")
    colliders = [_collider(document, skeleton, item) for item in root.children("colliders")]
    place = {}
    for index, collider in enumerate(colliders):
        if collider is not None:
            place[index] = len(place)
    members = []
    for group in groups:
        own = group.indices("colliders", len(colliders))
        if not own:
            document.log.note(group.where, f"collider group {group.text('name')!r} is empty")
        members.append([place[i] for i in own if i in place])
    springs = []
    for item in root.children("springs"):
        spring = _spring(document, skeleton, item, members)
        if spring is not None:
            springs.append(spring)
    return springs, [c for c in colliders if c is not None]


def _spring(document: Document, skeleton: Skeleton, item: Item, members: list[list[int]]) -> Spring | None:
    name = item.text("name")
    joints = item.children("joints")
    if not joints:
        document.log.warn(item.where, f"spring {name!r} has no joints; left out")
        return None
    colliders = colliders_of(document, item, members)
    center = item.integer("center", -1, low=-1, below=len(skeleton))
    read = tuple(_joint(document, skeleton, joint, name) for joint in joints)
    if center >= 0 and center != read[0].node and _below(skeleton, center, {j.node for j in read}):
        document.log.warn(
            item.where,
            f"the center {label(skeleton, center)} of spring {name!r} hangs on its own joints; taken as none",
        )
        center = -1
    return Spring(item.where, name, read, colliders, center)


def colliders_of(document: Document, item: Item, members: list[list[int]]) -> tuple[int, ...]:
    """Colliders of the groups that an object lists under `colliderGroups`, in that order, each once."""
    groups = tuple(dict.fromkeys(item.indices("colliderGroups", len(members))))
    key = ("colliders", groups)
    if key not in document.cache:  # springs that list the same groups share one tuple
        document.charge(64 * sum(len(members[group]) for group in groups), item.where)
        document.cache[key] = tuple(dict.fromkeys(c for group in groups for c in members[group]))
    return document.cache[key]


def _below(skeleton: Skeleton, node: int, joints: set[int]) -> bool:
    while node >= 0 and node not in joints:
        node = int(skeleton.parents[node])
    return node >= 0


def _joint(document: Document, skeleton: Skeleton, item: Item, spring: str) -> SpringJoint:
    node = item.integer("node", below=len(skeleton))
    values = settings(document, item, ("stiffness", "dragForce", "gravityPower", "hitRadius"), (1.0, 0.5, 0.0, 0.0))
    gravity = item.vector("gravityDir", 3, (0.0, -1.0, 0.0))
    note_gravity(document, item, gravity, values[2])
    return SpringJoint(node, values[0], values[1], values[2], gravity, values[3], _limit(document, item))


def settings(document: Document, item: Item, keys, defaults) -> list[float]:
    """Stiffness, drag, gravity power and radius, brought into the range that the specification allows."""
    values = []
    for key, default in zip(keys, defaults, strict=True):
        value = item.number(key, default)
        low, high = (0.0, 1.0) if key == "dragForce" else (0.0, math.inf)
        if key == "gravityPower":  # a negative power lifts; people use it, nothing forbids it
            low = -math.inf
        if not low <= value <= high:
            document.log.warn(item.where, f"{key} {value:g} is outside {low:g} to {high:g}; brought inside")
            value = min(max(value, low), high)
        values.append(value)
    return values


def note_gravity(document: Document, item: Item, gravity: np.ndarray, power: float) -> None:
    """Say where the gravity direction's length, which scales the pull, is not 1."""
    length = float(np.linalg.norm(gravity))
    if power != 0.0 and abs(length - 1.0) > 1e-3:
        document.log.note(item.where, f"gravityDir has length {length:.4g}; it scales the pull, as in other runtimes")


def _limit(document: Document, item: Item) -> Limit | None:
    """VRMC_springBone_limit of a joint; the draft's angles are radians."""
    extension = item.extension("VRMC_springBone_limit")
    limit = extension.child("limit") if extension is not None else None
    if limit is None:
        return None
    for kind, keys in (("cone", ("angle",)), ("hinge", ("angle",)), ("spherical", ("pitch", "yaw"))):
        shape = limit.child(kind)
        if shape is None:
            continue
        rotation = shape.vector("rotation", 4, (0.0, 0.0, 0.0, 1.0))
        length = np.linalg.norm(rotation)
        if length < 1e-6:
            raise shape.error("rotation", "a quaternion of length 0", "a unit quaternion")
        highest = [math.pi, math.pi] if kind != "spherical" else [math.pi, math.pi / 2]
        angles = [shape.number(key, high) for key, high in zip(keys, highest, strict=False)]
        for key, angle, high in zip(keys, angles, highest, strict=False):
            if angle < 0.0:
                document.log.warn(shape.where, f"{key} {angle:g} is negative; taken as 0")
            elif angle > high:
                document.log.note(
                    shape.where, f"{key} {angle:g} is taken as {high:.4f}, the largest that has a meaning"
                )
        angles = tuple(min(max(a, 0.0), high) for a, high in zip(angles, highest, strict=False))
        return Limit(kind, rotation / length, angles)
    document.log.warn(limit.where, "is neither cone, hinge nor spherical; the joint is not limited")
    return None


def _collider(document: Document, skeleton: Skeleton, item: Item) -> Collider | None:
    """One collider; the extended shape takes the place of the base shape, which is its stand-in for old readers."""
    node = item.integer("node", below=len(skeleton))
    name = f"{item.where.rpartition('.')[2]} on {skeleton.names[node] or node}"
    extended = item.extension("VRMC_springBone_extended_collider")
    shape = extended.child("shape") if extended is not None else None
    if shape is not None:
        collider = _shape(document, shape, name, node, True)
        if collider is not None:
            return with_extras(document, item, collider)
    shape = item.child("shape")
    if shape is None:
        document.log.warn(item.where, "has no shape; left out")
        return None
    collider = _shape(document, shape, name, node, False)
    if collider is None:
        document.log.warn(item.where, "has neither a sphere nor a capsule; left out")
        return None
    return with_extras(document, item, collider)


def _shape(document: Document, shape: Item, name: str, node: int, extended: bool) -> Collider | None:
    sphere, capsule, plane = shape.child("sphere"), shape.child("capsule"), shape.child("plane")
    zero = (0.0, 0.0, 0.0)
    if sphere is not None:
        kind = "inside_sphere" if extended and sphere.flag("inside") else "sphere"
        return Collider(name, node, kind, sphere.vector("offset", 3, zero), _radius(document, sphere))
    if capsule is not None:
        kind = "inside_capsule" if extended and capsule.flag("inside") else "capsule"
        offset = capsule.vector("offset", 3, zero)
        tail = capsule.vector("tail", 3, zero)
        return Collider(name, node, kind, offset, _radius(document, capsule), tail=tail)
    if plane is not None and extended:
        normal = plane.vector("normal", 3, (0.0, 0.0, 1.0))
        length = np.linalg.norm(normal)
        if length < 1e-9:
            raise plane.error("normal", "a vector of length 0", "a direction")
        return Collider(name, node, "plane", plane.vector("offset", 3, zero), normal=normal / length)
    return None


def _radius(document: Document, shape: Item) -> float:
    radius = shape.number("radius", 0.0)
    if radius < 0.0:
        document.log.warn(shape.where, f"radius {radius:g} is negative; taken as 0")
    return max(radius, 0.0)


def check_version(document: Document, item: Item, name: str, known: tuple[str, ...]) -> None:
    """Say where an extension states a version that this reader does not know; it is read as the one it knows."""
    version = item.text("specVersion", "")
    if version and version not in known:
        document.log.warn(item.where, f"{name} has version {describe(version)}; read as {known[0]}")
