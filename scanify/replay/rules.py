"""The arguments of rules, and functions to read parameters."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scanify.replay.digests import Digests
from scanify.replay.marks import Marks
from scanify.replay.read import Equation
from scanify.replay.values import Values


@dataclass(eq=False)
class Run:
    """The evaluation of a program, and the current equation.

    `cotangents` and `tangents` are true if some of the inputs are. With `signs`, zeros of derivatives keep their signs,
    so that none may be omitted from a sum. `left_out` counts omitted zeros. `operands` are the operands of the
    equation; a rule that does not apply may still rewrite them.
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


# Returns the output arrays, or None if the rule does not apply.
Rule = Callable[[Run, list[int]], "list[int] | None"]


def ints(spelled: Any) -> list[int]:
    """Read a tuple or list of integers."""
    (kind,) = spelled
    if kind not in ("tuple", "list") or not all(type(each) is int for each in spelled[kind]):
        raise ValueError(f"{spelled} are no integers")
    return list(spelled[kind])


def optional(spelled: Any) -> list[int] | None:
    return None if spelled is None else ints(spelled)


def fields(spelled: Any) -> dict[str, Any]:
    """Read the fields of a jax object, such as dimension numbers."""
    return dict(spelled["fields"])
