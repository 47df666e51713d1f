"""Members play clips on the device: own phase, speed and time, and the same bits whatever the neighbours do."""

from __future__ import annotations

import numpy as np
import pytest
from rigs import strand

from taichi_hair import rotations
from taichi_hair.measure.bench_rig import Turning, bench_avatar
from taichi_hair.motion.turn import HeadTurn
from taichi_hair.sim.crowd import Crowd

AVATAR = bench_avatar(3, 4, 0)
MOTION = Turning(AVATAR)


class Endless:
    """The same motion, that does not say what follows its end: the host asks it tick by tick."""

    name, seconds = "endless", 2.0

    def worlds(self, times: np.ndarray) -> np.ndarray:
        return MOTION.worlds(times)


def played(frames: int, fps: float, before=lambda crowd, member, frame: None, **options):
    crowd = Crowd("rod", contact="off")
    member = crowd.add(AVATAR, motion=MOTION, **{"phase": 0.3, "speed": 0.7, **options})
    for frame in range(frames):
        before(crowd, member, frame)
        crowd.advance(1.0 / fps)
    return crowd.positions(member)


def test_a_clip_on_the_device_is_the_motion_that_the_host_plays():
    device, host = Crowd("rod", contact="off"), Crowd("rod", contact="off")
    a, b = device.add(AVATAR, motion=MOTION), host.add(AVATAR, motion=Endless())
    for _ in range(150):
        device.advance(1 / 60)
        host.advance(1 / 60)
    assert device.positions(a).tobytes() == host.positions(b).tobytes()
    assert np.abs(device.body(a[0]) - host.body(b[0])).max() < 1e-12


def test_phase_and_speed_are_those_of_the_motion():
    crowd = Crowd("rod", contact="off")
    ids = crowd.add(AVATAR, count=2, motion=MOTION, phase=[0.25, 0.0], speed=[1.0, 0.5])
    for _ in range(60):
        crowd.advance(1 / 60)
    for member, at in zip(ids, (1.25, 0.5), strict=True):
        assert np.abs(crowd.body(member) - MOTION.worlds(np.array([at]))[0]).max() < 1e-9
    with pytest.raises(ValueError, match="speed"):
        crowd.add(AVATAR, motion=MOTION, speed=9.0)


@pytest.mark.parametrize("fps", [24, 30, 144])
def test_a_member_at_another_speed_has_the_same_bits_at_every_frame_rate(fps):
    assert played(2 * fps, fps).tobytes() == played(120, 60).tobytes()


def test_slow_and_fast_motion_are_the_same_ticks():
    def scaled(scale):
        return lambda crowd, member, frame: crowd.set_time_scale(member, scale) if frame == 0 else None

    normal = played(120, 60).tobytes()
    assert played(240, 60, scaled(0.5)).tobytes() == normal
    assert played(30, 60, scaled(4.0)).tobytes() == normal


def test_a_pause_takes_nothing_away():
    def paused(crowd, member, frame):
        if frame in (40, 90):
            (crowd.pause if frame == 40 else crowd.resume)(member)

    assert played(170, 60, paused).tobytes() == played(120, 60).tobytes()


def test_neighbours_in_fast_motion_do_not_change_a_member():
    def crowded(crowd, member, frame):
        if frame == 0:
            others = crowd.add(AVATAR, count=3, motion=MOTION, at=[5.0, 0.0, 1.0])
            crowd.set_time_scale(others[0], 2.5)
            crowd.set_time_scale(others[1], 0.3)

    assert played(120, 60, crowded).tobytes() == played(120, 60).tobytes()


def test_a_new_clip_carries_the_hair_over_rigidly():
    crowd = Crowd("rod", contact="off")
    member = int(crowd.add(AVATAR, motion=MOTION, phase=0.5)[0])
    for _ in range(60):
        crowd.advance(1 / 60)

    def in_head():
        head = crowd.body(member)[3]
        return (crowd.positions(member)[0] - head[:3, 3]) @ head[:3, :3]

    before = in_head()
    crowd.play(member, HeadTurn(AVATAR))
    crowd.advance(1 / 120)
    assert np.abs(in_head() - before).max() < 5e-3
    for _ in range(120):
        crowd.advance(1 / 60)
    assert np.isfinite(crowd.positions(member)).all()


def test_driven_after_playing_goes_on_from_the_same_place():
    crowd = Crowd("rod", contact="off")
    member = int(crowd.add(AVATAR, motion=MOTION)[0])
    for _ in range(30):
        crowd.advance(1 / 60)
    before = crowd.positions(member)
    crowd.drive(member, MOTION.worlds(np.array([0.5]))[0])
    assert crowd.positions(member).tobytes() == before.tobytes()
    crowd.advance(1 / 60)
    assert np.abs(crowd.positions(member) - before).max() < 0.03


def test_a_turned_placement_turns_what_is_played():
    place = np.eye(4)
    place[:3, :3] = 2.0 * rotations.to_matrix(rotations.from_axis_angle([0, 1, 0], 0.9))
    place[:3, 3] = [3.0, 0.5, -2.0]
    crowd = Crowd("spring-bone", contact="off")
    still = strand(gravity_power=np.zeros(4))
    plain, placed = crowd.add(still, count=2, at=np.stack([np.eye(4), place]))
    rest = crowd.positions(plain)[0]
    for _ in range(10):
        crowd.advance(1 / 60)
    assert np.abs(crowd.positions(placed)[0] - (rest @ place[:3, :3].T + place[:3, 3])).max() < 1e-5


def test_what_nobody_sees_rests_and_comes_back_as_it_was():
    crowd = Crowd("rod", contact="off")
    member = crowd.add(AVATAR, motion=MOTION)
    for _ in range(30):
        crowd.advance(1 / 60)
    hidden = crowd.positions(member)[0] - crowd.roots(member)[0].mean(axis=0)
    crowd.set_visible(member, False)
    for _ in range(77):
        crowd.advance(1 / 60)
    crowd.set_visible(member, True)
    crowd.advance(1 / 120)
    lengths = np.linalg.norm(np.diff(crowd.positions(member)[0].reshape(3, 4, 3), axis=1), axis=2)
    before = np.linalg.norm(np.diff(hidden.reshape(3, 4, 3), axis=1), axis=2)
    assert np.abs(lengths - before).max() < 1e-6
    steps = []
    for _ in range(60):
        last = crowd.positions(member)
        crowd.advance(1 / 60)
        steps.append(np.abs(crowd.positions(member) - last).max())
    assert max(steps[:5]) < 2.0 * max(steps[20:])


def test_levels_change_without_a_jump_and_half_the_ticks_are_nearly_the_same():
    crowd = Crowd("rod", contact="off")
    places = np.zeros((3, 3))
    places[:, 2] = [0.0, 30.0, 90.0]
    ids = crowd.add(AVATAR, count=3, motion=MOTION, at=places)
    for _ in range(60):
        crowd.advance(1 / 60)
    normal = np.abs(np.diff([crowd.positions(ids), (crowd.advance(1 / 60), crowd.positions(ids))[1]], axis=0)).max()
    crowd.look_from([0.0, 0.0, 0.0])
    assert crowd.levels(ids) == ["full", "half", "frozen"]
    before = crowd.positions(ids)
    crowd.advance(1 / 60)
    assert np.abs(crowd.positions(ids) - before).max() < 2.0 * normal
    worst = 0.0
    for _ in range(120):
        crowd.advance(1 / 60)
        now = crowd.positions(ids) - places[:, None]
        worst = max(worst, np.abs(now[1] - now[0]).max())
    assert worst < 0.02
    crowd.set_level(ids, "culled")
    crowd.set_level(ids, "frozen")
    crowd.set_level(ids, "full")
    crowd.advance(1 / 60)
    with pytest.raises(ValueError, match="level"):
        crowd.set_level(ids, "blurred")
