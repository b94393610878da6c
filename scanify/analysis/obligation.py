"""What must hold for a rewrite to be right, if the source alone does not show it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from scanify.analysis.facts import Place


class Kind(Enum):
    """Who discharges an obligation.

    BODY: what calling the layers does is not understood; a proof shows it for the configuration of its case.
    LAYERS: what the layers are is not shown; a case says what they are.
    ELSEWHERE: other code uses the list or the tree of parameters; no proof of the model shows it.
    COST: a scan may be slower, or a program may be said to be; no proof of equality shows it.
    """

    BODY = "body"
    LAYERS = "layers"
    ELSEWHERE = "elsewhere"
    COST = "cost"


BEYOND_CASES = (Kind.ELSEWHERE, Kind.COST)
"""The kinds that no case shows."""

ELSEWHERE, COST = ACCEPTABLE = tuple(each.value for each in BEYOND_CASES)
"""The names under which users accept these kinds (`--accept elsewhere`)."""

UNSAFE = "unsafe"
"""Every obligation, by the name of the option that accepts all (`--unsafe`)."""


@dataclass(frozen=True)
class Obligation:
    """One condition of a rewrite, in words, with the place that it is about."""

    kind: Kind
    text: str
    place: Place | None = None

    def __str__(self) -> str:
        return self.text


def each_once(obligations: Iterable[Obligation]) -> tuple[Obligation, ...]:
    """Return the obligations in order, and of those with the same words the first."""
    found: dict[str, Obligation] = {}
    for each in obligations:
        found.setdefault(each.text, each)
    return tuple(found.values())
