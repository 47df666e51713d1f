"""Toon shading as pure functions of vectors: MToon's ramp, the rim, the band of light on hair, and texture samples."""

from ..sim.backend import ti
from . import surface

floats = ti.types.ndarray(dtype=ti.f32, ndim=1)
ints = ti.types.ndarray(dtype=ti.i32, ndim=1)
table = ti.types.ndarray(dtype=ti.f32, ndim=2)
itable = ti.types.ndarray(dtype=ti.i32, ndim=2)
vec2s = ti.types.ndarray(dtype=ti.math.vec2, ndim=1)
vec3s = ti.types.ndarray(dtype=ti.math.vec3, ndim=1)
vec4s = ti.types.ndarray(dtype=ti.math.vec4, ndim=1)

# Chosen for looks: the band sits where strand and half vector are nearly perpendicular.
BAND_EDGE = 0.9965
BAND_WIDTH = 0.0018
BAND_STRENGTH = 0.35
BAND_LIFT = 0.022
LIGHT_RIM = 0.10
LIGHT_RIM_START = 0.62
LIGHT_RIM_END = 0.9


@ti.func
def texel(texels: ints, decode: floats, first: ti.i32, index: ti.i32) -> ti.math.vec4:
    """One texel through a decoding table of 256 values (`first` 0: sRGB to linear, 256: as stored); alpha as stored."""
    c = texels[index]
    return ti.math.vec4(
        decode[first + (c & 255)],
        decode[first + ((c >> 8) & 255)],
        decode[first + ((c >> 16) & 255)],
        ti.cast((c >> 24) & 255, ti.f32) / 255.0,
    )


@ti.func
def wrapped(u: ti.f32, mode: ti.i32, size: ti.i32) -> ti.f32:
    """Texture coordinate brought into the image: mode 0 repeats, 1 stops at the edge, 2 mirrors."""
    half = 0.5 / size
    mirrored = u - 2.0 * ti.floor(0.5 * u)
    inside = ti.select(mode == 2, ti.min(mirrored, 2.0 - mirrored), u)
    return ti.select(mode == 0, u - ti.floor(u), ti.math.clamp(inside, half, 1.0 - half))


@ti.func
def texture(
    texels: ints, images: itable, decode: floats, first: ti.i32, image: ti.i32, uv: ti.math.vec2, wrap: ti.i32
) -> ti.math.vec4:
    """Bilinear sample of an image; `wrap` is the code of u plus 3 times that of v."""
    start, width, height = images[image, 0], images[image, 1], images[image, 2]
    x = wrapped(uv.x, wrap % 3, width) * width - 0.5
    y = wrapped(uv.y, wrap // 3, height) * height - 0.5
    x0, y0 = ti.cast(ti.floor(x), ti.i32), ti.cast(ti.floor(y), ti.i32)
    fx, fy = x - x0, y - y0
    xa, ya = (x0 + width) % width, (y0 + height) % height
    xb, yb = (x0 + 1) % width, (y0 + 1) % height
    top = texel(texels, decode, first, start + ya * width + xa) * (1 - fx)
    top += texel(texels, decode, first, start + ya * width + xb) * fx
    bottom = texel(texels, decode, first, start + yb * width + xa) * (1 - fx)
    bottom += texel(texels, decode, first, start + yb * width + xb) * fx
    return top * (1 - fy) + bottom * fy


@ti.func
def ramp(n_dot_l: ti.f32, shift: ti.f32, toony: ti.f32) -> ti.f32:
    """Share of light, 0 to 1: MToon 1.0's linear step from -1 + toony to 1 - toony."""
    return ti.math.clamp((n_dot_l + shift + 1.0 - toony) / ti.max(2.0 - 2.0 * toony, 1e-4), 0.0, 1.0)


@ti.func
def plain_shade(albedo: ti.math.vec3) -> ti.math.vec3:
    """Shaded side of a material without toon settings: darker and a little more saturated, cooler where it is grey."""
    relative = albedo / ti.max(albedo.max(), 1e-4)
    return albedo * (0.25 + 0.75 * relative) * ti.math.vec3(0.62, 0.57, 0.70)


@ti.func
def smooth(a: ti.f32, b: ti.f32, x: ti.f32) -> ti.f32:
    """Smooth step from 0 at a to 1 at b."""
    t = ti.math.clamp((x - a) / (b - a), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


@ti.func
def band(normal: ti.math.vec3, half: ti.math.vec3) -> ti.f32:
    """Kajiya and Kay's highlight (1989), thresholded; the strand runs down the surface from the up axis."""
    up = ti.math.vec3(0.0, 1.0, 0.0)
    strand = up - normal * normal.dot(up)
    length = strand.norm()
    value = 0.0
    if length > 0.05:
        along = strand.dot(half) / length
        value = smooth(BAND_EDGE - BAND_WIDTH, BAND_EDGE + BAND_WIDTH, ti.sqrt(ti.max(1.0 - along * along, 0.0)))
        value *= smooth(0.1, 0.45, normal.dot(half))
    return value


@ti.func
def shade(
    surfaces: table,
    m: ti.i32,
    albedo: ti.math.vec3,
    shade_albedo: ti.math.vec3,
    emissive: ti.math.vec3,
    shift: ti.f32,
    normal: ti.math.vec3,
    to_eye: ti.math.vec3,
    to_light: ti.math.vec3,
) -> ti.math.vec3:
    """Linear colour of a surface point. Colours come with their textures already multiplied in."""
    n_dot_l = normal.dot(to_light)
    lit = ramp(n_dot_l, shift, surfaces[m, surface.TOONY])
    dark = shade_albedo
    if surfaces[m, surface.SHADE_FROM_ALBEDO] > 0.5:
        dark = plain_shade(albedo)
    colour = dark + (albedo - dark) * lit
    grazing = ti.math.clamp(1.0 - normal.dot(to_eye), 0.0, 1.0)
    rim = ti.math.vec3(surfaces[m, surface.RIM], surfaces[m, surface.RIM + 1], surfaces[m, surface.RIM + 2])
    if rim.max() > 0.0:
        lifted = ti.math.clamp(grazing + surfaces[m, surface.RIM_LIFT], 0.0, 1.0)
        colour += rim * ti.pow(lifted, ti.max(surfaces[m, surface.RIM_POWER], 1e-3))
    edge = smooth(LIGHT_RIM_START, LIGHT_RIM_END, grazing) * smooth(-0.1, 0.5, n_dot_l)
    colour += LIGHT_RIM * edge * (0.25 * albedo + 0.06)
    hair = surfaces[m, surface.HAIR]
    if hair > 0.0:
        light = hair * lit * band(normal, (to_eye + to_light).normalized())
        colour += light * (BAND_STRENGTH * albedo + BAND_LIFT)
    return colour + emissive
