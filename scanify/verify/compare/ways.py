"""Parts of a program that values do not show: branches that they do not take, and checks that they do not fail."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from jax.extend.core import ClosedJaxpr, jaxprs_in_params

from scanify.jaxpr.reading.equinox_errors import messages


def ways_not_taken(*programs: ClosedJaxpr) -> str:
    """Report that values were compared only along the branches and trips that they take; "" if there are no others."""
    counts = [_counted(program.jaxpr) for program in programs]
    conditions, loops = (max(each) for each in zip(*counts, strict=True))
    found = [
        f"{count} {one if count == 1 else many}"
        for count, one, many in (
            (conditions, "condition", "conditions"),
            (loops, "loop of unknown length", "loops of unknown length"),
        )
        if count
    ]
    if not found:
        return ""
    return f"; of {' and '.join(found)} only what these values take is compared"


def _counted(jaxpr: Any) -> tuple[int, int]:
    """Count the conditions and loops that depend on values."""
    conditions = loops = 0
    for equation in jaxpr.eqns:
        conditions += equation.primitive.name == "cond" and not hasattr(equation.invars[0], "val")
        loops += equation.primitive.name == "while"
        for inner in jaxprs_in_params(equation.params):
            more = _counted(inner)
            conditions, loops = conditions + more[0], loops + more[1]
    return conditions, loops


def lost_checks(before: ClosedJaxpr, after: ClosedJaxpr) -> str:
    """Describe the checks by `equinox.error_if` in the original alone; "" if the rewritten version has them all.

    A value that fails such a check need not be among those that are tried.
    """
    lost = list(_checks(before.jaxpr) - _checks(after.jaxpr))
    more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    return f"the original checks {min(lost)!r}{more} when it runs, and the rewritten version does not" if lost else ""


def _checks(jaxpr: Any) -> set[str]:
    found: set[str] = set()
    for equation in jaxpr.eqns:
        function = getattr(equation.params.get("callback"), "callback_func", None)
        found |= set(messages(function) or ()) if isinstance(function, FunctionType) else set()
        found = found.union(*map(_checks, jaxprs_in_params(equation.params)))
    return found
