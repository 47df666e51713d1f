"""Phase 4, velocity: rebuilt from the free path, before contact, so that no push-out becomes speed.

Reads POSITION (start of the tick), WORK = projected end point; writes VELOCITY.
"""

from .. import layout as row
from ..backend import ti
from ..vectors import load3, store3


@ti.func
def free_velocity(before, after, h):
    """v = (x^ - x) / h."""
    return (after - before) / h


@ti.func
def velocity_chain(model: ti.template(), state: ti.template(), c, h):
    i = state.slot[row.START, c]
    for _ in range(model.span[row.JOINTS, state.slot[row.MODEL, c]]):
        v = free_velocity(load3(state.joint, row.POSITION, i), load3(state.joint, row.WORK, i), h)
        store3(state.joint, row.VELOCITY, i, v)
        i += state.slot[row.STRIDE, c]
