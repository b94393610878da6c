"""Control flow inside of a layer, and every way to run the scan over layers.

Each case: the body of a layer, a near miss, the primitives it is about, whether reverse mode goes through it.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from scanify.verify.proof.prove import prove
from tests.verify.layered import LAYERS, Body, Case, check_gradients, check_outputs, scan, traced


def _times(function: Callable[..., Any], n: int) -> Body:
    def body(x: Any, w: Any) -> Any:
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, function(c[1]) + w), (0, x))[1]

    return body


def _until(bound: float) -> Body:
    def body(x: Any, w: Any) -> Any:
        return lax.while_loop(lambda c: jnp.sum(c[0]) < bound, lambda c: (c[0] + 1.0, c[1] * w), (x, w))[1]

    return body


def _switch(order: tuple[int, int, int], clip: int = 0) -> Body:
    branches = [lambda x, w: x * w, lambda x, w: x + w, lambda x, w: jnp.sin(x) - w]

    def body(x: Any, w: Any) -> Any:
        return lax.switch((x[0, clip] * 2).astype(jnp.int32), [branches[i] for i in order], x, w)

    return body


def _time(reverse: bool = False, start: float = 0.0, **how: Any) -> Body:
    """A scan over time inside the layer."""

    def body(x: Any, w: Any) -> Any:
        step = lambda c, row: (jnp.tanh(c * row + w[0]), c)  # noqa: E731
        return lax.scan(step, x[0] + start, x, reverse=reverse, **how)[1]

    return body


def _time_of_time(inner: int) -> Body:
    def body(x: Any, w: Any) -> Any:
        again = lambda c, row: (lax.scan(lambda d, _: (jnp.sin(d) * row, None), c, None, length=inner)[0], c)  # noqa: E731
        return lax.scan(again, w[0], x)[1]

    return body


def _reduce(init: float) -> Body:
    return lambda x, w: x + lax.reduce(w, np.float32(init), lambda a, b: a * 2 + b, (0,))


CASES: dict[str, Case] = {
    "while": (_times(jnp.sin, 2), _times(jnp.sin, 3), ("while",), False),
    "body of a while": (_times(jnp.sin, 2), _times(jnp.cos, 2), ("while",), False),
    "condition of a while": (_until(20.0), _until(90.0), ("while",), False),
    "branches": (_switch((0, 1, 2)), _switch((1, 0, 2)), ("cond",), True),
    "index of branches": (_switch((0, 1, 2)), _switch((0, 1, 2), 1), ("cond",), True),
    "platform": (
        lambda x, w: lax.platform_dependent(x, w, cpu=jnp.multiply, default=jnp.add),
        lambda x, w: lax.platform_dependent(x, w, cuda=jnp.multiply, default=jnp.add),
        ("platform_index",),
        False,
    ),
    "scan inside": (_time(), _time(True), ("scan",), True),
    "start of a scan inside": (_time(), _time(start=1.0), ("scan",), True),
    "unrolled scan inside": (_time(unroll=3), _time(True, unroll=3), ("scan",), True),
    "scan in a scan inside": (_time_of_time(2), _time_of_time(3), ("scan",), True),
    "reduce": (_reduce(0.0), _reduce(1.0), ("reduce",), False),
}


@pytest.mark.parametrize("name", CASES)
def test_a_stack_of_layers_is_proved_and_a_near_miss_is_not(name: str) -> None:
    check_outputs(CASES[name])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3]])
def test_the_gradients_of_a_stack_are_proved_and_those_of_a_near_miss_are_not(name: str) -> None:
    check_gradients(CASES[name])


@pytest.mark.parametrize(
    "how", [{"reverse": True}, {"unroll": 2}, {"unroll": True}, {"reverse": True, "unroll": 2}], ids=str
)
@pytest.mark.parametrize("gradients", [False, True], ids=["outputs", "gradients"])
def test_every_way_to_run_a_scan_is_proved(how: dict[str, Any], gradients: bool) -> None:
    body: Body = lambda x, w: jnp.tanh(x * w)  # noqa: E731
    order = range(LAYERS)[::-1] if how.get("reverse") else range(LAYERS)

    def before(x: Any, ws: Any) -> Any:
        for index in order:
            x = body(x, ws[index])
        return x

    old, new = traced(before, gradients=gradients), traced(scan(body, **how), gradients=gradients)
    assert prove(old, new, cotangents=1 if gradients else 0).proved
    other = traced(scan(body, **{**how, "reverse": not how.get("reverse")}), gradients=gradients)
    assert not prove(old, other, cotangents=1 if gradients else 0).proved


def test_a_branch_by_the_index_modulo_a_period_is_that_branch() -> None:
    branches = [jnp.sin, jnp.cos, lambda v: v * 2]

    def after(x: Any, ws: Any) -> Any:
        return lax.scan(lambda c, i: (lax.switch((i + 1) % 3, branches, c) + ws[i // 2], None), x, jnp.arange(3))[0]

    def before(x: Any, ws: Any, order: tuple[int, ...] = (1, 2, 0)) -> Any:
        for i, which in enumerate(order):
            x = branches[which](x) + ws[i // 2]
        return x

    assert prove(traced(before), traced(after)).proved
    assert not prove(traced(lambda x, ws: before(x, ws, (1, 0, 2))), traced(after)).proved
