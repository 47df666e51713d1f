"""Posed skeletons on the device: bodies from baked clips, and their hair turned towards its end points."""

from .backend import ti
from .vectors import across


@ti.func
def column(worlds: ti.template(), m, n, k):
    """Column k of a node's world matrix, the fourth is where it is."""
    return ti.Vector([worlds[m, n, k], worlds[m, n, 4 + k], worlds[m, n, 8 + k]])


@ti.func
def put_column(worlds: ti.template(), m, n, k, v):
    for r in ti.static(range(3)):
        worlds[m, n, 4 * r + k] = v[r]


@ti.func
def shortest(a, b):
    """Shortest turn (x, y, z, w) from direction a to direction b; none where one of them is no direction."""
    q = ti.Vector([0.0, 0.0, 0.0, 1.0])
    la, lb = a.norm(), b.norm()
    if la > 1e-12 and lb > 1e-12:
        u, v = a / la, b / lb
        w = 1.0 + u.dot(v)
        axis = u.cross(v)
        if w < 1e-7:
            w = 0.0
            axis = across(u)
        n = 1.0 / ti.sqrt(axis.dot(axis) + w * w)
        q = ti.Vector([axis[0] * n, axis[1] * n, axis[2] * n, w * n])
    return q


@ti.func
def turned(q, v):
    u = ti.Vector([q[0], q[1], q[2]])
    t = 2.0 * u.cross(v)
    return v + q[3] * t + u.cross(t)


@ti.func
def rotation_of(a, b, c):
    """Quaternion, w >= 0, of a matrix with these columns, which may carry positive scale (Shepperd 1978)."""
    a, b, c = a / ti.max(a.norm(), 1e-30), b / ti.max(b.norm(), 1e-30), c / ti.max(c.norm(), 1e-30)
    xx, yy, zz, ww = 1 + a[0] - b[1] - c[2], 1 - a[0] + b[1] - c[2], 1 - a[0] - b[1] + c[2], 1 + a[0] + b[1] + c[2]
    d, e, f = b[0] + a[1], c[0] + a[2], c[1] + b[2]
    x, y, z = b[2] - c[1], c[0] - a[2], a[1] - b[0]
    q = ti.Vector([x, y, z, ww])
    most = ww
    if xx > most:
        most = xx
        q = ti.Vector([xx, d, e, x])
    if yy > most:
        most = yy
        q = ti.Vector([d, yy, f, y])
    if zz > most:
        q = ti.Vector([e, f, zz, z])
    q = q / q.norm()
    if q[3] < 0.0:
        q = -q
    return q


@ti.kernel
def pose_bodies(
    frames: ti.types.ndarray(),
    places: ti.types.ndarray(),
    first: ti.types.ndarray(),
    part: ti.types.ndarray(),
    placements: ti.types.ndarray(),
    worlds: ti.types.ndarray(),
):
    """World matrices of the bodies of members that play one clip, from where each is placed. frames (T, N, 12) of the
    clip; first (M,) frame and part (M,) of the way to the next; placements (M, 3, 3); places (M,) in worlds."""
    for k, n in ti.ndrange(places.shape[0], frames.shape[1]):
        i = first[k]
        f = part[k]
        for c in range(4):
            v = ti.Vector([0.0, 0.0, 0.0])
            for r in ti.static(range(3)):
                x = frames[i, n, 4 * r + c]
                v[r] = x + (frames[i + 1, n, 4 * r + c] - x) * f
            for r in ti.static(range(3)):
                worlds[places[k], n, 4 * r + c] = (
                    placements[k, r, 0] * v[0] + placements[k, r, 1] * v[1] + placements[k, r, 2] * v[2]
                )


@ti.kernel
def pose_hair(
    shape: ti.types.ndarray(),
    attach: ti.types.ndarray(),
    nodes: ti.types.ndarray(),
    local: ti.types.ndarray(),
    worlds: ti.types.ndarray(),
    positions: ti.types.ndarray(),
    rotations: ti.types.ndarray(),
):
    """End points of members' hair from where each is placed, its nodes turned towards them, and their local rotations.
    shape (M, S, 9); attach (S,) node that carries each segment, -1 the scene; nodes (K, 3) of what moves with hair,
    parents first: node, parent and segment or -1; local (K, 15) its rest matrix below the parent, and its tail."""
    for m in range(shape.shape[0]):
        for s in range(shape.shape[1]):
            for r in ti.static(range(3)):
                x = shape[m, s, r]
                if attach[s] >= 0:
                    x += worlds[m, ti.max(attach[s], 0), 4 * r + 3]
                positions[m, s, r] = x
        for k in range(nodes.shape[0]):
            node, parent, s = nodes[k, 0], nodes[k, 1], nodes[k, 2]
            p = ti.max(parent, 0)
            a, b, c = column(worlds, m, p, 0), column(worlds, m, p, 1), column(worlds, m, p, 2)
            at = column(worlds, m, p, 3)
            if parent < 0:
                a, b, c = ti.Vector([1.0, 0.0, 0.0]), ti.Vector([0.0, 1.0, 0.0]), ti.Vector([0.0, 0.0, 1.0])
                at = ti.Vector([0.0, 0.0, 0.0])
            x = a * local[k, 0] + b * local[k, 4] + c * local[k, 8]
            y = a * local[k, 1] + b * local[k, 5] + c * local[k, 9]
            z = a * local[k, 2] + b * local[k, 6] + c * local[k, 10]
            at = at + a * local[k, 3] + b * local[k, 7] + c * local[k, 11]
            if s >= 0:
                rest = x * local[k, 12] + y * local[k, 13] + z * local[k, 14]
                end = ti.Vector([positions[m, s, 0], positions[m, s, 1], positions[m, s, 2]])
                q = shortest(rest, end - at)
                x, y, z = turned(q, x), turned(q, y), turned(q, z)
                own = rotation_of(x, y, z)
                above = rotation_of(a, b, c)
                u = ti.Vector([-above[0], -above[1], -above[2]])
                v = ti.Vector([own[0], own[1], own[2]])
                xyz = above[3] * v + own[3] * u + u.cross(v)
                for r in ti.static(range(3)):
                    rotations[m, s, r] = xyz[r]
                rotations[m, s, 3] = above[3] * own[3] - u.dot(v)
            put_column(worlds, m, node, 0, x)
            put_column(worlds, m, node, 1, y)
            put_column(worlds, m, node, 2, z)
            put_column(worlds, m, node, 3, at)
