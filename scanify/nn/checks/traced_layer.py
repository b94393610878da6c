"""A look at one layer of a sequence that was traced before: its number is known from where it stands."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from scanify.nn.checks.check_layers import who_is_told
from scanify.nn.checks.looked_at import run_with_a_look, tell_once
from scanify.nn.programs.literals import replay

# Among the numbers that layers are scanned with: which layer it is.
POSITION = "position"


def layer_looked_at(
    step: Any, consts: Sequence[Any], arrays: Sequence[Any], given: Mapping[Any, Any], carried: int, place: Any
) -> list[Any]:
    """What the program of the step gives, with a look at it. `carried` of the `arrays` are the carry; `place` is the
    number of the layer, and that of the layer that comes first."""
    report = who_is_told()
    assert report is not None
    told = functools.partial(tell_once, report, set(), place[1])
    jaxpr = step.program.jaxpr
    if not given:
        return run_with_a_look(jaxpr, consts, arrays, carried, place[0], told)
    closed = jax.make_jaxpr(lambda arrays: replay(jaxpr, consts, arrays, given))(arrays)
    return run_with_a_look(closed.jaxpr, closed.consts, arrays, carried, place[0], told, jaxpr)
