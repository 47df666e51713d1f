"""Clips on the device: fields of baked motions, and the kernel that poses every member from its own place in one."""

from dataclasses import dataclass

from . import layout as row
from .backend import ti
from .layout import ONE
from .model import Block
from .phases.anchor import anchor3, anchor4
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
    ti.loop_config(serialize=True)  # a few numbers each
    for m in range(columns.shape[0]):
        for r in range(pilot.shape[1]):
            clip.pilot[r, columns[m]] = pilot[m, r]
        for r in range(place.shape[1]):
            clip.place[r, columns[m]] = place[m, r]


@ti.kernel
def write_clip(
    clip: ti.template(),
    anchor: ti.types.ndarray(),
    collider: ti.types.ndarray(),
    first_anchor: ti.i32,
    first_collider: ti.i32,
    colliders: ti.i32,
):
    """Columns of one motion: anchor (CLIP_ANCHOR_ROWS, A) and the first `colliders` of collider (CLIP_COLLIDER_ROWS, B)
    from those columns on."""
    for k in range(ti.max(anchor.shape[1], colliders)):
        if k < anchor.shape[1]:
            for r in range(anchor.shape[0]):
                clip.anchor[r, first_anchor + k] = anchor[r, k]
        if k < colliders:
            for r in range(collider.shape[0]):
                clip.collider[r, first_collider + k] = collider[r, k]


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
def pose_anchor(state: ti.template(), clip: ti.template(), tick, p, k, before, after, jump, centered: ti.template()):
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
    if ti.static(centered):
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
    store(state.anchor, tick, row.CARRY, a, carry)
    store(state.anchor, tick, row.SHIFT, a, shift)
    state.anchor[tick, row.SCALE, a] = mixed1(clip.anchor, row.CLIP_SCALE, start, stride, after) * size
    store(state.anchor, tick, row.ATTACH, a, attach)
    store(state.anchor, tick, row.SPIN, a, spin)
    store(state.anchor, tick, row.STEP, a, step)
    store(state.anchor, tick, row.ATTACH_BEFORE, a, was_attach)
    state.anchor[tick, row.SCALE_BEFORE, a] = mixed1(clip.anchor, row.CLIP_SCALE, start, stride, before) * size
    state.anchor[tick, row.HOLD, a] = 0.0
    state.anchor[tick, row.RIGID, a] = ti.cast(ti.min(rigid, 1), ti.f32)
    for i in ti.static(range(4)):
        state.attach[i, a] = attach[i]


@ti.func
def pose_collider(state: ti.template(), clip: ti.template(), tick, p, k, before, after, solid: ti.template()):
    """One collider's record of a tick that goes from one phase to another; the sphere about it holds it all the way."""
    stride = clip.pilot[row.PILOT_COLLIDERS, p]
    start = clip.pilot[row.CLIP_COLLIDER_START, p] + k
    b = clip.pilot[row.PILOT_COLLIDER, p] + k
    a = clip.pilot[row.PILOT_ANCHOR, p] + ti.cast(clip.collider[row.CLIP_OWNER, start], ti.i32)
    turn, size = load4(clip.place, row.PLACE_TURN, p), clip.place[row.PLACE_SIZE, p]
    carry, shift = anchor4(state, tick, row.CARRY, a), anchor3(state, tick, row.SHIFT, a)
    moved = 0.0
    for n in range(2):  # points a and b
        meaning = ti.select(n == 0, 0.0, clip.collider[row.CLIP_POINT_B, start])
        now = mixed3(clip.collider, row.CLIP_A + 3 * n, start, stride, after)
        was = mixed3(clip.collider, row.CLIP_A + 3 * n, start, stride, before)
        if meaning < 0.5:
            now = rotate(turn, now) * size
            was = rotate(carry, rotate(turn, was) * size) + shift
            moved = ti.max(moved, (now - was).norm())
        elif meaning < 1.5:
            now = rotate(turn, now)
            was = rotate(carry, rotate(turn, was))
        else:
            now *= size
            was *= size
        store(state.collider, tick, row.POINT_A + 3 * n, b, now)
        store(state.collider, tick, row.WAS_A + 3 * n, b, was)
    if ti.static(solid):
        now_turn = multiply(turn, mixed4(clip.collider, row.CLIP_TURN, start, stride, after))
        was_turn = multiply(carry, multiply(turn, mixed4(clip.collider, row.CLIP_TURN, start, stride, before)))
        dot = ti.min(ti.abs(now_turn.dot(was_turn)), 1.0)
        twist = 4.0 * ti.sqrt(1.0 - dot * dot) * clip.collider[row.CLIP_EXTENT, start] * size
        moved += twist
        store(state.collider, tick, row.COLLIDER_TURN, b, now_turn)
        store(state.collider, tick, row.WAS_TURN, b, was_turn)
        state.collider[tick, row.TWIST, b] = twist
    store(
        state.collider,
        tick,
        row.BOUND,
        b,
        rotate(turn, mixed3(clip.collider, row.CLIP_BOUND, start, stride, after)) * size,
    )
    for to, at in ti.static(
        (
            (row.BOUND + 3, row.CLIP_BOUND + 3),
            (row.COLLIDER_RADIUS, row.CLIP_RADIUS),
            (row.TAIL_RADIUS, row.CLIP_TAIL_RADIUS),
            (row.THICKNESS, row.CLIP_THICKNESS),
        )
    ):
        state.collider[tick, to, b] = mixed1(clip.collider, at, start, stride, after) * size
    state.collider[tick, row.BOUND + 3, b] += moved


@ti.kernel
def pose_members(
    state: ti.template(),
    clip: ti.template(),
    count: ti.i32,
    ticks: ti.i32,
    paid: ti.i32,
    serial: ti.template(),
    solid: ti.template(),
    centered: ti.template(),
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
        for tick in range(ticks):
            if paid == 1:
                owed += clip.pilot[row.TIME_SCALE, p]
            if owed >= long_tick * ONE:
                owed -= long_tick * ONE
                after = phase + clip.pilot[row.SPEED, p] * long_tick
                if period == 0:
                    after = ti.min(after, last)
                for k in range(anchors):
                    pose_anchor(state, clip, tick, p, k, phase, after, jump, centered)
                for k in range(colliders):
                    pose_collider(state, clip, tick, p, k, phase, after, solid)
                if jump == 1:
                    jump = 0
                phase = after
                if period > 0:
                    phase = phase % period  # a long tick may be several rounds of a short clip
            else:
                for k in range(anchors):
                    state.anchor[tick, row.HOLD, clip.pilot[row.PILOT_ANCHOR, p] + k] = 1.0
        clip.pilot[row.PHASE, p] = phase
        clip.pilot[row.OWED, p] = owed
        clip.pilot[row.PILOT_JUMP, p] = jump
