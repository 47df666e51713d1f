"""Members begin at rest, and what they held is given back (host side of the state's columns)."""

from __future__ import annotations

import weakref

import numpy as np

from .launch import rest_state
from .member import Kind, Member
from .storage import Storage, begin

_kept: weakref.WeakKeyDictionary[Kind, tuple] = weakref.WeakKeyDictionary()


def start(storage: Storage, members: list[Member], tick: int) -> None:
    """Write the columns of members whose hair rests on their pose at a tick of the crowd."""
    groups: dict[tuple, list[Member]] = {}
    for m in members:
        if m.track is not None:
            at = tick - m.start_tick
            m.keep(m.placed(m.track.ticks(at, at + 1)))
        place = m.placement[:3, :3].tobytes()
        groups.setdefault((id(m.run), id(m.clip), m.phase, place) if m.clip else (id(m),), []).append(m)
    for group in groups.values():
        _start_alike(storage, group, tick)


def _start_alike(storage: Storage, members: list[Member], tick: int) -> None:
    """The same for members of one kind on one pose."""
    kind = members[0].run
    at = [(m.joint, m.slot, m.anchor, m.collider) for m in members]
    begin(storage.state, *_rest(members[0], tick), np.array(at, dtype=np.int32), kind.column)
    for m in members:
        m.teleported = False


def _rest(member: Member, tick: int) -> tuple[np.ndarray, ...]:
    """Joints, chains, attach nodes and plan of a member's kind on its pose, as `begin` takes them. The last ones of a
    kind are kept: avatars that come one by one mostly begin alike."""
    kind, clip = member.run, member.clip
    member.count(tick)
    at = (member.phase, member.placement[:3, :3].tobytes())
    kept = _kept.get(kind)
    if clip is not None and kept is not None and kept[0]() is clip and kept[1] == at:
        return kept[2]
    c = kind.constants
    before = member.before(tick)
    joint, chain = rest_state(c.joint, c.chain, c.chain_anchor, before)
    attach = before.rotation[0].T if c.anchors else np.zeros((4, 0))
    numbers = tuple(np.ascontiguousarray(v, dtype=np.float32) for v in (joint, chain, attach))
    out = (*numbers, np.stack([c.chain_anchor, c.order, c.chain_colliders]).astype(np.int32))
    if clip is not None:
        _kept[kind] = weakref.ref(clip), at, out
    return out


def give_back(storage: Storage, member: Member) -> None:
    """A member's columns of the state, for others to use."""
    constants, pools = member.kind.constants, storage.state_pools
    pools["joint"].give(member.joint, constants.joint.shape[1])
    pools["slot"].give(member.slot, len(constants.chain_anchor))
    pools["anchor"].give(member.anchor, constants.anchors)
    pools["collider"].give(member.collider, len(member.kind.sizes))


def release(storage: Storage, playing, tables, members: dict[int, Member], kinds: dict[tuple, Kind]) -> None:
    """What a crowd that is gone held."""
    for member in members.values():
        give_back(storage, member)
        tables.unseat([member])
        if member.clip is not None:
            playing.store.unseat(member)
    tables.release()
    of = {key[:2]: kind for key, kind in kinds.items()}
    for key, clip in playing.baked.items():
        playing.store.drop(clip, of[key[:2]])
    for kind in kinds.values():
        storage.drop_model(kind.column)


def placements(at, count: int) -> list[np.ndarray]:
    """Placement matrices from positions or matrices, for one or for all."""
    if count < 1:
        raise ValueError(f"count: found {count}, wanted at least 1")
    if at is None:
        return [np.eye(4)] * count
    at = np.asarray(at, dtype=np.float64)
    if at.shape in ((3,), (count, 3)):
        out = np.tile(np.eye(4), (count, 1, 1))
        out[:, :3, 3] = at
    elif at.shape in ((4, 4), (count, 4, 4)):
        out = np.broadcast_to(at, (count, 4, 4)).copy()
    else:
        raise ValueError(f"at: found shape {at.shape}, wanted (3,), ({count}, 3), (4, 4) or ({count}, 4, 4)")
    if not np.isfinite(out).all():
        raise ValueError("at: found a number that is not finite")
    return list(out)
