"""Stacks of layers for the prover: the loop of one body against the scan of another.

A case is the body of a layer, `x = body(x, w)`, its near miss, and the primitives it is about, which must stand in the
trace, so that no case is about something else than it says.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.reading.calls import children, opened
from scanify.verify.proof.prove import Proof, prove

LAYERS = 3

X = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32))

WS = jnp.asarray(np.random.default_rng(1).normal(size=(LAYERS, 3, 4)).astype(np.float32))

Body = Callable[[Any, Any], Any]


def loop(body: Body) -> Callable[[Any, Any], Any]:
    def run(x: Any, ws: Any) -> Any:
        for index in range(LAYERS):
            x = body(x, ws[index])
        return x

    return run


def scan(body: Body, **how: Any) -> Callable[[Any, Any], Any]:
    return lambda x, ws: lax.scan(lambda c, w: (body(c, w), None), x, ws, **how)[0]


def traced(function: Callable[[Any, Any], Any], *, gradients: bool = False) -> ClosedJaxpr:
    if not gradients:
        return jax.make_jaxpr(function)(X, WS)
    return jax.make_jaxpr(lambda x, ws, ct: jax.vjp(function, x, ws)[1](ct))(X, WS, X)


def compared(one: Body, other: Body, *, gradients: bool = False) -> Proof:
    """The loop of one body against the scan of another."""
    before, after = traced(loop(one), gradients=gradients), traced(scan(other), gradients=gradients)
    return prove(before, after, cotangents=1 if gradients else 0)


def primitives(closed: Any) -> set[str]:
    found: set[str] = set()
    waiting = [closed]
    while waiting:
        for equation in opened(waiting.pop())[0].eqns:
            found.add(equation.primitive.name)
            waiting += children(equation)
            waiting += [v for value in equation.params.values() for v in _inside(value)]
    return found


def _inside(value: Any) -> list[Any]:
    return [one for one in value if hasattr(one, "eqns")] if isinstance(value, tuple) else []


# The body, the near miss, the primitives that it is about, and whether reverse mode goes through it.
Case = tuple[Body, Body, tuple[str, ...], bool]


def check_outputs(case: Case) -> None:
    """The stack is proved, the near miss is not, and the primitives are there."""
    body, miss, about, _ = case
    assert set(about) <= primitives(traced(loop(body))), primitives(traced(loop(body)))
    proof = compared(body, body)
    assert proof.proved, (proof.difference, proof.not_understood)
    wrong = compared(body, miss)
    assert not wrong.proved and wrong.difference is not None


def check_gradients(case: Case, *, told: bool = True) -> None:
    """The gradients of the stack are proved; those of the near miss are not, unless they are the same."""
    body, miss, _, _ = case
    proof = compared(body, body, gradients=True)
    assert proof.proved, (proof.difference, proof.not_understood)
    assert not told or not compared(body, miss, gradients=True).proved
