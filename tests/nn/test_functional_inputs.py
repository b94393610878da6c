"""What `fold`, `scan` and `map` take apart and what every step shares; mistakes are named with their place."""

import builtins
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import scanify.nn as snn
from scanify.nn import ArrayStacked, remat_policy_override
from tests.nn.test_functional import FEATURES, TIME, assert_close, data, folded, loop

pytestmark = pytest.mark.usefixtures("float64")


def squash(state: Any, x: Any) -> Any:
    return jnp.cos(jnp.sin(x + state)) + x


# -- what is scanned over, and what every step shares ------------------------------------------------------------------


class Cell(eqx.Module):
    weight: Any
    activation: Callable[..., Any]
    scale: float

    def __call__(self, x: Any) -> Any:
        return self.activation(self.weight @ x) * self.scale


def cells(count: int) -> list[Cell]:
    return [Cell(jr.normal(key, (FEATURES, FEATURES)), jnp.tanh, 0.5) for key in jr.split(jr.key(4), count)]


def test_a_stack_of_layers_gives_its_layers() -> None:
    x = jnp.ones(FEATURES)

    def step(x: Any, layer: Any) -> Any:
        assert isinstance(layer, Cell) and layer.scale == 0.5 and type(layer.scale) is float
        return layer(x)

    assert_close(snn.fold(step)(x, ArrayStacked.of(cells(5))), folded(step, x, cells(5)))


def test_functions_numbers_and_arrays_without_axes_are_the_same_in_every_step() -> None:
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves) if eqx.is_array(leaves[0]) else leaves[0], *cells(5))
    x, gain = jnp.ones(FEATURES), jnp.asarray(0.7)
    mine = snn.fold(lambda x, layer, gain: layer(x) * gain)(x, stacked, gain)
    assert_close(mine, folded(lambda x, layer: layer(x) * gain, x, cells(5)))


def test_arguments_by_position_and_by_name_are_taken_apart_alike() -> None:
    def step(carry: Any, x: Any, *, y: Any) -> Any:
        return carry * x + y, carry

    xs, ys = data(), jnp.arange(TIME)
    mine = snn.scan(step)(jnp.ones(FEATURES), xs, y=ys)
    assert_close(mine, loop(lambda c, x: step(c, x[0], y=x[1]), jnp.ones(FEATURES), (xs, ys)))


def test_numpy_arrays_are_taken_apart_as_those_of_jax() -> None:
    assert_close(snn.map(lambda x: x * 2)(np.arange(6).reshape(3, 2)), jnp.arange(6).reshape(3, 2) * 2)


@pytest.mark.parametrize("policy", [False, True, "nested"])
def test_no_steps_give_the_carry_back_and_empty_ys(policy: Any) -> None:
    carry, ys = snn.scan(lambda c, x: (c + x, c * x), remat=policy)(jnp.ones(3), jnp.zeros((0, 3)))
    assert_close(carry, jnp.ones(3))
    assert ys.shape == (0, 3)


def test_a_length_alone_calls_the_function_with_the_carry_alone() -> None:
    assert float(snn.fold(lambda c: c * 2, np.int64(5))(jnp.ones(()))) == 32
    assert snn.map(lambda: jnp.ones(2), 3)().shape == (3, 2)


def test_remat_is_off_by_default_and_a_policy_for_stacks_does_not_reach_here() -> None:
    def program() -> str:
        return str(jax.make_jaxpr(jax.grad(lambda c, xs: snn.fold(squash)(c, xs).sum()))(jnp.ones(2), jnp.ones((3, 2))))

    plain = program()
    assert "checkpoint" not in plain and "remat" not in plain
    with remat_policy_override(True):
        assert program() == plain


# -- errors -------------------------------------------------------------------------------------------------------------


def add(carry: Any, x: Any) -> Any:
    return carry + x["w"] if isinstance(x, dict) else carry + x


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (lambda: snn.fold(add)(0.0, None), ValueError, "expected arrays to scan over, got none.*give `length`"),
        (
            lambda: snn.scan(lambda x, y: (x + y, y + 2), 3)(0, [1, 2, 3]),
            ValueError,
            r"argument `y`: expected arrays to scan over, got a list of 3 numbers; pass jnp.asarray",
        ),
        (lambda: snn.fold(add, True), TypeError, "expected `length`.*got True"),
        (lambda: snn.fold(add)(0.0, 1.0), ValueError, "expected arrays to scan over, got none"),
        (
            lambda: snn.fold(add)(0.0, {"v": jnp.ones(3), "w": jnp.ones((4, 2))}),
            ValueError,
            r"argument `x`\['w'\]: expected 3 steps along axis 0, as argument `x`\['v'\] has, got 4 \(float64\[4,2\]\)",
        ),
        (
            lambda: snn.fold(add, 3)(0.0, jnp.ones(4)),
            ValueError,
            "argument `x`: expected 3 steps along axis 0, as `length` has, got 4",
        ),
        (
            lambda: snn.fold(lambda c, *, key: c, 3)(0.0, key=jr.key(0)),
            ValueError,
            r"argument `key`: expected a PRNG key for each step, got one.*jax.random.split\(key, length\)",
        ),
        (lambda: snn.fold(add, remat="most"), ValueError, "expected a remat policy: True, False, 'full'.*got 'most'"),
        (lambda: snn.fold(add, -1), ValueError, "expected `length` to be a number of steps, got -1"),
        (lambda: snn.fold(add, jnp.ones(3)), TypeError, r"expected `length`.*got float64\[3\].*scan\(f\)\(init, xs\)"),
        (lambda: snn.scan(add)(0.0, jnp.ones(3)), TypeError, r"expected the function of a scan to give a pair"),
        (
            lambda: snn.fold(lambda c, x: (c, x))(jnp.ones(()), jnp.ones(3)),
            TypeError,
            "expected a layer to give back a carry like the one it was given",
        ),
    ],
    ids=[
        "none",
        "list",
        "remat by position",
        "number",
        "lengths",
        "length",
        "one key",
        "policy",
        "negative",
        "array",
        "no pair",
        "carry",
    ],
)
def test_a_mistake_is_named(run: Callable[..., Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run()


def test_a_stack_after_tree_surgery_is_refused() -> None:
    stack = eqx.tree_at(lambda s: s.stacked.weight, ArrayStacked.of(cells(3)), jnp.ones((FEATURES, FEATURES)))
    with pytest.raises(
        ValueError,
        match="expected arrays of a stack to have the shapes in which they were built, with the layers along axis 0",
    ):
        snn.fold(lambda x, layer: layer(x))(jnp.ones(FEATURES), stack)


def test_the_builtin_map_is_left_alone() -> None:
    assert snn.map is not builtins.map and list(map(abs, [-1])) == [1]
