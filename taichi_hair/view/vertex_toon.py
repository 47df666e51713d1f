"""Vertex toon: the rasteriser's look at the vertices, with hull and shadow, for GGUI, which has no texture and no ramp.

GGUI draws both sides of every triangle, so that unwanted ones are emptied in the index buffer of each frame.
"""

from ..sim.backend import ti
from . import surface
from .cover import line_width
from .toon import floats, ints, shade, table, vec3s, vec4s

faces_type = ti.types.ndarray(dtype=ti.math.ivec3, ndim=1)
indices_type = ti.types.ndarray(dtype=ti.i32, ndim=1)
SHADOW_LIFT = 0.002  # metres above the ground


@ti.func
def encode(c: ti.f32) -> ti.f32:
    """sRGB encoding of linear light, 0 to 1."""
    x = ti.math.clamp(c, 0.0, 1.0)
    return ti.select(x <= 0.0031308, 12.92 * x, 1.055 * ti.pow(ti.max(x, 0.0031308), 1.0 / 2.4) - 0.055)


@ti.kernel
def paint(
    points: vec3s,
    normals: vec3s,
    corners: faces_type,
    weights: vec3s,
    materials: ints,
    surfaces: table,
    albedo: vec4s,
    dark: vec3s,
    glow: vec3s,
    shift: floats,
    eye: ti.math.vec3,
    light: ti.math.vec3,
    out_points: ti.template(),
    out_colors: ti.template(),
):
    """One thread per fine vertex: its place and its shaded colour."""
    for v in range(corners.shape[0]):
        c, w = corners[v], weights[v]
        p = points[c[0]] * w.x + points[c[1]] * w.y + points[c[2]] * w.z
        n = normals[c[0]] * w.x + normals[c[1]] * w.y + normals[c[2]] * w.z
        n = n / ti.max(n.norm(), 1e-12)
        m = materials[v]
        to_eye = (eye - p).normalized()
        if surfaces[m, surface.BOTH_SIDES] > 0.5 and n.dot(to_eye) < 0.0:
            n = -n
        a = albedo[v]
        color = shade(surfaces, m, a.xyz, dark[v], glow[v], shift[v], n, to_eye, light)
        alpha = ti.select(surfaces[m, surface.MODE] == surface.BLEND, a.w, 1.0)
        out_points[v] = p
        out_colors[v] = ti.math.vec4(encode(color.x), encode(color.y), encode(color.z), alpha)


@ti.kernel
def outline(
    points: vec3s,
    hull: vec3s,
    widths: floats,
    eye: ti.math.vec3,
    forward: ti.math.vec3,
    pixel: ti.f32,
    height: ti.f32,
    light: ti.math.vec3,
    ground: ti.f32,
    out_hull: ti.template(),
    out_shadow: ti.template(),
):
    """One thread per coarse vertex: its place on the hull and in the flat shadow."""
    for v in range(points.shape[0]):
        p = points[v]
        out_hull[v] = p + hull[v] * line_width(widths[v], (p - eye).dot(forward), pixel, height)
        drop = ti.max(p.y - ground, 0.0) / light.y
        out_shadow[v] = ti.math.vec3(p.x - drop * light.x, ground + SHADOW_LIFT, p.z - drop * light.z)


@ti.kernel
def keep_faces(
    vertices: ti.template(), faces: faces_type, sides: ints, eye: ti.math.vec3, count: ti.i32, indices: indices_type
):
    """One thread per triangle: its corners, or nothing. Side 0 keeps both sides, 1 fronts only, -1 backs only."""
    for t in range(count):
        f = faces[t]
        a = vertices[f[0]]
        n = (vertices[f[1]] - a).cross(vertices[f[2]] - a)
        facing = n.dot(eye - a)
        keep = sides[t] == 0 or (sides[t] > 0 and facing > 0.0) or (sides[t] < 0 and facing < 0.0)
        for k in ti.static(range(3)):
            indices[3 * t + k] = ti.select(keep, f[k], 0)
