"""The ways that a program may take: what values show of it, they show of those that they take."""

from __future__ import annotations

from typing import Any

from jax.extend.core import ClosedJaxpr, jaxprs_in_params


def ways_not_taken(*programs: ClosedJaxpr) -> str:
    """That values were compared along the branches and trips alone which they take, "" where there are no others."""
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
    """How many conditions and loops depend on values."""
    conditions = loops = 0
    for equation in jaxpr.eqns:
        conditions += equation.primitive.name == "cond" and not hasattr(equation.invars[0], "val")
        loops += equation.primitive.name == "while"
        for inner in jaxprs_in_params(equation.params):
            more = _counted(inner)
            conditions, loops = conditions + more[0], loops + more[1]
    return conditions, loops
