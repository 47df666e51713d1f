"""Small avatars made in code for the tests of skinning and drawing."""

from __future__ import annotations

import numpy as np

from taichi_hair.avatar.description import Avatar, Material, MeshPart, Skin
from taichi_hair.avatar.skeleton import Skeleton
from taichi_hair.hair import Chain, Collider, HairRig

FLAT = {"toon": True, "shade_color": np.ones(3)}


def skeleton(parents, translations, names=None) -> Skeleton:
    """Nodes without rotation or scale."""
    n = len(parents)
    names = tuple(names or (f"node{i}" for i in range(n)))
    identity = np.tile([0.0, 0.0, 0.0, 1.0], (n, 1))
    return Skeleton(names, np.asarray(parents), np.asarray(translations, dtype=float), identity, np.ones((n, 3)))


def part(positions, triangles, name="mesh", material=0, normals=None, joints=None, weights=None, **more) -> MeshPart:
    """A part on skin 0; without weights it follows the skin's first joint, without normals it faces +z."""
    positions = np.asarray(positions, dtype=float)
    count = len(positions)
    normals = np.tile([0.0, 0.0, 1.0], (count, 1)) if normals is None else np.asarray(normals, dtype=float)
    joints = np.zeros((count, 1), dtype=np.int32) if joints is None else np.asarray(joints, dtype=np.int32)
    weights = np.ones((count, 1)) if weights is None else np.asarray(weights, dtype=float)
    faces = np.asarray(triangles, dtype=np.int32).reshape(-1, 3)
    return MeshPart(name, 0, 0, 0, 0, material, positions, normals, faces, joints, weights, **more)


def avatar(parts, materials, nodes=None, images=(), humanoid=None, hair=None, name="figure") -> Avatar:
    """An avatar whose only skin binds all nodes at rest."""
    nodes = nodes or skeleton([-1], [[0.0, 0.0, 0.0]])
    skin = Skin(np.arange(len(nodes)), np.linalg.inv(nodes.rest_world))
    return Avatar(
        name, None, nodes, (skin,), tuple(parts), tuple(materials), tuple(images), humanoid or {}, hair or HairRig()
    )


def square(z=0.0, half=0.5, centre=(0.0, 0.0), facing=1.0, **more) -> MeshPart:
    """A square across the z axis that faces +z (facing 1) or -z (-1), uv (0, 0) at its upper left corner."""
    x, y = centre
    corners = [(x - half, y + half, z), (x - half, y - half, z), (x + half, y - half, z), (x + half, y + half, z)]
    faces = [(0, 1, 2), (0, 2, 3)] if facing > 0 else [(0, 2, 1), (0, 3, 2)]
    uvs = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    return part(corners, faces, normals=np.tile([0.0, 0.0, facing], (4, 1)), uvs=uvs, **more)


def flat(color, **more) -> Material:
    """A material with the same linear colour (3,) in light and shade, and no outline."""
    color = np.asarray(color, dtype=float)
    rgba = np.concatenate([color, [1.0]]) if len(color) == 3 else color
    return Material("flat", rgba, toon=True, shade_color=rgba[:3], **more)


def ball(radius=0.5, centre=(0.0, 0.0, 0.0), rings=16, split=True, **more) -> MeshPart:
    """A sphere; with `split`, vertices along the seam and at the poles are stored several times."""
    v, u = np.meshgrid(np.linspace(0, np.pi, rings + 1), np.linspace(0, 2 * np.pi, 2 * rings + 1), indexing="ij")
    unit = np.stack([np.sin(v) * np.sin(u), np.cos(v), np.sin(v) * np.cos(u)], axis=-1)
    width = 2 * rings + 1
    r, k = np.meshgrid(np.arange(rings), np.arange(2 * rings), indexing="ij")
    a = (r * width + k).ravel()
    faces = np.concatenate([np.stack([a, a + width, a + 1], 1), np.stack([a + 1, a + width, a + width + 1], 1)])
    unit = unit.reshape(-1, 3)
    uvs = np.stack([u / (2 * np.pi), v / np.pi], axis=-1).reshape(-1, 2)
    return part(np.asarray(centre) + radius * unit, faces, normals=unit, uvs=uvs, **more)


def tailed(materials=None) -> Avatar:
    """A head (ball) with a tail of three joints behind it, a rigid body ball below, one collider of each shape."""
    nodes = skeleton(
        [-1, 0, 1, 2, 3],
        [[0, 1.0, 0], [0, 0.4, 0], [0, 0, -0.3], [0, -0.2, 0], [0, -0.2, 0]],
        ["hips", "head", "tail1", "tail2", "tail3"],
    )
    world = nodes.rest_world[:, :3, 3]
    body = ball(0.25, world[0], name="body", material=0)
    head = ball(0.2, world[1], name="head", material=1, joints=np.ones((561, 1), np.int32))
    joints = np.zeros((561, 2), np.int32)
    tail = ball(0.2, world[3], name="tail", material=2, joints=joints, weights=np.ones((561, 2)) * 0.5)
    share = np.clip((tail.positions[:, 1] - world[4, 1]) / (world[2, 1] - world[4, 1]), 0, 1)
    joints[:] = (3, 2)
    tail = part(tail.positions, tail.triangles, "tail", 2, tail.normals, joints, np.stack([1 - share, share], 1))
    three, zero = np.zeros(3), np.zeros((3, 3))
    tails = np.array([[0, -0.2, 0], [0, -0.2, 0], [0, -0.1, 0]])
    chain = Chain("tail", np.array([2, 3, 4]), np.array([3, 4, -1]), tails, 1, three, three, three, zero, three + 0.02)
    colliders = (
        Collider("ball", 0, "sphere", np.zeros(3), 0.25),
        Collider("bar", 1, "capsule", np.zeros(3), 0.1, np.array([0.0, 0.2, 0.0])),
        Collider("wall", 0, "plane", np.array([0.0, 0.0, -0.5]), normal=np.array([0.0, 0.0, 1.0])),
    )
    materials = materials or (flat([0.8, 0.2, 0.2]), flat([0.9, 0.7, 0.6]), flat([0.2, 0.2, 0.6]))
    return avatar(
        (body, head, tail), materials, nodes, humanoid={"head": 1, "hips": 0}, hair=HairRig((chain,), colliders)
    )
