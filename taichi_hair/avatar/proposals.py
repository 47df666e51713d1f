"""Chains for files that name none: from node names that the user gives, or proposed by name and shape."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..hair import HairRig
from .description import Avatar
from .errors import AssetError, Log
from .nodes import label
from .skeleton import Skeleton
from .springs import Spring, SpringJoint, build_rig

HAIR = re.compile(
    r"hair|bangs?(?![a-z])|fringe|pony_?tail|twin_?tail|pig_?tail|side_?tail|braid|ahoge|forelock|sidelock|strand|"
    r"maegami|ushirogami|kami(?![a-z])|髪|毛|ポニー|ツインテ",
    re.IGNORECASE,
)
# Nodes of a head that are no hair, whatever hangs below them.
NOT_HAIR = re.compile(
    r"eye|jaw|teeth|tooth|tongue|mouth|lip|brow|lash|lid|cheek|nose|chin|face|head|neck|glass|hat|cap(?![a-z])|mask|"
    r"helmet|horn|ribbon|leaf|ik|target|pole|camera|socket|attach",
    re.IGNORECASE,
)
HEAD = re.compile(r"(?:^|[^a-z])head(?![a-z]*(?:top|end|band|set))", re.IGNORECASE)
STIFFNESS, DRAG, GRAVITY, RADIUS = 1.0, 0.4, 0.0, 0.01  # chosen: mid-range VRM values, radius of a thin lock in metres


@dataclass(frozen=True, eq=False)
class Proposal:
    """A row of nodes that may be a strand, root first, and why it is proposed."""

    name: str
    nodes: tuple[int, ...]
    reason: str
    length: float  # metres along the row


def propose_chains(avatar: Avatar) -> tuple[Proposal, ...]:
    """Rows of nodes that look like hair: named so, or hanging below the head in a line of three or more.

    Nothing is taken from them until `with_hair` is asked to. Nodes that a chain of the avatar moves already, and
    human bones, are never part of one.
    """
    skeleton = avatar.skeleton
    taken = set(avatar.humanoid.values()) | {int(n) for c in avatar.hair.chains for n in (*c.joints, *c.ends)}
    holders = {p.node for p in avatar.parts}
    head = _head(avatar)
    reach = _reach(skeleton, holders)
    found: list[Proposal] = []
    used: set[int] = set()
    for node in skeleton.order.tolist():
        if node in taken or node in used or node in holders:
            continue
        named = bool(HAIR.search(skeleton.names[node]))
        if not named and not (head is not None and int(skeleton.parents[node]) == head):
            continue
        row = _row(skeleton, node, taken | used, holders, reach)
        if len(row) < (2 if named else 3) or (not named and any(NOT_HAIR.search(skeleton.names[n]) for n in row)):
            continue
        length = _length(skeleton, row)
        if length < 1e-6:
            continue
        reason = "its name says hair" if named else f"a line of {len(row)} nodes below the head"
        found.append(Proposal(skeleton.names[node] or f"node {node}", tuple(row), reason, length))
        used.update(row)
    return tuple(found)


def with_hair(avatar: Avatar, hair: str | Sequence[str | int] | Sequence[Proposal] = "propose") -> Avatar:
    """The avatar with chains for a file that has none.

    `hair` is "propose", or proposals, or the names (or numbers) of the chains' first nodes; "first>last" names both
    ends.
    """
    if isinstance(hair, str):
        if hair != "propose":
            hair = [hair]
        else:
            hair = propose_chains(avatar)
            if not hair:
                wanted = "the names of the chains' first nodes"
                raise AssetError(avatar.file, "hair", "no node that looks like hair", wanted)
    log = Log()
    springs = [_spring(avatar, entry, i) for i, entry in enumerate(hair)]
    rig = build_rig(avatar.skeleton, springs, list(avatar.hair.colliders), log)
    added = _renumbered(rig, len(avatar.hair.chains))
    rig = HairRig((*avatar.hair.chains, *added), rig.colliders)
    notes = tuple(f"hair: chain {c.name!r} of {len(c)} segments was not in the file" for c in added)
    return replace(avatar, hair=rig, warnings=(*avatar.warnings, *log.warnings), notes=(*avatar.notes, *notes))


def _renumbered(rig: HairRig, shift: int):
    return [c if c.parent is None else replace(c, parent=(c.parent[0] + shift, c.parent[1])) for c in rig.chains]


def _spring(avatar: Avatar, entry, index: int) -> Spring:
    skeleton = avatar.skeleton
    if isinstance(entry, Proposal):
        row, name = list(entry.nodes), entry.name
    else:
        row = _named_row(avatar, entry)
        name = skeleton.names[row[0]] or f"node {row[0]}"
    joint = SpringJoint(-1, STIFFNESS, DRAG, GRAVITY, hit_radius=RADIUS)
    joints = tuple(replace(joint, node=node) for node in row)
    end = None
    if row[-1] in _weighted(avatar) and len(row) > 1:
        # The last node moves vertices of its own, so it must turn: its segment goes on as the one before it.
        end = _onward(skeleton, row)
    return Spring(f"hair[{index}]", name, joints, (), -1, end)


def _named_row(avatar: Avatar, entry) -> list[int]:
    skeleton = avatar.skeleton
    first, _, last = entry.partition(">") if isinstance(entry, str) else (entry, "", "")
    start = _node(avatar, first)
    if last:
        end = _node(avatar, last)
        row = [end]
        while row[-1] != start and skeleton.parents[row[-1]] >= 0:
            row.append(int(skeleton.parents[row[-1]]))
        if row[-1] != start:
            found = f"{label(skeleton, end)}, which is not below {label(skeleton, start)}"
            raise AssetError(avatar.file, f"hair {entry!r}", found, "first>last, the last one below the first")
        row.reverse()
    else:
        holders = {p.node for p in avatar.parts}
        row = _row(skeleton, start, set(), holders, _reach(skeleton, holders))
    if len(row) < 2:
        found = f"{label(skeleton, start)}, without a node below it"
        raise AssetError(avatar.file, f"hair {entry!r}", found, "a chain's first node")
    return row


def _node(avatar: Avatar, name) -> int:
    skeleton = avatar.skeleton
    if isinstance(name, (int, np.integer)):
        if not 0 <= name < len(skeleton):
            raise AssetError(avatar.file, "hair", f"node {name}", f"a node below {len(skeleton)}")
        return int(name)
    name = name.strip()
    found = [i for i, n in enumerate(skeleton.names) if n == name]
    if len(found) != 1:
        close = [n for n in skeleton.names if name.lower() in n.lower()][:5]
        hint = f"one node's name, such as {', '.join(close)}" if close else "the name of exactly one node"
        raise AssetError(avatar.file, "hair", f"{len(found)} nodes named {name!r}", hint)
    return found[0]


def _head(avatar: Avatar) -> int | None:
    if "head" in avatar.humanoid:
        return avatar.humanoid["head"]
    holders = {p.node for p in avatar.parts}
    named = [n for n, name in enumerate(avatar.skeleton.names) if HEAD.search(name) and n not in holders]
    return named[0] if named else None


def _row(skeleton: Skeleton, start: int, taken: set[int], holders: set[int], reach: np.ndarray) -> list[int]:
    """Nodes from `start` down, at a fork to the child with the longest line; nodes that hold meshes are passed by."""
    row = [start]
    while True:
        below = [c for c in skeleton.children[row[-1]] if c not in taken and c not in holders]
        if not below:
            return row
        row.append(max(below, key=lambda c: reach[c]))


def _reach(skeleton: Skeleton, holders: set[int]) -> np.ndarray:
    """(N,) number of nodes on the longest line from each node down, past nodes that hold meshes."""
    reach = np.ones(len(skeleton), dtype=np.int64)
    for node in skeleton.order[::-1].tolist():
        parent = int(skeleton.parents[node])
        if parent >= 0 and node not in holders:
            reach[parent] = max(reach[parent], reach[node] + 1)
    return reach


def _length(skeleton: Skeleton, row: Sequence[int]) -> float:
    places = skeleton.rest_world[list(row), :3, 3]
    return float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())


def _weighted(avatar: Avatar) -> set[int]:
    """Nodes that move some vertex."""
    nodes: set[int] = set()
    for part in avatar.parts:
        used = np.unique(part.joints[part.weights > 0.0])
        nodes.update(avatar.skins[part.skin].joints[used].tolist())
    return nodes


def _onward(skeleton: Skeleton, row: list[int]) -> np.ndarray | None:
    """(3,) point beyond the last node, in its frame, as far on as it is from the node before it."""
    world = skeleton.rest_world[row[-1]]
    along = world[:3, 3] - skeleton.rest_world[row[-2], :3, 3]
    if np.linalg.norm(along) < 1e-9 or np.linalg.matrix_rank(world[:3, :3]) < 3:
        return None
    return np.linalg.solve(world[:3, :3], along)
