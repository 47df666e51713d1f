"""Distance, direction and place of a segment against every shape: values worked out by hand, and float64 searches."""

from __future__ import annotations

import numpy as np
import pytest

from taichi_hair import rotations
from taichi_hair.hair import SHAPES, Collider, Surface
from taichi_hair.rig.shapes import gap
from taichi_hair.sim.backend import ti

X, Y, Z = np.eye(3)
ORIGIN = np.zeros(3)
NUMBER = {name: k for k, name in enumerate(SHAPES)}


@pytest.fixture(scope="module")
def law():
    """The distance functions of the device, for arrays of cases: (n,) distances, (n, 3) directions, (n,) places."""
    from shape_kernels import segment_cases

    def run(shape, a, b, radius, grow, turn, o, x, r):
        arrays = np.broadcast_arrays(*[np.atleast_2d(np.asarray(v, dtype=np.float32)) for v in (a, b, o, x)])
        n = len(arrays[0])
        turn = np.broadcast_to(np.asarray(turn, dtype=np.float32), (n, 4))
        numbers = np.stack([np.broadcast_to(np.float32(v), n) for v in (radius, grow, r)], axis=1)
        out = np.zeros((n, 5), dtype=np.float32)
        given = np.concatenate([*arrays, turn, numbers], axis=1).astype(np.float32)
        segment_cases(NUMBER[shape], np.ascontiguousarray(given), out)
        return out[:, 0], out[:, 1:4], out[:, 4]

    return run


# shape, a, b, radius, grow, start, end, hair; distance, direction, place
BY_HAND = {
    # A ball of 1 at the origin, hair of 0.1: the segment passes at 1.5, 1.1 and 0.9.
    "sphere, clear": ("sphere", ORIGIN, ORIGIN, 1, 0, 1.5 * X - Y, 1.5 * X + Y, 0.1, 0.4, X, 0.5),
    "sphere, touching": ("sphere", ORIGIN, ORIGIN, 1, 0, 1.1 * X - Y, 1.1 * X + Y, 0.1, 0.0, X, 0.5),
    "sphere, middle deep, ends clear": (
        "sphere",
        ORIGIN,
        ORIGIN,
        1,
        0,
        0.9 * X - 3 * Y,
        0.9 * X + 3 * Y,
        0.1,
        -0.2,
        X,
        0.5,
    ),
    "sphere, end on": ("sphere", ORIGIN, ORIGIN, 1, 0, 4 * X, 1.05 * X, 0.1, -0.05, X, 1.0),
    "capsule, crossing": ("capsule", -Z, Z, 1, 0, 0.9 * X - 3 * Y, 0.9 * X + 3 * Y, 0.1, -0.2, X, 0.5),
    "capsule, beyond its end": ("capsule", -Z, Z, 1, 0, 3 * Z - Y, 3 * Z + Y, 0.1, 0.9, Z, 0.5),
    # Side by side from y = 0 to 1 of a segment that goes on to y = 3: the middle of what they share is y = 0.5.
    "capsule, parallel": ("capsule", -Y, Y, 1, 0, 0.9 * X, 0.9 * X + 3 * Y, 0.1, -0.2, X, 1 / 6),
    "capsule, of no length": ("capsule", ORIGIN, ORIGIN, 1, 0, 0.9 * X - 3 * Y, 0.9 * X + 3 * Y, 0.1, -0.2, X, 0.5),
    # Radii 1 and 0.5, 3 apart. The side of the cone leans by asin(0.5 / 3): its outward direction has -1/6 of z...
    # at the origin's side: n = (sqrt(35) / 6, 0, 1/6). A segment along y through p = n (1 + 0.2): 0.1 from the surface.
    "tapered, its side": (
        "tapered_capsule",
        ORIGIN,
        3 * Z,
        1,
        -0.5,
        [7.1 / 6, 0, 0.2],
        [7.1 / 6, 0, 0.2],
        0.1,
        None,
        None,
        None,
    ),
    "tapered, thin end": ("tapered_capsule", ORIGIN, 3 * Z, 1, -0.5, 4 * Z - Y, 4 * Z + Y, 0.1, 0.4, Z, 0.5),
    "tapered, thick end": ("tapered_capsule", ORIGIN, 3 * Z, 1, -0.5, -2 * Z - Y, -2 * Z + Y, 0.1, 0.9, -Z, 0.5),
    "tapered, one end holds the other": (
        "tapered_capsule",
        ORIGIN,
        Z,
        0.5,
        1.5,
        5 * Z - Y,
        5 * Z + Y,
        0.1,
        1.9,
        Z,
        0.5,
    ),
    # A box of half edges 1, 2, 3.
    "box, beside a face": ("box", ORIGIN, [1, 2, 3], 0, 0, 1.5 * X - Y, 1.5 * X + 5 * Y, 0.1, 0.4, X, None),
    "box, over an edge": ("box", ORIGIN, [1, 2, 3], 0, 0, [4, 6, -1], [4, 6, 1], 0.1, 4.9, [0.6, 0.8, 0], None),
    "box, a corner": ("box", ORIGIN, [1, 2, 3], 0.5, 0, [3, 4, 4], [9, 9, 9], 0.1, 2.4, [2 / 3, 2 / 3, 1 / 3], 0.0),
    "box, inside": ("box", ORIGIN, [1, 2, 3], 0, 0, [0.8, 0, 0], [0.7, 0, 0], 0.1, -0.4, X, 1.0),
    "box, through a corner region": ("box", ORIGIN, [1, 2, 3], 0, 0, [0.9, 5, 0], [0.9, -5, 0], 0.1, -0.2, X, None),
    # Half spaces and hollow shapes: the end decides.
    "plane": ("plane", ORIGIN, Y, 0, 0, 3 * Y, -0.05 * Y, 0.1, -0.15, Y, 1.0),
    "inside sphere": ("inside_sphere", ORIGIN, ORIGIN, 1, 0, ORIGIN, 1.2 * X, 0.1, -0.3, -X, 1.0),
    "inside capsule": ("inside_capsule", ORIGIN, 5 * Z, 1, 0, 3 * Z, 3 * Z + 1.2 * X, 0.1, -0.3, -X, 1.0),
}


@pytest.mark.parametrize("name", [k for k, v in BY_HAND.items() if v[8] is not None])
def test_values_worked_out_by_hand(law, name):
    shape, a, b, radius, grow, start, end, hair, distance, direction, place = BY_HAND[name]
    found, n, u = law(shape, a, b, radius, grow, rotations.IDENTITY, start, end, hair)
    assert found[0] == pytest.approx(distance, abs=2e-6)
    assert np.allclose(n[0], direction, atol=1e-3 if shape == "box" else 1e-6)
    if place is not None:
        assert u[0] == pytest.approx(place, abs=1e-4)


def test_side_of_a_tapered_capsule(law):
    """Radii 1 and 0.5, 3 apart: the cone's side leans so that its outward direction n has n . z = 1/6."""
    n = np.array([np.sqrt(35) / 6, 0, 1 / 6])
    p = 1.5 * Z + n * (0.75 + 0.3)  # over the middle of the axis, 0.3 off the surface
    found, way, u = law("tapered_capsule", ORIGIN, 3 * Z, 1, -0.5, rotations.IDENTITY, p - Y, p + Y, 0.1)
    assert found[0] == pytest.approx(0.2, abs=1e-6)
    assert np.allclose(way[0], n, atol=1e-6) and u[0] == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize("shape", ["sphere", "capsule", "tapered_capsule", "box", "inside_capsule", "plane"])
def test_against_float64_over_random_and_degenerate_cases(law, shape):
    rng = np.random.default_rng(4)
    n = 2000
    a, b, o, x = rng.normal(size=(4, n, 3)) * np.array([1.0, 1.0, 1.5, 1.5])[:, None, None]
    kinds = np.arange(n) % 6
    x[kinds == 1] = (o + (b - a) * rng.normal(size=(n, 1)))[kinds == 1]  # parallel
    x[kinds == 2] = (o + 1e-5 * rng.normal(size=(n, 3)))[kinds == 2]  # a point
    b[kinds == 3] = a[kinds == 3]  # no axis
    o[kinds == 4] = (0.5 * (a + b) - 0.3 * (x - o))[kinds == 4]  # through the axis
    radius, hair = rng.uniform(0.1, 0.6, n), rng.uniform(0.0, 0.1, n)
    grow = rng.uniform(-0.6, 0.6, n) if shape == "tapered_capsule" else np.zeros(n)
    grow = np.maximum(grow, 0.05 - radius)
    turn = np.tile(rotations.IDENTITY, (n, 1))
    half = np.abs(b) + 0.1
    if shape == "box":
        turn = rotations.normalise(rng.normal(size=(n, 4)))
        b = half
    if shape == "plane":
        b = np.where(np.linalg.norm(b, axis=1, keepdims=True) > 0, b, Y)
        b = b / np.linalg.norm(b, axis=1, keepdims=True)
    if shape == "sphere":
        b = a
    found, way, place = law(shape, a, b, radius, grow, turn, o, x, hair)
    # Hollow shapes and planes leave the joint to the segment above.
    start = x if shape in ("plane", "inside_capsule") else o
    slow = []
    for k in range(n):
        c = Collider("c", -1, shape, ORIGIN, half_size=half[k])
        slow.append(gap(c, a[k], b[k], radius[k], radius[k] + grow[k], turn[k], 1.0, start[k], x[k], hair[k]))
    error = np.abs(found - slow)
    assert error.max() < (1e-4 if shape == "box" else 2e-5), (
        kinds[error.argmax()],
        found[error.argmax()],
        slow[error.argmax()],
    )
    assert np.abs(np.linalg.norm(way, axis=1) - 1.0).max() < 1e-5
    # Moving the point of contact out along the direction clears it by as much, where a face of the shape lies there.
    assert (place >= 0.0).all() and (place <= 1.0).all()
    assert (found < 0.0).sum() > 50 and (found > 0.0).sum() > 20


def test_a_surface_is_what_its_grid_says(law):
    """A grid of the distances from a ball: the device, the NumPy measure and the ball itself agree within a cell."""
    from shape_kernels import surface_cases

    cell, size = 0.02, 33
    axis = (np.arange(size) - size // 2) * cell
    corner = np.full(3, axis[0])
    grid = np.linalg.norm(np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1), axis=-1) - 0.2
    surface = Surface(grid.astype(np.float32), cell)
    rng = np.random.default_rng(5)
    o, x = 0.35 * rng.normal(size=(2, 500, 3))
    out = np.zeros((500, 5), dtype=np.float32)
    field = ti.field(ti.f32, (1, grid.size))
    field.from_numpy(surface.distance.reshape(1, -1))
    surface_cases(
        field,
        np.array(grid.shape, np.int32),
        corner.astype(np.float32),
        cell,
        0.01,
        np.concatenate([o, x], axis=1).astype(np.float32),
        out,
    )
    collider = Collider("skin", -1, "surface", corner, radius=0.01, surface=surface)
    measured = gap(collider, corner, ORIGIN, 0.01, 0.0, rotations.IDENTITY, np.float64(1.0), o, x, 0.0)
    ball = gap(Collider("ball", -1, "sphere", ORIGIN), ORIGIN, ORIGIN, 0.21, 0.21, rotations.IDENTITY, 1.0, o, x, 0.0)
    assert np.abs(measured - ball)[ball < 0.1].max() < 0.006
    near = (ball < 0.05) & (ball > -0.15)
    assert near.sum() > 100
    spacing = np.linalg.norm(x - o, axis=1) / 8  # the device looks at nine points of a segment
    assert (out[:, 0] >= measured - 1e-4).all()
    assert (out[:, 0] - measured < 0.5 * spacing + 1e-4).all()
    at = o + (x - o) * out[:, 4:5]
    outward = at / np.linalg.norm(at, axis=1, keepdims=True)
    assert (np.sum(out[:, 1:4] * outward, axis=1)[near] > 0.98).all()
