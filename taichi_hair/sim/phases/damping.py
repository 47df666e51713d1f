"""Phase 2, damping: exponential, so that it means the same at any tick; then free flight.

Reads WORK = force, VELOCITY, POSITION; writes WORK = y, the place the end point would fly to; for a rod y less where
it is.
"""

from .. import layout as row
from ..backend import ti
from ..solvers.kinds import ARC, ROD
from ..vectors import load3, rotate, store3
from .anchor import anchor3, anchor4


@ti.func
def damped_flight(x, v, force, keep, carried, h):
    """y = x + h u with u = carried + exp(-c h) (v - carried + h f); `carried` is the velocity that is not damped."""
    return x + h * (carried + keep * (v - carried + h * force))


@ti.func
def carried_along(x, spin, step, follow, h):
    """The velocity of which a joint's share `follow` is not damped: the head's rigid motion at x."""
    carried = ti.Vector([0.0, 0.0, 0.0])
    if follow != 0.0:
        carried = (rotate(spin, x - step) - x) * (follow / h)
    return carried


@ti.func
def damping_chain(model: ti.template(), state: ti.template(), c, tick, h, solver: ti.template()):
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    spin = anchor4(state, tick, row.SPIN, a)
    step = anchor3(state, tick, row.STEP, a)
    i = state.slot[row.START, c]
    stride = state.slot[row.STRIDE, c]
    model_stride = model.span[row.JOINT_STRIDE, m]
    k = model.span[row.JOINT_START, m]
    for _ in range(model.span[row.JOINTS, m]):
        x = load3(state.joint, row.POSITION, i)
        if ti.static(solver == ROD):
            x = ti.Vector([0.0, 0.0, 0.0])
        carried = ti.Vector([0.0, 0.0, 0.0])
        if ti.static(solver == ARC):
            carried = carried_along(x, spin, step, model.joint[row.FOLLOW, k], h)
        y = damped_flight(
            x,
            load3(state.joint, row.VELOCITY, i),
            load3(state.joint, row.WORK, i),
            model.joint[row.KEEP, k],
            carried,
            h,
        )
        store3(state.joint, row.WORK, i, y)
        i += stride
        k += model_stride
