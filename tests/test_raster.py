"""The rasteriser: coverage against a slow ray caster, colours by hand, the same bytes for any number of threads."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import figures
import numpy as np
import pytest
import taichi as ti

from taichi_hair.avatar.images import srgb_to_linear
from taichi_hair.view import toon
from taichi_hair.view.camera import Camera, frame
from taichi_hair.view.outline import merged_normals
from taichi_hair.view.raster import Raster, Stage, key_light
from taichi_hair.view.scene import Scene
from taichi_hair.view.surface import linear_to_srgb

EMPTY = Stage(top=(0, 0, 0), bottom=(0, 0, 0), ground=False, outlines=False)
LEVEL = Camera(target=(0.0, 0.0, 0.0), distance=3.0, pitch=0.0, fov=0.8)


def draw(parts, materials, camera=LEVEL, size=(64, 64), samples=1, stage=EMPTY, **more):
    """Picture of parts on a black stage."""
    return Raster(Scene(figures.avatar(parts, materials, **more))).picture(camera, *size, samples, stage)


def srgb(linear):
    """Bytes of a linear colour."""
    return np.round(255 * linear_to_srgb(np.asarray(linear, dtype=float))).astype(int)


def rays(camera, width, height):
    """(H, W, 3) unnormalised directions through pixel centres, one metre deep."""
    right, up, forward = camera.axes
    slope = np.tan(0.5 * camera.fov)
    u = (2 * (np.arange(width) + 0.5) / width - 1) * slope * width / height
    v = (1 - 2 * (np.arange(height) + 0.5) / height) * slope
    return forward + u[None, :, None] * right + v[:, None, None] * up


def cast(corners, camera, width, height):
    """(H, W) number of the nearest triangle of (T, 3, 3), -1 for none: Moeller and Trumbore, float64, no shortcuts."""
    d = rays(camera, width, height)
    best, depth = np.full((height, width), -1), np.full((height, width), np.inf)
    for t, (a, b, c) in enumerate(corners):
        e, f, s = b - a, c - a, camera.eye - a
        h = np.cross(d, f)
        det = h @ e
        safe = np.where(np.abs(det) < 1e-14, 1.0, det)
        u = (h @ s) / safe
        q = np.cross(s, e)
        v = (d @ q) / safe
        z = (f @ q) / safe
        hit = (np.abs(det) >= 1e-14) & (u >= 0) & (v >= 0) & (u + v <= 1) & (z >= camera.near) & (z < depth)
        best[hit], depth[hit] = t, z[hit]
    return best


def test_a_lit_square_has_its_own_colour_and_the_stage_shows_around_it():
    color = [0.6, 0.2, 0.1]
    picture = draw([figures.square()], [figures.flat(color)])
    assert np.abs(picture[32, 32] - srgb(color)).max() <= 1
    assert picture[2, 2].tolist() == [0, 0, 0]
    # Half a metre at 3 m, with half a field of view of 0.4 rad: 0.5 / (3 tan 0.4) x 32 = 12.6 pixels from the middle.
    covered = np.flatnonzero(picture[32, :, 0])
    assert (covered[0], covered[-1]) == (19, 44)


@pytest.mark.parametrize("behind", [False, True])
def test_random_triangles_equal_a_ray_caster(behind):
    rng = np.random.default_rng(3)
    count = 40
    middle = rng.uniform(-1, 1, (count, 1, 3)) * ([1, 1, 3] if behind else [1, 1, 1])
    corners = (middle + rng.normal(size=(count, 3, 3)) * (1.5 if behind else 0.4)).astype(np.float32).astype(float)
    camera = LEVEL.orbited(0.3, 0.2)
    depth = (corners - camera.eye) @ camera.axes[2]
    assert (
        (depth.min(1) < 0) & (depth.max(1) > camera.near)
    ).any() == behind  # some cross the near plane, or none does
    colors = rng.uniform(0.2, 1.0, (count, 3))
    parts = [figures.part(c, [[0, 1, 2]], material=i) for i, c in enumerate(corners)]
    picture = draw(parts, [figures.flat(c, double_sided=True) for c in colors], camera, (160, 120))
    expected = cast(corners, camera, 160, 120)
    shown = np.where(expected[..., None] < 0, 0, srgb(colors)[expected])
    # The light on edges seen edge-on brightens a surface, so that triangles are told apart by hue.
    cosine = (picture * shown).sum(-1) / np.maximum(
        np.linalg.norm(picture, axis=-1) * np.linalg.norm(shown, axis=-1), 1
    )
    wrong = ((expected < 0) != (picture.sum(-1) == 0)) | ((expected >= 0) & (cosine < 0.97))
    assert (expected >= 0).mean() > 0.3
    assert wrong.mean() < 0.002


def test_a_floor_under_the_camera_is_drawn_up_to_the_near_plane():
    camera = replace(LEVEL, pitch=0.15)
    corners = np.array([[(-9.0, -0.4, 30.0), (9.0, -0.4, 30.0), (0.0, -0.4, -6.0)]])  # only the last lies in front
    depth = (corners[0] - camera.eye) @ camera.axes[2]
    assert (depth < 0).tolist() == [True, True, False]
    picture = draw(
        [figures.part(corners[0], [(0, 1, 2)], normals=[(0, 1, 0)] * 3)], [figures.flat([1, 1, 1])], camera, (80, 60)
    )
    expected = cast(corners, camera, 80, 60) >= 0
    assert expected[-1].all() and 0.3 < expected.mean() < 0.7
    assert ((picture.sum(-1) > 0) != expected).sum() <= 2


def test_textures_lie_the_right_way_up_and_follow_perspective():
    image = np.zeros((2, 2, 4), np.uint8)
    image[..., 3] = 255
    image[0, 0, 0] = image[0, 1, 1] = image[1, 0, 2] = 255
    white = figures.flat([1, 1, 1], texture=0, shade_texture=0)
    picture = draw([figures.square(half=1.0)], [white], images=(image,))
    # The middle of each quarter is the centre of a texel.
    assert [int(picture[y, x].argmax()) for y, x in ((20, 20), (20, 44), (44, 20))] == [0, 1, 2]
    assert picture[44, 44].max() < 30
    # A floor seen at an angle: the texture's middle line must lie where the ray through it meets the floor.
    stripe = np.zeros((64, 4, 4), np.uint8)
    stripe[..., 3] = 255
    stripe[32:, :, 0] = 255
    floor = figures.part(
        [(-1, 0, -2), (-1, 0, 2), (1, 0, 2), (1, 0, -2)],
        [(0, 1, 2), (0, 2, 3)],
        normals=[(0, 1, 0)] * 4,
        uvs=np.array([[0, 0], [0, 1], [1, 1], [1, 0]], float),
    )
    camera = replace(LEVEL, pitch=0.4)
    picture = draw([floor], [white], camera, (64, 200), images=(stripe,))
    d = rays(camera, 64, 200)[:, 32]
    z = camera.eye[2] - d[:, 2] / d[:, 1] * camera.eye[1]
    covered = (np.abs(z) < 1.95) & (np.abs(z) > 0.1)
    assert covered.sum() > 50
    assert ((picture[:, 32, 0] > 128) == (z > 0))[covered].all()


@pytest.mark.parametrize(("wrap", "expected"), [("repeat", 0), ("mirror", 255), ("clamp", 255)])
def test_textures_go_on_beyond_their_edge_as_the_file_says(wrap, expected):
    image = np.zeros((1, 8, 4), np.uint8)
    image[..., 3] = 255
    image[:, 4:, 0] = 255  # dark left half, bright right half
    square = replace(figures.square(), uvs=np.array([[1.0, 0], [1.0, 1], [1.5, 1], [1.5, 0]]))
    material = figures.flat([1, 1, 1], texture=0, shade_texture=0, texture_wrap=(wrap, "repeat"))
    picture = draw([square], [material], images=(image,))
    assert abs(int(picture[32, 26, 0]) - expected) < 30  # u = 1.12, away from the seam


def test_back_faces_of_one_sided_materials_are_not_drawn():
    away = [figures.square(facing=-1.0)]
    assert draw(away, [figures.flat([1, 1, 1])]).max() == 0
    assert draw(away, [figures.flat([1, 1, 1], double_sided=True)]).max() > 200


def test_masked_texels_leave_a_hole_through_which_the_square_behind_shows():
    image = np.full((2, 2, 4), 255, np.uint8)
    image[:, 0, 3] = 80
    front = figures.flat([1, 0, 0], texture=0, shade_texture=0, alpha_mode="MASK", alpha_cutoff=0.5)
    parts = [figures.square(z=0.5, half=0.6), figures.square(z=-0.5, half=0.9, material=1)]
    picture = draw(parts, [front, figures.flat([0, 0, 1])], images=(image,))
    assert picture[32, 24].tolist() == [0, 0, 255] and picture[32, 40].tolist() == [255, 0, 0]


def test_see_through_layers_blend_in_linear_light_nearest_on_top():
    red, green = figures.flat([1, 0, 0, 0.5], alpha_mode="BLEND"), figures.flat([0, 1, 0, 0.25], alpha_mode="BLEND")
    parts = [
        figures.square(z=0.4, material=0),  # nearest: half red
        figures.square(z=0.0, material=1, half=0.8),  # then a quarter of green
        figures.square(z=-0.5, material=2, half=1.5),  # over blue
    ]
    picture = draw(parts, [red, green, figures.flat([0, 0, 1])])
    # Blue; a quarter green over it is (0, 1/4, 3/4); half red over that is (1/2, 1/8, 3/8).
    assert np.abs(picture[32, 32] - srgb([0.5, 0.125, 0.375])).max() <= 1


def test_vertex_colours_tint_and_interpolate():
    square = replace(figures.square(), colors=np.array([[0, 0, 0, 1], [0, 0, 0, 1], [1, 1, 1, 1], [1, 1, 1, 1.0]]))
    picture = draw([square], [figures.flat([1, 1, 1])])
    # Halfway across, linear light 1/2. The centre of pixel 32 lies half a pixel beyond the middle of 25.2: 0.52.
    assert np.abs(picture[32, 32] - srgb([0.52] * 3)).max() <= 2


def test_the_ramp_is_mtoons_linear_step():
    @ti.kernel
    def ramp(n_dot_l: ti.f32, shift: ti.f32, toony: ti.f32) -> ti.f32:
        return toon.ramp(n_dot_l, shift, toony)

    # linearstep(-1 + toony, 1 - toony, n.l + shift): with toony 0.5 it rises from -0.5 to 0.5.
    assert ramp(0.0, 0.0, 0.5) == pytest.approx(0.5)
    assert ramp(0.25, 0.0, 0.5) == pytest.approx(0.75)
    assert ramp(0.25, -0.5, 0.5) == pytest.approx(0.25)
    assert (ramp(-0.6, 0.0, 0.5), ramp(0.6, 0.0, 0.5)) == (0.0, 1.0)


def test_the_side_away_from_the_light_has_the_shade_colour():
    material = replace(figures.flat([0.8, 0.8, 0.8]), shade_color=np.array([0.3, 0.1, 0.1]), shading_toony=0.9)
    light = key_light(LEVEL, EMPTY)
    for facing, color in ((light, [0.8] * 3), (-light, [0.3, 0.1, 0.1])):
        square = figures.square(half=2.0)
        square = replace(square, normals=np.tile(facing, (4, 1)))
        if facing[2] < 0:  # the corner normals face away, the triangle faces the camera
            material = replace(material, double_sided=False)
        picture = draw([square], [material])
        grey = picture[32, 32]
        assert np.abs(grey.astype(int) - srgb(color)).max() <= 24 and (grey[0] == grey[1]) == (color[0] == color[1])


def test_a_shading_shift_texture_lights_what_the_ramp_would_darken():
    image = np.full((1, 1, 4), 255, np.uint8)
    away = replace(figures.square(), normals=np.tile([0.0, -0.6, 0.8], (4, 1)))
    dark = replace(figures.flat([0.8, 0.8, 0.8]), shade_color=np.zeros(3), shading_shift=-0.4)
    lit = replace(dark, shading_shift_texture=0)
    values = [int(draw([away], [m], images=(image,))[32, 32, 0]) for m in (dark, lit)]
    assert values[0] < 60 and values[1] > 220


def test_lines_run_around_the_silhouette_only_where_the_mask_lets_them():
    mask = np.zeros((4, 8, 4), np.uint8)
    mask[:, :4, 1] = 255  # the half of the ball with u below 1/2, which is its +x side
    material = replace(
        figures.flat([1, 1, 1]),
        outline_width=0.02,
        outline_mode="worldCoordinates",
        outline_color=np.array([1.0, 0, 0]),
    )
    stage = replace(EMPTY, outlines=True)
    red = {}
    for name, m, s in (
        ("none", material, EMPTY),
        ("all", material, stage),
        ("masked", replace(material, outline_texture=0), stage),
    ):
        picture = draw([figures.ball()], [m], stage=s, images=(mask,), size=(128, 128)).astype(int)
        line = (picture[..., 0] > 100) & (picture[..., 1] < 60)
        red[name] = (int(line[:, :56].sum()), int(line[:, 72:].sum()))
    assert red["none"] == (0, 0)
    assert min(red["all"]) > 60
    assert red["masked"][0] < 5 and red["masked"][1] > 60


def test_a_hull_does_not_tear_at_split_vertices_nor_swallow_sheets():
    # A corner of a cube, stored once for each of its three faces: all three move along the diagonal.
    corner = figures.part([(1, 1, 1)] * 3, [(0, 1, 2)], normals=np.eye(3))
    diagonal = np.full((3, 3), 3**-0.5)
    np.testing.assert_allclose(merged_normals(figures.avatar([corner], []), [corner]), diagonal, atol=1e-12)
    # The two sides of a sheet face away from each other: each keeps its own normal.
    sheet = figures.part([(0, 0, 0)] * 2, [(0, 1, 0)], normals=[(0, 0, 1), (0, 0, -1)])
    np.testing.assert_allclose(merged_normals(figures.avatar([sheet], []), [sheet]), sheet.normals)
    # Equal places on different skins are stored in different spaces and have nothing to do with each other.
    other = replace(corner, skin=1)
    both = merged_normals(figures.avatar([corner, other], []), [corner, other])
    np.testing.assert_allclose(both[:3], diagonal, atol=1e-12)


def test_the_shadow_has_one_colour_and_lies_away_from_the_light():
    stage = Stage(top=(1, 1, 1), bottom=(1, 1, 1), floor=(0.8, 0.8, 0.8), shadow=0.5, floor_radius=50.0, outlines=False)
    scene = Scene(figures.avatar([figures.ball(0.3, (0, 0.3, 0))], [figures.flat([1, 0, 0])]))
    camera = Camera((0, 0.2, 0), 4.0, 0.0, 0.5, 0.7)
    picture = Raster(scene).picture(camera, 200, 200, 1, stage).astype(int)
    floor, shadow = round(255 * 0.8), round(255 * 0.4)
    grey = np.ptp(picture, axis=-1) == 0
    dark = grey & (np.abs(picture[..., 0] - shadow) < 12)
    assert dark.sum() > 200 and np.unique(picture[..., 0][dark & (picture[..., 0] < 120)]).size <= 12
    assert np.abs(np.median(picture[150:, :, 0]) - floor) < 4
    rows, columns = np.nonzero(dark)
    light = key_light(camera, stage)
    assert light[0] < 0 < light[2] and columns.mean() > 100 and rows.mean() < 110  # to the right, and behind


def test_supersampling_averages():
    square = [figures.square(half=0.31)]
    coarse, fine = (draw(square, [figures.flat([1, 1, 1])], samples=s) for s in (1, 3))
    assert set(np.unique(coarse)) == {0, 255}
    assert ((fine > 20) & (fine < 235)).sum() > 30


def test_the_camera_frames_what_it_is_given():
    points = np.random.default_rng(0).uniform(-1, 1, (50, 3)) * [0.3, 0.9, 0.2]
    for view in ("front", "side", "back", "three_quarter"):
        camera = frame(points, view, aspect=0.75, margin=1.0)
        x, y, w = camera.matrix(300, 400) @ np.concatenate([points, np.ones((50, 1))], axis=1).T
        x, y = x / w, y / w
        assert x.min() > -0.01 and x.max() < 300.01 and y.min() > -0.01 and y.max() < 400.01
        assert min(x.min(), 300 - x.max()) < 0.6 or min(y.min(), 400 - y.max()) < 0.6  # it touches the frame
    with pytest.raises(ValueError, match="view 'below' is unknown, wanted one of front"):
        frame(points, "below")
    with pytest.raises(ValueError, match="finite points"):
        frame(np.full((2, 3), np.nan))


@pytest.mark.parametrize("bad", [{"width": 0}, {"height": 9000}, {"samples": 9}, {"width": 8000, "height": 8000}])
def test_sizes_out_of_range_are_refused(bad):
    raster = Raster(Scene(figures.tailed()))
    with pytest.raises(ValueError, match="picture: "):
        raster.picture(LEVEL, **{"width": 64, "height": 64, "samples": 2, **bad})


SCRIPT = """
import sys, hashlib
sys.path.insert(0, sys.argv[2])
import figures, numpy as np
from taichi_hair.sim.backend import init
init("cpu", threads=int(sys.argv[1]))
from taichi_hair.view.camera import frame
from taichi_hair.view.overlay import overlay
from taichi_hair.view.outline import merged_normals
from taichi_hair.view.raster import Raster
from taichi_hair.view.scene import Scene
scene = Scene(figures.tailed())
picture = Raster(scene).picture(frame(scene.positions(), "three_quarter"), 200, 300, 2, overlay=overlay(scene))
print(hashlib.sha256(picture.tobytes()).hexdigest(), len(np.unique(picture)))
"""


def test_threads_and_runs_give_the_same_bytes_without_display_or_driver():
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    env |= {"VK_ICD_FILENAMES": "/nowhere.json", "VK_DRIVER_FILES": "/nowhere.json"}
    here = str(Path(__file__).parent)
    found = set()
    for threads in ("1", "2", "2"):
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT, threads, here],
            capture_output=True,
            text=True,
            env=env,
            check=True,
            timeout=120,
        )
        digest, colors = run.stdout.split()
        assert int(colors) > 50
        found.add(digest)
    assert len(found) == 1 and len(next(iter(found))) == hashlib.sha256().digest_size * 2


def test_tables_between_linear_light_and_srgb_are_inverse():
    values = np.linspace(0, 1, 101)
    np.testing.assert_allclose(linear_to_srgb(srgb_to_linear(values)), values, atol=1e-12)
