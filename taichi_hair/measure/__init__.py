"""What the eye would notice: measures of strands, mesh and contact.

The package may be called: `taichi_hair.measure(...)` is `measure.run.measure`, whichever was imported first.
"""

import sys
from types import ModuleType


class _Package(ModuleType):
    def __call__(self, *args, **kwargs):
        from .run import measure

        return measure(*args, **kwargs)


sys.modules[__name__].__class__ = _Package
