"""Hair as it is described, before anything moves: Chain, Collider and HairRig, immutable, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

SHAPES = ("sphere", "capsule", "plane", "inside_sphere", "inside_capsule", "tapered_capsule", "box", "surface")


LIMITS = ("cone", "hinge", "spherical")


@dataclass(frozen=True, eq=False)
class Surface:
    """Signed distances on a grid, negative inside, carried by a node: what is visible there, at its true shape."""

    distance: np.ndarray  # (X, Y, Z) float32, the node's local units, at the corners of cells
    cell: float  # edge of a cell, local units


@dataclass(frozen=True, eq=False)
class Collider:
    """A shape that hair must not enter, carried by a node. Lengths are in the node's local units."""

    name: str
    node: int  # index into the skeleton; -1 is the scene root
    shape: str  # one of SHAPES
    offset: np.ndarray  # (3,) centre, start of the axis, a point of the plane, or the first corner of a surface's grid
    radius: float = 0.0  # of a box: how far its edges are rounded outward; of a surface: least distance of hair from it
    tail: np.ndarray | None = None  # (3,) end of a capsule's axis
    normal: np.ndarray | None = None  # (3,) unit, of a plane; hair stays on the side it points to
    tail_radius: float | None = None  # of a tapered capsule, at its tail
    half_size: np.ndarray | None = None  # (3,) half edges of a box
    rotation: np.ndarray | None = None  # (4,) of a box in its node
    surface: Surface | None = None
    friction: float = 0.0  # Coulomb's coefficient: sideways motion lost per motion into the collider
    speed_loss: float = 0.0  # share of the speed along the collider that contact takes within 1/60 s


@dataclass(frozen=True, eq=False)
class Limit:
    """How far a joint may turn from its rest direction (VRMC_springBone_limit draft)."""

    kind: str  # one of LIMITS
    rotation: np.ndarray  # (4,) frame of the limit in the joint's rest frame, xyzw
    angles: tuple[float, ...]  # radians: cone (half angle,), hinge (half angle,), spherical (pitch, yaw)


@dataclass(frozen=True, eq=False)
class ArcParameters:
    """Numbers of the `arc` law, per segment. k in 1/s^2, c in 1/s, gravity in m/s^2."""

    stiffness: np.ndarray  # (J,) k
    damping: np.ndarray  # (J,) c
    follow: np.ndarray  # (J,) 0 = damp against the world, 1 = against the head's rigid motion
    gravity: np.ndarray  # (3,) m/s^2


@dataclass(frozen=True, eq=False)
class RodParameters:
    """Numbers of the `rod` law, per chain; `profile` per joint."""

    frequency: float  # Hz, of the first mode
    damping: float  # ratio zeta
    air: float  # share of the damping that acts against the air, 0 to 1
    air_tip: float  # air drag grows along the strand as s^air_tip
    softness: float  # exponent p of the taper: 2 bends evenly
    root_share: float  # A, share of the springs that hold each link to the head's frame
    profile: np.ndarray  # (J,) relative bending stiffness b0 per joint
    gravity: np.ndarray  # (3,) m/s^2


@dataclass(frozen=True, eq=False)
class Chain:
    """One strand of J segments: segment j turns about `joints[j]` and ends at `tails[j]` in that joint's own frame.

    The joint of segment j > 0 is the end point of segment j - 1. Settings are the file's own (VRM 1.0 units: stiffness
    and drag per 1/60 s update as the specification has them, radii in metres); the laws' own numbers are derived from
    them in `rig.parameters` unless `arc` or `rod` states them.
    """

    name: str
    joints: np.ndarray  # (J,) int, moving nodes, root to tip
    ends: np.ndarray  # (J,) int, node at the end of each segment, -1 where the file has none
    tails: np.ndarray  # (J, 3) end point in the joint's rest frame, local units (before node scale)
    attach: int  # node that carries the chain (skeleton parent of joints[0]); -1 is the scene root
    stiffness: np.ndarray  # (J,)
    drag: np.ndarray  # (J,) in [0, 1]
    gravity_power: np.ndarray  # (J,)
    gravity_dir: np.ndarray  # (J, 3)
    hit_radius: np.ndarray  # (J,) local units of the joint
    colliders: tuple[int, ...] = ()  # indices into HairRig.colliders
    center: int = -1  # node whose motion gives no inertia, -1 is the world
    parent: tuple[int, int] | None = None  # (chain, segment) when the attach node is itself moved by another chain
    limits: tuple[Limit | None, ...] | None = None  # (J,)
    arc: ArcParameters | None = None
    rod: RodParameters | None = None

    def __len__(self) -> int:
        return len(self.joints)


@dataclass(frozen=True, eq=False)
class ColliderFit:
    """What a fit of the colliders to the visible body did, and the rig as it was."""

    original: HairRig
    lines: tuple[str, ...]  # one for each collider, for each chain, and for what was missing
    radii: dict[int, tuple[float, float]]  # collider of the fitted rig: authored and fitted radius, local units
    added: tuple[int, ...]  # colliders of the fitted rig that no author made
    whole: tuple[int, ...]  # chains that meet the fitted colliders along their whole length


@dataclass(frozen=True, eq=False)
class HairRig:
    """All chains and colliders of one avatar. Chains come after the chain that carries them."""

    chains: tuple[Chain, ...] = ()
    colliders: tuple[Collider, ...] = ()
    fit: ColliderFit | None = None  # where the colliders were fitted

    @property
    def restored(self) -> HairRig:
        """The rig as its author made it: the very object that was fitted."""
        return self if self.fit is None else self.fit.original

    @property
    def joints(self) -> np.ndarray:
        """(S,) moving nodes of all chains, chain after chain: the order of every per-segment array of a Crowd."""
        return np.concatenate([c.joints for c in self.chains]) if self.chains else np.zeros(0, dtype=np.int64)

    @property
    def spans(self) -> np.ndarray:
        """(C, 2) first segment and number of segments of each chain, in the order of `joints`."""
        counts = np.array([len(c) for c in self.chains], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
        return np.stack([starts, counts], axis=1) if len(counts) else np.zeros((0, 2), dtype=np.int64)

    def with_chains(self, chains) -> HairRig:
        """The same colliders with other chains."""
        return replace(self, chains=tuple(chains))
