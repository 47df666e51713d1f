"""Phase 3, projection: for the rod its implicit solve, then exact lengths from root to tip.

Reads WORK = y (and DEVIATION); writes WORK = the projected end point.
"""

from .. import layout as row
from ..backend import ti
from ..solvers.kinds import ROD
from ..vectors import load3, rotate, store3, towards
from .anchor import anchor4, chain_root


@ti.func
def rest_place(model: ti.template(), attach, scale, root_shift, k):
    """Where the end point would be on the carried rest shape, from the attach node."""
    return root_shift + rotate(attach, load3(model.joint, row.REST_POINT, k)) * scale


@ti.func
def rod_solve(model: ti.template(), state: ti.template(), c, tick, root):
    """One implicit step of the linear rod: WORK = r + p with S z = y - r - g p, p = g p + z.

    S is constant, positive definite and pentadiagonal, factored at load (S = L D L^T, two sub-diagonals), so the solve
    is one sweep down the chain and one up.
    """
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    attach = anchor4(state, tick, row.ATTACH, a)
    scale = state.anchor[tick, row.SCALE, a]
    n = model.span[row.JOINTS, m]
    stride = state.slot[row.STRIDE, c]
    kstride = model.span[row.JOINT_STRIDE, m]
    memory = model.chain[row.MEMORY, m]
    # A branch is carried by a bent strand: its rest shape moves with the end point that holds it.
    root_shift = root - rotate(attach, load3(model.chain, row.ROOT, m)) * scale
    if state.slot[row.PARENT, c] < 0:
        root_shift = ti.Vector([0.0, 0.0, 0.0])
    i = state.slot[row.START, c]
    k = model.span[row.JOINT_START, m]
    z1 = ti.Vector([0.0, 0.0, 0.0])
    z2 = ti.Vector([0.0, 0.0, 0.0])
    for _ in range(n):
        p = load3(state.joint, row.DEVIATION, i) * memory
        z = load3(state.joint, row.WORK, i) - rest_place(model, attach, scale, root_shift, k) - p
        z = z - model.joint[row.LOWER1, k] * z1 - model.joint[row.LOWER2, k] * z2
        store3(state.joint, row.DEVIATION, i, p)
        store3(state.joint, row.WORK, i, z)
        z2 = z1
        z1 = z
        i += stride
        k += kstride
    z1 = ti.Vector([0.0, 0.0, 0.0])
    z2 = ti.Vector([0.0, 0.0, 0.0])
    l1 = 0.0  # LOWER1 of the joint below
    l2 = 0.0  # LOWER2 of the joint two below
    l2_next = 0.0
    for _ in range(n):
        i -= stride
        k -= kstride
        z = load3(state.joint, row.WORK, i) * model.joint[row.PIVOT, k] - l1 * z1 - l2 * z2
        place = rest_place(model, attach, scale, root_shift, k) + load3(state.joint, row.DEVIATION, i) + z
        store3(state.joint, row.WORK, i, place)
        z2 = z1
        z1 = z
        l1 = model.joint[row.LOWER1, k]
        l2 = l2_next
        l2_next = model.joint[row.LOWER2, k]


@ti.func
def projection_chain(model: ti.template(), state: ti.template(), c, tick, root, solver: ti.template()):
    """`root` is the joint of the first segment as this phase sees it; for a branch, the parent's projected end point."""
    m = state.slot[row.MODEL, c]
    a = state.slot[row.ANCHOR, c]
    attach = anchor4(state, tick, row.ATTACH, a)
    scale = state.anchor[tick, row.SCALE, a]
    if ti.static(solver == ROD):
        rod_solve(model, state, c, tick, root)
    i = state.slot[row.START, c]
    k = model.span[row.JOINT_START, m]
    joint = root
    above = root  # the unprojected point above: a rod's link direction is taken from the solved curve
    for _ in range(model.span[row.JOINTS, m]):
        y = load3(state.joint, row.WORK, i)
        fallback = rotate(attach, load3(model.joint, row.REST, k))
        length = model.joint[row.LENGTH, k] * scale
        if ti.static(solver == ROD):
            x = towards(joint, joint + (y - above), length, fallback)
            above = y
            joint = x
        else:
            joint = towards(joint, y, length, fallback)
        store3(state.joint, row.WORK, i, joint)
        i += state.slot[row.STRIDE, c]
        k += model.span[row.JOINT_STRIDE, m]


@ti.func
def projected_root(model: ti.template(), state: ti.template(), c, tick):
    parent = state.slot[row.PARENT, c]
    root = chain_root(model, state, c, tick)
    if parent >= 0:
        root = load3(state.joint, row.WORK, parent)
    return root
