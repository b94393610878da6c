"""`fold`, `scan` and `map` compute what the Python loops of their docstrings compute, values and gradients."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings

import scanify.nn as snn
from scanify.nn import ScanCheckpointPolicy, tree_checkpoint_name

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


pytestmark = pytest.mark.usefixtures("float64")


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


@pytest.mark.parametrize("policy", ["no remat", "full", "nested"])
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


def test_a_scan_over_three_numbers_gives_their_sum_and_each_plus_two() -> None:
    total, ys = snn.scan(lambda x, y: (x + y, y + 2))(0, jnp.asarray([1, 2, 3]))
    assert int(total) == 6 and ys.tolist() == [3, 4, 5]


class Decoder(NamedTuple):
    input_norm: Any
    q_proj: Any
    down_proj: Any


def decoder(params: Decoder, seq: Any, key: Any) -> Any:
    h = jnp.einsum("td,dhk->thk", seq * params.input_norm, params.q_proj).reshape(seq.shape[0], -1)
    kept = jr.bernoulli(key, 0.5, h.shape)
    return seq + jnp.where(kept, jax.nn.relu(h), 0) @ params.down_proj


def test_named_tuples_of_stacked_parameters_are_scanned_with_a_key_split_on_the_way() -> None:
    a, b, c = jr.split(jr.key(6), 3)
    shapes = (4, FEATURES), (4, FEATURES, 2, 3), (4, 6, FEATURES)
    params = Decoder(*(jr.normal(key, shape) for key, shape in zip((a, b, c), shapes, strict=True)))

    def inner(state: Any, layer: Any) -> Any:
        key, seq = state
        assert isinstance(layer, Decoder) and layer.q_proj.shape == (FEATURES, 2, 3)
        key, now = jr.split(key)
        return (key, decoder(layer, seq, now)), None

    def last(run: Callable[..., Any], params: Any) -> Any:
        return run((jr.key(7), jnp.ones((3, FEATURES))), params)[0][1]

    def result(run: Callable[..., Any]) -> Any:
        return jax.jit(jax.value_and_grad(lambda params: last(run, params).sum()))(params)

    assert_close(result(snn.scan(inner, remat="nested")), result(lambda init, xs: loop(inner, init, xs)))


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
    assert_close(pull(jnp.ones(())), jax.jit(jax.grad(lambda i, x: folded(complex_step, i, x).sum(), (0, 1)))(init, xs))


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


WAYS = [(policy, 1, False) for policy in POLICIES]
WAYS += [(policy, unroll, True) for policy in ("full", "nested") for unroll in (1, 3, True)]


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


@settings(max_examples=8, deadline=None)
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


@pytest.mark.parametrize("policy", ["no remat", "full"])
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
        compiled = jax.jit(run).lower(jnp.ones((32, 48))).compile()
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
