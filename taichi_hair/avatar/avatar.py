"""load(): one file becomes an Avatar. The types that it is made of are importable from here, too."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .animations import read_clips
from .constraints import read_constraints
from .description import Avatar, ClipInfo, Material, MeshPart, Skin
from .document import Document, parse_document, read_document
from .errors import AssetError
from .images import read_images
from .materials import read_materials
from .meshes import PartReader, read_skins
from .nodes import read_skeleton
from .proposals import with_hair
from .scenes import check_extensions, shown_nodes
from .secondary_animation import face_forward, read_vrm0
from .springs import build_rig
from .vrm import check_version, read_first_person, read_humanoid, read_springs

__all__ = ["AssetError", "Avatar", "ClipInfo", "Material", "MeshPart", "Skin", "load", "load_bytes"]


def load(path, hair=None) -> Avatar:
    """Read an avatar from a GLB, glTF or VRM file (VRM 1.0, 0.x or none); AssetError says what is wrong with it.

    What was repaired or left out stands in `Avatar.warnings`, and in `Avatar.report` with everything that was read.
    `hair` gives chains to a file that names none: "propose" takes what looks like hair, a list of node names takes
    the rows below those nodes (`proposals.with_hair`).
    """
    avatar = avatar_of(read_document(path))
    return avatar if hair is None else with_hair(avatar, hair)


def load_bytes(data: bytes, name: str = "avatar.glb") -> Avatar:
    """Read an avatar from the bytes of a GLB or a self-contained glTF; `name` stands for the file in messages."""
    return avatar_of(parse_document(bytes(data), name))


def avatar_of(document: Document) -> Avatar:
    """The avatar that a document describes."""
    try:
        return _read(document)
    except FileNotFoundError as why:
        missing = Path(why.args[0]).name if why.args else "a file"
        raise document.error("buffers", f"no file {missing!r} beside the model", "the model's buffer files") from None
    except OSError as why:
        raise document.error(
            "buffers", f"a file that cannot be read ({why.strerror})", "readable buffer files"
        ) from None


def _read(document: Document) -> Avatar:
    check_extensions(document)
    skeleton = read_skeleton(document)
    if not len(skeleton):
        document.log.warn("nodes", "the file has no node, so there is nothing to move")
    materials = list(read_materials(document))
    images = read_images(document)
    skins = read_skins(document, skeleton)
    parts = PartReader(document, skeleton, skins, materials).read(shown_nodes(document, skeleton))
    vrm, meta, humanoid, flags = None, {}, {}, {}
    springs, colliders = read_springs(document, skeleton)
    one, zero = document.root.extension("VRMC_vrm"), document.root.extension("VRM")
    if one is not None:
        if zero is not None:
            document.log.note("extensions", "the file is both VRM 1.0 and VRM 0.x; the former is read")
        check_version(document, one, "VRMC_vrm", ("1.0", "1.0-beta"))
        vrm, meta = "1.0", _meta(one)
        humanoid = read_humanoid(document, skeleton, one)
        flags = read_first_person(document, skeleton, one)
    elif zero is not None:
        old = read_vrm0(document, skeleton, zero)
        vrm, meta, humanoid, flags = "0.x", _meta(zero), old.humanoid, old.first_person
        springs, colliders = springs + old.springs(len(colliders)), colliders + old.colliders
    hair = build_rig(skeleton, springs, colliders, document.log)
    constraints = read_constraints(document, skeleton)
    if vrm == "0.x":
        skeleton = face_forward(document, skeleton)
        hair = old.turned(hair)
    clips = read_clips(document, skeleton)
    document.cache["hair"] = hair  # saving compares with it
    return Avatar(
        name=_name(document, meta),
        path=document.path,
        skeleton=skeleton,
        skins=tuple(skins),
        parts=parts,
        materials=tuple(materials),
        images=images,
        humanoid=humanoid,
        hair=hair,
        constraints=constraints,
        warnings=document.log.warnings,
        notes=document.log.notes,
        vrm=vrm,
        meta=meta,
        turned=vrm == "0.x",
        first_person=flags,
        clips=clips,
        document=document,
    )


def _meta(extension) -> dict:
    meta = extension.child("meta")
    return {} if meta is None else meta.value


def _name(document: Document, meta: dict) -> str:
    for key in ("name", "title"):
        if isinstance(meta.get(key), str) and meta[key].strip():
            return meta[key].strip()
    return Path(document.file).stem


def place_in_world(avatar: Avatar, node: int, point: np.ndarray) -> np.ndarray:
    """(3,) world position in the rest pose of a point (3,) in a node's frame; node -1 is the world."""
    if node < 0:
        return np.asarray(point, dtype=np.float64)
    return (avatar.skeleton.rest_world[node] @ np.append(point, 1.0))[:3]
