"""Materials and pictures: core colours, MToon 1.0, texture wrap, transform and sampling."""

from __future__ import annotations

import io

import numpy as np
import pytest
from glb import QUAD, Glb
from PIL import Image

from taichi_hair.avatar.avatar import AssetError
from taichi_hair.avatar.images import sample, srgb_to_linear

CHECK = np.array([[[255, 0, 0, 255], [0, 255, 0, 255]], [[0, 0, 255, 255], [255, 255, 255, 128]]], dtype=np.uint8)


def png(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def textured(material=None, sampler=None, uvs=QUAD[:, :2]) -> Glb:
    glb = Glb()
    glb.add("images", {"bufferView": glb.view(png(CHECK)), "mimeType": "image/png"})
    glb.add("textures", {"source": 0, **({"sampler": 0} if sampler else {})})
    if sampler:
        glb.add("samplers", sampler)
    glb.add("materials", material or {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}})
    attributes = {"TEXCOORD_0": glb.accessor(uvs)}
    glb.node("n", mesh=glb.mesh(QUAD, attributes=attributes, material=0, mode=5))
    return glb


def test_images_are_rgba_bytes():
    avatar = textured().load()
    np.testing.assert_array_equal(avatar.images[0], CHECK)
    assert avatar.images.size(0) == (2, 2) and not avatar.images[0].flags.writeable


def test_texel_centres_give_the_texel_and_half_way_its_mean_in_linear_light():
    np.testing.assert_allclose(sample(CHECK, np.array([[0.25, 0.25]])), [[1, 0, 0, 1]])
    np.testing.assert_allclose(sample(CHECK, np.array([[0.5, 0.25]])), [[0.5, 0.5, 0, 1]])
    grey = np.full((1, 1, 4), 188, dtype=np.uint8)
    np.testing.assert_allclose(sample(grey, np.zeros((1, 2)))[0, 0], 0.5029, atol=1e-4)  # sRGB 188 is half the light


@pytest.mark.parametrize(
    ("mode", "u", "wanted"),
    [
        ("repeat", 1.25, [1, 0, 0, 1]),
        ("repeat", -0.25, [0, 1, 0, 1]),
        ("clamp", 1.75, [0, 1, 0, 1]),
        ("clamp", -3.0, [1, 0, 0, 1]),
        ("mirror", 1.25, [0, 1, 0, 1]),
        ("mirror", -0.25, [1, 0, 0, 1]),
    ],
)
def test_coordinates_outside_follow_the_sampler(mode, u, wanted):
    np.testing.assert_allclose(sample(CHECK, np.array([[u, 0.25]]), (mode, mode)), [wanted])


def test_the_file_s_sampler_is_used_for_vertex_colours():
    glb = textured(
        sampler={"wrapS": 33071, "wrapT": 33648}, uvs=[[0.25, 0.25], [1.75, 0.25], [0.25, 1.75], [0.25, 1.25]]
    )
    avatar = glb.load()
    assert avatar.materials[0].texture_wrap == ("clamp", "mirror")
    wanted = [[1, 0, 0, 1], [0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 1, 1]]
    np.testing.assert_allclose(avatar.vertex_colors(0), wanted, atol=1e-12)


def test_vertex_colours_multiply_factor_texture_and_vertex_colour():
    material = {"pbrMetallicRoughness": {"baseColorFactor": [0.5, 1, 1, 0.5], "baseColorTexture": {"index": 0}}}
    glb = textured(material, uvs=np.full((4, 2), 0.25))
    glb.json["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"] = glb.accessor(
        [[51, 255, 255]] * 4, "u1", normalized=True
    )
    np.testing.assert_allclose(glb.load().vertex_colors(0), [[0.1, 0, 0, 0.5]] * 4)


def test_a_texture_transform_is_applied_to_the_coordinates():
    transform = {"offset": [0.5, 0.25], "scale": [0.5, 2.0], "rotation": np.pi / 2, "texCoord": 0}
    info = {"index": 0, "texCoord": 3, "extensions": {"KHR_texture_transform": transform}}
    avatar = textured({"pbrMetallicRoughness": {"baseColorTexture": info}}).load()
    # KHR_texture_transform: offset + rotation * scale * uv, where a positive angle turns u towards -v.
    np.testing.assert_allclose(avatar.parts[0].uvs, [[0.5, 0.25], [0.5, -0.25], [2.5, 0.25], [2.5, -0.25]], atol=1e-6)


def test_the_coordinate_set_of_the_base_colour_is_the_part_s():
    glb = textured({"pbrMetallicRoughness": {"baseColorTexture": {"index": 0, "texCoord": 1}}})
    assert any("TEXCOORD_1" in w for w in glb.load().warnings)
    glb.json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_1"] = glb.accessor(QUAD[:, :2] * 0.5)
    np.testing.assert_array_equal(glb.load().parts[0].uvs, QUAD[:, :2] * 0.5)


def test_every_mtoon_field_that_a_picture_needs():
    toon = {
        "shadeColorFactor": [0.1, 0.2, 0.3],
        "shadeMultiplyTexture": {"index": 0},
        "shadingShiftFactor": -0.2,
        "shadingShiftTexture": {"index": 0, "scale": 0.7},
        "shadingToonyFactor": 0.8,
        "outlineWidthMode": "screenCoordinates",
        "outlineWidthFactor": 0.002,
        "outlineColorFactor": [0.4, 0.5, 0.6],
        "outlineWidthMultiplyTexture": {"index": 0},
        "outlineLightingMixFactor": 0.25,
        "parametricRimColorFactor": [0.7, 0.8, 0.9],
        "parametricRimFresnelPowerFactor": 4.3,
        "parametricRimLiftFactor": 0.182,
        "rimLightingMixFactor": 0.5,
    }
    (m,) = (
        textured({"extensions": {"VRMC_materials_mtoon": toon}, "alphaMode": "MASK", "doubleSided": True})
        .load()
        .materials
    )
    assert m.toon and m.double_sided and (m.alpha_mode, m.alpha_cutoff) == ("MASK", 0.5)
    np.testing.assert_array_equal(m.shade_color, [0.1, 0.2, 0.3])
    assert (m.shade_texture, m.shading_shift_texture, m.outline_texture) == (0, 0, 0)
    assert (m.shading_shift, m.shading_shift_scale, m.shading_toony) == (-0.2, 0.7, 0.8)
    assert (m.outline_mode, m.outline_width, m.outline_lighting_mix) == ("screenCoordinates", 0.002, 0.25)
    np.testing.assert_array_equal(m.outline_color, [0.4, 0.5, 0.6])
    np.testing.assert_array_equal(m.rim_color, [0.7, 0.8, 0.9])
    assert (m.rim_power, m.rim_lift, m.rim_lighting_mix) == (4.3, 0.182, 0.5)


def test_a_primitive_without_material_gets_a_plain_white_one():
    glb = Glb()
    glb.node("n", mesh=glb.mesh(QUAD, mode=5))
    avatar = glb.load()
    np.testing.assert_array_equal(avatar.vertex_colors(0), np.ones((4, 4)))


def test_webp_textures_are_read_and_basis_ones_named():
    glb = textured()
    stream = io.BytesIO()
    Image.fromarray(CHECK).save(stream, "WEBP", lossless=True)
    glb.json["images"].append({"bufferView": glb.view(stream.getvalue()), "mimeType": "image/webp"})
    glb.json["textures"][0] = {"extensions": {"EXT_texture_webp": {"source": 1}}}
    avatar = glb.load()
    assert avatar.materials[0].texture == 1
    np.testing.assert_array_equal(avatar.images[1][0], CHECK[0])
    glb.json["textures"][0] = {"extensions": {"KHR_texture_basisu": {"source": 1}}}
    avatar = glb.load()
    assert avatar.materials[0].texture is None and any("KHR_texture_basisu" in w for w in avatar.warnings)


@pytest.mark.parametrize(
    ("material", "part"),
    [
        ({"alphaMode": "CLEAR"}, "alphaMode"),
        ({"pbrMetallicRoughness": {"baseColorFactor": [1, 1]}}, "baseColorFactor"),
        ({"pbrMetallicRoughness": {"baseColorTexture": {"index": 4}}}, "index"),
        ({"emissiveFactor": "red"}, "emissiveFactor"),
    ],
)
def test_faulty_materials_are_refused_with_their_place(material, part):
    with pytest.raises(AssetError, match=rf"materials\[0\].*{part}"):
        textured(material).load()


def test_srgb_round_values():
    np.testing.assert_allclose(srgb_to_linear([0.0, 0.04045, 1.0]), [0.0, 0.04045 / 12.92, 1.0])
