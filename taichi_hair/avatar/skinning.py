"""Linear blend skinning in NumPy: the slow, obvious reference."""

from __future__ import annotations

import numpy as np

from .description import Avatar, MeshPart


def skin_vertices(avatar: Avatar, part: MeshPart | int, worlds: np.ndarray | None = None, normals: bool = False):
    """Positions (..., V, 3) in metres of a part posed by node world matrices (..., N, 4, 4), the rest pose by default.

    With `normals` a pair: positions and unit normals (..., V, 3). The transform of the node that holds a skinned mesh
    does not count, as glTF wants; a rigid part rides on its node.
    """
    part = avatar.parts[part] if isinstance(part, (int, np.integer)) else part
    worlds = avatar.skeleton.rest_world if worlds is None else np.asarray(worlds, dtype=np.float64)
    skin = avatar.skins[part.skin]
    matrices = worlds[..., skin.joints, :, :] @ skin.inverse_bind  # (..., K, 4, 4)
    blended = np.zeros((*worlds.shape[:-3], len(part.positions), 3, 4))
    for k in range(part.joints.shape[1]):
        blended += part.weights[:, k, None, None] * matrices[..., part.joints[:, k], :3, :]
    positions = (blended[..., :3] @ part.positions[..., None])[..., 0] + blended[..., 3]
    if not normals:
        return positions
    # Normals turn with the inverse transpose, so that uneven scale does not tilt them: the cofactor matrix is that
    # up to its length, and exists where the blend is singular.
    a, b, c = np.moveaxis(blended[..., :3], -1, 0)
    cofactor = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=-1)
    sign = np.sign(np.sum(a * cofactor[..., 0], axis=-1))[..., None]
    turned = (cofactor @ part.normals[..., None])[..., 0] * np.where(sign == 0.0, 1.0, sign)
    length = np.linalg.norm(turned, axis=-1, keepdims=True)
    return positions, np.where(length > 1e-30, turned / np.where(length > 1e-30, length, 1.0), part.normals)
