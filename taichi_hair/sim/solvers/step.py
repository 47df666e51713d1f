"""A tick as a list of phases: one kernel per phase, and the frame kernel that runs them all for every tick of a frame.

One thread per family, which is a chain and the chains that hang on it, in that order. Both ways call the same
functions, so that they give the same bits.
"""

from .. import layout as row
from ..backend import ti
from ..phases.anchor import carry_chain, held
from ..phases.contact import contact_chain
from ..phases.damping import damping_chain
from ..phases.force import force_chain
from ..phases.limits import limit_chain
from ..phases.projection import projection_chain
from ..phases.velocity import velocity_chain
from ..vectors import store3
from .kinds import ARC, ROD, SPRING_BONE
from .spring_bone import spring_bone_chain


@ti.func
def tick_of(model: ti.template(), state: ti.template(), c, h):
    """Seconds of a chain's tick, where a tick of the crowd is h."""
    return h * model.chain[row.TICKS, state.slot[row.MODEL, c]]


@ti.kernel
def carry_phase(model: ti.template(), state: ti.template(), families: ti.i32, tick: ti.i32):
    for f in range(families):
        for n in range(state.family[row.FAMILY_SIZE, f]):
            c = state.family[row.FAMILY_ORDER, state.family[row.FAMILY_START, f] + n]
            if not held(state, c, tick):
                carry_chain(model, state, c, tick)


@ti.kernel
def force_phase(model: ti.template(), state: ti.template(), families: ti.i32, tick: ti.i32, solver: ti.template()):
    for f in range(families):
        for n in range(state.family[row.FAMILY_SIZE, f]):
            c = state.family[row.FAMILY_ORDER, state.family[row.FAMILY_START, f] + n]
            if not held(state, c, tick):
                force_chain(model, state, c, tick, solver)


@ti.kernel
def damping_phase(
    model: ti.template(), state: ti.template(), families: ti.i32, tick: ti.i32, h: ti.f32, solver: ti.template()
):
    for f in range(families):
        for n in range(state.family[row.FAMILY_SIZE, f]):
            c = state.family[row.FAMILY_ORDER, state.family[row.FAMILY_START, f] + n]
            if not held(state, c, tick):
                damping_chain(model, state, c, tick, tick_of(model, state, c, h), solver)


@ti.kernel
def projection_phase(
    model: ti.template(), state: ti.template(), families: ti.i32, tick: ti.i32, h: ti.f32, solver: ti.template()
):
    for f in range(families):
        for n in range(state.family[row.FAMILY_SIZE, f]):
            c = state.family[row.FAMILY_ORDER, state.family[row.FAMILY_START, f] + n]
            if not held(state, c, tick):
                projection_chain(model, state, c, tick, tick_of(model, state, c, h), solver)


@ti.kernel
def limit_phase(model: ti.template(), state: ti.template(), families: ti.i32, tick: ti.i32, solver: ti.template()):
    for f in range(families):
        for n in range(state.family[row.FAMILY_SIZE, f]):
            c = state.family[row.FAMILY_ORDER, state.family[row.FAMILY_START, f] + n]
            if not held(state, c, tick):
                limit_chain(model, state, c, tick, solver)


@ti.kernel
def velocity_phase(
    model: ti.template(), state: ti.template(), families: ti.i32, tick: ti.i32, h: ti.f32, solver: ti.template()
):
    for f in range(families):
        for n in range(state.family[row.FAMILY_SIZE, f]):
            c = state.family[row.FAMILY_ORDER, state.family[row.FAMILY_START, f] + n]
            if not held(state, c, tick):
                velocity_chain(model, state, c, tick, tick_of(model, state, c, h), solver)


@ti.kernel
def contact_phase(
    model: ti.template(),
    state: ti.template(),
    families: ti.i32,
    tick: ti.i32,
    h: ti.f32,
    solver: ti.template(),
    contact: ti.template(),
):
    for f in range(families):
        for n in range(state.family[row.FAMILY_SIZE, f]):
            c = state.family[row.FAMILY_ORDER, state.family[row.FAMILY_START, f] + n]
            if not held(state, c, tick):
                contact_chain(model, state, c, tick, tick_of(model, state, c, h), solver, contact, False)


@ti.kernel
def spring_bone_phase(
    model: ti.template(), state: ti.template(), families: ti.i32, tick: ti.i32, h: ti.f32, contact: ti.template()
):
    for f in range(families):
        for n in range(state.family[row.FAMILY_SIZE, f]):
            c = state.family[row.FAMILY_ORDER, state.family[row.FAMILY_START, f] + n]
            if not held(state, c, tick):
                spring_bone_chain(model, state, c, tick, tick_of(model, state, c, h), contact)


def run_phases(model, state, families: int, ticks: int, h: float, solver: int, contact: int) -> None:
    """The ticks of a launch, phase by phase: slow, and easy to follow."""
    for tick in range(ticks):
        carry_phase(model, state, families, tick)
        if solver == SPRING_BONE:
            spring_bone_phase(model, state, families, tick, h, contact)
        else:
            force_phase(model, state, families, tick, solver)
            damping_phase(model, state, families, tick, h, solver)
            projection_phase(model, state, families, tick, h, solver)
            if model.limited:
                limit_phase(model, state, families, tick, solver)
            velocity_phase(model, state, families, tick, h, solver)
            contact_phase(model, state, families, tick, h, solver, contact)


@ti.func
def tick_chain(model: ti.template(), state: ti.template(), c, tick, h, solver: ti.template(), contact: ti.template()):
    if ti.static(solver in (ARC, ROD) and not model.limited):
        contact_chain(model, state, c, tick, h, solver, contact, True)
    elif ti.static(solver == SPRING_BONE):
        carry_chain(model, state, c, tick)
        spring_bone_chain(model, state, c, tick, h, contact)
    else:
        carry_chain(model, state, c, tick)
        force_chain(model, state, c, tick, solver)
        damping_chain(model, state, c, tick, h, solver)
        projection_chain(model, state, c, tick, h, solver)
        if ti.static(model.limited):
            limit_chain(model, state, c, tick, solver)
        velocity_chain(model, state, c, tick, h, solver)
        contact_chain(model, state, c, tick, h, solver, contact, False)


@ti.kernel
def run_frame(
    model: ti.template(),
    state: ti.template(),
    families: ti.i32,
    ticks: ti.i32,
    h: ti.f32,
    solver: ti.template(),
    contact: ti.template(),
    serial: ti.template(),
):
    """All ticks of a launch for one family in one thread. `serial` spares small scenes the waking of a thread pool."""
    ti.loop_config(serialize=serial)
    for f in range(families):
        for tick in range(ticks):
            for n in range(state.family[row.FAMILY_SIZE, f]):
                c = state.family[row.FAMILY_ORDER, state.family[row.FAMILY_START, f] + n]
                if not held(state, c, tick):
                    tick_chain(model, state, c, tick, tick_of(model, state, c, h), solver, contact)


@ti.kernel
def carry_frozen(model: ti.template(), state: ti.template(), families: ti.i32, ticks: ti.i32, serial: ti.template()):
    """All ticks of a launch for families that keep their shape: carried rigidly, and at rest for when they go on."""
    ti.loop_config(serialize=serial)
    for f in range(families):
        for tick in range(ticks):
            for n in range(state.frozen[row.FAMILY_SIZE, f]):
                c = state.family[row.FAMILY_ORDER, state.frozen[row.FAMILY_START, f] + n]
                if not held(state, c, tick):
                    carry_chain(model, state, c, tick)
                    i = state.slot[row.START, c]
                    for _ in range(model.span[row.JOINTS, state.slot[row.MODEL, c]]):
                        store3(state.joint, row.VELOCITY, i, ti.Vector([0.0, 0.0, 0.0]))
                        i += state.slot[row.STRIDE, c]
