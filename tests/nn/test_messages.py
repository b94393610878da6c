"""Messages name what there is, and what to write."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq, from_state_dict, to_state_dict


class Layer(eqx.Module):
    w: jax.Array
    static: Any = eqx.field(static=True, default=None)

    def __call__(self, x: Any, *, key: Any = None) -> Any:
        return x * self.w


def layers(*static: Any) -> list[Layer]:
    return [Layer(jnp.float32(i), one) for i, one in enumerate(static or (None, None, None))]


def refusal(layers: Any, error: Any = ValueError) -> str:
    with pytest.raises(error) as caught:
        ArrayStacked.of(layers)
    return str(caught.value)


@pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])
@pytest.mark.parametrize("key", [jr.PRNGKey(0), jr.key(0)], ids=["raw", "typed"])
def test_one_key_for_all_layers_is_to_be_split(kind: Any, key: Any) -> None:
    with pytest.raises(ValueError, match=r"jax.random.split\(key, 3\)") as caught:
        kind.of(layers()).fold_via(lambda layer, x, key: layer(x, key=key), in_axes=0)(1.0, key)
    assert "None" not in str(caught.value)


def test_what_array_stacked_does_not_take_names_what_does() -> None:
    one = layers()[0]
    for text in (refusal(layers("a", "b")), refusal([one, jnp.sin], TypeError)):
        assert "BlockSeq" in text
    assert "apply one layer in a loop" in refusal([one, one])


def test_a_marker_of_a_state_is_told_in_words() -> None:
    text = refusal([eqx.nn.BatchNorm(2, "batch", mode="batch") for _ in range(2)])
    assert "a marker that was made for one layer" in text
    assert "<object object" not in text
    assert "BlockSeq" in text


@pytest.mark.filterwarnings("ignore:A JAX array is being set as static")
def test_two_values_that_differ_are_shown() -> None:
    tables = [np.array([1.0, 2.0]), np.array([1.0, 3.0])]
    assert "float64[2] with 2.0 at [1] and with 3.0 there" in refusal(layers(*tables))
    long = "x" * 80
    text = refusal(layers(long + "one", long + "two"))
    assert "one'" in text
    assert "two'" in text


def test_a_state_dict_with_another_prefix_shows_those_that_are_there() -> None:
    stack = ArrayStacked.of(layers())
    with pytest.raises(ValueError, match=r"No name begins with 'model.layers'; they begin with 'net.blocks'"):
        from_state_dict(stack, to_state_dict(stack, "net.blocks"), "model.layers")
    with pytest.raises(ValueError, match="The state dict is empty"):
        from_state_dict(stack, {}, "layers")


@pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])
def test_an_unknown_policy_is_refused_at_once(kind: Any) -> None:
    with pytest.raises(ValueError, match="got 'nestd'"):
        kind.of(layers(), gradient_checkpointing="nestd")
    with pytest.raises(ValueError, match="got 'nestd'"):
        BlockSeq((), (), (), (), "nestd")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])
def test_a_layer_is_no_place_in_the_tree_of_a_stack(kind: Any) -> None:
    with pytest.raises(ValueError, match="with_layer"):
        eqx.tree_at(lambda model: model["layers"][1], {"layers": kind.of(layers())}, layers()[0])


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda layer, carry, mask, scale: bool(layer.w > 0), "layer.w"),
        (lambda layer, carry, mask, scale: range(carry["a"][0]), r"carry\['a'\]\[0\]"),
        (lambda layer, carry, mask, scale: np.asarray(mask), r"args\[0\]"),
        (lambda layer, carry, mask, scale: float(carry["b"] * scale), r"carry\['b'\] and kwargs\['scale'\]"),
    ],
    ids=["a layer", "a carry", "an argument", "two"],
)
def test_an_error_of_a_layer_names_the_arrays_that_it_speaks_of(ask: Any, named: str) -> None:
    def apply(layer: Any, carry: Any, mask: Any, *, scale: Any) -> Any:
        ask(layer, carry, mask, scale)
        return carry

    axes = ((0,), {"scale": 0})
    carry = {"a": [jnp.int32(1)], "b": jnp.float32(2)}
    with pytest.raises(jax.errors.JAXTypeError, match=named) as caught:
        BlockSeq.of(layers()).fold_via(apply, in_axes=axes)(carry, jnp.ones((3, 2)), scale=jnp.arange(3.0))
    assert caught.value.__context__ is None
