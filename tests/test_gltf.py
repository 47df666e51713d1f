"""glTF 2.0 where it touches hair: accessors of all kinds, nodes, skins, meshes, scenes."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from glb import QUAD, QUAD_TRIANGLES, Glb

from taichi_hair.avatar.avatar import AssetError, load
from taichi_hair.avatar.gltf import parse_document, read_accessor, read_document, to_pygltflib
from taichi_hair.avatar.skinning import skin_vertices


def accessor(glb: Glb, index: int, *kinds):
    return read_accessor(parse_document(glb.bytes(), "test.glb"), index, kinds)


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "u4", "f4"])
def test_every_component_type_is_read_as_stored(kind):
    glb = Glb()
    values = np.array([[1, 2, 3], [100, 50, 7]])
    np.testing.assert_array_equal(accessor(glb, glb.accessor(values, kind)), values)


@pytest.mark.parametrize(
    ("kind", "stored", "wanted"),
    [("u1", 255, 1.0), ("u1", 51, 0.2), ("i1", 127, 1.0), ("i1", -128, -1.0), ("u2", 65535, 1.0), ("i2", -32768, -1.0)],
)
def test_normalised_integers_become_fractions(kind, stored, wanted):
    glb = Glb()
    index = glb.accessor([stored], kind, normalized=True)
    assert accessor(glb, index)[0] == pytest.approx(wanted, abs=1e-12)


def test_interleaved_elements_are_read_with_their_stride():
    glb = Glb()
    rows = np.arange(24, dtype="<f4").reshape(4, 6)
    view = glb.view(rows.tobytes(), byteStride=24)
    index = glb.add(
        "accessors", {"bufferView": view, "byteOffset": 12, "componentType": 5126, "count": 4, "type": "VEC3"}
    )
    np.testing.assert_array_equal(accessor(glb, index), rows[:, 3:])


def test_a_stride_of_zero_means_tight():
    glb = Glb()
    index = glb.accessor(np.arange(6.0).reshape(2, 3))
    glb.json["bufferViews"][0]["byteStride"] = 0
    np.testing.assert_array_equal(accessor(glb, index), [[0, 1, 2], [3, 4, 5]])


def test_matrices_come_as_rows_and_columns():
    glb = Glb()
    matrix = np.arange(16.0).reshape(1, 4, 4)
    index = glb.accessor(matrix.swapaxes(1, 2).reshape(1, 16))
    np.testing.assert_array_equal(accessor(glb, index, "MAT4"), matrix)


def test_columns_of_byte_matrices_start_at_multiples_of_four_bytes():
    glb = Glb()
    view = glb.view(bytes([1, 2, 0, 0, 3, 4, 0, 0]))
    index = glb.add("accessors", {"bufferView": view, "componentType": 5121, "count": 1, "type": "MAT2"})
    np.testing.assert_array_equal(accessor(glb, index), [[[1, 3], [2, 4]]])


def test_sparse_values_replace_those_of_the_base_or_zeros():
    glb = Glb()
    indices, values = glb.view(bytes([1, 3])), glb.view(np.array([[9, 9], [8, 8]], "<f4").tobytes())
    sparse = {
        "count": 2,
        "indices": {"bufferView": indices, "componentType": 5121},
        "values": {"bufferView": values},
    }
    base = glb.accessor(np.ones((4, 2)), sparse=sparse)
    empty = glb.add("accessors", {"componentType": 5126, "count": 4, "type": "VEC2", "sparse": sparse})
    np.testing.assert_array_equal(accessor(glb, base), [[1, 1], [9, 9], [1, 1], [8, 8]])
    np.testing.assert_array_equal(accessor(glb, empty), [[0, 0], [9, 9], [0, 0], [8, 8]])


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"count": 5}, "bufferViews"),
        ({"byteOffset": 4}, "bufferViews"),
        ({"type": "VEC5"}, "VEC5"),
        ({"componentType": 5124}, "5124"),
        ({"count": -1}, "whole number"),
        ({"count": 2**40}, "whole number"),
        ({"count": 2**30, "bufferView": None}, "memory"),
        ({"bufferView": 7}, "7"),
    ],
)
def test_an_accessor_that_does_not_fit_is_refused_before_it_is_read(change, word):
    glb = Glb()
    index = glb.accessor(np.zeros((4, 3)))
    glb.json["accessors"][index].update(change)
    with pytest.raises(AssetError, match=word) as caught:
        accessor(glb, index)
    assert "accessors[0]" in caught.value.part


def test_a_value_that_is_not_finite_names_accessor_and_element():
    glb = Glb()
    values = np.zeros((4, 3))
    values[2, 1] = np.nan
    with pytest.raises(AssetError, match=r"accessors\[0\].*element 2"):
        accessor(glb, glb.accessor(values))


def test_matrix_nodes_are_split_into_the_same_transform():
    from taichi_hair import rotations

    turn = rotations.from_axis_angle(np.array([1.0, 2.0, 3.0]), np.array(0.7))
    for scale in ([1.0, 1.0, 1.0], [2.0, 0.5, 3.0], [-1.0, 1.0, 1.0], [-2.0, -3.0, -4.0]):
        matrix = np.eye(4)
        matrix[:3, :3] = rotations.to_matrix(turn) * scale
        matrix[:3, 3] = [4.0, 5.0, 6.0]
        glb = Glb()
        glb.node("m", matrix=matrix.T.reshape(-1).tolist())
        avatar = glb.load()
        np.testing.assert_allclose(avatar.skeleton.rest_world[0], matrix, atol=1e-12)
        assert np.sign(np.prod(avatar.skeleton.scales[0])) == np.sign(np.prod(scale))
        assert avatar.warnings == ()


def test_a_sheared_matrix_is_reported_as_approximate():
    glb = Glb()
    glb.node("m", matrix=[1, 0, 0, 0, 0.5, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])
    assert any("shear" in w for w in glb.load().warnings)


def test_quaternions_are_normalised_and_a_zero_one_is_none():
    glb = Glb()
    glb.node("long", rotation=[0.0, 0.0, 0.0, 2.0])
    glb.node("zero", rotation=[0.0, 0.0, 0.0, 0.0])
    avatar = glb.load()
    np.testing.assert_array_equal(avatar.skeleton.rotations, [[0, 0, 0, 1], [0, 0, 0, 1]])
    assert len(avatar.warnings) == 2


def test_a_rigid_mesh_rides_on_its_node():
    glb = Glb()
    root = glb.node("root", scale=[0.01] * 3)
    glb.node("box", root, translation=[0.0, 100.0, 0.0], mesh=glb.mesh(QUAD, QUAD_TRIANGLES))
    avatar = glb.load()
    (part,) = avatar.parts
    np.testing.assert_array_equal(avatar.skins[part.skin].joints, [1])
    np.testing.assert_allclose(skin_vertices(avatar, part), QUAD * 0.01 + [0.0, 1.0, 0.0], atol=1e-12)


def test_two_nodes_with_one_mesh_give_two_parts():
    glb = Glb()
    mesh = glb.mesh(QUAD, QUAD_TRIANGLES)
    for x in (0.0, 5.0):
        glb.node("n", mesh=mesh, translation=[x, 0.0, 0.0])
    avatar = glb.load()
    places = [skin_vertices(avatar, p)[0, 0] for p in avatar.parts]
    assert places == [0.0, 5.0]


def test_unskinned_weights_and_skinned_meshes_without_weights():
    glb = Glb()
    joints = glb.line(2)
    glb.add("skins", {"joints": joints})
    glb.node("n", mesh=glb.mesh(QUAD, QUAD_TRIANGLES), skin=0)
    avatar = glb.load()
    assert list(avatar.skins[avatar.parts[0].skin].joints) == [2]
    assert any("JOINTS_0" in w for w in avatar.warnings)


def skinned(weights, joints=((0, 1, 0, 0),) * 4, **more) -> Glb:
    glb = Glb()
    line = glb.line(2)
    glb.add("skins", {"joints": line})
    attributes = {"JOINTS_0": glb.accessor(joints, "u2"), "WEIGHTS_0": glb.accessor(weights)}
    glb.node("n", mesh=glb.mesh(QUAD, QUAD_TRIANGLES, attributes=attributes, **more), skin=0)
    return glb


def test_vertices_without_weight_follow_the_first_joint_and_are_counted():
    avatar = skinned([[0.5, 0.5, 0, 0]] * 3 + [[0, 0, 0, 0]]).load()
    np.testing.assert_array_equal(avatar.parts[0].weights[3], [1, 0, 0, 0])
    assert any("1 vertices have no weight" in w for w in avatar.warnings)


def test_negative_weights_count_as_none():
    avatar = skinned([[1.0, -0.5, 0, 0]] * 4).load()
    np.testing.assert_array_equal(avatar.parts[0].weights[0], [1, 0, 0, 0])
    assert any("negative" in w for w in avatar.warnings)


def test_a_joint_that_the_skin_lacks_is_refused_unless_its_weight_is_zero():
    assert skinned([[1.0, 0, 0, 0]] * 4, [[1, 0, 9, 0]] * 4).load().parts[0].joints.max() == 1
    with pytest.raises(AssetError, match=r"joint 9 for vertex 0.*below the skin's 2"):
        skinned([[0.5, 0, 0.5, 0]] * 4, [[1, 0, 9, 0]] * 4).load()


def test_quantised_positions_are_undone_by_their_node():
    glb = Glb(extensionsRequired=["KHR_mesh_quantization"])
    positions = glb.accessor(QUAD * 100, "i2")
    mesh = glb.add("meshes", {"primitives": [{"attributes": {"POSITION": positions}}]})
    glb.node("n", mesh=mesh, scale=[0.01] * 3)
    avatar = glb.load()
    np.testing.assert_allclose(skin_vertices(avatar, 0), QUAD, atol=1e-12)


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        (4, [[0, 1, 2]]),
        (5, [[0, 1, 2], [2, 1, 3]]),
        (6, [[0, 1, 2], [0, 2, 3]]),
    ],
)
def test_strips_and_fans_become_triangles(mode, wanted):
    glb = Glb()
    glb.node("n", mesh=glb.mesh(QUAD, mode=mode))
    avatar = glb.load()
    np.testing.assert_array_equal(avatar.parts[0].triangles, wanted)
    assert bool(avatar.warnings) == (mode == 4)  # four vertices are no whole number of triangles


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_points_and_lines_are_left_out_and_named(mode):
    glb = Glb()
    glb.node("n", mesh=glb.mesh(QUAD, name="whiskers", mode=mode))
    avatar = glb.load()
    assert avatar.parts == () and "whiskers" in avatar.warnings[0]


def test_missing_normals_are_the_triangles_own():
    glb = Glb()
    glb.node("n", mesh=glb.mesh(QUAD, QUAD_TRIANGLES))
    np.testing.assert_allclose(glb.load().parts[0].normals, [[0.0, 0.0, 1.0]] * 4, atol=1e-12)


def test_node_weights_win_over_mesh_weights_for_morph_targets():
    glb = Glb()
    lift = glb.accessor(np.tile([0.0, 0.0, 1.0], (4, 1)))
    mesh = glb.mesh(QUAD, QUAD_TRIANGLES, targets=[{"POSITION": lift}])
    glb.json["meshes"][mesh]["weights"] = [0.5]
    glb.node("a", mesh=mesh)
    glb.node("b", mesh=mesh, weights=[0.25])
    a, b = glb.load().parts
    np.testing.assert_array_equal(a.positions[:, 2], 0.5)
    np.testing.assert_array_equal(b.positions[:, 2], 0.25)


def test_an_index_past_the_vertices_is_refused():
    glb = Glb()
    glb.node("n", mesh=glb.mesh(QUAD, [[0, 1, 4]]))
    with pytest.raises(AssetError, match="index 4"):
        glb.load()


def test_only_the_default_scene_is_shown_and_the_rest_is_named():
    glb = Glb(scene=1, scenes=[{"nodes": [0]}, {"nodes": [1]}])
    mesh = glb.mesh(QUAD, QUAD_TRIANGLES)
    glb.node("hidden", mesh=mesh)
    glb.node("shown", mesh=mesh)
    avatar = glb.load()
    assert [avatar.skeleton.names[p.node] for p in avatar.parts] == ["shown"]
    assert any("hidden" in w for w in avatar.warnings)


def test_external_and_data_uris_are_read(tmp_path):
    glb = Glb()
    glb.node("n", mesh=glb.mesh(QUAD, QUAD_TRIANGLES))
    data = bytes(glb.data)
    (tmp_path / "geo metry.bin").write_bytes(data)
    for uri in ("geo%20metry.bin", "data:application/octet-stream;base64," + base64.b64encode(data).decode()):
        glb.json["buffers"] = [{"byteLength": len(data), "uri": uri}]
        path = tmp_path / "model.gltf"
        path.write_text(json.dumps(glb.json))
        np.testing.assert_array_equal(load(path).parts[0].positions, QUAD)


def test_a_large_external_buffer_counts_as_the_file_s_own_size(tmp_path):
    count = 3_000_000  # 72 MB of doubles, more than any file may take before its buffers are seen
    (tmp_path / "large.bin").write_bytes(bytes(count * 12))
    glb = Glb(buffers=[{"byteLength": count * 12, "uri": "large.bin"}])
    glb.add("bufferViews", {"buffer": 0, "byteLength": count * 12})
    glb.add("accessors", {"bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3"})
    (tmp_path / "model.gltf").write_text(json.dumps(glb.json))
    document = read_document(tmp_path / "model.gltf")
    assert len(read_accessor(document, 0)) == count


def test_a_missing_buffer_file_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "model.gltf"
    glb = Glb(buffers=[{"byteLength": 4, "uri": "gone.bin"}])
    glb.node("n", mesh=glb.add("meshes", {"primitives": [{"attributes": {"POSITION": 0}}]}))
    glb.add("bufferViews", {"buffer": 0, "byteLength": 4})
    glb.add("accessors", {"bufferView": 0, "componentType": 5126, "count": 0, "type": "VEC3"})
    path.write_text(json.dumps(glb.json))
    with pytest.raises(AssetError, match=r"gone\.bin"):
        load(path)


def test_children_keep_the_order_of_the_file():
    glb = Glb()
    glb.node("root", children=[2, 1])
    glb.node("first")
    glb.node("second")
    assert glb.load().skeleton.children[0] == (2, 1)


def test_clips_are_listed_with_length_and_nodes():
    glb = Glb()
    node = glb.node("n")
    times, values = glb.accessor([0.0, 1.5]), glb.accessor(np.tile([0.0, 0.0, 0.0, 1.0], (2, 1)))
    glb.add(
        "animations",
        {
            "name": "wave",
            "samplers": [{"input": times, "output": values}],
            "channels": [
                {"sampler": 0, "target": {"node": node, "path": "rotation"}},
                {"sampler": 0, "target": {"path": "rotation"}},
            ],
        },
    )
    (clip,) = glb.load().clips
    assert (clip.name, clip.seconds, clip.channels, clip.nodes) == ("wave", 1.5, 1, (0,))


def test_a_document_becomes_a_pygltflib_object_with_its_data():
    glb = Glb()
    glb.node("n", mesh=glb.mesh(QUAD, QUAD_TRIANGLES))
    gltf = to_pygltflib(parse_document(glb.bytes(), "test.glb"))
    assert gltf.nodes[0].name == "n" and len(gltf.binary_blob()) >= len(glb.data)


def test_an_unknown_required_extension_is_refused_and_an_ornament_is_not():
    glb = Glb(extensionsRequired=["EXT_new_geometry"])
    glb.node("n")
    with pytest.raises(AssetError, match="EXT_new_geometry"):
        glb.load()
    glb.json["extensionsRequired"] = ["KHR_materials_clearcoat"]
    assert any("KHR_materials_clearcoat" in w for w in glb.load().warnings)


def test_the_skeleton_s_levels_and_depth_agree_with_its_parents():
    glb = Glb()
    line = glb.line(4)
    side = glb.node("side", line[1])
    skeleton = glb.load().skeleton
    np.testing.assert_array_equal(skeleton.depth, [0, 1, 2, 3, 2])
    assert [sorted(level.tolist()) for level in skeleton.levels] == [[0], [1], [2, side], [3]]
    assert np.flatnonzero(skeleton.below(line[2])).tolist() == [line[2], line[3]]
    assert np.flatnonzero(skeleton.below([line[3], side])).tolist() == [line[3], side]
    assert not skeleton.below([]).any() and skeleton.below(line[0]).all()


def test_nodes_that_are_switched_off_hide_their_parts_and_those_below():
    glb = Glb()
    line = glb.line(3)
    for node in line:
        glb.json["nodes"][node]["mesh"] = glb.mesh(QUAD, QUAD_TRIANGLES)
    avatar = glb.load()
    assert avatar.hidden == {}
    glb.json["nodes"][line[1]]["extensions"] = {"KHR_node_visibility": {"visible": False}}
    hidden = glb.load()
    assert sorted(hidden.parts[k].node for k in hidden.hidden) == line[1:]
    assert set(hidden.hidden.values()) == {"its node is switched off"}
    with pytest.raises(AssetError, match="true or false"):
        glb.json["nodes"][line[1]]["extensions"]["KHR_node_visibility"]["visible"] = 3
        _ = glb.load().hidden
