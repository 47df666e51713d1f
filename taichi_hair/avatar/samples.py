"""The built-in avatars, made by code: three people with different hair, clothes and colours on one skeleton."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from . import sample_face as face
from . import sample_styles as styles
from .sample_body import ROLES, bones
from .sample_glb import Figure, write_glb
from .sample_layered import layered
from .sample_mesh import merge
from .sample_outfits import LOOKS, OUTFITS, PAINTS, SKIN
from .sample_rig import shapes, sleeve_bones

if TYPE_CHECKING:
    from .avatar import Avatar

SAMPLES = ("ponytail", "layered", "twin-tails")
_STYLES = {"ponytail": styles.ponytail, "layered": layered, "twin-tails": styles.twin_tails}
_CLOTH = {"ponytail": 0.006, "layered": 0.006, "twin-tails": 0.013}  # metres: how far the top lies off the skin


def figure(name: str) -> Figure:
    """The parts of one built-in avatar; ValueError for a name that is not in SAMPLES."""
    if name not in SAMPLES:
        raise ValueError(f"no built-in avatar is called {name!r}; there are {', '.join(map(repr, SAMPLES))}")
    style = _STYLES[name]()
    skeleton = bones()
    constraints = {}
    if name == "layered":
        for bone, (parent, at, constraint) in sleeve_bones().items():
            skeleton[bone] = (parent, at)
            constraints[bone] = constraint
    for strand in style.strands:
        parent = "head"
        for bone, at in zip(strand.bones, strand.joints, strict=True):
            skeleton[bone] = (parent, np.asarray(at))
            parent = bone
    pieces = {
        ("face", "face"): face.head(),
        ("face", "skin"): face.ears(),
        ("face", "eye"): face.eye_balls(),
        ("face", "lash"): face.lashes(),
        ("face", "brow"): face.brows(),
        ("face", "crease"): face.ear_folds(),
        ("face", "mouth"): face.mouth(),
    }
    for part in (OUTFITS[name](), style.pieces):
        for key, piece in part.items():
            pieces[key] = merge(pieces[key], piece) if key in pieces else piece
    textures = {"face": face.face_texture(), "eye": face.eye_texture(LOOKS[name]), "hair": face.hair_texture()}
    return Figure(
        name, skeleton, ROLES, pieces, SKIN | PAINTS[name], textures, style.strands, shapes(_CLOTH[name]), constraints
    )


@cache
def sample_glb(name: str) -> bytes:
    """The built-in avatar as a VRM 1.0 file (GLB); the same bytes every time."""
    return write_glb(figure(name))


def sample(name: str) -> Avatar:
    """The built-in avatar "ponytail", "layered" or "twin-tails"."""
    from .avatar import load_bytes

    return load_bytes(sample_glb(name), name)


def write_sample(name: str, path: str | Path) -> Path:
    """Write the built-in avatar to `path` (a .vrm or .glb file) and give back the path."""
    path = Path(path)
    path.write_bytes(sample_glb(name))
    return path
