"""How the strands move: settling, swing, curl, sag, lag, overshoot, swings and length error of a Trace.

A figure for several chains is made from the chains in the trace; `trace.select(chains)` gives the figure of one strand.
A measure that needs a body at rest at the end gives None where the body still moves.
"""

from __future__ import annotations

import numpy as np

from .trace import Trace

VISIBLE = 0.002  # metres: a swing that a person would still count, at the distance of a portrait
LONG = 0.8  # share of the longest length from which a chain counts as long; chosen so that both of two twin tails do


def swing(trace: Trace) -> float:
    """Millimetres: root mean square of the tips' distance, in the head's frame, from where they come to rest, while the
    body moves.

    A strand that sags by so much is not one that swings by so much: `sag` tells the one, this the other. Where the body
    never stands still, there is no such place and the distance from the rigid strand is taken. Chains of three segments
    or more count, all the same: bangs of one or two stiff links would only water the figure down. Where no chain has
    three, all count. A body that never moves is read over the whole run.
    """
    moving = trace.moving()
    samples = moving if moving.any() else np.ones_like(moving)
    tips = trace.deviation[:, trace.tips[strands(trace)]]
    late = _late(trace, 2.0)
    rest = tips[late].mean(axis=0) if late is not None else 0.0
    off = np.linalg.norm(tips[samples] - rest, axis=-1)
    return 1e3 * float(np.sqrt(np.mean(off**2)))


def settle(trace: Trace, seconds: float = 2.0) -> float | None:
    """Millimetres: the largest movement of any end point between two samples within the last `seconds`."""
    late = _late(trace, seconds)
    if late is None:
        return None
    steps = np.linalg.norm(np.diff(trace.positions[late], axis=0), axis=-1)
    return 1e3 * float(steps.max())


def sag(trace: Trace) -> float | None:
    """Millimetres: root mean square distance of all end points from the authored rest, in the last sample."""
    if _late(trace, 2.0) is None:
        return None
    return 1e3 * float(np.sqrt(np.mean(np.sum(trace.deviation[-1] ** 2, axis=-1))))


def curl(trace: Trace) -> float | None:
    """Degrees, of the chain that curls most: the 95th percentile over the run of how far the angle between its first
    and its last link exceeds the angle that they have at rest. None where no chain has two segments."""
    excess = _curl_excess(trace)
    if excess is None:
        return None
    return max(0.0, float(np.percentile(excess, 95.0, axis=0).max()))


def curl_rest(trace: Trace) -> float | None:
    """Degrees, of the chain that is curled most in the last sample: how far that angle exceeds its rest value."""
    excess = _curl_excess(trace)
    if excess is None or _late(trace, 2.0) is None:
        return None
    return max(0.0, float(excess[-1].max()))


def lag(trace: Trace, hertz: float = 1.0, skip: float = 2.0) -> list[float] | None:
    """[root, middle, tip] degrees by which the strand follows behind the rigid strand, in a run that shakes at `hertz`.

    A least-squares fit of the first harmonic to the world path of an end point and of its rigid twin gives two complex
    amplitudes per axis; the lag is the phase between them. Root is a chain's first end point, middle the one at half
    its count, tip the last. The first `skip` seconds are left out, and of the rest as many whole periods are read as
    fit. Long chains count (`long_chains`), each by the size of its movement. A tip may lag by more than half a period:
    each place's lag is taken within half a period of the place above. None where those chains have fewer than three
    segments, or nothing moves.
    """
    chosen = long_chains(trace)
    if trace.spans[chosen, 1].max() < 3:
        return None
    start = trace.t[0] + skip
    periods = np.floor((trace.t[-1] - start) * hertz + 1e-9)
    if periods < 1:
        raise ValueError(
            f"lag: {trace.t[-1] - trace.t[0]:.2f} s with the first {skip:.2f} s left out hold no period of "
            f"{1 / hertz:.2f} s"
        )
    # Half-open, so that no phase of the last period is read twice.
    read = (trace.t > trace.t[-1] - periods / hertz + 1e-9) & (trace.t <= trace.t[-1])
    result = []
    for place in range(3):
        points = [_place(trace.spans[c], place) for c in chosen]
        hair = first_harmonic(trace.t[read], trace.positions[np.ix_(read, points)], hertz)
        rigid = first_harmonic(trace.t[read], trace.carried[np.ix_(read, points)], hertz)
        between = np.sum(rigid * np.conj(hair))
        if np.abs(between) < 1e-12:  # square metres: a millionth of a metre each; nothing moves at this frequency
            return None
        result.append(np.angle(between))
    return [float(degrees) for degrees in np.degrees(np.unwrap(result))]


def first_harmonic(t: np.ndarray, values: np.ndarray, hertz: float) -> np.ndarray:
    """Complex amplitudes Z (...) of values (T, ...) so that they are close to mean + Re(Z exp(i 2 pi hertz t))."""
    phase = 2.0 * np.pi * hertz * np.asarray(t)
    design = np.stack([np.ones_like(phase), np.cos(phase), np.sin(phase)], axis=1)
    fit = np.linalg.lstsq(design, values.reshape(len(t), -1), rcond=None)[0]
    return (fit[1] - 1j * fit[2]).reshape(values.shape[1:])


def after_stop(trace: Trace) -> tuple[float, int] | None:
    """(overshoot, swings) of a run whose body turns once and stops.

    Of a tip, the deviation from the rigid strand is read along the direction that it has where it is largest: the peak
    of the lag. Overshoot is how far the first swing after it goes past rest, in percent of the peak. Swings counts how
    often the tip goes past rest by more than 2 mm after the peak, to either side. Of several long chains
    (`long_chains`) the overshoot is the sum over the sum of peaks, and the swings are those of the chain with most.
    None where no tip ever lags by 2 mm or the body never stops.
    """
    if trace.moving()[-1]:
        return None
    peaks, pasts, counts = [], [], []
    for chain in long_chains(trace):
        path = trace.deviation[:, trace.tips[chain]]
        size = np.linalg.norm(path, axis=-1)
        top = int(np.argmax(size))
        if size[top] <= VISIBLE:
            continue
        along = path[top:] @ path[top] / size[top]
        extremes = excursions(along)[1:]
        peaks.append(size[top])
        pasts.append(abs(extremes[0]) if len(extremes) else 0.0)
        counts.append(int(np.sum(np.abs(extremes) > VISIBLE)))
    if not peaks:
        return None
    return 100.0 * float(sum(pasts) / sum(peaks)), max(counts)


def excursions(signal: np.ndarray) -> np.ndarray:
    """(K,) the extreme value of each stretch of a signal (T,) between changes of sign, in order; zeros belong to the
    stretch before them."""
    sign = np.sign(signal)
    for i in range(1, len(sign)):
        if sign[i] == 0.0:
            sign[i] = sign[i - 1]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(sign)) + 1])
    parts = np.split(np.asarray(signal, dtype=np.float64), starts[1:])
    return np.array([part[np.argmax(np.abs(part))] for part in parts])


def length_error(trace: Trace) -> float:
    """Largest relative difference of a segment's length from its length at rest, over all samples. Segments without
    length are left out."""
    rest = np.linalg.norm(trace.carried_links(), axis=-1)
    long = np.all(rest > 1e-9, axis=0)
    if not long.any():
        return 0.0
    now = np.linalg.norm(trace.links(), axis=-1)
    return float(np.max(np.abs(now[:, long] / rest[:, long] - 1.0)))


def strands(trace: Trace) -> np.ndarray:
    """Chains of three segments or more; all where there is none."""
    several = np.flatnonzero(trace.spans[:, 1] >= 3)
    return several if len(several) else np.arange(len(trace.spans))


def long_chains(trace: Trace) -> np.ndarray:
    """Of `strands`, those at least 0.8 times as long as the longest: the ones that an eye follows through a turn. The
    choice depends on the rig alone, so that all solvers are read on the same hair."""
    among = strands(trace)
    return among[trace.lengths[among] >= LONG * trace.lengths[among].max()]


def _place(span: np.ndarray, place: int) -> int:
    first, count = span
    return int(first + (0, count // 2, count - 1)[place])


def _late(trace: Trace, seconds: float) -> np.ndarray | None:
    """(T,) samples of the last `seconds`; None where the body moves in them."""
    late = trace.t >= trace.t[-1] - seconds - 1e-9
    return None if trace.moving()[late][1:].any() or late.sum() < 2 else late


def _curl_excess(trace: Trace) -> np.ndarray | None:
    """(T, chains of two segments or more) degrees."""
    several = trace.spans[:, 1] >= 2
    if not several.any():
        return None
    first, last = trace.spans[several, 0], trace.tips[several]
    links, rest = trace.links(), trace.carried_links()
    return np.degrees(angle(links[:, first], links[:, last]) - angle(rest[:, first], rest[:, last]))


def angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Radians (...) between vectors (..., 3), exact for small angles too; 0 where one of them has no length."""
    return np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1))
