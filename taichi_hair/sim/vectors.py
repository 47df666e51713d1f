"""Vectors and quaternions (x, y, z, w) inside kernels, and their way to and from packed rows."""

from .backend import ti


@ti.func
def load3(field, row, column):
    return ti.Vector([field[row, column], field[row + 1, column], field[row + 2, column]])


@ti.func
def store3(field, row, column, value):
    field[row, column] = value[0]
    field[row + 1, column] = value[1]
    field[row + 2, column] = value[2]


@ti.func
def load4(field, row, column):
    return ti.Vector([field[row, column], field[row + 1, column], field[row + 2, column], field[row + 3, column]])


@ti.func
def store4(field, row, column, value):
    store3(field, row, column, value)
    field[row + 3, column] = value[3]


@ti.func
def rotate(q, v):
    """Vector v turned by the unit quaternion q."""
    u = ti.Vector([q[0], q[1], q[2]])
    t = 2.0 * u.cross(v)
    return v + q[3] * t + u.cross(t)


@ti.func
def turns(q):
    """Whether a unit quaternion turns at all. Its w does not tell: it is 1 in 32 bits for turns below 5e-4 radians."""
    return q[0] * q[0] + q[1] * q[1] + q[2] * q[2] > 0.0


@ti.func
def multiply(a, b):
    """The rotation b followed by a."""
    return ti.Vector(
        [
            a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
            a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
            a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
            a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
        ]
    )


@ti.func
def across(v):
    """A unit vector perpendicular to the unit vector v (Frisvad 2012, with the pole handled apart)."""
    out = ti.Vector([0.0, -1.0, 0.0])
    if v[2] > -0.9999999:
        a = 1.0 / (1.0 + v[2])
        out = ti.Vector([1.0 - v[0] * v[0] * a, -v[0] * v[1] * a, -v[0]])
    return out


@ti.func
def from_to(a, b):
    """Shortest rotation from the unit vector a to the unit vector b; half a turn about an axis across when opposite."""
    w = 1.0 + a.dot(b)
    axis = a.cross(b)
    if w < 1e-7:
        w = 0.0
        axis = across(a)
    n = 1.0 / ti.sqrt(axis.dot(axis) + w * w)
    return ti.Vector([axis[0] * n, axis[1] * n, axis[2] * n, w * n])


@ti.func
def towards(origin, point, length, fallback):
    """The point at `length` from `origin` in the direction of `point`; along `fallback` where there is no direction."""
    d = point - origin
    m = d.norm()
    if m < 1e-6 * length:
        d = fallback
        m = fallback.norm()
    return origin + d * (length / ti.max(m, 1e-30))
