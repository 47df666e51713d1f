"""Hair that swings, follows and comes to rest in the shape the artist made."""

from importlib import import_module
from typing import TYPE_CHECKING

from .version import __version__ as __version__

if TYPE_CHECKING:
    from .avatar.avatar import Avatar as Avatar
    from .avatar.avatar import load as load
    from .avatar.errors import AssetError as AssetError
    from .avatar.samples import sample as sample
    from .avatar.saving import save as save
    from .bake.bake import bake as bake
    from .hair import Chain as Chain
    from .hair import Collider as Collider
    from .hair import HairRig as HairRig
    from .measure.bench import bench as bench
    from .measure.pace import match_swing as match_swing
    from .measure.reweigh import refine_weights as refine_weights
    from .measure.run import measure as measure
    from .measure.tune import tune_profile as tune_profile
    from .motion.clip import load_clip as load_clip
    from .motion.retarget import retarget as retarget
    from .motion.steps import made_clip as made_clip
    from .motion.turn import HeadTurn as HeadTurn
    from .rig.colliders import fit_colliders as fit_colliders
    from .rig.distance import surface_colliders as surface_colliders
    from .rig.fit import fit_hair as fit_hair
    from .rig.floor import with_floor as with_floor
    from .rig.guides import guides as guides
    from .rig.lint import lint_weights as lint_weights
    from .rig.transfer import transfer as transfer
    from .rig.write import write_rig as write_rig
    from .sim.backend import BackendError as BackendError
    from .sim.backend import init as init
    from .sim.crowd import Crowd as Crowd
    from .sim.equilibria import pose_table as pose_table
    from .sim.solvers.lut import Follower as Follower
    from .sim.solvers.lut import PoseTable as PoseTable

# Each public name and the module it lives in; a module is imported when its first name is used, so that reading a file
# does not start Taichi.
_HOMES = {
    "AssetError": "avatar.errors",
    "Avatar": "avatar.avatar",
    "BackendError": "sim.backend",
    "Chain": "hair",
    "Collider": "hair",
    "Crowd": "sim.crowd",
    "Follower": "sim.solvers.lut",
    "HairRig": "hair",
    "HeadTurn": "motion.turn",
    "PoseTable": "sim.solvers.lut",
    "bake": "bake.bake",
    "bench": "measure.bench",
    "fit_colliders": "rig.colliders",
    "fit_hair": "rig.fit",
    "guides": "rig.guides",
    "init": "sim.backend",
    "lint_weights": "rig.lint",
    "load": "avatar.avatar",
    "load_clip": "motion.clip",
    "made_clip": "motion.steps",
    "match_swing": "measure.pace",
    "measure": "measure.run",
    "pose_table": "sim.equilibria",
    "retarget": "motion.retarget",
    "refine_weights": "measure.reweigh",
    "sample": "avatar.samples",
    "save": "avatar.saving",
    "surface_colliders": "rig.distance",
    "transfer": "rig.transfer",
    "tune_profile": "measure.tune",
    "with_floor": "rig.floor",
    "write_rig": "rig.write",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value  # also wins over a subpackage of the same name that the import has just bound
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
