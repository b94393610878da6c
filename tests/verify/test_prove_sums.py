"""Sums that layers add to, from zeros on: jax leaves out the tangent and the batch axis of what starts without one, and a
scan carries them from the start."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from scanify.jaxpr.rules import index as rules_index
from scanify.jaxpr.rules import signs
from scanify.jaxpr.rules import value as rules_value
from scanify.verify.proof.prove import prove

LAYERS = 3
X = jnp.sin(jnp.arange(30.0)).reshape(5, 6)
KEYS = jax.random.split(jax.random.key(0), LAYERS)
WS = [{"router": jax.random.normal(k, (6, 4)), "experts": jax.random.normal(k, (4, 6, 6))} for k in KEYS]

Layer = Callable[[Any, Any], Any]


def loss(carry: Any, w: Any) -> Any:
    """Two of four experts for each token, and a loss that keeps their load even."""
    x, total = carry
    gates = jax.nn.softmax(x @ w["router"])
    best, which = lax.top_k(gates, 2)
    full = jnp.zeros_like(gates).at[jnp.arange(5)[:, None], which].set(best)
    return x + jnp.einsum("te,eij,tj->ti", full, w["experts"], x), total + jnp.mean(full)


def counts(carry: Any, w: Any) -> Any:
    """How many tokens each expert got."""
    x, total = carry
    best, which = lax.top_k(x @ w["router"], 2)
    return x * jnp.sum(best), total + jnp.zeros(4, jnp.int32).at[which.ravel()].add(1)


def difference(carry: Any, w: Any) -> Any:
    x, total = carry
    return jnp.sin(x @ w["router"] @ w["router"].T), jnp.mean(x) - total


SUMS: dict[str, tuple[Layer, Any]] = {
    "a loss": (loss, jnp.zeros(())),
    "a number": (loss, 0.0),
    "numbers": (lambda c, w: (loss((c[0], 0.0), w)[0], c[1] + jnp.mean(c[0] @ w["router"], 0)), jnp.zeros(4)),
    "counts": (counts, jnp.zeros(4, jnp.int32)),
    "differences": (difference, jnp.zeros(())),
}


def loop(layer: Layer, start: Any) -> Callable[[Any, Any], Any]:
    def run(x: Any, ws: Any) -> Any:
        carry = (x, start)
        for w in ws:
            carry = layer(carry, w)
        return carry

    return run


def scan(layer: Layer, start: Any) -> Callable[[Any, Any], Any]:
    def run(x: Any, ws: Any) -> Any:
        stack = jax.tree.map(lambda *leaves: jnp.stack(leaves), *ws)
        return lax.scan(lambda c, w: (layer(c, w), None), (x, jnp.asarray(start)), stack)[0]

    return run


def inexact(values: Any) -> list[Any]:
    return [value for value in jax.tree.leaves(values) if jnp.issubdtype(value.dtype, jnp.inexact)]


def along(function: Callable[[Any, Any], Any]) -> Any:
    """Tangents of the inexact outputs, along as many last arguments."""
    return jax.make_jaxpr(lambda x, ws, dx, dws: inexact(jax.jvp(lambda *a: function(*a), (x, ws), (dx, dws))[1]))(
        X, WS, X, WS
    )


def batched(function: Callable[[Any, Any], Any]) -> Any:
    return jax.make_jaxpr(lambda x, ws: jax.vmap(lambda *a: function(*a), in_axes=(0, None))(x, ws))(
        jnp.stack([X, X + 1]), WS
    )


TANGENTS = 1 + 2 * LAYERS


@pytest.mark.parametrize("name", SUMS)
def test_tangents_and_batches_of_a_sum_are_proved_and_those_of_a_near_miss_are_not(name: str) -> None:
    layer, start = SUMS[name]
    assert prove(along(loop(layer, start)), along(scan(layer, start)), tangents=TANGENTS).proved
    assert prove(batched(loop(layer, start)), batched(scan(layer, start))).proved
    ones = jax.tree.map(lambda value: value + 1, start)
    assert not prove(batched(loop(layer, start)), batched(scan(layer, ones))).proved
    twice = lambda c, w: layer((c[0] * 2, c[1]), w)  # noqa: E731
    assert not prove(along(loop(layer, start)), along(scan(twice, start)), tangents=TANGENTS).proved


def test_both_rules_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(rules_value, "_spread", lambda numbering, equation, inputs: inputs)
        for name in ("a loss", "counts"):
            assert not prove(batched(loop(*SUMS[name])), batched(scan(*SUMS[name]))).proved
    assert not prove(along(loop(*SUMS["a loss"])), along(scan(*SUMS["a loss"]))).proved


def _of(function: Callable[[Any], Any]) -> Any:
    return jax.make_jaxpr(lambda x, dx: jax.jvp(lambda v: function(v), (x,), (dx,))[1])(X, X)


# x stands below in the derivative of log, where the sign of a zero is that of an infinity.
PRIMAL = (lambda x: jnp.sum(jnp.log(x + 0.0)), lambda x: jnp.sum(jnp.log(x)))


def test_zeros_that_are_added_to_a_value_are_kept_in_its_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = [_of(function) for function in PRIMAL]
    zeros, ones = jnp.full((5, 6), -0.0), jnp.ones((5, 6))
    assert [float(jax.core.eval_jaxpr(one.jaxpr, one.consts, zeros, ones)[0]) for one in pair] == [np.inf, -np.inf]
    assert not prove(*pair, tangents=1).proved
    monkeypatch.setattr(signs, "is_derivative", lambda numbering, value: True)
    monkeypatch.setattr(signs, "_shows", lambda *_: False)
    assert prove(*pair, tangents=1).proved


def _pulled(residual: Callable[[Any], Any]) -> Any:
    """The gradient of a function whose rule keeps a value that the function itself does not compute."""

    @jax.custom_vjp
    def f(x: Any, w: Any) -> Any:
        return x * w

    f.defvjp(lambda x, w: (x * w, residual(x)), lambda kept, ct: (ct, ct * kept))
    return jax.make_jaxpr(lambda x, w, ct: jax.vjp(lambda x, w: f(x, w), x, w)[1](ct))(X, X, X)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: jnp.sum(x[None], 0), lambda x: x),
        (lambda x: jnp.zeros_like(x).at[0].add(x[0]), lambda x: jnp.zeros_like(x).at[0].set(x[0])),
    ],
    ids=["a sum of one", "zeros added to"],
)
def test_sums_of_zeros_are_kept_in_what_a_rule_keeps(
    one: Callable[[Any], Any], other: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = [_pulled(lambda x, run=run: 1 / run(x)) for run in (one, other)]
    assert not prove(*pair, cotangents=1).proved
    for rules in (rules_value, rules_index):
        monkeypatch.setattr(rules, "is_derivative", lambda numbering, value: True)
    assert not prove(*pair, cotangents=1).proved  # it would show
    monkeypatch.setattr(signs, "_shows", lambda *_: False)
    assert prove(*pair, cotangents=1).proved


def _ruled(function: Callable[[Any], Any], name: str) -> Any:
    """The derivative by a rule that is not linear, as a rule that somebody wrote may be."""
    if name == "tangents":
        f = jax.custom_jvp(lambda x: x * 2)
        f.defjvp(lambda xs, dxs: (f(*xs), function(dxs[0])))
        return jax.make_jaxpr(lambda x, dx: jax.jvp(lambda v: f(v), (x,), (dx,))[1])(X, X)
    g = jax.custom_vjp(lambda x: x * 2)
    g.defvjp(lambda x: (x * 2, None), lambda kept, ct: (function(ct),))
    return jax.make_jaxpr(lambda x, ct: jax.vjp(lambda v: g(v), x)[1](ct))(X, X)


RULED: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "a zero added to a tangent": ("tangents", lambda v: v + 0.0, lambda v: v),
    "the sum of one cotangent": ("cotangents", lambda v: jnp.sum(v[None], 0), lambda v: v),
    "zeros added to": (
        "cotangents",
        lambda v: jnp.zeros((5, 6)).at[0].add(v[0]),
        lambda v: jnp.zeros((5, 6)).at[0].set(v[0]),
    ),
}
SHOWS: dict[str, Callable[[Any], Any]] = {
    "div": lambda v: 1 / v,
    "rsqrt": lax.rsqrt,
    "sort": lambda v: lax.sort((v, jnp.arange(30.0).reshape(5, 6)), num_keys=1)[1],
    "log of a complex": lambda v: jnp.imag(jnp.log(lax.complex(-jnp.ones_like(v), v))),
    "a loop": lambda v: lax.fori_loop(0, jnp.int32(v.size), lambda i, c: 1 / c, v),
    "integer_pow": lambda v: v**-1,
    "atan2": lambda v: jnp.arctan2(v, -1.0),
    "bits": lambda v: jnp.where(jnp.signbit(v), 1.0, 2.0),
    "callback": lambda v: jax.pure_callback(lambda v: 1 / v, jax.ShapeDtypeStruct(v.shape, v.dtype), v),
}


@pytest.mark.parametrize("shows", SHOWS)
@pytest.mark.parametrize("name", RULED)
def test_zeros_are_kept_where_a_rule_shows_their_sign(name: str, shows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of, one, other = RULED[name]
    given = {of: 1}
    assert prove(_ruled(one, of), _ruled(other, of), **given).proved  # type: ignore[arg-type]
    pair = [_ruled(lambda v, run=run: SHOWS[shows](run(v)), of) for run in (one, other)]
    assert not prove(*pair, **given).proved
    if shows != "callback":  # of which each trace here has its own
        monkeypatch.setattr(signs, "_shows", lambda *_: False)
        assert prove(*pair, **given).proved
    assert prove(*[_ruled(lambda v, run=run: run(v) / 2, of) for run in (one, other)], **given).proved


def _either(numbering: Any, name: str, inputs: list[int]) -> list[int] | None:
    """Takes `0 - x` for x."""
    found = [value for value in inputs if not numbering.table.is_zero(value)]
    return found if len(found) == 1 else None


def test_a_tangent_that_is_subtracted_from_zeros_is_not_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    less, turned, plain = (
        jax.make_jaxpr(f)(X, X) for f in (lambda x, dx: dx - 0.0, lambda x, dx: 0.0 - dx, lambda x, dx: dx)
    )
    assert prove(less, plain, tangents=1).proved and prove(less, plain).proved  # -0.0 - 0.0 is -0.0
    assert not prove(turned, plain, tangents=1).proved
    monkeypatch.setattr(rules_value, "without_zeros", _either)
    assert prove(turned, plain, tangents=1).proved


def _first_element(numbering: Any, equation: Any, inputs: list[int]) -> list[int]:
    table, shape = numbering.table, tuple(equation.outvars[0].aval.shape)
    firsts = [rules_value.views.cut(table, v, tuple((0, 1) for _ in table.shape[v])) for v in inputs]
    return [rules_value.views.broadcast(table, v, shape, range(len(table.shape[v]))) for v in firsts]


def test_a_wrong_operand_spread_proves_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = [jax.make_jaxpr(f)(X) for f in (lambda x: x * jnp.abs(x), lambda x: x * jnp.abs(x)[0, 0])]
    assert not prove(*pair).proved
    monkeypatch.setattr(rules_value, "_spread", _first_element)
    assert prove(*pair).proved


def _ruled_by(rule: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    act = jax.custom_vjp(jnp.sin)
    act.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (rule(x, g),))
    return act


def _terms(x: Any, g: Any, order: list[int]) -> Any:
    terms = [1e30 * g, -1e30 * g, g * jnp.cos(x)]
    return jnp.stack([terms[at] for at in order])


# What somebody writes to add up three cotangents, of which the order can be seen.
WRITTEN: dict[str, Callable[[Any, Any, list[int]], Any]] = {
    "a sum": lambda x, g, order: jnp.sum(_terms(x, g, order), axis=0),
    "a product": lambda x, g, order: jnp.ones(3) @ _terms(x, g, order),
    "a scatter": lambda x, g, order: jnp.zeros_like(x).at[jnp.zeros(3, int)].add(_terms(x, g, order)[:, 0]),
    "a sum in a jitted function": lambda x, g, order: jax.jit(lambda y: jnp.sum(y, axis=0))(_terms(x, g, order)),
    "a sum in a scan": lambda x, g, order: lax.scan(
        lambda c, _: (c, jnp.sum(_terms(x, g, order), axis=0)), 0.0, None, length=2
    )[1][0],
    "a sum in a rule of a rule": lambda x, g, order: jax.vjp(
        _ruled_by(lambda y, h: jnp.sum(_terms(y, h, order), axis=0)), x
    )[1](g)[0],
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_backward_rule_that_somebody_wrote_keeps_the_order_of_its_sums(name: str) -> None:
    written = WRITTEN[name]

    def traced(order: list[int]) -> Any:
        act = _ruled_by(lambda x, g: written(x, g, order))
        return jax.make_jaxpr(lambda x, g: jax.vjp(lambda x: act(jnp.tanh(x)), x)[1](g))(jnp.ones(4), jnp.ones(4))

    first, again, other = (traced(order) for order in ([0, 1, 2], [0, 1, 2], [0, 2, 1]))
    assert prove(first, again, cotangents=1).proved
    assert not prove(first, other, cotangents=1).proved


def test_what_jax_transposes_is_added_up_in_any_order() -> None:
    """Around a rule that somebody wrote, too."""
    act = _ruled_by(lambda x, g: g * jnp.cos(x))
    rows = [X[at] for at in range(LAYERS)]

    def looped(x: Any, ws: Any) -> Any:
        return [act(x * w) for w in ws]

    def mapped(x: Any, ws: Any) -> Any:
        return list(jax.vmap(lambda w: act(x * w))(jnp.stack(ws)))

    programs = [
        jax.make_jaxpr(lambda x, ws, g, f=f: jax.vjp(f, x, ws)[1](g)[0])(X[0], rows, rows) for f in (looped, mapped)
    ]
    assert prove(*programs, cotangents=LAYERS).proved
