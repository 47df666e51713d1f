"""What leaves as animation: hair motion as rotation tracks that other programs play.

The package may be called: `taichi_hair.bake(...)` is `bake.bake.bake`, whichever was imported first.
"""

import sys
from types import ModuleType


class _Package(ModuleType):
    def __call__(self, *args, **kwargs):
        from .bake import bake

        return bake(*args, **kwargs)


sys.modules[__name__].__class__ = _Package
