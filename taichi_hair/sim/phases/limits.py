"""Angle limits (VRMC_springBone_limit): how far a joint may turn, before contact, which has the last word.

Reads WORK = projected end points; writes WORK (and DEVIATION of a rod). Kernels have it only where a rig has limits.
"""

from .. import layout as row
from ..backend import ti
from ..solvers.kinds import ROD
from ..vectors import load3, load4, multiply, rotate, store3
from .anchor import bent_joint, chain_start

FREE = 0
CONE = 1
HINGE = 2
SPHERICAL = 3


@ti.func
def within(kind, first, second, d):
    """The unit direction d in the limit's frame, whose middle is +y, brought within the limit by the shortest way.

    cone: at most `first` from the middle. hinge: about x alone, at most `first` either way. spherical: pitch about x
    at most `first`, yaw about z at most `second`, with d = (sin yaw, cos yaw cos pitch, cos yaw sin pitch).
    """
    out = d
    if kind == CONE:
        side = ti.sqrt(d[0] * d[0] + d[2] * d[2])
        if ti.atan2(side, d[1]) > first:
            x = 0.0
            z = 1.0
            if side > 1e-6:
                x = d[0] / side
                z = d[2] / side
            out = ti.Vector([x * ti.sin(first), ti.cos(first), z * ti.sin(first)])
    elif kind != FREE:
        pitch = 0.0
        if ti.abs(d[1]) + ti.abs(d[2]) > 1e-6:
            pitch = ti.min(ti.max(ti.atan2(d[2], d[1]), -first), first)
        yaw = 0.0
        if kind == SPHERICAL:
            yaw = ti.min(ti.max(ti.asin(ti.min(ti.max(d[0], -1.0), 1.0)), -second), second)
        out = ti.Vector([ti.sin(yaw), ti.cos(yaw) * ti.cos(pitch), ti.cos(yaw) * ti.sin(pitch)])
    return out


@ti.func
def limited(model: ti.template(), k, rest_turn, link):
    """A segment, as a vector, brought within its joint's limit; rest_turn is the joint's unbent world rotation."""
    out = link
    kind = ti.cast(model.joint[row.LIMIT, k], ti.i32)
    length = link.norm()
    if kind != FREE and length > 1e-9:
        frame = multiply(rest_turn, load4(model.joint, row.LIMIT_TURN, k))
        back = ti.Vector([-frame[0], -frame[1], -frame[2], frame[3]])
        d = within(kind, model.joint[row.LIMIT_FIRST, k], model.joint[row.LIMIT_SECOND, k], rotate(back, link / length))
        out = rotate(frame, d * (length / ti.max(d.norm(), 1e-20)))
    return out


@ti.func
def limit_chain(model: ti.template(), state: ti.template(), c, tick, solver: ti.template()):
    m = state.slot[row.MODEL, c]
    i = state.slot[row.START, c]
    k = model.span[row.JOINT_START, m]
    joint, bent = chain_start(model, state, c, tick, row.WORK)
    free_joint = joint
    for _ in range(model.span[row.JOINTS, m]):
        free = load3(state.joint, row.WORK, i)
        rest_turn = multiply(bent, load4(model.joint, row.REST_TURN, k))
        link = limited(model, k, rest_turn, free - free_joint)
        x = joint + link
        store3(state.joint, row.WORK, i, x)
        if ti.static(solver == ROD):
            store3(state.joint, row.DEVIATION, i, load3(state.joint, row.DEVIATION, i) + (x - free))
        bent = bent_joint(rest_turn, load3(model.joint, row.AXIS, k), link)
        joint = x
        free_joint = free
        i += state.slot[row.STRIDE, c]
        k += model.span[row.JOINT_STRIDE, m]
