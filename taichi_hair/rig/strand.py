"""One selected strand: from its surface to a centre line, joints and weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..avatar.description import Avatar
from ..avatar.errors import AssetError
from .centreline import Curve, axis_of, level_line, place_joints
from .fitted import Lock, Refusal
from .roots import Head, strand_root
from .surface import Surface, bridged, distances
from .weights import along_chain, limited

BAND = 0.03  # of a strand's length: what lies nearer to the root than this follows the head alone
LONGEST_BAND = 0.15
CATCH_UP = 1.3
ROOT_ZONE = 1.0  # of the first segment: how far beyond the first joint the head may still hold a share
GAP = 0.08  # of a strand's size: pieces farther apart than this are not one strand
SHORTEST = 1.5  # length over width, below which a piece has no direction to swing in


@dataclass(frozen=True, eq=False)
class Strand:
    """A chain to be: its joints with the end, the curve they lie on, and the lock that tells of it."""

    name: str
    places: np.ndarray  # (J + 1, 3) metres
    curve: Curve
    knots: np.ndarray  # (J + 1,) arc lengths of the places
    lock: Lock


@dataclass(frozen=True, eq=False)
class Plan:
    """What a fit is about to do to a surface of P points."""

    strands: tuple[Strand, ...]
    weights: np.ndarray  # (P, 1 + sum of joints) column 0 is the head
    fixed: np.ndarray  # (P,) the band that only the head moves
    near_root: np.ndarray  # (P,) points that the head may share
    refused: tuple[Refusal, ...] = ()

    @property
    def spans(self) -> list[tuple[int, int]]:
        """(first column, joints) of each chain."""
        spans, first = [], 1
        for strand in self.strands:
            spans.append((first, len(strand.places) - 1))
            first += len(strand.places) - 1
        return spans


def fit_strand(avatar: Avatar, surface: Surface, head: Head, joints: int, root, name: str) -> Plan:
    """The plan for a single strand with `joints` joints. Pieces that nearly touch count as connected."""
    where = f"mesh {avatar.parts[surface.parts[0]].name!r}"
    graph, piece = bridged(surface, GAP * surface.size)
    if piece.max() > 0:
        sizes = np.sort(np.bincount(piece))[::-1][:5]
        found = f"{piece.max() + 1} pieces that lie apart (of {', '.join(map(str, sizes))} points, the largest first)"
        raise AssetError(avatar.file, where, found, 'one connected strand, or chains="auto" for a whole hairstyle')
    seeds, sure = strand_root(avatar, surface, head, graph, root)
    distance = distances(graph, seeds)
    curve, turns = axis_of(level_line(surface.points, distance, surface.areas), strand_width(surface, distance))
    s = curve.nearest(surface.points, distance * curve.length / max(float(distance.max()), 1e-12), 0.35 * curve.length)
    away = np.linalg.norm(surface.points - curve.at(np.clip(s, 0.0, curve.length)), axis=1)
    width = 2.0 * float(np.average(away, weights=surface.areas))
    if curve.length < SHORTEST * width:
        found = f"a piece {curve.length:.3f} m long and {width:.3f} m wide, without a direction to swing in"
        raise AssetError(avatar.file, where, found, f"a strand at least {SHORTEST} times as long as wide")
    strand, weights, fixed, near = chain_on(curve, s, distance, joints, name, width, surface, sure, turns)
    return Plan((strand,), weights, fixed, near)


def strand_width(surface: Surface, distance: np.ndarray) -> float:
    """Metres: mean spread of the points at equal distance from the root, twice its root mean square."""
    step = np.minimum((distance / max(float(distance.max()), 1e-12) * 24).astype(np.int64), 23)
    total = np.bincount(step, surface.areas, 24)
    square = 0.0
    for k in range(3):
        mean = np.bincount(step, surface.areas * surface.points[:, k], 24) / np.maximum(total, 1e-12)
        square = square + np.bincount(step, surface.areas * (surface.points[:, k] - mean[step]) ** 2, 24)
    return 2.0 * float(np.sqrt(np.sum(square) / np.sum(total)))


def chain_on(curve: Curve, s, distance, joints: int, name: str, width: float, surface: Surface, sure: float, turns):
    """(strand, weights, fixed, near) of a chain on a curve, for points at arc lengths s (P,)."""
    held = distance <= 1e-9
    start = float(np.median(s[held])) if held.any() else 0.0
    band = float(np.clip(start, BAND * curve.length, LONGEST_BAND * curve.length))
    knots = place_joints(curve, band, joints)
    # What is held may reach farther along the strand on one side: weights begin where it ends, and catch up slowly.
    s = np.minimum(s, band + CATCH_UP * distance)
    weights = limited(along_chain(s, knots, band))
    fixed = (s <= band) | held
    weights[fixed] = np.eye(1, weights.shape[1])
    near = s <= knots[0] + ROOT_ZONE * (knots[1] - knots[0])
    reasons = []
    if sure < 0.6:
        reasons.append("the root is not clearly an end of the strand")
    thin = float(np.clip((curve.length / max(width, 1e-9) - 1.0) / 3.0, 0.0, 1.0))
    if thin < 0.6:
        reasons.append("hardly longer than wide")
    if turns > 1.25:
        reasons.append(f"winds {turns:.1f} times around its axis")
    confidence = float(np.clip(min(sure + 0.2, 1.0) * (0.4 + 0.6 * thin) * (0.8 if turns > 1.25 else 1.0), 0.0, 1.0))
    guide = curve.at(np.linspace(0.0, curve.length, 48))
    lock = Lock(name, -1, guide, int((~fixed).sum()), curve.length, width, confidence, tuple(reasons))
    return Strand(name, curve.at(knots), curve, knots, lock), weights, fixed, near
