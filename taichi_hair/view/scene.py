"""Scene: the skinned meshes of one or several avatars, prepared once, ready to be drawn in any pose."""

import numpy as np

from ..avatar.description import Avatar
from ..measure.skin import Skinner
from ..sim.backend import ti
from . import outline, surface

HAIR_SHARE = 0.25  # a part is hair when at least this share of its weights lies on joints of hair chains
HEAD_SHARE = 0.9  # a part sits on the head when at least this share of its weights lies on the head or below it


class Scene:
    """Avatars side by side. `update(worlds)` skins them; `Raster` and `Window` draw what stands here.

    `avatars` is one Avatar or a sequence (the same one may appear several times), `offsets` (K, 3) moves each of them
    in metres, `hair` names the mesh parts that carry a band of light instead of finding them by their weights.
    """

    def __init__(self, avatars, offsets=None, hair=None):
        self.avatars = (avatars,) if isinstance(avatars, Avatar) else tuple(avatars)
        if not self.avatars:
            raise ValueError("a scene needs at least one avatar")
        for avatar in self.avatars:
            if not avatar.parts:
                raise ValueError(f"{avatar.name}: the avatar has no mesh to show")
        count = len(self.avatars)
        self.offsets = np.zeros((count, 3)) if offsets is None else np.asarray(offsets, dtype=np.float64)
        if self.offsets.shape != (count, 3):
            raise ValueError(f"scene offsets have shape {self.offsets.shape}, wanted {(count, 3)}")
        self._groups = _grouped(self.avatars)
        kinds = [avatar for avatar, _ in self._groups]
        shiny = {(g, m) for g, avatar in enumerate(kinds) for m in _hair_materials(avatar, hair)}
        self.surfaces = surface.build(kinds, shiny)
        self._prepare(kinds)
        self.worlds = [avatar.skeleton.rest_world for avatar in self.avatars]
        self.update(self.worlds)
        rest = self.positions()
        lowest, span = float(rest[:, 1].min()), np.ptp(rest[:, 1])
        middle = 0.5 * (rest[:, [0, 2]].min(axis=0) + rest[:, [0, 2]].max(axis=0))
        #: centre (x, z) of the floor and the size in metres that it is measured by
        self.footprint = (middle, float(max(span, 0.7 * np.ptp(rest[:, 0]))))
        self.ground = 0.0 if abs(lowest) < 0.03 else lowest  # metres; feet that miss the floor by a hair stand on it

    def _prepare(self, kinds) -> None:
        """Fills the device arrays that stay the same: uvs, colours, widths, triangles and their materials."""
        uvs, colors, widths, faces, materials, lined = [], [], [], [], [], []
        self._skinners, self._firsts, self._spans = [], [], []
        total = 0
        for (avatar, places), first_material in zip(self._groups, self.surfaces.first_material, strict=True):
            hull = outline.merged_normals(avatar, avatar.parts)
            skinner = Skinner(avatar, copies=len(places), hull=hull)
            self._skinners.append(skinner)
            self._firsts.append(total)
            width = outline.widths(avatar, avatar.parts, self.surfaces.table, first_material)
            uv = np.concatenate([p.uvs if p.uvs is not None else np.zeros((len(p.positions), 2)) for p in avatar.parts])
            color = np.concatenate(
                [p.colors if p.colors is not None else np.ones((len(p.positions), 4)) for p in avatar.parts]
            )
            face = np.concatenate([p.triangles + s for p, s in zip(avatar.parts, skinner.starts, strict=False)])
            material = np.concatenate([np.full(len(p.triangles), first_material + p.material) for p in avatar.parts])
            for copy in range(len(places)):
                self._spans.append((places[copy], total + copy * skinner.vertices, skinner.vertices))
                faces.append(face + total + copy * skinner.vertices)
                uvs.append(uv)
                colors.append(color)
                widths.append(width)
                materials.append(material)
            total += len(places) * skinner.vertices
        faces, materials, widths = np.concatenate(faces), np.concatenate(materials), np.concatenate(widths)
        table = self.surfaces.table
        mode, lined = table[materials, surface.MODE], (widths[faces] > 0.0).any(axis=1)
        rank = np.where(mode == surface.BLEND, 2, np.where(lined, 0, 1))
        order = np.argsort(rank, kind="stable")
        self.faces, self.face_materials = faces[order].astype(np.int32), materials[order].astype(np.int32)
        self.lined_count, self.solid_count = int((rank == 0).sum()), int((rank < 2).sum())
        self.vertex_count, self.face_count = total, len(faces)
        by_vertex = np.zeros(total, dtype=np.int64)
        by_vertex[faces] = materials[:, None]
        widths = np.where(table[by_vertex, surface.OUTLINE_SCREEN] > 0.5, -widths, widths)
        self.points, self.normals, self.hull = (ti.Vector.ndarray(3, ti.f32, total) for _ in range(3))
        self.uvs = _device(2, np.concatenate(uvs))
        colors = np.concatenate(colors)
        self.colors = _device(4, colors if np.abs(colors - 1.0).max() > 1e-6 else np.ones((1, 4)))
        self.widths = widths.astype(np.float32)

    def update(self, worlds) -> None:
        """Skins every avatar: `worlds` is (N, 4, 4) for one of them, (K, N, 4, 4) or K arrays (N, 4, 4) for several."""
        if len(self.avatars) == 1 and np.ndim(worlds) == 3:
            worlds = [worlds]
        if len(worlds) != len(self.avatars):
            raise ValueError(f"the scene has {len(self.avatars)} avatars, update() got matrices for {len(worlds)}")
        moved = []
        for matrices, offset in zip(worlds, self.offsets, strict=True):
            m = np.array(matrices, dtype=np.float64)
            m[..., :3, 3] += offset
            moved.append(m)
        self.worlds = moved
        for (_, places), skinner, first in zip(self._groups, self._skinners, self._firsts, strict=True):
            skinner.write(np.stack([moved[k] for k in places]), self.points, self.normals, self.hull, first)

    def positions(self, which: int | None = None) -> np.ndarray:
        """(V, 3) skinned positions of all avatars, or of one of them, in metres."""
        points = self.points.to_numpy()
        if which is None:
            return points
        return np.concatenate([points[first : first + count] for place, first, count in self._spans if place == which])

    def hair_points(self, which: int = 0) -> np.ndarray:
        """(V, 3) positions of one avatar's head and of all hair that hangs from it: what a close-up of hair shows."""
        avatar = self.avatars[which]
        joints = _hair_joints(avatar)
        share = np.concatenate([_share(avatar, part, joints) for part in avatar.parts])
        return np.concatenate([self.head_points(which), self.positions(which)[share > HAIR_SHARE]])

    def groups(self):
        """(avatar, first vertex, vertices, copies, first row of its materials) of each distinct avatar."""
        rows = zip(self._groups, self._skinners, self._firsts, self.surfaces.first_material, strict=True)
        return [(avatar, first, s.vertices, len(places), row) for (avatar, places), s, first, row in rows]

    def head_points(self, which: int = 0) -> np.ndarray:
        """(V, 3) positions of one avatar's head: vertices that follow its head node or nodes below, but no hair chain.

        Without a head in the file, the upper sixth of the figure stands for it.
        """
        avatar, points = self.avatars[which], self.positions(which)
        if "head" in avatar.humanoid:
            chosen = avatar.skeleton.below(avatar.humanoid["head"])
            chosen[avatar.hair.joints] = False
            share = np.concatenate([_share(avatar, part, chosen) for part in avatar.parts])
            if (share > 0.5).sum() > 8:
                return points[share > 0.5]
        low, high = points[:, 1].min(), points[:, 1].max()
        return points[points[:, 1] > high - (high - low) / 6]


def _grouped(avatars):
    """[(avatar, places)] with equal avatars together, in order of first appearance."""
    groups = {}
    for place, avatar in enumerate(avatars):
        groups.setdefault(id(avatar), (avatar, []))[1].append(place)
    return list(groups.values())


def _share(avatar: Avatar, part, nodes: np.ndarray) -> np.ndarray:
    """(V,) share of each vertex's weight that lies on the chosen nodes (a mask over the skeleton)."""
    return (nodes[avatar.skins[part.skin].joints][part.joints] * part.weights).sum(axis=1)


def _scalp(avatar: Avatar) -> np.ndarray:
    """(N,) whether a node is the head or hangs from it; every node of an avatar without a head."""
    inside = np.full(len(avatar.skeleton), "head" not in avatar.humanoid)
    if "head" in avatar.humanoid:
        inside |= avatar.skeleton.below(avatar.humanoid["head"])
    return inside


def _hair_joints(avatar: Avatar) -> np.ndarray:
    """(N,) whether a node is moved by a hair chain that hangs from the head."""
    joints = np.zeros(len(avatar.skeleton), dtype=bool)
    joints[avatar.hair.joints] = True
    return joints & _scalp(avatar)


def hair_parts(avatar: Avatar) -> list[int]:
    """Mesh parts that are hair: weighted to joints of chains that hang below the head (to any chain without a head).

    A part with few such weights counts, too, when it sits on the head and shares its material with one that has many:
    the cap of hair above a pony tail.
    """
    joints, scalp = _hair_joints(avatar), _scalp(avatar)
    moving = [_share(avatar, part, joints).mean() > HAIR_SHARE for part in avatar.parts]
    if "head" not in avatar.humanoid:
        return [i for i, moves in enumerate(moving) if moves]
    materials = {part.material for part, moves in zip(avatar.parts, moving, strict=True) if moves}
    found = []
    for i, part in enumerate(avatar.parts):
        capping = part.material in materials and _share(avatar, part, scalp).mean() > HEAD_SHARE
        if moving[i] or capping:
            found.append(i)
    return found


def _hair_materials(avatar: Avatar, names) -> set[int]:
    """Materials that carry a band of light: those of which hair makes up most triangles."""
    if names is None:
        hair = set(hair_parts(avatar))
    else:
        unknown = set(names) - {part.name for part in avatar.parts}
        if len(avatar.parts) and unknown == set(names) != set():
            raise ValueError(f"{avatar.name}: no mesh is named {', '.join(sorted(unknown))}")
        hair = {i for i, part in enumerate(avatar.parts) if part.name in names}
    inside, everywhere = {}, {}
    for i, part in enumerate(avatar.parts):
        everywhere[part.material] = everywhere.get(part.material, 0) + len(part.triangles)
        if i in hair:
            inside[part.material] = inside.get(part.material, 0) + len(part.triangles)
    return {m for m, n in inside.items() if n >= 0.5 * everywhere[m]}


def _device(width: int, rows: np.ndarray):
    """Device array of vectors with the rows of an array (n, width)."""
    out = ti.Vector.ndarray(width, ti.f32, len(rows))
    out.from_numpy(np.ascontiguousarray(rows, dtype=np.float32))
    return out
