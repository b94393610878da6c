"""What must hold for a rewrite to be right, if the source alone does not show it."""

from dataclasses import dataclass
from enum import Enum

from scanify.analysis.facts import Place


class Kind(Enum):
    """Who discharges an obligation.

    BODY: what calling the layers does is not understood; a proof shows it for the configuration of its case.
    LAYERS: what the layers are is not shown; a case says what they are.
    ELSEWHERE: other code uses the list or the tree of parameters; no proof of the model shows it.
    COST: a scan may be slower; no proof shows it.
    """

    BODY = "body"
    LAYERS = "layers"
    ELSEWHERE = "elsewhere"
    COST = "cost"


@dataclass(frozen=True)
class Obligation:
    """One condition of a rewrite, in words, with the place that it is about."""

    kind: Kind
    text: str
    place: Place | None = None

    def __str__(self) -> str:
        return f"{self.text} ({self.place})" if self.place is not None else self.text
