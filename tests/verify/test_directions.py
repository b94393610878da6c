"""Derivative rules that read what is differentiated: compared along all sets of leaves and outputs that they tell apart."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jax.custom_derivatives import SymbolicZero

import scanify
from scanify.jaxpr.reading.perturbed import MOST, sites
from scanify.nn import ArrayStacked
from scanify.verify.verdict import Status
from tests.verify.functions import Function, compared, verdicts

W, X = jnp.linspace(0.5, 1.5, 4), jnp.arange(4.0) + 0.25
When = Callable[[Any], bool]


def never(_: Any) -> bool:
    return False


def affine(when: When) -> Function:
    """`w * x + b`, with twice the gradient of `w` when `when(perturbed)`."""

    @eqx.filter_custom_vjp
    def f(given: Any) -> Any:
        w, b, x = given
        return w * x + b

    f.def_fwd(lambda perturbed, given: (given[0] * given[2] + given[1], None))

    @f.def_bwd
    def bwd(kept: Any, ct: Any, perturbed: Any, given: Any) -> Any:
        w, _, x = given
        return (2.0 if when(perturbed) else 1.0) * ct * x, ct, ct * w

    return lambda p, x: f((*p, x))


def tangent(when: When) -> Function:
    """A product of three, in forward mode."""
    f = jax.custom_jvp(lambda w, b, x: w * b * x)

    def rule(primals: Any, tangents: Any) -> Any:
        w, b, x = primals
        moved = [not isinstance(each, SymbolicZero) for each in tangents]
        dw, db, dx = (each if moves else 0.0 for each, moves in zip(tangents, moved, strict=True))
        return w * b * x, (2.0 if when(moved) else 1.0) * b * x * dw + w * x * db + w * b * dx

    f.defjvp(rule, symbolic_zeros=True)
    return lambda p, x: f(*p, x)


def two_outputs(when: When) -> Function:
    """Two outputs, whose rule is told which of them a loss reads."""
    f = jax.custom_vjp(lambda a, b: (a * b, a + b))

    def bwd(kept: Any, cts: Any) -> Any:
        a, b = kept
        read = [not isinstance(ct, SymbolicZero) for ct in cts]
        first, second = (ct if reads else 0.0 * a for ct, reads in zip(cts, read, strict=True))
        return (2.0 if when(read) else 1.0) * (first * b + second), first * a + second

    f.defvjp(lambda a, b: ((a.value * b.value, a.value + b.value), (a.value, b.value)), bwd, symbolic_zeros=True)
    return lambda p, x: f(p[0] * p[1], x)


def in_layers(rule: Function, rest: Function = lambda p, y: y) -> Function:
    return lambda p, x: rest(p, rule(p, jnp.tanh(rule(p, x))))


RULES: dict[str, tuple[Callable[[When], Function], When]] = {
    "one frozen": (affine, lambda moved: not moved[1]),
    "one alone": (affine, lambda moved: tuple(moved) == (True, False, False)),
    "two of three": (affine, lambda moved: tuple(moved) == (True, False, True)),
    "the parameters without the input": (affine, lambda moved: tuple(moved) == (True, True, False)),
    "one frozen, in forward mode": (tangent, lambda moved: not moved[1] and moved[2]),
    "the first output alone": (two_outputs, lambda read: not read[1]),
    "the second output alone": (two_outputs, lambda read: not read[0]),
    "two layers": (lambda when: in_layers(affine(when)), lambda moved: tuple(moved) == (True, False, True)),
    "a branch": (
        lambda when: lambda p, x: jax.lax.cond(jnp.sum(x) > 0, lambda: affine(when)(p, x), lambda: x),
        lambda moved: not moved[1],
    ),
    "a scan": (
        lambda when: lambda p, x: jax.lax.scan(lambda c, _: (affine(when)(p, c), None), x, None, length=2)[0],
        lambda moved: moved[0] and not moved[1],
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_that_reads_what_moves_is_compared_where_it_does(name: str) -> None:
    make, when = RULES[name]
    found = verdicts(compared(make(never), make(when), (W, W + 1), X))
    assert found["outputs"] is Status.PROVED and found["gradients"] is Status.FAILED


@pytest.mark.parametrize("name", RULES)
def test_the_same_rule_is_proved_and_the_row_says_along_what(name: str) -> None:
    make, when = RULES[name]
    before = make(when)
    result = compared(before, before, (W, W + 1), X)
    assert set(verdicts(result).values()) == {Status.PROVED}
    said = result.policies[0].gradients.reason
    assert said.startswith("of all leaves, and of the parameters alone, of the inputs alone")


class Layer(eqx.Module):
    w: jax.Array
    b: jax.Array
    rule: Function = eqx.field(static=True)

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.tanh(self.rule((self.w, self.b), x))


def layers(rule: Function) -> list[Layer]:
    return [Layer(W + i, W - i, rule) for i in range(3)]


def loop(blocks: Any, x: jax.Array) -> jax.Array:
    for block in blocks:
        x = block(x)
    return x


@pytest.mark.parametrize("when", [never, lambda moved: moved[0] and not moved[1]], ids=["same", "a part is frozen"])
def test_stacked_layers_are_frozen_together(when: When) -> None:
    """With a stack, a parameter of one layer is never differentiated without that of the others."""
    right, wrong = affine(never), affine(when)

    def scanned(blocks: Any, x: jax.Array) -> jax.Array:
        swapped = [eqx.tree_at(lambda each: each.w, Layer(b.w, b.b, wrong), b.w) for b in blocks]
        return ArrayStacked.of(swapped).fold(x)

    found = dict(scanify.prove_equal(loop, scanned, layers(right), X).checks)["gradients"]
    assert found.status is (Status.PROVED if when is never else Status.FAILED), found


def test_without_a_rule_that_reads_zeros_nothing_more_is_traced() -> None:
    plain = jax.custom_vjp(lambda a, b: a * b)
    plain.defvjp(lambda a, b: (a * b, (a, b)), lambda kept, ct: (ct * kept[1], ct * kept[0]))
    assert sites(jax.make_jaxpr(plain)(W, X), [0, 1]) == []
    result = compared(lambda p, x: plain(p, x), lambda p, x: plain(p, x), W, X)
    assert result.policies[0].gradients.reason == "of all leaves, and of the parameters alone, of the inputs alone"


def test_what_is_left_out_of_many_patterns_is_said() -> None:
    """A rule of eight inputs tells 255 sets of them apart."""

    @eqx.filter_custom_vjp
    def many(given: Any) -> Any:
        return sum(given)

    many.def_fwd(lambda perturbed, given: (sum(given), None))
    many.def_bwd(lambda kept, ct, perturbed, given: tuple(ct for _ in given))
    function = lambda p, x: many((*p, x))  # noqa: E731
    parameters = tuple(W + i for i in range(7))
    (site,) = sites(jax.make_jaxpr(function)(parameters, X), list(range(8)))
    choices, more = site.choices()
    assert len(choices) == MOST and more
    verdict = compared(function, function, parameters, X).policies[0].gradients
    assert verdict.status is Status.TESTED and "derivative rules that read zeros tell more apart" in verdict.reason


def test_what_a_stop_or_an_integer_cuts_off_is_not_differentiated() -> None:
    rule = affine(never)
    closed = jax.make_jaxpr(lambda p, x: rule((p[0], jax.lax.stop_gradient(p[1])), jnp.round(p[0]) * x))((W, W), X)
    (site,) = sites(closed, [0, 1, 2])
    assert site.inputs == (frozenset({0}), frozenset(), frozenset({2}))
