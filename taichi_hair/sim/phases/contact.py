"""Phase 5, contact: every segment as a whole against its colliders, root to tip, and no push-out becomes speed.

Reads WORK = projected end points and VELOCITY of the free path; writes POSITION, VELOCITY, ROOT_BEFORE (and DEVIATION
of a rod).
"""

from .. import layout as row
from ..backend import ti
from ..solvers.kinds import CONTACT_SEGMENT, ROD
from ..vectors import across, load3, rotate, store3, towards
from .anchor import anchor3, anchor4, chain_root
from .projection import rest_place
from .shapes import segment_distance

TURNS = 12  # corrections of one segment in one tick; deepest first, so that the order of colliders cannot matter
CLEAR = 1e-6  # metres; an overlap below it counts as touching
STEEPEST = 0.5  # radians, the most that one correction turns a segment
LEAST_ARM = 0.1  # a contact nearer to the joint than this share of the segment cannot be cleared by turning it


@ti.func
def collider3(state: ti.template(), tick, first, b):
    return ti.Vector(
        [state.collider[tick, first, b], state.collider[tick, first + 1, b], state.collider[tick, first + 2, b]]
    )


@ti.func
def turned_clear(joint, x, n, u, depth, length):
    """The segment turned about its joint so that its point u moves out by `depth` along n; the length stays.

    Turning moves the point along the part of n across the segment only; the angle follows from the lever u * length.
    """
    d = (x - joint) / length
    side = n - d * n.dot(d)
    s = side.norm()
    turned = x
    if s > 1e-4:
        t = side / s
        angle = ti.min(depth / (ti.max(u, LEAST_ARM) * length * s), STEEPEST)
        # Where n lies almost along the segment, t is only roughly across it: the length is set, not trusted.
        way = d * ti.cos(angle) + t * ti.sin(angle)
        turned = joint + way * (length / way.norm())
    return turned


@ti.func
def without_inbound(v, surface, n):
    """v+ = v - min(0, (v - v_c) . n) n: only motion into the collider goes, sliding stays, nothing is added."""
    return v - ti.min(0.0, (v - surface).dot(n)) * n


@ti.func
def surface_velocity(model: ti.template(), state: ti.template(), c, b, tick, p, h):
    """Velocity, m/s, of the collider's material at the axis point nearest to p, from its path in this tick."""
    a = state.slot[row.ANCHOR, c]
    now_a = collider3(state, tick + 1, row.POINT_A, b) - anchor3(state, tick, row.OFFSET, a)
    now_b = collider3(state, tick + 1, row.POINT_B, b) - anchor3(state, tick, row.OFFSET, a)
    turn = anchor4(state, tick, row.CARRY, a)
    shift = anchor3(state, tick, row.SHIFT, a)
    before = anchor3(state, tick, row.OFFSET_BEFORE, a)
    was_a = rotate(turn, collider3(state, tick, row.POINT_A, b) - before) + shift
    was_b = rotate(turn, collider3(state, tick, row.POINT_B, b) - before) + shift
    d = now_b - now_a
    v = ti.min(ti.max((p - now_a).dot(d) / ti.max(d.dot(d), 1e-20), 0.0), 1.0)
    return ((now_a - was_a) * (1.0 - v) + (now_b - was_b) * v) / h


@ti.func
def clear_segment(model: ti.template(), state: ti.template(), c, j, k, tick, joint, x, v, h):
    """One segment against all its colliders, the deepest overlap first. Returns end point, velocity, times touched."""
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    scale = state.anchor[tick, row.SCALE, a]
    length = model.joint[row.LENGTH, k] * scale
    radius = model.joint[row.RADIUS, k] * scale
    offset = anchor3(state, tick, row.OFFSET, a)
    first = model.span[row.PAIR_START, m]
    count = model.span[row.PAIR_COUNT, m]
    up = across((x - joint) / ti.max(length, 1e-20))
    touched = 0
    turns = 0
    while turns < TURNS and length > 1e-9:
        deepest = -CLEAR
        n = up
        u = 1.0
        which = -1
        for q in range(count):
            pair = first + q
            b = state.slot[row.COLLIDERS, c] + model.pair[0, pair]
            allowance = model.allowance[0, model.span[row.ALLOWANCE_START, m] + q * model.span[row.JOINTS, m] + j]
            distance, direction, place = segment_distance(
                model.pair[1, pair],
                collider3(state, tick + 1, row.POINT_A, b) - offset,
                collider3(state, tick + 1, row.POINT_B, b) - ti.select(model.pair[1, pair] == 2, 0.0, 1.0) * offset,
                state.collider[tick + 1, row.COLLIDER_RADIUS, b],
                joint,
                x,
                radius,
                up,
            )
            distance += allowance * scale
            if distance < deepest:
                deepest = distance
                n = direction
                u = place
                which = b
        if which >= 0:
            surface = surface_velocity(model, state, c, which, tick, joint + (x - joint) * u, h)
            x = turned_clear(joint, x, n, u, -deepest, length)
            v = without_inbound(v, surface, n)
            touched += 1
            turns += 1
        else:
            turns = TURNS
    return x, v, touched


@ti.func
def contact_chain(model: ti.template(), state: ti.template(), c, tick, h, solver: ti.template(), contact: ti.template()):
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    parent = state.slot[row.PARENT, c]
    attach = anchor4(state, tick, row.ATTACH, a)
    scale = state.anchor[tick, row.SCALE, a]
    root = chain_root(model, state, c, tick)
    root_shift = ti.Vector([0.0, 0.0, 0.0])
    if parent >= 0:
        root_shift = root - rotate(attach, load3(model.chain, row.ROOT, m)) * scale
    joint = root
    joint_velocity = (root - load3(state.chain, row.ROOT_BEFORE, c)) / h
    store3(state.chain, row.ROOT_BEFORE, c, root)
    i = state.slot[row.START, c]
    k = model.span[row.JOINT_START, m]
    free_joint = root  # the joint before contact moved it
    for j in range(model.span[row.JOINTS, m]):
        free = load3(state.joint, row.WORK, i)
        x = free
        v = load3(state.joint, row.VELOCITY, i)
        if ti.static(contact == CONTACT_SEGMENT):
            length = model.joint[row.LENGTH, k] * scale
            if (joint - free_joint).dot(joint - free_joint) > 0.0:
                fallback = rotate(attach, load3(model.joint, row.REST, k))
                x = towards(joint, free, length, fallback)
            x, v, touched = clear_segment(model, state, c, j, k, tick, joint, x, v, h)
            if touched > 0:
                d = (x - joint) / ti.max(length, 1e-20)
                v -= d * (v - joint_velocity).dot(d)
        store3(state.joint, row.POSITION, i, x)
        store3(state.joint, row.VELOCITY, i, v)
        if ti.static(solver == ROD):
            store3(state.joint, row.DEVIATION, i, x - rest_place(model, attach, scale, root_shift, k))
        joint = x
        joint_velocity = v
        free_joint = free
        i += state.slot[row.STRIDE, c]
        k += model.span[row.JOINT_STRIDE, m]
