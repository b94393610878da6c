"""Check one layer of a sequence that was traced before: its position gives its number."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from scanify.nn.checks.check_layers import who_is_told
from scanify.nn.checks.looked_at import run_with_a_look, tell_once
from scanify.nn.programs.literals import replay

# The key, among the numbers that are scanned over, for the position of the layer.
POSITION = "position"


def layer_looked_at(
    step: Any, consts: Sequence[Any], arrays: Sequence[Any], given: Mapping[Any, Any], carried: int, place: Any
) -> list[Any]:
    """Return the results of the step's program, with checks. `carried` of the `arrays` are the carry; `place` holds the
    number of the layer, and the number of the first layer."""
    report = who_is_told()
    assert report is not None
    told = functools.partial(tell_once, report, set(), place[1])
    jaxpr = step.program.jaxpr
    if not given:
        return run_with_a_look(jaxpr, consts, arrays, carried, place[0], told)
    closed = jax.make_jaxpr(lambda arrays: replay(jaxpr, consts, arrays, given))(arrays)
    return run_with_a_look(closed.jaxpr, closed.consts, arrays, carried, place[0], told, jaxpr)
