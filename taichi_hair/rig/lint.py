"""Weight lint: what is wrong with the weights of an existing hair rig, chain by chain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..avatar.description import Avatar
from ..hair import HairRig
from .fitted import owner

ROOT_SHARE = 0.98  # least share of the head at a root ring that counts as held
STEP = 0.6  # change of one bone's weight over an edge of the usual length from which the transition counts as abrupt
TIP_SHARE = 0.5  # least share that the last joints of a chain should have at its tip
STRAY = 0.02  # weight from which a bone that is neither of the chain nor of what carries it counts as stray


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or may be: `level` is "error" where the mesh will tear, "warning" where it may."""

    level: str
    chain: str
    rule: str  # "root", "transition", "tip", "stray", "unused", "range"
    text: str
    vertices: int


def lint_weights(avatar: Avatar, rig: HairRig | None = None) -> list[Finding]:
    """Findings for every chain of a rig: the root ring is fully on the carrier, weights go over smoothly from joint to
    joint, the tip is on the chain, no bones from elsewhere, no joint without vertices."""
    rig = avatar.hair if rig is None else rig
    avatar = owner(avatar, rig)
    parts = [(i, p) for i, p in enumerate(avatar.parts) if len(p.triangles)]
    found: list[Finding] = []
    every = {int(n) for c in rig.chains for n in c.joints}
    for chain in rig.chains:
        found += _chain(avatar, chain, parts, every)
    return found


def _chain(avatar: Avatar, chain, parts, every: set[int]) -> list[Finding]:
    joints = chain.joints.tolist()
    place = {n: k for k, n in enumerate(joints)}
    held = avatar.skeleton.below(chain.attach) if chain.attach >= 0 else np.ones(len(avatar.skeleton), dtype=bool)
    found: list[Finding] = []
    used = np.zeros(len(joints), dtype=int)
    tip_best, touched_any = 0.0, 0
    for _, part in parts:
        nodes = np.asarray(avatar.skins[part.skin].joints)[part.joints]
        own = np.isin(nodes, joints)
        share = np.where(own, part.weights, 0.0)
        mine = share.sum(axis=1)
        touched = np.flatnonzero(mine > 1e-3)
        if not len(touched):
            continue
        touched_any += len(touched)
        for node, k in place.items():
            used[k] += int(((nodes == node) & (part.weights > 1e-3)).any(axis=1).sum())
        where = f"mesh {part.name!r}"
        for level, names, count in _stray(avatar, nodes, part.weights, touched, joints, held, every, chain.attach):
            text = f"{where}: {count} vertices also follow {', '.join(names)}, neither of the chain nor next to it"
            found.append(Finding(level, chain.name, "stray", text, count))
        found += _root(chain, where, part, mine)
        found += _transition(chain, where, part, nodes, touched)
        last = np.isin(nodes, joints[-max(1, len(joints) // 2) :])
        tip_best = max(tip_best, float((part.weights * last).sum(axis=1).max()))
    if not touched_any:
        return [Finding("warning", chain.name, "unused", "no vertex follows this chain", 0)]
    if tip_best < TIP_SHARE:
        text = f"no vertex follows the last joints by more than {tip_best:.2f}: the tip stays behind its chain"
        found.append(Finding("warning", chain.name, "tip", text, 0))
    idle = [avatar.skeleton.names[n] for n, count in zip(joints, used, strict=True) if not count]
    if idle:
        found.append(Finding("warning", chain.name, "unused", f"no vertex follows {', '.join(idle)}", 0))
    return found


def _stray(avatar, nodes, weights, touched, joints, held, every, attach):
    """(level, names, vertices) of bones that pull vertices of the chain from outside: an error where they hang
    elsewhere, a warning where they stand far above the node that carries the chain."""
    rows, values = nodes[touched], weights[touched]
    above, walk = [], attach
    while walk >= 0:
        above.append(walk)
        walk = int(avatar.skeleton.parents[walk])
    # A neighbouring lock, or lap of cloth, is no stray, nor is what carries the chain or the node above that.
    other = (values > STRAY) & ~np.isin(rows, joints) & ~np.isin(rows, above[:2]) & ~np.isin(rows, list(every))
    other &= ~held[rows]
    far = np.isin(rows, above[2:])
    found = []
    for level, chosen in (("error", other & ~far), ("warning", other & far)):
        if chosen.any():
            names = [avatar.skeleton.names[n] for n in np.unique(rows[chosen])[:4]]
            found.append((level, names, int(chosen.any(axis=1).sum())))
    return found


def _root(chain, where, part, mine) -> list[Finding]:
    """Where the chain's vertices meet the rest of the same mesh, the rest must not follow the chain at all."""
    edges = part.edges
    size = np.linalg.norm(part.positions[edges[:, 0]] - part.positions[edges[:, 1]], axis=1)
    long = size > 1e-9
    edges = edges[long]
    jump = np.abs(mine[edges[:, 0]] - mine[edges[:, 1]])
    low = np.minimum(mine[edges[:, 0]], mine[edges[:, 1]])
    # A ring that is to be held and is not: the least held vertex of a connected root still follows the chain.
    torn = (jump > 0.8) & (low < 1.0 - ROOT_SHARE)
    found = []
    if torn.any():
        count = len(np.unique(edges[torn]))
        text = f"{where}: {int(torn.sum())} edges go from the head straight to the chain ({jump.max():.2f} in one step)"
        found.append(Finding("warning", chain.name, "root", text, count))
    if mine.max(initial=0.0) > 0.5 and not np.any(mine < 1.0 - ROOT_SHARE):
        text = f"{where}: no vertex is on the head alone; the root ring moves with the chain"
        found.append(Finding("error", chain.name, "root", text, len(mine)))
    return found


def _transition(chain, where, part, nodes, touched) -> list[Finding]:
    """Edges over which one bone's weight changes abruptly although the edge is no longer than usual."""
    inside = np.zeros(len(part.positions), dtype=bool)
    inside[touched] = True
    edges = part.edges
    edges = edges[inside[edges].all(axis=1)]
    if not len(edges):
        return []
    length = np.linalg.norm(part.positions[edges[:, 0]] - part.positions[edges[:, 1]], axis=1)
    abrupt = np.zeros(len(edges), dtype=bool)
    for node in chain.joints.tolist():
        weight = (part.weights * (nodes == node)).sum(axis=1)
        abrupt |= np.abs(weight[edges[:, 0]] - weight[edges[:, 1]]) > STEP
    abrupt &= length <= 1.5 * np.median(length)
    if not abrupt.any():
        return []
    count = len(np.unique(edges[abrupt]))
    text = f"{where}: over {int(abrupt.sum())} edges one joint's weight changes by more than {STEP}"
    return [Finding("warning", chain.name, "transition", text, count)]
