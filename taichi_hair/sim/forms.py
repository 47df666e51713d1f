"""Forms: the shapes of members at any level of detail, and their change from one kind of rig to another."""

from __future__ import annotations

import numpy as np

from .member import Kind, Member
from .shown import SHAPE_ROWS, shape_of_full, shape_of_reduced, take_shape
from .solvers.kinds import ROD
from .storage import Storage, write_columns


def _slots(members: list[Member]) -> np.ndarray:
    return np.array([m.slot for m in members], dtype=np.int32)


def _spans(kind: Kind) -> np.ndarray:
    return np.ascontiguousarray(kind.rig.spans, dtype=np.int32)


def _scales(members: list[Member]) -> np.ndarray:
    """(M, C) scale of the node that carries each chain."""
    chain_anchor = members[0].kind.constants.chain_anchor
    return np.array([m.scale()[chain_anchor] for m in members], dtype=np.float32)


def tell_attach(storage: Storage, members: list[Member]) -> None:
    """What the device does not know of members that the host moves: rotations of their attach nodes."""
    hosted = [m for m in members if m.clip is None and m.kind.constants.anchors]
    if hosted:
        columns = np.concatenate([m.anchor + np.arange(m.kind.constants.anchors) for m in hosted])
        write_columns(storage.state.attach, np.concatenate([m.before(0).rotation[0] for m in hosted]).T, columns)


def shapes(storage: Storage, members: list[Member], out=None):
    """(M, S, SHAPE_ROWS) f32 shapes of members of one kind that run the same; into a device array where one is given,
    with its rows in the order of the members."""
    kind, run = members[0].kind, members[0].run
    if out is None:
        out = np.zeros((len(members), len(kind.rig.joints), SHAPE_ROWS), dtype=np.float32)
    if not len(kind.rig.joints):
        return out
    r = run.reduction
    if r is None:
        shape_of_full(storage.state, _slots(members), _spans(kind), out)
        return out
    tell_attach(storage, members)
    links = np.stack([r.link, r.beside, r.at], axis=1).astype(np.int32)
    parts = np.stack([r.share, r.part], axis=1).astype(np.float32)
    shape_of_reduced(
        storage.model,
        storage.state,
        _slots(members),
        _spans(kind),
        _scales(members),
        links,
        parts,
        kind.column,
        out,
    )
    return out


def change(storage: Storage, members: list[Member], run: Kind, solver: int, shape: np.ndarray) -> None:
    """Members of one kind go on from `shape` as `run`."""
    kind = members[0].kind
    for m in members:
        m.run = run
    if not len(kind.rig.joints):
        return
    tell_attach(storage, members)
    if run.reduction is not None:
        kept = run.reduction.kept
    else:
        kept = np.tile(np.arange(kind.rig.spans[:, 1].max()), (len(kind.rig.chains), 1))
    take_shape(
        storage.model,
        storage.state,
        _slots(members),
        np.array([m.joint for m in members], dtype=np.int32),
        run.constants.order.astype(np.int32),
        _spans(kind),
        _scales(members),
        np.ascontiguousarray(kept, dtype=np.int32),
        run.column,
        int(solver == ROD),
        shape,
    )
