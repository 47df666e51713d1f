"""Readers of a crowd: where the hair is, as positions, rotations and poses; nothing here changes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import layout as row
from .forms import shapes
from .layout import ONE
from .member import Member
from .pose import apply_hair, local_rotations
from .shown import SHAPE_ROWS
from .storage import read

if TYPE_CHECKING:
    from .arrays import DeviceArrays


class Readers:
    """What a Crowd tells; it owns the fields that are read here."""

    def positions(self, ids=None, *, interpolated: bool = False) -> np.ndarray:
        """(M, S, 3) float64 world end points of every segment, metres, in the order of the rig's joints.

        All ids must be of one kind. interpolated: on the way between the last two ticks, for display.
        """
        members = self._same_kind(ids)
        c = members[0].kind.constants
        shown = self._shown(members, interpolated)
        local = shown[..., :3]
        if interpolated:
            shares = np.array([m.fraction(self.clock.ticks, self.clock.fraction) for m in members])
            local = local - shown[..., 6:9] * (1.0 - shares)[:, None, None]
        anchors = np.repeat(c.chain_anchor, members[0].kind.rig.spans[:, 1])
        return local + self._playing.attach_points(members)[:, anchors]

    def roots(self, ids=None) -> np.ndarray:
        """(M, C, 3) float64 world positions of the joint of each chain's first segment, metres."""
        members = self._same_kind(ids)
        chain_anchor = members[0].kind.constants.chain_anchor
        posed = [m for m in members if m.seat >= 0]
        if posed:
            self._shown(posed, False)  # finds their roots too
        columns = np.add.outer([m.slot for m in members], np.arange(len(chain_anchor))).ravel()
        local = read(self._storage.state.chain, columns, row.ROOT_BEFORE, 3).T.astype(np.float64)
        return local.reshape(len(members), -1, 3) + self._playing.attach_points(members)[:, chain_anchor]

    def places(self, ids=None) -> np.ndarray:
        """(M, 3) float64 metres: where members are placed."""
        wanted = self._wanted(ids)
        return np.array([self._members[i].placement[:3, 3] for i in wanted]).reshape(-1, 3)

    def elapsed(self, member: int) -> float:
        """Seconds of its motion that a member has played."""
        m = self._members[self._wanted(member)[0]]
        if m.clip is None:
            return (self.clock.ticks - m.start_tick) / self.clock.rate
        m.count(self.clock.ticks)
        return m.played / ONE / self.clock.rate

    def body(self, member: int) -> np.ndarray:
        """(N, 4, 4) placed world matrices of the body at the last tick, hair in its rest pose."""
        m = self._members[self._wanted(member)[0]]
        if m.clip is not None:
            m.count(self.clock.ticks)
            worlds = m.clip.motion.worlds(np.array([m.clip.seconds(m.phase)]))[0]
        elif m.track is not None:
            worlds = m.track.motion.worlds(np.array([self.elapsed(member)]))[0]
        else:
            worlds = m.worlds
        return m.placement @ worlds

    def pose(self, member: int) -> np.ndarray:
        """(N, 4, 4) world matrices of all nodes with the hair where it is."""
        m = self._members[self._wanted(member)[0]]
        return apply_hair(m.kind.avatar.skeleton, m.kind.rig, self.body(member), self.positions(member)[0])

    def rotations(self, ids=None) -> np.ndarray:
        """(M, S, 4) local rotations, xyzw, of the rig's joints."""
        wanted = self._wanted(ids)
        kind = self._same_kind(ids)[0].kind
        return np.array([local_rotations(kind.avatar.skeleton, kind.rig, self.pose(i)) for i in wanted])

    def on_device(self, ids=None) -> DeviceArrays:
        """Arrays of members of one kind that stay on the device: `positions`, `rotations` and `worlds`, filled by each
        `update`. `measure.skin.Skinner.update_from` makes skinned vertices of them. Keep it while the ids are the same.
        """
        from .arrays import DeviceArrays

        return DeviceArrays(self, self._wanted(ids)).update()

    def overlaps(self, member: int) -> list[tuple[str, str, float]]:
        """(joint, collider, metres) that overlap in the rest pose; contact keeps that much allowance."""
        kind = self._members[self._wanted(member)[0]].kind
        names = kind.avatar.skeleton.names
        joints = kind.rig.joints
        return [(names[joints[s]], kind.rig.colliders[b].name, deep) for s, b, deep in kind.constants.overlaps]

    def _shown(self, members: list[Member], moving: bool) -> np.ndarray:
        """(M, S, SHAPE_ROWS) float64 shapes of members of one kind, whatever their levels."""
        out = np.zeros((len(members), len(members[0].kind.rig.joints), SHAPE_ROWS))
        runs: dict[tuple, list[int]] = {}
        for k, m in enumerate(members):
            m.count(self.clock.ticks)
            runs.setdefault((id(m.run.reduction), m.seat >= 0), []).append(k)
        for group in runs.values():
            out[group] = shapes(self._storage, self._tables, [members[k] for k in group], moving=moving)
        return out

    def _wanted(self, ids) -> list[int]:
        wanted = list(self._members) if ids is None else [int(i) for i in np.atleast_1d(ids)]
        for i in wanted:
            if i not in self._members:
                raise KeyError(f"crowd: there is no member {i}")
        return wanted

    def _same_kind(self, ids) -> list[Member]:
        members = [self._members[i] for i in self._wanted(ids)]
        if not members:
            raise KeyError("crowd: no members")
        if any(m.kind is not members[0].kind for m in members):
            raise ValueError("crowd: ids of different avatars or rigs in one call, wanted ids of one kind")
        return members
