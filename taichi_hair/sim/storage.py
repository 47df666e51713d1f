"""Storage: who owns which columns of the packed fields, growth in rare big steps, and the way in and out of them."""

from dataclasses import replace

import numpy as np

from ..hair import SHAPES
from . import layout as row
from .backend import current, ti
from .model import model_storage, state_storage
from .roster import Roster

SOLID = [SHAPES.index(shape) for shape in ("box", "surface")]
PLAIN = [SHAPES.index(shape) for shape in ("sphere", "capsule")]
MODEL_FIELDS = ("joint", "chain", "span", "pair", "pair_number", "allowance", "grid", "path")
FEATURES = ("solid", "limited", "branched", "shaped")  # what kernels are compiled with once a kind has it


@ti.kernel
def _write(field: ti.template(), source: ti.types.ndarray(), start: ti.i32):
    for r, c in ti.ndrange(source.shape[0], source.shape[1]):
        field[r, start + c] = source[r, c]


@ti.func
def _put(field: ti.template(), values: ti.template(), plan: ti.template(), n, k):
    if k < plan[n, 1]:
        for r in range(field.shape[0]):
            field[r, plan[n, 0] + k] = values[plan[n, 2] + r * plan[n, 1] + k]


@ti.kernel
def _write_kind(
    model: ti.template(),
    numbers: ti.types.ndarray(),
    indices: ti.types.ndarray(),
    plan: ti.types.ndarray(),
    widest: ti.i32,
):
    """Columns of one kind in the fields of MODEL_FIELDS, one kernel for all of them: each takes a moment to compile.

    numbers, indices: values of the f32 and of the i32 fields, end to end; plan (fields, 3): each one's first column,
    columns, and place in its list.
    """
    for k in range(widest):
        _put(model.joint, numbers, plan, 0, k)
        _put(model.chain, numbers, plan, 1, k)
        _put(model.span, indices, plan, 2, k)
        _put(model.pair, indices, plan, 3, k)
        _put(model.pair_number, numbers, plan, 4, k)
        _put(model.allowance, numbers, plan, 5, k)
        _put(model.grid, numbers, plan, 6, k)
        _put(model.path, indices, plan, 7, k)


@ti.kernel
def _write_columns(field: ti.template(), source: ti.types.ndarray(), columns: ti.types.ndarray(), first: ti.i32):
    for r, c in ti.ndrange(source.shape[0], source.shape[1]):
        field[first + r, columns[c]] = source[r, c]


@ti.kernel
def _write_ticks(field: ti.template(), source: ti.types.ndarray(), columns: ti.types.ndarray()):
    for t, r, c in ti.ndrange(source.shape[0], source.shape[1], source.shape[2]):
        field[t, r, columns[c]] = source[t, r, c]


@ti.kernel
def _read(field: ti.template(), target: ti.types.ndarray(), columns: ti.types.ndarray(), first: ti.i32):
    for r, c in ti.ndrange(target.shape[0], target.shape[1]):
        target[r, c] = field[first + r, columns[c]]


@ti.kernel
def begin(
    state: ti.template(),
    joint: ti.types.ndarray(),
    chain: ti.types.ndarray(),
    attach: ti.types.ndarray(),
    plan: ti.types.ndarray(),
    starts: ti.types.ndarray(),
    model: ti.i32,
):
    """Members of one kind on one pose in their columns: `starts` (M, 4) has the first of joints, slots, anchors and
    colliders, `plan` (3, C) each chain's anchor, the chains family after family, and each chain's first collider,
    `model` the first of the kind."""
    ti.loop_config(serialize=True)  # one member comes more often than a thousand
    for m in range(starts.shape[0]):
        for r in range(joint.shape[0]):
            for k in range(joint.shape[1]):
                state.joint[r, starts[m, 0] + k] = joint[r, k]
        for r in range(4):
            for k in range(attach.shape[1]):
                state.attach[r, starts[m, 2] + k] = attach[r, k]
        for c in range(plan.shape[1]):
            slot = starts[m, 1] + c
            for r in range(chain.shape[0]):
                state.chain[r, slot] = chain[r, c]
            state.slot[row.MODEL, slot] = model + c
            state.slot[row.START, slot] = starts[m, 0] + c
            state.slot[row.STRIDE, slot] = plan.shape[1]
            state.slot[row.ANCHOR, slot] = starts[m, 2] + plan[0, c]
            state.slot[row.COLLIDERS, slot] = starts[m, 3] + plan[2, c]
            state.slot[row.BLOCK, slot] = starts[m, 0]
            state.family[row.FAMILY_ORDER, slot] = starts[m, 1] + plan[1, c]


def write(field, values: np.ndarray, start: int = 0) -> None:
    """Columns from `start` on = values (rows, n), in the field's own number type."""
    if values.size:
        if start < 0 or start + values.shape[1] > field.shape[-1] or values.shape[0] > field.shape[0]:
            raise IndexError(f"columns {start}..{start + values.shape[1]} of a field of shape {field.shape}")
        kind = np.int32 if field.dtype == ti.i32 else np.float32
        _write(field, np.ascontiguousarray(values, dtype=kind), start)


def write_columns(field, values: np.ndarray, columns: np.ndarray, first: int = 0) -> None:
    """Rows from `first` on of those columns = values (rows, n), in the field's own number type."""
    if values.size:
        if columns.min() < 0 or columns.max() >= field.shape[-1] or first + len(values) > field.shape[0]:
            raise IndexError(f"column {columns.max()} of a field of shape {field.shape}")
        kind = np.int32 if field.dtype == ti.i32 else np.float32
        source = np.ascontiguousarray(values, dtype=kind)
        _write_columns(field, source, np.ascontiguousarray(columns, dtype=np.int32), first)


def read(field, columns: np.ndarray, first: int, rows: int) -> np.ndarray:
    """(rows, n) values of those columns, from row `first` on."""
    target = np.zeros((rows, len(columns)), dtype=np.float32)
    if target.size:
        _read(field, target, np.ascontiguousarray(columns, dtype=np.int32), first)
    return target


class Pool:
    """Columns of a growing array: blocks are handed out, given back and used again by blocks of the same size."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.used = 0
        self._free: dict[int, list[int]] = {}

    def take(self, size: int) -> int:
        """First column of a block; may lie beyond `capacity`, which must then grow."""
        if self._free.get(size):
            return self._free[size].pop()
        start = self.used
        self.used += size
        return start

    def give(self, start: int, size: int) -> None:
        self._free.setdefault(size, []).append(start)

    @property
    def short(self) -> bool:
        return self.used > self.capacity

    def grow(self) -> None:
        """Half as much again, or what is asked for where that is more."""
        if self.short:
            self.capacity = max(self.used, self.capacity + self.capacity // 2)


class Storage:
    """The fields of all crowds of this process: a second crowd finds the kernels of the first one compiled."""

    def __init__(self, *, joints: int = 4096, chains: int = 512) -> None:
        self.backend = current()
        self.model_pools = {
            "joint": Pool(joints),
            "chain": Pool(chains),
            "pair": Pool(2 * chains),
            "allowance": Pool(2 * joints),
            "grid": Pool(64),
            "path": Pool(64),
        }
        self.state_pools = {
            "joint": Pool(joints),
            "slot": Pool(chains),
            "anchor": Pool(chains // 4),
            "collider": Pool(chains),
        }
        self._features = dict.fromkeys(FEATURES, False)
        self._models: dict[int, list[tuple[str, int, np.ndarray]]] = {}
        self._used: dict[str, Roster] = {}
        self._allocate_model()
        self._allocate_state()

    def _allocate_model(self) -> None:
        p = self.model_pools
        self.model, self._model_block = model_storage(
            *(p[name].capacity for name in ("joint", "chain", "pair", "allowance", "grid", "path")),
            **self._features,
        )

    def _allocate_state(self) -> None:
        p = self.state_pools
        self.state, self._state_block = state_storage(
            p["joint"].capacity, p["slot"].capacity, p["anchor"].capacity, p["collider"].capacity
        )
        self._used = {}

    def add_model(self, joint, chain, span, pair, pair_number, allowance, grid, path) -> int:
        """Store the constants of one kind; spans count from 0 within it. Returns the column of its first chain."""
        sizes = {"joint": joint.shape[1], "chain": chain.shape[1], "pair": pair.shape[1]}
        sizes |= {"allowance": len(allowance), "grid": len(grid), "path": path.shape[1]}
        starts = {name: self.model_pools[name].take(size) for name, size in sizes.items()}
        span, pair, path = span.copy(), pair.copy(), path.copy()
        pair[row.PAIR_GRID] += starts["grid"]
        span[row.JOINT_START] += starts["joint"]
        span[row.PAIR_START] += starts["pair"]
        span[row.ALLOWANCE_START] += starts["allowance"]
        span[row.PATH_START] += starts["path"]
        path[row.PATH_JOINT] += starts["joint"]
        path[row.PATH_CHAIN] = np.where(path[row.PATH_CHAIN] >= 0, path[row.PATH_CHAIN] + starts["chain"], -1)
        values = (joint, chain, span, pair, pair_number, allowance[None], grid[None], path)
        pools = ("joint", "chain", "chain", "pair", "pair", "allowance", "grid", "path")
        parts = [(name, starts[pool], v) for name, pool, v in zip(MODEL_FIELDS, pools, values, strict=True)]
        self._models[starts["chain"]] = parts
        found = {
            "solid": np.isin(pair[row.PAIR_SHAPE], SOLID).any(),
            "limited": joint[row.LIMIT].any(),
            "branched": path.size > 0,
            "shaped": not np.isin(pair[row.PAIR_SHAPE], PLAIN + SOLID).all(),
        }
        new = {name: True for name, has in found.items() if has and not self._features[name]}
        if new:
            self._features.update(new)
            self.model = replace(self.model, **new)
        if any(p.short for p in self.model_pools.values()):
            for p in self.model_pools.values():
                p.grow()
            self._model_block.destroy()
            self._allocate_model()
            for kind in self._models.values():
                self._write_kind(kind)
        else:
            self._write_kind(parts)
        return starts["chain"]

    def _write_kind(self, parts: list[tuple[str, int, np.ndarray]]) -> None:
        lists: dict[type, list[np.ndarray]] = {np.float32: [], np.int32: []}
        plan = np.zeros((len(parts), 3), dtype=np.int32)
        for n, (name, start, values) in enumerate(parts):
            field = getattr(self.model, name)
            if start + values.shape[1] > field.shape[1] or len(values) != field.shape[0]:
                raise IndexError(
                    f"{name}: columns {start}..{start + values.shape[1]} of a field of shape {field.shape}"
                )
            own = lists[np.int32 if field.dtype == ti.i32 else np.float32]
            plan[n] = start, values.shape[1], sum(v.size for v in own)
            own.append(values)
        flat = [np.concatenate([*map(np.ravel, own), [0]]).astype(kind) for kind, own in lists.items()]
        _write_kind(self.model, *flat, plan, int(plan[:, 1].max()))

    def drop_model(self, column: int) -> None:
        """Give the columns of a kind back."""
        for name, start, values in self._models.pop(column):
            if name in self.model_pools:
                self.model_pools[name].give(start, values.shape[1])

    def grow_state(self) -> bool:
        """Larger fields where a pool has run out; what they held moves along."""
        if not any(p.short for p in self.state_pools.values()):
            return False
        old = {
            name: getattr(self.state, name).to_numpy()
            for name in ("joint", "chain", "slot", "attach", "family", "anchor", "collider")
        }
        self._state_block.destroy()
        for p in self.state_pools.values():
            p.grow()
        self._allocate_state()
        for name in ("joint", "chain", "slot", "attach", "family"):
            write(getattr(self.state, name), old[name])
        for name in ("anchor", "collider"):
            self.write_ticks(name, old[name], np.arange(old[name].shape[2]))
        return True

    def use(self, name: str, roster: Roster) -> None:
        """What the next launch runs, "family" or "frozen": only what changed, or all after another crowd's."""

        def send(values, columns):
            write_columns(getattr(self.state, name), values, columns)

        roster.upload(send, self._used.get(name) is not roster)
        self._used[name] = roster

    def write_ticks(self, name: str, values: np.ndarray, columns: np.ndarray) -> None:
        """Those columns of the per-tick field `name` ("anchor" or "collider") = values (T, rows, n), from tick 0."""
        field = getattr(self.state, name)
        if values.size:
            if values.shape[0] > field.shape[0] or values.shape[1] > field.shape[1] or columns.max() >= field.shape[2]:
                raise IndexError(f"{name}: {values.shape} up to column {columns.max()} does not fit {field.shape}")
            source = np.ascontiguousarray(values, dtype=np.float32)
            _write_ticks(field, source, np.ascontiguousarray(columns, dtype=np.int32))


_shared: Storage | None = None


def shared_storage() -> Storage:
    """The storage of this process, made when the first crowd asks for it."""
    global _shared
    if _shared is None:
        _shared = Storage()
    return _shared
