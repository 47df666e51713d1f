"""The phases before contact for one joint, from registers: the frame kernel's way down a chain.

The same functions on the same numbers as phase by phase, and so the same bits; between them nothing goes to memory.
"""

from .. import layout as row
from ..backend import ti
from ..vectors import load3, rotate, store3, towards, turns
from .anchor import anchor3, anchor4
from .damping import carried_along, damped_flight
from .force import arc_pull, external_force
from .velocity import free_velocity


@ti.func
def free_flight(model: ti.template(), state: ti.template(), c, tick, fused: ti.template()):
    """What all joints of a chain share: (carry, shift, spin, step, external force); zeros where nothing is fused."""
    zero = ti.Vector([0.0, 0.0, 0.0])
    carry = ti.Vector([0.0, 0.0, 0.0, 1.0])
    spin, shift, step, external = carry, zero, zero, zero
    if ti.static(fused):
        a = state.slot[row.ANCHOR, c]
        carry, shift = anchor4(state, tick, row.CARRY, a), anchor3(state, tick, row.SHIFT, a)
        spin, step = anchor4(state, tick, row.SPIN, a), anchor3(state, tick, row.STEP, a)
        external = external_force(model, state, c, tick)
    return carry, shift, spin, step, external


@ti.func
def carried_joint(state: ti.template(), i, carry, shift):
    """Carried start and velocity of one joint; the start is kept for display between ticks."""
    before = load3(state.joint, row.POSITION, i)
    v = load3(state.joint, row.VELOCITY, i)
    if turns(carry):
        before = rotate(carry, before)
        v = rotate(carry, v)
    before += shift
    store3(state.joint, row.BEFORE, i, before)
    return before, v


@ti.func
def rod_flight(model: ti.template(), state: ti.template(), i, k, flight, p, h):
    """Carried deviation, and free flight less where the end point is; `p` is the deviation of the last tick."""
    carry, shift, _spin, _step, external = flight
    _before, v = carried_joint(state, i, carry, shift)
    if turns(carry):
        p = rotate(carry, p)
        store3(state.joint, row.DEVIATION, i, p)
    zero = ti.Vector([0.0, 0.0, 0.0])
    return p, damped_flight(zero, v, external, model.joint[row.KEEP, k], zero, h)


@ti.func
def arc_flight(model: ti.template(), state: ti.template(), i, k, flight, rest, origin, joint, scale, h):
    """Carried start, projected end point and free velocity of one joint; `rest` is its rest vector at scale 1,
    `origin` the carried joint above and `joint` the projected one."""
    carry, shift, spin, step, external = flight
    before, v = carried_joint(state, i, carry, shift)
    force = external + arc_pull(model.joint[row.PULL, k], origin + rest * scale, before)
    along = carried_along(before, spin, step, model.joint[row.FOLLOW, k], h)
    y = damped_flight(before, v, force, model.joint[row.KEEP, k], along, h)
    x = towards(joint, y, model.joint[row.LENGTH, k] * scale, rest)
    if ti.static(model.branched):
        store3(state.joint, row.WORK, i, x)
    return before, x, free_velocity(before, x, h)
