"""Nodes: the tree of a glTF as a Skeleton, checked to be one, with matrices split into TRS."""

from __future__ import annotations

import numpy as np

from .. import rotations
from .document import Document
from .fields import Item
from .skeleton import Skeleton

MAX_DEPTH = 1000  # ancestors of a node; avatars have up to about 60


def read_skeleton(document: Document) -> Skeleton:
    """All nodes of the file, in file order; AssetError where they are no forest."""
    items = document.items("nodes")
    count = len(items)
    parents, children = _parents(document, items)
    translations = np.zeros((count, 3))
    turns = np.tile(rotations.IDENTITY, (count, 1))
    scales = np.ones((count, 3))
    names = []
    for index, item in enumerate(items):
        names.append(item.text("name"))
        if item.has("matrix"):
            translations[index], turns[index], scales[index] = _split(document, item)
            continue
        value = item.value
        if "translation" in value:
            translations[index] = item.vector("translation", 3, (0, 0, 0))
        if "rotation" in value:
            turns[index] = _rotation(document, item)
        if "scale" in value:
            scales[index] = item.vector("scale", 3, (1, 1, 1))
    skeleton = Skeleton(tuple(names), parents, translations, turns, scales, children)
    _check_depth(document, skeleton)
    _report_scales(document, skeleton)
    world = skeleton.rest_world[:, :3]
    good = (np.abs(world) <= 1e30).all(axis=(1, 2))
    if not good.all():
        index = int(np.argmin(good))
        raise items[index].error(
            "", "a place in the world that is not finite", "translations and scales of sensible size"
        )
    return skeleton


def label(skeleton: Skeleton, node: int) -> str:
    """A node as messages name it: index, and its name where it has one."""
    return f"node {node} {skeleton.names[node]!r}" if skeleton.names[node] else f"node {node}"


def _parents(document: Document, items: list[Item]) -> tuple[np.ndarray, tuple[tuple[int, ...], ...]]:
    """Parent of each node and the children as listed, each once; AssetError where the nodes are no forest."""
    count = len(items)
    parents = np.full(count, -1, dtype=np.int64)
    children: list[list[int]] = []
    for index, item in enumerate(items):
        own = item.indices("children", count)
        children.append(list(dict.fromkeys(own)))
        if len(children[-1]) < len(own):
            document.log.warn(item.where, "lists a child twice; taken once")
        for child in children[-1]:
            if parents[child] >= 0:
                found = (
                    f"node {child} as a child of both node {parents[child]} and node {index}: two parents or a cycle"
                )
                raise item.error("children", found, "a tree, where every node has one parent")
            parents[child] = index
    reached = [i for i in range(count) if parents[i] < 0]
    for node in reached:  # grows while it is walked: breadth first
        reached.extend(children[node])
    if len(reached) < count:
        lost = sorted(set(range(count)) - set(reached))[0]
        raise items[lost].error("children", f"a cycle through node {lost}", "a tree, where no node is its own ancestor")
    return parents, tuple(map(tuple, children))


def _check_depth(document: Document, skeleton: Skeleton) -> None:
    deepest = int(skeleton.depth.max(initial=0))
    if deepest > MAX_DEPTH:
        node = int(np.argmax(skeleton.depth))
        raise document.error(f"nodes[{node}]", f"{deepest} ancestors", f"at most {MAX_DEPTH}")


def _rotation(document: Document, item: Item) -> np.ndarray:
    turn = item.vector("rotation", 4, (0, 0, 0, 1))
    length = float(np.linalg.norm(turn))
    if length < 1e-6:
        document.log.warn(item.where, "has a rotation of length 0; taken as none")
        return rotations.IDENTITY
    if abs(length - 1.0) > 1e-3:
        document.log.warn(item.where, f"has a rotation of length {length:.4g}; normalised")
    return turn / length


def _split(document: Document, item: Item) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Translation, rotation and scale of a node's matrix; says where the matrix holds more than these."""
    matrix = item.vector("matrix", 16).reshape(4, 4).T
    linear = matrix[:3, :3]
    scale = np.linalg.norm(linear, axis=0)
    if np.linalg.det(linear) < 0.0:
        scale[0] = -scale[0]
    turn = rotations.from_matrix(linear * np.sign(np.where(scale == 0.0, 1.0, scale))) if (scale != 0).all() else None
    if turn is None:
        document.log.warn(item.where, "has a matrix that flattens space; its rotation is taken as none")
        turn = rotations.IDENTITY
    rebuilt = rotations.to_matrix(turn) * scale
    if np.abs(rebuilt - linear).max() > 1e-4 * max(np.abs(scale).max(), 1e-30):
        document.log.warn(
            item.where, "has a matrix with shear, which translation, rotation and scale cannot hold; approximate"
        )
    if np.abs(matrix[3] - (0, 0, 0, 1)).max() > 1e-5:
        document.log.warn(item.where, "has a matrix whose last row is not 0 0 0 1; that row is ignored")
    return matrix[:3, 3], turn, scale


def _report_scales(document: Document, skeleton: Skeleton) -> None:
    scales = skeleton.scales
    for node in np.flatnonzero((scales == 0.0).any(axis=1)):
        document.log.warn(f"nodes[{node}]", "has a scale of 0; what hangs below it has no size")
    uneven = np.abs(scales - scales[:, :1]).max(axis=1) > 1e-3 * np.abs(scales).max(axis=1)
    for node in np.flatnonzero((uneven | (scales < 0.0).any(axis=1)) & (scales != 0.0).all(axis=1)):
        kind = "mirrors" if (scales[node] < 0.0).any() else "scales unevenly"
        document.log.note(
            f"nodes[{node}]", f"{kind} {np.round(scales[node], 6).tolist()}; radii below it use the largest scale"
        )
