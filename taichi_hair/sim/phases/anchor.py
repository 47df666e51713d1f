"""What a tick's attach frame says to a chain: where its root is, and what carries it along."""

from .. import layout as row
from ..backend import ti
from ..vectors import from_to, load3, load4, multiply, rotate, store3, turns


@ti.func
def anchor3(state: ti.template(), tick, first, a):
    return ti.Vector([state.anchor[tick, first, a], state.anchor[tick, first + 1, a], state.anchor[tick, first + 2, a]])


@ti.func
def anchor4(state: ti.template(), tick, first, a):
    xyz = anchor3(state, tick, first, a)
    return ti.Vector([xyz[0], xyz[1], xyz[2], state.anchor[tick, first + 3, a]])


@ti.func
def chain_start(model: ti.template(), state: ti.template(), c, tick, source):
    """Joint of the first segment on this tick's attach frame, and the rotation of the frame above it.

    A branch hangs on a joint that other segments have bent: their end points, read from row `source`, are followed from
    the attach node down, each joint turned the shortest way from its rest direction.
    """
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    scale = state.anchor[tick, row.SCALE, a]
    bent = anchor4(state, tick, row.ATTACH, a)
    start = ti.Vector([0.0, 0.0, 0.0])
    end = start
    if ti.static(model.branched):
        for n in range(model.span[row.PATH_COUNT, m]):
            p = model.span[row.PATH_START, m] + n
            k = model.path[row.PATH_JOINT, p]
            chain = model.path[row.PATH_CHAIN, p]
            if chain >= 0:
                start = start + rotate(bent, load3(model.chain, row.OFFSET_ABOVE, chain)) * scale
            else:
                start = end
            end = load3(state.joint, source, state.slot[row.BLOCK, c] + model.path[row.PATH_STATE, p])
            rest_turn = multiply(bent, load4(model.joint, row.REST_TURN, k))
            bent = bent_joint(rest_turn, load3(model.joint, row.AXIS, k), end - start)
    return start + rotate(bent, load3(model.chain, row.OFFSET_ABOVE, m)) * scale, bent


@ti.func
def bent_joint(rest_turn, axis, link):
    """World rotation of a joint whose segment lies along `link`: the shortest turn from its rest direction."""
    bent = rest_turn
    length = link.norm()
    if length > 1e-9:
        bent = multiply(from_to(rotate(rest_turn, axis), link / length), rest_turn)
        bent = bent / bent.norm()
    return bent


@ti.func
def carry_chain(model: ti.template(), state: ti.template(), c, tick):
    """Bring the state of the last tick to this tick's origin (and centre, where the chain has one)."""
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    turn = anchor4(state, tick, row.CARRY, a)
    shift = anchor3(state, tick, row.SHIFT, a)
    i = state.slot[row.START, c]
    stride = state.slot[row.STRIDE, c]
    turned = turns(turn)
    for _ in range(model.span[row.JOINTS, m]):
        x = load3(state.joint, row.POSITION, i)
        if turned:
            x = rotate(turn, x)
            store3(state.joint, row.VELOCITY, i, rotate(turn, load3(state.joint, row.VELOCITY, i)))
            store3(state.joint, row.DEVIATION, i, rotate(turn, load3(state.joint, row.DEVIATION, i)))
        x += shift
        store3(state.joint, row.POSITION, i, x)
        store3(state.joint, row.BEFORE, i, x)
        i += stride
    carry_root(state, c, tick)


@ti.func
def carry_root(state: ti.template(), c, tick):
    """The same for the joint of the first segment."""
    a = state.slot[row.ANCHOR, c]
    root = rotate(anchor4(state, tick, row.CARRY, a), load3(state.chain, row.ROOT_BEFORE, c))
    store3(state.chain, row.ROOT_BEFORE, c, root + anchor3(state, tick, row.SHIFT, a))


@ti.func
def held(state: ti.template(), c, tick):
    return state.anchor[tick, row.HOLD, state.slot[row.ANCHOR, c]] > 0.5
