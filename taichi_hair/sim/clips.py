"""Clips on the device: fields of baked motions, and the kernel that poses every member from its own place in one."""

from dataclasses import dataclass

from . import layout as row
from .backend import ti
from .layout import ONE
from .model import Block
from .vectors import load3, load4, multiply, rotate


@dataclass(frozen=True, eq=False)
class HairClip:
    """Baked motions and who plays them; `layout` names the rows. Columns of a clip go frame by frame."""

    anchor: object  # f32 (CLIP_ANCHOR_ROWS, columns)
    collider: object  # f32 (CLIP_COLLIDER_ROWS, columns)
    pilot: object  # i32 (PILOT_ROWS, pilots)
    place: object  # f32 (PLACE_ROWS, pilots)
    active: object  # i32 (1, pilots): columns of `pilot` that a launch poses


def clip_storage(anchors: int, colliders: int, pilots: int) -> tuple[HairClip, Block]:
    """Zeroed storage for that many columns."""
    block = Block()
    clip = HairClip(
        anchor=block.field(ti.f32, row.CLIP_ANCHOR_ROWS, anchors),
        collider=block.field(ti.f32, row.CLIP_COLLIDER_ROWS, colliders),
        pilot=block.field(ti.i32, row.PILOT_ROWS, pilots),
        place=block.field(ti.f32, row.PLACE_ROWS, pilots),
        active=block.field(ti.i32, 1, pilots),
    )
    block.finish()
    return clip, block


@ti.kernel
def write_pilots(
    clip: ti.template(), pilot: ti.types.ndarray(), place: ti.types.ndarray(), columns: ti.types.ndarray()
):
    """Columns of members that play clips = what the host says, pilot (M, PILOT_ROWS) and place (M, PLACE_ROWS)."""
    for m in range(columns.shape[0]):
        for r in range(pilot.shape[1]):
            clip.pilot[r, columns[m]] = pilot[m, r]
        for r in range(place.shape[1]):
            clip.place[r, columns[m]] = place[m, r]


@ti.func
def mixed3(field: ti.template(), first, start, stride, phase):
    """A vector of a clip at a phase, between the frames on both sides of it."""
    i = start + (phase // ONE) * stride
    f = (phase % ONE) / float(ONE)
    v = load3(field, first, i)
    if f > 0.0:
        v += (load3(field, first, i + stride) - v) * f
    return v


@ti.func
def mixed4(field: ti.template(), first, start, stride, phase):
    """A unit quaternion of a clip at a phase; neighbouring frames are on the same side of the sphere."""
    i = start + (phase // ONE) * stride
    f = (phase % ONE) / float(ONE)
    q = load4(field, first, i)
    if f > 0.0:
        q += (load4(field, first, i + stride) - q) * f
        q = q / q.norm()
    return q


@ti.func
def mixed1(field: ti.template(), at, start, stride, phase):
    i = start + (phase // ONE) * stride
    f = (phase % ONE) / float(ONE)
    x = field[at, i]
    if f > 0.0:
        x += (field[at, i + stride] - x) * f
    return x


@ti.func
def store(field: ti.template(), tick, first, column, v: ti.template()):
    for k in ti.static(range(v.n)):
        field[tick, first + k, column] = v[k]


@ti.func
def conjugate(q):
    return ti.Vector([-q[0], -q[1], -q[2], q[3]])


@ti.func
def pose_anchor(state: ti.template(), clip: ti.template(), tick, p, k, before, after, jump):
    """One anchor's record of a tick that goes from one phase to another: paths are summed, so that no step is lost."""
    stride = clip.pilot[row.PILOT_ANCHORS, p]
    start = clip.pilot[row.CLIP_ANCHOR_START, p] + k
    a = clip.pilot[row.PILOT_ANCHOR, p] + k
    turn, size = load4(clip.place, row.PLACE_TURN, p), clip.place[row.PLACE_SIZE, p]
    step = ti.Vector([0.0, 0.0, 0.0])
    rigid = jump
    first = before // ONE
    for i in range(first + 1, (after + ONE - 1) // ONE + 1):
        share = ti.min(after, i * ONE) - ti.max(before, (i - 1) * ONE)
        column = start + i * stride
        step += load3(clip.anchor, row.CLIP_STEP, column) * (share / float(ONE))
        if clip.anchor[row.CLIP_JUMP, column] > 0.5:
            rigid = ti.max(rigid, 1)
    attach = multiply(turn, mixed4(clip.anchor, row.CLIP_ATTACH, start, stride, after))
    was_attach = load4(state.attach, 0, a)
    spin = multiply(attach, conjugate(was_attach))
    carry = ti.Vector([0.0, 0.0, 0.0, 1.0])
    step = rotate(turn, step) * size
    shift = step
    if clip.anchor[row.CLIP_CENTERED, start] > 0.5:
        now = multiply(turn, mixed4(clip.anchor, row.CLIP_CENTER_TURN, start, stride, after))
        was = multiply(turn, mixed4(clip.anchor, row.CLIP_CENTER_TURN, start, stride, before))
        carry = multiply(now, conjugate(was))
        arm_was = rotate(turn, mixed3(clip.anchor, row.CLIP_CENTER, start, stride, before)) * size
        arm_now = rotate(turn, mixed3(clip.anchor, row.CLIP_CENTER, start, stride, after)) * size
        shift = rotate(carry, arm_was) - arm_now
    if rigid > 0:
        carry = spin
        step = ti.Vector([0.0, 0.0, 0.0])
        shift = step
    offset_was = rotate(turn, mixed3(clip.anchor, row.CLIP_OFFSET, start, stride, before)) * size
    offset_now = rotate(turn, mixed3(clip.anchor, row.CLIP_OFFSET, start, stride, after)) * size
    store(state.anchor, tick, row.CARRY, a, carry)
    store(state.anchor, tick, row.SHIFT, a, shift)
    state.anchor[tick, row.SCALE, a] = mixed1(clip.anchor, row.CLIP_SCALE, start, stride, after) * size
    store(state.anchor, tick, row.ATTACH, a, attach)
    store(state.anchor, tick, row.SPIN, a, spin)
    store(state.anchor, tick, row.STEP, a, step)
    store(state.anchor, tick, row.OFFSET, a, offset_now)
    store(state.anchor, tick, row.OFFSET_BEFORE, a, offset_was)
    store(state.anchor, tick, row.ATTACH_BEFORE, a, was_attach)
    state.anchor[tick, row.SCALE_BEFORE, a] = mixed1(clip.anchor, row.CLIP_SCALE, start, stride, before) * size
    state.anchor[tick, row.HOLD, a] = 0.0
    state.anchor[tick, row.RIGID, a] = ti.cast(ti.min(rigid, 1), ti.f32)
    for i in ti.static(range(4)):
        state.attach[i, a] = attach[i]


@ti.func
def pose_collider(state: ti.template(), clip: ti.template(), record, p, k, before, after):
    """One collider's record at a phase; the sphere about it holds it all the way from the phase before."""
    stride = clip.pilot[row.PILOT_COLLIDERS, p]
    start = clip.pilot[row.CLIP_COLLIDER_START, p] + k
    b = clip.pilot[row.PILOT_COLLIDER, p] + k
    turn, size = load4(clip.place, row.PLACE_TURN, p), clip.place[row.PLACE_SIZE, p]
    meaning = clip.collider[row.CLIP_POINT_B, start]
    last = mixed3(clip.collider, row.POINT_B, start, stride, after)
    if meaning > 1.5:
        last *= size
    else:
        last = rotate(turn, last)
        if meaning < 0.5:
            last *= size
    center = mixed3(clip.collider, row.BOUND, start, stride, after)
    reach = mixed1(clip.collider, row.BOUND + 3, start, stride, after)  # all of it where nothing moves any more
    twist = 0.0
    for i in range(before // ONE + 1, (after + ONE - 1) // ONE + 1):
        column = start + i * stride
        reach = ti.max(
            reach, clip.collider[row.BOUND + 3, column] + (load3(clip.collider, row.BOUND, column) - center).norm()
        )
        twist += clip.collider[row.TWIST, column]
    store(
        state.collider,
        record,
        row.POINT_A,
        b,
        rotate(turn, mixed3(clip.collider, row.POINT_A, start, stride, after)) * size,
    )
    store(state.collider, record, row.POINT_B, b, last)
    store(state.collider, record, row.BOUND, b, rotate(turn, center) * size)
    store(
        state.collider,
        record,
        row.COLLIDER_TURN,
        b,
        multiply(turn, mixed4(clip.collider, row.COLLIDER_TURN, start, stride, after)),
    )
    for at, value in ti.static(((row.BOUND + 3, reach), (row.TWIST, twist))):
        state.collider[record, at, b] = value * size
    for at in ti.static((row.COLLIDER_RADIUS, row.TAIL_RADIUS, row.THICKNESS)):
        state.collider[record, at, b] = mixed1(clip.collider, at, start, stride, after) * size


@ti.func
def keep_colliders(state: ti.template(), clip: ti.template(), record, p):
    for k in range(clip.pilot[row.PILOT_COLLIDERS, p]):
        b = clip.pilot[row.PILOT_COLLIDER, p] + k
        for r in range(row.COLLIDER_ROWS):
            state.collider[record + 1, r, b] = state.collider[record, r, b]


@ti.kernel
def pose_members(
    state: ti.template(), clip: ti.template(), count: ti.i32, ticks: ti.i32, paid: ti.i32, serial: ti.template()
):
    """Anchors and colliders of the ticks of a launch, one thread per member.

    A member whose time runs slower than the crowd's is held in some ticks; a faster one runs the rest of what it is
    owed in launches between the crowd's ticks, which pay nothing.
    """
    ti.loop_config(serialize=serial)
    for n in range(count):
        p = clip.active[0, n]
        anchors, colliders = clip.pilot[row.PILOT_ANCHORS, p], clip.pilot[row.PILOT_COLLIDERS, p]
        phase = clip.pilot[row.PHASE, p]
        owed = clip.pilot[row.OWED, p]
        jump = clip.pilot[row.PILOT_JUMP, p]
        period = clip.pilot[row.PERIOD, p]
        last = clip.pilot[row.LAST, p]
        long_tick = clip.pilot[row.PILOT_STRIDE, p]
        for k in range(colliders):
            pose_collider(state, clip, 0, p, k, phase, phase)
        for tick in range(ticks):
            if paid == 1:
                owed += clip.pilot[row.TIME_SCALE, p]
            if owed >= long_tick * ONE:
                owed -= long_tick * ONE
                after = phase + clip.pilot[row.SPEED, p] * long_tick
                if period == 0:
                    after = ti.min(after, last)
                for k in range(anchors):
                    pose_anchor(state, clip, tick, p, k, phase, after, jump)
                for k in range(colliders):
                    pose_collider(state, clip, tick + 1, p, k, phase, after)
                if jump == 1:
                    jump = 0
                phase = after
                if period > 0:
                    phase = phase % period  # a long tick may be several rounds of a short clip
            else:
                for k in range(anchors):
                    state.anchor[tick, row.HOLD, clip.pilot[row.PILOT_ANCHOR, p] + k] = 1.0
                keep_colliders(state, clip, tick, p)
        clip.pilot[row.PHASE, p] = phase
        clip.pilot[row.OWED, p] = owed
        clip.pilot[row.PILOT_JUMP, p] = jump
