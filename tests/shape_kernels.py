"""Kernels that run the device's shape functions on arrays of cases (Taichi: no postponed annotations here)."""

from taichi_hair.sim.backend import ti
from taichi_hair.sim.phases.shapes import BOX, box_distance, round_distance, surface_distance
from taichi_hair.sim.vectors import across


@ti.func
def vector(given: ti.template(), k, first):
    return ti.Vector([given[k, first], given[k, first + 1], given[k, first + 2]])


@ti.kernel
def segment_cases(shape: ti.i32, given: ti.types.ndarray(), out: ti.types.ndarray()):
    for k in range(given.shape[0]):
        o = vector(given, k, 6)
        x = vector(given, k, 9)
        turn = ti.Vector([given[k, 12], given[k, 13], given[k, 14], given[k, 15]])
        up = across((x - o) / ti.max((x - o).norm(), 1e-20))
        a = vector(given, k, 0)
        b = vector(given, k, 3)
        distance, n, u = round_distance(shape, a, b, given[k, 16], given[k, 17], o, x, given[k, 18], up, True)
        if shape == BOX:
            distance, n, u = box_distance(a, b, given[k, 16], turn, o, x, given[k, 18])
        out[k, 0] = distance
        for i in range(3):
            out[k, 1 + i] = n[i]
        out[k, 4] = u


@ti.kernel
def surface_cases(
    grid: ti.template(),
    size: ti.types.ndarray(),
    corner: ti.types.ndarray(),
    cell: ti.f32,
    margin: ti.f32,
    given: ti.types.ndarray(),
    out: ti.types.ndarray(),
):
    for k in range(given.shape[0]):
        o = vector(given, k, 0)
        x = vector(given, k, 3)
        a = ti.Vector([corner[0], corner[1], corner[2]])
        turn = ti.Vector([0.0, 0.0, 0.0, 1.0])
        up = across((x - o) / ti.max((x - o).norm(), 1e-20))
        distance, n, u = surface_distance(grid, 0, size[0], size[1], size[2], a, cell, margin, turn, o, x, 0.0, up)
        out[k, 0] = distance
        for i in range(3):
            out[k, 1 + i] = n[i]
        out[k, 4] = u
