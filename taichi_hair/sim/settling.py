"""Hair comes to rest on the pose that its body holds, with no time passing for the crowd.

A rest shape is made for the rest pose. Where a clip begins in another, the shape may lie inside the body, and contact
would throw all of it out within the first ticks, in sharp bends that no strand takes. So the strand is let fall first,
as a bake does before a take that is played once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..avatar.skeleton import Skeleton
from ..motion.body import Motion, Still
from ..motion.carried import carry
from . import layout as row
from .member import Member
from .storage import read, write_columns

if TYPE_CHECKING:
    from .crowd import Crowd

PART = 0.25  # seconds that are run at a time


def begins_elsewhere(motion: Motion, skeleton: Skeleton) -> bool:
    """Whether a motion begins in another pose than the rest pose, which hair is made for."""
    first = carry(motion, skeleton).worlds(np.zeros(1))[0]
    return not np.allclose(first, skeleton.rest_world, rtol=0.0, atol=1e-6)


def settle_into(crowd: Crowd, member: int, motion: Motion) -> None:
    """Settle a member that is about to play a motion, where that begins elsewhere."""
    if begins_elsewhere(motion, crowd._members[member].kind.avatar.skeleton):
        crowd.settle(member)


def settle(crowd: Crowd, ids: list[int], seconds: float, aside: Crowd) -> None:
    """Run `seconds` of standing still in `aside`, an empty crowd like `crowd`, and take the shapes over."""
    for i in ids:
        member = crowd._members[i]
        if member.run is not member.kind or member.seat >= 0:
            raise ValueError(f"settle: member {i} is at level {member.level!r}, wanted 'full' (set_level)")
    twins = []
    for i in ids:
        kind, place = crowd._members[i].kind, crowd._members[i].placement
        pose = Still(kind.avatar.skeleton, seconds=crowd.clock.tick, pose=np.linalg.inv(place) @ crowd.body(i))
        twins.append(int(aside.add(kind.avatar, kind.rig, motion=pose, at=place)[0]))
    while aside.time < seconds - 0.5 * crowd.clock.tick:
        aside.advance(min(PART, seconds - aside.time))
    for i, twin in zip(ids, twins, strict=True):
        _take_over(crowd, crowd._members[i], aside._members[twin])


def _take_over(crowd: Crowd, member: Member, twin: Member) -> None:
    """The shape of a twin on the same pose, at rest."""
    state, constants = crowd._storage.state, member.kind.constants
    size = constants.joint.shape[1]
    own, other = (m.joint + np.arange(size) for m in (member, twin))
    for first in (row.POSITION, row.DEVIATION, row.BEFORE):
        write_columns(state.joint, read(state.joint, other, first, 3), own, first)
    write_columns(state.joint, np.zeros((3, size)), own, row.VELOCITY)
    own, other = (m.slot + np.arange(len(constants.chain_anchor)) for m in (member, twin))
    roots = read(state.chain, other, row.ROOT_BEFORE, 3)
    write_columns(state.chain, roots, own, row.ROOT_BEFORE)  # those of branches have moved, too
