"""A fitted hairstyle put on another character: the scalps laid on each other, the mesh, chains and weights moved."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from ..avatar.description import Avatar, Material, MeshPart, Skin
from ..avatar.errors import AssetError
from ..avatar.skinning import skin_vertices
from ..hair import HairRig
from .attach import NewChain, add_nodes, make_chain
from .fitted import FittedRig
from .roots import Head, attach_node, find_head
from .surface import Surface
from .weights import as_influences

CLEAR = 0.002  # metres: hair is lifted so far above the new scalp where it would sink in
STICKS_OUT = 1.2  # of the median distance from the head's middle
UP, LOW = 0.25, -0.3  # heights over the middle, in radii: the skull above the ears is what hair lies on


@dataclass(frozen=True, eq=False)
class Placement:
    """How hair was brought to another head: `point = scale * (point - source) + target`, then lifted."""

    scale: np.ndarray  # (3,) along x, y, z
    offset: np.ndarray  # (3,) metres from the source's middle to the target's
    source: np.ndarray  # (3,) middle of the skull the hair was made for
    target: np.ndarray  # (3,)
    lifted: int  # points that were lifted out of the new head
    deepest: float  # metres that the deepest of them had sunk in
    gap: float  # metres: mean distance between the two skulls after alignment

    def apply(self, points: np.ndarray) -> np.ndarray:
        """(P, 3) points brought to the other head, before lifting."""
        return self.scale * (points - self.source) + self.target


def transfer(rig: FittedRig, target: Avatar, body: Avatar | None = None) -> tuple[FittedRig, Placement]:
    """The fitted hair of one character on another: (rig on the target, how it was placed).

    The target keeps all that it has; the hair's parts, its joints and weights are added. `body` is the figure under
    the source's hair where its file has none. Take the target's own hair off first with `without_parts`.
    """
    plan, surface = rig.table["plan"], rig.table["surface"]
    paints = {rig.base.parts[p].material for p in surface.parts}
    hair = [i for i, p in enumerate(rig.base.parts) if p.material in paints]
    source_head = find_head(rig.base, surface, rig.table["node"], body, hair)
    node = attach_node(target, range(len(target.parts)))
    nothing = Surface(np.zeros((1, 3)), np.zeros((0, 2), int), np.zeros((0, 3), int), (), (), ())
    target_head = find_head(target, nothing, node)
    if not target_head.known:
        raise AssetError(target.file, "head", "no mesh that follows a head", "a character with a head")
    placement = align(source_head, target_head)
    moved = placement.apply(surface.points)
    moved, lifted, deepest = lifted_out(moved, surface, target_head, plan.fixed)
    placement = replace(placement, lifted=lifted, deepest=deepest)
    return _joined(rig, target, node, placement, moved), placement


def skull(head: Head) -> np.ndarray:
    """(K, 3) points of the head that hair lies on: above the ears in front, above the nape behind."""
    if not len(head.points):
        rng = np.linspace(0.0, np.pi, 24)
        ring = np.stack(np.meshgrid(rng, 2.0 * rng), axis=-1).reshape(-1, 2)
        flat = np.sin(ring[:, 0])
        ball = np.stack([flat * np.cos(ring[:, 1]), np.cos(ring[:, 0]), flat * np.sin(ring[:, 1])], axis=1)
        return head.centre + head.radius * ball[ball[:, 1] > UP]
    over = (head.points - head.centre) / head.radius
    far = np.linalg.norm(over, axis=1)
    on_skull = (over[:, 1] > UP) | ((over[:, 2] < 0.0) & (over[:, 1] > LOW))
    # Ribbons, ties and horns follow the head, too, and stick out of it.
    return head.points[on_skull & (far <= STICKS_OUT * np.median(far[on_skull]))]


def align(source: Head, target: Head) -> Placement:
    """Scale along each axis and offset that lay one skull on the other: boxes first, then nearest points a few times.

    Uneven scale is kept within a tenth of the even one, so that curls and locks keep their look.
    """
    a, b = skull(source), skull(target)
    low_a, high_a = np.percentile(a, 5, axis=0), np.percentile(a, 95, axis=0)
    low_b, high_b = np.percentile(b, 5, axis=0), np.percentile(b, 95, axis=0)
    size = (high_b - low_b) / np.maximum(high_a - low_a, 1e-9)
    even = float(np.median(size))
    scale = np.clip(size, 0.9 * even, 1.1 * even)
    middle_a = 0.5 * (low_a + high_a)
    middle_b = 0.5 * (low_b + high_b)
    # Crowns must meet: the box's middle is off where one skull is cut lower than the other.
    middle_b[1] = high_b[1] - scale[1] * (high_a[1] - middle_a[1])
    tree = cKDTree(b)
    for _ in range(12):
        laid = scale * (a - middle_a) + middle_b
        away, index = tree.query(laid)
        good = away <= np.percentile(away, 80)
        middle_b = middle_b + 0.5 * (b[index[good]] - laid[good]).mean(axis=0)
    gap = float(tree.query(scale * (a - middle_a) + middle_b)[0].mean())
    return Placement(scale, middle_b - middle_a, middle_a, middle_b, 0, 0.0, gap)


def lifted_out(points: np.ndarray, surface: Surface, head: Head, held: np.ndarray):
    """Points moved outward where they lie under the new scalp, smoothly with their neighbours: (points, how many,
    metres of the deepest). A point is under it when it is nearer to the middle than the scalp in its direction."""
    scalp = head.points
    middle = head.centre
    way = scalp - middle
    far = np.linalg.norm(way, axis=1)
    tree = cKDTree(way / np.maximum(far, 1e-9)[:, None])
    mine = points - middle
    reach = np.linalg.norm(mine, axis=1)
    near = tree.query(mine / np.maximum(reach, 1e-9)[:, None], k=6)
    shell = far[near[1]].max(axis=1)
    need = np.where(near[0][:, 0] < 0.2, np.maximum(shell + CLEAR - reach, 0.0), 0.0)
    need[reach < 0.3 * head.radius] = 0.0
    sunk = need > CLEAR
    lift = need.copy()
    for _ in range(6):  # neighbours follow, so that no dent is left around what was lifted
        total, count = np.zeros(len(lift)), np.zeros(len(lift))
        for a, b in (surface.edges.T, surface.edges.T[::-1]):
            np.add.at(total, a, lift[b])
            np.add.at(count, a, 1.0)
        lift = np.maximum(need, 0.5 * lift + 0.5 * total / np.maximum(count, 1.0))
    out = points + mine / np.maximum(reach, 1e-9)[:, None] * lift[:, None]
    return out, int(sunk.sum()), float(need.max(initial=0.0))


def without_parts(avatar: Avatar, names) -> Avatar:
    """The avatar without some mesh parts, by mesh name: its own hair, before another is put on."""
    names = {names} if isinstance(names, str) else set(names)
    known = {p.name for p in avatar.parts}
    if not names <= known:
        raise AssetError(avatar.file, "mesh", f"none named {sorted(names - known)[0]!r}", ", ".join(sorted(known)))
    return replace(avatar, parts=tuple(p for p in avatar.parts if p.name not in names), document=None)


def _joined(rig: FittedRig, target: Avatar, node: int, placement: Placement, moved: np.ndarray) -> FittedRig:
    plan, surface = rig.table["plan"], rig.table["surface"]
    size = float(placement.scale.mean())
    strands = []
    for s in plan.strands:
        lock = replace(s.lock, guide=placement.apply(s.lock.guide), length=size * s.lock.length)
        strands.append(replace(s, places=placement.apply(s.places), lock=lock))
    strands = tuple(strands)
    skeleton, rows = add_nodes(target.skeleton, node, [NewChain(s.name, s.places, {}) for s in strands])
    columns = np.concatenate([[node], *[row[:-1] for row in rows]]).astype(np.int64)
    binds = np.linalg.inv(skeleton.rest_world[columns])
    skins = (*target.skins, Skin(columns, binds))
    materials, parts = list(target.materials), list(target.parts)
    owners, offset = [], surface.points
    for k, index in enumerate(surface.parts):
        part = rig.base.parts[index]
        material: Material = rig.base.materials[part.material]
        image = None if material.texture is None else rig.base.images[material.texture]
        average = material.base_color if image is None else rig.base.vertex_colors(part).mean(axis=0)
        materials.append(
            replace(
                material,
                texture=None,
                shade_texture=None,
                outline_texture=None,
                base_color=average,
                emissive_texture=None,
                shading_shift_texture=None,
            )
        )
        chosen, owner = surface.vertices[k], surface.owners[k]
        rest = skin_vertices(rig.base, part)[chosen]
        shift = placement.apply(rest) + (moved[owner] - placement.apply(offset[owner]))
        number = np.full(len(part.positions), -1)
        number[chosen] = np.arange(len(chosen))
        triangles = number[part.triangles]
        triangles = triangles[(triangles >= 0).all(axis=1)].astype(np.int32)
        joints, weights = as_influences(plan.weights[owner])
        _, normals = skin_vertices(rig.base, part, normals=True)
        parts.append(
            MeshPart(
                part.name,
                max(node, 0),
                -1,
                k,
                len(skins) - 1,
                len(materials) - 1,
                shift,
                normals[chosen],
                triangles,
                joints.astype(np.int32),
                weights,
            )
        )
        owners.append(len(parts) - 1)
    first = len(target.hair.chains)
    chains = list(target.hair.chains)
    for strand, row in zip(strands, rows, strict=True):
        old = rig.chains[strand_chain(rig, strand.name)]
        world = np.cbrt(abs(np.linalg.det(rig.avatar.skeleton.rest_world[old.joints[0], :3, :3])))
        settings = {
            "stiffness": old.stiffness,
            "drag": old.drag,
            "gravity_power": old.gravity_power,
            "gravity_dir": old.gravity_dir,
            "hit_radius": old.hit_radius * world * size,
            "colliders": tuple(range(len(target.hair.colliders))),
            "center": -1,
        }
        chains.append(make_chain(NewChain(strand.name, strand.places, settings), row, skeleton, node))
    hair = HairRig(tuple(chains), target.hair.colliders)
    avatar = replace(target, skeleton=skeleton, skins=skins, parts=tuple(parts), materials=tuple(materials), hair=hair)
    laid = Surface(
        moved,
        surface.edges,
        surface.triangles,
        tuple(owners),
        tuple(np.arange(len(v)) for v in surface.vertices),
        surface.owners,
    )
    fitted = tuple(range(first, len(chains)))
    locks = tuple(replace(s.lock, chain=first + k) for k, s in enumerate(strands))
    return FittedRig(
        chains=hair.chains,
        colliders=hair.colliders,
        avatar=avatar,
        base=target,
        fitted=fitted,
        locks=locks,
        refused=rig.refused,
        refinement=rig.refinement,
        table={"surface": laid, "plan": replace(plan, strands=strands), "node": node},
    )


def strand_chain(rig: FittedRig, name: str) -> int:
    """Index of the fitted chain of that name."""
    return next(c for c in rig.fitted if rig.chains[c].name == name)
