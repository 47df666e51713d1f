"""Hair and bodies in OBJ files: read into an Avatar, with a head node where the head is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ..avatar.avatar import load, load_bytes
from ..avatar.description import Avatar
from ..avatar.errors import AssetError
from ..avatar.gltf import glb_bytes
from ..avatar.skinning import skin_vertices

UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}
HEAD_SHARE = 0.14  # of a figure's height: crown to chin and a bit, what the head bone moves
FIGURE = 1.0  # metres: a body taller than this is a whole figure, a smaller one a head or a bust


def unit_size(unit) -> float:
    """Metres of a unit's name, or of a number of metres."""
    if isinstance(unit, str) and unit in UNITS:
        return UNITS[unit]
    try:
        size = float(unit)
    except (TypeError, ValueError):
        size = 0.0
    if not (np.isfinite(size) and size > 0.0):
        raise AssetError("--unit", "unit", repr(unit), f"one of {', '.join(UNITS)}, or metres per unit")
    return size


def read_obj(path, unit="m") -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Per group or object: points (V, 3) in metres and triangles (T, 3). Polygons are cut into fans."""
    path, size = Path(path), unit_size(unit)
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as why:
        raise AssetError(str(path), "file", f"a file that cannot be read ({why.strerror})", "an OBJ file") from None
    points, faces, name = [], {}, path.stem
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words or words[0] not in ("v", "f", "o", "g"):
            continue
        try:
            if words[0] == "v":
                points.append([float(w) for w in words[1:4]])
                if len(points[-1]) != 3:
                    raise ValueError
            elif words[0] == "f":
                corner = [int(w.split("/")[0]) for w in words[1:]]
                corner = [c - 1 if c > 0 else len(points) + c for c in corner]
                if len(corner) < 3 or min(corner) < 0 or max(corner) >= len(points):
                    raise ValueError
                fan = ([corner[0], corner[k], corner[k + 1]] for k in range(1, len(corner) - 1))
                faces.setdefault(name, []).extend(fan)
            elif len(words) > 1:
                name = " ".join(words[1:])
        except ValueError:
            wanted = "a vertex, or a face of vertices above it"
            raise AssetError(str(path), f"line {number}", repr(line[:60]), wanted) from None
    if not faces:
        raise AssetError(str(path), "faces", "none", "at least one face")
    places = np.array(points) * size
    if not np.all(np.isfinite(places)):
        bad = int(np.argmax(~np.isfinite(places).all(axis=1)))
        raise AssetError(str(path), f"vertex {bad + 1}", "a place that is not finite", "three finite numbers")
    found = {}
    for key, rows in faces.items():
        used, index = np.unique(np.array(rows), return_inverse=True)
        found[key] = (places[used], index.reshape(-1, 3))
    return found


def load_hair(path, body=None, unit="m", body_unit=None) -> Avatar:
    """A hair file of its own as an Avatar: OBJ with a unit, or whatever `load` reads.

    body: a file or an Avatar with the head or the figure in the same place. An OBJ body is added to an OBJ hair's
    avatar; with a glTF hair, give it to `fit_hair` as `body`.
    """
    path = Path(path)
    if path.suffix.lower() != ".obj":
        return load(path)
    meshes = {f"hair:{k}" if k == "body" else k: v for k, v in read_obj(path, unit).items()}
    figure = None
    if body is not None:
        figure = body_mesh(body, unit if body_unit is None else body_unit)
    return load_bytes(_glb(meshes, figure, path.stem), path.name)


def body_mesh(body, unit="m") -> tuple[np.ndarray, np.ndarray]:
    """Points (V, 3) in metres in the rest pose and triangles (T, 3) of a body: an OBJ, another file, or an Avatar."""
    if isinstance(body, Avatar) or Path(body).suffix.lower() != ".obj":
        avatar = body if isinstance(body, Avatar) else load(body)
        rows = [(skin_vertices(avatar, p), p.triangles) for p in avatar.parts]
    else:
        rows = list(read_obj(body, unit).values())
    starts = np.cumsum([0, *[len(p) for p, _ in rows]])
    faces = [t + s for (_, t), s in zip(rows, starts, strict=False)]
    return np.concatenate([p for p, _ in rows]), np.concatenate(faces)


def load_body(path, unit="m") -> Avatar:
    """A body of its own as an Avatar with a head: for hair that comes as glTF without one."""
    if Path(path).suffix.lower() != ".obj":
        return load(path)
    return load_bytes(_glb({}, body_mesh(path, unit), Path(path).stem), Path(path).name)


def _glb(meshes: dict, figure, name: str) -> bytes:
    """A GLB with nodes root > head, each hair mesh skinned to the head and the figure to root and head by height."""
    binary, views, accessors = bytearray(), [], []

    def store(array: np.ndarray, kind: str, component: int, target: int | None, bounds: bool = False) -> int:
        binary.extend(b"\0" * (-len(binary) % 4))
        view = {"buffer": 0, "byteOffset": len(binary), "byteLength": array.nbytes}
        views.append(view if target is None else {**view, "target": target})
        binary.extend(array.tobytes())
        accessor = {"bufferView": len(views) - 1, "componentType": component, "count": len(array), "type": kind}
        if bounds:
            accessor |= {"min": array.min(axis=0).tolist(), "max": array.max(axis=0).tolist()}
        accessors.append(accessor)
        return len(accessors) - 1

    every = np.concatenate([p for p, _ in meshes.values()] if meshes else [figure[0]])
    top = float((every if figure is None else figure[0])[:, 1].max())
    low = float((every if figure is None else figure[0])[:, 1].min())
    tall = top - low
    if figure is None:
        chin = top - 0.2
    else:
        chin = top - HEAD_SHARE * tall if tall > FIGURE else low
    joint = chin + 0.1 * (top - chin)
    over = every if figure is None else figure[0]
    middle = over[over[:, 1] > joint].mean(axis=0) if np.any(over[:, 1] > joint) else over.mean(axis=0)
    place = np.array([middle[0], joint, middle[2]])
    bind = np.tile(np.eye(4, dtype=np.float32), (2, 1, 1))
    bind[1, 3, :3] = -place  # column-major
    binds = store(bind.reshape(2, 16), "MAT4", 5126, None)
    nodes = [{"name": "root", "children": [1]}, {"name": "head", "translation": place.tolist()}]
    listed, shapes = [0], []
    rows = {**meshes, **({"body": figure} if figure is not None else {})}
    for key, (points, faces) in rows.items():
        on_head = np.ones(len(points), dtype=bool) if key != "body" else points[:, 1] > chin
        joints = np.zeros((len(points), 4), dtype=np.uint8)
        joints[:, 0] = on_head
        weights = np.zeros((len(points), 4), dtype=np.float32)
        weights[:, 0] = 1.0
        attributes = {
            "POSITION": store(points.astype(np.float32), "VEC3", 5126, 34962, True),
            "JOINTS_0": store(joints, "VEC4", 5121, 34962),
            "WEIGHTS_0": store(weights, "VEC4", 5126, 34962),
        }
        indices = store(faces.astype(np.uint32).reshape(-1), "SCALAR", 5125, 34963)
        shapes.append({"name": key, "primitives": [{"attributes": attributes, "indices": indices, "material": 0}]})
        nodes.append({"name": f"{key}_mesh", "mesh": len(shapes) - 1, "skin": 0})
        listed.append(len(nodes) - 1)
    color = {"baseColorFactor": [0.35, 0.25, 0.2, 1.0]}
    material = {"name": "hair", "doubleSided": True, "pbrMetallicRoughness": color}
    content = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"name": name, "nodes": listed}],
        "nodes": nodes,
        "meshes": shapes,
        "materials": [material],
        "skins": [{"joints": [0, 1], "inverseBindMatrices": binds, "skeleton": 0}],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(binary)}],
    }
    return glb_bytes(json.loads(json.dumps(content)), bytes(binary))
