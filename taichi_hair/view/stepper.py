"""CrowdStepper: one avatar of a crowd as the window wants it: step, restart, another solver."""

from __future__ import annotations

import numpy as np

from ..avatar.avatar import Avatar
from ..motion.body import Motion
from ..sim.crowd import Crowd
from ..sim.settling import settle_into


class CrowdStepper:
    """Plays a motion again and again: one that goes round as it does, one that ends anew with hair at rest."""

    def __init__(self, avatar: Avatar, motion: Motion, solver: str = "rod") -> None:
        self.avatar, self.motion = avatar, motion
        self._round = getattr(motion, "loop", None) is True
        self.set_solver(solver)

    def set_solver(self, name: str) -> None:
        """Another solver, from the start of the motion."""
        self._crowd = Crowd(solver=name)
        self._id = int(self._crowd.add(self.avatar, motion=self.motion)[0])
        settle_into(self._crowd, self._id, self.motion)

    def restart(self) -> None:
        """Back to the start of the motion, with hair at rest."""
        self._crowd.reset(self._id)
        settle_into(self._crowd, self._id, self.motion)

    def step(self, dt: float) -> np.ndarray:
        """(1, N, 4, 4) world matrices dt seconds later."""
        if not self._round and self._crowd.elapsed(self._id) + dt >= self.motion.seconds:
            self.restart()
        self._crowd.advance(dt)
        return self._crowd.pose(self._id)[None]
