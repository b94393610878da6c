"""Batching rules: compared for all that they are told, in maps of maps, and together with gradients."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jax.custom_batching import custom_vmap

from scanify.nn import ArrayStacked, BlockSeq
from scanify.verify.compare import batched
from scanify.verify.verdict import Status
from tests.verify.functions import Function, compared, verdicts

W, X = jnp.linspace(0.5, 1.5, 4), jnp.arange(4.0) + 0.25
When = Callable[[int, Any], bool]
Rule = Callable[..., Any]


def never(size: int, given: Any) -> bool:
    return False


def ruled(plain: Rule, rule: Rule) -> Rule:
    """A function with a batching rule that gives `rule` of the same arguments."""
    made = custom_vmap(plain)
    made.def_vmap(lambda size, given, *args: (rule(*args), True))
    return made


def told(when: When) -> Function:
    made = custom_vmap(lambda a, b, n: a * b + n)

    @made.def_vmap
    def rule(size: int, given: Any, a: Any, b: Any, n: Any) -> Any:
        a, b, n = (x if moved else x[None] for x, moved in zip((a, b, n), given, strict=True))
        n = jnp.reshape(n, (-1, 1))
        return jnp.broadcast_to(a * b + n + (1.0 if when(size, given) else 0.0), (size, 4)), True

    return lambda p, x, n: jnp.tanh(made(p, x, n))


def nested(depth: int, last: Rule) -> Rule:
    """A function whose rule gives one whose rule gives another, `depth` times."""
    made = ruled(jnp.tanh, last)
    for _ in range(depth - 1):
        made = ruled(jnp.tanh, made)
    return made


def in_backward(rule: Rule) -> Function:
    """A gradient that is computed by a function with a batching rule."""
    back = ruled(lambda x, ct: ct * jnp.cos(x), rule)
    made = jax.custom_vjp(jnp.sin)
    made.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (back(x, ct),))
    return lambda p, x: made(p * x)


def with_rule(scale: float) -> Rule:
    """A function with another derivative, that a batching rule gives."""
    made = jax.custom_vjp(jnp.sin)
    made.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (scale * ct * jnp.cos(x),))
    return made


def calls(rule: Rule) -> Function:
    return lambda p, x: p * rule(x)


def product(when: When) -> Rule:
    made = custom_vmap(lambda r, ct: r * ct)

    @made.def_vmap
    def rule(size: int, given: Any, r: Any, ct: Any) -> Any:
        r, ct = (x if moved else jnp.broadcast_to(x, (size, *x.shape)) for x, moved in zip((r, ct), given, strict=True))
        return r * ct * (2.0 if when(size, given) else 1.0), True

    return made


def in_tangent(back: Rule, slope: Rule = jnp.cos) -> Rule:
    """The sine, or what else has this slope, whose tangents are computed by a function with a batching rule."""
    made = jax.custom_jvp(jnp.sin if slope is jnp.cos else jnp.cos)
    made.defjvp(lambda at, moved: (made(at[0]), back(slope(at[0]), moved[0])))
    return made


def in_second(back: Rule) -> Rule:
    """The sine, whose gradient is a function whose tangents are computed by one with a batching rule."""
    slope, made = in_tangent(back, lambda x: -jnp.sin(x)), jax.custom_vjp(jnp.sin)
    made.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (slope(x) * ct,))
    return made


def within(rule: Rule) -> Rule:
    """A function whose batching rule gives `rule`."""
    return ruled(jnp.sin, rule)


N = jnp.int32(2)
LEFT_OUT = "a batching rule in a derivative rule: tangents and second derivatives under vmap are not compared"
DIFFER: dict[str, tuple[Function, Function, tuple[Any, ...]]] = {
    "the parameter alone": (told(never), told(lambda size, given: given == [True, False, False]), (X, N)),
    "two of three": (told(never), told(lambda size, given: given == [True, False, True]), (X, N)),
    "the whole number alone": (told(never), told(lambda size, given: given == [False, False, True]), (X, N)),
    "batches of three": (told(never), told(lambda size, given: size == 3), (X, N)),
    "one alone in batches of eight": (told(never), told(lambda size, given: size == 8 and not all(given)), (X, N)),
    "vmap of vmap": (calls(nested(2, jnp.tanh)), calls(nested(2, jnp.sin)), (X,)),
    "vmap of vmap of vmap": (calls(nested(3, jnp.tanh)), calls(nested(3, jnp.sin)), (X,)),
    "vmap of a gradient": (
        in_backward(lambda x, ct: ct * jnp.cos(x)),
        in_backward(lambda x, ct: 2 * ct * jnp.cos(x)),
        (X,),
    ),
    "a gradient of vmap": (calls(ruled(jnp.sin, with_rule(1.0))), calls(ruled(jnp.sin, with_rule(2.0))), (X,)),
    "in a scan": (
        lambda p, x: jax.lax.scan(lambda c, _: (nested(2, jnp.tanh)(c) * p, None), x, None, length=2)[0],
        lambda p, x: jax.lax.scan(lambda c, _: (nested(2, jnp.sin)(c) * p, None), x, None, length=2)[0],
        (X,),
    ),
}


@pytest.mark.parametrize("name", DIFFER)
def test_a_rule_that_differs_where_it_is_not_called_with_all_fails(name: str) -> None:
    before, after, args = DIFFER[name]
    found = verdicts(compared(before, after, W, *args))
    assert found["outputs"] is Status.PROVED and found["batched"] is Status.FAILED


@pytest.mark.parametrize("name", DIFFER)
def test_the_same_rules_are_proved_and_the_row_says_of_what(name: str) -> None:
    before, _, args = DIFFER[name]
    result = compared(before, before, W, *args)
    assert result.batched is not None and result.batched.status is Status.PROVED
    assert "over all that batching rules tell apart" in result.batched.reason
    assert "in batches of 2, 3, 8" in result.batched.reason
    if "vmap of" in name:
        assert ("vmap of gradients" if "gradient" in name else "vmap of vmap") in result.batched.reason


@pytest.mark.parametrize(
    "make",
    [
        in_tangent,
        in_second,
        lambda back: within(in_tangent(back)),
        lambda back: in_tangent(lambda r, ct: jax.jvp(lambda t: back(r, t), (ct,), (ct,))[1]),
    ],
    ids=["tangents", "second derivatives", "tangents of a batching rule", "a derivative within the rule"],
)
def test_a_batching_rule_in_a_derivative_rule_is_not_proved(make: Callable[[Rule], Rule]) -> None:
    before, after = (calls(make(product(when))) for when in (never, lambda size, given: given == [False, True]))
    result = compared(before, after, W, X)
    assert result.batched is not None and result.batched.status is Status.NOT_RUN
    assert LEFT_OUT in result.batched.reason


@pytest.mark.parametrize("make", [in_tangent, in_second, lambda back: within(in_tangent(back))])
def test_a_batching_rule_in_a_derivative_rule_of_the_same_code_is_proved(make: Callable[[Rule], Rule]) -> None:
    before, after = (calls(make(product(never))) for _ in range(2))
    result = compared(before, after, W, X)
    assert result.batched is not None and result.batched.status is Status.PROVED
    assert "the same" in result.batched.reason and "code" in result.batched.reason


def test_a_derivative_rule_without_a_batching_rule_is_proved() -> None:
    rule = in_tangent(lambda r, ct: r * ct)
    result = compared(calls(rule), calls(rule), W, X)
    assert result.batched is not None and result.batched.status is Status.PROVED


def test_a_rule_that_calls_itself_is_compared_so_deep_and_not_proved() -> None:
    itself: Any = custom_vmap(jnp.tanh)
    itself.def_vmap(lambda size, given, x: (itself(x), True))
    assert verdicts(compared(calls(itself), calls(itself), W, X))["batched"] is Status.PROVED  # it is the same code
    result = compared(calls(itself), lambda p, x: calls(itself)(p, x), W, X)
    assert result.batched is not None and result.batched.status is Status.NOT_RUN
    assert f"compared {batched.DEPTH} maps deep" in result.batched.reason


def test_without_a_batching_rule_one_map_is_compared() -> None:
    result = compared(lambda p, x: p * x, lambda p, x: p * x, W, X)
    assert result.batched is not None and (result.batched.status, result.batched.reason) == (Status.PROVED, "")


class _Layer(eqx.Module):
    w: Any

    def __call__(self, x: Any) -> Any:
        return in_second(product(never))(x) * self.w


@pytest.mark.parametrize("kind", [ArrayStacked.of, BlockSeq.of, list])
def test_the_same_code_is_found_in_models_with_stacks(kind: Any) -> None:
    layers = kind([_Layer(W * i) for i in range(2)])

    def call(p: Any, x: Any) -> Any:
        return functools.reduce(lambda x, layer: layer(x), p, x) if isinstance(p, list) else p.fold(x)

    result = compared(call, call, layers, X)
    assert result.batched is not None and result.batched.status is Status.PROVED
