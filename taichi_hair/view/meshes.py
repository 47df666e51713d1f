"""Meshes: draws a scene through GGUI's own triangles, for a window where Taichi runs on a GPU."""

import numpy as np

from ..sim.backend import ti
from . import subdivide, surface, vertex_toon
from .camera import Camera
from .overlay import Overlay, overlay
from .raster import Stage, key_light
from .scene import Scene

TOONY_LIMIT = 0.88  # a steeper ramp between vertices zigzags along the triangles
DISC = 48  # corners of the ground disc
DISC_RINGS = 10
PULL_COLLIDERS, PULL_CHAINS = 0.1, 0.05  # of the way from the eye: the same place on the screen, in front of the body


class MeshPainter:
    """Draws one scene into a GGUI window; keeps its fields from frame to frame."""

    def __init__(self, scene: Scene):
        self.scene = scene
        self.table = scene.surfaces.table.copy()
        self.table[:, surface.TOONY] = np.minimum(self.table[:, surface.TOONY], TOONY_LIMIT)
        self._bake()
        fine, coarse = len(self.corners), scene.vertex_count
        self._points, self._colors = ti.Vector.field(3, ti.f32, fine), ti.Vector.field(4, ti.f32, fine)
        self._hull, self._ink = ti.Vector.field(3, ti.f32, coarse), ti.Vector.field(4, ti.f32, coarse)
        self._shadow = ti.Vector.field(3, ti.f32, coarse)
        self._ink.from_numpy(self._line_colors())
        self._back, self._back_color = ti.Vector.field(2, ti.f32, 6), ti.Vector.field(3, ti.f32, 6)
        self._back.from_numpy(np.array([[0, 0], [1, 0], [1, 1], [0, 0], [1, 1], [0, 1]], dtype=np.float32))
        disc = 1 + DISC * DISC_RINGS
        self._disc, self._disc_color = ti.Vector.field(3, ti.f32, disc), ti.Vector.field(4, ti.f32, disc)
        self._camera = ti.ui.Camera()
        self._stage = None
        self._over = None
        self._ggui = None

    def draw(
        self, window, canvas, camera: Camera, size, still: bool, same: bool, stage: Stage, over: Overlay | None
    ) -> None:
        """Background, ground, shadow, bodies, lines, see-through parts and overlays, in this order."""
        scene = self.scene
        if self._stage != stage:
            self._set_stage(stage)
        eye, light = ti.math.vec3(*camera.eye), ti.math.vec3(*key_light(camera, stage))
        pixel = float(2.0 * np.tan(0.5 * camera.fov) / size[1])
        vertex_toon.paint(
            scene.points,
            scene.normals,
            self.corners,
            self.weights,
            self.materials,
            self.table,
            self.albedo,
            self.dark,
            self.glow,
            self.shift,
            eye,
            light,
            self._points,
            self._colors,
        )
        forward = ti.math.vec3(*camera.axes[2])
        vertex_toon.outline(
            scene.points,
            scene.hull,
            scene.widths,
            eye,
            forward,
            pixel,
            float(size[1]),
            light,
            scene.ground,
            self._hull,
            self._shadow,
        )
        count, lined = len(self.triangles), scene.lined_count
        vertex_toon.keep_faces(self._points, self.triangles, self.sides, eye, count, self._indices)
        canvas.triangles(self._back, per_vertex_color=self._back_color)
        if self._ggui is None:
            self._ggui = window.get_scene()
        ggui = self._ggui
        self._camera.position(*camera.eye)
        self._camera.lookat(*(camera.eye + camera.axes[2]))
        self._camera.up(*camera.axes[1])
        self._camera.fov(float(np.degrees(camera.fov)))
        self._camera.z_near(camera.near)
        self._camera.z_far(max(100.0, 4.0 * camera.distance))
        ggui.set_camera(self._camera)
        ggui.ambient_light((1.0, 1.0, 1.0))
        if stage.ground and camera.eye[1] > scene.ground:
            ggui.mesh(self._disc, self._disc_faces, normals=self._disc, per_vertex_color=self._disc_color)
            ggui.mesh(self._shadow, self._shadow_faces, normals=self._shadow, color=self._shadow_color)
        solid = self._indices[: 3 * self.solid]
        ggui.mesh(self._points, solid, normals=self._points, per_vertex_color=self._colors)
        if stage.outlines and lined:
            vertex_toon.keep_faces(self._hull, scene.faces, self._backs, eye, lined, self._hull_indices)
            ggui.mesh(self._hull, self._hull_indices, normals=self._hull, per_vertex_color=self._ink)
        if self.solid < count:
            clear = self._indices[3 * self.solid :]
            ggui.mesh(self._points, clear, normals=self._points, per_vertex_color=self._colors)
        if over is not None:
            self._draw_overlay(ggui, camera, over)
        canvas.scene(ggui)

    def _bake(self) -> None:
        """The fine mesh of all avatars and its colours; copies of an avatar share the work."""
        scene = self.scene
        points, normals, uvs = (a.to_numpy() for a in (scene.points, scene.normals, scene.uvs))
        colors = scene.colors.to_numpy()
        colors = np.ones((scene.vertex_count, 4)) if len(colors) == 1 else colors
        parts = []
        for avatar, first, vertices, copies, first_material in scene.groups():
            own = np.flatnonzero((scene.faces[:, 0] >= first) & (scene.faces[:, 0] < first + vertices))
            here = slice(first, first + vertices)
            faces, face_materials = scene.faces[own] - first, scene.face_materials[own]
            textures = subdivide.textures_of(avatar, first_material)
            mesh = subdivide.subdivide(points[here], normals[here], uvs[here], faces, face_materials, textures)
            materials = np.zeros(len(mesh.corners), dtype=np.int32)
            materials[mesh.triangles] = face_materials[mesh.parents][:, None]
            looks = self._looks(avatar, first_material, mesh, materials, uvs[here], colors[here])
            visible = self._uncut(mesh, materials, looks[0])
            triangles, face_rows = mesh.triangles[visible], face_materials[mesh.parents][visible]
            for copy in range(copies):
                parts.append(
                    (mesh.corners + first + copy * vertices, mesh.weights, materials, *looks, triangles, face_rows)
                )
        starts = np.concatenate([[0], np.cumsum([len(p[0]) for p in parts])])
        joined = [np.concatenate([p[k] for p in parts]) for k in range(7)]
        self.corners = np.ascontiguousarray(joined[0], dtype=np.int32)
        self.weights = np.ascontiguousarray(joined[1], dtype=np.float32)
        self.materials = joined[2]
        self.albedo, self.dark, self.glow, self.shift = (np.ascontiguousarray(a, dtype=np.float32) for a in joined[3:])
        triangles = np.concatenate([p[7] + start for p, start in zip(parts, starts, strict=False)])
        rows = np.concatenate([p[8] for p in parts])
        blend = self.table[rows, surface.MODE] == surface.BLEND
        order = np.argsort(blend, kind="stable")
        self.triangles = np.ascontiguousarray(triangles[order], dtype=np.int32)
        self.solid = int((~blend).sum())
        self.sides = np.where(self.table[rows[order], surface.BOTH_SIDES] > 0.5, 0, 1).astype(np.int32)
        self._indices = np.zeros(3 * len(self.triangles), dtype=np.int32)
        self._backs = np.full(max(scene.lined_count, 1), -1, dtype=np.int32)
        self._hull_indices = np.zeros(3 * max(scene.lined_count, 1), dtype=np.int32)
        casting = self.table[scene.face_materials, surface.MODE] != surface.BLEND
        self._shadow_faces = np.ascontiguousarray(scene.faces[casting].reshape(-1))

    def _looks(self, avatar, first_material, mesh, materials, uvs, colors):
        """Baked albedo (F, 4), shade (F, 3), glow (F, 3) and shift (F,) of a fine mesh."""
        uvs, colors = (np.einsum("fk,fkc->fc", mesh.weights, a[mesh.corners]) for a in (uvs, colors))
        count = len(mesh.corners)
        out = (np.ones((count, 4)), np.zeros((count, 3)), np.zeros((count, 3)), np.zeros(count))
        for m, material in enumerate(avatar.materials):
            own = materials == first_material + m
            if own.any():
                found = subdivide.baked(avatar, material, uvs[own], colors[own], self.table[first_material + m])
                for target, value in zip(out, found, strict=True):
                    target[own] = value
        return out

    def _uncut(self, mesh, materials, albedo) -> np.ndarray:
        """(T,) fine triangles that are not cut away by a mask."""
        rows = self.table[materials]
        gone = (rows[:, surface.MODE] == surface.MASK) & (albedo[:, 3] < rows[:, surface.CUTOFF])
        return ~gone[mesh.triangles].all(axis=1)

    def _line_colors(self) -> np.ndarray:
        """(V, 4) sRGB colours of the hull's vertices: the ink, mixed with the surface's colour as the material says."""
        by_vertex = np.zeros(self.scene.vertex_count, dtype=np.int64)
        by_vertex[self.scene.faces] = self.scene.face_materials[:, None]
        base = np.ones((self.scene.vertex_count, 3), dtype=np.float32)
        whole = self.weights[:, 0] > 0.999  # fine vertices that are coarse ones
        base[self.corners[whole, 0]] = self.albedo[whole, :3]
        rows = self.table[by_vertex]
        mix = rows[:, surface.OUTLINE_MIX, None]
        ink = rows[:, surface.OUTLINE : surface.OUTLINE + 3] * (1.0 + (base - 1.0) * mix)
        encoded = surface.linear_to_srgb(np.clip(ink, 0.0, 1.0))
        return np.concatenate([encoded, np.ones((len(ink), 1))], axis=1).astype(np.float32)

    def _set_stage(self, stage: Stage) -> None:
        """Background, and the ground disc whose opacity falls to nothing at its rim."""
        self._stage = stage
        below, above = stage.bottom, stage.top
        self._back_color.from_numpy(np.array([below, below, above, below, above, above], dtype=np.float32))
        centre, size = self.scene.footprint
        turn = 2 * np.pi * np.arange(DISC) / DISC
        radii = stage.floor_radius * size * np.arange(1, DISC_RINGS + 1) / DISC_RINGS
        ring = np.stack([np.cos(turn), np.zeros(DISC), np.sin(turn)], axis=1)
        points = np.concatenate([np.zeros((1, 3)), (radii[:, None, None] * ring).reshape(-1, 3)])
        points += [centre[0], self.scene.ground, centre[1]]
        share = np.clip((1.0 - np.arange(DISC_RINGS + 1) / DISC_RINGS) / 0.75, 0.0, 1.0)
        alpha = share**2 * (3.0 - 2.0 * share)
        alpha = np.concatenate([alpha[:1], np.repeat(alpha[1:], DISC)])
        rgba = np.concatenate([np.tile(stage.floor, (len(points), 1)), alpha[:, None]], axis=1)
        k = np.arange(DISC)
        fan = np.stack([0 * k, 1 + (k + 1) % DISC, 1 + k], axis=1)
        r = np.arange(DISC_RINGS - 1)[:, None] * DISC + 1
        a, b = r + k, r + (k + 1) % DISC
        strips = np.stack([a, b, a + DISC, b, b + DISC, a + DISC], axis=-1).reshape(-1, 3)
        self._disc_faces = np.concatenate([fan, strips]).astype(np.int32).reshape(-1)
        self._disc.from_numpy(points.astype(np.float32))
        self._disc_color.from_numpy(rgba.astype(np.float32))
        self._shadow_color = tuple(float(c) * stage.shadow for c in stage.floor)

    def _draw_overlay(self, ggui, camera: Camera, over: Overlay) -> None:
        """Colliders from back to front, then chains, pulled toward the eye so that the body does not hide them."""
        if self._over is None:
            most = len(overlay(self.scene).points)
            self._over = (ti.Vector.field(3, ti.f32, most), ti.Vector.field(4, ti.f32, most))
        most = self._over[0].shape[0]
        points = over.points.astype(np.float64)
        away = points - camera.eye
        facing = np.abs(np.sum(over.normals * away, axis=1)) / np.maximum(np.linalg.norm(away, axis=1), 1e-9)
        chain = np.zeros(len(points), dtype=bool)
        chain[over.triangles[over.first_chain :]] = True
        rgba = over.colors.astype(np.float64)
        rgba[:, :3] = surface.linear_to_srgb(np.clip(rgba[:, :3], 0.0, 1.0))
        rgba[:, 3] *= np.where(chain, 1.0, 0.6 * (0.3 + 0.7 * (1.0 - facing) ** 2))
        pulled = camera.eye + away * np.where(chain, PULL_CHAINS, PULL_COLLIDERS)[:, None]
        corner = points[over.triangles]
        flat = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
        front = np.sum(flat * (camera.eye - corner[:, 0]), axis=1) < 0.0
        depth = np.where(np.arange(len(corner)) < over.first_chain, 0.0, -1e6) + np.linalg.norm(
            corner.mean(axis=1) - camera.eye, axis=1
        )
        order = np.argsort(-depth, kind="stable")
        faces = over.triangles[order[front[order]]]
        for field, values in zip(self._over, (pulled, rgba), strict=True):
            padded = np.zeros((most, values.shape[1]), dtype=np.float32)
            padded[: len(values)] = values
            field.from_numpy(padded)
        indices = np.ascontiguousarray(faces.reshape(-1), dtype=np.int32)
        if len(indices):
            ggui.mesh(self._over[0], indices, normals=self._over[0], per_vertex_color=self._over[1])
