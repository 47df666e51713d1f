"""rod: the constants of the two-way rod, factored once per chain on the host in float64.

Energy of the deviation p from the carried rest shape, with link deviations delta_i = (p_i - p_{i-1}) / L_i:
E = 1/2 sum B_i |delta_i - delta_{i-1}|^2 + 1/2 A mean(B) sum |delta_i|^2 = 1/2 p^T K p, the same K for x, y and z.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...hair import RodParameters

SHORTEST_LINK = 0.05  # of the mean link; a shorter one counts as this long in K, since delta divides by it


@dataclass(frozen=True, eq=False)
class RodFactors:
    """S = 1 + (h^2 + beta h) K = L diag(1 / pivot) L^T with two sub-diagonals, per joint."""

    keep: np.ndarray  # (J,) exp(-alpha_i h)
    pivot: np.ndarray  # (J,)
    lower1: np.ndarray  # (J,)
    lower2: np.ndarray  # (J,)
    memory: float  # beta / (h + beta)


def stiffness_matrix(parameters: RodParameters, lengths: np.ndarray) -> np.ndarray:
    """(J, J) K in 1/s^2, scaled so that its lowest eigenvalue is (2 pi f)^2."""
    lengths = np.maximum(lengths, SHORTEST_LINK * max(float(np.mean(lengths)), 1e-12))
    n = len(lengths)
    to_tip = np.cumsum(lengths[::-1])[::-1] / np.sum(lengths)
    bending = np.asarray(parameters.profile, dtype=np.float64) * to_tip**parameters.softness
    link = (np.eye(n) - np.eye(n, k=-1)) / lengths[:, None]
    bend = link.copy()
    bend[1:] -= link[:-1]
    k = bend.T @ (bending[:, None] * bend) + parameters.root_share * np.mean(bending) * (link.T @ link)
    return k * ((2.0 * np.pi * parameters.frequency) ** 2 / np.linalg.eigvalsh(k)[0])


def factors(parameters: RodParameters, lengths: np.ndarray, h: float) -> RodFactors:
    """Constants of one chain for ticks of h seconds."""
    w = 2.0 * np.pi * parameters.frequency
    beta = 2.0 * parameters.damping * (1.0 - parameters.air) / w
    along = np.cumsum(lengths) / max(float(np.sum(lengths)), 1e-12)
    alpha = 2.0 * parameters.damping * parameters.air * w * along**parameters.air_tip
    n = len(lengths)
    s = np.eye(n) + (h * h + beta * h) * stiffness_matrix(parameters, lengths)
    d, lower1, lower2 = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(n):
        if i > 1:
            lower2[i] = s[i, i - 2] / d[i - 2]
        if i > 0:
            lower1[i] = (s[i, i - 1] - (lower2[i] * d[i - 2] * lower1[i - 1] if i > 1 else 0.0)) / d[i - 1]
        d[i] = s[i, i]
        if i > 0:
            d[i] -= lower1[i] ** 2 * d[i - 1]
        if i > 1:
            d[i] -= lower2[i] ** 2 * d[i - 2]
    return RodFactors(np.exp(-alpha * h), 1.0 / d, lower1, lower2, beta / (h + beta))
