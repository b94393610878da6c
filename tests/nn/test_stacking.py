"""What `ArrayStacked.of` stacks, and what it refuses: path, layers, both values, and what to do."""

import dataclasses
import functools
import re
import weakref
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq
from scanify.nn.trees.stack_leaves import stack_columns


class Dropout(eqx.Module):
    p: Any


class Attention(eqx.Module):
    weight: Any
    dropout: Dropout
    inference: Any = eqx.field(static=True)

    def __call__(self, x: Any) -> Any:
        return x * self.weight


class Block(eqx.Module):
    attn: Attention

    def __call__(self, x: Any) -> Any:
        return self.attn(x)


OWN = object()


def block(index: int = 0, *, weight: Any = OWN, p: Any = 0.5, static: Any = None) -> Block:
    """The layer `index` of a list, with arrays of its own."""
    own = jnp.arange(2.0) + index
    return Block(Attention(own if weight is OWN else weight, Dropout(p), static))


def refusal(layers: Any, error: type[Exception] = ValueError) -> str:
    with pytest.raises(error) as caught:
        ArrayStacked.of(layers)
    return str(caught.value)


class TestWhatIsStacked:
    def test_every_array_leaf_and_no_other(self) -> None:
        stack = ArrayStacked.of([block(index, static="s") for index in range(3)])
        np.testing.assert_array_equal(stack.stacked.attn.weight, [[0, 1], [1, 2], [2, 3]])
        assert stack.stacked.attn.dropout.p == 0.5
        assert stack.stacked.attn.inference == "s"
        assert stack.num_layers == 3

    @pytest.mark.parametrize("kind", [list, tuple, iter], ids=["a list", "a tuple", "a generator"])
    def test_layers_come_from(self, kind: Any) -> None:
        stack = ArrayStacked.of(kind([block(0), block(1)]))
        np.testing.assert_array_equal(stack.fold(jnp.ones(2)), [0, 2])

    def test_a_stack_is_its_own_layers_stacked_again(self) -> None:
        stack = ArrayStacked.of([block(0), block(1)])
        assert eqx.tree_equal(ArrayStacked.of(stack), stack, typematch=True)

    def test_numpy_arrays_stay_numpy_until_they_are_used(self) -> None:
        stack = ArrayStacked.of([block(weight=np.arange(2) + index) for index in range(2)])
        assert type(stack.stacked.attn.weight) is np.ndarray
        assert type(stack[1].attn.weight) is np.ndarray
        np.testing.assert_array_equal(stack.fold(jnp.ones(2)), [0, 2])

    @pytest.mark.parametrize("numpy", [(0,), (1, 2)])
    def test_arrays_of_numpy_in_some_layers_are_no_stack(self, numpy: tuple[int, ...]) -> None:
        # A stack has one array for all, so that what filters for `jax.Array` would train all layers, or none.
        made = [block(weight=(np if at in numpy else jnp).full(2, at, "float32")) for at in range(3)]
        with pytest.raises(
            ValueError, match=r"\.attn\.weight is an array of numpy in layer \d and one of jax in layer"
        ):
            ArrayStacked.of(made)
        kinds = [isinstance(each.attn.weight, np.ndarray) for each in BlockSeq.of(made)]
        assert kinds == [at in numpy for at in range(3)]

    def test_numpy_numbers_are_arrays(self) -> None:
        stack = ArrayStacked.of([block(weight=np.float32(index + 2)) for index in range(2)])
        assert stack.stacked.attn.weight.shape == (2,)
        np.testing.assert_array_equal(stack.fold(jnp.ones(2)), [6, 6])

    def test_a_weak_type_stays_weak(self) -> None:
        stack = ArrayStacked.of([block(weight=jnp.asarray(2.0)), block(weight=jnp.asarray(3.0))])
        assert stack.stacked.attn.weight.weak_type
        out = stack.fold(jnp.ones(2, jnp.bfloat16))
        assert out.dtype == jnp.bfloat16
        np.testing.assert_array_equal(out.astype(jnp.float32), [6, 6])

    def test_under_jit_and_eval_shape(self) -> None:
        def build(scale: Any) -> Any:
            return ArrayStacked.of([block(weight=jnp.ones(2) * scale * index) for index in range(1, 4)])

        assert eqx.tree_equal(eqx.filter_jit(build)(2.0), build(2.0), typematch=True) is not False
        assert eqx.filter_eval_shape(build, 2.0).stacked.attn.weight.shape == (3, 2)

    def test_gradients_flow_back_to_the_layers(self) -> None:
        def loss(weights: Any) -> Any:
            return ArrayStacked.of([block(weight=weight) for weight in weights]).fold(jnp.ones(())).sum()

        weights = [jnp.float32(2), jnp.float32(3), jnp.float32(5)]
        assert [float(grad) for grad in jax.grad(loss)(weights)] == [15, 10, 6]


class TestRefusals:
    def test_a_static_field_that_differs(self) -> None:
        text = refusal([block(0, static=0.1), block(1, static=0.1), block(2, static=0.3)])
        assert "layers 0 and 2 differ at .attn.inference: 0.1 and 0.3" in text
        assert "hold the layers in a BlockSeq" in text

    def test_a_plain_number_that_differs(self) -> None:
        text = refusal([block(0), block(1, p=0.7)])
        assert "layers 0 and 1 differ at .attn.dropout.p: 0.5 and 0.7" in text

    @pytest.mark.parametrize(
        ("one", "other"),
        [(1, 1.0), (1, True), (0.0, -0.0), (0, False), ((1, 2), (1, 2.0)), ("a", b"a"), (None, 0), ([1], (1,))],
        ids=repr,
    )
    @pytest.mark.parametrize("where", ["p", "static"])
    def test_values_that_are_equal_to_python_but_not_the_same(self, one: Any, other: Any, where: str) -> None:
        assert "differ at .attn" in refusal([block(0, **{where: one}), block(1, **{where: other})])

    @pytest.mark.parametrize(
        ("make", "text"),
        [
            pytest.param(lambda i: jnp.ones(2 + i), "float32[2] and float32[3]", id="shape"),
            pytest.param(
                lambda i: jnp.ones(2, [jnp.float32, jnp.bfloat16][i]), "float32[2] and bfloat16[2]", id="dtype"
            ),
            pytest.param(lambda i: [jnp.ones(2), None][i], "float32[2] and None", id="an array and None"),
            pytest.param(lambda i: [jnp.ones(()), 1.0][i], "float32[] and 1.0", id="an array and a number"),
            pytest.param(lambda i: [jnp.asarray(1.0), jnp.ones(())][i], "float32[] (weak", id="a weak type"),
            pytest.param(lambda i: [jr.key(0), jr.PRNGKey(0)][i], "key<fry>[] and uint32[2]", id="kinds of keys"),
        ],
    )
    def test_arrays_that_differ_in(self, make: Callable[[int], Any], text: str) -> None:
        message = refusal([block(weight=make(0)), block(weight=make(1))])
        assert "layers 0 and 1 differ at .attn.weight" in message
        assert text in message

    def test_structure_that_differs(self) -> None:
        with_list = [block(p=[1.0, 2.0]), block(p=[1.0])]
        assert "differ at .attn.dropout.p" in refusal(with_list)
        assert "differ at .attn.dropout.p" in refusal([block(p={"a": 1.0}), block(p={"b": 1.0})])

    def test_classes_that_differ(self) -> None:
        text = refusal([block(0), block(1).attn])
        assert "Block" in text
        assert "Attention" in text

    def test_static_objects_without_equality(self) -> None:
        class Opaque:
            pass

        text = refusal([block(0, static=Opaque()), block(1, static=Opaque())])
        assert ".attn.inference" in text
        assert "Opaque" in text
        shared = Opaque()
        assert len(ArrayStacked.of([block(0, static=shared), block(1, static=shared)])) == 2

    @pytest.mark.parametrize("answer", ["raises", "an array"])
    def test_static_objects_whose_equality_does_not_answer(self, answer: str) -> None:
        class Odd:
            __hash__ = None  # type: ignore[assignment]

            def __eq__(self, other: object) -> Any:
                if answer == "raises":
                    raise RuntimeError("no")
                return np.array([True, False])

        assert ".attn.inference" in refusal([block(0, static=Odd()), block(1, static=Odd())])

    def test_the_same_layer_twice(self) -> None:
        one = block(0)
        text = refusal([block(1), one, one])
        assert "layers 1 and 2 are the same object" in text

    def test_the_same_array_in_two_layers(self) -> None:
        shared = jnp.ones(2)
        text = refusal([block(0), block(weight=shared), block(weight=shared)])
        assert "layers 1 and 2" in text
        assert ".attn.weight" in text
        assert "in_axes=None" in text

    def test_the_same_tracer_in_two_layers(self) -> None:
        with pytest.raises(ValueError, match="same array"):
            jax.jit(lambda w: ArrayStacked.of([block(weight=w), block(weight=w)]).fold(w))(jnp.ones(2))

    def test_what_is_no_module(self) -> None:
        text = refusal([block(0), jnp.ones(2)], TypeError)
        assert re.search(r"layer 1 .*Array", text)

    def test_policies_that_do_not_exist(self) -> None:
        with pytest.raises(ValueError, match=r"'nestd'") as caught:
            ArrayStacked.of([block(0)], gradient_checkpointing="nestd")
        assert all(repr(word) in str(caught.value) for word in ("full", "nested", "offload", "save_all", "dots"))


@dataclasses.dataclass(frozen=True)
class Config:
    width: int
    rates: Any = ()


def outer(scale: float) -> Callable[[Any], Any]:
    return lambda x: x * scale


@pytest.mark.filterwarnings("ignore:A JAX array is being set as static")
class TestWhatIsTheSame:
    """No layer is refused for a value that is the same in every respect that a program can see."""

    @pytest.mark.parametrize(
        "make",
        [
            pytest.param(lambda: np.arange(3), id="numpy arrays in static fields"),
            pytest.param(lambda: functools.partial(jax.nn.gelu, approximate=False), id="partial functions"),
            pytest.param(lambda: Config(3, (0.1, 0.2)), id="dataclasses"),
            pytest.param(lambda: {"a": [1, {2, 3}], "b": float("nan")}, id="containers"),
            pytest.param(lambda: np.float32, id="types"),
            pytest.param(lambda: "".join(["a", "b"]), id="texts that are not one object"),
            pytest.param(lambda: jnp.dtype("float32"), id="dtypes"),
        ],
    )
    def test_equal(self, make: Callable[[], Any]) -> None:
        assert len(ArrayStacked.of([block(0, static=make()), block(1, static=make())])) == 2

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            pytest.param(np.arange(3), np.arange(1, 4), id="numpy arrays with other values"),
            pytest.param(np.arange(3), np.arange(3.0), id="numpy arrays of another dtype"),
            pytest.param(
                functools.partial(jax.nn.gelu, approximate=False),
                functools.partial(jax.nn.gelu, approximate=True),
                id="partial functions with other arguments",
            ),
            pytest.param(Config(3, 1), Config(3, 1.0), id="dataclasses with another type of number"),
            pytest.param(outer(1.0), outer(2.0), id="closures over other values"),
        ],
    )
    @pytest.mark.parametrize("swapped", [False, True])
    def test_unequal(self, one: Any, other: Any, swapped: bool) -> None:
        if swapped:
            one, other = other, one
        assert ".attn.inference" in refusal([block(0, static=one), block(1, static=other)])

    def test_what_has_no_gradient_may_be_shared(self) -> None:
        table, key = jnp.arange(2), jr.key(0)
        assert len(ArrayStacked.of([block(weight=table), block(weight=table)])) == 2
        assert len(ArrayStacked.of([block(weight=key), block(weight=key)])) == 2


class TestSurgery:
    def test_a_leaf_without_the_layers_is_told(self) -> None:
        stack = ArrayStacked.of([block(0), block(1), block(2)])
        broken = eqx.tree_at(lambda stack: stack.stacked.attn.weight, stack, jnp.ones((2, 2)))
        for use in (lambda: broken.fold(jnp.ones(2)), lambda: broken[0], lambda: list(broken)):
            with pytest.raises(ValueError, match=r"3 layers along axis 0; .*\.attn\.weight.* float32\[2,2\]"):
                use()

    def test_a_leaf_with_the_layers_is_used(self) -> None:
        stack = ArrayStacked.of([block(0), block(1), block(2)])
        other = eqx.tree_at(lambda stack: stack.stacked.attn.weight, stack, 2 * jnp.ones((3, 2)))
        np.testing.assert_array_equal(other.fold(jnp.ones(2)), [8, 8])

    def test_a_stack_is_saved_and_loaded(self, tmp_path: Any) -> None:
        stack = ArrayStacked.of([block(0), block(1)])
        eqx.tree_serialise_leaves(tmp_path / "stack.eqx", stack)
        empty = eqx.filter_eval_shape(lambda: ArrayStacked.of([block(0), block(1)]))
        assert eqx.tree_equal(eqx.tree_deserialise_leaves(tmp_path / "stack.eqx", empty), stack, typematch=True)


@pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])
def test_layers_that_nobody_else_holds_are_gone_while_they_are_stacked(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[weakref.ref[Any]] = []
    alive: list[int] = []

    def stacked(columns: list[Any]) -> list[Any]:
        alive.append(sum(reference() is not None for reference in held))
        return stack_columns(columns)

    def layer(index: int) -> Block:
        made = block(index)
        held.append(weakref.ref(made))
        return made

    monkeypatch.setattr("scanify.nn.stacking.stack_columns", stacked)
    monkeypatch.setattr("scanify.nn.layer_store.stack_columns", stacked)
    stack = kind.of([layer(value) for value in range(5)])
    assert alive and alive[0] <= 1  # the last one is known to the loop that made them
    assert [float(one.attn.weight[0]) for one in stack] == [0, 1, 2, 3, 4]
    given = [layer(value) for value in range(3)]
    kind.of(given)
    assert len(given) == 3
