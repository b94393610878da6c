"""What a rule is given, and how it reads parameters."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scanify.replay.digests import Digests
from scanify.replay.marks import Marks
from scanify.replay.read import Equation
from scanify.replay.values import Values


@dataclass(eq=False)
class Run:
    """One program on its way, and the equation that it has come to.

    `cotangents` and `tangents`: whether some of the inputs are. `signs`: zeros of derivatives keep their signs, so none
    may be left out of a sum. `left_out`: how often any was. `operands`: those of the equation, which a rule may spell
    otherwise where it gives no answer.
    """

    values: Values
    digests: Digests
    marks: Marks
    cotangents: bool
    tangents: bool
    signs: bool
    equation: Equation
    operands: list[int] = field(default_factory=list)
    left_out: int = 0


# The arrays of the outputs, or None where the rule says nothing.
Rule = Callable[[Run, list[int]], "list[int] | None"]


def ints(spelled: Any) -> list[int]:
    """A tuple or a list of integers."""
    (kind,) = spelled
    if kind not in ("tuple", "list") or not all(type(each) is int for each in spelled[kind]):
        raise ValueError(f"{spelled} are no integers")
    return list(spelled[kind])


def optional(spelled: Any) -> list[int] | None:
    return None if spelled is None else ints(spelled)


def fields(spelled: Any) -> dict[str, Any]:
    """The fields of an object of jax, as of the numbers of dimensions."""
    return dict(spelled["fields"])
