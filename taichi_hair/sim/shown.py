"""Shapes of members in and out of the state: as they are shown at any level, and as another level goes on with them.

One thread per member. A shape is, for every segment of the full rig, its end point from the attach node (0..2, metres
along world axes), its velocity (3..5), and its way since the last tick (6..8).
"""

from . import layout as row
from .backend import ti
from .phases.anchor import bent_joint
from .phases.projection import exact_link
from .vectors import from_to, load3, load4, multiply, rotate, store3

SHAPE_ROWS = 9


@ti.func
def put3(shape: ti.template(), m, s, first, v):
    for k in ti.static(range(3)):
        shape[m, s, first + k] = v[k]


@ti.func
def get3(shape: ti.template(), m, s, first):
    return ti.Vector([shape[m, s, first], shape[m, s, first + 1], shape[m, s, first + 2]])


@ti.func
def root_of(model: ti.template(), state: ti.template(), c, scale):
    """Joint of a chain's first segment at the last tick, a branch's through the end points of what carries it."""
    m = state.slot[row.MODEL, c]
    bent = load4(state.attach, 0, state.slot[row.ANCHOR, c])
    start = ti.Vector([0.0, 0.0, 0.0])
    end = start
    for n in range(model.span[row.PATH_COUNT, m]):
        p = model.span[row.PATH_START, m] + n
        k = model.path[row.PATH_JOINT, p]
        chain = model.path[row.PATH_CHAIN, p]
        if chain >= 0:
            start = start + rotate(bent, load3(model.chain, row.OFFSET_ABOVE, chain)) * scale
        else:
            start = end
        end = load3(state.joint, row.POSITION, state.slot[row.BLOCK, c] + model.path[row.PATH_STATE, p])
        rest_turn = multiply(bent, load4(model.joint, row.REST_TURN, k))
        bent = bent_joint(rest_turn, load3(model.joint, row.AXIS, k), end - start)
    return start + rotate(bent, load3(model.chain, row.OFFSET_ABOVE, m)) * scale


@ti.func
def turn_of(rest, bend):
    """Shortest turn of a link from `rest` to rest + bend; a small bend keeps its digits."""
    q = ti.Vector([0.0, 0.0, 0.0, 1.0])
    now = rest + bend
    both = rest.norm() * now.norm()
    if both > 1e-20:
        w = both + rest.dot(now)
        axis = rest.cross(bend)
        if w < 1e-6 * both:
            q = from_to(rest / rest.norm(), now / now.norm())
        else:
            n = 1.0 / ti.sqrt(axis.dot(axis) + w * w)
            q = ti.Vector([axis[0] * n, axis[1] * n, axis[2] * n, w * n])
    return q


@ti.func
def link_turn(model: ti.template(), state: ti.template(), c, g, attach, scale):
    """How far link g of a chain is turned from where its head carries it; -1 is the head itself."""
    q = ti.Vector([0.0, 0.0, 0.0, 1.0])
    if g >= 0:
        m = state.slot[row.MODEL, c]
        stride = state.slot[row.STRIDE, c]
        i = state.slot[row.START, c] + g * stride
        k = model.span[row.JOINT_START, m] + g * model.span[row.JOINT_STRIDE, m]
        above = load3(state.chain, row.ROOT_BEFORE, c)
        if g > 0:
            above = load3(state.joint, row.POSITION, i - stride)
        rest = rotate(attach, load3(model.joint, row.REST, k)) * scale
        q = turn_of(rest, load3(state.joint, row.POSITION, i) - above - rest)
    return q


@ti.kernel
def shape_of_full(
    state: ti.template(),
    slots: ti.types.ndarray(),
    places: ti.types.ndarray(),
    spans: ti.types.ndarray(),
    shape: ti.types.ndarray(),
):
    """Shapes of members that run their full rig. slots (M,) first of each, places (M,) where in the shapes they go,
    spans (C, 2) of the rig's chains."""
    for n in range(slots.shape[0]):
        m = places[n]
        for c in range(spans.shape[0]):
            i = state.slot[row.START, slots[n] + c]
            for j in range(spans[c, 1]):
                s = spans[c, 0] + j
                x = load3(state.joint, row.POSITION, i)
                put3(shape, m, s, 0, x)
                put3(shape, m, s, 3, load3(state.joint, row.VELOCITY, i))
                put3(shape, m, s, 6, x - load3(state.joint, row.BEFORE, i))
                i += state.slot[row.STRIDE, slots[n] + c]


@ti.kernel
def shape_of_reduced(
    model: ti.template(),
    state: ti.template(),
    slots: ti.types.ndarray(),
    places: ti.types.ndarray(),
    spans: ti.types.ndarray(),
    scale: ti.types.ndarray(),
    links: ti.types.ndarray(),
    parts: ti.types.ndarray(),
    full: ti.i32,
    shape: ti.types.ndarray(),
):
    """The same of members that run a reduced rig. scale (M, C) of each chain's attach node; links (S, 3) and parts
    (S, 2) of the reduction: link, beside and at, share and part; full: first chain of the full kind in the model."""
    for n in range(slots.shape[0]):
        m = places[n]
        for c in range(spans.shape[0]):
            slot = slots[n] + c
            attach = load4(state.attach, 0, state.slot[row.ANCHOR, slot])
            start = state.slot[row.START, slot]
            stride = state.slot[row.STRIDE, slot]
            last = model.span[row.JOINTS, state.slot[row.MODEL, slot]] - 1
            k = model.span[row.JOINT_START, full + c]
            x = load3(state.chain, row.ROOT_BEFORE, slot)
            for j in range(spans[c, 1]):
                s = spans[c, 0] + j
                q = link_turn(model, state, slot, links[s, 0], attach, scale[n, c])
                other = link_turn(model, state, slot, links[s, 1], attach, scale[n, c])
                if q.dot(other) < 0.0:
                    other = -other
                q = q + (other - q) * parts[s, 0]
                q = q / ti.max(q.norm(), 1e-20)
                x += rotate(q, rotate(attach, load3(model.joint, row.REST, k)) * scale[n, c])
                put3(shape, m, s, 0, x)
                a = start + links[s, 2] * stride
                b = start + ti.min(links[s, 2] + 1, last) * stride
                v = load3(state.joint, row.VELOCITY, a)
                put3(shape, m, s, 3, v + (load3(state.joint, row.VELOCITY, b) - v) * parts[s, 1])
                way = load3(state.joint, row.POSITION, a) - load3(state.joint, row.BEFORE, a)
                way_b = load3(state.joint, row.POSITION, b) - load3(state.joint, row.BEFORE, b)
                put3(shape, m, s, 6, way + (way_b - way) * parts[s, 1])
                k += model.span[row.JOINT_STRIDE, full + c]


@ti.kernel
def take_shape(
    model: ti.template(),
    state: ti.template(),
    slots: ti.types.ndarray(),
    joints: ti.types.ndarray(),
    order: ti.types.ndarray(),
    spans: ti.types.ndarray(),
    scale: ti.types.ndarray(),
    kept: ti.types.ndarray(),
    column: ti.i32,
    rod: ti.i32,
    shape: ti.types.ndarray(),
):
    """Members go on from a shape as another kind: `column` is its first chain in the model, joints (M,) first joint
    columns, order (C,) a chain before those that hang on it, kept (C, J) the full segment where each link ends; rod 1
    where the solver is that."""
    for m in range(slots.shape[0]):
        for n in range(order.shape[0]):
            c = order[n]
            slot = slots[m] + c
            state.slot[row.MODEL, slot] = column + c
            state.slot[row.START, slot] = joints[m] + c
            state.slot[row.STRIDE, slot] = model.span[row.JOINT_STRIDE, column + c]
            attach = load4(state.attach, 0, state.slot[row.ANCHOR, slot])
            root = root_of(model, state, slot, scale[m, c])
            store3(state.chain, row.ROOT_BEFORE, slot, root)
            i = joints[m] + c
            k = model.span[row.JOINT_START, column + c]
            place = root
            bent = ti.Vector([0.0, 0.0, 0.0])
            wanted_above = bent
            for j in range(model.span[row.JOINTS, column + c]):
                s = spans[c, 0] + kept[c, j]
                rest = rotate(attach, load3(model.joint, row.REST, k)) * scale[m, c]
                place += rest
                wanted = get3(shape, m, s, 0) - place
                bent += exact_link(rest, wanted - wanted_above, model.joint[row.LENGTH, k] * scale[m, c])
                wanted_above = wanted
                x = place + bent
                store3(state.joint, row.POSITION, i, x)
                store3(state.joint, row.WORK, i, x)
                deviation = bent * float(rod)
                store3(state.joint, row.DEVIATION, i, deviation)
                store3(state.joint, row.DEVIATION_BEFORE, i, deviation)
                store3(state.joint, row.VELOCITY, i, get3(shape, m, s, 3))
                store3(state.joint, row.BEFORE, i, x - get3(shape, m, s, 6))
                i += state.slot[row.STRIDE, slot]
                k += model.span[row.JOINT_STRIDE, column + c]


@ti.kernel
def fade_shape(
    state: ti.template(),
    slots: ti.types.ndarray(),
    places: ti.types.ndarray(),
    spans: ti.types.ndarray(),
    offsets: ti.types.ndarray(),
    shape: ti.types.ndarray(),
):
    """Shapes moved by offsets (F, S, 3) in the frames of their attach nodes, with the lengths that they have; places
    (F,) in the shapes, slots (F,) the first of each member."""
    for f in range(slots.shape[0]):
        m = places[f]
        for c in range(spans.shape[0]):
            slot = slots[f] + c
            attach = load4(state.attach, 0, state.slot[row.ANCHOR, slot])
            end = load3(state.chain, row.ROOT_BEFORE, slot)
            plain_above = end
            moved_above = end
            for j in range(spans[c, 1]):
                s = spans[c, 0] + j
                plain = get3(shape, m, s, 0)
                offset = ti.Vector([offsets[f, s, 0], offsets[f, s, 1], offsets[f, s, 2]])
                moved = plain + rotate(attach, offset)
                link = moved - moved_above
                end += link * ((plain - plain_above).norm() / ti.max(link.norm(), 1e-12))
                plain_above = plain
                moved_above = moved
                put3(shape, m, s, 0, end)
