"""Resolve: from the nearest triangles of every sample to the colour of every pixel."""

from ..sim.backend import ti
from . import surface
from .cover import keys_type, triangles_type
from .toon import floats, ints, itable, shade, smooth, table, texture, vec2s, vec3s, vec4s

bytes_type = ti.types.ndarray(dtype=ti.u8, ndim=3)
ENCODE_STEPS = 1024  # entries of the table from linear light to sRGB, over the square root of the value

# Layout of the stage's numbers (float32): colours are linear.
EYE, RIGHT, UP, FORWARD, LIGHT = 0, 3, 6, 9, 12
SLOPE = 15  # tangent of half the field of view
TOP, BOTTOM, FLOOR, FLOOR_SHADOW = 16, 19, 22, 25
CENTRE_X, CENTRE_Z, RADIUS, GROUND, FLOOR_ON = 28, 29, 30, 31, 32
STAGE_SIZE = 33


@ti.func
def vector(stage: floats, at: ti.i32) -> ti.math.vec3:
    """Three numbers of the stage."""
    return ti.math.vec3(stage[at], stage[at + 1], stage[at + 2])


@ti.func
def encode(value: ti.f32, curve: floats) -> ti.f32:
    """sRGB encoding from the table, 0 to 1."""
    x = ti.sqrt(ti.math.clamp(value, 0.0, 1.0)) * (ENCODE_STEPS - 1)
    i = ti.min(ti.cast(x, ti.i32), ENCODE_STEPS - 2)
    return curve[i] + (curve[i + 1] - curve[i]) * (x - i)


@ti.func
def backdrop(stage: floats, ray: ti.math.vec3, v: ti.f32, shadowed: ti.i32) -> ti.math.vec3:
    """Background gradient, with the ground disc that fades out toward its rim, and the flat shadow on it."""
    colour = vector(stage, TOP) + (vector(stage, BOTTOM) - vector(stage, TOP)) * v
    eye = vector(stage, EYE)
    if stage[FLOOR_ON] > 0.5 and ray.y < -1e-4 and eye.y > stage[GROUND]:
        hit = eye + ray * ((stage[GROUND] - eye.y) / ray.y)
        dx, dz = hit.x - stage[CENTRE_X], hit.z - stage[CENTRE_Z]
        far = ti.sqrt(dx * dx + dz * dz) / stage[RADIUS]
        floor = vector(stage, FLOOR)
        if shadowed == 1:
            floor = vector(stage, FLOOR_SHADOW)
        colour += (floor - colour) * smooth(1.0, 0.25, far)
    return colour


@ti.func
def barycentric(a: ti.math.vec3, b: ti.math.vec3, c: ti.math.vec3, x: ti.f32, y: ti.f32) -> ti.math.vec3:
    """Perspective-correct weights of a triangle's corners (x w, y w, w) at a sample."""
    pa = ti.math.vec2(a.x - x * a.z, a.y - y * a.z)
    pb = ti.math.vec2(b.x - x * b.z, b.y - y * b.z)
    pc = ti.math.vec2(c.x - x * c.z, c.y - y * c.z)
    la, lb, lc = pb.cross(pc), pc.cross(pa), pa.cross(pb)
    total = la + lb + lc
    return ti.math.vec3(la, lb, lc) / ti.select(total == 0.0, 1.0, total)


@ti.kernel
def resolve(
    screen: vec3s,
    points: vec3s,
    normals: vec3s,
    uvs: vec2s,
    colors: vec4s,
    triangles: triangles_type,
    materials: ints,
    surfaces: table,
    texels: ints,
    images: itable,
    decode: floats,
    curve: floats,
    stage: floats,
    keys: keys_type,
    mask: ints,
    overlay_screen: vec3s,
    overlay_points: vec3s,
    overlay_normals: vec3s,
    overlay_colors: vec4s,
    overlay_triangles: triangles_type,
    overlay_layer: ti.i32,
    overlays: ti.i32,
    layers: ti.i32,
    width: ti.i32,
    height: ti.i32,
    samples: ti.i32,
    picture: bytes_type,
):
    """One thread per pixel: shades its samples (opaque, then see-through layers back to front, then overlays)."""
    empty = (ti.cast(0x7FFFFFFF, ti.i64) << 32) | ti.cast(0x7FFFFFFF, ti.i64)
    vertices = points.shape[0]
    faces = triangles.shape[0]
    eye = vector(stage, EYE)
    light = vector(stage, LIGHT)
    for pixel in range(width * height):
        px, py = pixel % width, pixel // width
        total = ti.math.vec3(0.0)
        for s in range(samples * samples):
            sx, sy = px * samples + s % samples, py * samples + s // samples
            x, y = sx + 0.5, sy + 0.5
            p = sy * width * samples + sx
            u = (2.0 * x / (width * samples) - 1.0) * width / height * stage[SLOPE]
            v = (1.0 - 2.0 * y / (height * samples)) * stage[SLOPE]
            ray = (vector(stage, FORWARD) + vector(stage, RIGHT) * u + vector(stage, UP) * v).normalized()
            colour = ti.math.vec3(0.0)
            if keys[0, p] == empty:
                colour = backdrop(stage, ray, y / (height * samples), mask[p])
            for i in range(layers):
                layer = ti.select(i == 0, 0, layers - i)
                key = keys[layer, p]
                if key != empty:
                    number = ti.cast(key & ti.cast(0x7FFFFFFF, ti.i64), ti.i32)
                    is_line = number >= faces
                    f = ti.select(is_line, number - faces, number)
                    shift_v = ti.select(is_line, vertices, 0)
                    tri = triangles[f]
                    w = barycentric(screen[shift_v + tri[0]], screen[shift_v + tri[1]], screen[shift_v + tri[2]], x, y)
                    m = materials[f]
                    uv = uvs[tri[0]] * w.x + uvs[tri[1]] * w.y + uvs[tri[2]] * w.z
                    base = ti.math.vec4(
                        surfaces[m, surface.BASE],
                        surfaces[m, surface.BASE + 1],
                        surfaces[m, surface.BASE + 2],
                        surfaces[m, surface.BASE + 3],
                    )
                    tint = ti.math.vec3(1.0)
                    if colors.shape[0] > 1:
                        c = colors[tri[0]] * w.x + colors[tri[1]] * w.y + colors[tri[2]] * w.z
                        base *= c
                        tint = c.xyz
                    image = ti.cast(surfaces[m, surface.BASE_IMAGE], ti.i32)
                    wrap = ti.cast(surfaces[m, surface.WRAP], ti.i32)
                    texel = ti.math.vec4(1.0)
                    if image >= 0:
                        texel = texture(texels, images, decode, 0, image, uv, wrap)
                    base *= texel
                    found = ti.math.vec3(0.0)
                    if is_line:
                        ink = ti.math.vec3(
                            surfaces[m, surface.OUTLINE],
                            surfaces[m, surface.OUTLINE + 1],
                            surfaces[m, surface.OUTLINE + 2],
                        )
                        found = ink * (1.0 + (base.xyz - 1.0) * surfaces[m, surface.OUTLINE_MIX])
                    else:
                        dark = tint * ti.math.vec3(
                            surfaces[m, surface.SHADE], surfaces[m, surface.SHADE + 1], surfaces[m, surface.SHADE + 2]
                        )
                        dark_image = ti.cast(surfaces[m, surface.SHADE_IMAGE], ti.i32)
                        if dark_image >= 0:
                            if dark_image == image:
                                dark *= texel.xyz
                            else:
                                dark *= texture(texels, images, decode, 0, dark_image, uv, wrap).xyz
                        glow = ti.math.vec3(
                            surfaces[m, surface.EMISSIVE],
                            surfaces[m, surface.EMISSIVE + 1],
                            surfaces[m, surface.EMISSIVE + 2],
                        )
                        glow_image = ti.cast(surfaces[m, surface.EMISSIVE_IMAGE], ti.i32)
                        if glow_image >= 0:
                            glow *= texture(texels, images, decode, 0, glow_image, uv, wrap).xyz
                        shift = surfaces[m, surface.SHIFT]
                        shift_image = ti.cast(surfaces[m, surface.SHIFT_IMAGE], ti.i32)
                        if shift_image >= 0:
                            sampled = texture(texels, images, decode, 256, shift_image, uv, wrap).x
                            shift += surfaces[m, surface.SHIFT_SCALE] * sampled
                        n = normals[tri[0]] * w.x + normals[tri[1]] * w.y + normals[tri[2]] * w.z
                        n = n / ti.max(n.norm(), 1e-12)
                        at = points[tri[0]] * w.x + points[tri[1]] * w.y + points[tri[2]] * w.z
                        edge = (points[tri[1]] - points[tri[0]]).cross(points[tri[2]] - points[tri[0]])
                        to_eye = (eye - at).normalized()
                        if edge.dot(to_eye) < 0.0:
                            n = -n
                        found = shade(surfaces, m, base.xyz, dark, glow, shift, n, to_eye, light)
                    alpha = ti.select(i == 0, 1.0, ti.math.clamp(base.w, 0.0, 1.0))
                    colour += (found - colour) * alpha
            for i in range(overlays):
                key = keys[overlay_layer + i, p]
                if key != empty:
                    tri = overlay_triangles[ti.cast(key & ti.cast(0x7FFFFFFF, ti.i64), ti.i32)]
                    w = barycentric(overlay_screen[tri[0]], overlay_screen[tri[1]], overlay_screen[tri[2]], x, y)
                    n = overlay_normals[tri[0]] * w.x + overlay_normals[tri[1]] * w.y + overlay_normals[tri[2]] * w.z
                    c = overlay_colors[tri[0]] * w.x + overlay_colors[tri[1]] * w.y + overlay_colors[tri[2]] * w.z
                    facing = ti.abs(n.normalized().dot(ray))
                    hidden = ti.select(key > keys[0, p], 0.6, 1.0)
                    alpha = c.w * hidden
                    if i == 0:  # colliders: clear glass with a rim
                        alpha *= 0.3 + 0.7 * (1.0 - facing) * (1.0 - facing)
                    else:
                        c *= 0.7 + 0.3 * facing
                    colour += (c.xyz - colour) * alpha
            total += ti.math.vec3(encode(colour.x, curve), encode(colour.y, curve), encode(colour.z, curve))
        for k in ti.static(range(3)):
            picture[py, px, k] = ti.cast(total[k] * (255.0 / (samples * samples)) + 0.5, ti.u8)
