"""Shapes that hair must not enter: distance and outward direction, for a point and for a whole segment.

Shape numbers follow hair.SHAPES. `a` is the centre, the start of the axis, a point of the plane or the first corner of
a surface's grid; `b` the end of the axis, the plane's unit normal, the half edges of a box or a grid's cell;
`turn` the rotation of a box or grid.
"""

from ..backend import ti
from ..vectors import rotate

SPHERE = 0
CAPSULE = 1
PLANE = 2
INSIDE_SPHERE = 3
INSIDE_CAPSULE = 4
TAPERED_CAPSULE = 5
BOX = 6
SURFACE = 7

BISECTIONS = 16  # of a segment against a box: to 2e-5 of its length
SURFACE_POINTS = 8  # of a segment that are looked up in a surface's grid; one more is its joint


@ti.func
def unit_or(v, m, fallback):
    out = fallback
    if m > 1e-12:
        out = v / m
    return out


@ti.func
def along_axis(p, a, e, grow, shaped: ti.template()):
    """Parameter v in [0, 1] of the least |p - a - v e| - v grow: where on an axis, whose radius grows by `grow`, the
    surface is nearest to p. 0 for an axis of length 0; the thicker end where one end's sphere holds the other's.
    Without `shaped`, code for axes that grow is left out."""
    w = p - a
    ee = ti.max(e.dot(e), 1e-20)
    v = w.dot(e) / ee
    if ti.static(shaped):
        if grow != 0.0:
            off = ti.sqrt(ti.max(w.dot(w) - v * v * ee, 0.0))
            v += grow * off / ti.sqrt(ee * ti.max(ee - grow * grow, 1e-6 * ee))
    return ti.min(ti.max(v, 0.0), 1.0)


@ti.func
def point_distance(shape, a, b, radius, p, r, up):
    """Distance between the surfaces of a shape and of a sphere (p, r), negative when they overlap, and the unit
    direction in which p leaves the shape. Where p lies on the axis itself, `up` decides. Shapes of VRM 1.0 only."""
    distance = 0.0
    n = up
    if shape == PLANE:
        n = b
        distance = (p - a).dot(b) - r
    else:
        d = p - (a + (b - a) * along_axis(p, a, b - a, 0.0, False))
        m = d.norm()
        n = unit_or(d, m, up)
        distance = m - radius - r
        if shape == INSIDE_SPHERE or shape == INSIDE_CAPSULE:
            distance = radius - r - m
            n = -n
    return distance, n


@ti.func
def segments_nearest(o, d, a, e, grow, shaped: ti.template()):
    """(u, v), both in [0, 1], of the least |o + u d - a - v e| - v grow.

    Ericson, Real-Time Collision Detection, section 5.1.9, which holds for any function that is convex in u and v
    together. With n the unit direction between the nearest points, n.d = 0 and n.e = -grow give the lines' solution.
    Segments of length 0 are points; of parallel ones the middle of the stretch that they share is taken.
    """
    w = o - a
    dd = d.dot(d)
    ee = e.dot(e)
    de = d.dot(e)
    dw = d.dot(w)
    ew = e.dot(w)
    det = dd * ee - de * de
    slant = det - grow * grow * dd
    u = 0.0
    if slant > 1e-7 * dd * ee:
        t = 0.0
        if ti.static(shaped):
            if grow != 0.0:
                t = grow * ti.abs(w.dot(d.cross(e))) / ti.sqrt(slant)
        u = (de * (ew + t) - dw * ee) / det
    else:
        first = -dw / ti.max(dd, 1e-20)
        last = first + de / ti.max(dd, 1e-20)
        low = ti.max(ti.min(first, last), 0.0)
        high = ti.min(ti.max(first, last), 1.0)
        u = 0.5 * (low + high)
        if ti.static(shaped):
            if grow != 0.0:
                u = ti.select(grow * de > 0.0, 1.0, 0.0)
    u = ti.min(ti.max(u, 0.0), 1.0)
    v = along_axis(o + d * u, a, e, grow, shaped)
    u = ti.min(ti.max((de * v - dw) / ti.max(dd, 1e-20), 0.0), 1.0)
    return u, v


@ti.func
def box_at(p, half):
    """Signed distance of p, in the box's axes, from a box of half edges `half`, and its gradient."""
    q = ti.abs(p) - half
    out = ti.max(q, 0.0)
    m = out.norm()
    g = ti.Vector([0.0, 0.0, 0.0])
    distance = m
    if m > 0.0:
        g = out / m
    else:
        distance = q.max()
        if q[0] >= q[1] and q[0] >= q[2]:
            g[0] = 1.0
        elif q[1] >= q[2]:
            g[1] = 1.0
        else:
            g[2] = 1.0
    for i in ti.static(range(3)):
        if p[i] < 0.0:
            g[i] = -g[i]
    return distance, g


@ti.func
def box_nearest(o, d, half):
    """u in [0, 1] of the least signed distance from a box: it is convex along the segment, so its slope is bisected."""
    low = 0.0
    high = 1.0
    for _ in range(BISECTIONS):
        u = 0.5 * (low + high)
        _distance, g = box_at(o + d * u, half)
        if g.dot(d) > 0.0:
            high = u
        else:
            low = u
    u = 0.5 * (low + high)
    if low == 0.0:
        u = 0.0
    elif high == 1.0:
        u = 1.0
    return u


@ti.func
def surface_at(grid: ti.template(), start, nx, ny, nz, cell, p):
    """Signed distance at p, from the grid's first corner along its axes, and its gradient, by trilinear interpolation.

    Outside the grid the way to it is added."""
    w = p / cell
    top = ti.Vector([nx - 1.0, ny - 1.0, nz - 1.0])
    inside = ti.min(ti.max(w, 0.0), top)
    beyond = w - inside
    i = ti.min(ti.cast(inside, ti.i32), ti.Vector([nx - 2, ny - 2, nz - 2]))
    f = inside - ti.cast(i, ti.f32)
    base = start + (i[0] * ny + i[1]) * nz + i[2]
    distance = 0.0
    g = ti.Vector([0.0, 0.0, 0.0])
    for corner in range(8):
        x = corner & 1
        y = (corner >> 1) & 1
        z = (corner >> 2) & 1
        value = grid[0, base + (x * ny + y) * nz + z]
        wx = ti.select(x == 1, f[0], 1.0 - f[0])
        wy = ti.select(y == 1, f[1], 1.0 - f[1])
        wz = ti.select(z == 1, f[2], 1.0 - f[2])
        distance += value * wx * wy * wz
        g[0] += value * wy * wz * (2.0 * x - 1.0)
        g[1] += value * wx * wz * (2.0 * y - 1.0)
        g[2] += value * wx * wy * (2.0 * z - 1.0)
    out = beyond.norm()
    if out > 0.0:
        distance += out * cell
        g = beyond / out
    return distance, g


@ti.func
def axis_distance(a, b, radius, grow, o, x, r, up, shaped: ti.template()):
    """The part of `round_distance` for an axis from a to b with the radii `radius` and `radius + grow`."""
    e = b - a
    u, v = segments_nearest(o, x - o, a, e, grow, shaped)
    d = o + (x - o) * u - (a + e * v)
    m = d.norm()
    return m - radius - grow * v - r, unit_or(d, m, up), u


@ti.func
def round_distance(shape, a, b, radius, grow, o, x, r, up, shaped: ti.template()):
    """Least distance between a round shape or a plane and the segment o-x of radius r, negative when they overlap; the
    direction in which the segment leaves the shape there; and u in [0, 1], where along the segment that is.

    A plane and the inside shapes are convex for the hair, so that only an end can be the worst point; the joint o
    belongs to the segment above, so the end x is tested. Without `shaped` every shape is a sphere or a capsule.
    """
    distance = 0.0
    n = up
    u = 1.0
    if ti.static(shaped):
        if shape == SPHERE or shape == CAPSULE or shape == TAPERED_CAPSULE:
            distance, n, u = axis_distance(a, b, radius, grow, o, x, r, up, True)
        else:
            distance, n = point_distance(shape, a, b, radius, x, r, up)
    else:
        distance, n, u = axis_distance(a, b, radius, 0.0, o, x, r, up, False)
    return distance, n, u


@ti.func
def box_distance(a, half, radius, turn, o, x, r):
    """The same for a box of half edges `half` about a."""
    back = ti.Vector([-turn[0], -turn[1], -turn[2], turn[3]])
    p = rotate(back, o - a)
    d = rotate(back, x - o)
    u = box_nearest(p, d, half)
    at, g = box_at(p + d * u, half)
    return at - radius - r, rotate(turn, g), u


@ti.func
def surface_distance(grid: ti.template(), start, nx, ny, nz, a, cell, margin, turn, o, x, r, up):
    """The same for a surface: the deepest of SURFACE_POINTS + 1 points of the segment. Hair keeps `margin` from what is
    visible, or its own radius where that is larger."""
    back = ti.Vector([-turn[0], -turn[1], -turn[2], turn[3]])
    p = rotate(back, o - a)
    d = rotate(back, x - o)
    distance = 1e9
    g = up
    u = 1.0
    for s in range(SURFACE_POINTS + 1):
        t = 1.0 - s / float(SURFACE_POINTS)
        at, slope = surface_at(grid, start, nx, ny, nz, cell, p + d * t)
        if at < distance:
            distance = at
            g = slope
            u = t
    return distance - ti.max(margin, r), unit_or(rotate(turn, g), g.norm(), up), u
