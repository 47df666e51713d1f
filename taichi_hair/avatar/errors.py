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
    """Collects what a reader repaired or left out (warnings) and decided (notes), each sentence once and bounded."""

    LIMIT = 300  # sentences of a kind; a file with more faults than that is not read sentence by sentence

    def __init__(self):
        self._warnings: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self._more = [0, 0]

    def warn(self, part: str, what: str) -> None:
        self._add(self._warnings, 0, f"{part}: {what}")

    def note(self, part: str, what: str) -> None:
        self._add(self._notes, 1, f"{part}: {what}")

    def _add(self, sentences: dict[str, None], kind: int, sentence: str) -> None:
        if sentence in sentences:
            return
        if len(sentences) < self.LIMIT:
            sentences[sentence] = None
        else:
            self._more[kind] += 1

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._told(self._warnings, self._more[0])

    @property
    def notes(self) -> tuple[str, ...]:
        return self._told(self._notes, self._more[1])

    @staticmethod
    def _told(sentences: dict[str, None], more: int) -> tuple[str, ...]:
        return (*sentences, f"file: {more} more sentences like these") if more else tuple(sentences)
