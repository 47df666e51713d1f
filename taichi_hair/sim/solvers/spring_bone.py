"""spring-bone: the VRM 1.0 reference algorithm, joint after joint, since every rest direction hangs on the bent parent.

VRMC_springBone-1.0, section "SpringBone Algorithm". Inertia is (currentTail - prevTail) (1 - dragForce), stiffness and
gravity are displacements per second, colliders push the end point in file order, and a push becomes speed. With contact
by segments, whole segments are cleared without rebound instead, as in the other solvers.

three-vrm measures a bone's length at each update, from the joint where it is now to the child where the last update
left it. The tail that it keeps for inertia and pushes out of colliders lies at that distance; only its direction turns
the bone. This is followed: POSITION is the end point at the exact length, DEVIATION the kept tail less that end point.
"""

from .. import layout as row
from ..backend import ti
from ..phases.anchor import anchor3, anchor4, bent_joint, chain_start
from ..phases.collider import pair_distance
from ..phases.contact import along_link_removed, chain_pairs, clear_segment
from ..phases.limits import limited
from ..vectors import across, load3, load4, multiply, rotate, store3, towards
from .kinds import CONTACT_END, CONTACT_SEGMENT


@ti.func
def next_tail(x, v, drag_kept, pull, drift, h):
    """currentTail + inertia + stiffness + gravity, before the length is restored."""
    return x + v * (h * drag_kept) + (pull + drift) * h


@ti.func
def measured_reach(state: ti.template(), c, tick, joint, before):
    """Distance from the joint to where the end point stood, in the world, after the last tick.

    `before` has been carried to this tick's origin, and along with the centre; the latter is taken back.
    """
    a = state.slot[row.ANCHOR, c]
    turn = anchor4(state, tick, row.CARRY, a)
    back = ti.Vector([-turn[0], -turn[1], -turn[2], turn[3]])
    stood = rotate(back, before - anchor3(state, tick, row.SHIFT, a)) + anchor3(state, tick, row.STEP, a)
    return (stood - joint).norm()


@ti.func
def push_end_point(model: ti.template(), state: ti.template(), c, k, tick, joint, x, reach, fallback):
    """The end point out of each collider in file order; its distance from the joint is restored after each push."""
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    scale = state.anchor[tick, row.SCALE, a]
    radius = model.joint[row.RADIUS, k] * scale
    up = across(fallback)
    for q in range(model.span[row.PAIR_COUNT, m]):
        pair = model.span[row.PAIR_START, m] + q
        b = state.slot[row.COLLIDERS, c] + q
        distance, n, _ = pair_distance(model, state, pair, b, tick, 1.0, x, x, radius, up)
        if distance < 0.0:
            x = towards(joint, x - n * distance, reach, fallback)
    return x


@ti.func
def spring_bone_chain(model: ti.template(), state: ti.template(), c, tick, h, contact: ti.template()):
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    scale = state.anchor[tick, row.SCALE, a]
    joint, bent = chain_start(model, state, c, tick, row.POSITION)
    joint_before = load3(state.chain, row.ROOT_BEFORE, c)
    root_velocity = (joint - joint_before) / h
    joint_velocity = root_velocity
    among = 0
    if ti.static(contact == CONTACT_SEGMENT):
        among = chain_pairs(model, state, c, tick, joint, joint_before)
    path = ti.select(state.anchor[tick, row.RIGID, a] < 0.5, 1, 0)
    store3(state.chain, row.ROOT_BEFORE, c, joint)
    i = state.slot[row.START, c]
    k = model.span[row.JOINT_START, m]
    for j in range(model.span[row.JOINTS, m]):
        before = load3(state.joint, row.POSITION, i)
        kept = before + load3(state.joint, row.DEVIATION, i)
        rest_turn = multiply(bent, load4(model.joint, row.REST_TURN, k))
        direction = rotate(rest_turn, load3(model.joint, row.AXIS, k))
        length = model.joint[row.LENGTH, k] * scale
        tail = next_tail(
            kept,
            load3(state.joint, row.VELOCITY, i),
            model.joint[row.KEEP, k],
            direction * model.joint[row.STIFFNESS, k],
            load3(model.joint, row.DRIFT, k),
            h,
        )
        reach = length
        if ti.static(contact != CONTACT_SEGMENT):
            if length > 1e-9 and model.chain[row.MEMORY, m] > 0.5 and state.anchor[tick, row.RIGID, a] < 0.5:
                reach = measured_reach(state, c, tick, joint, before)
        tail = towards(joint, tail, reach, direction)
        if ti.static(model.limited):
            tail = joint + limited(model, k, rest_turn, tail - joint)
        if ti.static(contact == CONTACT_END):
            tail = push_end_point(model, state, c, k, tick, joint, tail, reach, direction)
        v = (tail - kept) / h
        x = towards(joint, tail, length, direction)
        if ti.static(contact == CONTACT_SEGMENT):
            x, v, _, touched = clear_segment(
                model, state, c, j, k, tick, among, path, joint_before, before, joint, x, v, h
            )
            tail = x
            if touched == 1:
                v = along_link_removed(v, joint_velocity, root_velocity, (x - joint) / ti.max(length, 1e-20))
        store3(state.joint, row.POSITION, i, x)
        store3(state.joint, row.WORK, i, x)
        store3(state.joint, row.DEVIATION, i, tail - x)
        store3(state.joint, row.VELOCITY, i, v)
        bent = bent_joint(rest_turn, load3(model.joint, row.AXIS, k), x - joint)
        joint = x
        joint_before = before
        joint_velocity = v
        i += state.slot[row.STRIDE, c]
        k += model.span[row.JOINT_STRIDE, m]
