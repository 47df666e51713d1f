"""A fitted rig on its avatar: new nodes at the end of the skeleton, new skins, the hair's parts re-weighted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import rotations
from ..avatar.description import Avatar, MeshPart, Skin
from ..avatar.skeleton import Skeleton
from ..avatar.skinning import skin_vertices
from ..hair import Chain, HairRig
from .surface import Surface
from .weights import as_influences

STRAYS = 0.05  # of a chain's weight: what may be left of it elsewhere when new chains take its place
SAME = 1e-7  # bind matrices that differ by less than this at a vertex, in metres, are the same


@dataclass(frozen=True, eq=False)
class NewChain:
    """A chain to be made: `places` (J + 1, 3) are its joints and its end in the rest pose, world metres."""

    name: str
    places: np.ndarray
    settings: dict  # stiffness, drag, gravity_power, gravity_dir, hit_radius per joint; colliders, center


def add_nodes(skeleton: Skeleton, node: int, chains) -> tuple[Skeleton, list[np.ndarray]]:
    """The skeleton with the chains' joints and ends appended, and per chain their nodes (J + 1,).

    New nodes have no rotation and no scale of their own: they keep the axes of the node that carries them.
    """
    names, parents = list(skeleton.names), skeleton.parents.tolist()
    moves = []
    carrier = skeleton.rest_world[node] if node >= 0 else np.eye(4)
    turn, shift = np.linalg.inv(carrier[:3, :3]), carrier[:3, 3]
    listed = None if skeleton.listed is None else [list(row) for row in skeleton.listed]
    rows = []
    taken = set(names)
    for chain in chains:
        row, parent, before = [], node, shift
        for index, place in enumerate(chain.places):
            name = f"{chain.name}_{index + 1}" if index < len(chain.places) - 1 else f"{chain.name}_end"
            while name in taken:
                name += "_"
            taken.add(name)
            number = len(names)
            names.append(name)
            parents.append(parent)
            moves.append(turn @ (place - before))
            if listed is not None:
                listed.append([])
                if parent >= 0:
                    listed[parent].append(number)
            row.append(number)
            parent, before = number, place
        rows.append(np.array(row))
    count = len(moves)
    longer = Skeleton(
        names=tuple(names),
        parents=np.array(parents, dtype=skeleton.parents.dtype),
        translations=np.concatenate([skeleton.translations, np.array(moves).reshape(-1, 3)]),
        rotations=np.concatenate([skeleton.rotations, np.tile(rotations.IDENTITY, (count, 1))]),
        scales=np.concatenate([skeleton.scales, np.ones((count, 3))]),
        listed=None if listed is None else tuple(tuple(row) for row in listed),
    )
    return longer, rows


def make_chain(new: NewChain, nodes: np.ndarray, skeleton: Skeleton, node: int) -> Chain:
    """The Chain of new nodes (J + 1,): joints and an end."""
    scale = float(np.cbrt(abs(np.linalg.det(skeleton.rest_world[nodes[0], :3, :3]))))
    settings = dict(new.settings)
    settings["hit_radius"] = np.asarray(settings["hit_radius"]) / max(scale, 1e-12)
    return Chain(
        name=new.name,
        joints=nodes[:-1].astype(np.int64),
        ends=nodes[1:].astype(np.int64),
        tails=skeleton.translations[nodes[1:]],
        attach=node,
        **settings,
    )


def reweighted(
    avatar: Avatar, skeleton: Skeleton, surface: Surface, weights: np.ndarray, nodes: np.ndarray
) -> tuple[tuple[Skin, ...], tuple[MeshPart, ...]]:
    """Skins and parts with the surface's vertices on `nodes` (C,), by a table (P, C) of weights of its points.

    Skins grow at the end and the mesh's other parts keep theirs: joint numbers in the file stay valid. All primitives
    of one mesh node share a skin, as glTF wants.
    """
    skins, parts = list(avatar.skins), list(avatar.parts)
    for holder in dict.fromkeys(avatar.parts[p].node for p in surface.parts):
        chosen = [k for k, p in enumerate(surface.parts) if avatar.parts[p].node == holder]
        old = avatar.skins[avatar.parts[surface.parts[chosen[0]]].skin]
        numbers, joints, binds = {}, list(np.asarray(old.joints)), list(np.asarray(old.inverse_bind))
        vertices = [surface.vertices[k] for k in chosen]
        base, baked = _common_bind(avatar, [surface.parts[k] for k in chosen], vertices, int(nodes[0]))
        for column, node in enumerate(nodes.tolist()):
            if column == 0 and node in joints:  # glTF wants each joint once, and the base is this one's bind
                numbers[column] = joints.index(node)
                continue
            numbers[column] = len(joints)
            joints.append(node)
            binds.append(np.linalg.solve(skeleton.rest_world[node], base) if node >= 0 else base)
        skins.append(Skin(np.array(joints, dtype=np.int64), np.array(binds)))
        new_skin = len(skins) - 1
        for k in chosen:
            index = surface.parts[k]
            parts[index] = _moved(avatar, index, surface, k, weights, numbers, new_skin, base, baked)
        for index, part in enumerate(avatar.parts):
            if part.node == holder and index not in surface.parts:
                parts[index] = replace(part, skin=new_skin)
    return tuple(skins), tuple(parts)


def _common_bind(avatar: Avatar, parts: list[int], vertices, head: int) -> tuple[np.ndarray, bool]:
    """The matrix (4, 4) of the head in the skin, else of the joint that weighs most; and whether it does not take all
    the vertices to the rest pose, so that their places must be stored anew."""
    skin = avatar.skins[avatar.parts[parts[0]].skin]
    matrices = avatar.skeleton.rest_world[skin.joints] @ skin.inverse_bind
    total = np.zeros(len(matrices))
    for index, chosen in zip(parts, vertices, strict=True):
        np.add.at(total, avatar.parts[index].joints[chosen], avatar.parts[index].weights[chosen])
    joints = np.asarray(skin.joints).tolist()
    base = matrices[joints.index(head) if head in joints else int(np.argmax(total))]
    used = matrices[total > 0.0]
    places = (avatar.parts[p].positions[v] for p, v in zip(parts, vertices, strict=True))
    size = max(float(np.abs(p).max(initial=0.0)) for p in places)
    apart = np.abs(used - base)
    return base, bool((apart[:, :3, :3].max() * 3.0 * size + apart[:, :3, 3].max()) > SAME)


def _moved(avatar, index, surface, k, weights, numbers, skin, base, baked) -> MeshPart:
    part, chosen, owner = avatar.parts[index], surface.vertices[k], surface.owners[k]
    columns, values = as_influences(weights[owner])
    table = np.array([numbers[c] for c in range(weights.shape[1])], dtype=np.int32)
    width = max(part.joints.shape[1], columns.shape[1])
    joints = np.zeros((len(part.positions), width), dtype=np.int32)
    shares = np.zeros((len(part.positions), width))
    joints[:, : part.joints.shape[1]], shares[:, : part.joints.shape[1]] = part.joints, part.weights
    joints[chosen], shares[chosen] = 0, 0.0
    joints[chosen[:, None], np.arange(columns.shape[1])] = np.where(values > 0.0, table[columns], 0)
    shares[chosen[:, None], np.arange(columns.shape[1])] = values
    changed = {"joints": joints, "weights": shares, "skin": skin}
    if baked:
        places, normals = skin_vertices(avatar, part, normals=True)
        back = np.linalg.inv(base)
        positions, directions = np.array(part.positions), np.array(part.normals)
        positions[chosen] = places[chosen] @ back[:3, :3].T + back[:3, 3]
        turned = normals[chosen] @ base[:3, :3]
        directions[chosen] = turned / np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), 1e-12)
        changed |= {"positions": positions, "normals": directions}
    for array in changed.values():
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return replace(part, **changed)


def replaced_chains(before: Avatar, parts: tuple[MeshPart, ...], skins: tuple[Skin, ...]) -> list[int]:
    """Chains of the file that have lost nearly all their vertices to the fit: the new ones take their place.

    A stray vertex of another mesh, a collar's for one, does not keep a chain: it follows the head from now on.
    """
    then, now = _pull(before, before.parts, before.skins), _pull(before, parts, skins)
    found = []
    for number, chain in enumerate(before.hair.chains):
        was = float(then[chain.joints].sum())
        if was > 0.0 and now[chain.joints].sum() <= STRAYS * was:
            found.append(number)
    return found


def _pull(avatar: Avatar, parts, skins) -> np.ndarray:
    """(N,) sum of the weights that each node of the file has over all vertices."""
    pull = np.zeros(len(avatar.skeleton))
    for part in parts:
        nodes = np.asarray(skins[part.skin].joints)[part.joints]
        known = nodes < len(pull)
        np.add.at(pull, nodes[known], part.weights[known])
    return pull


def kept_chains(rig: HairRig, gone: list[int]) -> list[Chain]:
    """The file's chains without some; a chain that hung on one of those hangs on the body alone."""
    place, kept = {}, []
    for number, chain in enumerate(rig.chains):
        if number not in gone:
            place[number] = len(place)
            above = chain.parent
            parent = None if above is None or above[0] not in place else (place[above[0]], above[1])
            kept.append(replace(chain, parent=parent))
    return kept
