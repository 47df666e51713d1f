"""What a fit gives: FittedRig, a HairRig that brings the avatar with its new joints and tells how sure it is."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..avatar.description import Avatar
from ..hair import HairRig
from .refine import Stretches


@dataclass(frozen=True, eq=False)
class Lock:
    """One strand that was found: its chain, the curve it follows, and how sure the fit is of it."""

    name: str
    chain: int  # index into the rig's chains
    guide: np.ndarray  # (K, 3) metres, from where the hair is held to its tip, rest pose
    points: int  # welded points of the mesh that follow it more than anything else
    length: float  # metres of the guide
    width: float  # metres: mean distance of its points from the guide, times two
    confidence: float  # 0 to 1
    reasons: tuple[str, ...] = ()  # what lowers the confidence


@dataclass(frozen=True)
class Refusal:
    """A piece of hair that gets no chain, and why: the head holds all of it."""

    what: str
    reason: str
    points: int


@dataclass(frozen=True)
class Refinement:
    """Stretch over the sampled poses before and after the weights were refined."""

    before: Stretches
    after: Stretches


@dataclass(frozen=True, eq=False)
class FittedRig(HairRig):
    """Chains and colliders whose nodes are those of `avatar`, the fitted one; `base` is what it was made from.

    Crowd, measure and save take it beside the avatar it was fitted to: `crowd.add(avatar, rig)`.
    """

    avatar: Avatar | None = None
    base: Avatar | None = None
    fitted: tuple[int, ...] = ()  # chains that are new
    locks: tuple[Lock, ...] = ()
    refused: tuple[Refusal, ...] = ()
    refinement: Refinement | None = None
    seconds: float = 0.0  # that the fit took
    table: dict = field(default_factory=dict, repr=False)  # surface, weights and places: what later steps work on

    def undo(self) -> Avatar:
        """The avatar as it was before the fit: the same object, so that saving it gives the same bytes."""
        return self.base

    def report(self) -> dict:
        """Plain data for programs."""
        return {
            "chains": [
                {
                    "name": lock.name,
                    "joints": len(self.chains[lock.chain]),
                    "length_m": round(lock.length, 4),
                    "width_m": round(lock.width, 4),
                    "points": lock.points,
                    "confidence": round(lock.confidence, 2),
                    "reasons": list(lock.reasons),
                }
                for lock in self.locks
            ],
            "refused": [{"what": r.what, "reason": r.reason, "points": r.points} for r in self.refused],
            "refinement": None
            if self.refinement is None
            else {
                "p99_before": round(self.refinement.before.p99, 2),
                "p99_after": round(self.refinement.after.p99, 2),
                "worst_before": round(self.refinement.before.worst, 2),
                "worst_after": round(self.refinement.after.worst, 2),
            },
            "seconds": round(self.seconds, 2),
        }


def owner(avatar: Avatar, rig: HairRig) -> Avatar:
    """The avatar whose nodes a rig names: the fitted one for a FittedRig made from `avatar`, else `avatar` itself."""
    fitted = getattr(rig, "avatar", None)
    if fitted is None or fitted is avatar:
        return avatar
    if getattr(rig, "base", None) is not avatar:
        raise ValueError(f"{avatar.name}: the rig was fitted to another avatar, {fitted.name!r}")
    return fitted
