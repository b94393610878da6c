"""Run a traced layer operation by operation, and check each result."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn.checks.check_layers import Report, who_is_told
from scanify.nn.checks.source_line import source_line

Step = Callable[[Any, Any], tuple[Any, Any, Any]]


def looked_at(step: Step, xs: Any, length: int, reverse: bool) -> tuple[Step, Any]:
    """Wrap a step of a scan and its xs to check each layer, if checks are on. The step returns arrays, and the leaves
    that are not arrays."""
    report = who_is_told()
    if report is None:
        return step, xs
    first, seen = (length - 1 if reverse else 0), set[int]()

    def with_a_look(carry: Any, numbered: Any) -> tuple[Any, Any, Any]:
        number, x = numbered
        others: list[Any] = []

        def arrays(carry: Any, x: Any) -> tuple[Any, Any]:
            new, y, other = step(carry, x)
            others[:] = [other]
            return new, y

        closed, shapes = jax.make_jaxpr(arrays, return_shape=True)(carry, x)
        given = jax.tree.leaves((carry, x))
        told = functools.partial(tell_once, report, seen, first)
        outs = run_with_a_look(closed.jaxpr, closed.consts, given, len(jax.tree.leaves(carry)), number, told)
        new, y = jax.tree.unflatten(jax.tree.structure(shapes), outs)
        return new, y, others[0]

    return with_a_look, (jnp.arange(length), xs)


def run_with_a_look(
    jaxpr: Any,
    consts: Sequence[Any],
    arrays: Sequence[Any],
    carried: int,
    number: Any,
    told: Callable[[int, str, str], None],
    source: Any = None,
) -> list[Any]:
    """Evaluate the jaxpr, with a callback that reports NaNs. The first `carried` of `arrays` are the carry.

    `source` is the jaxpr that it was made from, equation by equation, if that one knows the lines of the source.
    `told(number, kind, text)` is called for each report: of "carry", "own" arrays or an "operation".
    """
    values: dict[Any, Any] = {}
    values.update(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, arrays, strict=True))

    def read(atom: Any) -> Any:
        return atom.val if hasattr(atom, "val") else values[atom]

    flags, places = [], []
    alike = source is not None and len(source.eqns) == len(jaxpr.eqns)
    for equation, written in zip(jaxpr.eqns, source.eqns if alike else jaxpr.eqns, strict=True):
        with equation.ctx.manager:
            found = equation.primitive.bind(
                *map(read, equation.invars), **equation.primitive.get_bind_params(equation.params)
            )
        found = found if equation.primitive.multiple_results else [found]
        values.update(zip(equation.outvars, found, strict=True))
        flags.append(_any_nan(found))
        places.append(_place(written))
    outs = [read(atom) for atom in jaxpr.outvars]
    what = [_any_nan(some) for some in (arrays[:carried], [*arrays[carried:], *consts], outs)]
    jax.debug.callback(functools.partial(_judge, places, told), number, jnp.stack(what), jnp.stack([*flags, *what]))
    return outs


def _any_nan(arrays: Sequence[Any]) -> Any:
    inexact = [x for x in arrays if hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.inexact)]
    return functools.reduce(jnp.logical_or, (jnp.isnan(x).any() for x in inexact), jnp.zeros((), bool))


def _judge(places: Sequence[str], told: Callable[[int, str, str], None], number: Any, what: Any, flags: Any) -> None:
    carry, own, outs = map(bool, np.asarray(what))
    if carry:
        told(int(number), "carry", "the carry that it is given has a NaN")
    elif own:
        told(int(number), "own", "its own parameters or arguments have a NaN")
    elif outs:
        at = int(np.argmax(np.asarray(flags)))
        told(int(number), "operation", places[at] if at < len(places) else "it gives a NaN")


def tell_once(report: Report, seen: set[int], first: int, number: int, kind: str, text: str) -> None:
    """Report each layer once, and a NaN in the carry only for the first layer: others were reported before."""
    if number in seen or (kind == "carry" and number != first):
        return
    seen.add(number)
    report(f"layer {number}: {text}")


def _place(equation: Any) -> str:
    """Describe an equation, `model.py:12: log float32[4] gives a NaN`, by the innermost line outside of libraries."""
    name = equation.params.get("name") if equation.primitive.name in ("jit", "pjit") else None
    shapes = (f"{var.aval.dtype}{list(var.aval.shape)}" for var in equation.outvars if hasattr(var.aval, "shape"))
    what = f"{name or equation.primitive.name} gives a NaN, {', '.join(shapes)}"
    known = source_line(equation)
    return what if known is None else f"{known[0]}:{known[1]}: {what}"
