"""Coverage: which triangle is nearest at each sample of the picture, found by rasterising in homogeneous coordinates.

A sample holds one 64-bit key, the bits of its distance above the number of the triangle, so that one atomic minimum
settles distance and ties at once and pictures do not depend on the order of threads. Triangles that cross the near
plane need no clipping: the edge functions of Olano and Greer (1997) hold behind the eye, too. For the CPU only: atomics
under divergent flow lose updates on some Vulkan drivers.
"""

from ..sim.backend import ti
from . import surface
from .toon import floats, ints, itable, table, texture, vec2s, vec3s, vec4s

keys_type = ti.types.ndarray(dtype=ti.i64, ndim=2)
triangles_type = ti.types.ndarray(dtype=ti.math.ivec3, ndim=1)

MESH, HULL, SHADOW, OVERLAY = 0, 1, 2, 3
REFERENCE_LINE = 0.0011  # metres; lines grow with distance so that this width stays LINE_PIXELS wide
LINE_PIXELS = 0.8
EDGE_TOLERANCE = 1e-4  # barycentric; closes the cracks that rounding would leave along shared edges
INVISIBLE = 1.0 / 255.0
SAME_LAYER = 2e-6  # of the distance; triangles that share an edge must not count as two layers along it


@ti.kernel
def clear(keys: keys_type, mask: ints):
    """Nothing is covered."""
    for p in range(keys.shape[1]):
        for k in range(keys.shape[0]):
            keys[k, p] = (ti.cast(0x7FFFFFFF, ti.i64) << 32) | ti.cast(0x7FFFFFFF, ti.i64)
        mask[p] = 0


@ti.func
def to_screen(view: table, p: ti.math.vec3) -> ti.math.vec3:
    """(x w, y w, w) of a world point."""
    return ti.math.vec3(
        view[0, 0] * p.x + view[0, 1] * p.y + view[0, 2] * p.z + view[0, 3],
        view[1, 0] * p.x + view[1, 1] * p.y + view[1, 2] * p.z + view[1, 3],
        view[2, 0] * p.x + view[2, 1] * p.y + view[2, 2] * p.z + view[2, 3],
    )


@ti.func
def line_width(width: ti.f32, depth: ti.f32, pixel: ti.f32, height: ti.f32) -> ti.f32:
    """Width of an outline in metres. `pixel` is a pixel's size at 1 m; a negative width is a fraction of the height."""
    at = ti.max(depth, 0.0) * pixel
    metres = width * ti.max(1.0, LINE_PIXELS * at / REFERENCE_LINE)
    return ti.select(width < 0.0, -width * height * at, metres)


@ti.kernel
def project(
    points: vec3s,
    hull: vec3s,
    widths: floats,
    view: table,
    screen: vec3s,
    pixel: ti.f32,
    height: ti.f32,
    light: ti.math.vec3,
    ground: ti.f32,
    outlines: ti.i32,
    shadows: ti.i32,
):
    """One thread per vertex: its place on the screen, that of its hull and that of its shadow, one after the other."""
    count = points.shape[0]
    for v in range(count):
        p = points[v]
        on_screen = to_screen(view, p)
        screen[v] = on_screen
        if outlines == 1:
            screen[count + v] = to_screen(view, p + hull[v] * line_width(widths[v], on_screen.z, pixel, height))
        if shadows == 1:
            # Points below the ground cast straight up, so that no shadow runs toward the light.
            drop = ti.max(p.y - ground, 0.0) / light.y
            flat = ti.math.vec3(p.x - drop * light.x, ground, p.z - drop * light.z)
            screen[2 * count + v] = to_screen(view, flat)


@ti.kernel
def project_plain(points: vec3s, view: table, screen: vec3s):
    """One thread per vertex: its place on the screen."""
    for v in range(points.shape[0]):
        screen[v] = to_screen(view, points[v])


@ti.func
def grow(box: ti.math.vec4, a: ti.math.vec3, b: ti.math.vec3, near: ti.f32) -> ti.math.vec4:
    """Box (x0, y0, x1, y1) widened by the part of the edge from a to b that lies before the near plane."""
    out = box
    if a.z >= near:
        x, y = a.x / a.z, a.y / a.z
        out = ti.math.vec4(ti.min(out.x, x), ti.min(out.y, y), ti.max(out.z, x), ti.max(out.w, y))
    if (a.z >= near) != (b.z >= near):
        t = (near - a.z) / (b.z - a.z)
        x, y = (a.x + t * (b.x - a.x)) / near, (a.y + t * (b.y - a.y)) / near
        out = ti.math.vec4(ti.min(out.x, x), ti.min(out.y, y), ti.max(out.z, x), ti.max(out.w, y))
    return out


@ti.kernel
def cover(
    screen: vec3s,
    triangles: triangles_type,
    materials: ints,
    surfaces: table,
    uvs: vec2s,
    colors: vec4s,
    texels: ints,
    images: itable,
    decode: floats,
    keys: keys_type,
    mask: ints,
    width: ti.i32,
    height: ti.i32,
    near: ti.f32,
    kind: ti.i32,
    first: ti.i32,
    count: ti.i32,
    vertex_offset: ti.i32,
    id_offset: ti.i32,
    layer: ti.i32,
    peel: ti.i32,
):
    """One thread per triangle: writes its key wherever it is nearest. With peel = 1, only behind the layer before."""
    for t in range(first, first + count):
        tri = triangles[t]
        a = screen[vertex_offset + tri[0]]
        b = screen[vertex_offset + tri[1]]
        c = screen[vertex_offset + tri[2]]
        box = ti.math.vec4(1e9, 1e9, -1e9, -1e9)
        box = grow(box, a, b, near)
        box = grow(box, b, c, near)
        box = grow(box, c, a, near)
        x0 = ti.cast(ti.math.clamp(ti.ceil(box.x - 0.501), 0.0, 1e5), ti.i32)
        y0 = ti.cast(ti.math.clamp(ti.ceil(box.y - 0.501), 0.0, 1e5), ti.i32)
        x1 = ti.cast(ti.math.clamp(ti.floor(box.z - 0.499), -1.0, width - 1.0), ti.i32)
        y1 = ti.cast(ti.math.clamp(ti.floor(box.w - 0.499), -1.0, height - 1.0), ti.i32)
        if x0 <= x1 and y0 <= y1:
            # Coordinates are taken from the box's corner, so that products stay small and exact enough.
            ox, oy = x0 + 0.5, y0 + 0.5
            a = ti.math.vec3(a.x - ox * a.z, a.y - oy * a.z, a.z)
            b = ti.math.vec3(b.x - ox * b.z, b.y - oy * b.z, b.z)
            c = ti.math.vec3(c.x - ox * c.z, c.y - oy * c.z, c.z)
            ea, eb, ec = b.cross(c), c.cross(a), a.cross(b)
            det = a.dot(ea)
            mode, both, m = surface.OPAQUE, 1, 0
            if kind != OVERLAY:
                m = materials[t]
                mode = ti.cast(surfaces[m, surface.MODE], ti.i32)
                both = ti.cast(surfaces[m, surface.BOTH_SIDES], ti.i32)
            # The picture's y runs down, so that a triangle seen from its front has a negative determinant.
            seen = det != 0.0
            if kind == MESH and both == 0:
                seen = det < 0.0
            if kind == HULL:
                seen = det > 0.0
            if seen:
                ea, eb, ec = ea / det, eb / det, ec / det
                for y in range(y0, y1 + 1):
                    dy = ti.cast(y - y0, ti.f32)
                    for x in range(x0, x1 + 1):
                        dx = ti.cast(x - x0, ti.f32)
                        la = ea.x * dx + ea.y * dy + ea.z
                        lb = eb.x * dx + eb.y * dy + eb.z
                        lc = ec.x * dx + ec.y * dy + ec.z
                        total = la + lb + lc
                        if total > 0.0 and ti.min(la, lb, lc) >= -EDGE_TOLERANCE * total:
                            depth = 1.0 / total
                            p = y * width + x
                            key = (ti.cast(ti.bit_cast(depth, ti.i32), ti.i64) << 32) | ti.cast(t + id_offset, ti.i64)
                            wanted = depth >= near
                            if kind == SHADOW:
                                wanted = wanted and mask[p] == 0
                            else:
                                wanted = wanted and key < keys[layer, p]
                            if peel == 1:
                                wanted = wanted and key < keys[0, p]
                                if layer > 1:
                                    before = ti.bit_cast(ti.cast(keys[layer - 1, p] >> 32, ti.i32), ti.f32)
                                    wanted = wanted and depth > before * (1.0 + SAME_LAYER)
                            if wanted and mode != surface.OPAQUE:
                                alpha = surfaces[m, surface.BASE + 3]
                                s = 1.0 / total
                                if colors.shape[0] > 1:
                                    alpha *= (colors[tri[0]].w * la + colors[tri[1]].w * lb + colors[tri[2]].w * lc) * s
                                image = ti.cast(surfaces[m, surface.BASE_IMAGE], ti.i32)
                                if image >= 0:
                                    uv = (uvs[tri[0]] * la + uvs[tri[1]] * lb + uvs[tri[2]] * lc) * s
                                    wrap = ti.cast(surfaces[m, surface.WRAP], ti.i32)
                                    alpha *= texture(texels, images, decode, 256, image, uv, wrap).w
                                limit = INVISIBLE
                                if mode == surface.MASK:
                                    limit = surfaces[m, surface.CUTOFF]
                                if kind == SHADOW:
                                    limit = ti.max(limit, 0.5)
                                wanted = alpha >= limit
                            if wanted:
                                if kind == SHADOW:
                                    mask[p] = 1
                                else:
                                    ti.atomic_min(keys[layer, p], key)
