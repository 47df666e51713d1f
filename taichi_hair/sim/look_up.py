"""lut on the device: head rotation to pose by a table for all members of that level, and the cheap lag of a ball.

A frame finds how much of each of its style's shapes a member has; the end points of all segments are mixed from them
when they are read. One thread per member.
"""

from dataclasses import dataclass

from . import layout as row
from .backend import ti
from .clips import mixed4
from .layout import ONE
from .model import Block
from .shown import put3, root_of
from .solvers.lut import DAMPING, FREQUENCY, SHAPE, SHAPES
from .vectors import load3, load4, multiply, rotate, store3, store4

# HairTable.seat (int), one column per member
SEAT_PILOT = 0  # column of HairClip.pilot
SEAT_KEY = 1  # column of HairTable.key where the clip begins
SEAT_AMOUNT = 2  # first of the table's amounts in HairTable.number
SEAT_SHAPES = 3  # how many shapes the table mixes
SEAT_SEGMENT = 4  # first of its segments in HairTable.number
SEAT_ANCHOR = 5  # the anchor whose turning the ball follows, within the member
SEAT_FRESH = 6  # 1: the ball starts at rest in the head's frame
SEAT_ROWS = 7

# HairTable.lag, one column per member
BALL = 0  # 4, rotation of the ball
BALL_SPIN = 4  # 3, radians a second
LATE = 7  # 4, turn in the world from the head to the ball
REST = 11  # 4, rest rotation of the node that carries what follows
LAG_ROWS = 15

SEGMENT_NUMBERS = 4  # before the shapes of a segment: 3, its mean end point; 1, its share of the lag
FACE = SHAPE[0] * SHAPE[1] * SHAPE[2]


@dataclass(frozen=True, eq=False)
class HairTable:
    """Tables of styles, and those who are posed by them."""

    number: object  # f32 (numbers,): amounts, sample after sample; segments, mean, share and shapes of each
    key: object  # f32 (4, columns): head rotation that a table is asked for, frame after frame of a clip
    seat: object  # i32 (SEAT_ROWS, seats)
    lag: object  # f32 (LAG_ROWS, seats)
    amount: object  # f32 (1, SHAPES x seats), seat after seat
    active: object  # i32 (1, seats)


def table_storage(numbers: int, keys: int, seats: int) -> tuple[HairTable, Block]:
    """Zeroed storage for that many."""
    block = Block()
    table = HairTable(
        number=block.field(ti.f32, 1, numbers),
        key=block.field(ti.f32, 4, keys),
        seat=block.field(ti.i32, SEAT_ROWS, seats),
        lag=block.field(ti.f32, LAG_ROWS, seats),
        amount=block.field(ti.f32, 1, SHAPES * seats),
        active=block.field(ti.i32, 1, seats),
    )
    block.finish()
    return table, block


@ti.func
def grid_place(u, n: ti.template()):
    """(cell, part of it) of a coordinate in [-1, 1] among n samples."""
    at = ti.min(ti.max((u + 1.0) * (0.5 * (n - 1)), 0.0), float(n - 1))
    cell = ti.min(ti.cast(at, ti.i32), n - 2)
    return cell, at - cell


@ti.func
def corners(q):
    """The four samples about a rotation and their weights, as `solvers.lut.neighbours`: looked up, not searched."""
    a = ti.abs(q)
    face = 0
    first = q[0]
    u = ti.Vector([q[1], q[2], q[3]])
    most = a[0]
    if a[1] > most:
        face, first, most = 1, q[1], a[1]
        u = ti.Vector([q[0], q[2], q[3]])
    if a[2] > most:
        face, first, most = 2, q[2], a[2]
        u = ti.Vector([q[0], q[1], q[3]])
    if a[3] > most:
        face, first, most = 3, q[3], a[3]
        u = ti.Vector([q[0], q[1], q[2]])
    u = u / first
    x, p0 = grid_place(u[0], SHAPE[0])
    y, p1 = grid_place(u[1], SHAPE[1])
    z, p2 = grid_place(u[2], SHAPE[2])
    s0, s1, s2 = SHAPE[1] * SHAPE[2], SHAPE[2], 1
    if p1 > p0:
        p0, p1 = p1, p0
        s0, s1 = s1, s0
    if p2 > p1:
        p1, p2 = p2, p1
        s1, s2 = s2, s1
    if p1 > p0:
        p0, p1 = p1, p0
        s0, s1 = s1, s0
    at = face * FACE + x * (SHAPE[1] * SHAPE[2]) + y * SHAPE[2] + z
    index = ti.Vector([at, at + s0, at + s0 + s1, at + s0 + s1 + s2])
    return index, ti.Vector([1.0 - p0, p0 - p1, p1 - p2, p2])


@ti.func
def follow(table: ti.template(), seat, q, h):
    """The ball of a seat takes h seconds after its head has turned to q: implicit in spring and damping."""
    late = load4(table.lag, BALL, seat)
    behind = multiply(q, ti.Vector([-late[0], -late[1], -late[2], late[3]]))
    if behind[3] < 0.0:
        behind = -behind
    v = ti.Vector([behind[0], behind[1], behind[2]])
    size = v.norm()
    square = size * size
    if size > 0.4:
        v *= 2.0 * ti.atan2(size, behind[3]) / size
    else:  # 2 asin(x) / x, to a millionth
        v *= 2.0 + square * (
            1.0 / 3.0 + square * (0.15 + square * (5.0 / 56.0 + square * (35.0 / 576.0 + square * 0.06)))
        )
    w = 2.0 * 3.141592653589793 * FREQUENCY
    spin = load3(table.lag, BALL_SPIN, seat)
    spin = (spin + h * w * w * v) / (1.0 + 2.0 * DAMPING * w * h + w * w * h * h)
    # The turn of a tick by its sine's and cosine's first terms; the ball is brought back to unit length.
    half = spin * (0.5 * h)
    small = half.dot(half)
    half *= 1.0 - small * (1.0 / 6.0)
    late = multiply(ti.Vector([half[0], half[1], half[2], 1.0 - 0.5 * small]), late)
    store4(table.lag, BALL, seat, late / late.norm())
    store3(table.lag, BALL_SPIN, seat, spin)


@ti.func
def amounts(table: ti.template(), at):
    """How much of each shape a sample has; neighbours in memory, so that they are loaded side by side."""
    return ti.Vector([table.number[0, at + r] for r in ti.static(range(SHAPES))])


@ti.kernel
def look_up(
    state: ti.template(),
    clip: ti.template(),
    table: ti.template(),
    count: ti.i32,
    ticks: ti.i32,
    h: ti.f32,
    paid: ti.i32,
    serial: ti.template(),
):
    """The ticks of a launch for members that a table poses; time goes as in `clips.pose_members`. With no ticks what
    is shown is found anew for where each of them is."""
    ti.loop_config(serialize=serial)
    for n in range(count):
        seat = table.active[0, n]
        p = table.seat[SEAT_PILOT, seat]
        stride = clip.pilot[row.PILOT_ANCHORS, p]
        start = clip.pilot[row.CLIP_ANCHOR_START, p]
        first = clip.pilot[row.PILOT_ANCHOR, p]
        turn = load4(clip.place, row.PLACE_TURN, p)
        phase = clip.pilot[row.PHASE, p]
        owed = clip.pilot[row.OWED, p]
        period = clip.pilot[row.PERIOD, p]
        last = clip.pilot[row.LAST, p]
        long_tick = clip.pilot[row.PILOT_STRIDE, p]
        followed = table.seat[SEAT_ANCHOR, seat]
        fresh = ti.max(table.seat[SEAT_FRESH, seat], clip.pilot[row.PILOT_JUMP, p])
        q = ti.Vector([0.0, 0.0, 0.0, 1.0])
        ran = 0
        for _ in range(ticks):
            if paid == 1:
                owed += clip.pilot[row.TIME_SCALE, p]
            if owed >= long_tick * ONE:
                owed -= long_tick * ONE
                phase += clip.pilot[row.SPEED, p] * long_tick
                if period == 0:
                    phase = ti.min(phase, last)
                elif phase >= period:
                    phase = phase % period
                q = multiply(turn, mixed4(clip.anchor, row.CLIP_ATTACH, start + followed, stride, phase))
                if fresh == 0:
                    follow(table, seat, q, h * float(long_tick))
                ran = 1
        if ran == 0:
            q = multiply(turn, mixed4(clip.anchor, row.CLIP_ATTACH, start + followed, stride, phase))
        for k in range(stride):
            attach = q
            if k != followed:
                attach = multiply(turn, mixed4(clip.anchor, row.CLIP_ATTACH, start + k, stride, phase))
            store4(state.attach, 0, first + k, attach)
        if fresh > 0:
            store4(table.lag, BALL, seat, q)
            store3(table.lag, BALL_SPIN, seat, ti.Vector([0.0, 0.0, 0.0]))
        late = load4(table.lag, BALL, seat)
        store4(table.lag, LATE, seat, multiply(late, ti.Vector([-q[0], -q[1], -q[2], q[3]])))
        # The table is asked for the ball's rotation: in the key's frame the head's, then its way to the ball.
        rest = load4(table.lag, REST, seat)
        head = multiply(mixed4(table.key, 0, table.seat[SEAT_KEY, seat], 1, phase), rest)
        way = multiply(ti.Vector([-q[0], -q[1], -q[2], q[3]]), late)
        ball = multiply(multiply(head, way), ti.Vector([-rest[0], -rest[1], -rest[2], rest[3]]))
        index, weight = corners(ball)
        index = index * SHAPES + table.seat[SEAT_AMOUNT, seat]
        mixed = amounts(table, index[0]) * weight[0]
        for k in ti.static(range(1, 4)):
            mixed += amounts(table, index[k]) * weight[k]
        for r in ti.static(range(SHAPES)):
            table.amount[0, seat * SHAPES + r] = mixed[r]
        clip.pilot[row.PHASE, p] = phase
        clip.pilot[row.OWED, p] = owed
        clip.pilot[row.PILOT_JUMP, p] = 0
        table.seat[SEAT_FRESH, seat] = 0


@ti.kernel
def shape_by_table(
    model: ti.template(),
    state: ti.template(),
    table: ti.template(),
    slots: ti.types.ndarray(),
    places: ti.types.ndarray(),
    seats: ti.types.ndarray(),
    order: ti.types.ndarray(),
    spans: ti.types.ndarray(),
    scale: ti.types.ndarray(),
    pivots: ti.types.ndarray(),
    shape: ti.types.ndarray(),
):
    """Shapes of members that a table poses, without velocities. slots, places in the shapes
    and seats (M,), order (C,) chains before those
    that hang on them, spans (C, 2), scale (M, C), pivots (C, 3) what the lag turns about, from the attach node."""
    for n in range(slots.shape[0]):
        seat = seats[n]
        shapes = table.seat[SEAT_SHAPES, seat]
        numbers = SEGMENT_NUMBERS + 3 * shapes
        late = load4(table.lag, LATE, seat)
        for number in range(order.shape[0]):
            c = order[number]
            slot = slots[n] + c
            m = state.slot[row.MODEL, slot]
            attach = load4(state.attach, 0, state.slot[row.ANCHOR, slot])
            pivot = rotate(attach, ti.Vector([pivots[c, 0], pivots[c, 1], pivots[c, 2]])) * scale[n, c]
            end = root_of(model, state, slot, scale[n, c])
            store3(state.chain, row.ROOT_BEFORE, slot, end)
            raw_above = end
            i = state.slot[row.START, slot]
            k = model.span[row.JOINT_START, m]
            for j in range(spans[c, 1]):
                s = spans[c, 0] + j
                at = table.seat[SEAT_SEGMENT, seat] + s * numbers
                point = ti.Vector([table.number[0, at], table.number[0, at + 1], table.number[0, at + 2]])
                share = table.number[0, at + 3]
                at += SEGMENT_NUMBERS
                for r in range(shapes):
                    a = table.amount[0, seat * SHAPES + r]
                    point += a * ti.Vector([table.number[0, at], table.number[0, at + 1], table.number[0, at + 2]])
                    at += 3
                raw = rotate(attach, point) * scale[n, c]
                raw += share * (pivot + rotate(late, raw - pivot) - raw)
                link = raw - raw_above
                raw_above = raw
                length = model.joint[row.LENGTH, k] * scale[n, c]
                size = link.norm()
                if size < 1e-9:
                    link = rotate(attach, load3(model.joint, row.REST, k))
                    size = link.norm()
                end += link * (length / ti.max(size, 1e-20))
                store3(state.joint, row.POSITION, i, end)
                put3(shape, places[n], s, 0, end)
                i += state.slot[row.STRIDE, slot]
                k += model.span[row.JOINT_STRIDE, m]
