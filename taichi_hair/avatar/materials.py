"""Materials: base colour, textures and MToon's fields, from core glTF, VRMC_materials_mtoon and VRM 0.x."""

from __future__ import annotations

import math

import numpy as np

from .description import Material
from .document import Document
from .fields import Item
from .images import srgb_to_linear

WRAPS = {10497: "repeat", 33071: "clamp", 33648: "mirror"}
OUTLINE_MODES = ("none", "worldCoordinates", "screenCoordinates")


def read_materials(document: Document) -> tuple[Material, ...]:
    """All materials of the file, in file order."""
    old = _vrm0_properties(document)
    return tuple(_read(document, item, old.get(index)) for index, item in enumerate(document.items("materials")))


def texture_index(document: Document, info: Item | None) -> int | None:
    """Image of a texture reference, None where there is none or its format cannot be read."""
    if info is None:
        return None
    textures = document.items("textures")
    return image_of(document, textures[info.integer("index", below=len(textures))])


def image_of(document: Document, texture: Item) -> int | None:
    """Image behind a texture, None where its only form is one that cannot be decoded."""
    images = len(document.items("images"))
    source = texture.integer("source", None, below=images)
    for name in ("EXT_texture_webp", "EXT_texture_avif", "KHR_texture_basisu"):
        other = texture.extension(name)
        if other is None:
            continue
        if name == "EXT_texture_webp":
            return other.integer("source", below=images)
        if source is None:
            document.log.warn(texture.where, f"{name} textures are not decoded; left out")
    return source


def _wrap(document: Document, info: Item | None) -> tuple[str, str]:
    if info is None:
        return ("repeat", "repeat")
    texture = document.items("textures")[info.integer("index", below=len(document.items("textures")))]
    samplers = document.items("samplers")
    sampler = texture.integer("sampler", None, below=len(samplers))
    if sampler is None:
        return ("repeat", "repeat")
    codes = [samplers[sampler].integer(key, 10497) for key in ("wrapS", "wrapT")]
    for code in codes:
        if code not in WRAPS:
            raise samplers[sampler].error("wrapS or wrapT", str(code), "10497, 33071 or 33648")
    return WRAPS[codes[0]], WRAPS[codes[1]]


def _texture_transform(info: Item | None) -> tuple[int, np.ndarray | None]:
    """Texture coordinate set and (2, 3) matrix of KHR_texture_transform, None where it does nothing."""
    if info is None:
        return 0, None
    channel = info.integer("texCoord", 0, below=64)
    extension = info.extension("KHR_texture_transform")
    if extension is None:
        return channel, None
    channel = extension.integer("texCoord", channel, below=64)
    offset = extension.vector("offset", 2, (0.0, 0.0))
    scale = extension.vector("scale", 2, (1.0, 1.0))
    turn = extension.number("rotation", 0.0)
    c, s = math.cos(turn), math.sin(turn)
    matrix = np.array([[c * scale[0], s * scale[1], offset[0]], [-s * scale[0], c * scale[1], offset[1]]])
    return channel, None if np.array_equal(matrix, np.eye(2, 3)) else matrix


def _read(document: Document, item: Item, old: Item | None) -> Material:
    pbr = item.child("pbrMetallicRoughness")
    base = pbr.child("baseColorTexture") if pbr else None
    factor = pbr.vector("baseColorFactor", 4, (1, 1, 1, 1)) if pbr else np.ones(4)
    if base is None and (specular := item.extension("KHR_materials_pbrSpecularGlossiness")) is not None:
        base, factor = specular.child("diffuseTexture"), specular.vector("diffuseFactor", 4, (1, 1, 1, 1))
    emissive = item.vector("emissiveFactor", 3, (0, 0, 0))
    strength = item.extension("KHR_materials_emissive_strength")
    if strength is not None:
        emissive = emissive * strength.number("emissiveStrength", 1.0)
    alpha = item.text("alphaMode", "OPAQUE")
    if alpha not in ("OPAQUE", "MASK", "BLEND"):
        raise item.error("alphaMode", repr(alpha), "OPAQUE, MASK or BLEND")
    leading = base if base is not None else item.child("emissiveTexture")
    channel, transform = _texture_transform(leading)
    fields = dict(
        name=item.text("name"),
        base_color=factor,
        texture=texture_index(document, base),
        texture_wrap=_wrap(document, leading),
        texture_channel=channel,
        texture_transform=transform,
        emissive=emissive,
        emissive_texture=texture_index(document, item.child("emissiveTexture")),
        alpha_mode=alpha,
        alpha_cutoff=item.number("alphaCutoff", 0.5),
        double_sided=item.flag("doubleSided"),
        unlit=item.extension("KHR_materials_unlit") is not None,
    )
    toon = item.extension("VRMC_materials_mtoon")
    if toon is not None:
        fields.update(_mtoon(document, toon))
        _same_coordinates(document, item, toon, channel, transform)
    elif old is not None:
        fields.update(_mtoon0(document, old, fields))
    return Material(**fields)


def _same_coordinates(document: Document, item: Item, toon: Item, channel: int, transform) -> None:
    """Warn where a material's textures use different coordinates: a mesh part carries one set."""
    for key in ("shadeMultiplyTexture", "shadingShiftTexture", "outlineWidthMultiplyTexture"):
        info = toon.child(key)
        if info is None:
            continue
        other, matrix = _texture_transform(info)
        same = matrix is None if transform is None else matrix is not None and np.allclose(matrix, transform)
        if other != channel or not same:
            document.log.warn(item.where, f"{key} has texture coordinates of its own; the base colour's are used")


def _mtoon(document: Document, toon: Item) -> dict:
    """Fields of VRMC_materials_mtoon 1.0 with the specification's defaults."""
    shift = toon.child("shadingShiftTexture")
    mode = toon.text("outlineWidthMode", "none")
    if mode not in OUTLINE_MODES:
        document.log.warn(toon.where, f"outlineWidthMode {mode[:30]!r} is unknown; no outline")
        mode = "none"
    return dict(
        toon=True,
        shade_color=toon.vector("shadeColorFactor", 3, (1, 1, 1)),
        shade_texture=texture_index(document, toon.child("shadeMultiplyTexture")),
        shading_shift=toon.number("shadingShiftFactor", 0.0),
        shading_shift_texture=texture_index(document, shift),
        shading_shift_scale=shift.number("scale", 1.0) if shift is not None else 1.0,
        shading_toony=toon.number("shadingToonyFactor", 0.9),
        outline_width=toon.number("outlineWidthFactor", 0.0),
        outline_mode=mode,
        outline_color=toon.vector("outlineColorFactor", 3, (0, 0, 0)),
        outline_texture=texture_index(document, toon.child("outlineWidthMultiplyTexture")),
        outline_lighting_mix=toon.number("outlineLightingMixFactor", 1.0),
        rim_color=toon.vector("parametricRimColorFactor", 3, (0, 0, 0)),
        rim_power=toon.number("parametricRimFresnelPowerFactor", 5.0),
        rim_lift=toon.number("parametricRimLiftFactor", 0.0),
        rim_lighting_mix=toon.number("rimLightingMixFactor", 1.0),
    )


def _vrm0_properties(document: Document) -> dict[int, Item]:
    """VRM 0.x material properties by material index, MToon shaders only."""
    vrm = document.root.extension("VRM")
    if vrm is None:
        return {}
    properties = vrm.children("materialProperties")
    return {i: p for i, p in enumerate(properties) if p.text("shader") == "VRM/MToon"}


def _mtoon0(document: Document, old: Item, core: dict) -> dict:
    """VRM 0.x MToon in terms of MToon 1.0, as UniVRM and three-vrm migrate it. Its colours are sRGB."""
    empty = Item({}, old.where, old.file)
    numbers = old.child("floatProperties") or empty
    vectors = old.child("vectorProperties") or empty
    textures = old.child("textureProperties") or empty

    def color(key: str, default) -> np.ndarray:
        value = vectors.vector(key, None, default)
        return srgb_to_linear(np.resize(value, 4)[:3]) if len(value) >= 3 else np.asarray(default, dtype=np.float64)[:3]

    def texture(key: str) -> int | None:
        index = textures.integer(key, None, below=len(document.items("textures")))
        return None if index is None else image_of(document, document.items("textures")[index])

    base = vectors.vector("_Color", None, (1, 1, 1, 1))
    shift = numbers.number("_ShadeShift", 0.0)
    toony = numbers.number("_ShadeToony", 0.9)
    toony = toony + (1.0 - toony) * (0.5 + 0.5 * shift)
    mode = numbers.number("_OutlineWidthMode", 0.0)
    mode = OUTLINE_MODES[int(mode)] if mode in (0.0, 1.0, 2.0) else "none"
    # Centimetres in VRM 0.x; its screen mode is a percentage of half the height.
    width = numbers.number("_OutlineWidth", 0.5) * (0.005 if mode == "screenCoordinates" else 0.01)
    mixed = numbers.number("_OutlineColorMode", 0.0) == 1.0
    main = texture("_MainTex")
    tiling = vectors.vector("_MainTex", None, (0, 0, 1, 1))  # offset and scale, v up
    transform = core["texture_transform"]
    if len(tiling) == 4 and tuple(tiling) != (0.0, 0.0, 1.0, 1.0):
        x, y, width_u, height_v = tiling
        transform = np.array([[width_u, 0.0, x], [0.0, height_v, 1.0 - height_v - y]])
    return dict(
        toon=True,
        base_color=np.append(color("_Color", (1, 1, 1, 1)), base[3] if len(base) == 4 else 1.0),
        texture=main if main is not None else core["texture"],
        texture_transform=transform,
        emissive=color("_EmissionColor", (0, 0, 0)) if vectors.has("_EmissionColor") else core["emissive"],
        shade_color=color("_ShadeColor", (0.97, 0.81, 0.86)),
        shade_texture=texture("_ShadeTexture"),
        shading_shift=-shift - (1.0 - toony),
        shading_toony=toony,
        outline_width=width if mode != "none" else 0.0,
        outline_mode=mode,
        outline_color=color("_OutlineColor", (0, 0, 0)),
        outline_texture=texture("_OutlineWidthTexture"),
        outline_lighting_mix=numbers.number("_OutlineLightingMix", 1.0) if mixed else 0.0,
        rim_color=color("_RimColor", (0, 0, 0)),
        rim_power=numbers.number("_RimFresnelPower", 1.0),
        rim_lift=numbers.number("_RimLift", 0.0),
        rim_lighting_mix=numbers.number("_RimLightingMix", 0.0),
    )
