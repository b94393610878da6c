"""The known ways in which turning a layer loop to a scan goes wrong, each by its number: what a stack does instead.

The oracle is the Python loop over the same layers.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import ArrayStacked, ScanCheckpointPolicy, tree_checkpoint_name

N = 4


class Scale(eqx.Module):
    """A layer of one array, one static number and one number that is a leaf."""

    w: jax.Array
    rate: Any = eqx.field(static=True, default=0.0)
    leaf: Any = 0.0

    def __call__(self, x: Any, *extra: Any) -> Any:
        for one in extra:
            x = x + jnp.sum(one)
        return x * self.w + self.rate + self.leaf


class Noise(eqx.Module):
    w: jax.Array

    def __call__(self, x: Any, key: Any) -> Any:
        return x + (self.w if key is None else self.w * jr.normal(key, x.shape))


def scales(**fields: Any) -> list[Scale]:
    return [Scale(jnp.float32(i + 2), **{name: values[i] for name, values in fields.items()}) for i in range(N)]


def loop(layers: Any, carry: Any, *args: Any) -> Any:
    for layer in layers:
        carry = layer(carry, *args)
    return carry


@pytest.mark.parametrize("field", ["rate", "leaf"])
def test_hazard_01_numbers_that_differ_are_refused_and_not_taken_from_layer_0(field: str) -> None:
    with pytest.raises(ValueError, match=rf"layers 0 and 1 differ at \.{field}: 0\.0 and 0\.1"):
        ArrayStacked.of(scales(**{field: [0.0, 0.1, 0.2, 0.3]}))


@pytest.mark.parametrize("values", [(1, 1.0), (True, 1), (0.0, -0.0), ("a", "b"), ((1, 2), (1, 2.0))], ids=str)
def test_hazard_01_static_values_that_python_calls_equal_are_told_apart(values: Any) -> None:
    with pytest.raises(ValueError, match=r"layers 0 and 3 differ at \.rate"):
        ArrayStacked.of(scales(rate=[values[0]] * 3 + [values[1]]))


@pytest.mark.parametrize("count", [3, 4])
def test_hazard_02_an_array_as_long_as_the_stack_is_not_sliced(count: int) -> None:
    shared = jnp.arange(1.0, count + 1)
    layers = scales()
    assert ArrayStacked.of(layers).fold(jnp.float32(1), shared) == loop(layers, jnp.float32(1), shared)


def test_hazard_02_an_array_of_a_layer_as_long_as_the_stack_is_stacked_and_not_sliced() -> None:
    class Table(eqx.Module):
        table: jax.Array

        def __call__(self, x: Any) -> Any:
            return x + self.table.sum()

    layers = [Table(jnp.arange(4.0) * i) for i in range(4)]
    stack = ArrayStacked.of(layers)
    assert stack.fold(jnp.float32(0)) == loop(layers, jnp.float32(0))
    assert stack[3].table.shape == (4,)


def test_hazard_03_only_arguments_with_an_axis_are_taken_apart() -> None:
    layers, a, b = scales(), jnp.arange(4.0), jnp.ones((4, 4))
    expected = jnp.float32(1)
    for i, layer in enumerate(layers):
        expected = layer(expected, a[i], b)
    assert ArrayStacked.of(layers).fold_via(Scale.__call__, in_axes=(0, None))(jnp.float32(1), a, b) == expected


def test_hazard_04_a_shared_key_gives_every_layer_the_same_noise_as_in_the_loop_and_a_split_key_does_not() -> None:
    layers, x = [Noise(jnp.ones(())) for _ in range(N)], jnp.zeros(3)
    stack, keys = ArrayStacked.of(layers), jr.split(jr.key(0), N)
    shared = stack.fold(x, keys[0])
    np.testing.assert_allclose(shared, loop(layers, x, keys[0]), rtol=1e-6)
    own = stack.fold_via(Noise.__call__, in_axes=0)(x, keys)
    expected = x
    for layer, key in zip(layers, keys, strict=True):
        expected = layer(expected, key)
    np.testing.assert_allclose(own, expected, rtol=1e-6)
    assert not np.allclose(own, shared)


def test_hazard_04_one_typed_key_with_an_axis_is_refused_with_the_way_out() -> None:
    stack = ArrayStacked.of([Noise(jnp.ones(())) for _ in range(N)])
    with pytest.raises(
        ValueError, match=r"`key`: axis 0 is out of range for key<fry>\[\]; pass jax.random.split\(key, 4"
    ):
        stack.fold_via(Noise.__call__, in_axes=0)(jnp.zeros(3), jr.key(0))


class Weights(eqx.Module):
    w: jax.Array

    def __init__(self, key: Any, scale: Any = 1.0) -> None:
        self.w = jr.normal(key, (3,)) * scale


@pytest.mark.parametrize("count", [2, 3])
def test_hazard_05_a_raw_key_as_long_as_the_stack_is_not_taken_for_keys(count: int) -> None:
    with pytest.raises(ValueError, match=r"expected a PRNG key for each of the .*got uint32\[2\].*jax.random.split"):
        ArrayStacked.init(count, Weights)(jr.PRNGKey(0))


@pytest.mark.parametrize("scale", [1.0, jnp.arange(3.0)], ids=["nothing per layer", "another argument per layer"])
@pytest.mark.parametrize("key", [jr.key(0), jr.split(jr.key(0), 5)], ids=["one key", "keys for five layers"])
def test_hazard_06_layers_that_would_begin_with_the_same_weights_are_refused(key: Any, scale: Any) -> None:
    with pytest.raises(ValueError, match="every layer would begin with the same weights"):
        ArrayStacked.init(3, Weights)(key, scale)


@pytest.mark.parametrize("keys", [None, [None] * N, (None,) * N], ids=["None", "list of None", "tuple of None"])
def test_hazard_08_no_key_at_inference_is_no_key_for_any_layer(keys: Any) -> None:
    layers, x = [Noise(jnp.float32(i)) for i in range(N)], jnp.zeros(3)
    got = ArrayStacked.of(layers).fold_via(Noise.__call__, in_axes=0)(x, keys)
    np.testing.assert_array_equal(got, loop(layers, x, None))


def test_hazard_13_a_carry_that_is_promoted_is_refused_and_not_cast() -> None:
    stack = ArrayStacked.of(scales())
    with pytest.raises(
        TypeError, match=r"bfloat16\[3\] went in, float32\[3\] came out.*Casting it back in every layer"
    ):
        stack.fold(jnp.ones(3, jnp.bfloat16))


def test_hazard_14_a_strong_integer_carry_is_refused() -> None:
    with pytest.raises(TypeError, match=r"int32\[\] went in, float32\[\] came out"):
        ArrayStacked.of(scales()).fold(jnp.int32(1))


@pytest.mark.parametrize("start", [0, 0.0, 1.5], ids=str)
def test_hazard_14_a_python_number_takes_the_type_and_value_it_takes_in_the_loop(start: Any) -> None:
    layers = scales()
    got, expected = ArrayStacked.of(layers).fold(start), loop(layers, start)
    assert (got.dtype, got.weak_type, float(got)) == (expected.dtype, expected.weak_type, float(expected))


@pytest.mark.parametrize(
    ("start", "change", "text"),
    [
        ([1.0, 2.0], lambda c: tuple(c), r"a list of 2 went in, a tuple of 2 came out"),
        ({"b": 1.0, "a": None}, lambda c: {"a": 1.0, "b": c["b"]}, r"at \['a'\]: None went in, float32\[\] \(weak\)"),
        ({"b": 1.0}, lambda c: {"a": c["b"]}, r"a dict of 1 .* went in, a dict of 1"),
        ((1.0, (2.0, "x")), lambda c: (c[0], (c[1][0], "y")), r"at \[1\]\[1\]: 'x' went in, 'y' came out"),
        (1.0, lambda c: None, r"float32\[\] \(weak\) went in, None came out"),
    ],
    ids=["list to tuple", "None to array", "keys of a dict", "a text that changes", "a layer that returns nothing"],
)
def test_hazard_15_a_carry_of_another_structure_is_refused_by_its_path(start: Any, change: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        ArrayStacked.of(scales()).fold_via(lambda layer, carry: change(carry))(start)


def test_hazard_15_the_order_of_keys_of_a_dict_is_no_difference() -> None:
    layers = scales()

    def step(layer: Any, carry: Any) -> Any:
        return {"b": layer(carry["b"]), "a": carry["a"]}

    got = ArrayStacked.of(layers).fold_via(step)({"a": jnp.float32(1), "b": jnp.float32(2)})
    assert got == {"a": 1.0, "b": loop(layers, jnp.float32(2))}


def test_hazard_16_integer_leaves_and_buffers_are_scanned_and_have_no_gradient() -> None:
    class Buffered(eqx.Module):
        w: jax.Array
        count: jax.Array
        mask: np.ndarray

        def __call__(self, x: Any) -> Any:
            return x * self.w * self.count + self.mask.sum()

    layers = [Buffered(jnp.float32(i + 1), jnp.int32(i), np.array([i % 2 == 0, True])) for i in range(N)]
    stack = ArrayStacked.of(layers)
    value, grads = jax.value_and_grad(lambda s: s.fold(jnp.float32(2)), allow_int=True)(stack)
    expected, wanted = jax.value_and_grad(lambda ls: loop(ls, jnp.float32(2)), allow_int=True)(layers)
    assert value == expected
    np.testing.assert_array_equal(grads.stacked.w, np.stack([one.w for one in wanted]))
    assert grads.stacked.count.dtype == jax.dtypes.float0
    assert eqx.filter_grad(lambda s: s.fold(jnp.float32(2)))(stack).stacked.count is None


def test_hazard_17_one_layer_many_times_is_refused() -> None:
    layer = Scale(jnp.float32(2))
    with pytest.raises(ValueError, match="layers 0 and 2 are the same object"):
        ArrayStacked.of([layer, Scale(jnp.float32(3)), layer])


def test_hazard_17_one_array_in_many_layers_is_refused() -> None:
    shared = jnp.ones(2)
    with pytest.raises(ValueError, match=r"layers 0 and 1 hold the same array object, at \.w and \.w"):
        ArrayStacked.of([Scale(shared), Scale(shared)])


def test_hazard_18_a_parameter_tied_to_one_outside_has_the_gradient_of_both_uses() -> None:
    """The tie is made by the caller, inside of what is differentiated; a stack does not break it."""
    w = jnp.arange(1.0, N + 1)

    def tied(w: Any, apply: Any) -> Any:
        layers = [Scale(w[i]) for i in range(N)]
        return apply(layers, jnp.float32(1)) * w[0]

    got = jax.grad(lambda w: tied(w, lambda layers, x: ArrayStacked.of(layers).fold(x)))(w)
    np.testing.assert_array_equal(got, jax.grad(lambda w: tied(w, loop))(w))


@pytest.mark.parametrize("policy", [False, True, "nested", ScanCheckpointPolicy(nested=3)], ids=str)
@pytest.mark.parametrize("count", [1, 2, 5, 7])
def test_hazard_24_every_layer_runs_once_and_in_order(policy: Any, count: int) -> None:
    layers = [Scale(jnp.float32(10), leaf=0.0) for _ in range(count)]
    layers = [eqx.tree_at(lambda s: s.w, layer, jnp.float32(i + 1)) for i, layer in enumerate(layers)]
    stack = ArrayStacked.of(layers, gradient_checkpointing=policy)

    def step(layer: Any, order: Any) -> Any:
        return order * 10 + layer.w.astype(jnp.int32)

    assert int(stack.fold_via(step)(jnp.int32(0))) == int("".join(str(i + 1) for i in range(count)))
    grads = jax.grad(lambda s: s.fold(jnp.float32(1)))(stack)
    assert np.all(np.asarray(grads.stacked.w) != 0)


class Named(eqx.Module):
    w: jax.Array

    def __call__(self, x: Any) -> Any:
        return jnp.sin(tree_checkpoint_name(jnp.sin(x * self.w), "middle"))


@pytest.mark.parametrize("field", ["save_block_internals", "offload_block_internals"])
def test_hazard_26_a_policy_that_names_what_nobody_sets_says_so(field: str) -> None:
    policy = ScanCheckpointPolicy(**{field: ("middel",)})
    stack = ArrayStacked.of([Named(jnp.float32(i)) for i in range(3)], gradient_checkpointing=policy)
    with pytest.warns(UserWarning, match="names 'middel', which nothing in the layers is called.*given: 'middle'"):
        stack.fold(jnp.ones(2))


def test_hazard_26_a_policy_whose_names_are_set_is_quiet() -> None:
    policy = ScanCheckpointPolicy(save_block_internals=("middle",))
    stack = ArrayStacked.of([Named(jnp.float32(i)) for i in range(3)], gradient_checkpointing=policy)
    assert stack.fold(jnp.ones(2)).shape == (2,)


def remats(function: Any, *args: Any) -> list[bool]:
    """`prevent_cse` of every remat in the traced program."""
    text = str(jax.make_jaxpr(function)(*args))
    return [part.startswith("=True") for part in text.split("prevent_cse")[1:]]


def test_hazard_27_the_remat_of_straight_line_code_cannot_be_undone() -> None:
    layers = [Named(jnp.float32(i)) for i in range(6)]
    x = jnp.ones(2)

    def fold(count: int, policy: Any, **how: Any) -> list[bool]:
        stack = ArrayStacked.of(layers[:count], gradient_checkpointing=policy)
        return remats(stack.fold_via(Named.__call__, **how), x)

    assert fold(6, True) == [False]  # in a loop XLA cannot undo it, and the barriers would cost
    assert fold(6, True, unroll=True) == [True]
    assert fold(6, True, unroll=6) == [True]
    assert fold(1, True) == [True]
    assert fold(6, ScanCheckpointPolicy(prevent_cse=True)) == [True]
    assert fold(6, ScanCheckpointPolicy(nested=3)) == [False, False]
    # Two chunks of three and two layers: each stands alone, the layers inside are in loops.
    assert sorted(fold(5, ScanCheckpointPolicy(nested=2))) == [False, False, True, True]


@pytest.mark.parametrize("made", [lambda: ArrayStacked.of([]), lambda: ArrayStacked.init(0, Scale)(jnp.ones(0))])
def test_hazard_39_of_no_layer_at_all_a_stack_is_the_identity(made: Any) -> None:
    stack, x = made(), jnp.ones(3)
    assert len(stack) == 0 and list(stack) == [] and stack.fold(x) is x
    assert stack.fold_via(Scale.__call__, in_axes=0)(x, []) is x
    assert stack.collect_via(lambda layer, carry: (carry, carry))(x) == (x, [])
    assert stack.map_via(Scale.__call__)(x) == [] and jax.tree.leaves(stack) == []
    assert jax.jit(lambda stack, x: stack.fold(x))(stack, x).shape == (3,)


@pytest.mark.parametrize("policy", [False, True, "nested", "dots", "offload", ScanCheckpointPolicy(nested=4)], ids=str)
def test_hazard_39_one_layer_is_a_stack(policy: Any) -> None:
    layer = Scale(jnp.float32(3), rate=0.5)
    stack = ArrayStacked.of([layer], gradient_checkpointing=policy)
    got = jax.value_and_grad(lambda s: s.fold(jnp.float32(2)))(stack)
    expected = jax.value_and_grad(lambda one: one(jnp.float32(2)))(layer)
    assert (got[0], got[1].stacked.w) == (expected[0], expected[1].w)
    assert len(stack) == 1
