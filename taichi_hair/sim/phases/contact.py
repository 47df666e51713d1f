"""Phase 5, contact: every segment as a whole against its colliders, root to tip, and no push-out becomes speed.

Reads WORK = projected end points, BEFORE and VELOCITY of the free path; writes POSITION, VELOCITY, ROOT_BEFORE (and
DEVIATION of a rod), and HANDED: what a segment could not clear by turning, for the one above to make room.
"""

from .. import layout as row
from ..backend import ti
from ..solvers.kinds import ARC, CONTACT_SEGMENT, ROD
from ..vectors import across, load3, rotate, store3, towards
from .anchor import anchor4, carry_root, chain_start
from .collider import BITS, MOST_STEPS, SHARE, moved_past, near_pairs, pair_distance, surface_velocity
from .flight import arc_flight, free_flight
from .projection import rod_link, rod_solve
from .velocity import free_velocity

TURNS = 12  # corrections of one segment in one part of a path; deepest first, so that collider order cannot matter
CLEAR = 1e-6  # metres; an overlap below it counts as touching
STEEPEST = 0.5  # radians, the most that one correction turns a segment
LEAST_ARM = 0.25  # a contact nearer to the joint than this share of the segment is left in part to the segment above
LEAST_SIDE = 0.2  # and so is a push that goes along the segment but for this share
TRIES = 4  # corrections of such a contact before it is handed on
HANDED = 1e-5  # metres; less is not handed on
LOOKS = 1 + (TURNS + 1) * MOST_STEPS
PASSES = 16  # root to tip; after the first only where a segment handed something on


@ti.func
def turned_clear(joint, x, n, u, depth, length):
    """The segment turned about its joint so that its point u moves out by `depth` along n; the length stays.

    Turning moves the point along the part of n across the segment only; the slope follows from the lever u * length.
    The shorter the lever is below LEAST_ARM, the less is tried: a contact at the joint itself turns nothing.
    """
    d = (x - joint) / length
    side = n - d * n.dot(d)
    s = side.norm()
    turned = x
    if s > 1e-4:
        arm = ti.max(u, LEAST_ARM)
        slope = ti.min(depth * u / (arm * arm * length * s), STEEPEST)
        # Where n lies almost along the segment, side is only roughly across it: the length is set, not trusted.
        way = d + side * (slope / s)
        turned = joint + way * (length / way.norm())
    return turned


@ti.func
def without_inbound(v, surface, n, friction):
    """v+ = v - min(0, (v - v_c) . n) n: only motion into the collider goes, sliding stays, nothing is added.

    Friction takes at most its share of what was stopped from the sliding motion.
    """
    inbound = ti.min(0.0, (v - surface).dot(n))
    out = v - inbound * n
    if friction > 0.0:
        sliding = out - surface
        sliding -= sliding.dot(n) * n
        speed = sliding.norm()
        out -= sliding * ti.min(1.0, -friction * inbound / ti.max(speed, 1e-12))
    return out


@ti.func
def held_back(x, joint, length, u, n, slip, depth, friction):
    """The end point with as much of the contact point's sideways slip taken back as friction holds."""
    side = slip - slip.dot(n) * n
    share = ti.min(1.0, friction * depth / ti.max(side.norm(), 1e-12))
    return towards(joint, x - side * (share / ti.max(u, LEAST_ARM)), length, x - joint)


@ti.func
def clear_segment(
    model: ti.template(), state: ti.template(), c, j, k, tick, among, path, joint_before, x_before, joint, x, v, h
):
    """One segment against its near colliders, along the path from where it was before this tick (path 1) or only where
    it is now (path 0). Returns end point, velocity, what is left for the segment above, whether anything was touched.

    The segment is looked at where the tick leaves it. Where that is farther from every collider than both have moved,
    nothing was touched on the way either. Else the path is divided, each part ends where contact leaves it, the deepest
    overlap first, and the next slides on from there.
    """
    a = state.slot[row.ANCHOR, c]
    scale = state.anchor[tick, row.SCALE, a]
    length = model.joint[row.LENGTH, k] * scale
    radius = model.joint[row.RADIUS, k] * scale
    left = ti.Vector([0.0, 0.0, 0.0])
    touched = 0
    mask = 0
    if length > 1e-9 and among != 0:
        # All that the segment may meet once it turns about its joint, if it meets anything at all on its way.
        moved = (joint - joint_before).norm()
        reach = length + radius + moved
        middle = 0.5 * (joint + x)
        inner = radius + 0.5 * (x - joint).norm() + 2.0 * moved + (x - x_before).norm()
        mask = near_pairs(model, state, c, tick, joint, reach, among, middle, inner)
    if mask != 0:
        m = state.slot[row.MODEL, c]
        pairs = model.span[row.PAIR_COUNT, m]
        first = model.span[row.PAIR_START, m]
        colliders = state.slot[row.COLLIDERS, c]
        allowances = model.span[row.ALLOWANCE_START, m] + j
        segments = model.span[row.JOINTS, m]
        link = x - joint
        target = x
        up = across(link / length)
        steps = 1
        s = 0
        f = 1.0
        at = joint
        at_before = joint_before
        free_before = x_before
        slip_joint = joint - joint_before
        slip_end = x - x_before
        part = ti.select(path == 1, 1.0, 0.0)
        probing = path
        alive = 1
        looking = mask
        turns = 0
        tries = 0
        for _ in range(LOOKS):
            if alive == 0:
                break
            deepest = -CLEAR
            n = up
            u = 1.0
            which = -1
            most = 1.0
            free = 1e15
            for q in range(pairs):
                if (looking & (1 << ti.min(q, BITS))) != 0:
                    distance, way, place = pair_distance(
                        model, state, first + q, colliders + q, tick, f, at, x, radius, up
                    )
                    distance += model.allowance[0, allowances + q * segments] * scale
                    if distance < deepest:
                        deepest = distance
                        n = way
                        u = place
                        which = q
                    if probing == 1:
                        moved, thick = moved_past(model, state, first + q, colliders + q, tick, slip_joint, slip_end)
                        free = ti.min(free, distance - moved)
                        most = ti.max(most, moved / ti.max(SHARE * (thick + radius), 1e-6))
            ends = which < 0 or turns == TURNS
            if probing == 1:
                probing = 0
                steps = ti.min(ti.cast(ti.ceil(most), ti.i32), MOST_STEPS)
                if free > 0.0:
                    steps = 1
                if steps > 1:
                    s = -1
                    ends = True
            if ends:
                s += 1
                alive = ti.cast(s < steps, ti.i32)
                looking = mask
                if s < steps and steps > 1:
                    end = target
                    at = joint
                    f = 1.0
                    if s < steps - 1:
                        f = (s + 1.0) / steps
                        at = joint_before + (joint - joint_before) * f
                        end = x_before + (target - x_before) * f
                    start = x
                    goal = x + (end - free_before)  # slides on from where contact has left it
                    if s == 0:
                        start = x_before
                    if touched == 0:
                        goal = end
                    if touched == 1 or s < steps - 1:
                        goal = towards(at, goal, length, link)
                    x = goal
                    slip_joint = at - at_before
                    slip_end = goal - start
                    at_before = at
                    free_before = end
                    part = 1.0 / steps
                    turns = 0
                    tries = 0
            else:
                pair = first + which
                b = colliders + which
                turns += 1
                p = at + (x - at) * u
                surface = surface_velocity(model, state, model.pair[row.PAIR_SHAPE, pair], b, tick, p, f, h)
                friction = model.pair_number[row.PAIR_FRICTION, pair]
                along = (x - at).dot(n) / length
                if u < LEAST_ARM or 1.0 - along * along < LEAST_SIDE * LEAST_SIDE:
                    tries += 1
                if tries > TRIES:
                    tries = 0
                    looking &= ~(1 << ti.min(which, BITS))
                    if s == steps - 1 and -deepest > HANDED and deepest * deepest > left.dot(left):
                        left = n * -deepest
                else:
                    x = turned_clear(at, x, n, u, -deepest, length)
                    if friction > 0.0 and part > 0.0:
                        slip = slip_joint * (1.0 - u) + slip_end * u - surface * (part * h)
                        x = held_back(x, at, length, u, n, slip, -deepest, friction)
                v = without_inbound(v, surface, n, friction)
                kept = model.pair_number[row.PAIR_KEPT, pair]
                if kept < 1.0 and turns == 1:
                    v = surface + (v - surface) * (1.0 - (1.0 - kept) * part)
                touched = 1
    return x, v, left, touched


@ti.func
def along_link_removed(v, joint_velocity, root_velocity, d):
    """The velocity without its part along the link relative to the joint.

    A joint that is faster than the end point would pull it along: seen from the head, the speed may not rise.
    """
    out = v - d * (v - joint_velocity).dot(d) - root_velocity
    before = (v - root_velocity).norm()
    after = out.norm()
    if after > before:
        out = out * (before / after)
    return out + root_velocity


@ti.func
def contact_chain(
    model: ti.template(),
    state: ti.template(),
    c,
    tick,
    h,
    solver: ti.template(),
    contact: ti.template(),
    fused: ti.template(),
):
    """Contact of one chain; `fused` runs the phases before it on the way, joint by joint (`flight.arc_flight`)."""
    m = state.slot[row.MODEL, c]
    root, _bent = chain_start(model, state, c, tick, row.POSITION)
    root_free = root
    if ti.static(fused):
        if ti.static(model.branched):
            root_free, _bent_free = chain_start(model, state, c, tick, row.WORK)
        carry_root(state, c, tick)
        if ti.static(solver == ROD):
            rod_solve(model, state, c, tick, root_free, h, True)
    else:
        root_free = load3(state.chain, row.ROOT_FREE, c)
    root_before = load3(state.chain, row.ROOT_BEFORE, c)
    store3(state.chain, row.ROOT_BEFORE, c, root)
    among = 0
    if ti.static(contact == CONTACT_SEGMENT):
        among = chain_pairs(model, state, c, tick, root, root_before)
    wanted = 1
    lifted = root - root_free  # how far contact has moved what carries a branch
    pushed_any = lifted.dot(lifted) > 0.0
    for n in range(PASSES):
        if wanted == 0:
            break
        wanted, touched = contact_pass(
            model,
            state,
            c,
            tick,
            root,
            root_free,
            root_before,
            among,
            n == 0,
            h,
            solver,
            contact == CONTACT_SEGMENT,
            fused,
        )
        pushed_any = pushed_any or touched
    if ti.static(solver == ROD):
        i = state.slot[row.START, c]
        stride = state.slot[row.STRIDE, c]
        for _ in range(ti.select(pushed_any, model.span[row.JOINTS, m], 0)):
            pushed = load3(state.joint, row.POSITION, i) - load3(state.joint, row.WORK, i)
            store3(state.joint, row.DEVIATION, i, load3(state.joint, row.DEVIATION, i) + (pushed - lifted))
            i += stride


@ti.func
def chain_pairs(model: ti.template(), state: ti.template(), c, tick, root, root_before):
    """Bits of the pairs that any segment of the chain could meet within this tick."""
    m = state.slot[row.MODEL, c]
    reach = model.chain[row.REACH, m] * state.anchor[tick, row.SCALE, state.slot[row.ANCHOR, c]]
    reach += (root - root_before).norm()
    return near_pairs(model, state, c, tick, root, reach, -1, root, reach)


@ti.func
def contact_pass(
    model: ti.template(),
    state: ti.template(),
    c,
    tick,
    root,
    root_free,
    root_before,
    among,
    first,
    h,
    solver: ti.template(),
    segments: ti.template(),
    fused: ti.template(),
):
    """Root to tip once: the first time along the tick's path from the free end points, then from where they are, with
    what the segment below could not clear. Returns 1 where a segment has left something to the one above, and whether
    any was moved."""
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    attach = anchor4(state, tick, row.ATTACH, a)
    scale = state.anchor[tick, row.SCALE, a]
    flight = free_flight(model, state, c, tick, fused and solver == ARC)
    above = ti.Vector([0.0, 0.0, 0.0])  # rod: deviation of the joint, and what the solve has made of it
    solved_above = above
    joint = root
    joint_before = root_before
    root_velocity = (root - root_before) / h
    joint_velocity = root_velocity
    free_joint = root_free  # the joint before contact moved it
    i = state.slot[row.START, c]
    k = model.span[row.JOINT_START, m]
    path = ti.select(first and state.anchor[tick, row.RIGID, a] < 0.5, 1, 0)
    handed_on = 0
    any_moved = False
    stride = state.slot[row.STRIDE, c]
    model_stride = model.span[row.JOINT_STRIDE, m]
    for j in range(model.span[row.JOINTS, m]):
        length = model.joint[row.LENGTH, k] * scale
        rest = rotate(attach, load3(model.joint, row.REST, k))
        x_before = joint_before
        x = joint
        v = joint_velocity
        free = joint
        moved = (joint - free_joint).dot(joint - free_joint) > 0.0
        if first:
            if ti.static(fused and solver == ROD):
                x_before = load3(state.joint, row.BEFORE, i)
                solved = load3(state.joint, row.DEVIATION, i)
                above, x = rod_link(rest * scale, solved - solved_above, length, above, free_joint)
                solved_above = solved
                v = free_velocity(load3(state.joint, row.DEVIATION_BEFORE, i), above, h)
                store3(state.joint, row.DEVIATION, i, above)
                store3(state.joint, row.WORK, i, x)
            elif ti.static(fused):
                x_before, x, v = arc_flight(model, state, i, k, flight, rest, joint_before, free_joint, scale, h)
            else:
                x_before = load3(state.joint, row.BEFORE, i)
                x = load3(state.joint, row.WORK, i)
                v = load3(state.joint, row.VELOCITY, i)
            free = x
        else:
            room = load3(state.joint, row.HANDED, i)
            free = load3(state.joint, row.POSITION, i)
            v = load3(state.joint, row.VELOCITY, i)
            x = free + room
            x_before = x
            moved = moved or room.dot(room) > 0.0
        if moved:
            x = towards(joint, x, length, rest)
        if ti.static(segments):
            x, v, left, touched = clear_segment(
                model, state, c, j, k, tick, among, path, joint_before if first else joint, x_before, joint, x, v, h
            )
            if touched == 1:
                v = along_link_removed(v, joint_velocity, root_velocity, (x - joint) / ti.max(length, 1e-20))
            store3(state.joint, row.HANDED, i, ti.Vector([0.0, 0.0, 0.0]))
            if j > 0:
                store3(state.joint, row.HANDED, i - stride, left)
                if left.dot(left) > 0.0:
                    handed_on = 1
            any_moved = any_moved or touched == 1
        any_moved = any_moved or moved
        store3(state.joint, row.POSITION, i, x)
        store3(state.joint, row.VELOCITY, i, v)
        joint_before = x_before
        joint = x
        joint_velocity = v
        free_joint = free
        i += stride
        k += model_stride
    return handed_on, any_moved
