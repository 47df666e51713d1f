"""A whole hairstyle taken apart: what is held by the head, which locks hang from it, and what is no lock at all."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree

from .branches import branch_labels, split_wide
from .fitted import Refusal
from .grouping import CLOSER, group, plan_of
from .pieces import Piece, levelled, measured, rooted
from .roots import Head
from .strand import Plan
from .surface import Surface, distances, edge_graph

# Lengths below are in head radii (about 0.11 m for a grown person), so that figures of any size are read alike.
ON_CROWN, ON_SIDE = 0.34, 0.08  # hair nearer to the scalp than this is held: above the ears, and below them
AT_ROOT = 0.08  # the same above the ears for hair that is known to hang: there it begins
ABOVE = (-0.2, 0.4)  # heights over the head's middle between which the one goes over into the other
BRIDGE = 0.3  # pieces without a hold of their own hang from what is nearest, within this
BRUSH = 0.15  # share of a piece's points below which those near the head, low on the piece, only brush it
SEAM = 0.12  # where two pieces meet, all points that are so much farther apart than the nearest ones meet, too
HOLD = 0.6  # a piece whose nearest point is farther from the head than this is not held at all
LEAST = 0.35  # shorter hair does not swing
TUFT = 0.3  # a tip that sticks out less than this from its neighbour is no lock of its own
WIDE = 0.9  # a lock wider than this is several side by side
CLOSE = 0.22  # hair of which four fifths stay nearer to the head than this lies on it
LONG = 1.4  # length over width from which a piece is a lock and not a bun
STRIP = 2.2  # the same for a piece that lies on the head: only a strip of its own may swing there
SPECK = 8  # points: an island of so few is a loose quad
OVER = 0.5  # hair within this that does not lead down is combed over the head
COMPACT = 1.7  # four standard deviations of a ball's points
TIED = 0.1  # a tip that comes so near to the head, or to a tie on it, is held there, too
NEARLY, RETURNS = 0.18, 0.65  # ... or comes back to within the one, nearer than the other times as far as it was
FALL = 0.5  # share of its length by which a strip on the head must lead down to swing: bangs do, combed-back hair not
RISES = 0.05  # share of its length by which a part of a fused mesh must lead down: else it is its inner side, no lock
BALL = 0.62  # least over largest extent from which a short lock is round: a bun, a ball, a bow


def loose_quads(surface: Surface) -> Refusal | None:
    """A refusal where most of the surface is made of islands too small to have a direction."""
    count = np.bincount(surface.islands)
    small = count[surface.islands] <= SPECK
    share = float(surface.areas[small].sum() / surface.areas.sum())
    specks = int((count <= SPECK).sum())
    if specks >= 24 and share > 0.5:
        reason = f"{specks} loose pieces of at most {SPECK} points make {100 * share:.0f} % of it: no strand to trace"
        return Refusal("the whole hair", reason, len(surface.points))
    return None


def held_by_head(surface: Surface, head: Head, height: np.ndarray, crown: float = ON_CROWN) -> np.ndarray:
    """(P,) whether points at `height` (P,) metres from the head are held: they lie on the scalp, more loosely so above
    the ears (`crown`) than below them."""
    over = (surface.points[:, 1] - head.centre[1]) / head.radius
    ramp = np.clip((over - ABOVE[0]) / (ABOVE[1] - ABOVE[0]), 0.0, 1.0)
    return height < head.radius * (ON_SIDE + (crown - ON_SIDE) * ramp)


def hung(surface: Surface, head: Head, height: np.ndarray) -> tuple[np.ndarray, object, list[Refusal]]:
    """Metres along the hair from where it is held (P,), infinite where nothing holds it; the graph that was walked;
    and refusals for what hangs on nothing."""
    held = held_by_head(surface, head, height)
    label, graph, refused = surface.islands, surface.graph, []
    count = int(label.max()) + 1
    total, y = np.bincount(label), surface.points[:, 1]
    share = np.bincount(label, held, count) / total
    where = np.bincount(label, held * y, count) / np.maximum(np.bincount(label, held, count), 1)
    # A few points that touch a cheek or the neck do not hold a lock that begins higher up.
    brushes = (share > 0.0) & (share < BRUSH) & (where < np.bincount(label, y, count) / total)
    for island in np.flatnonzero(brushes).tolist():
        mine = np.flatnonzero(label == island)
        held[mine] = False
        held[mine[y[mine] >= y[mine].max() - 0.12 * head.radius]] = True
    holds = np.bincount(label, held, count) > 0
    extra, lengths = [], []
    for island in np.flatnonzero(~holds).tolist():
        mine = np.flatnonzero(label == island)
        others = np.flatnonzero(label != island)
        nearest = mine[np.argmin(height[mine])]
        if height[nearest] < 0.5 * HOLD * head.radius or not len(others):
            held[_upper_end(surface.points, height, mine, head)] = True
            continue
        away, index = cKDTree(surface.points[others]).query(surface.points[mine])
        best = int(np.argmin(away))
        if away[best] <= BRIDGE * head.radius:
            near = np.flatnonzero(away <= away[best] + SEAM * head.radius)
            extra += [(mine[k], others[index[k]]) for k in near]
            lengths += away[near].tolist()
        elif height[nearest] < HOLD * head.radius:
            held[_upper_end(surface.points, height, mine, head)] = True
        else:
            reason = f"it stays {height[nearest]:.3f} m from the head and touches no other hair"
            refused.append(Refusal(f"island {island}", reason, len(mine)))
    if extra:
        edges = np.concatenate([surface.edges, np.array(extra)])
        every = np.concatenate([surface.lengths, np.maximum(lengths, 1e-9)])
        graph = edge_graph(len(surface.points), edges, np.maximum(every, 1e-9))
    if not held.any():
        return np.full(len(surface.points), np.inf), graph, refused
    return distances(graph, np.flatnonzero(held)), graph, refused


def _upper_end(points: np.ndarray, height: np.ndarray, mine: np.ndarray, head: Head) -> np.ndarray:
    """Of the points `mine` of a piece beside the head those that hold it: the highest of the ones near the scalp."""
    near = mine[height[mine] <= height[mine].min() + 0.25 * head.radius]
    return near[points[near, 1] >= points[near, 1].max() - 0.12 * head.radius]


def find_locks(
    surface: Surface, head: Head, height: np.ndarray
) -> tuple[list[Piece], list[Refusal], np.ndarray, csr_matrix]:
    """Pieces that may swing, refusals of those that may not, the distance (P,) from where hair is held, and the graph
    that it was walked on. height: (P,) metres of the points from the head."""
    distance, graph, refused = hung(surface, head, height)
    loose = np.isfinite(distance) & (distance > 0.0)
    pieces: list[Piece] = []
    if not loose.any():
        return pieces, refused, distance, graph
    free = graph.tocsr()[loose][:, loose]
    index = np.flatnonzero(loose)
    _, label = connected_components(free, directed=False)
    _, _, source = dijkstra(
        graph, directed=False, indices=np.flatnonzero(distance == 0.0), min_only=True, return_predecessors=True
    )
    short = flat = 0
    for number in range(int(label.max()) + 1):
        mine = index[label == number]
        if distance[mine].max() < LEAST * head.radius or len(mine) < 6:
            short += len(mine)
            continue
        part = graph[mine][:, mine]
        tips = branch_labels(part, distance[mine], TUFT * head.radius)
        for tip in range(int(tips.max()) + 1):
            chosen = mine[tips == tip]
            roots = surface.points[source[chosen]]
            for rows in split_wide(surface, chosen, roots, distance, WIDE * head.radius):
                if distance[rows].max() < LEAST * head.radius or len(rows) < 4:
                    short += len(rows)
                    continue
                piece = measured(surface, rows, distance)
                if piece.length < LEAST * head.radius:
                    short += len(rows)
                    continue
                why = not_a_lock(surface, piece, head, height)
                if why is None:
                    pieces.append(piece)
                else:
                    flat += len(rows)
                    refused.append(Refusal(f"{len(rows)} points around {_place(surface.points[rows])}", why, len(rows)))
    return pieces, refused, distance, graph


def not_a_lock(surface: Surface, piece: Piece, head: Head, heights: np.ndarray) -> str | None:
    """Why a piece gets no chain, or None. heights: (P,) metres of the surface's points from the head."""
    points = surface.points[piece.points]
    height = float(np.percentile(heights[piece.points], 80.0))
    slender = piece.length / max(piece.width, 1e-9)
    extents = np.sqrt(np.maximum(np.linalg.eigvalsh(np.cov(points.T)), 0.0)) if len(points) > 3 else np.ones(3)
    straight = float(np.linalg.norm(piece.curve.points[-1] - piece.curve.points[0]))
    if extents[1] / max(extents[2], 1e-9) > BALL and 4.0 * extents[2] < COMPACT * head.radius:
        return f"round: {piece.length:.3f} m along and {piece.width:.3f} m across, as a bun or a ball"
    if straight < 0.35 * piece.length and piece.turns < 1.25:
        return f"a loop or a bun: its ends are {straight:.3f} m apart after {piece.length:.3f} m"
    if slender < LONG:
        return f"as wide as long ({piece.length:.3f} by {piece.width:.3f} m): a shell, not a lock"
    falls = (piece.curve.points[0, 1] - piece.curve.points[-1, 1]) / max(piece.length, 1e-9)
    if height < CLOSE * head.radius:
        alone = len(points) > 0.5 * np.sum(surface.islands == piece.island)
        if not alone or slender < STRIP or falls < FALL:
            return f"it lies on the head: four fifths of it within {height:.3f} m"
    elif height < OVER * head.radius and falls < 0.5 * FALL:
        return "it leads over the head and not down: combed back, or to a tie"
    elif falls < RISES and len(points) <= 0.5 * np.sum(surface.islands == piece.island):
        return "it leads up into the hair above it: the inner side of a shell"
    along = head.height(piece.curve.points)
    tip = float(along[-1])
    returns = tip < RETURNS * float(along.max()) and tip < NEARLY * head.radius
    if head.known and (tip < TIED * head.radius or returns):
        return f"its tip is {tip:.3f} m from the head or a tie: held at both ends"
    if piece.hollow:
        return f"its middle is empty: {piece.width:.3f} m across, hair all around and none inside"
    return None


def _place(points: np.ndarray) -> str:
    return "({:.2f}, {:.2f}, {:.2f})".format(*points.mean(axis=0))


def fit_style(surface: Surface, head: Head, joints: int, most: int, name: str) -> tuple[Plan, ...]:
    """Plans for a whole hairstyle of at most `most` chains with at most `joints` joints each: with roots where the hair
    leaves the head, and, where that is another, with level roots; each with more chains, too, where the budget has room
    for locks that are farther apart than others on one path."""
    nothing = np.ones((len(surface.points), 1))
    whole = loose_quads(surface)
    every = np.ones(len(surface.points), dtype=bool)
    if whole is not None:
        return (Plan((), nothing, every, every, (whole,)),)
    height = head.height(surface.points)
    pieces, refused, distance, graph = find_locks(surface, head, height)
    if not pieces:
        if not refused:
            reach = float(distance[np.isfinite(distance)].max(initial=0.0))
            refused = [Refusal("the whole hair", f"it lies on the head: nothing hangs farther than {reach:.3f} m", 0)]
        return (Plan((), nothing, every, every, tuple(refused)),)
    on_scalp = held_by_head(surface, head, height, AT_ROOT)
    pieces, distance = rooted(surface, head, graph, pieces, distance, on_scalp)
    plans = []
    level, from_there = levelled(surface, head, graph, pieces, distance)
    for own, along in ((pieces, distance), (level, from_there)):
        if not plans or own is not pieces:
            groups, closer = group(own, head, most), group(own, head, most, CLOSER)
            plans.append(plan_of(surface, head, groups, along, joints, name, tuple(refused)))
            if len(groups) < len(closer) <= most:
                plans.append(plan_of(surface, head, closer, along, joints, name, tuple(refused)))
    return tuple(plans)
