"""Forms: the shapes of members at any level of detail, and their change from one kind of rig to another."""

from __future__ import annotations

import numpy as np

from .. import rotations
from .layout import ONE
from .member import Kind, Member
from .shown import SHAPE_ROWS, fade_shape, shape_of_full, shape_of_reduced, take_shape
from .solvers.kinds import ROD
from .storage import Storage, read, write_columns

FADE = 0.4  # seconds, chosen: a change of that length is taken for a movement of the hair


def _slots(members: list[Member]) -> np.ndarray:
    return np.array([m.slot for m in members], dtype=np.int32)


def _spans(kind: Kind) -> np.ndarray:
    return np.ascontiguousarray(kind.rig.spans, dtype=np.int32)


def _scales(members: list[Member]) -> np.ndarray:
    """(M, C) scale of the node that carries each chain."""
    size = np.cbrt(np.abs(np.linalg.det(np.array([m.placement[:3, :3] for m in members]))))
    own = np.array([m.scale() for m in members])
    own = np.where(np.array([m.clip is None for m in members])[:, None], own, own * size[:, None])
    return own[:, members[0].kind.constants.chain_anchor].astype(np.float32)


def tell_attach(storage: Storage, members: list[Member]) -> None:
    """What the device does not know of members that the host moves: rotations of their attach nodes."""
    hosted = [m for m in members if m.clip is None and m.kind.constants.anchors]
    if hosted:
        columns = np.concatenate([m.anchor + np.arange(m.kind.constants.anchors) for m in hosted])
        write_columns(storage.state.attach, np.concatenate([m.before(0).rotation[0] for m in hosted]).T, columns)


def shapes(storage: Storage, tables, members: list[Member], out=None, places=None, *, moving: bool = True):
    """(M, S, SHAPE_ROWS) f32 shapes of members of one kind that run alike; into an array where one is given, at
    `places` (M,) in it. moving False: no velocities and ways of those that a table poses."""
    kind, run = members[0].kind, members[0].run
    if out is None:
        out = np.zeros((len(members), len(kind.rig.joints), SHAPE_ROWS), dtype=np.float32)
    if not len(kind.rig.joints):
        return out
    places = np.arange(len(members), dtype=np.int32) if places is None else np.asarray(places, dtype=np.int32)
    r = run.reduction
    if members[0].seat >= 0:
        tables.shapes(members, places, _scales(members), out)
        if moving:
            _carried(members, out)
    elif r is None:
        shape_of_full(storage.state, _slots(members), places, _spans(kind), out)
    else:
        tell_attach(storage, members)
        links = np.stack([r.link, r.beside, r.at], axis=1).astype(np.int32)
        parts = np.stack([r.share, r.part], axis=1).astype(np.float32)
        scales = _scales(members)
        slots, spans = _slots(members), _spans(kind)
        shape_of_reduced(storage.model, storage.state, slots, places, spans, scales, links, parts, kind.column, out)
    _fade(storage, members, places, out)
    return out


def _carried(members: list[Member], out: np.ndarray) -> None:
    """Velocities and ways of hair that goes with its head rigidly, metres a second and metres in a tick."""
    kind = members[0].kind
    chain = np.repeat(kind.constants.chain_anchor, kind.rig.spans[:, 1])
    at = [(m.clip.frames, m.phase // ONE) for m in members]
    step = np.array([f.position[i + 1] - f.position[i] for f, i in at])
    after, before = np.array([f.rotation[i + 1] for f, i in at]), np.array([f.rotation[i] for f, i in at])
    turn = np.array([m.placement[:3, :3] for m in members])
    rate = np.array([m.clip.rate * (m.speed / ONE) * (m.time_scale / ONE) for m in members])
    spin = rotations.multiply(after, rotations.inverse(before))
    spin = 2.0 * np.where(spin[..., 3:] < 0.0, -spin, spin)[..., :3]
    step = np.einsum("mij,maj->mai", turn, step)
    spin = rotations.rotate(rotations.from_matrix(turn)[:, None], spin)
    v = (step[:, chain] + np.cross(spin[:, chain], out[..., :3])) * rate[:, None, None]
    out[..., 3:6] = v
    out[..., 6:9] = v * np.array([m.stride / m.clip.rate for m in members])[:, None, None]


def start_fade(storage: Storage, tables, members: list[Member], seen: np.ndarray) -> None:
    """What members show goes over from `seen` to what their level shows, within FADE seconds."""
    for m in members:
        m.fade = None
    kind = members[0].kind
    if not len(kind.rig.joints):
        return
    off = seen[..., :3] - shapes(storage, tables, members, moving=False)[..., :3]
    columns = np.add.outer([m.anchor for m in members], np.arange(kind.constants.anchors)).ravel()
    attach = read(storage.state.attach, columns, 0, 4).T.reshape(len(members), -1, 4)
    chain = np.repeat(kind.constants.chain_anchor, kind.rig.spans[:, 1])
    back = rotations.rotate(rotations.inverse(attach[:, chain]), off).astype(np.float32)
    for m, offset in zip(members, back, strict=True):
        m.fade = (offset, m.since)


def _fade(storage: Storage, members: list[Member], all_places: np.ndarray, out) -> None:
    """Let shapes keep a part of what was shown before their level changed."""
    places, offsets = [], []
    for k, m in enumerate(members):
        if m.fade is not None:
            t = (m.since - m.fade[1]) * m.run.seconds / (FADE * m.stride)
            if t >= 1.0:
                m.fade = None
                continue
            places.append(k)
            offsets.append(m.fade[0] * (1.0 - t * t * (3.0 - 2.0 * t)))
    if places:
        slots = _slots([members[k] for k in places])
        offsets = np.array(offsets, dtype=np.float32)
        fade_shape(storage.state, slots, all_places[places], _spans(members[0].kind), offsets, out)


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
