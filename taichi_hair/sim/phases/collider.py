"""Where colliders are along a tick's path, which of them a segment can meet, and how finely that path is divided."""

from .. import layout as row
from ..backend import ti
from ..vectors import rotate
from .shapes import BOX, PLANE, SURFACE, TAPERED_CAPSULE, along_axis, box_distance, round_distance, surface_distance

SLACK = 1e-5  # metres by which bounding spheres are widened, for rounding
SHARE = 0.5  # of the radii: the most that hair and collider move past each other in one part of a tick's path
MOST_STEPS = 32  # parts of a tick's path; enough for 1 cm of hair and collider at 80 m/s
BITS = 30  # colliders of a chain that the broad phase tells apart; it treats all further ones as one


@ti.func
def collider3(state: ti.template(), tick, first, b):
    return ti.Vector(
        [state.collider[tick, first, b], state.collider[tick, first + 1, b], state.collider[tick, first + 2, b]]
    )


@ti.func
def collider4(state: ti.template(), tick, first, b):
    xyz = collider3(state, tick, first, b)
    return ti.Vector([xyz[0], xyz[1], xyz[2], state.collider[tick, first + 3, b]])


@ti.func
def has_axis(model: ti.template(), shape):
    """Whether point b of a collider is a place, as point a is; else it is a direction or a size."""
    out = True
    if ti.static(model.shaped or model.solid):
        out = shape != PLANE and shape != BOX and shape != SURFACE
    return out


@ti.func
def place_now(model: ti.template(), state: ti.template(), b, tick):
    """(a, b, turn) of a collider at the end of the tick, from the chain's attach point along world axes."""
    turn = ti.Vector([0.0, 0.0, 0.0, 1.0])
    if ti.static(model.solid):
        turn = collider4(state, tick, row.COLLIDER_TURN, b)
    return collider3(state, tick, row.POINT_A, b), collider3(state, tick, row.POINT_B, b), turn


@ti.func
def place_before(model: ti.template(), state: ti.template(), b, tick):
    """The same one tick earlier, carried to this tick's origin (and centre) as the hair is."""
    turn = ti.Vector([0.0, 0.0, 0.0, 1.0])
    if ti.static(model.solid):
        turn = collider4(state, tick, row.WAS_TURN, b)
    return collider3(state, tick, row.WAS_A, b), collider3(state, tick, row.WAS_B, b), turn


@ti.func
def place_at(model: ti.template(), state: ti.template(), shape, b, tick, f):
    """The same at the fraction f of the tick's path."""
    first, last, turn = place_now(model, state, b, tick)
    if f < 1.0:
        was_first, was_last, was_turn = place_before(model, state, b, tick)
        first = was_first + (first - was_first) * f
        last = was_last + (last - was_last) * f
        if ti.static(model.solid):
            if was_turn.dot(turn) < 0.0:
                was_turn = -was_turn
            turn = was_turn + (turn - was_turn) * f
            turn = turn / ti.max(turn.norm(), 1e-20)
        if ti.static(model.shaped):
            if shape == PLANE:
                last = last / ti.max(last.norm(), 1e-20)
    return first, last, turn


@ti.func
def surface_velocity(model: ti.template(), state: ti.template(), shape, b, tick, p, f, h):
    """Velocity, m/s, of the collider's material that is at p when the tick's path is at the fraction f."""
    now_a, now_b, now_turn = place_now(model, state, b, tick)
    was_a, was_b, was_turn = place_before(model, state, b, tick)
    moved = now_a - was_a
    if has_axis(model, shape):
        at_a = was_a + (now_a - was_a) * f
        at_b = was_b + (now_b - was_b) * f
        moved += ((now_b - was_b) - moved) * along_axis(p, at_a, at_b - at_a, 0.0, False)
    if ti.static(model.solid):
        if shape == BOX or shape == SURFACE:
            at_a, _, turn = place_at(model, state, shape, b, tick, f)
            q = rotate(ti.Vector([-turn[0], -turn[1], -turn[2], turn[3]]), p - at_a)
            moved += rotate(now_turn, q) - rotate(was_turn, q)
    return moved / h


@ti.func
def pair_distance(model: ti.template(), state: ti.template(), pair, b, tick, f, o, x, r, up):
    """Distance, direction and place along the segment o-x of one collider at the fraction f of the tick's path."""
    shape = model.pair[row.PAIR_SHAPE, pair]
    first, last, turn = place_at(model, state, shape, b, tick, f)
    radius = state.collider[tick, row.COLLIDER_RADIUS, b]
    grow = 0.0
    if ti.static(model.shaped):
        if shape == TAPERED_CAPSULE:
            grow = state.collider[tick, row.TAIL_RADIUS, b] - radius
    distance, n, u = round_distance(shape, first, last, radius, grow, o, x, r, up, model.shaped)
    if ti.static(model.solid):
        if shape == BOX:
            distance, n, u = box_distance(first, last, radius, turn, o, x, r)
        elif shape == SURFACE:
            distance, n, u = surface_distance(
                model.grid,
                model.pair[row.PAIR_GRID, pair],
                model.pair[row.PAIR_NX, pair],
                model.pair[row.PAIR_NY, pair],
                model.pair[row.PAIR_NZ, pair],
                first,
                last[0],
                radius,
                turn,
                o,
                x,
                r,
                up,
            )
    return distance, n, u


@ti.func
def near_pairs(model: ti.template(), state: ti.template(), c, tick, center, reach, among, inner, inner_reach):
    """Bits of those pairs of `among` whose bounding sphere, over the whole tick, meets the sphere (center, reach); none
    where no such sphere meets the smaller one (inner, inner_reach)."""
    m = state.slot[row.MODEL, c]
    first = state.slot[row.COLLIDERS, c]
    found = 0
    meets = 0
    for q in range(model.span[row.PAIR_COUNT, m]):  # no branches: whether spheres meet cannot be foreseen
        b = first + q
        at = collider3(state, tick, row.BOUND, b)
        bound = state.collider[tick, row.BOUND + 3, b]
        outer = at - center
        outer_reach = (bound + reach) * 1.0001 + SLACK
        d = at - inner
        r = (bound + inner_reach) * 1.0001 + SLACK
        bit = ti.select(outer.dot(outer) <= outer_reach * outer_reach, 1 << ti.min(q, BITS), 0) & among
        found |= bit
        meets |= ti.select(d.dot(d) <= r * r, bit, 0)
    return ti.select(meets != 0, found, 0)


@ti.func
def moved_past(model: ti.template(), state: ti.template(), pair, b, tick, joint_moved, end_moved):
    """The farthest that any point of a segment moves past a collider within the tick, and half the collider's least
    thickness, in metres."""
    shape = model.pair[row.PAIR_SHAPE, pair]
    now_a, now_b, _ = place_now(model, state, b, tick)
    was_a, was_b, _ = place_before(model, state, b, tick)
    move = now_a - was_a
    moved = ti.max((joint_moved - move).norm(), (end_moved - move).norm())
    if has_axis(model, shape):
        move = now_b - was_b
        moved = ti.max(moved, ti.max((joint_moved - move).norm(), (end_moved - move).norm()))
    return moved + state.collider[tick, row.TWIST, b], state.collider[tick, row.THICKNESS, b]
