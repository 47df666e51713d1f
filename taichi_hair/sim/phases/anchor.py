"""What a tick's attach frame says to a chain: where its root is, and what carries it along."""

from .. import layout as row
from ..backend import ti
from ..vectors import load3, rotate, store3


@ti.func
def anchor3(state: ti.template(), tick, first, a):
    return ti.Vector([state.anchor[tick, first, a], state.anchor[tick, first + 1, a], state.anchor[tick, first + 2, a]])


@ti.func
def anchor4(state: ti.template(), tick, first, a):
    xyz = anchor3(state, tick, first, a)
    return ti.Vector([xyz[0], xyz[1], xyz[2], state.anchor[tick, first + 3, a]])


@ti.func
def chain_root(model: ti.template(), state: ti.template(), c, tick):
    """Joint of the first segment on this tick's attach frame; for a branch, the end point that carries it."""
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    parent = state.slot[row.PARENT, c]
    attach = anchor4(state, tick, row.ATTACH, a)
    root = rotate(attach, load3(model.chain, row.ROOT, m)) * state.anchor[tick, row.SCALE, a]
    if parent >= 0:
        root = load3(state.joint, row.POSITION, parent)
    return root


@ti.func
def carry_chain(model: ti.template(), state: ti.template(), c, tick):
    """Bring the state of the last tick to this tick's origin (and centre, where the chain has one)."""
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    turn = anchor4(state, tick, row.CARRY, a)
    shift = anchor3(state, tick, row.SHIFT, a)
    i = state.slot[row.START, c]
    for _ in range(model.span[row.JOINTS, m]):
        x = rotate(turn, load3(state.joint, row.POSITION, i)) + shift
        store3(state.joint, row.POSITION, i, x)
        store3(state.joint, row.BEFORE, i, x)
        store3(state.joint, row.VELOCITY, i, rotate(turn, load3(state.joint, row.VELOCITY, i)))
        store3(state.joint, row.DEVIATION, i, rotate(turn, load3(state.joint, row.DEVIATION, i)))
        i += state.slot[row.STRIDE, c]
    root = rotate(turn, load3(state.chain, row.ROOT_BEFORE, c)) + shift
    store3(state.chain, row.ROOT_BEFORE, c, root)


@ti.func
def held(state: ti.template(), c, tick):
    return state.anchor[tick, row.HOLD, state.slot[row.ANCHOR, c]] > 0.5
