"""Phase 4, velocity: rebuilt from the free path, before contact, so that no push-out becomes speed.

Reads POSITION (start of the tick), WORK = projected end point (a rod's DEVIATION, before and after); writes VELOCITY.
"""

from .. import layout as row
from ..backend import ti
from ..solvers.kinds import ROD
from ..vectors import load3, store3


@ti.func
def free_velocity(before, after, h):
    """v = (x^ - x) / h."""
    return (after - before) / h


@ti.func
def velocity_chain(model: ti.template(), state: ti.template(), c, tick, h, solver: ti.template()):
    m = state.slot[row.MODEL, c]
    i = state.slot[row.START, c]
    stride = state.slot[row.STRIDE, c]
    for _ in range(model.span[row.JOINTS, m]):
        before = load3(state.joint, row.POSITION, i)
        after = load3(state.joint, row.WORK, i)
        if ti.static(solver == ROD):  # the same difference, from numbers that are small near rest
            before = load3(state.joint, row.DEVIATION_BEFORE, i)
            after = load3(state.joint, row.DEVIATION, i)
        store3(state.joint, row.VELOCITY, i, free_velocity(before, after, h))
        i += stride
