"""Tables: the pose tables of all crowds of this process on the device, and the members that they pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import rotations
from ..motion.turn import carrying_node
from .baked import Baked, same_side
from .look_up import REST, SEAT_ROWS, look_up, shape_by_table, table_storage
from .member import Kind, Member
from .quick import launch
from .roster import Roster
from .solvers.lut import FOLLOW, SHAPES, PoseTable
from .storage import Pool, Storage, write, write_columns

SERIAL_MEMBERS = 1500  # below it, a second CPU thread costs more than it saves (measured: 83 us of 306 for 1,000)


@dataclass(eq=False)
class Style:
    """One table for one kind of avatar, as it lies on the device."""

    table: PoseTable
    numbers: int  # first of its numbers
    size: int
    shapes: int
    anchor: int  # the anchor that its head turns, within an avatar
    rest: np.ndarray  # (4,) rest rotation of that anchor's node
    pivots: np.ndarray  # (C, 3) f32


def style_numbers(kind: Kind, table: PoseTable) -> tuple[np.ndarray, int, np.ndarray, np.ndarray]:
    """What a table says in the frames of the attach nodes: numbers (amounts, then segments), the anchor that turns with
    the head and its rest rotation, and (C, 3) where the head's joint is. Chains that the head does not carry keep their
    rest shape."""
    avatar, rig, c = kind.avatar, kind.rig, kind.constants
    spans = rig.spans
    if not np.array_equal(spans, table.spans):
        raise ValueError(f"lut: the table has chains of {table.spans[:, 1]} joints, {avatar.name} has {spans[:, 1]}")
    rest = avatar.skeleton.rest_world
    node = carrying_node(avatar)
    carried = np.zeros(len(rest) + 1, dtype=bool)
    carried[:-1] = avatar.skeleton.below(node) if node >= 0 else False
    head = rest[node] if node >= 0 else np.eye(4)
    anchor, turned = -1, rotations.IDENTITY
    shapes = len(table.shapes)
    segments = np.zeros((len(rig.joints), 4 + 3 * shapes))
    pivots = np.zeros((len(rig.chains), 3), dtype=np.float32)
    for k, (chain, (a, n)) in enumerate(zip(rig.chains, spans, strict=True)):
        root = chain
        while root.parent is not None:
            root = rig.chains[root.parent[0]]
        attach = rest[root.attach] if root.attach >= 0 else np.eye(4)
        back = rotations.to_matrix(rotations.inverse(rotations.from_matrix(attach)))
        if carried[root.attach] or node < 0:
            if anchor < 0:
                anchor, turned = int(c.chain_anchor[k]), rotations.from_matrix(attach)
            linear = back @ head[:3, :3]
            pivots[k] = back @ (head[:3, 3] - attach[:3, 3])
            segments[a : a + n, :3] = table.mean[a : a + n] @ linear.T + pivots[k]
            segments[a : a + n, 3] = FOLLOW * np.arange(1, n + 1) / n
            moved = table.shapes[:, a : a + n] @ linear.T
            segments[a : a + n, 4:] = np.swapaxes(moved, 0, 1).reshape(n, -1)
        else:
            world = rest[chain.joints]
            ends = (world[:, :3, :3] @ chain.tails[:, :, None])[..., 0] + world[:, :3, 3]
            segments[a : a + n, :3] = (ends - attach[:3, 3]) @ back.T
    if anchor < 0:
        raise ValueError(f"lut: the head of {avatar.name} carries no hair, wanted a chain below it for a pose table")
    amounts = np.zeros((len(table.amounts), SHAPES))
    amounts[:, :shapes] = table.amounts
    return np.concatenate([amounts.ravel(), segments.ravel()]), anchor, turned, pivots


def keys(kind: Kind, clip: Baked) -> np.ndarray:
    """(T, 4) what a table is asked for at each frame of a clip: the head's turn from the rest pose in a body that looks
    forward. Where the body faces is left out, since gravity does not know it."""
    avatar = kind.avatar
    rest = avatar.skeleton.rest_world
    node, hips = carrying_node(avatar), avatar.humanoid.get("hips", -1)
    out = np.tile(rotations.IDENTITY, (len(clip.frames), 1))
    for start in range(0, len(out), 512):
        times = np.arange(start, min(start + 512, len(out))) / clip.rate
        worlds = clip.motion.worlds(times)

        def turned(k, worlds=worlds):
            return rotations.multiply(
                rotations.from_matrix(worlds[:, k]), rotations.inverse(rotations.from_matrix(rest[k]))
            )

        if node >= 0:
            q = turned(node)
            if hips >= 0:
                facing = rotations.normalise(turned(hips) * np.array([0.0, 1.0, 0.0, 1.0]))
                q = rotations.multiply(rotations.inverse(facing), q)
            out[start : start + len(times)] = q
    return same_side(out)


class TableStore:
    """Owner of the HairTable fields: grows in rare big steps, hands out columns and takes them back."""

    def __init__(self) -> None:
        self.pools = {"number": Pool(1 << 16), "key": Pool(4096), "seat": Pool(256)}
        self._allocate()

    def _allocate(self) -> None:
        self.table, self._block = table_storage(*(p.capacity for p in self.pools.values()))
        self._active: Roster | None = None

    def _grow(self) -> None:
        if any(p.short for p in self.pools.values()):
            names = ("number", "key", "seat", "lag", "amount")
            old = {name: getattr(self.table, name).to_numpy() for name in names}
            self._block.destroy()
            for p in self.pools.values():
                p.grow()
            self._allocate()
            for name in names:
                write(getattr(self.table, name), old[name])

    def take(self, name: str, values: np.ndarray) -> int:
        """Keep columns (rows, n) in the field `name`; returns the first."""
        start = self.pools[name].take(values.shape[1])
        self._grow()
        write(getattr(self.table, name), values, start)
        return start

    def seat(self, members: list[Member], style: Style, key: dict[int, int]) -> None:
        """Members are posed by a style from now on; `key` has the first column of each clip's keys, by its id."""
        seats = np.zeros((SEAT_ROWS, len(members)), dtype=np.int32)
        for k, m in enumerate(members):
            m.seat = self.pools["seat"].take(1)
            amounts = SHAPES * len(style.table.amounts)
            seats[:, k] = (
                m.pilot,
                key[id(m.clip)],
                style.numbers,
                style.shapes,
                style.numbers + amounts,
                style.anchor,
                1,
            )
        self._grow()
        columns = np.array([m.seat for m in members])
        write_columns(self.table.seat, seats, columns)
        write_columns(self.table.lag, np.repeat(style.rest[:, None], len(members), axis=1), columns, REST)

    def unseat(self, m: Member) -> None:
        """A member is no longer posed by a table."""
        if m.seat >= 0:
            self.pools["seat"].give(m.seat, 1)
            m.seat = -1

    def use(self, active: Roster) -> None:
        """The seats that the next launch poses."""

        def send(values, columns):
            write_columns(self.table.active, values, columns)

        active.upload(send, self._active is not active)
        self._active = active


_shared: TableStore | None = None


def shared_tables() -> TableStore:
    """The tables of this process, made when the first crowd asks for them."""
    global _shared
    if _shared is None:
        _shared = TableStore()
    return _shared


class Tables:
    """The pose tables of one crowd, and which of its members they pose."""

    def __init__(self, storage: Storage, clip_store) -> None:
        self.storage, self.clips = storage, clip_store
        self.active = Roster(1)
        self.styles: dict[tuple[int, int], Style] = {}
        self._keys: dict[int, tuple[Baked, int, int]] = {}

    def add(self, kind: Kind, table: PoseTable) -> None:
        """The table of a kind of avatar."""
        numbers, anchor, turned, pivots = style_numbers(kind, table)
        start = shared_tables().take("number", numbers[None])
        key = (id(kind.avatar), id(kind.rig))
        self.drop(key)
        self.styles[key] = Style(table, start, len(numbers), len(table.shapes), anchor, turned, pivots)

    def drop(self, key: tuple[int, int]) -> None:
        old = self.styles.pop(key, None)
        if old is not None:
            shared_tables().pools["number"].give(old.numbers, old.size)

    def seat(self, members: list[Member]) -> None:
        """Members of one kind, with clips, are posed by its table from now on."""
        kind = members[0].kind
        for m in members:
            if id(m.clip) not in self._keys:
                values = keys(kind, m.clip)
                self._keys[id(m.clip)] = (m.clip, shared_tables().take("key", values.T), len(values))
        style = self.styles[id(kind.avatar), id(kind.rig)]
        shared_tables().seat(members, style, {k: start for k, (_, start, _) in self._keys.items()})

    def unseat(self, members: list[Member]) -> None:
        """They are no longer."""
        for m in members:
            shared_tables().unseat(m)

    def launch(self, ticks: int, h: float, between: bool) -> None:
        """Ticks of those whose turn it is; 0 ticks only find what is shown."""
        count = self.active.count
        if count:
            store = shared_tables()
            store.use(self.active)
            serial = count < SERIAL_MEMBERS
            launch(look_up, self.storage.state, self.clips.clip, store.table, count, ticks, h, not between, serial)

    def shapes(self, members: list[Member], places: np.ndarray, scales: np.ndarray, out) -> None:
        """End points of members of one kind that a table poses, into (..., S, 9) numbers, at `places`."""
        kind = members[0].kind
        style = self.styles[id(kind.avatar), id(kind.rig)]
        shape_by_table(
            self.storage.model,
            self.storage.state,
            shared_tables().table,
            np.array([m.slot for m in members], dtype=np.int32),
            places,
            np.array([m.seat for m in members], dtype=np.int32),
            kind.constants.order.astype(np.int32),
            np.ascontiguousarray(kind.rig.spans, dtype=np.int32),
            scales,
            style.pivots,
            out,
        )

    def forget(self, clip: Baked) -> None:
        """A clip that is gone."""
        kept = self._keys.pop(id(clip), None)
        if kept is not None:
            shared_tables().pools["key"].give(kept[1], kept[2])

    def release(self) -> None:
        """What a crowd that is gone held."""
        for key in list(self.styles):
            self.drop(key)
        for clip, _, _ in list(self._keys.values()):
            self.forget(clip)
