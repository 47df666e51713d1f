"""Quick launches run the same kernel as a plain call, for each set of fields and constants."""

import numpy as np

from taichi_hair.sim.backend import current, ti
from taichi_hair.sim.quick import launch


@ti.kernel
def _fill(field: ti.template(), count: ti.i32, value: ti.f32, twice: ti.template()):
    for k in range(count):
        field[k] = value * (2.0 if twice else 1.0) + ti.cast(k, ti.f32)


def test_numbers_and_fields_reach_the_kernel_as_in_a_plain_call():
    current()
    quick, plain = ti.field(ti.f32, 8), ti.field(ti.f32, 8)
    for count, value, twice in ((8, 0.5, False), (8, 1.5, False), (3, -2.0, True), (5, np.float64(0.1), False)):
        launch(_fill, quick, count, value, twice)
        _fill(plain, count, value, twice)
        assert quick.to_numpy().tobytes() == plain.to_numpy().tobytes()


def test_each_field_gets_a_kernel_of_its_own():
    current()
    first, second = ti.field(ti.f32, 4), ti.field(ti.f32, 4)
    launch(_fill, first, 4, 1.0, False)
    launch(_fill, second, 4, 5.0, False)
    launch(_fill, first, 4, 2.0, False)
    assert first.to_numpy().tolist() == [2.0, 3.0, 4.0, 5.0]
    assert second.to_numpy().tolist() == [5.0, 6.0, 7.0, 8.0]
