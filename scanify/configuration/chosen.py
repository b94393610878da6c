"""The choice of rules: `select`, `ignore` and `per-file-ignores`, from the command line or the configuration."""

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
    """The chosen rules.

    Codes are rules or prefixes of rules: `SCN1` stands for all loops that can be rewritten. If two codes match a rule,
    the longer one applies; for equal codes, `ignore` does. `per_file` maps patterns of paths to the codes ignored
    there.
    """

    select: tuple[str, ...] = (ALL,)
    ignore: tuple[str, ...] = ()
    per_file: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def takes(self, rule: str, path: Path, root: Path) -> bool:
        """True if a finding of this rule in this file is wanted; patterns are relative to `root`."""
        here = [
            code
            for pattern, codes in self.per_file
            if Selection(root, (pattern,)).excluded_by(path) is not None
            for code in codes
        ]
        return _longest(self.select, rule) > max(_longest(self.ignore, rule), _longest(here, rule))


def codes(given: Iterable[str], where: str) -> tuple[str, ...]:
    """Parse codes; each may be several separated by commas, or the name of a rule.

    Raises ScanifyError for a code that is no prefix of a rule; the message begins with `where`.
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
    """`; did you mean SCN101?` if a rule is similar, else a pointer to the list of rules."""
    said = word.lower()
    known = {name: rule.id if name == rule.id else name for rule in RULES for name in (rule.id, rule.name)}

    def alike(name: str) -> tuple[float, int]:
        return difflib.SequenceMatcher(None, said, name.lower()).ratio(), _shared(said, name.lower())

    closest = max(known, key=alike)
    return f"; did you mean {known[closest]}?" if alike(closest)[0] > 0.6 else "; `scanify rules` lists them all"


def _shared(one: str, other: str) -> int:
    """The length of the common prefix of two texts."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _longest(codes: Iterable[str], rule: str) -> int:
    """The length of the longest code that matches a rule; -1 if none does."""
    return max((0 if code == ALL else len(code) for code in codes if code == ALL or rule.startswith(code)), default=-1)
