"""Roster: no holes, the right columns under every key, and only what changed goes up."""

from __future__ import annotations

import numpy as np
import pytest

from taichi_hair.sim.roster import Roster


def test_random_coming_and_going_leaves_exactly_what_is_there():
    rng = np.random.default_rng(3)
    roster, held, device = Roster(2), {}, np.zeros((2, 4096), dtype=np.int64)

    def send(values, columns):
        device[:, columns] = values

    for step in range(600):
        if held and rng.random() < 0.45:
            key = int(rng.choice(list(held)))
            roster.remove(key)
            del held[key]
        else:
            held[step] = np.full((2, rng.integers(1, 6)), step)
            roster.add(step, held[step])
        roster.upload(send, step % 50 == 0)
        assert roster.count == sum(v.shape[1] for v in held.values())
        found = np.sort(device[0, : roster.count])
        assert np.array_equal(found, np.sort(np.concatenate([v[0] for v in held.values()] or [np.zeros(0)])))
    assert all(key in roster for key in held)


def test_a_key_is_listed_once():
    roster = Roster(1)
    roster.add(1, np.array([[4]]))
    with pytest.raises(KeyError, match="already listed"):
        roster.add(1, np.array([[5]]))


def test_nothing_changed_nothing_sent():
    roster, sent = Roster(1), []
    roster.add(1, np.array([[4, 5]]))
    roster.upload(lambda values, columns: sent.append(values), False)
    roster.upload(lambda values, columns: sent.append(values), False)
    assert [v.tolist() for v in sent] == [[[4, 5]]]
