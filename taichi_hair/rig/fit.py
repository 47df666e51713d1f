"""fit_hair(): a hair mesh becomes chains of joints with weights; the avatar itself is not changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from ..avatar.description import Avatar
from ..avatar.errors import AssetError
from ..hair import HairRig
from .attach import NewChain, add_nodes, kept_chains, make_chain, replaced_chains, reweighted
from .fitted import FittedRig, Refinement
from .locks import fit_style
from .poses import joint_moves, sample_ends
from .refine import ROUNDS, Stretches, neighbours_allowed, refined, stretches
from .roots import attach_node, find_head
from .selection import select_faces, select_parts
from .settings import chain_settings
from .strand import Plan, fit_strand
from .surface import read_surface
from .weights import limited, spread

REFINE_POINTS = 1500  # larger surfaces are refined for fewer rounds, so that a fit stays a matter of seconds
FEWEST = 16
SMOOTH = 0.25  # head radii over which weights are averaged where that lowers the stretch
WORST = 0.2  # what the worst edge counts beside the 99th percentile


def fit_hair(
    avatar: Avatar,
    mesh: str | int | Sequence[str | int],
    joints: int = 6,
    *,
    chains: str | int = 1,
    faces: np.ndarray | None = None,
    root=None,
    body: Avatar | None = None,
    refine: bool = True,
    name: str | None = None,
) -> FittedRig:
    """A rig for hair that has no bones, from its geometry.

    mesh: a mesh, a material, "mesh:primitive", a number of Avatar.parts, or several of them; `faces` selects triangles
    of a single one. chains: 1 fits one strand with that many joints; "auto" splits a hairstyle into locks, a number
    sets how many chains it may have at most; `joints` is then the most a chain gets. root: where a single strand
    begins, a place in metres, a node's or a mesh's name; found where the mesh meets the head unless given. body:
    another file's figure, in the same place, for hair that comes without a head. refine: lower the stretch of the
    worst edges over sample poses.

    The result is the avatar's rig with the new chains in the place of those that moved this mesh before.
    """
    began = perf_counter()
    if not 1 <= int(joints) <= 64:
        raise AssetError(avatar.file, "joints", str(joints), "1 to 64")
    parts = select_parts(avatar, mesh)
    surface = read_surface(avatar, parts, select_faces(avatar, parts, faces))
    node = attach_node(avatar, parts)
    head = find_head(avatar, surface, node, body)
    label = name or avatar.parts[parts[0]].name or "hair"
    if chains == 1:
        plans = (fit_strand(avatar, surface, head, int(joints), root, label),)
    else:
        most = 16 if chains == "auto" else int(chains)
        plans = fit_style(surface, head, int(joints), most, label)
    plan, moves, found = _least_stretched(surface, plans)
    report = None
    weights = plan.weights
    if refine and plan.strands:
        weights, report = _refine(surface, plan, moves, found, SMOOTH * head.radius)
    rig = apply_plan(avatar, surface, replace(plan, weights=weights), node, report)
    return replace(rig, seconds=perf_counter() - began)


def _least_stretched(surface, plans: Sequence[Plan]) -> tuple[Plan, np.ndarray, Stretches]:
    """The plan under which sample poses stretch the mesh least, with the moves of those poses and what they stretch; a
    plan without chains only where none has any."""
    hanging = [p for p in plans if p.strands]
    if not hanging:
        return plans[0], np.zeros((0, 1, 3, 4)), Stretches(0.0, 0.0)
    moves = [_moves(p) for p in hanging]
    found = [stretches(surface.points, surface.edges, p.weights, m) for p, m in zip(hanging, moves, strict=True)]
    best = int(np.argmin([s.p99 + WORST * s.worst for s in found]))
    return hanging[best], moves[best], found[best]


def _moves(plan: Plan):
    """Moves of all joints in the sample poses."""
    places = [strand.places for strand in plan.strands]
    return joint_moves(places, [sample_ends(p) for p in places])


def _refine(surface, plan: Plan, moves, before: Stretches, reach: float) -> tuple[np.ndarray, Refinement]:
    """Weights with less stretch over the moves of sample poses: averaged over `reach` metres of the surface where that
    helps, which evens out a slanted root, then the descent."""
    start, best = plan.weights, before
    if len(surface.lengths):
        steps = int(np.clip(2.0 * (reach / max(float(np.median(surface.lengths)), 1e-9)) ** 2, 2, 60))
        even = limited(spread(plan.weights, surface.edges, steps, plan.fixed))
        found = stretches(surface.points, surface.edges, even, moves)
        if found.p99 + WORST * found.worst < before.p99 + WORST * before.worst:
            start, best = even, found
    near = plan.near_root | (start[:, 0] > plan.weights[:, 0])
    allowed = neighbours_allowed(start, plan.spans, near)
    rounds = int(np.clip(ROUNDS * REFINE_POINTS / len(surface.points), FEWEST, ROUNDS))
    weights = refined(surface.points, surface.edges, start, moves, plan.fixed, allowed, rounds)
    after = stretches(surface.points, surface.edges, weights, moves)
    if after.p99 > best.p99 and after.worst > best.worst:
        return start, Refinement(before, best)
    return weights, Refinement(before, after)


def apply_plan(avatar: Avatar, surface, plan: Plan, node: int, report: Refinement | None) -> FittedRig:
    """The FittedRig of a plan: new nodes and skins on a copy of the avatar, chains and colliders."""
    new = [NewChain(s.name, s.places, {}) for s in plan.strands]
    skeleton, rows = add_nodes(avatar.skeleton, node, new)
    columns = np.concatenate([[node], *[row[:-1] for row in rows]]).astype(np.int64)
    skins, parts = avatar.skins, avatar.parts
    if plan.strands:
        skins, parts = reweighted(avatar, skeleton, surface, plan.weights, columns)
    gone = replaced_chains(avatar, parts, skins) if plan.strands else []
    chains = kept_chains(avatar.hair, gone)
    first = len(chains)
    for strand, row in zip(plan.strands, rows, strict=True):
        settings = chain_settings(avatar, strand, [avatar.hair.chains[g] for g in gone])
        chains.append(make_chain(NewChain(strand.name, strand.places, settings), row, skeleton, node))
    fitted = tuple(range(first, len(chains)))
    rig = HairRig(tuple(chains), avatar.hair.colliders)
    changed = replace(avatar, skeleton=skeleton, skins=skins, parts=parts, hair=rig)
    locks = tuple(replace(s.lock, chain=first + k) for k, s in enumerate(plan.strands))
    return FittedRig(
        chains=rig.chains,
        colliders=rig.colliders,
        avatar=changed,
        base=avatar,
        fitted=fitted,
        locks=locks,
        refused=plan.refused,
        refinement=report,
        table={"surface": surface, "plan": plan, "node": node},
    )
