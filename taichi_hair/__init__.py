"""Hair that swings, follows and comes to rest in the shape the artist made."""

from .version import __version__ as __version__
