"""`in_axes`: what all layers share is passed on as it is, what has an axis is taken apart, and nothing is guessed."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked

N = 4


class Layer(eqx.Module):
    w: Any

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            for leaf in jax.tree.leaves(value):
                x = x * self.w + jnp.sum(leaf)
        return x


LAYERS = [Layer(jnp.float32(i + 1)) for i in range(N)]
STACK = ArrayStacked.of(LAYERS)
X = jnp.ones(3)


def fold(in_axes: Any, *args: Any, **kwargs: Any) -> Any:
    return STACK.fold_via(Layer.__call__, in_axes=in_axes)(X, *args, **kwargs)


def loop(per_layer: Any) -> Any:
    """`per_layer(i)` gives the arguments of layer i."""
    x = X
    for index, layer in enumerate(LAYERS):
        x = layer(x, *per_layer(index))
    return x


A = jnp.arange(N * 2.0).reshape(N, 2)
B = jnp.arange(2.0 * N * 3).reshape(2, N, 3)


@pytest.mark.parametrize(
    ("in_axes", "args", "per_layer"),
    [
        pytest.param(None, (A, B), lambda i: (A, B), id="None: all shared"),
        pytest.param(0, (A, A + 1), lambda i: (A[i], A[i] + 1), id="an axis for all arguments"),
        pytest.param((0, None), (A, B), lambda i: (A[i], B), id="one entry an argument"),
        pytest.param([None, 1], (A, B), lambda i: (A, B[:, i]), id="a list of entries"),
        pytest.param((0, -2), (A, B), lambda i: (A[i], B[:, i]), id="a negative axis"),
        pytest.param((np.int64(0),), (A,), lambda i: (A[i],), id="an axis of numpy"),
        pytest.param((0,), ({"a": A, "b": (A,)},), lambda i: ({"a": A[i], "b": (A[i],)},), id="a dict of arrays"),
        pytest.param((0,), (np.asarray(A),), lambda i: (A[i],), id="a numpy array"),
        pytest.param((0,), ([A[i] for i in range(N)],), lambda i: (A[i],), id="a list with one array a layer"),
        pytest.param((0,), (tuple({"k": A[i]} for i in range(N)),), lambda i: ({"k": A[i]},), id="a tuple of dicts"),
        pytest.param((0,), ([None] * N,), lambda i: (None,), id="a list of Nones"),
        pytest.param((0,), (None,), lambda i: (None,), id="None with an axis"),
        pytest.param((0,), ([0.5, 1.5, 2.5, 3.5],), lambda i: (0.5 + i,), id="a list of numbers"),
        pytest.param((0,), (range(N),), lambda i: (i,), id="a range"),
        pytest.param((None,), (A,), lambda i: (A,), id="an array of N rows that all layers share"),
        pytest.param((), (), lambda i: (), id="no arguments"),
    ],
)
def test_arguments_are_those_of_the_loop(in_axes: Any, args: Any, per_layer: Any) -> None:
    np.testing.assert_array_equal(fold(in_axes, *args), loop(per_layer))


def test_keyword_arguments() -> None:
    expected = loop(lambda i: (A[i], B))
    np.testing.assert_array_equal(fold(((0,), {"b": None}), A, b=B), expected)
    np.testing.assert_array_equal(fold((0, {"b": None}), A, b=B), expected)
    np.testing.assert_array_equal(fold(((), {"a": 0, "b": None}), a=A, b=B), expected)
    np.testing.assert_array_equal(fold((None, {"b": 1}), A, b=B), loop(lambda i: (A, B[:, i])))
    np.testing.assert_array_equal(fold((0,), A, b=B), expected)


def test_arguments_may_have_the_names_of_parameters_of_the_library() -> None:
    out = STACK.fold(X, init=A, layer=A, carry=A, fn=A, self_=A)
    np.testing.assert_array_equal(out, loop(lambda i: (A,) * 5))


def test_a_named_tuple_is_a_pytree_of_arrays() -> None:
    class Cache(NamedTuple):
        k: Any
        v: Any

    np.testing.assert_array_equal(fold(0, Cache(A, A + 1)), loop(lambda i: (Cache(A[i], A[i] + 1),)))


def test_another_stack_gives_its_layers() -> None:
    class Norm(eqx.Module):
        scale: Any

        def __call__(self, x: Any) -> Any:
            return x / self.scale

    norms = [Norm(jnp.float32(2**i)) for i in range(N)]

    def both(layer: Any, x: Any, norm: Any) -> Any:
        assert type(norm) is Norm
        return layer(norm(x), 1.0)

    x = X
    for layer, norm in zip(LAYERS, norms, strict=True):
        x = both(layer, x, norm)
    np.testing.assert_array_equal(STACK.fold_via(both, in_axes=0)(X, ArrayStacked.of(norms)), x)
    np.testing.assert_array_equal(STACK.fold_via(both, in_axes=0)(X, norms), x)


def test_what_is_shared_stays_what_it_is() -> None:
    seen: list[Any] = []
    marker, values = object(), [True, None, "text", 3, jnp.sin, [A, 2], LAYERS[0]]

    def look(layer: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append((args, kwargs))
        return x * layer.w

    STACK.fold_via(look)(X, *values, marker=marker)
    assert all(len(args) == len(values) for args, _ in seen)
    assert all(mine is given for args, _ in seen for mine, given in zip(args, values, strict=True))
    assert all(kwargs["marker"] is marker for _, kwargs in seen)


def test_a_number_that_is_the_same_for_all_layers_can_be_branched_on() -> None:
    def branch(layer: Any, x: Any, flag: Any) -> Any:
        return x * layer.w if flag else x

    np.testing.assert_array_equal(STACK.fold_via(branch, in_axes=0)(X, [True] * N), 24 * X)
    np.testing.assert_array_equal(STACK.fold_via(branch, in_axes=0)(X, [False] * N), X)
    with pytest.raises(jax.errors.TracerBoolConversionError):
        STACK.fold_via(branch, in_axes=0)(X, [True, False, True, False])


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32, jnp.int32])
def test_numbers_of_a_list_promote_as_they_do_in_the_loop(dtype: Any) -> None:
    def times(layer: Any, x: Any, number: Any) -> Any:
        return (x * number).astype(x.dtype), x * number

    numbers = [0.5, 1.5, 2.5, 3.5]
    x = jnp.ones(2, dtype)
    _, ys = STACK.scan_via(times, in_axes=0)(x, numbers)
    for layer, number, y in zip(LAYERS, numbers, ys, strict=True):
        x, expected = times(layer, x, number)
        assert y.dtype == expected.dtype
        np.testing.assert_array_equal(y.astype(jnp.float32), expected.astype(jnp.float32))


@pytest.mark.parametrize(
    ("in_axes", "args", "kwargs", "error", "text"),
    [
        pytest.param((0,), (jnp.ones((3, N)),), {}, ValueError, "expected 4 layers along axis 0, got 3", id="size"),
        pytest.param((2,), (A,), {}, ValueError, "axis 2 is out of range", id="axis"),
        pytest.param((-3,), (A,), {}, ValueError, "axis -3 is out of range", id="negative axis"),
        pytest.param((0,), (jnp.float32(1),), {}, ValueError, "out of range", id="an array without axes"),
        pytest.param((0,), (2.0,), {}, TypeError, "expected arrays", id="a number"),
        pytest.param((0,), ("text",), {}, TypeError, "expected arrays", id="a text"),
        pytest.param((0,), ({"a": A, "b": 1},), {}, TypeError, "['b']", id="a number among arrays"),
        pytest.param((0,), ([A[0]] * 3,), {}, ValueError, "4 layers, got 3", id="a list that is too short"),
        pytest.param((0,), ([A, B],), {}, ValueError, "4 layers, got 2", id="a list of stacked arrays"),
        pytest.param((1,), ([A[0]] * N,), {}, ValueError, "only axis 0", id="a list along axis 1"),
        pytest.param((0,), ([None, A[0], None, None],), {}, ValueError, "0 and 1", id="None for some layers"),
        pytest.param((0,), (["a", "b", "c", "d"],), {}, ValueError, "'a' and 'b'", id="texts that differ"),
        pytest.param((0,), ([1, 2.0, 3, 4],), {}, ValueError, "0 and 1", id="int and float"),
        pytest.param((0,), ([A[0], A[0], jnp.ones(3), A[0]],), {}, ValueError, "0 and 2", id="shapes that differ"),
        pytest.param((0,), (A, B), {}, TypeError, "2 positional arguments", id="too few entries"),
        pytest.param((0, 0), (A,), {}, TypeError, "1 positional argument", id="too many entries"),
        pytest.param(((0,), {}), (A,), {"b": B}, TypeError, "`b`", id="a keyword without an entry"),
        pytest.param(((0,), {"b": 0, "c": 0}), (A,), {"b": A}, TypeError, "`c`", id="an entry without a keyword"),
        pytest.param(True, (A,), {}, TypeError, "True", id="True is no axis"),
        pytest.param((True,), (A,), {}, TypeError, "True", id="True is no axis of an argument"),
        pytest.param("0", (A,), {}, TypeError, "'0'", id="a text is no axis"),
        pytest.param((0.0,), (A,), {}, TypeError, "0.0", id="a float is no axis"),
    ],
)
def test_what_does_not_fit_is_told(in_axes: Any, args: Any, kwargs: Any, error: Any, text: str) -> None:
    with pytest.raises(error) as caught:
        fold(in_axes, *args, **kwargs)
    assert text in str(caught.value)


def test_an_argument_is_named_where_its_name_is_known() -> None:
    def body(layer: Any, x: Any, mask: Any, cache: Any) -> Any:
        return x

    with pytest.raises(ValueError, match="argument `cache`"):
        STACK.fold_via(body, in_axes=(None, 0))(X, A, jnp.ones(3))
    with pytest.raises(ValueError, match="argument `cache`"):
        STACK.fold_via(body, in_axes=((None,), {"cache": 0}))(X, A, cache=jnp.ones(3))
