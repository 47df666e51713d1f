"""Reduction: the same hair with fewer joints, for avatars far away, and how the dropped joints are shown (NumPy)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np

from .. import rotations
from ..avatar.skeleton import Skeleton
from ..hair import ArcParameters, Chain, HairRig, Limit, RodParameters
from ..motion.body import mean_scale
from ..rig.parameters import arc_parameters, rod_parameters, segment_lengths
from .solvers.rod import stiffness_matrix

MOST = 5  # joints of a reduced chain
EVEN = 1.35  # how much less evenly than at best kept end points may lie, chosen
MOST_CHOICES = 70  # a chain of up to 9 joints is looked at; for longer ones even ends are nearer, as measured


@dataclass(frozen=True, eq=False)
class Reduction:
    """A rig of at most `MOST` joints a chain, on the same nodes, and where its links lie in the full one.

    A link of the reduced chain stands for a run of links of the full one. Each of those is turned as the reduced links
    are, between the middles of two of them in proportion, and from no turn at the root; so a strand bends smoothly.
    """

    rig: HairRig
    kept: np.ndarray  # (C, MOST) segment of the full chain, within it, at whose end each reduced link ends
    link: np.ndarray  # (S,) reduced link that each full segment is a part of
    beside: np.ndarray  # (S,) reduced link whose turn is mixed in; -1 is the head, which the root is fixed to
    share: np.ndarray  # (S,) how much of it
    at: np.ndarray  # (S,) reduced link whose end point comes before each end point, or the first one's for those before
    part: np.ndarray  # (S,) how far each lies from there to the next reduced end point; negative before the first


def reduction(skeleton: Skeleton, rig: HairRig, most: int = MOST) -> Reduction | None:
    """The reduced rig; None where no chain has more joints than that."""
    if all(len(chain) <= most for chain in rig.chains):
        return None
    lengths = [segment_lengths(chain, skeleton) for chain in rig.chains]
    carrying: list[set[int]] = [set() for _ in rig.chains]
    for chain in rig.chains:
        if chain.parent is not None:
            carrying[chain.parent[0]].add(chain.parent[1])
    kept = [
        chosen(chain, skeleton, own, most, hung) for chain, own, hung in zip(rig.chains, lengths, carrying, strict=True)
    ]
    chains = []
    for chain, ends, own in zip(rig.chains, kept, lengths, strict=True):
        parent = chain.parent
        if parent is not None:
            parent = (parent[0], int(np.searchsorted(kept[parent[0]], parent[1])))
        chains.append(_shortened(chain, skeleton, ends, own, parent))
    table = np.full((len(chains), most), -1)
    parts = []
    for c, (ends, own) in enumerate(zip(kept, lengths, strict=True)):
        table[c, : len(ends)] = ends
        parts.append(_mixing(ends, own))
    link, beside, share, at, part = (np.concatenate(one) for one in zip(*parts, strict=True))
    return Reduction(replace(rig, chains=tuple(chains), fit=None), table, link, beside, share, at, part)


def chosen(chain: Chain, skeleton: Skeleton, lengths: np.ndarray, most: int, carrying=frozenset()) -> np.ndarray:
    """(G,) segments whose end points stay: of those that lie about as evenly as can be, the ones whose rod, made to
    give way as the full one does, also swings at nearest the full one's frequency."""
    best = keep(lengths, most, carrying)
    count = len(lengths)
    if count <= most or comb(count - 1, most - 1) > MOST_CHOICES:
        return best
    arc = np.concatenate([[0.0], np.cumsum(lengths)])
    sets = np.array(list(combinations(range(count - 1), most - 1)))
    ends = np.concatenate([sets, np.full((len(sets), 1), count - 1)], axis=1)
    forced = [s for s in best if s in carrying or s + 1 in carrying]
    stops = np.concatenate([np.zeros((len(ends), 1)), arc[ends + 1]], axis=1)
    cost = np.sum(np.diff(stops, axis=1) ** 2, axis=1)
    even = cost <= EVEN * np.sum(np.diff(np.concatenate([[0.0], arc[best + 1]])) ** 2)
    for s in forced:
        even &= (ends == s).any(axis=1)
    world = skeleton.rest_world[chain.joints]
    points = (world[:, :3, :3] @ chain.tails[:, :, None])[..., 0] + world[:, :3, 3]
    points = np.concatenate([world[:1, :3, 3], points])
    rod = rod_parameters(chain, skeleton)
    found = []
    for choice in ends[even][np.argsort(cost[even], kind="stable")]:
        links = np.linalg.norm(np.diff(points[np.concatenate([[0], choice + 1])], axis=0), axis=1)
        found.append((abs(np.log(_rod(rod, lengths, links, choice).frequency / rod.frequency)), choice))
    return min(found, key=lambda one: one[0])[1] if found else best


def keep(lengths: np.ndarray, most: int, carrying=frozenset()) -> np.ndarray:
    """(G,) segments whose end points stay: the tip, where branches hang as far as there is room, the rest evenly.

    Evenly: the sum of the squares of the links' lengths is the least. `carrying`: segments that carry a branch.
    """
    count = len(lengths)
    if count <= most:
        return np.arange(count)
    arc = np.concatenate([[0.0], np.cumsum(lengths)])
    wanted = {s for s in carrying if s < count - 1} | {s - 1 for s in carrying if s > 0}  # the whole segment stays
    if len(wanted) > most - 1:
        wanted = {s - 1 for s in carrying if s > 0}
    forced = np.zeros(count + 1, dtype=bool)
    if len(wanted) <= most - 1:
        forced[[s + 1 for s in wanted]] = True
    passed = np.concatenate([[0], np.cumsum(forced)])  # forced points before each
    best = np.full((most + 1, count + 1), np.inf)
    back = np.zeros((most + 1, count + 1), dtype=np.int64)
    best[0, 0] = 0.0
    for links in range(1, most + 1):
        for end in range(1, count + 1):
            for start in range(links - 1, end):
                if passed[end] > passed[start + 1]:
                    continue  # a forced point would lie within
                cost = best[links - 1, start] + (arc[end] - arc[start]) ** 2
                if cost < best[links, end]:
                    best[links, end], back[links, end] = cost, start
    out, end = [], count
    for links in range(most, 0, -1):
        out.append(end - 1)
        end = back[links, end]
    return np.array(out[::-1])


def _mixing(ends: np.ndarray, lengths: np.ndarray):
    """(link, beside, share, at, part) of the full segments of one chain."""
    count = len(lengths)
    arc = np.concatenate([[0.0], np.cumsum(lengths)])
    link = np.searchsorted(ends, np.arange(count))
    stops = np.concatenate([[0.0], arc[ends + 1]])
    middle = 0.5 * (stops[1:] + stops[:-1])
    own = 0.5 * (arc[1:] + arc[:-1])
    before = own < middle[link]
    beside = np.where(before, link - 1, np.minimum(link + 1, len(ends) - 1))
    gap = np.where(beside < 0, 0.0, middle[np.maximum(beside, 0)]) - middle[link]
    share = np.where(np.abs(gap) > 1e-12, (own - middle[link]) / np.where(np.abs(gap) > 1e-12, gap, 1.0), 0.0)
    at = np.clip(link - 1, 0, max(len(ends) - 2, 0))
    after = np.minimum(at + 1, len(ends) - 1)
    width = stops[after + 1] - stops[at + 1]
    part = np.where(width > 1e-12, (arc[1:] - stops[at + 1]) / np.where(width > 1e-12, width, 1.0), 0.0)
    return link, beside, share, at, part


def _shortened(chain: Chain, skeleton: Skeleton, ends: np.ndarray, lengths: np.ndarray, parent) -> Chain:
    """A chain whose links end where some of its own do."""
    starts = np.concatenate([[0], ends[:-1] + 1])
    if len(ends) == len(chain):
        return replace(chain, parent=parent)
    world = skeleton.rest_world[chain.joints]
    points = (world[:, :3, :3] @ chain.tails[:, :, None])[..., 0] + world[:, :3, 3]
    first = world[starts]
    tails = np.linalg.solve(first[:, :3, :3], (points[ends] - first[:, :3, 3])[..., None])[..., 0]
    runs = [slice(a, b + 1) for a, b in zip(starts, ends, strict=True)]
    scale = mean_scale(world)
    radius = np.array([(chain.hit_radius[r] * scale[r]).max() for r in runs]) / scale[starts]

    def mean(values):
        return np.array([np.average(values[r], axis=0, weights=np.maximum(lengths[r], 1e-9)) for r in runs])

    shortened = replace(
        chain,
        joints=chain.joints[starts],
        ends=chain.ends[ends],
        tails=tails,
        stiffness=mean(chain.stiffness),
        drag=mean(chain.drag),
        gravity_power=mean(chain.gravity_power),
        gravity_dir=chain.gravity_dir[starts],
        hit_radius=radius,
        parent=parent,
        limits=_limits(chain, skeleton, runs, tails, lengths),
    )
    return replace(
        shortened,
        arc=_arc(arc_parameters(chain, skeleton), runs),
        rod=_rod(rod_parameters(chain, skeleton), lengths, segment_lengths(shortened, skeleton), ends),
    )


def _arc(full: ArcParameters, runs: list[slice]) -> ArcParameters:
    """A link follows the one above as the filter k / (s^2 + c s + k) does, a run of links as their product: the same
    delay and the same spread to second order in s. Gravity is what droops the strand as far."""
    late = full.damping / full.stiffness
    give = 1.0 / full.stiffness
    delay = np.array([late[r].sum() for r in runs])
    spread = np.array([np.sum(give[r] - 0.5 * late[r] ** 2) for r in runs])
    stiffness = 1.0 / (spread + 0.5 * delay**2)
    return replace(
        full,
        stiffness=stiffness,
        damping=stiffness * delay,
        follow=np.array([np.average(full.follow[r], weights=late[r]) for r in runs]),
        gravity=full.gravity * (give.sum() / np.sum(1.0 / stiffness)),
    )


def _rod(full: RodParameters, lengths: np.ndarray, shortened: np.ndarray, ends: np.ndarray) -> RodParameters:
    """The rod whose kept end points give way to an even load as far as they do in the full one, and that swings as
    slowly: K u = 1 is linear in the bending stiffnesses."""
    stiffness = stiffness_matrix(full, lengths)
    give = np.linalg.solve(stiffness, np.ones(len(lengths)))[ends]
    n = len(ends)
    link = (np.eye(n) - np.eye(n, k=-1)) / shortened[:, None]
    bend = link.copy()
    bend[1:] -= link[:-1]
    root = full.root_share / n * (link.T @ link) @ give
    bending = np.linalg.solve(bend.T * (bend @ give) + root[:, None], np.ones(n))
    to_tip = np.cumsum(shortened[::-1])[::-1] / np.sum(shortened)
    profile = bending / to_tip**full.softness
    if not (np.isfinite(profile).all() and (profile > 0.0).all()):
        profile = np.interp(np.cumsum(shortened), np.cumsum(lengths), full.profile)
    mixed = replace(full, profile=profile / profile.mean())
    k = stiffness_matrix(mixed, shortened)
    ratio = (np.linalg.solve(k, np.ones(n))[-1] / give[-1]) ** 0.5  # of the frequencies
    inner, outer = full.damping * (1.0 - full.air) * ratio, full.damping * full.air / ratio
    return replace(
        mixed, frequency=full.frequency * ratio, damping=inner + outer, air=outer / max(inner + outer, 1e-12)
    )


def _limits(chain: Chain, skeleton: Skeleton, runs, tails, lengths) -> tuple[Limit | None, ...] | None:
    """Limits of the reduced links: as far as their joints may turn together. One free joint frees its link."""
    if chain.limits is None:
        return None
    out: list[Limit | None] = []
    above = np.zeros(len(chain))  # how much each joint turns the link before
    for r, tail in zip(runs, tails, strict=True):
        weight = np.ones(len(chain))
        weight[r.stop :] = 0.0
        inside = np.cumsum(lengths[r][::-1])[::-1]
        weight[r] = inside / max(float(inside[0]), 1e-12)
        turning = np.flatnonzero(weight - above > 1e-9)
        found = [chain.limits[j] for j in turning]
        kinds = {None if x is None else x.kind for x in found}
        if None in kinds or len(kinds) > 1:
            out.append(None)
        else:
            first = chain.limits[r.start]
            angles = sum((weight - above)[j] * np.array(chain.limits[j].angles) for j in turning)
            axis = rotations.from_to(chain.tails[r.start], tail)
            most = np.pi if first.kind != "spherical" else np.array([np.pi, 0.5 * np.pi])
            angles = tuple(np.minimum(angles, most).tolist())
            out.append(replace(first, rotation=rotations.multiply(axis, first.rotation), angles=angles))
        above = weight
    return tuple(out)
