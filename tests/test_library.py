"""`scanify.prove_equal` and `scanify.testing.assert_equal_programs`: what they say of pairs of functions."""

import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scanify
from scanify.errors import ScanifyError
from scanify.nn import ArrayStacked
from scanify.testing import assert_equal_programs
from scanify.verify.verdict import Status
from tests.test_imports import JAX, imported


class Layer(eqx.Module):
    w: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.tanh(self.w @ x)


class Model(eqx.Module):
    layers: list[Layer]


MODEL = Model([Layer(jax.random.normal(key, (3, 3))) for key in jax.random.split(jax.random.key(0), 4)])
X = jnp.arange(3.0)


def looped(model: Model, x: jax.Array) -> jax.Array:
    for layer in model.layers:
        x = layer(x)
    return x


def scanned(model: Model, x: jax.Array) -> jax.Array:
    return ArrayStacked.of(model.layers).fold(x)


def reversed_(model: Model, x: jax.Array) -> jax.Array:
    return ArrayStacked.of(model.layers[::-1]).fold(x)


def without_gradient(model: Model, x: jax.Array) -> jax.Array:
    return jax.lax.stop_gradient(looped(model, x))


def noted(x: jax.Array, log: list[Any]) -> jax.Array:
    log.append(x)
    return x


def noted_twice(x: jax.Array, log: list[Any]) -> jax.Array:
    log.append(2 * x)
    return x


def rule(factor: float) -> Callable[[jax.Array], jax.Array]:
    """A function whose value under differentiation is another."""

    @jax.custom_vjp
    def f(x: jax.Array) -> jax.Array:
        return jnp.sin(x)

    f.defvjp(lambda x: (factor * jnp.sin(x), x), lambda x, ct: (ct * jnp.cos(x),))
    return f


def one_alone(bug: float) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """A function whose rule asks which argument is differentiated."""

    @jax.custom_vjp
    def f(x: jax.Array, w: jax.Array) -> jax.Array:
        return x * w

    def forward(x: Any, w: Any) -> Any:
        factor = 1.0 if x.perturbed and w.perturbed else bug
        return x.value * w.value, (factor * x.value, factor * w.value)

    f.defvjp(forward, lambda kept, ct: (ct * kept[1], ct * kept[0]), symbolic_zeros=True)
    return f


def drawn(key: jax.Array) -> jax.Array:
    keys = jax.random.split(key)
    return jax.random.normal(keys[0], (3,)) * 0 + jax.random.normal(keys[1], (3,)) * 0


def drawn_twice(key: jax.Array) -> jax.Array:
    keys = jax.random.split(key)
    return jax.random.normal(keys[0], (3,)) * 0 + jax.random.normal(keys[0], (3,)) * 0


def second_by_hand(sign: float) -> Callable[[jax.Array], jax.Array]:
    @jax.custom_jvp
    def cube(x: jax.Array) -> jax.Array:
        return x * x * x

    @jax.custom_jvp
    def square(x: jax.Array) -> jax.Array:
        return 3 * x * x

    square.defjvp(lambda x, t: (square(x[0]), sign * 6 * x[0] * t[0]))
    cube.defjvp(lambda x, t: (cube(x[0]), square(x[0]) * t[0]))
    return cube


PROVED: dict[str, tuple[Any, ...]] = {
    "a loop and its scan": (looped, scanned, MODEL, X),
    "arrays of NumPy": (lambda x, y: x + y, lambda x, y: y + x, np.ones(3, np.float32), X),
    "a shape without values": (looped, scanned, MODEL, jax.ShapeDtypeStruct((3,), jnp.float32)),
    "what is written": (noted, noted, X, []),
    "integers alone": (lambda n: n + 1, lambda n: 1 + n, jnp.arange(3)),
}
FAILED: dict[str, tuple[Any, ...]] = {
    "layers in another order": (looped, reversed_, MODEL, X),
    "gradients": (looped, without_gradient, MODEL, X),
    "what is written": (noted, noted_twice, X, []),
    "values under differentiation": (rule(1.0), rule(0.5), X),
    "a rule that asks what is differentiated": (one_alone(1.0), one_alone(2.0), X, X + 1),
    "another structure": (lambda x: (x, x), lambda x: [x, x], X),
    "another dtype": (lambda x: x, lambda x: x.astype(jnp.bfloat16), X),
    "an error": (lambda x: x, lambda x: x.no_such_name, X),
    "a key that is used twice": (drawn, drawn_twice, jax.random.key(0)),
}


@pytest.mark.parametrize("name", PROVED)
def test_equal_functions_are_proved(name: str) -> None:
    found = scanify.prove_equal(*PROVED[name])
    assert found.verdict is Status.PROVED and found, found
    assert str(found) == "PROVED" and found.place is None
    assert assert_equal_programs(*PROVED[name], tested=False) == found


@pytest.mark.parametrize("name", FAILED)
def test_functions_that_differ_fail(name: str) -> None:
    found = scanify.prove_equal(*FAILED[name])
    assert found.verdict is Status.FAILED and not found, found
    with pytest.raises(AssertionError, match="are not equal: FAILED: "):
        assert_equal_programs(*FAILED[name])


def test_the_error_names_the_first_difference() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_equal_programs(looped, reversed_, MODEL, X)
    assert "looped and reversed_ are not equal: FAILED: outputs: " in str(raised.value)
    assert "reads model.layers[3].w where the loop reads model.layers[0].w" in str(raised.value)
    assert f"at {scanify.prove_equal(looped, reversed_, MODEL, X).place}" in str(raised.value)
    assert "test_library.py:" in str(raised.value)


def test_what_agrees_without_a_proof_is_tested() -> None:
    functions = (lambda x: x * 2), (lambda x: x + x)
    found = scanify.prove_equal(*functions, X)
    assert found.verdict is Status.TESTED and not found and "not proved" in found.reason
    assert assert_equal_programs(*functions, X).verdict is Status.TESTED
    with pytest.raises(AssertionError, match="are not proved equal: TESTED"):
        assert_equal_programs(*functions, X, tested=False)


@pytest.mark.parametrize("g", [lambda x, i: i == 1, lambda x, i: i % 3 == 1], ids=["a branch", "a remainder"])
def test_other_integers_than_those_given_are_tried(g: Callable[..., Any]) -> None:
    def choice(flag: Callable[..., Any]) -> Callable[..., jax.Array]:
        return lambda x, i: jax.lax.cond(flag(x, i), jnp.sin, jnp.cos, x)

    found = scanify.prove_equal(choice(lambda x, i: i > 0), choice(g), X, jnp.int32(1), up_to=0)
    assert found.verdict is Status.FAILED and "integers" in found.reason, found


def test_without_values_nothing_is_tested() -> None:
    found = scanify.prove_equal(lambda x: x * 2, lambda x: x + x, jax.ShapeDtypeStruct((3,), jnp.float32))
    assert found.verdict is Status.NOT_RUN and not found


def test_the_order_of_derivatives_says_what_is_compared() -> None:
    assert scanify.prove_equal(looped, without_gradient, MODEL, X, up_to=0)
    assert scanify.prove_equal(looped, without_gradient, MODEL, X).verdict is Status.FAILED
    sines = (lambda x: jnp.sin(x) * x), (lambda x: x * jnp.sin(x))
    found = scanify.prove_equal(*sines, X, up_to=2)
    assert dict(found.checks)["second derivatives"].good
    assert "second derivatives" not in dict(scanify.prove_equal(*sines, X).checks)
    wrong = scanify.prove_equal(second_by_hand(1), second_by_hand(-1), X + 1, up_to=2)
    assert dict(wrong.checks)["second derivatives"].status is Status.FAILED and wrong.verdict is Status.FAILED


def test_arguments_by_name_and_static_ones_are_given_to_both() -> None:
    assert scanify.prove_equal(lambda x, *, k: k * x, lambda x, *, k: x * k, X, k=3)
    assert not scanify.prove_equal(lambda x, k: k * x, lambda x, k: x * 3, X, 4)


def test_what_cannot_be_compared_raises() -> None:
    with pytest.raises(ScanifyError, match="expected two functions"):
        scanify.prove_equal(3, looped, X)  # type: ignore[arg-type]
    with pytest.raises(ScanifyError, match="order of derivatives"):
        scanify.prove_equal(looped, looped, MODEL, X, up_to=3)
    with pytest.raises(ScanifyError, match="expected the first function to return arrays"):
        scanify.prove_equal(lambda x: None, lambda x: None, X)
    with pytest.raises(ZeroDivisionError):
        scanify.prove_equal(lambda x: x / (1 // 0), lambda x: x, X)
    counted = [0]

    def counting(x: jax.Array) -> jax.Array:
        counted.append(0)
        return x * len(_COUNTED)

    _COUNTED = counted
    assert scanify.prove_equal(counting, lambda x: x, X).verdict is Status.FAILED  # writes to what it closes over
    with pytest.raises(ScanifyError, match="takes elements from an iterator"):
        scanify.prove_equal(lambda x: x * next(_NUMBERS), lambda x: x, X)
    with pytest.raises(ScanifyError, match="does something else each time"):
        scanify.prove_equal(lambda x: x * time.perf_counter(), lambda x: x, X)


_NUMBERS = iter(range(1, 1000))


def test_importing_scanify_imports_no_jax(tmp_path: Any) -> None:
    assert imported("import scanify", JAX, tmp_path) == set()
    assert imported("import scanify\nassert callable(scanify.prove_equal)", JAX, tmp_path) == set()
    assert imported("import scanify.testing", JAX, tmp_path) == set()
    assert imported("import scanify\nassert callable(scanify.testing.assert_equal_programs)", JAX, tmp_path) == set()
    with pytest.raises(AttributeError, match="no attribute 'prove_unequal'"):
        _ = scanify.prove_unequal
