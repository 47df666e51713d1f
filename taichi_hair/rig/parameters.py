"""From a file's spring settings to the numbers of the arc and rod laws, by one rule for all chains.

What an artist set with stiffness and drag is how far the strand trails behind its head. A link of a VRM spring bone
that is carried at speed v and acceleration a bends by `(drag v + a / 60) / stiffness` radians whatever its length, so
the tip trails by `trail` seconds times the speed. Both laws take their frequency from it. Slow strands get a floor,
because no hair swings slower than it hangs, and short locks, which trail little, are stiffer than their trail says,
because they bend their mesh in one or two places. The constants marked "chosen" are settled in docs/parameters.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..avatar.skeleton import Skeleton
from ..hair import ArcParameters, Chain, RodParameters

EARTH = 9.81  # m/s^2
INERTIA = 0.1  # share of the speed that the acceleration adds at 1 Hz: 2 pi / 60 updates
SOFTEST = 0.01  # a stiffness below this counts as this, so that a chain without any still has a shape
LEAST_TRAIL = 1e-4  # s
SHORT = 0.055  # s, chosen: locks that trail less than this are stiffened, for they pay most stretch per swing

# Rod: frequency^2 = floor^2 + (rate (1 + (short / trail)^2))^2 / trail.
ROD_FLOOR = 0.32  # Hz, chosen
ROD_RATE = 0.44  # sqrt(Hz), chosen: the ponytail and the twin tails swing about as wide as their spring bones
ROD_HIGHEST = 10.0  # Hz, a link above that is rigid to the eye
ROD_DAMPING = 0.4  # chosen: two or three swings after a stop
ROD_DECAY = 1.68  # 1/s, least damping ratio times angular frequency: still to the micrometre within 6 s
ROD_AIR = 0.82  # chosen
ROD_AIR_TIP = 0.0  # chosen
ROD_SOFTNESS = 1.75  # chosen; with 2 a uniform load bends all joints alike
ROD_ROOT_SHARE = 0.05  # chosen; a tenth loads the root
ROD_REACH = 1.4  # tip displacement under a uniform load, in units of load / angular frequency^2; 1.27 to 1.40 for J > 2

# Arc: k = floor + ((1 + (short / trail)^2) 2 damping J / trail)^2, spread over the links.
ARC_FLOOR = 300.0  # 1/s^2, chosen
ARC_HIGHEST = 8000.0  # 1/s^2, 14 Hz: an eighth of where a tick of 1/120 s turns unstable
ARC_DAMPING = 0.8  # chosen: calmer than the rod, for with less of it neighbouring links swing against each other
ARC_MOST_DAMPING = 60.0  # 1/s: half of a tick's speed; a faster decay than that only makes the strand late
ARC_SPREAD = 0.4  # chosen: part of the way from one k for all links (0) to the even bends of a spring bone (1)

DROOP = 0.7  # chosen: share of a small tilt by which a strand of no stated gravity falls back toward the vertical


def segment_lengths(chain: Chain, skeleton: Skeleton) -> np.ndarray:
    """(J,) metres in the rest pose."""
    world = skeleton.rest_world[chain.joints]
    return np.linalg.norm(np.einsum("jik,jk->ji", world[:, :3, :3], chain.tails), axis=1)


def trail(chain: Chain, lengths: np.ndarray) -> float:
    """Seconds by which the tip of the chain's spring bone trails: tip displacement per speed of the head."""
    to_tip = np.cumsum(lengths[::-1])[::-1]
    bend = np.hypot(np.clip(chain.drag, 0.0, 1.0), INERTIA) / np.maximum(chain.stiffness, SOFTEST)
    return max(float(np.sum(to_tip * bend)), LEAST_TRAIL)


def relative_stiffness(chain: Chain) -> np.ndarray:
    """(J,) stiffness over its mean along the chain, within 1/16 and 16."""
    stiffness = np.maximum(chain.stiffness, SOFTEST)
    return np.clip(stiffness / stiffness.mean(), 1.0 / 16.0, 16.0)


def gravity(chain: Chain, most: float) -> np.ndarray:
    """(3,) m/s^2 of the laws: the earth's, or as much as lets the strand fall back by a share of a tilt.

    `most` is the gravity under which it would fall back the whole way; a soft strand under the earth's would fall
    beyond the vertical. The more gravity the file states against stiffness, the larger the share; its direction is
    kept.
    """
    power = np.maximum(chain.gravity_power, 0.0)
    toward = power @ chain.gravity_dir
    size = np.linalg.norm(toward)
    toward = toward / size if size > 1e-9 else np.array([0.0, -1.0, 0.0])
    ratio = power.mean() / max(float(chain.stiffness.mean()), SOFTEST)
    share = (DROOP + ratio) / (1.0 + ratio)
    return min(EARTH, share * most) * toward


def arc_parameters(chain: Chain, skeleton: Skeleton) -> ArcParameters:
    """Numbers of the arc law for a chain: `chain.arc` where it states them, else derived from its spring settings."""
    if chain.arc is not None:
        return chain.arc
    lengths = segment_lengths(chain, skeleton)
    count = len(chain)
    late = trail(chain, lengths)
    rate = (1.0 + (SHORT / late) ** 2) * 2.0 * ARC_DAMPING * count / late
    level = min(ARC_FLOOR + rate**2, ARC_HIGHEST)
    # A spring bone's links add up their bends, 1 / stiffness each; the tip's displacement stays that of one common k.
    soft = np.cumsum(1.0 / relative_stiffness(chain)) ** ARC_SPREAD
    stiffness = np.minimum(level * soft.mean() / soft, ARC_HIGHEST)
    return ArcParameters(
        stiffness=stiffness,
        damping=np.minimum(2.0 * ARC_DAMPING * np.sqrt(stiffness), ARC_MOST_DAMPING),
        follow=np.zeros(count),
        gravity=gravity(chain, level * lengths.mean()),
    )


def rod_parameters(chain: Chain, skeleton: Skeleton) -> RodParameters:
    """Numbers of the rod law for a chain: `chain.rod` where it states them, else derived from its spring settings."""
    if chain.rod is not None:
        return chain.rod
    lengths = segment_lengths(chain, skeleton)
    late = trail(chain, lengths)
    rate = ROD_RATE * (1.0 + (SHORT / late) ** 2)
    frequency = min(float(np.sqrt(ROD_FLOOR**2 + rate**2 / late)), ROD_HIGHEST)
    w = 2.0 * np.pi * frequency
    return RodParameters(
        frequency=frequency,
        damping=max(ROD_DAMPING, ROD_DECAY / w),
        air=ROD_AIR,
        air_tip=ROD_AIR_TIP,
        softness=ROD_SOFTNESS,
        root_share=ROD_ROOT_SHARE,
        profile=np.sqrt(relative_stiffness(chain)),
        gravity=gravity(chain, w * w * float(lengths.sum()) / ROD_REACH),
    )


def at_frequency(rod: RodParameters, frequency: float) -> RodParameters:
    """The rod at another frequency in Hz. Gravity goes with its square, up to the earth's, so that a tilted strand
    falls back by the same share."""
    size = float(np.linalg.norm(rod.gravity))
    scale = min((frequency / rod.frequency) ** 2, max(EARTH, size) / max(size, 1e-9))
    return replace(rod, frequency=frequency, gravity=scale * rod.gravity)
