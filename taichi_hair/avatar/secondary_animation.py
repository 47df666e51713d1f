"""VRM 0.x: humanoid, secondaryAnimation and first person in VRM 1.0 terms, and the half turn that makes it face +z."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .. import rotations
from ..hair import Collider, HairRig
from .document import Document
from .fields import Item, describe
from .nodes import label
from .skeleton import Skeleton
from .springs import Spring, SpringJoint
from .vrm import BONES, checked_humanoid, colliders_of, note_gravity, settings

END_LENGTH = 0.07  # metres: VRM 0.x lets a joint without children swing as if it were this long
DEFAULTS = (1.0, 0.4, 0.0, 0.02)  # UniVRM's VRMSpringBone component: stiffness, drag, gravity power, hit radius
HALF_TURN = np.array([0.0, 1.0, 0.0, 0.0])
# VRM 0.x names the thumb's bones one further out than VRM 1.0 does.
_THUMBS = {
    f"{side}Thumb{old}": f"{side}Thumb{new}"
    for side in ("left", "right")
    for old, new in (("Proximal", "Metacarpal"), ("Intermediate", "Proximal"))
}
_FIRST_PERSON = {
    "Auto": "auto",
    "Both": "both",
    "ThirdPersonOnly": "thirdPersonOnly",
    "FirstPersonOnly": "firstPersonOnly",
}


@dataclass(eq=False)
class Old:
    """A VRM 0.x avatar's extras. Colliders and gravity are in the file's axes until `turned`."""

    humanoid: dict[str, int]
    first_person: dict[int, str]
    groups: list[tuple[Item, list[Spring], tuple[int, ...]]] = field(default_factory=list)
    colliders: list[Collider] = field(default_factory=list)

    def springs(self, first: int) -> list[Spring]:
        """Springs of all bone groups; their collider numbers count from `first`."""
        return [
            replace(spring, colliders=tuple(first + c for c in own))
            for _, springs, own in self.groups
            for spring in springs
        ]

    def turned(self, hair: HairRig) -> HairRig:
        """The rig with world directions (gravity) turned as the avatar was."""
        chains = [replace(c, gravity_dir=rotations.rotate(HALF_TURN, c.gravity_dir)) for c in hair.chains]
        return hair.with_chains(chains)


def face_forward(document: Document, skeleton: Skeleton) -> Skeleton:
    """The skeleton with its roots turned by half a revolution about y: VRM 0.x avatars face -z in their file."""
    roots = skeleton.parents < 0
    translations, turns = skeleton.translations.copy(), skeleton.rotations.copy()
    translations[roots] = rotations.rotate(HALF_TURN, translations[roots])
    turns[roots] = rotations.multiply(HALF_TURN, turns[roots])
    return replace(skeleton, translations=translations, rotations=turns)


def read_vrm0(document: Document, skeleton: Skeleton, vrm: Item) -> Old:
    """Humanoid map, bone groups and collider groups of the VRM 0.x extension."""
    document.log.note("VRM", "a VRM 0.x avatar faces -z in its file; its roots were turned so that it faces +z")
    old = Old(_humanoid(document, skeleton, vrm), _first_person(document, vrm))
    secondary = vrm.child("secondaryAnimation")
    if secondary is None:
        return old
    members = []
    for group in secondary.children("colliderGroups"):
        members.append(_colliders(document, skeleton, group, old.colliders))
    for group in secondary.children("boneGroups"):
        old.groups.append((group, *_bone_group(document, skeleton, group, members)))
    return old


def _humanoid(document: Document, skeleton: Skeleton, vrm: Item) -> dict[str, int]:
    humanoid = vrm.child("humanoid")
    found: dict[str, int] = {}
    for item in humanoid.children("humanBones") if humanoid is not None else ():
        role = item.text("bone")
        role = _THUMBS.get(role, role)
        node = item.integer("node", -1, low=-1, below=len(skeleton))
        if role not in BONES:
            document.log.warn(item.where, f"{describe(role)} is no human bone; left out")
        elif node >= 0:
            if role in found:
                document.log.warn(item.where, f"maps {role} a second time; the first one is kept")
            found.setdefault(role, node)
    return checked_humanoid(document, skeleton, found)


def _first_person(document: Document, vrm: Item) -> dict[int, str]:
    """Node -> flag; VRM 0.x states it per mesh, for every node that holds the mesh."""
    first = vrm.child("firstPerson")
    by_mesh = {}
    for item in first.children("meshAnnotations") if first is not None else ():
        flag = item.text("firstPersonFlag", "Auto")
        mesh = item.integer("mesh", -1, low=-1, below=len(document.items("meshes")))
        by_mesh[mesh] = _FIRST_PERSON.get(flag, "auto")
        if flag not in _FIRST_PERSON:
            document.log.warn(item.where, f"{describe(flag)} is no first-person flag; taken as auto")
    flags = {}
    for node, item in enumerate(document.items("nodes")):
        mesh = item.integer("mesh", None)
        if mesh in by_mesh:
            flags[node] = by_mesh[mesh]
    return flags


def _vector(item: Item, key: str, default) -> np.ndarray:
    """{x, y, z} in Unity's left-handed axes as glTF's: z the other way."""
    vector = item.child(key)
    if vector is None:
        return np.array(default, dtype=np.float64)
    return np.array([vector.number("x", 0.0), vector.number("y", 0.0), -vector.number("z", 0.0)])


def _colliders(document: Document, skeleton: Skeleton, group: Item, colliders: list[Collider]) -> list[int]:
    node = group.integer("node", -1, low=-1, below=len(skeleton))
    own = []
    for item in group.children("colliders"):
        if node < 0:
            document.log.warn(group.where, "a collider group without a node; left out")
            return []
        radius = item.number("radius", 0.0)
        if radius < 0.0:
            document.log.warn(item.where, f"radius {radius:g} is negative; taken as 0")
        own.append(len(colliders))
        name = f"{group.where.rpartition('.')[2]} on {skeleton.names[node] or node}"
        colliders.append(Collider(name, node, "sphere", _vector(item, "offset", (0, 0, 0)), max(radius, 0.0)))
    return own


def _bone_group(document: Document, skeleton: Skeleton, group: Item, members) -> tuple[list[Spring], tuple[int, ...]]:
    """Springs of one bone group (each root and every descendant swings) and its collider numbers."""
    name = group.text("comment")
    listed = group.value.get("bones")
    if isinstance(listed, list) and -1 in listed:
        document.log.warn(group.where, "a root bone is -1; left out")
        listed = [root for root in listed if root != -1]
    roots = Item({"bones": listed}, group.where, group.file).indices("bones", len(skeleton))
    if not roots:
        document.log.note(group.where, f"the bone group has no bones ({name!r}); nothing of it moves")
        return [], ()
    keys = ("stiffiness", "dragForce", "gravityPower", "hitRadius")  # the first is spelled so in the specification
    values = settings(document, group, keys, DEFAULTS)
    if not group.has("stiffiness") and group.has("stiffness"):
        values[0] = settings(document, group, ("stiffness",), (DEFAULTS[0],))[0]
    gravity = _vector(group, "gravityDir", (0.0, -1.0, 0.0))
    note_gravity(document, group, gravity, values[2])
    center = group.integer("center", -1, low=-1, below=len(skeleton))
    own = colliders_of(document, group, members)
    joint = SpringJoint(-1, values[0], values[1], values[2], gravity, values[3])
    springs = []
    for root in dict.fromkeys(roots):
        springs.extend(_from_root(document, skeleton, group, name, root, joint, center))
    return springs, own


def _from_root(document, skeleton: Skeleton, group: Item, name: str, root: int, joint: SpringJoint, center: int):
    """A spring for the line of first children below a root, and one for every branch off it, carriers first.

    UniVRM 0.x lets every bone below the root swing, aimed at its first child; one without children swings as if
    a child lay 7 cm on, along the line from its parent.
    """
    springs = []
    starts = [root]
    for start in starts:  # grows while it is walked
        line = [start]
        while skeleton.children[line[-1]]:
            starts.extend(skeleton.children[line[-1]][1:])
            line.append(skeleton.children[line[-1]][0])
        joints = tuple(replace(joint, node=node) for node in line)
        title = f"{name} {skeleton.names[start] or start}".strip()
        springs.append(Spring(group.where, title, joints, (), center, _end(document, skeleton, group, line[-1])))
    return springs


def _end(document: Document, skeleton: Skeleton, group: Item, node: int) -> np.ndarray:
    """(3,) end of a joint without children, in its own frame."""
    world = skeleton.rest_world[node]
    parent = int(skeleton.parents[node])
    along = world[:3, 3] - (skeleton.rest_world[parent][:3, 3] if parent >= 0 else 0.0)
    length = np.linalg.norm(along)
    if parent < 0 or length < 1e-9:
        document.log.warn(
            group.where, f"{label(skeleton, node)} ends a line and lies on its parent; its end hangs straight down"
        )
        along, length = np.array([0.0, -1.0, 0.0]), 1.0
    along = along / length * END_LENGTH
    linear = world[:3, :3]
    if np.linalg.matrix_rank(linear) < 3:
        return along
    return np.linalg.solve(linear, along)
