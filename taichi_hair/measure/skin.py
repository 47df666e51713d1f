"""Linear blend skinning on the device: positions and normals of an avatar's mesh for one pose or for many at once."""

import numpy as np

from ..avatar.description import Avatar
from ..sim.backend import ti

vec3s = ti.types.ndarray(dtype=ti.math.vec3, ndim=1)


@ti.func
def _turn(cofactor: ti.math.mat3, sign: ti.f32, n: ti.math.vec3) -> ti.math.vec3:
    """The normal n under the linear map that `cofactor` belongs to, unit length; n itself where it vanishes."""
    turned = sign * (cofactor @ n)
    length = turned.norm()
    return ti.select(length > 1e-20, turned / ti.max(length, 1e-20), n)


@ti.kernel
def _skin(
    rest: vec3s,
    rest_normals: vec3s,
    rest_hull: vec3s,
    joints: ti.types.ndarray(dtype=ti.i32, ndim=2),
    weights: ti.types.ndarray(dtype=ti.f32, ndim=2),
    palette: ti.types.ndarray(dtype=ti.f32, ndim=2),
    points: vec3s,
    normals: vec3s,
    hull: vec3s,
    vertices: ti.i32,
    bones: ti.i32,
    copies: ti.i32,
    first: ti.i32,
):
    """One thread per vertex and copy: blends the bones' matrices, then moves the point and both normals."""
    for i in range(vertices * copies):
        v = i % vertices
        base = (i // vertices) * bones
        a = ti.math.vec3(0.0)
        b = ti.math.vec3(0.0)
        c = ti.math.vec3(0.0)
        d = ti.math.vec3(0.0)
        for k in range(joints.shape[1]):
            w = weights[v, k]
            if w != 0.0:
                p = base + joints[v, k]
                a += w * ti.math.vec3(palette[p, 0], palette[p, 1], palette[p, 2])
                b += w * ti.math.vec3(palette[p, 3], palette[p, 4], palette[p, 5])
                c += w * ti.math.vec3(palette[p, 6], palette[p, 7], palette[p, 8])
                d += w * ti.math.vec3(palette[p, 9], palette[p, 10], palette[p, 11])
        r = rest[v]
        points[first + i] = a * r.x + b * r.y + c * r.z + d
        # Normals follow the cofactor matrix: it equals the inverse transpose up to a factor, and never divides by zero.
        bc = b.cross(c)
        cofactor = ti.Matrix.cols([bc, c.cross(a), a.cross(b)])
        sign = ti.select(a.dot(bc) < 0.0, -1.0, 1.0)
        normals[first + i] = _turn(cofactor, sign, rest_normals[v])
        hull[first + i] = _turn(cofactor, sign, rest_hull[v])


@ti.kernel
def _palette(
    worlds: ti.types.ndarray(),
    bones: ti.types.ndarray(),
    inverse_bind: ti.types.ndarray(),
    palette: ti.types.ndarray(),
):
    """world @ inverse bind of each copy's bones: rows of worlds (copies, N, 12), columns of palette (all bones, 12)."""
    for m, b in ti.ndrange(worlds.shape[0], bones.shape[0]):
        n = bones[b]
        for r, c in ti.static(ti.ndrange(3, 4)):
            x = 0.0
            for k in ti.static(range(3)):
                x += worlds[m, n, 4 * r + k] * inverse_bind[b, 4 * k + c]
            if ti.static(c == 3):
                x += worlds[m, n, 4 * r + 3]
            palette[m * bones.shape[0] + b, 3 * c + r] = x


class Skinner:
    """Skins the chosen parts of one avatar, `copies` times, into device arrays.

    Vertices stand in the order of `parts`, copy after copy; `starts` (P + 1,) are the parts' first vertices.
    `hull` is a second set of unit vectors carried like normals (outlines use it); without one, the normals are used.
    """

    def __init__(self, avatar: Avatar, parts=None, copies: int = 1, hull: np.ndarray | None = None):
        if copies < 1:
            raise ValueError(f"skinning {avatar.name}: copies is {copies}, wanted at least 1")
        chosen = tuple(avatar.parts if parts is None else parts)
        if not chosen:
            raise ValueError(f"skinning {avatar.name}: there is no mesh part to skin")
        self.avatar, self.parts, self.copies = avatar, chosen, copies
        self.starts = np.concatenate([[0], np.cumsum([len(p.positions) for p in chosen])]).astype(np.int64)
        self.vertices = int(self.starts[-1])
        self._bones = np.concatenate([s.joints for s in avatar.skins]).astype(np.int64)
        self._inverse_bind = np.concatenate([s.inverse_bind for s in avatar.skins]).astype(np.float64)
        first_bone = np.concatenate([[0], np.cumsum([len(s.joints) for s in avatar.skins])])
        width = max(p.joints.shape[1] for p in chosen)
        joints = np.zeros((self.vertices, width), dtype=np.int32)
        weights = np.zeros((self.vertices, width), dtype=np.float32)
        for part, start in zip(chosen, self.starts, strict=False):
            k, size = part.joints.shape[1], len(avatar.skins[part.skin].joints)
            if len(part.joints) and not 0 <= part.joints.min() <= part.joints.max() < size:
                raise ValueError(
                    f"{avatar.name}, mesh {part.name!r}: joint indices reach from {part.joints.min()} to "
                    f"{part.joints.max()}, its skin has {size} joints"
                )
            joints[start : start + len(part.joints), :k] = part.joints + first_bone[part.skin]
            weights[start : start + len(part.joints), :k] = part.weights
        normals = np.concatenate([p.normals for p in chosen])
        self._rest = _vectors(np.concatenate([p.positions for p in chosen]))
        self._rest_normals = _vectors(normals)
        self._rest_hull = self._rest_normals if hull is None else _vectors(hull)
        self._joints = ti.ndarray(ti.i32, joints.shape)
        self._joints.from_numpy(joints)
        self._weights = ti.ndarray(ti.f32, weights.shape)
        self._weights.from_numpy(weights)
        self._targets = self._device_palette = None

    def palette(self, worlds: np.ndarray) -> np.ndarray:
        """(copies * bones, 12) float32 columns of world @ inverse bind; `worlds` is (N, 4, 4) or (copies, N, 4, 4)."""
        nodes = len(self.avatar.skeleton)
        worlds = np.asarray(worlds, dtype=np.float64)
        if worlds.shape == (nodes, 4, 4) and self.copies == 1:
            worlds = worlds[None]
        if worlds.shape != (self.copies, nodes, 4, 4):
            raise ValueError(
                f"skinning {self.avatar.name}: world matrices have shape {worlds.shape}, "
                f"wanted {(self.copies, nodes, 4, 4)}"
            )
        m = worlds[:, self._bones] @ self._inverse_bind
        columns = np.swapaxes(m[..., :3, :], -1, -2)  # (copies, bones, 4 columns, 3)
        return np.ascontiguousarray(columns.reshape(-1, 12), dtype=np.float32)

    def write(self, worlds: np.ndarray, points, normals, hull, first: int = 0) -> None:
        """Skins into device arrays of 3-vectors, from index `first` on; each must have room for copies * vertices."""
        need = first + self.copies * self.vertices
        for array in (points, normals, hull):
            if array.shape[0] < need:
                raise ValueError(f"skinning {self.avatar.name}: room for {array.shape[0]} vertices, wanted {need}")
        self._blend(self.palette(worlds), points, normals, hull, first)

    def _blend(self, palette, points, normals, hull, first: int) -> None:
        _skin(
            self._rest,
            self._rest_normals,
            self._rest_hull,
            self._joints,
            self._weights,
            palette,
            points,
            normals,
            hull,
            self.vertices,
            len(self._bones),
            self.copies,
            first,
        )

    def update(self, worlds: np.ndarray) -> None:
        """Skins into the skinner's own device arrays `points`, `normals` and `hull`."""
        if self._targets is None:
            count = self.copies * self.vertices
            self._targets = tuple(ti.Vector.ndarray(3, ti.f32, count) for _ in range(3))
        self.write(worlds, *self._targets)

    def update_from(self, worlds) -> None:
        """The same from world matrices that are on the device, (copies, N, 12) rows as `Crowd.on_device` has them:
        vertices are then from where each copy is placed."""
        wanted = (self.copies, len(self.avatar.skeleton), 12)
        if tuple(worlds.shape) != wanted:
            raise ValueError(f"skinning {self.avatar.name}: worlds have shape {tuple(worlds.shape)}, wanted {wanted}")
        count, bones = self.copies * self.vertices, len(self._bones)
        if self._targets is None:
            self._targets = tuple(ti.Vector.ndarray(3, ti.f32, count) for _ in range(3))
        if self._device_palette is None:
            self._device_palette = ti.ndarray(ti.f32, (self.copies * bones, 12))
        inverse_bind = np.ascontiguousarray(self._inverse_bind[:, :3].reshape(bones, 12), dtype=np.float32)
        _palette(worlds, self._bones.astype(np.int32), inverse_bind, self._device_palette)
        self._blend(self._device_palette, *self._targets, 0)

    @property
    def points(self):
        """Device array of copies * vertices positions in metres, after `update`."""
        return self._filled()[0]

    @property
    def normals(self):
        """Device array of copies * vertices unit normals, after `update`."""
        return self._filled()[1]

    def positions(self, worlds: np.ndarray) -> np.ndarray:
        """(copies, vertices, 3) float32 skinned positions, read back."""
        self.update(worlds)
        return self.points.to_numpy().reshape(self.copies, self.vertices, 3)

    def _filled(self):
        if self._targets is None:
            raise RuntimeError(f"skinning {self.avatar.name}: call update(worlds) before reading its arrays")
        return self._targets


def _vectors(array: np.ndarray):
    """Device array of 3-vectors with the rows of `array` (V, 3)."""
    out = ti.Vector.ndarray(3, ti.f32, len(array))
    out.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
    return out
