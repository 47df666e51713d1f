"""Locks that move together share a chain: grouping under a budget, common guides, and the weights of a whole style."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, squareform

from .centreline import Curve, place_joints, polyline, smoothed
from .fitted import Lock, Refusal
from .roots import Head
from .strand import BAND, ROOT_ZONE, Plan, Strand
from .surface import Surface
from .weights import along_chain, limited, spread

SAME_PATH = 0.42  # head radii: locks whose guides are nearer than this on the average follow the same path ...
BESIDE = 0.6  # ... or nearer than this times their mean width: strands of one bundle
MEET = 0.25  # head radii within which the guides of a bundle come together somewhere
CLOSER = 0.6  # of that: a second grouping, taken where it fits the budget and sample poses stretch less with it
TIED_SHARE = 0.5  # what the distance of such guides counts
LEAST_SURE = 0.3  # confidence below which a lock gets no chain
SIDE = 0.4  # head radii from the middle plane from which a lock is of the left or of the right
LINK = 0.06  # metres, chosen: a chain gets a joint for so much length
FEWEST = 2
BLEND = 0.25  # head radii over which neighbouring locks of a fused mesh go over into each other


def group(pieces: list, head: Head, most: int, near: float = 1.0) -> list[list]:
    """Pieces in groups of one path each, at most `most` groups; a left lock never goes with a right one. Paths of
    separate pieces of mesh are the same within a share `near` of the usual reach."""
    if len(pieces) == 1:
        return [list(pieces)]
    share = np.linspace(0.0, 1.0, 9)
    guides = np.array([p.curve.at(share * p.curve.length) for p in pieces])
    lengths = np.array([p.length for p in pieces])
    away = np.zeros((len(pieces), len(pieces)))
    for a in range(len(pieces)):
        for b in range(a + 1, len(pieces)):
            common = min(lengths[a], lengths[b])
            pa, pb = pieces[a].curve.at(share * common), pieces[b].curve.at(share * common)
            along = np.linalg.norm(pa - pb, axis=1).mean()
            whole = np.linalg.norm(guides[a] - guides[b], axis=1).mean()
            apart_by = min(along, whole) + 0.1 * abs(lengths[a] - lengths[b])
            # Strands that come together at a tie, or run into one tip, are one bundle even where they bulge apart.
            meet = float(cdist(guides[a], guides[b]).min()) if share_way(pa, pb) else np.inf
            away[a, b] = away[b, a] = apart_by * (TIED_SHARE if meet < MEET * head.radius else 1.0)
    x = np.array([np.average(g[:, 0]) for g in guides]) - head.centre[0]
    apart = (x[:, None] * x[None] < 0) & (np.minimum(np.abs(x)[:, None], np.abs(x)[None]) > SIDE * head.radius)
    widths = np.array([p.width for p in pieces])
    bundle = np.maximum(SAME_PATH * head.radius, BESIDE * 0.5 * (widths[:, None] + widths[None]))
    away = away / bundle + 1e3 * apart
    islands = np.array([p.island for p in pieces])
    fused = islands[:, None] == islands[None]  # what is one piece of mesh stays together as long: apart it would tear
    tree = linkage(squareform(np.where(fused, near, 1.0) * away, checks=False), "average")
    label = fcluster(tree, near, "distance")
    if label.max() > most:
        label = fcluster(tree, max(most, 2), "maxclust")
    groups: dict[int, list] = {}
    for piece, number in zip(pieces, label.tolist(), strict=True):
        groups.setdefault(number, []).append(piece)
    return sorted(groups.values(), key=lambda g: -sum(p.area for p in g))


def share_way(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two guides (K, 3) lead the same way: their directions differ by less than about 35 degrees."""
    u, v = a[-1] - a[0], b[-1] - b[0]
    return float(u @ v) > 0.82 * float(np.linalg.norm(u) * np.linalg.norm(v))


def common_guide(pieces: list) -> Curve:
    """One curve for pieces on the same path: the mean of those about as long as the longest, by area."""
    longest = max(p.length for p in pieces)
    long = [p for p in pieces if p.length >= 0.7 * longest]
    if len(long) == 1:
        return long[0].curve
    share = np.linspace(0.0, 1.0, 64)
    weight = np.array([p.area for p in long])
    line = np.einsum("g,gkx->kx", weight / weight.sum(), [p.curve.at(share * p.length) for p in long])
    return smoothed(polyline(line), 0.03 * longest)


def to_the_tip(curve: Curve, points: np.ndarray) -> Curve:
    """The curve led on straight to where all but the last few of the points (P, 3) end: means fall short of tips."""
    s = curve.nearest(points, np.full(len(points), curve.length), np.inf)
    far = float(np.percentile(s, 98.0))
    if far <= 1.005 * curve.length:
        return curve
    return polyline(np.concatenate([curve.points, curve.at(min(far, 1.2 * curve.length))[None]]), len(curve.points))


def plan_of(surface: Surface, head: Head, groups, distance, joints: int, name: str, refused) -> Plan:
    """Chains and weights for groups of pieces; all other hair stays with the head."""
    count = len(surface.points)
    # Membership: column 0 is the head, column g + 1 the group; it goes over smoothly where locks are fused.
    member = np.zeros((count, len(groups) + 1))
    member[:, 0] = 1.0
    for g, pieces in enumerate(groups):
        rows = np.concatenate([p.points for p in pieces])
        member[rows] = np.eye(len(groups) + 1)[g + 1]
    held = ~(np.isfinite(distance) & (distance > 0.0))
    edge = float(np.median(surface.lengths)) if len(surface.lengths) else 1.0
    rounds = int(np.clip(2.0 * (BLEND * head.radius / max(edge, 1e-9)) ** 2, 2, 60))
    member = spread(member, surface.edges, rounds, held)
    blocks, strands, near = [], [], held.copy()
    head_column = member[:, 0].copy()
    for g, pieces in enumerate(groups):
        label = name if len(groups) == 1 else f"{name}_{chr(97 + g)}" if len(groups) <= 26 else f"{name}_{g + 1:02d}"
        strand, block, zone = _lock(surface, head, pieces, distance, joints, label, member[:, g + 1])
        if strand.lock.confidence < LEAST_SURE:
            why = f"not sure enough ({strand.lock.confidence:.2f}): {'; '.join(strand.lock.reasons)}"
            refused = (*refused, Refusal(strand.name, why, strand.lock.points))
            head_column += member[:, g + 1]
            continue
        strands.append(strand)
        head_column += member[:, g + 1] * block[:, 0]
        blocks.append(member[:, g + 1 : g + 2] * block[:, 1:])
        near |= zone & (member[:, g + 1] > 0.0)
    weights = np.concatenate([head_column[:, None], *blocks], axis=1)
    weights[held] = np.eye(1, weights.shape[1])
    return Plan(tuple(strands), limited(weights), held, near | (member[:, 0] > 0.02), refused)


def _lock(surface, head, pieces, distance, joints, label, share):
    """(Strand, weights (P, J + 1) of the points as if all were its own, (P,) the zone that the head may share)."""
    rows = np.concatenate([p.points for p in pieces])
    curve = to_the_tip(common_guide(pieces), surface.points[rows])
    count = int(np.clip(round(curve.length / LINK), FEWEST, joints)) if joints > 1 else 1
    s = np.zeros(len(surface.points))
    mine = np.flatnonzero(share > 1e-4)
    far = max(float(distance[rows].max()), 1e-9)
    guess = np.clip(distance[mine] / far, 0.0, 1.0) * curve.length
    s[mine] = curve.nearest(surface.points[mine], guess, 0.4 * curve.length)
    band = BAND * curve.length
    knots = place_joints(curve, band, count)
    away = np.linalg.norm(surface.points[rows] - curve.at(np.clip(s[rows], 0.0, curve.length)), axis=1)
    width = 2.0 * float(np.average(away, weights=surface.areas[rows]))
    # Hair that is held farther down its lock's path is still held there: it takes part by its own distance.
    s[mine] = np.minimum(s[mine], 1.25 * distance[mine])
    turns = max(p.turns for p in pieces)
    confidence, reasons = _confidence(surface, pieces, curve, width, head, knots, turns)
    guide = curve.at(np.linspace(0.0, curve.length, 48))
    lock = Lock(label, -1, guide, len(rows), curve.length, width, confidence, tuple(reasons))
    strand = Strand(label, curve.at(knots), curve, knots, lock)
    return strand, along_chain(s, knots, band), s <= knots[0] + ROOT_ZONE * (knots[1] - knots[0])


def _confidence(surface, pieces, curve, width, head, knots, turns) -> tuple[float, list[str]]:
    reasons = []
    slender = curve.length / max(width, 1e-9)
    sure = float(np.clip((slender - 1.0) / 3.0, 0.1, 1.0))
    if sure < 0.6:
        reasons.append("hardly longer than wide")
    off = max(
        float(
            np.linalg.norm(
                p.curve.at(np.linspace(0, 1, 9) * p.length) - curve.at(np.linspace(0, 1, 9) * p.length), axis=1
            ).mean()
        )
        for p in pieces
    )
    if off > 0.5 * head.radius:
        sure *= 0.7
        reasons.append(f"{len(pieces)} pieces up to {off:.3f} m apart share it")
    if turns > 1.25:
        sure *= 0.85
        reasons.append(f"winds {turns:.1f} times around its axis")
    if not head.known:
        sure *= 0.8
        reasons.append("no head mesh: its place is guessed from the hair")
    return float(np.clip(sure, 0.0, 1.0)), reasons
