"""AssetError: what a reader says about a file that it cannot use, and Log: what it says about one that it repaired."""

from __future__ import annotations


class AssetError(ValueError):
    """A file, or one part of it, cannot be used: which file, which part, what was found, what would be right."""

    def __init__(self, file: str, part: str, found: str, wanted: str):
        self.file = str(file)
        self.part = part
        self.found = found
        self.wanted = wanted
        super().__init__(f"{self.file}: {part}: found {found}; wanted {wanted}")

    def __reduce__(self):
        return type(self), (self.file, self.part, self.found, self.wanted)


class Log:
    """Collects what a reader repaired or left out (`warnings`) and decided (`notes`), each sentence once."""

    def __init__(self):
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def warn(self, part: str, what: str) -> None:
        sentence = f"{part}: {what}"
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def note(self, part: str, what: str) -> None:
        sentence = f"{part}: {what}"
        if sentence not in self.notes:
            self.notes.append(sentence)
