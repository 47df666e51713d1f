"""mass-spring: point masses at the end points, a spring from each to where it belongs below the one above.

The spring of a link pulls its end point towards the joint above plus the rest vector, and that joint back by the same
force: it bends and stretches at once, and along the link it is STRETCH times as strong. All masses are 1 and all
springs of a strand alike, k = (2 pi f)^2 m / lambda, where lambda is the lowest eigenvalue of n masses that hang on
unit springs from a fixed root: so the strand as a whole, not each link, swings at f. What damps is the air, by
exp(-2 zeta 2 pi f h).

The trap that everyone meets: k alone goes up, the tip begins to buzz. The damping ratio that a strand is given at k is
zeta sqrt(k / k') at a stiffer k', so stiffness must take damping with it. And an explicit tick has a limit: the step
v' = e (v - h w^2 x), x' = x + h v' of a mode w has determinant e and trace 1 + e - e h^2 w^2, and its eigenvalues are
inside the unit circle only while e h^2 w^2 < 2 (1 + e). `stiffest` solves that for the fastest mode of the strand.
"""

from __future__ import annotations

import logging

import numpy as np

log = logging.getLogger("taichi_hair")

FREQUENCY = 1.2  # Hz: what slow motion of real ponytails shows
DAMPING = 0.35  # ratio: two or three swings before nine tenths are gone
STRETCH = 2.0  # lengths are made exact after the springs; this only says how hard a jerk pulls along the strand
MARGIN = 0.8  # of the stability limit


def unit_springs(count: int, stretch: float = 1.0) -> np.ndarray:
    """(J, J) stiffness of `count` masses on springs of stiffness `stretch`, each tied to the one above."""
    link = np.eye(count) - np.eye(count, k=-1)
    return stretch * (link.T @ link)


def stiffest(count: int, keep: float, h: float) -> float:
    """Largest k, 1/s^2, for which every mode of `count` masses is stable; a tick of h keeps `keep` of a velocity."""
    fastest = float(np.linalg.eigvalsh(unit_springs(count, STRETCH))[-1])
    return 2.0 * (1.0 + keep) / (keep * h * h * fastest)


def springs(count: int, h: float, *, frequency: float = FREQUENCY, damping: float = DAMPING) -> tuple[float, float]:
    """(k in 1/s^2, share of the velocity that a tick keeps) of a strand of `count` masses, within what is stable."""
    w = 2.0 * np.pi * frequency
    keep = float(np.exp(-2.0 * damping * w * h))
    k = w * w / float(np.linalg.eigvalsh(unit_springs(count))[0])
    limit = MARGIN * stiffest(count, keep, h)
    if k > limit:
        log.warning(
            "mass-spring: %g Hz needs k = %.0f with %d masses, held at the stable %.0f", frequency, k, count, limit
        )
    return min(k, limit), keep
