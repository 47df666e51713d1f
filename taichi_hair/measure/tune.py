"""tune_profile(): the rod's stiffness profile searched for least stretch of the mesh, and checked where it was not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..avatar.description import Avatar
from ..hair import Chain, HairRig
from ..motion.carried import carry
from ..motion.turn import MOTIONS, carrying_node
from ..rig.fitted import owner
from ..rig.parameters import ROD_DECAY, at_frequency, rod_parameters
from ..sim.crowd import Crowd
from ..sim.pose import apply_hair
from .stretch import Blend, moved_nodes, unique_edges
from .trace import Trace, rigid_hair

SEEN = ("turn", "nod", "sideways")
UNSEEN = ("run", "stop")
SECONDS = 5.0  # of each motion: all of its movement and the first second after it
RATE = 15  # samples a second while searching
EDGES = 4000  # of the mesh that are looked at while searching, the longest ones of the most bent parts left to chance
LEAST_SWING = 5.0  # mm: a motion that moves the strand less says nothing about it
KEEP_SWING = 0.97  # of the first swing; a profile that swings less pays for it
SOFTEST, STIFFEST = 0.2, 5.0  # bounds of the profile against its start: a kink is no profile
SLOWEST, FASTEST = 0.6, 1.4  # bounds of the frequency against its start, where a swing is wanted
CALMEST, DRAGGED = 1.0, 2.0  # most damping, and most air drag of the tip over the root
MARGIN = 0.015  # the search aims so much beyond the swing that is wanted
PACES = (0.12, 0.2, 0.1, 0.3)  # first steps of log frequency, log damping, air, and air drag of the tip
NARROW = 10.0  # what a share of the swing that is missing costs, as a factor


@dataclass(frozen=True)
class Figure:
    """One chain in one motion."""

    swing_mm: float
    p99: float  # percent
    worst: float  # percent
    per_100mm: float  # p99 per 100 mm of swing


@dataclass(frozen=True, eq=False)
class Tuning:
    """The tuned rig and what it was measured by: figures per motion, for each chain in the order of `chains`."""

    rig: HairRig
    chains: tuple[int, ...]
    seen: tuple[str, ...]
    unseen: tuple[str, ...]
    before: dict[str, list[Figure]]
    after: dict[str, list[Figure]]
    evaluations: int = 0
    kept: tuple[bool, ...] = field(default=())  # per chain: False where the motions not seen spoke against the search

    def mean(self, which: str, motions: Sequence[str]) -> float:
        """Mean stretch per 100 mm over motions and chains, of "before" or "after"."""
        rows = [f.per_100mm for m in motions for f in getattr(self, which).get(m, []) if f.swing_mm >= LEAST_SWING]
        return float(np.mean(rows)) if rows else 0.0


class ChainMesh:
    """Edges of the skinned mesh, each belonging to the chain that moves its ends most."""

    def __init__(self, avatar: Avatar, rig: HairRig, chains: Sequence[int], most: int = EDGES, seed: int = 0):
        nodes = np.full(len(avatar.skeleton), -1)
        for k, c in enumerate(chains):
            nodes[rig.chains[c].joints] = k
        moved = moved_nodes(avatar, np.concatenate([rig.chains[c].joints for c in chains]))
        self.pieces = []
        random = np.random.default_rng(seed)
        for part in avatar.parts:
            skin = avatar.skins[part.skin]
            own = nodes[np.asarray(skin.joints)][part.joints]
            share = np.stack([(part.weights * (own == k)).sum(axis=1) for k in range(len(chains))], axis=1)
            touched = np.any((part.weights > 0) & moved[np.asarray(skin.joints)][part.joints], axis=1)
            edges = unique_edges(part.triangles)
            edges = edges[touched[edges].any(axis=1)]
            if not len(edges):
                continue
            if len(edges) > most:
                edges = edges[np.sort(random.choice(len(edges), most, replace=False))]
            belongs = np.argmax(share[edges].sum(axis=1), axis=1)
            vertices, compact = np.unique(edges, return_inverse=True)
            blend, compact = Blend(part, skin, vertices), compact.reshape(-1, 2)
            at = blend.positions(avatar.skeleton.rest_world)
            rest = np.linalg.norm(at[compact[:, 0]] - at[compact[:, 1]], axis=1)
            long = rest > 1e-6
            self.pieces.append((blend, compact[long], rest[long], belongs[long]))
        self.count = len(chains)

    def figures(self, poses: np.ndarray, swings: np.ndarray) -> list[Figure]:
        """Per chain, over poses (T, N, 4, 4)."""
        largest = []
        for blend, edges, rest, _ in self.pieces:
            most = np.zeros(len(edges))
            for worlds in poses:
                at = blend.positions(worlds)
                np.maximum(most, np.linalg.norm(at[edges[:, 0]] - at[edges[:, 1]], axis=1) / rest, out=most)
            largest.append(most)
        ratio = np.concatenate(largest) if largest else np.zeros(0)
        belongs = np.concatenate([p[3] for p in self.pieces]) if self.pieces else np.zeros(0, dtype=int)
        found = []
        for k in range(self.count):
            mine = ratio[belongs == k]
            p99 = 100.0 * float(np.percentile(mine, 99.0) - 1.0) if len(mine) else 0.0
            worst = 100.0 * float(mine.max() - 1.0) if len(mine) else 0.0
            found.append(Figure(float(swings[k]), p99, worst, 100.0 * p99 / max(float(swings[k]), 1e-6)))
        return found


def play(
    avatar: Avatar,
    rigs: Sequence[HairRig],
    motions: Sequence[str],
    rate: int = RATE,
    solver: str = "rod",
    contact: bool = False,
):
    """Every rig in every motion, in one crowd: {motion: [(poses (T, N, 4, 4), swings) per rig]}."""
    crowd, members, kinds = Crowd(solver=solver, contact=None if contact else "off"), {}, {}
    for name in motions:
        kinds[name] = carry(MOTIONS[name](avatar, seconds=SECONDS), avatar.skeleton)
        members[name] = [int(crowd.add(avatar, rig, motion=kinds[name])[0]) for rig in rigs]
    count = round(SECONDS * rate) + 1
    t = np.arange(count) / rate
    positions = {m: [] for row in members.values() for m in row}
    roots = {m: [] for m in positions}
    for sample in range(count):
        if sample:
            crowd.advance(1.0 / rate)
        for m in positions:
            positions[m].append(crowd.positions(m)[0])
            roots[m].append(crowd.roots(m)[0])
    found = {}
    for name in motions:
        body = kinds[name].worlds(t)
        rows = []
        for rig, m in zip(rigs, members[name], strict=True):
            carried, origins, turns = rigid_hair(rig, body)
            ends = np.array(positions[m])
            trace = Trace(t, ends, np.array(roots[m]), carried, origins, turns, rig.spans)
            rows.append((apply_hair(avatar.skeleton, rig, body, ends), _swings(trace)))
        found[name] = rows
    crowd.remove(None)
    return found


def _swings(trace: Trace) -> np.ndarray:
    """(C,) mm RMS of each chain's tip while the body moves."""
    moving = trace.moving()
    off = np.linalg.norm(trace.deviation[moving if moving.any() else slice(None)][:, trace.tips], axis=-1)
    return 1e3 * np.sqrt(np.mean(off**2, axis=0))


def with_profile(chain: Chain, base, x: np.ndarray) -> Chain:
    """The chain with the rod's numbers moved by x (J + 2,): log profile, log root share, softness; and where there are
    four more, by log frequency, log damping, air and air drag of the tip."""
    count = len(chain)
    factor = np.clip(np.exp(x[:count] - x[:count].mean()), SOFTEST, STIFFEST)
    rod = replace(
        base,
        profile=base.profile * factor,
        root_share=float(np.clip(base.root_share * np.exp(x[count]), 0.003, 0.3)),
        softness=float(np.clip(base.softness + x[count + 1], 0.8, 2.6)),
    )
    if len(x) > count + 2:
        pace, calm, air, tip = x[count + 2 :]
        frequency = base.frequency * float(np.clip(np.exp(pace), SLOWEST, FASTEST))
        least = ROD_DECAY / (2.0 * np.pi * frequency)  # or it swings on for longer than any strand should
        damping = max(least, min(base.damping * float(np.exp(calm)), CALMEST))
        air, tip = float(np.clip(base.air + air, 0.0, 1.0)), float(np.clip(base.air_tip + tip, 0.0, DRAGGED))
        rod = replace(at_frequency(rod, frequency), damping=damping, air=air, air_tip=tip)
    return replace(chain, rod=rod)


def tune_profile(
    avatar: Avatar,
    rig: HairRig,
    *,
    chains: Sequence[int] | None = None,
    seen: Sequence[str] = SEEN,
    unseen: Sequence[str] = UNSEEN,
    swing: float | None = None,
    contact: bool = False,
    generations: int = 10,
    candidates: int = 10,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Tuning:
    """The rod profile of each chain under which the mesh stretches least per swing, frequency and damping kept.

    swing: a share of the spring bone's swing that the rod should have at least in every motion, the unseen ones, too.
    Frequency, damping and air drag are then searched as well, and the swing of the unseen motions takes part, but never
    how much they stretch the mesh. Where the start swings less than wanted, the swing decides in place of the check;
    `before` and `after` tell what the unseen motions say.

    An evolution strategy: each generation plays `candidates` rigs in all `seen` motions at once, and each chain judges
    its own profile by its own edges. Then the motions in `unseen`, which took no part, are played with the first and
    the found profiles: where a chain is worse there by more than a hundredth, half the change is tried, then none.
    contact: let the hair meet its colliders while searching, which takes longer.
    chains: by default those a fitter made, else all that the head carries.
    """
    avatar = owner(avatar, rig)
    chosen = chosen_chains(avatar, rig, chains)
    bases = [rod_parameters(rig.chains[c], avatar.skeleton) for c in chosen]
    mesh, full = ChainMesh(avatar, rig, chosen), ChainMesh(avatar, rig, chosen, most=1 << 30)
    random = np.random.default_rng(seed)

    def made(xs) -> HairRig:
        rows = list(rig.chains)
        for c, base, x in zip(chosen, bases, xs, strict=True):
            rows[c] = with_profile(rig.chains[c], base, x)
        return replace(rig, chains=tuple(rows))

    def judged(rigs, motions, by, rate=RATE):
        played = play(avatar, rigs, motions, rate, contact=contact)
        return [{m: by.figures(played[m][k][0], played[m][k][1][chosen]) for m in motions} for k in range(len(rigs))]

    every = (*seen, *unseen)
    sizes = [len(rig.chains[c]) + (2 if swing is None else 6) for c in chosen]
    means, deviations = [np.zeros(n) for n in sizes], [0.35 * np.ones(n) for n in sizes]
    wanted = _wanted_swings(avatar, rig, chosen, every, swing, contact)
    if swing is not None:
        for d in deviations:
            d[-4:] = PACES

    def missing(figures, k: int, margin: float = 0.0) -> float:
        rows = [(figures[m][k].swing_mm, w[k] * (1.0 + margin)) for m, w in wanted.items() if w[k] >= LEAST_SWING]
        return sum(max(0.0, 1.0 - has / wants) for has, wants in rows)

    def scores(figures, k: int, start) -> float:
        value = _score([figures[m][k] for m in seen], start and [start[m][k] for m in seen])
        return value * (1.0 + NARROW * missing(figures, k, MARGIN))

    played = seen if swing is None else every
    first = judged([made(means)], played, mesh)[0]
    start = first if swing is None else None
    best = [(scores(first, k, None), np.zeros(n)) for k, n in enumerate(sizes)]
    for generation in range(generations):
        if progress:
            progress(generation, generations)
        xs = [
            [m + d * random.normal(size=len(m)) for m, d in zip(means, deviations, strict=True)]
            for _ in range(candidates)
        ]
        figures = judged([made(x) for x in xs], played, mesh)
        for k in range(len(chosen)):
            rows = [(scores(f, k, start), xs[i][k]) for i, f in enumerate(figures)]
            rows = sorted([*rows, best[k]], key=lambda row: row[0])
            elite = np.array([x for _, x in rows[: max(2, candidates // 3)]])
            share = np.log(len(elite) + 0.5) - np.log(np.arange(1, len(elite) + 1))
            moved = (share / share.sum()) @ elite
            deviations[k] = 0.9 * np.sqrt(0.6 * deviations[k] ** 2 + 0.4 * np.mean((elite - means[k]) ** 2, axis=0))
            means[k], best[k] = moved, rows[0]
    found = [x for _, x in best]
    tries = [made([s * x for x in found]) for s in (1.0, 0.5, 0.0)]
    one, half, none = judged(tries, every, full, rate=30)
    final, after, kept = [], {m: [] for m in every}, []
    for k in range(len(chosen)):
        unmoved = _score([none[m][k] for m in unseen], None)
        narrow = missing(none, k) > 0.0
        widest = min(missing(figures, k) for figures in (one, half, none))
        for share, figures in ((1.0, one), (0.5, half), (0.0, none)):
            if narrow and missing(figures, k) <= widest:
                break
            if share == 0.0 or (not narrow and _score([figures[m][k] for m in unseen], None) <= 1.01 * unmoved):
                break
        final.append(share * found[k])
        kept.append(share > 0.0)
        for m in every:
            after[m].append(figures[m][k])
    count = (generations * candidates + 1) * len(played) + 3 * len(every)
    return Tuning(
        with_own_avatar(made(final)), tuple(chosen), tuple(seen), tuple(unseen), none, after, count, tuple(kept)
    )


def _wanted_swings(
    avatar: Avatar, rig: HairRig, chosen, motions, swing: float | None, contact: bool
) -> dict[str, np.ndarray]:
    """Motion -> (C,) mm that each chosen chain should swing, a share of its spring bone's; empty without one."""
    if swing is None:
        return {}
    if not 0.0 < swing <= 1.0:
        raise ValueError(f"tune_profile: swing is {swing}, wanted more than 0, at most 1")
    played = play(avatar, [rig], motions, solver="spring-bone", contact=contact)
    return {m: swing * rows[0][1][chosen] for m, rows in played.items()}


def with_own_avatar(rig: HairRig) -> HairRig:
    """A fitted rig whose avatar carries the same chains as the rig itself."""
    fitted = getattr(rig, "avatar", None)
    if fitted is None:
        return rig
    return replace(rig, avatar=replace(fitted, hair=HairRig(rig.chains, rig.colliders)))


def chosen_chains(avatar: Avatar, rig: HairRig, chains) -> list[int]:
    """Numbers of the chains that are meant: those given, else those a fitter made, else all that the head carries."""
    if chains is None:
        chains = getattr(rig, "fitted", ())
    if not len(chains):
        from .run import hair_chains

        chains = hair_chains(avatar, rig)
    chosen = [int(c) for c in chains]
    if not chosen or min(chosen) < 0 or max(chosen) >= len(rig.chains):
        raise ValueError(f"tune_profile: chains are {chosen}, wanted some of 0 to {len(rig.chains) - 1}")
    if carrying_node(avatar) < 0:
        raise ValueError(f"{avatar.name}: no head and no chain that a node carries, so that no motion can be played")
    return chosen


def _score(figures: list[Figure], start: list[Figure] | None) -> float:
    """Mean of stretch per swing; the worst edge counts beyond 1.4 times the 99th percentile, a smaller swing too."""
    rows = []
    for k, f in enumerate(figures):
        if f.swing_mm < LEAST_SWING:
            continue
        value = f.per_100mm + 0.3 * max(0.0, 100.0 * f.worst / f.swing_mm - 1.4 * f.per_100mm)
        if start is not None:
            value *= 1.0 + 3.0 * max(0.0, KEEP_SWING - f.swing_mm / max(start[k].swing_mm, 1e-6))
        rows.append(value)
    return float(np.mean(rows)) if rows else 0.0
