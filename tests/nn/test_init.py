"""Layers that are built stacked against layers that are built one after another."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import ArrayStacked
from scanify.nn.programs import build_rows

N = 3


class Block(eqx.Module):
    linear: eqx.nn.Linear
    norm: eqx.nn.LayerNorm
    dropout: eqx.nn.Dropout
    table: np.ndarray
    scale: Any
    act: Any

    def __init__(self, width: int, rate: float = 0.5, scale: Any = 1.0, *, key: Any) -> None:
        self.linear = eqx.nn.Linear(width, width, key=key)
        self.norm = eqx.nn.LayerNorm(width)
        self.dropout = eqx.nn.Dropout(rate)
        self.table = np.arange(width)
        self.scale = scale
        self.act = jnp.tanh

    def __call__(self, x: Any) -> Any:
        return self.act(self.linear(self.norm(x))) * self.scale + self.table


def same(one: Any, other: Any) -> bool:
    """Equal to the bit, a numpy array and a jax array of one dtype and shape being the same."""
    one, other = (jax.tree.map(lambda leaf: jnp.asarray(leaf) if eqx.is_array(leaf) else leaf, v) for v in (one, other))
    return bool(eqx.tree_equal(one, other))


@pytest.mark.parametrize("make_key", [jr.key, jr.PRNGKey], ids=["typed keys", "raw keys"])
def test_layers_are_those_of_a_loop_for_threefry_keys(make_key: Any) -> None:
    keys = jr.split(make_key(0), N)
    built = ArrayStacked.init(N, Block, gradient_checkpointing="nested")(4, rate=0.25, key=keys)
    assert same(built, ArrayStacked.of([Block(4, rate=0.25, key=key) for key in keys], gradient_checkpointing="nested"))


@pytest.mark.parametrize("jitted", [False, True])
def test_arrays_of_numpy_that_a_constructor_makes_stay_such(jitted: bool) -> None:
    """Many take arrays of jax for what is trained, and those of numpy for what is not."""
    keys = jr.split(jr.key(0), N)
    kinds: list[list[bool]] = []

    def build(keys: Any) -> Any:
        for built in (
            ArrayStacked.init(N, Block, in_axes="keys")(4, key=keys),
            ArrayStacked.of([Block(4, key=k) for k in keys]),
        ):
            leaves = jax.tree.leaves(built)
            kinds.append([isinstance(leaf, np.ndarray) for leaf in leaves])
        return 0

    (eqx.filter_jit(build) if jitted else build)(keys)
    assert kinds[0] == kinds[1]
    assert sum(kinds[0]) == 1


def test_each_layer_has_its_own_entry_of_an_array_and_shares_what_is_none() -> None:
    keys, scales = jr.split(jr.key(0), N), jnp.arange(1.0, N + 1)
    built = ArrayStacked.init(N, Block)(4, scale=scales, key=keys)
    assert same(
        built, ArrayStacked.of([Block(4, scale=scale, key=key) for scale, key in zip(scales, keys, strict=True)])
    )
    assert built.stacked.dropout.p == 0.5


@pytest.mark.parametrize("make_key", [jr.key, jr.PRNGKey], ids=["typed keys", "raw keys"])
@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_of_keys_gives_each_layer_its_own(make_key: Any, kind: Any) -> None:
    _, *keys = jr.split(make_key(0), N + 1)
    built = ArrayStacked.init(N, Block)(4, key=kind(keys))
    assert same(built, ArrayStacked.of([Block(4, key=key) for key in keys]))
    with pytest.raises(ValueError, match="expected a PRNG key for each of the 4 layers"):
        ArrayStacked.init(N + 1, Block)(4, key=kind(keys))


@pytest.mark.parametrize("make_key", [jr.key, jr.PRNGKey], ids=["typed keys", "raw keys"])
def test_with_keys_alone_all_other_arrays_are_shared(make_key: Any) -> None:
    keys, scale = jr.split(make_key(0), N), jnp.arange(float(N))
    built = ArrayStacked.init(N, Block, in_axes="keys")(4, scale=scale, key=keys)
    assert same(built, ArrayStacked.of([Block(4, scale=scale + 0, key=key) for key in keys]))


def test_init_of_the_class_is_called_where_there_is_one() -> None:
    class WithInit(eqx.Module):
        weight: jax.Array

        @staticmethod
        def init(weight: Any) -> Any:
            return WithInit(weight * 2)

        def __call__(self, carry: Any, layer_scale: Any, mask: Any) -> Any:
            return carry + self.weight * layer_scale + jnp.sum(mask)

    weight = jnp.arange(8.0).reshape(4, 2)
    stack = ArrayStacked.init(4, WithInit)(weight=weight)
    np.testing.assert_array_equal(stack.stacked.weight, 2 * weight)
    scale, mask = jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.ones((4, 4))
    got = stack.fold_via(WithInit.__call__, in_axes=(0, None))(jnp.zeros(2), scale, mask)
    np.testing.assert_array_equal(got, (2 * weight * scale[:, None]).sum(0) + 4 * 16)


def test_an_init_that_is_a_method_is_not_the_constructor() -> None:
    class Resets(eqx.Module):
        w: jax.Array

        def init(self, key: Any) -> Any:
            return Resets(jr.normal(key))

    assert ArrayStacked.init(N, Resets)(jnp.arange(3.0)).stacked.w.shape == (N,)


def test_a_stack_is_built_without_weights() -> None:
    stack = eqx.filter_eval_shape(lambda key: ArrayStacked.init(N, Block)(4, key=jr.split(key, N)), jr.key(0))
    assert stack.stacked.linear.weight.shape == (N, 4, 4)
    assert isinstance(stack[1].linear.weight, jax.ShapeDtypeStruct)
    assert stack[1].linear.weight.shape == (4, 4)
    assert "Linear" in repr(stack)
    out = eqx.filter_eval_shape(lambda stack, x: stack.fold(x), stack, jax.ShapeDtypeStruct((4,), jnp.float32))
    assert out.shape == (4,)


def test_a_single_layer_takes_a_single_key() -> None:
    assert ArrayStacked.init(1, Block)(4, key=jr.key(0)).stacked.linear.weight.shape == (1, 4, 4)


def test_a_single_layer_is_built_as_it_would_be_in_a_list() -> None:
    """Of several large arrays a program for all of them keeps more at once than one after the other."""
    seen: list[Any] = []

    class Noted(Block):
        weak: jax.Array

        def __init__(self, *, key: Any) -> None:
            seen.append(key)
            super().__init__(300, key=key)
            self.weak = jnp.asarray(0.5)

    keys = jr.split(jr.key(0), 1)
    built = ArrayStacked.init(1, Noted)(key=keys)
    assert [isinstance(key, jax.core.Tracer) for key in seen] == [False]
    assert same(built, ArrayStacked.of([Noted(key=keys[0])]))
    assert built.stacked.weak.weak_type
    assert isinstance(built.stacked.table, np.ndarray)  # as of several layers
    assert same(built, eqx.filter_jit(lambda keys: ArrayStacked.init(1, Noted)(key=keys))(keys))


def test_a_stack_of_stacks_is_built_and_applied() -> None:
    class Group(eqx.Module):
        inner: ArrayStacked[Block]

        def __init__(self, key: Any) -> None:
            self.inner = ArrayStacked.of([Block(4, key=one) for one in jr.split(key, 2)])

        def __call__(self, x: Any) -> Any:
            return self.inner.fold(x)

    keys = jr.split(jr.key(0), N)
    x = expected = jnp.arange(4.0)
    for key in keys:
        for one in jr.split(key, 2):
            expected = Block(4, key=one)(expected)
    built = ArrayStacked.init(N, Group)(keys)
    assert same(built, ArrayStacked.of([Group(key) for key in keys]))
    np.testing.assert_allclose(built.fold(x), expected, rtol=1e-6)


def test_a_number_of_layers_below_none_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a number of layers, got num_layers=-1"):
        ArrayStacked.init(-1, Block)


def test_an_unknown_policy_is_refused_before_anything_is_built() -> None:
    with pytest.raises(ValueError, match="'nestd'"):
        ArrayStacked.init(N, Block, gradient_checkpointing="nestd")


class TestAxesThatAreNamed:
    def test_an_array_that_is_shared_and_has_as_many_entries_as_layers(self) -> None:
        keys, scale = jr.split(jr.key(0), 4), jnp.arange(4.0)
        built = ArrayStacked.init(4, Block, in_axes=((None,), {"scale": None, "key": 0}))(4, scale=scale, key=keys)
        assert same(built, ArrayStacked.of([Block(4, scale=scale + 0, key=key) for key in keys]))
        by_shape = ArrayStacked.init(4, Block)(4, scale=scale, key=keys)
        assert by_shape.stacked.scale.shape == (4,) and built.stacked.scale.shape == (4, 4)

    def test_an_axis_that_is_not_the_first(self) -> None:
        keys, scales = jr.split(jr.key(0), N), jnp.arange(2.0 * N).reshape(2, N)
        built = ArrayStacked.init(N, Block, in_axes=((None,), {"scale": -1, "key": 0}))(4, scale=scales, key=keys)
        np.testing.assert_array_equal(built.stacked.scale, scales.T)

    def test_one_key_for_all_layers_is_refused(self) -> None:
        with pytest.raises(ValueError, match=f"expected a PRNG key for each of the {N} layers"):
            ArrayStacked.init(N, Block, in_axes=None)(4, key=jr.key(0))

    def test_a_word_that_is_no_rule_is_refused(self) -> None:
        with pytest.raises(TypeError, match="expected `in_axes` to be 'by shape', 'keys' or axes, got 'shape'"):
            ArrayStacked.init(N, Block, in_axes="shape")(4, key=jr.split(jr.key(0), N))  # type: ignore[arg-type]


class TestLargeLayers:
    """Layers of a MB and more are written into the stack by a program for one of them."""

    class Large(eqx.Module):
        weight: jax.Array
        half: jax.Array
        rate: Any
        table: np.ndarray
        near: jax.Array
        key: Any

        def __init__(self, around: Any, keep: bool, *, key: Any) -> None:
            self.weight = jr.normal(key, (600, 600))
            self.half = self.weight[:2].astype(jnp.bfloat16)
            self.rate, self.table = jnp.asarray(0.5), np.arange(3)  # of a weak type; of numpy
            self.near, self.key = around + jr.uniform(key), key if keep else None

    @pytest.fixture
    def built(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """What was made of programs: scans, or programs for one layer."""
        made: list[Any] = []
        of = build_rows.COMPILED.of

        def noted(program: Any, jitted: Any) -> Any:
            return made.append((jitted.__name__, program)) or of(program, jitted)

        monkeypatch.setattr(build_rows.COMPILED, "of", noted)
        return made

    @pytest.mark.parametrize("keep", [False, True])
    def test_they_are_those_of_a_loop(self, keep: bool, built: Any) -> None:
        around, keys = jnp.arange(3.0), jr.split(jr.key(0), N)
        in_axes = ((None, None), {"key": 0})
        got = ArrayStacked.init(N, self.Large, in_axes=in_axes)(around, keep, key=keys)
        assert same(got, ArrayStacked.of([self.Large(around, keep, key=key) for key in keys]))
        assert got.stacked.rate.weak_type
        # There is no stack of keys to write to.
        assert [name for name, _ in built] == ["_scanning" if keep else "_putting"]

    def test_the_peak_is_at_most_twice_the_parameters_of_four(self, built: Any) -> None:
        keys = jr.split(jr.key(0), 4)
        ArrayStacked.init(4, eqx.nn.MLP, in_axes=((None, None, None, None), {"key": 0}))(512, 512, 1024, 1, key=keys)
        [(_, program)] = built
        stack = [jax.ShapeDtypeStruct((4, *out.shape), out.dtype) for out in program.outs]
        size = sum(out.size * out.dtype.itemsize for out in stack)
        captured = [program.consts[at] for at in program.captured]
        used = build_rows._putting(program).lower(stack, np.int32(0), [keys], captured).compile().memory_analysis()
        assert used.alias_size_in_bytes >= size  # the stack is written where it is
        assert size + used.temp_size_in_bytes <= 2 * size

    def test_a_device_that_the_constructor_names_is_left_to_jax(self, built: Any) -> None:
        class Placed(eqx.Module):
            weight: jax.Array

            def __init__(self, *, key: Any) -> None:
                self.weight = jax.device_put(jr.normal(key, (600, 600)), jax.devices()[0])

        keys = jr.split(jr.key(0), N)
        assert same(ArrayStacked.init(N, Placed)(key=keys), ArrayStacked.of([Placed(key=key) for key in keys]))
        assert [name for name, _ in built] == ["_scanning"]


COUNT: list[int] = []
TABLES = iter(np.random.default_rng(0).normal(size=(100, 4000)).astype(np.float32))


class Odd(eqx.Module):
    """A layer of which each is another one, by its `how`."""

    weight: Any
    extra: Any = None
    tag: Any = eqx.field(static=True, default=None)

    def __init__(self, how: str, key: Any) -> None:
        COUNT.append(0)
        self.weight = jr.normal(key, (4,))
        if how == "static field":
            self.tag = len(COUNT)
        elif how == "number":
            self.extra = float(len(COUNT))
        elif how == "scale":
            self.weight = self.weight * float(len(COUNT))
        elif how == "constant":
            self.extra = jnp.asarray(next(TABLES)) + self.weight[0]
        elif how == "program" and len(COUNT) % 2:
            self.weight = jnp.tanh(self.weight)
        elif how == "function":
            count = len(COUNT)
            self.extra = lambda x: x * count
        elif how == "structure":
            self.extra = [None] * len(COUNT)


@pytest.mark.parametrize("how", ["static field", "number", "scale", "constant", "program", "structure", "function"])
def test_layers_that_the_constructor_makes_unlike_are_refused(how: str) -> None:
    """One trace would give all of them what the first has, where a loop does not."""
    with pytest.raises(ValueError, match=r"makes the same layer of the same arguments each time; two layers differ"):
        ArrayStacked.init(N, Odd)(how, key=jr.split(jr.key(0), N))


def test_what_each_layer_computes_anew_is_the_same() -> None:
    """Tables that are made in the constructor, large ones too, functions, and captured arrays of the call around."""

    class Tables(eqx.Module):
        weight: Any
        table: Any
        large: Any
        act: Any

        def __init__(self, shared: Any, key: Any) -> None:
            self.weight = jr.normal(key, (4,)) + shared
            self.table, self.large = np.arange(4.0), jnp.asarray(np.arange(3000.0)) * self.weight[0] * np.nan
            self.act = lambda x: x * shared.size

    keys, shared = jr.split(jr.key(0), N), jnp.ones(4)
    built = ArrayStacked.init(N, Tables, in_axes=(None, 0))(shared, keys)
    layers = [Tables(shared, key) for key in keys]
    np.testing.assert_array_equal(built.stacked.weight, jnp.stack([layer.weight for layer in layers]))
    jitted = jax.jit(lambda shared, keys: ArrayStacked.init(N, Tables, in_axes=(None, 0))(shared, keys).stacked.weight)
    np.testing.assert_allclose(jitted(shared, keys), built.stacked.weight, rtol=1e-6)
