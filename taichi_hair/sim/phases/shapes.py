"""Shapes that hair must not enter: distance and outward direction, for a point and for a whole segment.

Shape numbers follow hair.SHAPES. `a` is the centre, the start of the axis or a point of the plane; `b` the end of the
axis or the plane's unit normal.
"""

from ..backend import ti

SPHERE = 0
CAPSULE = 1
PLANE = 2
INSIDE_SPHERE = 3
INSIDE_CAPSULE = 4


@ti.func
def unit_or(v, m, fallback):
    out = fallback
    if m > 1e-12:
        out = v / m
    return out


@ti.func
def along_axis(p, a, b):
    """Parameter in [0, 1] of the point of the axis a-b that is nearest to p; 0 for an axis of length 0."""
    d = b - a
    return ti.min(ti.max((p - a).dot(d) / ti.max(d.dot(d), 1e-20), 0.0), 1.0)


@ti.func
def point_distance(shape, a, b, radius, p, r, up):
    """Distance between the surfaces of a shape and of a sphere (p, r), negative when they overlap, and the unit
    direction in which p leaves the shape. Where p lies on the axis itself, `up` decides."""
    distance = 0.0
    n = up
    if shape == PLANE:
        n = b
        distance = (p - a).dot(b) - r
    else:
        v = along_axis(p, a, b)
        d = p - (a + (b - a) * v)
        m = d.norm()
        n = unit_or(d, m, up)
        distance = m - radius - r
        if shape >= INSIDE_SPHERE:
            distance = radius - r - m
            n = -n
    return distance, n


@ti.func
def segments_nearest(o, d, a, e):
    """(u, v) of the nearest points o + u d and a + v e, u and v in [0, 1] (Ericson, Real-Time Collision Detection,
    section 5.1.9). Segments of length 0 are points; of parallel ones the pair nearest to o is taken."""
    w = o - a
    dd = d.dot(d)
    ee = e.dot(e)
    de = d.dot(e)
    dw = d.dot(w)
    ew = e.dot(w)
    det = dd * ee - de * de
    u = 0.0
    if det > 1e-7 * dd * ee:
        u = ti.min(ti.max((de * ew - dw * ee) / det, 0.0), 1.0)
    v = ti.min(ti.max((de * u + ew) / ti.max(ee, 1e-20), 0.0), 1.0)
    u = ti.min(ti.max((de * v - dw) / ti.max(dd, 1e-20), 0.0), 1.0)
    return u, v


@ti.func
def segment_distance(shape, a, b, radius, o, x, r, up):
    """Least distance between a shape and the segment o-x of radius r, negative when they overlap; the direction in
    which the segment leaves the shape there; and u in [0, 1], where along the segment that is.

    A plane and the inside shapes are convex for the hair, so that only an end can be the worst point; the joint o
    belongs to the segment above, so the end x is tested.
    """
    distance = 0.0
    n = up
    u = 1.0
    if shape == SPHERE or shape == CAPSULE:
        e = b - a
        s, v = segments_nearest(o, x - o, a, e)
        u = s
        d = o + (x - o) * u - (a + e * v)
        m = d.norm()
        n = unit_or(d, m, up)
        distance = m - radius - r
    else:
        distance, n = point_distance(shape, a, b, radius, x, r, up)
    return distance, n, u
