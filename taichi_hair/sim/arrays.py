"""Arrays of a group of members on the device: end points, joint rotations and posed skeletons, with no host between."""

from __future__ import annotations

import numpy as np

from .backend import ti
from .forms import shapes
from .layout import ONE
from .pose import moving_levels
from .posing import pose_bodies, pose_hair
from .shown import SHAPE_ROWS

MOST_FRAMES = 4096  # of a clip's bodies on the device; a longer clip is kept at every second tick, or third


class DeviceArrays:
    """Device arrays over the members of one kind, in the order of their ids; `update` fills them by kernels.

    positions (M, S, 3) f32, metres from where each member is placed (`places`, (M, 3) float64): so that they keep their
    digits kilometres away. rotations (M, S, 4) f32, local, xyzw. worlds (M, N, 12) f32: rows of each node's world
    matrix, from the same place. Bodies come from clips on the device; those that the host moves are uploaded.
    """

    def __init__(self, crowd, ids: list[int]) -> None:
        self._crowd, self.ids = crowd, ids
        members = crowd._same_kind(ids)
        kind = members[0].kind
        avatar, rig = kind.avatar, kind.rig
        self._rig, skeleton = rig, avatar.skeleton
        count, segments, nodes = len(ids), len(rig.joints), len(skeleton)
        self.positions = ti.ndarray(ti.f32, (count, max(segments, 1), 3))
        self.rotations = ti.ndarray(ti.f32, (count, max(segments, 1), 4))
        self.worlds = ti.ndarray(ti.f32, (count, nodes, 12))
        self._shape = ti.ndarray(ti.f32, (count, max(segments, 1), SHAPE_ROWS))
        segment = np.full(nodes, -1)
        segment[rig.joints] = np.arange(segments)
        tails = np.concatenate([c.tails for c in rig.chains]) if rig.chains else np.zeros((0, 3))
        moving = np.concatenate([*moving_levels(skeleton, rig), np.zeros(0, dtype=np.int64)]).astype(np.int64)
        local = np.zeros((len(moving), 15), dtype=np.float32)
        local[:, :12] = skeleton.local()[moving, :3].reshape(-1, 12)
        own = segment[moving] >= 0
        local[own, 12:] = tails[segment[moving][own]]
        self._local = local
        self._nodes = np.stack([moving, skeleton.parents[moving], segment[moving]], axis=1).astype(np.int32)
        roots = []
        for chain in rig.chains:
            root = chain
            while root.parent is not None:
                root = rig.chains[root.parent[0]]
            roots.append(int(root.attach))
        self._attach = np.repeat(np.array(roots, dtype=np.int32), [len(c) for c in rig.chains])
        self._bodies: dict[int, tuple] = {}  # by clip: the clip, its bodies on the device, ticks between two of them

    @property
    def places(self) -> np.ndarray:
        """(M, 3) float64 metres: where the members are placed now."""
        return self._crowd.places(self.ids)

    def update(self) -> DeviceArrays:
        """Fill the arrays with what is shown now; returns itself."""
        crowd = self._crowd
        members = crowd._same_kind(self.ids)
        runs: dict[tuple, list[int]] = {}
        played: dict[int, list[int]] = {}
        for k, m in enumerate(members):
            m.count(crowd.clock.ticks)
            runs.setdefault((id(m.run.reduction), m.seat >= 0), []).append(k)
            played.setdefault(-1 if m.clip is None else id(m.clip), []).append(k)
        self._bodies = {key: kept for key, kept in self._bodies.items() if key in played}
        for group in played.values():
            self._pose(group, [members[k] for k in group])
        if not len(self._rig.joints):
            return self
        for group in runs.values():
            shapes(crowd._storage, crowd._tables, [members[k] for k in group], self._shape, group, moving=False)
        pose_hair(self._shape, self._attach, self._nodes, self._local, self.worlds, self.positions, self.rotations)
        return self

    def _pose(self, group: list[int], members) -> None:
        """The bodies of members that play one clip, or that the host moves."""
        places = np.array(group, dtype=np.int32)
        turns = np.array([m.placement[:3, :3] for m in members], dtype=np.float32)
        if members[0].clip is not None:
            frames, step = self._baked(members[0].clip)
            at = np.array([m.phase for m in members]) / (ONE * step)
            first = np.floor(at).astype(np.int32)
            pose_bodies(frames, places, first, (at - first).astype(np.float32), turns, self.worlds)
        else:
            bodies = np.array([self._crowd.body(self.ids[k]) for k in group])
            bodies[..., :3, 3] -= np.array([m.placement[:3, 3] for m in members])[:, None]
            rows = bodies[:, :, :3].reshape(len(group), -1, 12).astype(np.float32)
            count = len(group)
            still = np.tile(np.eye(3, dtype=np.float32), (count, 1, 1))
            pairs = np.repeat(rows, 2, axis=0)  # two frames each, and the first of them is shown
            first = 2 * np.arange(count, dtype=np.int32)
            pose_bodies(pairs, places, first, np.zeros(count, np.float32), still, self.worlds)

    def _baked(self, clip) -> tuple:
        """(frames, ticks between them) of a clip's bodies on the device."""
        if id(clip) not in self._bodies:
            count = len(clip.frames)
            step = -(-count // MOST_FRAMES)
            times = np.arange(0, count + step, step) / clip.rate
            rows = [clip.motion.worlds(times[a : a + 256])[:, :, :3] for a in range(0, len(times), 256)]
            values = np.concatenate(rows).reshape(len(times), -1, 12).astype(np.float32)
            frames = ti.ndarray(ti.f32, values.shape)
            frames.from_numpy(values)
            self._bodies[id(clip)] = (clip, frames, step)
        return self._bodies[id(clip)][1:]
