"""Levels: how much of each member of a crowd is simulated, and its change from one level of detail to another."""

from __future__ import annotations

import numpy as np

from ..avatar.avatar import Avatar
from ..hair import HairRig
from . import layout as row
from .constants import build
from .forms import change, shapes, start_fade
from .launch import collider_sizes
from .lod import DISTANCES, LEVELS, Budget, by_distance, screen_size
from .member import Kind, Member
from .reduction import reduction
from .solvers.kinds import SOLVERS
from .solvers.lut import PoseTable
from .storage import write_columns


class Levels:
    """What a Crowd does about levels of detail; it owns the members and the fields."""

    def set_visible(self, ids, visible: bool) -> None:
        """What nobody sees is not simulated. Hair that comes back was carried rigidly: no catching up, no jump."""
        wanted = self._wanted(ids)
        for i in wanted:
            member = self._members[i]
            if member.hidden != (not visible):
                member.hidden = not visible
                if visible:
                    member.teleported = True
                    self._simulate(i, member)
                else:
                    self._rest(i)
        self._tell(wanted)

    def set_level(self, ids, level: str) -> None:
        """Level of detail: "full", "reduced" (at most 5 joints a chain), "half" (the same at half as many ticks), "lut"
        (posed by a table, see `use_table`), "frozen" (rigid with the head) or "culled" (nothing).

        The hair goes on from where it is shown: no level has a shape of its own to jump to.
        """
        if level not in LEVELS:
            raise ValueError(f"level: {level!r} is unknown, wanted one of {', '.join(LEVELS)}")
        changed = [i for i in self._wanted(ids) if self._members[i].level != level]
        for i in changed:
            self._check_level(i, level)
        if level != "culled":
            self.set_visible(changed, True)
        for i in changed:
            m = self._members[i]
            m.count(self.clock.ticks)
            m.level = level
            m.frozen = level == "frozen"
        self._settle(changed)
        self._tell(changed)
        if level == "culled":
            self.set_visible(changed, False)

    def use_table(self, avatar: Avatar, table: PoseTable, rig: HairRig | None = None) -> None:
        """The pose table of an avatar's hair; with one, its members that play a clip can have the level "lut"."""
        kind = self._kind(avatar, avatar.hair if rig is None else rig)
        posed = [i for i, m in self._members.items() if m.kind is kind and m.level == "lut"]
        self.set_level(posed, "full")
        self._tables.add(kind, table)
        self.set_level(posed, "lut")

    def _check_level(self, i: int, level: str) -> None:
        """Say why a member cannot have a level, where it cannot."""
        if level in ("reduced", "half") and self.solver == "spring-bone":
            raise ValueError(f"level: {level} would be another motion under spring-bone, wanted full or frozen")
        m = self._members[i]
        if level == "lut" and (id(m.kind.avatar), id(m.kind.rig)) not in self._tables.styles:
            raise ValueError(f"level: {m.kind.avatar.name} has no pose table, wanted one by use_table before lut")
        if level == "lut" and m.clip is None:
            raise ValueError(f"level: lut needs a clip on the device, the body of member {i} is not there")

    def _allowed(self, ids: list[int]) -> np.ndarray:
        """(M, LEVELS) which levels members can have."""
        out = np.ones((len(ids), len(LEVELS)), dtype=bool)
        if self.solver == "spring-bone":
            out[:, [LEVELS.index("reduced"), LEVELS.index("half")]] = False
        styles, lut = self._tables.styles, LEVELS.index("lut")
        for k, i in enumerate(ids):
            m = self._members[i]
            out[k, lut] = m.clip is not None and (id(m.kind.avatar), id(m.kind.rig)) in styles
        return out

    def look_from(self, eye: np.ndarray, *, limits=DISTANCES) -> None:
        """Levels by distance, metres, from a place (3,) in the world; by the budget where one is set. A level that a
        member cannot have is the next finer one to it."""
        ids = list(self._members)
        if not ids:
            return
        level = np.array([LEVELS.index(self._members[i].level) for i in ids])
        distance = np.linalg.norm(self.places(ids) - np.asarray(eye, dtype=np.float64), axis=1)
        allowed = self._allowed(ids)
        if self._budget is None:
            wanted = by_distance(distance, level, limits)
        elif self._budget.spent(self.frame_ms, level):
            wanted = self._budget.choose(screen_size(distance), level, allowed)
        else:
            return
        possible = np.maximum.accumulate(np.where(allowed, np.arange(len(LEVELS)), 0), axis=1)
        wanted = possible[np.arange(len(ids)), wanted]
        for k in np.unique(wanted[wanted != level]):
            self.set_level(np.array(ids)[(wanted == k) & (wanted != level)], LEVELS[k])

    def budget(self, milliseconds: float | None) -> None:
        """Let `look_from` keep frames within that time; None lets it go by distance again."""
        self._budget = None if milliseconds is None else Budget(milliseconds)

    def levels(self, ids=None) -> list[str]:
        """Level of detail of each member."""
        return [self._members[i].level for i in self._wanted(ids)]

    # ---- inside ----

    def _kind(self, avatar: Avatar, rig: HairRig, stride: int = 1, reduced: bool = False) -> Kind:
        """The constants of an avatar whose ticks are `stride` of the crowd's, with fewer joints where that is wanted
        and makes a difference."""
        key = (id(avatar), id(rig), stride, reduced)
        if key not in self._kinds:
            fewer = self._fewer(avatar, rig) if reduced else None
            if reduced and fewer is None:
                return self._kind(avatar, rig, stride)
            runs = rig if fewer is None else fewer.rig
            h = self.clock.tick * stride
            c = build(
                avatar.skeleton,
                runs,
                solver=SOLVERS[self.solver],
                h=h,
                ticks=stride,
                sag_free=self.sag_free,
                keep_overlap=self.keep_overlap,
                measured=self.bone_length == "measured",
            )
            column = self._storage.add_model(
                c.joint, c.chain, c.span, c.pair, c.pair_number, c.allowance, c.grid, c.path
            )
            centered = np.zeros(c.anchors, dtype=bool)
            for chain, anchor in zip(rig.chains, c.chain_anchor, strict=True):
                centered[anchor] = chain.center >= 0
            sizes = collider_sizes(rig.colliders, c.placed)
            self._kinds[key] = Kind(avatar, runs, c, column, centered, sizes, stride, h, fewer)
        return self._kinds[key]

    def _fewer(self, avatar: Avatar, rig: HairRig):
        """The reduction of a rig, the same object for all its kinds."""
        for key, kind in self._kinds.items():
            if key[:2] == (id(avatar), id(rig)) and kind.reduction is not None:
                return kind.reduction
        return reduction(avatar.skeleton, rig)

    def _settle(self, ids: list[int]) -> None:
        """Let members run what their level asks for; their hair goes on from where it is shown."""
        groups: dict[tuple, tuple[Kind, list[int]]] = {}
        for i in ids:
            m = self._members[i]
            if m.level == "culled":
                continue
            reduced = m.level in ("reduced", "half")
            stride = 2 if m.level in ("half", "lut") and m.clip is not None else 1
            if m.level == "frozen" and m.seat < 0:
                reduced, stride = m.run.reduction is not None, m.run.stride if m.clip is not None else 1
            run = self._kind(m.kind.avatar, m.kind.rig, stride, reduced)
            groups.setdefault((id(m.run), id(run), m.seat >= 0, m.level == "lut"), (run, []))[1].append(i)
        for (before, after, posed, to_be_posed), (run, group) in groups.items():
            members = [self._members[i] for i in group]
            if (before, posed) != (after, to_be_posed):
                if run.reduction is members[0].run.reduction and not posed and not to_be_posed:
                    self._renamed(members, run)
                else:
                    self._over(members, run, posed, to_be_posed)
            for i, m in zip(group, members, strict=True):
                listed = self._tables.active if m.seat >= 0 else self._frozen if m.frozen else self._families
                if not m.hidden and i not in listed:
                    self._rest(i)
                    self._simulate(i, m)
            if to_be_posed and not posed:
                self._tables.launch(0, self.clock.tick, False)
                start_fade(self._storage, self._tables, members, self._seen)
                for m in members:
                    if m.told_to_jump == self.clock.ticks:
                        m.fade = None  # it was not seen before

    def _over(self, members: list[Member], run: Kind, posed: bool, to_be_posed: bool) -> None:
        """From one form to another: what is shown now is where they go on."""
        self._seen = shapes(self._storage, self._tables, members)
        for m in members:
            m.fade = None
        if posed:
            self._tables.unseat(members)
        change(self._storage, members, run, SOLVERS[self.solver], self._seen)
        if to_be_posed:
            self._tables.seat(members)
        elif run.reduction is not None:
            start_fade(self._storage, self._tables, members, self._seen)

    def _renamed(self, members: list[Member], run: Kind) -> None:
        """The same joints under other constants."""
        chains = np.arange(len(run.constants.chain_anchor))
        columns = np.add.outer([m.slot for m in members], chains).ravel()
        write_columns(self._storage.state.slot, np.tile(run.column + chains, len(members))[None], columns, row.MODEL)
        for m in members:
            m.run = run

    def _simulate(self, i: int, m: Member) -> None:
        c = m.kind.constants
        if m.seat >= 0:
            self._tables.active.add(i, np.array([[m.seat]]))
            return
        if len(c.sizes):
            first = m.slot + np.cumsum(c.sizes) - c.sizes
            (self._frozen if m.frozen else self._families).add(i, np.stack([first, c.sizes]))
        self._playing.pose(i, m)

    def _rest(self, i: int) -> None:
        self._families.remove(i)
        self._frozen.remove(i)
        self._tables.active.remove(i)
        self._playing.active.remove(i)
