"""Phase 1, force: the pull towards the artist's arc, and the gravity that the arc does not carry already.

Reads POSITION, ROOT_BEFORE and the attach frame; writes WORK = force per unit mass, m/s^2.
"""

from .. import layout as row
from ..backend import ti
from ..solvers.kinds import ARC, MASS_SPRING
from ..solvers.mass_spring import STRETCH
from ..vectors import load3, rotate, store3
from .anchor import anchor4


@ti.func
def sag_free_gravity(gravity, carried, attach):
    """g' = g - R_H R_H0^-1 g0: what is left of gravity once the authored style has carried its own share."""
    return gravity - rotate(attach, carried)


@ti.func
def external_force(model: ti.template(), state: ti.template(), c, tick):
    """What pulls on every joint of a chain alike."""
    m = state.slot[row.MODEL, c]
    attach = anchor4(state, tick, row.ATTACH, state.slot[row.ANCHOR, c])
    gravity, carried = load3(model.chain, row.GRAVITY, m), load3(model.chain, row.GRAVITY_CARRIED, m)
    return sag_free_gravity(gravity, carried, attach)


@ti.func
def arc_pull(k, rest_place, x):
    """f = k (r - x), with r = o + s R_H rest."""
    return k * (rest_place - x)


@ti.func
def link_spring(k, joint, rest, x):
    """Force of a link's spring on its end point: k times what x is off from joint + rest, more along the link."""
    off = joint + rest - x
    along = rest / ti.max(rest.norm(), 1e-20)
    return k * (off + along * ((STRETCH - 1.0) * off.dot(along)))


@ti.func
def force_chain(model: ti.template(), state: ti.template(), c, tick, solver: ti.template()):
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    attach = anchor4(state, tick, row.ATTACH, a)
    scale = state.anchor[tick, row.SCALE, a]
    external = external_force(model, state, c, tick)
    i = state.slot[row.START, c]
    stride = state.slot[row.STRIDE, c]
    model_stride = model.span[row.JOINT_STRIDE, m]
    k = model.span[row.JOINT_START, m]
    origin = load3(state.chain, row.ROOT_BEFORE, c)
    for j in range(model.span[row.JOINTS, m]):
        force = external
        if ti.static(solver == ARC):
            x = load3(state.joint, row.POSITION, i)
            rest_place = origin + rotate(attach, load3(model.joint, row.REST, k)) * scale
            force += arc_pull(model.joint[row.PULL, k], rest_place, x)
            origin = x
        elif ti.static(solver == MASS_SPRING):
            x = load3(state.joint, row.POSITION, i)
            rest = rotate(attach, load3(model.joint, row.REST, k)) * scale
            pull = link_spring(model.joint[row.PULL, k], origin, rest, x)
            force += pull
            if j > 0:
                above = i - stride
                store3(state.joint, row.WORK, above, load3(state.joint, row.WORK, above) - pull)
            origin = x
        store3(state.joint, row.WORK, i, force)
        i += stride
        k += model_stride
