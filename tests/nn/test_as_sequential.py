"""Called, a stack of layers is `equinox.nn.Sequential`: that one is the oracle of every test here."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq

D = 4
KEY = jr.key(7)
X = jnp.linspace(-1.0, 1.0, D)


class Block(eqx.Module):
    """Dropout between two maps: what a layer does with its key is seen in what it gives."""

    linear: eqx.nn.Linear
    dropout: eqx.nn.Dropout

    def __init__(self, key: Any, rate: float = 0.5, inference: bool = False) -> None:
        self.linear = eqx.nn.Linear(D, D, key=key)
        self.dropout = eqx.nn.Dropout(rate, inference=inference)

    def __call__(self, x: Any, *, key: Any = None) -> Any:
        return x + self.dropout(jnp.tanh(self.linear(x)), key=key)


class Counting(eqx.nn.StatefulLayer):
    """Adds up what it has seen, and gives its sum on: the state matters to the value."""

    scale: Any
    seen: eqx.nn.StateIndex

    def __init__(self, scale: float) -> None:
        self.scale = jnp.full((), scale)
        self.seen = eqx.nn.StateIndex(jnp.zeros(()))

    def __call__(self, x: Any, state: Any, *, key: Any = None) -> Any:
        seen = state.get(self.seen) + x.sum()
        noise = 0.0 if key is None else jr.normal(key, x.shape)
        return x * self.scale + 0.1 * seen + noise, state.set(self.seen, seen)


class Maybe(eqx.nn.StatefulLayer):
    """Stateful or not, as a field says."""

    inner: Any
    stateful: bool = eqx.field(static=True)

    def is_stateful(self) -> bool:
        return self.stateful

    def __call__(self, x: Any, state: Any = None, *, key: Any = None) -> Any:
        return self.inner(x, state, key=key) if self.stateful else x * 2


class Keyless(eqx.Module):
    scale: Any

    def __call__(self, x: Any, *, key: Any = 0) -> Any:
        assert key is None
        return x * self.scale


def blocks(n: int, **given: Any) -> list[Any]:
    return [Block(k, **given) for k in jr.split(jr.key(0), n)]


def close(one: Any, other: Any) -> None:
    """The same structure, dtypes and values, those up to the rounding of another program."""
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for mine, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=2e-6, atol=2e-6)


EQUAL: dict[str, Callable[[], list[Any]]] = {
    "five blocks": lambda: blocks(5),
    "one block": lambda: blocks(1),
}
UNEQUAL: dict[str, Callable[[], list[Any]]] = {
    "rates that grow": lambda: [Block(k, 0.1 * i) for i, k in enumerate(jr.split(jr.key(0), 4))],
    "functions made anew": lambda: [
        layer
        for k in jr.split(jr.key(0), 3)
        for layer in (eqx.nn.Linear(D, D, key=k), eqx.nn.Lambda(lambda x: jnp.tanh(x)))
    ],
    "shapes that change": lambda: [eqx.nn.Linear(n, n + 1, key=KEY) for n in range(D, D + 3)],
    "one layer many times": lambda: blocks(1) * 3,
    "sequences and stacks of blocks": lambda: [
        *(of(blocks(2)) for of in (eqx.nn.Sequential, ArrayStacked.of) for _ in range(2))
    ],
}


def pairs() -> list[Any]:
    both = [(name, make, of) for name, make in EQUAL.items() for of in (ArrayStacked.of, BlockSeq.of)]
    found = [*both, *((name, make, BlockSeq.of) for name, make in UNEQUAL.items())]
    return [pytest.param(make, of, id=f"{of.__qualname__}: {name}") for name, make, of in found]


@pytest.mark.parametrize(("make", "of"), pairs())
def test_values_and_gradients_are_those_of_a_sequential(make: Any, of: Any) -> None:
    @eqx.filter_jit
    @eqx.filter_value_and_grad(has_aux=True)
    def loss(given: Any) -> Any:
        model, x = given
        y = model(x, key=KEY)
        return (y**2).sum(), y

    layers = make()
    once = list({id(layer): layer for layer in layers}.values())  # a `BlockSeq` keeps a layer once
    assert _count(of(layers)) == _count(once)
    (_, want), (theirs, at_x) = loss((eqx.nn.Sequential(layers), X))
    (_, got), (mine, at_our_x) = loss((of(layers), X))
    close((got, at_our_x), (want, at_x))
    if len(once) == len(layers):
        close(*(jax.tree.leaves(eqx.filter(list(model), eqx.is_array)) for model in (mine, theirs)))


@pytest.mark.parametrize("of", [ArrayStacked.of, BlockSeq.of], ids=lambda of: of.__qualname__)
def test_without_a_key_every_layer_is_given_none(of: Any) -> None:
    layers = [Keyless(jnp.full((), 1.5 + i)) for i in range(3)]
    close(of(layers)(X), eqx.nn.Sequential(layers)(X))
    with pytest.raises(AssertionError):
        of(layers)(X, key=KEY)


@pytest.mark.parametrize("of", [ArrayStacked.of, BlockSeq.of], ids=lambda of: of.__qualname__)
def test_inference_mode_reaches_the_layers(of: Any) -> None:
    layers = blocks(3)
    close(eqx.nn.inference_mode(of(layers))(X), eqx.nn.inference_mode(eqx.nn.Sequential(layers))(X))


def _count(tree: Any) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array)))


@pytest.mark.parametrize("of", [ArrayStacked.of, BlockSeq.of], ids=lambda of: of.__qualname__)
def test_under_vmap_each_example_has_its_own_key(of: Any) -> None:
    layers, keys, xs = blocks(3), jr.split(KEY, 5), jnp.stack([X * i for i in range(5)])
    mine, theirs = of(layers), eqx.nn.Sequential(layers)
    each = [jax.jit(jax.vmap(lambda x, k, model=model: model(x, key=k))) for model in (mine, theirs)]
    close(*(one(xs, keys) for one in each))


# -- state ------------------------------------------------------------------------------------------------------------

STATEFUL: dict[str, Callable[[], list[Any]]] = {
    "all are": lambda: [Counting(1 + 0.1 * i) for i in range(4)],
    "some are": lambda: [*blocks(2), Counting(1.1), Counting(1.2), *blocks(1)],
    "one by a field": lambda: [Maybe(Counting(1.1), True), Maybe(Counting(1.2), False)],
    "none is": lambda: blocks(3),
    "a sequence of them is one": lambda: [eqx.nn.Sequential([Counting(1.1 + i), *blocks(1)]) for i in range(3)],
    "batch norms": lambda: [eqx.nn.BatchNorm(D, "batch", mode="batch") for _ in range(3)],
}


def run(make: Any, of: Any, key: Any) -> Any:
    """Outputs and state after two batches, and what the sequence says of itself."""
    model, state = eqx.nn.make_with_state(lambda: of(make()))()

    @eqx.filter_jit
    @functools.partial(eqx.filter_vmap, in_axes=(0, None), out_axes=(0, None), axis_name="batch")
    def batch(x: Any, state: Any) -> Any:
        return model(x, state, key=key)

    ys = []
    for x in (jnp.stack([X, X**2, X + 1]), jnp.stack([X, X, X * 2])):
        if not isinstance(model[0], eqx.nn.BatchNorm):
            y, state = eqx.filter_jit(model)(x[0], state, key=key)
        else:
            y, state = batch(x, state)
        ys.append(y)
    return ys, jax.tree.leaves(state), model.is_stateful()


@pytest.mark.parametrize("make", STATEFUL.values(), ids=STATEFUL)
def test_state_goes_through_the_layers_that_are_stateful(make: Any) -> None:
    mine, theirs = run(make, BlockSeq.of, KEY), run(make, eqx.nn.Sequential, KEY)
    assert mine[2] == theirs[2]
    close(mine[:2], theirs[:2])


def test_state_goes_through_the_layers_without_a_key() -> None:
    make = STATEFUL["all are"]
    close(run(make, BlockSeq.of, None)[:2], run(make, eqx.nn.Sequential, None)[:2])


def test_a_state_that_no_layer_reads_comes_back_beside_the_value() -> None:
    _, state = eqx.nn.make_with_state(Counting)(1.0)
    y, same = ArrayStacked.of(blocks(2, inference=True))(X, state)
    assert same is state
    close(y, eqx.nn.Sequential(blocks(2, inference=True))(X, state)[0])


def test_stateful_layers_that_hold_no_index_share_the_state_in_a_stack() -> None:
    class Noting(eqx.nn.StatefulLayer):
        w: Any

        def __call__(self, x: Any, state: Any, *, key: Any = None) -> Any:
            return x * self.w + state, state + x.sum()

    layers = [Noting(jnp.full((), 1.0 + i)) for i in range(4)]
    close(ArrayStacked.of(layers)(X, jnp.full((), 0.5)), eqx.nn.Sequential(layers)(X, jnp.full((), 0.5)))
    close(BlockSeq.of(layers)(X, jnp.full((), 0.5)), eqx.nn.Sequential(layers)(X, jnp.full((), 0.5)))


@pytest.mark.parametrize("of", [BlockSeq.of, ArrayStacked.of], ids=lambda of: of.__qualname__)
def test_inside_of_a_sequential_it_is_the_sequential_it_stands_for(of: Any) -> None:
    def model(inner: Any) -> Any:
        middle = [Counting(1.1), Counting(1.2)] if of is BlockSeq.of else blocks(2)
        return eqx.nn.Sequential([*blocks(1), inner(middle), eqx.nn.Sequential([inner(blocks(3))])])

    mine, state = eqx.nn.make_with_state(model)(of)
    theirs, their_state = eqx.nn.make_with_state(model)(eqx.nn.Sequential)
    assert mine.is_stateful() == theirs.is_stateful() == (of is BlockSeq.of)
    if of is BlockSeq.of:
        y, state = eqx.filter_jit(mine)(X, state, key=KEY)
        want, their_state = eqx.filter_jit(theirs)(X, their_state, key=KEY)
        close((y, jax.tree.leaves(state)), (want, jax.tree.leaves(their_state)))
    else:
        close(eqx.filter_jit(mine)(X, key=KEY), eqx.filter_jit(theirs)(X, key=KEY))


# -- errors, and the size of the program ------------------------------------------------------------------------------

WRONG: dict[str, tuple[Callable[[], list[Any]], Callable[[Any], Any]]] = {
    "a stateful layer is given no state": (lambda: [Counting(1.0) for _ in range(3)], lambda model: model(X)),
    "a nested sequence is given no state": (
        lambda: [eqx.nn.Sequential([Counting(1.0)]) for _ in range(3)],
        lambda model: model(X),
    ),
    "dropout in training is given no key": (lambda: blocks(3), lambda model: model(X)),
    "a layer takes no key": (lambda: [Unkeyed() for _ in range(3)], lambda model: model(X)),
    "the key is no key": (lambda: blocks(3), lambda model: model(X, key="key")),
    "there is an argument too many": (lambda: blocks(3), lambda model: model(X, None, KEY)),
}


class Unkeyed(eqx.Module):
    def __call__(self, x: Any) -> Any:
        return x


@pytest.mark.parametrize(("make", "call"), WRONG.values(), ids=WRONG)
def test_what_is_an_error_of_a_sequential_is_the_same_error(make: Any, call: Any) -> None:
    layers = make()
    with pytest.raises(Exception) as theirs:  # whatever it is
        call(eqx.nn.Sequential(layers))
    with pytest.raises(theirs.type) as ours:
        call(BlockSeq.of(layers))
    plain = str(theirs.value).replace("Sequential", "LayerSequence")
    assert str(ours.value) == plain


@pytest.mark.parametrize("of", [ArrayStacked.of, BlockSeq.of], ids=lambda of: of.__qualname__)
def test_the_program_does_not_grow_with_the_number_of_equal_layers(of: Any) -> None:
    def equations(n: int) -> int:
        model = of(blocks(n))
        return str(jax.make_jaxpr(lambda x, k: model(x, key=k))(X, KEY)).count("=")

    assert equations(20) == equations(3)


def test_the_program_does_not_grow_with_the_number_of_functions_made_anew() -> None:
    def scans(n: int) -> tuple[int, int]:
        layers = [layer for b in blocks(n) for layer in (b, eqx.nn.Lambda(lambda x: jnp.sin(x)))]
        model = BlockSeq.of(layers)
        text = str(jax.make_jaxpr(lambda x, k: model(x, key=k))(X, KEY))
        return text.count("scan["), text.count(" sin ")

    assert scans(8) == scans(3) == (1, 1)


def test_asking_whether_it_is_stateful_adds_nothing_to_a_program() -> None:
    for model in (ArrayStacked.of(blocks(3)), BlockSeq.of(blocks(3))):
        arrays, static = eqx.partition(model, eqx.is_array)

        def ask(arrays: Any, static: Any = static) -> list[Any]:
            assert not eqx.combine(arrays, static).is_stateful()
            return []

        assert not jax.make_jaxpr(ask)(arrays).eqns
