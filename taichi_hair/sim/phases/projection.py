"""Phase 3, projection: for the rod its implicit solve, then exact lengths from root to tip.

Reads WORK = y (and DEVIATION); writes WORK = the projected end point (and DEVIATION).
"""

from .. import layout as row
from ..backend import ti
from ..solvers.kinds import ROD
from ..vectors import load3, multiply, rotate, store3, towards
from .anchor import anchor3, anchor4, chain_start
from .flight import free_flight, rod_flight


@ti.func
def rod_solve(model: ti.template(), state: ti.template(), c, tick, root, h, fused: ti.template()):
    """One implicit step of the linear rod in deviations p from the carried rest shape: p = g p + z with
    S z = (1 - g) p + (flight - step of the rest shape).

    S is constant, positive definite and pentadiagonal, factored at load (S = L D L^T, two sub-diagonals), so the solve
    is one sweep down the chain and one up. Deviations are small numbers near rest; differences of positions would
    leave little but their rounding there, and the strand would never quite stand still. `fused`: the phases before it
    are run on the way down, from registers.
    """
    m = state.slot[row.MODEL, c]
    n = model.span[row.JOINTS, m]
    stride = state.slot[row.STRIDE, c]
    kstride = model.span[row.JOINT_STRIDE, m]
    memory = model.chain[row.MEMORY, m]
    a = state.slot[row.ANCHOR, c]
    attach = anchor4(state, tick, row.ATTACH, a)
    scale = state.anchor[tick, row.SCALE, a]
    attach_before = multiply(anchor4(state, tick, row.CARRY, a), anchor4(state, tick, row.ATTACH_BEFORE, a))
    scale_before = state.anchor[tick, row.SCALE_BEFORE, a]
    origin = ti.Vector([0.0, 0.0, 0.0])
    origin_before = anchor3(state, tick, row.SHIFT, a)
    if ti.static(model.branched):
        if model.span[row.PATH_COUNT, m] > 0:
            root_at = load3(model.chain, row.ROOT, m)
            origin = root - rotate(attach, root_at) * scale
            origin_before = load3(state.chain, row.ROOT_BEFORE, c) - rotate(attach_before, root_at) * scale_before
    i = state.slot[row.START, c]
    k = model.span[row.JOINT_START, m]
    flight = free_flight(model, state, c, tick, fused)
    z1 = ti.Vector([0.0, 0.0, 0.0])
    z2 = ti.Vector([0.0, 0.0, 0.0])
    for _ in range(n):
        p = load3(state.joint, row.DEVIATION, i)
        fly = p
        if ti.static(fused):
            p, fly = rod_flight(model, state, i, k, flight, p, h)
        else:
            fly = load3(state.joint, row.WORK, i)
        # How far the rest shape has gone since the last tick. A head that stands still gives exactly 0: both places are
        # the same arithmetic on the same numbers.
        point = load3(model.joint, row.REST_POINT, k)
        step = (rotate(attach, point) * scale + origin) - (rotate(attach_before, point) * scale_before + origin_before)
        store3(state.joint, row.DEVIATION_BEFORE, i, p - step)
        z = p * (1.0 - memory) + (fly - step)
        z = z - model.joint[row.LOWER1, k] * z1 - model.joint[row.LOWER2, k] * z2
        store3(state.joint, row.WORK, i, z)
        z2 = z1
        z1 = z
        i += stride
        k += kstride
    z1 = ti.Vector([0.0, 0.0, 0.0])
    z2 = ti.Vector([0.0, 0.0, 0.0])
    l1 = 0.0  # LOWER1 of the joint below
    l2 = 0.0  # LOWER2 of the joint two below
    l2_next = 0.0
    for _ in range(n):
        i -= stride
        k -= kstride
        z = load3(state.joint, row.WORK, i) * model.joint[row.PIVOT, k] - l1 * z1 - l2 * z2
        store3(state.joint, row.DEVIATION, i, load3(state.joint, row.DEVIATION, i) * memory + z)
        z2 = z1
        z1 = z
        l1 = model.joint[row.LOWER1, k]
        l2 = l2_next
        l2_next = model.joint[row.LOWER2, k]


@ti.func
def exact_link(rest, bend, length):
    """The deviation of a link of that length from `rest`, in the direction of rest + bend.

    L d / |d| - rest with d = rest + bend, written so that a small bend keeps its digits: |d|^2 = L^2 (1 + e).
    """
    out = ti.Vector([0.0, 0.0, 0.0])
    if length > 1e-9:
        e = (2.0 * rest.dot(bend) + bend.dot(bend)) / (length * length)
        if e > -1.0 + 1e-12:
            f = ti.sqrt(1.0 + e)
            out = bend / f - rest * (e / (f * (1.0 + f)))
    return out


@ti.func
def rod_link(rest, bend, length, above, joint):
    """Deviation and place of the end point of a link of that length, from those of the joint above."""
    own = exact_link(rest, bend, length)
    return above + own, joint + (rest + own)


@ti.func
def rod_lengths(model: ti.template(), state: ti.template(), c, tick, root):
    """Exact lengths root to tip, in deviations; WORK = where the end points are then."""
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    attach = anchor4(state, tick, row.ATTACH, a)
    scale = state.anchor[tick, row.SCALE, a]
    i = state.slot[row.START, c]
    k = model.span[row.JOINT_START, m]
    stride = state.slot[row.STRIDE, c]
    model_stride = model.span[row.JOINT_STRIDE, m]
    joint = root
    solved_above = ti.Vector([0.0, 0.0, 0.0])
    above = ti.Vector([0.0, 0.0, 0.0])
    for _ in range(model.span[row.JOINTS, m]):
        solved = load3(state.joint, row.DEVIATION, i)
        rest = rotate(attach, load3(model.joint, row.REST, k)) * scale
        above, joint = rod_link(rest, solved - solved_above, model.joint[row.LENGTH, k] * scale, above, joint)
        solved_above = solved
        store3(state.joint, row.DEVIATION, i, above)
        store3(state.joint, row.WORK, i, joint)
        i += stride
        k += model_stride


@ti.func
def arc_lengths(model: ti.template(), state: ti.template(), c, tick, root):
    """x^ = o^ + L (y - o^) / |y - o^|, root to tip; along the rest direction where there is none."""
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    attach = anchor4(state, tick, row.ATTACH, a)
    scale = state.anchor[tick, row.SCALE, a]
    i = state.slot[row.START, c]
    k = model.span[row.JOINT_START, m]
    stride = state.slot[row.STRIDE, c]
    model_stride = model.span[row.JOINT_STRIDE, m]
    joint = root
    for _ in range(model.span[row.JOINTS, m]):
        fallback = rotate(attach, load3(model.joint, row.REST, k))
        joint = towards(joint, load3(state.joint, row.WORK, i), model.joint[row.LENGTH, k] * scale, fallback)
        store3(state.joint, row.WORK, i, joint)
        i += stride
        k += model_stride


@ti.func
def projection_chain(model: ti.template(), state: ti.template(), c, tick, h, solver: ti.template()):
    root, _bent = chain_start(model, state, c, tick, row.WORK)
    store3(state.chain, row.ROOT_FREE, c, root)
    if ti.static(solver == ROD):
        rod_solve(model, state, c, tick, root, h, False)
        rod_lengths(model, state, c, tick, root)
    else:
        arc_lengths(model, state, c, tick, root)
