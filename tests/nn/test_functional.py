"""`fold`, `scan` and `map` compute what the Python loops of their docstrings compute, values and gradients."""

import builtins
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings

import scanify.nn as snn
from scanify.nn import ArrayStacked, ScanCheckpointPolicy, remat_policy_override, tree_checkpoint_name

POLICIES: dict[str, Any] = {
    "no remat": False,
    "full": True,
    "full by name": "full",
    "nested": "nested",
    "four chunks": ScanCheckpointPolicy(nested=4),
    "dots": "dots",
    "offload": "offload",
    "save_all": "save_all",
    "no carries": ScanCheckpointPolicy(save_carries=False),
}
TIME, FEATURES = 10, 4


@pytest.fixture(autouse=True)
def float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def loop(f: Callable[..., Any], init: Any, xs: Any, length: int | None = None, reverse: bool = False) -> Any:
    """What `scan(f)(init, xs)` stands for, with every array of `xs` taken apart along axis 0."""
    count = jax.tree.leaves(xs)[0].shape[0] if length is None else length
    carry, ys = init, []
    for index in sorted(range(count), reverse=reverse):
        carry, y = f(carry, jax.tree.map(lambda x, index=index: x[index], xs))
        ys.append(y)
    return carry, jax.tree.map(lambda *parts: jnp.stack(parts), *(ys[::-1] if reverse else ys))


def running_stats(state: Any, x: Any) -> Any:
    count, mean, least, most = state
    count += 1
    mean = mean + (x - mean) / count
    return (count, mean, jnp.minimum(least, x), jnp.maximum(most, x)), mean


def start() -> Any:
    return 0.0, jnp.zeros(FEATURES), jnp.full(FEATURES, jnp.inf), jnp.full(FEATURES, -jnp.inf)


def complex_step(state: Any, x: Any) -> Any:
    y = tree_checkpoint_name(jnp.sin(x + state) + x, "y")
    return tree_checkpoint_name(jnp.cos(y) + x, "z")


def assert_close(one: Any, other: Any) -> None:
    mine, theirs = jax.tree.leaves(one), jax.tree.leaves(other)
    assert len(mine) == len(theirs) > 0
    for a, b in zip(mine, theirs, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def data() -> Any:
    return jr.normal(jr.key(0), (TIME, FEATURES))


# -- the examples of the pages that define them ------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
def test_a_scan_keeps_running_statistics_and_gives_those_of_every_step(policy: str) -> None:
    xs = data()
    (count, mean, least, most), means = snn.scan(running_stats, remat=POLICIES[policy])(start(), xs)
    assert float(count) == TIME and means.shape == (TIME, FEATURES)
    assert_close((mean, least, most), (xs.mean(0), xs.min(0), xs.max(0)))
    assert_close(means, jnp.cumsum(xs, 0) / jnp.arange(1, TIME + 1)[:, None])


@pytest.mark.parametrize("policy", POLICIES)
def test_a_fold_gives_the_last_statistics_alone(policy: str) -> None:
    xs = data()
    last = snn.fold(lambda state, x: running_stats(state, x)[0], remat=POLICIES[policy])(start(), xs)
    assert_close(last, (jnp.asarray(float(TIME)), xs.mean(0), xs.min(0), xs.max(0)))


def test_a_brownian_motion_needs_no_inputs_but_a_length_and_carries_its_key() -> None:
    def step(state: Any, x: None) -> Any:
        assert x is None
        key, place = state
        key, now = jr.split(key)
        return (key, place + jr.normal(now, (FEATURES,))), place

    (_, end), path = snn.scan(step, TIME)((jr.key(1), jnp.zeros(FEATURES)), None)
    key, place, places = jr.key(1), jnp.zeros(FEATURES), []
    for _ in range(TIME):
        places.append(place)
        key, now = jr.split(key)
        place = place + jr.normal(now, (FEATURES,))
    assert_close((end, path), (place, jnp.stack(places)))


def test_a_brownian_motion_takes_a_key_for_each_step() -> None:
    def step(place: Any, key: Any) -> Any:
        return place + jr.normal(key, (FEATURES,)), place

    keys = jr.split(jr.key(1), TIME)
    end, path = snn.scan(step)(jnp.zeros(FEATURES), keys)
    steps = jnp.stack([jr.normal(key, (FEATURES,)) for key in keys])
    assert_close((end, path), (steps.sum(0), jnp.cumsum(steps, 0) - steps))
    assert len(np.unique(np.diff(np.asarray(path), axis=0))) == (TIME - 1) * FEATURES


def test_a_map_adds_one_to_every_element() -> None:
    xs = jr.normal(jr.key(0), (TIME,))
    assert_close(snn.map(lambda x: x + 1)(xs), xs + 1)


@pytest.mark.parametrize(
    ("saved", "sines"),
    [((), 2), (("y",), 1), (("z",), 2)],
    ids=["nothing", "y", "z"],
)
def test_an_internal_that_is_saved_is_not_computed_again(saved: tuple[str, ...], sines: int) -> None:
    """The backward step needs sin(y), and to get at y the sine of the forward step, unless y is saved."""
    init, xs = jnp.ones(FEATURES), data()
    remat = ScanCheckpointPolicy(save_carries=True, save_block_internals=list(saved))  # type: ignore[arg-type]

    def total(init: Any, xs: Any) -> Any:
        return snn.fold(complex_step, remat=remat)(init, xs).sum()

    pull = jax.vjp(total, init, xs)[1]
    program = str(jax.make_jaxpr(pull)(jnp.ones(())))
    assert program.count("= sin ") == sines
    assert_close(pull(jnp.ones(())), jax.grad(lambda i, x: folded(complex_step, i, x).sum(), (0, 1))(init, xs))


def folded(f: Callable[..., Any], carry: Any, xs: Any) -> Any:
    for x in xs:
        carry = f(carry, x)
    return carry


def test_a_policy_that_names_what_nothing_is_called_warns() -> None:
    policy = ScanCheckpointPolicy(save_block_internals=("x",))
    with pytest.warns(UserWarning, match="'x'.*names that are given: 'y', 'z'"):
        snn.fold(complex_step, remat=policy)(jnp.ones(FEATURES), data())


# -- the loop is the oracle ---------------------------------------------------------------------------------------------


class Inputs(NamedTuple):
    x: Any
    y: Any


def pytree_step(carry: Any, x: Any) -> Any:
    state, seen = carry["state"], carry["seen"]
    state = jnp.tanh(state + x["a"].x @ x["a"].y) * x["b"]
    return {"state": state, "seen": seen + 1}, (state.sum(), {"seen": seen})


WAYS = [(policy, 1, reverse) for policy in POLICIES for reverse in (False, True)]
WAYS += [(policy, unroll, True) for policy in ("no remat", "full", "nested") for unroll in (3, True)]


def pytree_inputs() -> Any:
    a, b, c, d = jr.split(jr.key(2), 4)
    xs = {"a": Inputs(jr.normal(a, (7, FEATURES)), jr.normal(b, (7, FEATURES, FEATURES))), "b": jr.normal(c, (7,))}
    return {"state": jr.normal(d, (FEATURES,)), "seen": jnp.zeros((), int)}, xs


def results_and_gradient(run: Callable[..., Any]) -> Any:
    init, xs = pytree_inputs()

    def total(xs: Any) -> Any:
        carry, ys = run(init, xs)
        return carry["state"].sum() + (ys[0] * jnp.arange(7.0)).sum(), (carry, ys)

    return jax.jit(jax.grad(total, has_aux=True))(xs)


@functools.cache
def pytree_truth(reverse: bool) -> Any:
    return results_and_gradient(lambda init, xs: loop(pytree_step, init, xs, reverse=reverse))


@pytest.mark.parametrize(("policy", "unroll", "reverse"), WAYS)
def test_pytrees_are_scanned_as_a_loop_would(policy: str, unroll: int, reverse: bool) -> None:
    scanned = snn.scan(pytree_step, remat=POLICIES[policy], unroll=unroll, reverse=reverse)
    assert_close(results_and_gradient(scanned), pytree_truth(reverse))


@settings(max_examples=12, deadline=None)
@given(
    xs=hnp.arrays(np.float64, st.integers(1, 9).flatmap(lambda n: st.just((n, 2))), elements=st.floats(-2, 2)),
    policy=st.sampled_from([False, True, "nested", ScanCheckpointPolicy(nested=2)]),
    reverse=st.booleans(),
)
def test_every_length_is_the_loop_forwards_and_backwards(xs: Any, policy: Any, reverse: bool) -> None:
    def step(carry: Any, x: Any) -> Any:
        carry = jnp.sin(carry) * x + 0.5
        return carry, carry * x

    mine = snn.scan(step, remat=policy, reverse=reverse)(jnp.ones(2), jnp.asarray(xs))
    assert_close(mine, loop(step, jnp.ones(2), jnp.asarray(xs), reverse=reverse))


@pytest.mark.parametrize("policy", ["no remat", "full", "nested"])
def test_a_map_is_a_list_of_calls_and_so_is_its_gradient(policy: str) -> None:
    xs, ys = data(), jr.normal(jr.key(3), (TIME, 2))

    def one(x: Any, *, y: Any) -> Any:
        return jnp.outer(jnp.sin(x), y), {"sum": x.sum()}

    mapped = snn.map(one, remat=POLICIES[policy])
    expected = [one(x, y=y) for x, y in zip(xs, ys, strict=True)]
    assert_close(mapped(xs, y=ys), jax.tree.map(lambda *parts: jnp.stack(parts), *expected))
    mine = jax.grad(lambda xs: mapped(xs, y=ys)[0].sum())(xs)
    assert_close(mine, jnp.cos(xs) * ys.sum(1)[:, None])


def test_a_map_holds_the_intermediate_values_of_one_element_where_vmap_holds_all() -> None:
    def wide(x: Any) -> Any:
        return jnp.linalg.inv(jnp.outer(x, x) + jnp.eye(x.size)).sum()

    def temporaries(run: Callable[..., Any]) -> int:
        compiled = jax.jit(run).lower(jnp.ones((64, 128))).compile()
        return int(compiled.memory_analysis().temp_size_in_bytes)

    grown = temporaries(jax.vmap(wide))
    mine = temporaries(snn.map(wide))
    assert grown > 8 * mine > 0
    assert_close(snn.map(wide)(data()), jax.vmap(wide)(data()))


@pytest.mark.parametrize("transform", ["jit", "vmap", "jvp", "eval_shape"])
def test_transformations_see_the_loop(transform: str) -> None:
    init, xs = jnp.ones(FEATURES), data()

    def mine(init: Any, xs: Any) -> Any:
        return snn.scan(lambda c, x: (complex_step(c, x), c), remat=True)(init, xs)

    def theirs(init: Any, xs: Any) -> Any:
        return loop(lambda c, x: (complex_step(c, x), c), init, xs)

    if transform == "jit":
        assert_close(jax.jit(mine)(init, xs), theirs(init, xs))
    elif transform == "vmap":
        many = jnp.stack([xs, 2 * xs, -xs])
        assert_close(jax.vmap(mine, (None, 0))(init, many), jax.vmap(theirs, (None, 0))(init, many))
    elif transform == "jvp":
        along = (jnp.sin(init), jnp.cos(xs))
        assert_close(jax.jvp(mine, (init, xs), along), jax.jvp(theirs, (init, xs), along))
    else:
        assert jax.eval_shape(mine, init, xs) == jax.eval_shape(theirs, init, xs)


def test_the_program_does_not_grow_with_the_number_of_steps() -> None:
    def lines(count: int) -> int:
        run = jax.grad(lambda init, xs: snn.fold(complex_step, remat=True)(init, xs).sum())
        return len(jax.jit(run).lower(jnp.ones(2), jnp.ones((count, 2))).as_text().splitlines())

    assert lines(8) == lines(64)


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
    assert float(snn.fold(lambda c: c * 2, 5)(jnp.ones(()))) == 32
    assert snn.map(lambda: jnp.ones(2), 3)().shape == (3, 2)


def test_remat_is_off_by_default_and_a_policy_for_stacks_does_not_reach_here() -> None:
    def program() -> str:
        return str(
            jax.make_jaxpr(jax.grad(lambda c, xs: snn.fold(complex_step)(c, xs).sum()))(jnp.ones(2), jnp.ones((3, 2)))
        )

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
    ids=["none", "number", "lengths", "length", "one key", "policy", "negative", "array", "no pair", "carry"],
)
def test_a_mistake_is_named(run: Callable[..., Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run()


def test_a_stack_after_tree_surgery_is_refused() -> None:
    stack = eqx.tree_at(lambda s: s.stacked.weight, ArrayStacked.of(cells(3)), jnp.ones((FEATURES, FEATURES)))
    with pytest.raises(ValueError, match="expected every array of the stack to have its 3 layers along axis 0"):
        snn.fold(lambda x, layer: layer(x))(jnp.ones(FEATURES), stack)


def test_the_builtin_map_is_left_alone() -> None:
    assert snn.map is not builtins.map and list(map(abs, [-1])) == [1]
