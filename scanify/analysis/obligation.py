"""Conditions for a correct rewrite that the source alone does not show."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from scanify.analysis.facts import Place


class Kind(Enum):
    """The subject of an obligation, which decides how it is discharged.

    BODY: the source does not show the effects of a layer's call; a proof shows them for the configuration of its case.
    LAYERS: the source does not show the layers; a case supplies them.
    ELSEWHERE: other code uses the list or the tree of parameters; no proof about the model covers it.
    COST: a scan may be slower, or be reported as slower; no proof of equality covers it.
    """

    BODY = "body"
    LAYERS = "layers"
    ELSEWHERE = "elsewhere"
    COST = "cost"


BEYOND_CASES = (Kind.ELSEWHERE, Kind.COST)
"""The kinds that no case can discharge."""

ELSEWHERE, COST = ACCEPTABLE = tuple(each.value for each in BEYOND_CASES)
"""The names under which users accept these kinds (`--accept elsewhere`)."""

UNSAFE = "unsafe"
"""Accepts every obligation, like the option `--unsafe`."""


@dataclass(frozen=True)
class Obligation:
    """One condition of a rewrite as text, with the place that it is about."""

    kind: Kind
    text: str
    place: Place | None = None

    def __str__(self) -> str:
        return self.text


def each_once(obligations: Iterable[Obligation]) -> tuple[Obligation, ...]:
    """Return the obligations in order, without repeats of a text."""
    found: dict[str, Obligation] = {}
    for each in obligations:
        found.setdefault(each.text, each)
    return tuple(found.values())
