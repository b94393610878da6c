"""Which findings are wanted: `select`, `ignore` and `per-file-ignores`, of the command line or the configuration."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scanify.errors import ScanifyError
from scanify.rules import RULES
from scanify.source.discover import Selection

ALL = "ALL"


@dataclass(frozen=True)
class Chosen:
    """Codes are rules or beginnings of them, `SCN1` for all loops that were found. Of two that speak of one rule the
    longer one counts, and of two equal ones `ignore` does. `per_file` are patterns of paths with what is ignored there.
    """

    select: tuple[str, ...] = (ALL,)
    ignore: tuple[str, ...] = ()
    per_file: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def takes(self, rule: str, path: Path, root: Path) -> bool:
        """Whether a finding of this rule in this file is wanted; `root` is the folder that patterns start from."""
        here = [
            code
            for pattern, codes in self.per_file
            if Selection(root, (pattern,)).excluded_by(path) is not None
            for code in codes
        ]
        return _longest(self.select, rule) > max(_longest(self.ignore, rule), _longest(here, rule))


def codes(given: Iterable[str], where: str) -> tuple[str, ...]:
    """Codes as they are kept; each may be several with commas between, or the name of a rule.

    Raises ScanifyError, which begins with `where`, for one that no rule begins with.
    """
    found = []
    for word in (word.strip() for text in given for word in text.split(",")):
        if not word:
            continue
        code = next((rule.id for rule in RULES if rule.name == word.lower()), word.upper())
        if code != ALL and not any(rule.id.startswith(code) for rule in RULES):
            raise ScanifyError(
                f"{where}: expected a rule such as SCN101 or the beginning of one, got {word!r}{near(word)}"
            )
        found.append(code)
    return tuple(found)


def near(word: str) -> str:
    """`; did you mean SCN101?` where a rule is near, else where they are listed."""
    said = word.lower()
    known = {name: rule.id if name == rule.id else name for rule in RULES for name in (rule.id, rule.name)}

    def alike(name: str) -> tuple[float, int]:
        return difflib.SequenceMatcher(None, said, name.lower()).ratio(), _shared(said, name.lower())

    closest = max(known, key=alike)
    return f"; did you mean {known[closest]}?" if alike(closest)[0] > 0.6 else "; `scanify rules` lists them all"


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _longest(codes: Iterable[str], rule: str) -> int:
    """How much of a rule the longest of the codes that speak of it says; -1 where none does."""
    return max((0 if code == ALL else len(code) for code in codes if code == ALL or rule.startswith(code)), default=-1)
