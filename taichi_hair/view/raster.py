"""Raster: draws a scene into an array of pixels on the CPU, with no graphics driver and no display.

The same scene and camera give the same bytes for any number of threads.
"""

from dataclasses import dataclass

import numpy as np

from ..avatar.images import srgb_to_linear
from ..sim.backend import ti
from . import cover, resolve, surface
from .camera import Camera
from .overlay import Overlay, empty_overlay
from .scene import Scene

LAYERS = 4  # one opaque layer and the three nearest see-through ones


@dataclass(frozen=True)
class Stage:
    """What stands around the avatars. Colours are sRGB, chosen for looks."""

    top: tuple = (0.945, 0.957, 0.988)
    bottom: tuple = (0.725, 0.804, 0.906)
    floor: tuple = (0.800, 0.835, 0.900)
    shadow: float = 0.80  # times the floor's colour
    floor_radius: float = 1.6  # times the height of the scene
    ground: bool = True
    outlines: bool = True
    light: tuple = (-0.42, 0.85, 0.70)  # to the key light: right, up in the world, toward the camera


def key_light(camera: Camera, stage: Stage) -> np.ndarray:
    """(3,) unit direction to the light: it stands above the camera's shoulder, so that every side is lit as well."""
    right, _, forward = camera.axes
    flat = np.array([-np.sin(camera.yaw), 0.0, -np.cos(camera.yaw)]) if abs(forward[1]) > 0.999 else forward * [1, 0, 1]
    flat = flat / np.linalg.norm(flat)
    direction = stage.light[0] * right + stage.light[1] * np.array([0.0, 1.0, 0.0]) - stage.light[2] * flat
    return direction / np.linalg.norm(direction)


class Raster:
    """Draws one scene; keeps its buffers from picture to picture."""

    def __init__(self, scene: Scene):
        if ti.cfg.arch not in (ti.x64, ti.arm64):
            raise RuntimeError(
                f"the rasteriser needs Taichi on the CPU (its atomics lose updates on some GPU drivers), "
                f"Taichi runs on {ti.cfg.arch.name}"
            )
        self.scene = scene
        self._screen = ti.Vector.ndarray(3, ti.f32, 3 * scene.vertex_count)
        self._size = None
        values = np.arange(256) / 255.0
        self._decode = np.concatenate([srgb_to_linear(values), values]).astype(np.float32)
        steps = np.arange(resolve.ENCODE_STEPS) / (resolve.ENCODE_STEPS - 1)
        self._curve = surface.linear_to_srgb(steps**2).astype(np.float32)
        self._texels = scene.surfaces.texels.view(np.int32)

    def picture(
        self,
        camera: Camera,
        width: int,
        height: int,
        samples: int = 2,
        stage: Stage | None = None,
        overlay: Overlay | None = None,
    ) -> np.ndarray:
        """(height, width, 3) uint8 sRGB picture with samples x samples values averaged per pixel."""
        for name, value, low, high in (
            ("width", width, 1, 8192),
            ("height", height, 1, 8192),
            ("samples", samples, 1, 8),
        ):
            if not low <= value <= high:
                raise ValueError(f"picture: {name} is {value}, wanted {low} to {high}")
        if width * height * samples**2 > 1 << 27:
            raise ValueError(
                f"picture: {width} x {height} with {samples} x {samples} samples is more than 134 million samples"
            )
        stage = stage or Stage()
        scene = self.scene
        w, h = width * samples, height * samples
        see_through = scene.solid_count < scene.face_count
        layers = LAYERS if see_through else 1
        overlays = 2 if overlay is not None and len(overlay.triangles) else 0
        self._resize(w * h, layers + overlays)
        light = key_light(camera, stage)
        view = np.ascontiguousarray(camera.matrix(w, h), dtype=np.float32)
        pixel = float(2.0 * np.tan(0.5 * camera.fov) / height)
        cover.clear(self._keys, self._mask)
        outlines, shadows = int(stage.outlines and scene.lined_count > 0), int(stage.ground)
        cover.project(
            scene.points,
            scene.hull,
            scene.widths,
            view,
            self._screen,
            pixel,
            float(height),
            ti.math.vec3(*light),
            scene.ground,
            outlines,
            shadows,
        )
        count, vertices = scene.face_count, scene.vertex_count
        self._cover(w, h, camera.near, cover.MESH, 0, scene.solid_count, 0, 0, 0, 0)
        if outlines:
            self._cover(w, h, camera.near, cover.HULL, 0, scene.lined_count, vertices, count, 0, 0)
        if shadows:
            self._cover(w, h, camera.near, cover.SHADOW, 0, count, 2 * vertices, 0, 0, 0)
        for layer in range(1, layers):
            self._cover(w, h, camera.near, cover.MESH, scene.solid_count, count - scene.solid_count, 0, 0, layer, 1)
        drawn = overlay if overlays else empty_overlay()
        overlay_screen = np.zeros((len(drawn.points), 3), dtype=np.float32)
        if overlays:
            cover.project_plain(drawn.points, view, overlay_screen)
            split, end = drawn.first_chain, len(drawn.triangles)
            for i, (first, last) in enumerate(((0, split), (split, end))):
                self._cover_overlay(w, h, camera.near, drawn, overlay_screen, first, last - first, layers + i)
        out = np.zeros((height, width, 3), dtype=np.uint8)
        resolve.resolve(
            self._screen,
            scene.points,
            scene.normals,
            scene.uvs,
            scene.colors,
            scene.faces,
            scene.face_materials,
            scene.surfaces.table,
            self._texels,
            scene.surfaces.images,
            self._decode,
            self._curve,
            self._stage(camera, stage, light),
            self._keys,
            self._mask,
            overlay_screen,
            drawn.points,
            drawn.normals,
            drawn.colors,
            drawn.triangles,
            layers,
            overlays,
            layers,
            width,
            height,
            samples,
            out,
        )
        return out

    def _cover(self, w, h, near, kind, first, count, vertex_offset, id_offset, layer, peel) -> None:
        """One coverage pass over a run of the scene's triangles."""
        scene = self.scene
        cover.cover(
            self._screen,
            scene.faces,
            scene.face_materials,
            scene.surfaces.table,
            scene.uvs,
            scene.colors,
            self._texels,
            scene.surfaces.images,
            self._decode,
            self._keys,
            self._mask,
            w,
            h,
            near,
            kind,
            first,
            count,
            vertex_offset,
            id_offset,
            layer,
            peel,
        )

    def _cover_overlay(self, w, h, near, overlay, screen, first, count, layer) -> None:
        """One coverage pass over a run of the overlay's triangles."""
        scene = self.scene
        cover.cover(
            screen,
            overlay.triangles,
            scene.face_materials,
            scene.surfaces.table,
            scene.uvs,
            scene.colors,
            self._texels,
            scene.surfaces.images,
            self._decode,
            self._keys,
            self._mask,
            w,
            h,
            near,
            cover.OVERLAY,
            first,
            count,
            0,
            0,
            layer,
            0,
        )

    def _resize(self, samples: int, layers: int) -> None:
        """Buffers for that many samples and layers of keys."""
        if self._size != (layers, samples):
            self._keys = ti.ndarray(ti.i64, (layers, samples))
            self._mask = ti.ndarray(ti.i32, samples)
            self._size = (layers, samples)

    def _stage(self, camera: Camera, stage: Stage, light: np.ndarray) -> np.ndarray:
        """The stage's numbers in the order that `resolve` reads."""
        s = np.zeros(resolve.STAGE_SIZE, dtype=np.float32)
        right, up, forward = camera.axes
        floor = srgb_to_linear(stage.floor)
        dark = srgb_to_linear(np.asarray(stage.floor) * stage.shadow)
        for at, value in (
            (resolve.EYE, camera.eye),
            (resolve.RIGHT, right),
            (resolve.UP, up),
            (resolve.FORWARD, forward),
            (resolve.LIGHT, light),
            (resolve.TOP, srgb_to_linear(stage.top)),
            (resolve.BOTTOM, srgb_to_linear(stage.bottom)),
            (resolve.FLOOR, floor),
            (resolve.FLOOR_SHADOW, dark),
        ):
            s[at : at + 3] = value
        centre, radius = self.scene.footprint
        s[resolve.SLOPE] = np.tan(0.5 * camera.fov)
        s[resolve.CENTRE_X], s[resolve.CENTRE_Z] = centre
        s[resolve.RADIUS] = stage.floor_radius * radius
        s[resolve.GROUND], s[resolve.FLOOR_ON] = self.scene.ground, stage.ground
        return s
