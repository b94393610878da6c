"""Certificates: what is proved is shown by the checker alone, and what differs is not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jsonschema import Draft202012Validator

from scanify import replay as replay_folder
from scanify.replay.check import replay
from scanify.replay.form import Rejected
from scanify.verify.certificate.write import Proved
from tests.certificate.mutations import KINDS, accepted, mutated
from tests.certificate.programs import LAYERS, certificate_of, given, gradient, loop, scanned, sealed, text

Function = Callable[..., Any]
VECTOR = jax.ShapeDtypeStruct((3,), "float32")


def shown(before: Function, after: Function, *args: Any, cotangents: int = 0, tangents: int = 0) -> bool:
    """Whether there is a certificate of two functions."""
    traced = [jax.make_jaxpr(each)(*args) for each in (before, after)]
    certificate, unwritten = certificate_of(Proved("both", traced[0], traced[1], cotangents, tangents))
    assert bool(unwritten) != bool(certificate["cases"][0]["checks"])
    if not unwritten:
        replay(json.dumps(certificate))
    return not unwritten


def test_a_loop_and_its_scan_are_shown_equal_with_their_gradients() -> None:
    assert replay(text()) == ["toy: outputs: 1 output is equal", f"toy: gradients: {2 + 4 * LAYERS} outputs are equal"]


@pytest.mark.parametrize("seed", range(66))
def test_a_certificate_with_one_field_changed_is_rejected(seed: int) -> None:
    assert not accepted(mutated(text(), seed, KINDS[seed % len(KINDS)]))


@pytest.mark.whole
@pytest.mark.parametrize("seed", range(66, 300))
def test_every_certificate_with_one_field_changed_is_rejected(seed: int) -> None:
    assert not accepted(mutated(text(), seed, KINDS[seed % len(KINDS)]))


def test_a_certificate_that_was_changed_is_seen_by_its_seal() -> None:
    with pytest.raises(Rejected, match="was changed after it was written"):
        replay(text().replace('"made by": {}', '"made by": {"jax": "0"}'))


@pytest.mark.parametrize("odd", ["", "[]", "{}", '{"format": "scanify certificate 1"}', '{"format": 1', "null"])
def test_what_is_no_certificate_is_rejected(odd: str) -> None:
    with pytest.raises(Rejected):
        replay(odd)


def _reversed(layers: Any, *rest: Any) -> Any:
    return scanned(layers[::-1], *rest)


def _one_less(layers: Any, *rest: Any) -> Any:
    return loop(layers[:-1], *rest)


def _of_the_first(layers: Any, *rest: Any) -> Any:
    return loop([layers[0]] * len(layers), *rest)


@pytest.mark.parametrize("wrong", [_reversed, _one_less, _of_the_first])
def test_layers_in_another_order_or_number_are_not_shown_equal(wrong: Function) -> None:
    assert not shown(loop, wrong, *given())
    cotangent = jax.ShapeDtypeStruct((4, 16), "float32")
    assert not shown(gradient(loop), gradient(wrong), *given(), cotangent, cotangents=1)


PAIRS = {
    "equal": [
        (lambda x: x[::-1][0], lambda x: x[2]),
        (lambda x: jnp.stack([x, x])[1], lambda x: x),
        (lambda x: x + x[0], lambda x: x[0] + x),
        (lambda x: jnp.where(jnp.arange(3) > 1, x, x), lambda x: x * 1.0),
        (lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y * 2, x), lambda x: x * 2 * 2 * 2),
        (lambda x: jax.lax.switch(1, [jnp.sin, jnp.cos], x), jnp.cos),
        (
            lambda x: jax.lax.cond(x[0] > 0, lambda: x, lambda: -x)[1],
            lambda x: jax.lax.cond(x[0] > 0, lambda: x[1], lambda: (-x)[1]),
        ),
        (lambda x: jnp.zeros(4).at[1:].set(x)[2], lambda x: x[1]),
        (
            lambda x: jax.lax.while_loop(lambda y: y[0] < 9, lambda y: y + 1, x),
            lambda x: jax.lax.while_loop(lambda y: y[0] < 9, lambda y: 1 + y, x),
        ),
    ],
    "different": [
        (lambda x: x[0], lambda x: x[1]),
        (lambda x: x - x[0], lambda x: x[0] - x),
        (lambda x: x + 0.0, lambda x: x),
        (lambda x: x * 0, lambda x: jnp.zeros(3)),
        (lambda x: (x + x[0]) + x[1], lambda x: x + (x[0] + x[1])),
        (lambda x: x.astype(jnp.bfloat16).astype(jnp.float32), lambda x: x),
        (lambda x: jax.lax.switch(0, [jnp.sin, jnp.cos], x), jnp.cos),
        (lambda x: -(0.0 - x), lambda x: x),
        (
            lambda x: jax.lax.cond(x[0] > 0, lambda: x, lambda: -x),
            lambda x: jax.lax.cond(x[0] > 0, lambda: -x, lambda: x),
        ),
        (
            lambda x: jax.lax.while_loop(lambda y: y[0] < 9, lambda y: y + 1, x),
            lambda x: jax.lax.while_loop(lambda y: y[0] < 8, lambda y: y + 1, x),
        ),
        (lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y * 2, x), lambda x: x * 2 * 2),
    ],
}


@pytest.mark.parametrize("at", range(len(PAIRS["equal"])))
def test_equal_functions_are_shown_equal(at: int) -> None:
    assert shown(*PAIRS["equal"][at], VECTOR)


@pytest.mark.parametrize("at", range(len(PAIRS["different"])))
def test_different_functions_are_not_shown_equal(at: int) -> None:
    assert not shown(*PAIRS["different"][at], VECTOR)


def _printing(*texts: str) -> Function:
    def function(x: jax.Array) -> jax.Array:
        for each in texts:
            jax.debug.print(each, x=x)
        return x

    return function


def test_effects_count_in_their_order() -> None:
    assert shown(_printing("a {x}", "b {x}"), _printing("a {x}", "b {x}"), VECTOR)
    assert not shown(_printing("a {x}", "b {x}"), _printing("b {x}", "a {x}"), VECTOR)
    assert not shown(_printing("a {x}"), _printing(), VECTOR)


def _derived(function: Function) -> Function:
    return lambda x, cotangent: jax.vjp(function, x)[1](cotangent)


def test_cotangents_may_be_added_in_any_order_and_nothing_else() -> None:
    one = _derived(lambda x: jnp.sin(x) * x + jnp.cos(x))
    other = _derived(lambda x: jnp.cos(x) + jnp.sin(x) * x)
    assert shown(one, one, VECTOR, VECTOR, cotangents=1)
    assert shown(one, other, VECTOR, VECTOR, cotangents=1) or not shown(one, other, VECTOR, VECTOR)


def _sign(x: jax.Array, cotangent: jax.Array) -> Any:
    _, pull = jax.vjp(lambda x: (x, x), x)
    return 1 / pull((cotangent, jnp.zeros_like(cotangent)))[0]


def test_no_zero_is_left_out_of_a_sum_whose_sign_shows() -> None:
    assert not shown(_sign, lambda x, cotangent: 1 / cotangent, VECTOR, VECTOR, cotangents=1)


SCHEMA = json.loads((Path(replay_folder.__file__).parent / "certificate.schema.json").read_text(encoding="utf-8"))


def test_the_schema_says_what_is_written() -> None:
    validator = Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)
    assert list(validator.iter_errors(json.loads(text()))) == []


@pytest.mark.parametrize("kind", ["made by", "cases", "sha256"])
def test_the_schema_sees_what_is_missing(kind: str) -> None:
    certificate = json.loads(text())
    del certificate[kind]
    assert list(Draft202012Validator(SCHEMA).iter_errors(certificate)) != []


def _loosened(divide: bool) -> Function:
    """The sum of a cotangent and zeros, inside of a function that differentiates something itself."""

    def function(x: jax.Array) -> jax.Array:
        _, pull = jax.vjp(lambda y: (y, y), x)
        found = pull((x, jax.lax.optimization_barrier(jnp.zeros(3))))[0]
        return 1 / found[::-1] if divide else found[::-1]

    return function


def test_no_zero_is_left_out_where_its_sign_shows_after_a_move() -> None:
    assert shown(_loosened(False), lambda x: x[::-1], VECTOR)
    assert not shown(_loosened(True), lambda x: 1 / x[::-1], VECTOR)


@pytest.mark.parametrize("strides", [{"tuple": [0, 0]}, {"tuple": [-1, 1]}, {"tuple": []}, "x", 7])
def test_parameters_that_mean_nothing_are_rejected_and_nothing_is_raised(strides: object) -> None:
    certificate = json.loads(text())
    for params in certificate["cases"][0]["tables"]["params"]:
        if "strides" in params:
            params["strides"] = strides
    with pytest.raises(Rejected):
        replay(json.dumps(sealed(certificate)))
