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
    from .hair import Chain as Chain
    from .hair import Collider as Collider
    from .hair import HairRig as HairRig
    from .measure.run import measure as measure
    from .motion.turn import HeadTurn as HeadTurn
    from .rig.colliders import fit_colliders as fit_colliders
    from .sim.backend import BackendError as BackendError
    from .sim.backend import init as init
    from .sim.crowd import Crowd as Crowd

# Each public name and the module it lives in; a module is imported when its first name is used, so that reading a file
# does not start Taichi.
_HOMES = {
    "AssetError": "avatar.errors",
    "Avatar": "avatar.avatar",
    "BackendError": "sim.backend",
    "Chain": "hair",
    "Collider": "hair",
    "Crowd": "sim.crowd",
    "HairRig": "hair",
    "HeadTurn": "motion.turn",
    "fit_colliders": "rig.colliders",
    "init": "sim.backend",
    "load": "avatar.avatar",
    "measure": "measure.run",
    "sample": "avatar.samples",
    "save": "avatar.saving",
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
