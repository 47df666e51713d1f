"""Report: what was read of an avatar, what was repaired, what was left out; for people in a terminal and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from .description import Avatar
from .skinning import skin_vertices

if TYPE_CHECKING:
    from rich.console import Console

DIGITS = 6  # of lengths in metres: a micrometre


@dataclass(frozen=True)
class Report:
    """One avatar in plain values. Lengths are metres in the rest pose, settings are the file's own."""

    name: str
    file: str
    format: str  # "VRM 1.0", "VRM 0.x" or "glTF 2.0"
    licence: dict
    size: dict  # box of the skinned rest pose, or of the nodes where there is no mesh
    bones: dict
    meshes: list
    images: list
    chains: list
    colliders: list
    constraints: list
    clips: list
    proposals: list  # rows of nodes that look like hair and that no chain moves
    extensions: dict  # what the file uses: read, or kept unread
    warnings: list  # repaired or left out, and why
    notes: list

    def to_dict(self) -> dict:
        """Plain lists, dictionaries, strings and numbers."""
        return asdict(self)

    def to_json(self, indent: int | None = 2) -> str:
        """The report as JSON text."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)
        return text.encode("utf-8", "backslashreplace").decode("utf-8")  # half surrogates as JSON's own escapes

    def render(self, console: Console) -> None:
        """Write the report to a rich console."""
        from .report_view import render

        render(self, console)


def make_report(avatar: Avatar) -> Report:
    """The report of an avatar."""
    return Report(
        name=avatar.name,
        file=avatar.file,
        format=f"VRM {avatar.vrm}" if avatar.vrm else "glTF 2.0",
        licence=_licence(avatar),
        size=_size(avatar),
        bones=_bones(avatar),
        meshes=[_mesh(avatar, i) for i in range(len(avatar.parts))],
        images=_images(avatar),
        chains=[_chain(avatar, c) for c in avatar.hair.chains],
        colliders=[_collider(avatar, c) for c in avatar.hair.colliders],
        constraints=[
            {"kind": c.kind, "node": _name(avatar, c.node), "source": _name(avatar, c.source), "weight": c.weight}
            for c in avatar.constraints
        ],
        clips=[
            {
                "name": c.name,
                "seconds": _rounded(c.seconds),
                "channels": c.channels,
                "nodes": len(c.nodes),
                "morphs": c.morphs,
            }
            for c in avatar.clips
        ],
        proposals=_proposals(avatar),
        extensions=_extensions(avatar),
        warnings=[*avatar.warnings, *getattr(avatar.images, "problems", ())],
        notes=list(avatar.notes),
    )


def _rounded(values):
    return np.round(np.asarray(values, dtype=np.float64), DIGITS).tolist()


def _name(avatar: Avatar, node: int) -> str | None:
    if node < 0:
        return None
    return avatar.skeleton.names[node] or f"node {node}"


def world_scale(avatar: Avatar, node: int) -> float:
    """Largest factor by which a node's rest pose scales lengths; 1 for the scene root."""
    return 1.0 if node < 0 else float(np.linalg.svd(avatar.skeleton.rest_world[node, :3, :3], compute_uv=False)[0])


def _licence(avatar: Avatar) -> dict:
    """What the meta says of rights, under the file's own names, texts cut to a line."""
    keys = (
        "authors author version copyrightInformation contactInformation licenseUrl licenseName avatarPermission "
        "commercialUsage creditNotation allowRedistribution modification allowedUserName violentUssageName "
        "sexualUssageName commercialUssageName otherLicenseUrl otherPermissionUrl"
    ).split()
    found = {key: avatar.meta[key] for key in keys if isinstance(avatar.meta.get(key), (str, bool, list))}
    texts = {k: ", ".join(str(x) for x in v[:8]) if isinstance(v, list) else v for k, v in found.items()}
    return {k: v[:200] if isinstance(v, str) else v for k, v in texts.items() if v != ""}


def _size(avatar: Avatar) -> dict:
    points = [skin_vertices(avatar, part) for part in avatar.parts if len(part.positions)]
    source = "mesh"
    if not points:
        points, source = [avatar.skeleton.rest_world[:, :3, 3]], "nodes"
    points = np.concatenate(points)
    if not len(points):
        return {"of": source, "min": None, "max": None, "height": None}
    low, high = points.min(axis=0), points.max(axis=0)
    return {"of": source, "min": _rounded(low), "max": _rounded(high), "height": _rounded(high[1] - low[1])}


def _bones(avatar: Avatar) -> dict:
    from .vrm import REQUIRED_BONES

    return {
        "nodes": len(avatar.skeleton),
        "human": {role: _name(avatar, node) for role, node in avatar.humanoid.items()},
        "missing": [role for role in REQUIRED_BONES if role not in avatar.humanoid] if avatar.vrm else [],
        "turned": avatar.turned,
    }


def _mesh(avatar: Avatar, index: int) -> dict:
    part = avatar.parts[index]
    material = avatar.materials[part.material]
    used = np.unique(part.joints[part.weights > 0.0])
    return {
        "mesh": part.name,
        "primitive": part.primitive,
        "node": _name(avatar, part.node),
        "material": material.name,
        "toon": material.toon,
        "vertices": len(part.positions),
        "triangles": len(part.triangles),
        "joints": len(used),
        "influences": int((part.weights > 0.0).sum(axis=1).max(initial=0)),
        "first_person": avatar.first_person.get(part.node),
    }


def _images(avatar: Avatar) -> list:
    images = avatar.images
    if not hasattr(images, "names"):
        return []
    sizes = [images.size(i) for i in range(len(images))]
    return [{"name": n, "size": list(s) if s else None} for n, s in zip(images.names, sizes, strict=True)]


def _chain(avatar: Avatar, chain) -> dict:
    worlds = avatar.skeleton.rest_world[chain.joints]
    spans = np.einsum("jab,jb->ja", worlds[:, :3, :3], chain.tails)
    lengths = np.linalg.norm(spans, axis=1)
    scales = np.array([world_scale(avatar, int(n)) for n in chain.joints])
    rigs = avatar.hair
    return {
        "name": chain.name,
        "joints": [_name(avatar, int(n)) for n in chain.joints],
        "end": _name(avatar, int(chain.ends[-1])),
        "attach": _name(avatar, chain.attach),
        "length": _rounded(lengths.sum()),
        "lengths": _rounded(lengths),
        "stiffness": _rounded(chain.stiffness),
        "drag": _rounded(chain.drag),
        "gravity_power": _rounded(chain.gravity_power),
        "gravity_dir": _rounded(chain.gravity_dir),
        "hit_radius": _rounded(chain.hit_radius * scales),
        "colliders": list(chain.colliders),
        "center": _name(avatar, chain.center),
        "carried_by": rigs.chains[chain.parent[0]].name if chain.parent else None,
        "limits": [None if x is None else x.kind for x in chain.limits] if chain.limits else None,
    }


def _collider(avatar: Avatar, collider) -> dict:
    world = np.eye(4) if collider.node < 0 else avatar.skeleton.rest_world[collider.node]
    length = 0.0 if collider.tail is None else np.linalg.norm(world[:3, :3] @ (collider.tail - collider.offset))
    return {
        "name": collider.name,
        "node": _name(avatar, collider.node),
        "shape": collider.shape,
        "radius": _rounded(collider.radius * world_scale(avatar, collider.node)),
        "length": _rounded(length),
        "at": _rounded(world[:3, :3] @ collider.offset + world[:3, 3]),
        "chains": sum(1 for c in avatar.hair.chains if any(avatar.hair.colliders[i] is collider for i in c.colliders)),
    }


def _proposals(avatar: Avatar) -> list:
    from .proposals import propose_chains

    return [
        {
            "name": p.name,
            "nodes": [_name(avatar, n) for n in p.nodes],
            "reason": p.reason,
            "length": _rounded(p.length),
        }
        for p in propose_chains(avatar)
    ]


def _extensions(avatar: Avatar) -> dict:
    from .scenes import UNDERSTOOD

    used = avatar.document.json.get("extensionsUsed") if avatar.document is not None else None
    names = [n for n in used if isinstance(n, str)] if isinstance(used, list) else []
    return {"read": [n for n in names if n in UNDERSTOOD], "kept": [n for n in names if n not in UNDERSTOOD]}
