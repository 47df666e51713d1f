"""Hair that swings, follows and comes to rest in the shape the artist made."""

__version__ = "0.1.0"
