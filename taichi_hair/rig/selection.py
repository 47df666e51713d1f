"""Which part of an avatar is meant: meshes, primitives and materials by name, or a set of faces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..avatar.description import Avatar
from ..avatar.errors import AssetError


def select_parts(avatar: Avatar, meshes: str | int | Sequence[str | int]) -> list[int]:
    """Indices into Avatar.parts. A name is a mesh's, a material's or a node's; "mesh:2" is a mesh's third primitive;
    a number is an index into Avatar.parts."""
    wanted = [meshes] if isinstance(meshes, (str, int, np.integer)) else list(meshes)
    if not wanted:
        raise AssetError(avatar.file, "mesh", "no mesh chosen", f"some of {_names(avatar)}")
    found: list[int] = []
    for name in wanted:
        found += [p for p in _one(avatar, name) if p not in found]
    return found


def _one(avatar: Avatar, name) -> list[int]:
    parts = avatar.parts
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
        if not 0 <= name < len(parts):
            raise AssetError(avatar.file, "mesh", f"part {name}", f"0 to {len(parts) - 1}")
        return [int(name)]
    if not isinstance(name, str):
        raise AssetError(avatar.file, "mesh", repr(name), "a name or a number")
    found = [i for i, p in enumerate(parts) if p.name == name]
    if not found and ":" in name:
        mesh, _, primitive = name.rpartition(":")
        found = [i for i, p in enumerate(parts) if p.name == mesh and str(p.primitive) == primitive]
    if not found:
        found = [i for i, p in enumerate(parts) if avatar.materials[p.material].name == name]
    if not found:
        found = [i for i, p in enumerate(parts) if avatar.skeleton.names[p.node] == name]
    if not found:
        raise AssetError(avatar.file, "mesh", f"none named {name!r}", f"one of {_names(avatar)}")
    return found


def select_faces(avatar: Avatar, parts: list[int], faces) -> np.ndarray | None:
    """(T,) bool over the triangles of the single part; None where no faces are given."""
    if faces is None:
        return None
    if len(parts) != 1:
        raise AssetError(avatar.file, "faces", f"faces of {len(parts)} meshes", "one mesh, or one primitive of it")
    count = len(avatar.parts[parts[0]].triangles)
    given = np.asarray(faces)
    if given.dtype == bool and given.shape == (count,):
        chosen = given
    elif given.dtype.kind in "iu" and given.ndim == 1 and len(given) and 0 <= given.min() <= given.max() < count:
        chosen = np.zeros(count, dtype=bool)
        chosen[given] = True
    else:
        found = f"an array of {given.dtype} and shape {given.shape}"
        raise AssetError(avatar.file, "faces", found, f"triangle numbers from 0 to {count - 1}, or {count} booleans")
    if not chosen.any():
        raise AssetError(avatar.file, "faces", "no triangle chosen", "at least one")
    return chosen


def _names(avatar: Avatar) -> str:
    names = list(dict.fromkeys(p.name for p in avatar.parts))
    materials = [avatar.materials[p.material].name for p in avatar.parts]
    names += [m for m in dict.fromkeys(materials) if m and m not in names]
    return ", ".join(names[:24]) + (", ..." if len(names) > 24 else "")
