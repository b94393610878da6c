"""Which files of a project have which identifiers: asked thousands of times, so each text is read once."""

import re
from collections.abc import Sequence
from pathlib import Path

_IDENTIFIER = re.compile(r"[^\W\d]\w*")


class Words:
    """The identifiers in the texts of some files, those in comments and strings included."""

    def __init__(self) -> None:
        self._of_file: dict[Path, frozenset[str]] = {}
        self._files: dict[str, list[int]] = {}
        self._paths: list[Path] = []
        self._found: dict[tuple[str, ...], tuple[Path, ...]] = {}

    def of(self, path: Path, text: str) -> frozenset[str]:
        """Every identifier in the text of a file."""
        if path not in self._of_file:
            self._of_file[path] = frozenset(_IDENTIFIER.findall(text))
        return self._of_file[path]

    def having(self, words: tuple[str, ...], paths: Sequence[Path], texts: Sequence[str]) -> tuple[Path, ...]:
        """The files, of some with their texts, that have all of some identifiers, in the order of the files.

        Files are only ever added to those that were asked about before.
        """
        if len(paths) != len(self._paths):
            self._read(paths, texts)
        if words not in self._found:
            rarest, *others = sorted((self._files.get(word, []) for word in words), key=len)
            numbers = set(rarest).intersection(*others) if others else rarest
            self._found[words] = tuple(self._paths[each] for each in sorted(numbers))
        return self._found[words]

    def _read(self, paths: Sequence[Path], texts: Sequence[str]) -> None:
        self._paths = list(paths)
        self._files = {}
        self._found = {}
        for number, (path, text) in enumerate(zip(paths, texts, strict=True)):
            for word in self.of(path, text):
                self._files.setdefault(word, []).append(number)
