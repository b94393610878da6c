"""`per_layer`: the same numbers as the optimiser gives for the model with a list, whatever it looks at."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.nn import ArrayStacked, BlockSeq
from scanify.optim import label_tree, per_layer, weight_decay_mask
from tests.checkpoints.models import Model, listed, nested, with_layers

optax = pytest.importorskip("optax", reason="per_layer wraps optimisers of optax")


def _matrices(params: Any) -> Any:
    return jax.tree.map(lambda p: p.ndim > 1, params)


def _by_number(params: Any) -> Any:
    return label_tree(lambda path, leaf: "slow" if "layers[0]" in path or "layers[2]" in path else "fast", params)


# What looks at a leaf as a whole, each in its own way.
OPTIMISERS: dict[str, Callable[[], Any]] = {
    "adamw with a mask by rank": lambda: optax.adamw(1e-2, weight_decay=0.1, mask=_matrices),
    "lamb": lambda: optax.lamb(1e-2),
    "adafactor": lambda: optax.adafactor(1e-2, min_dim_size_to_factor=2),
    "a norm of each leaf": lambda: optax.chain(optax.clip_by_block_rms(0.1), optax.sgd(0.1)),
    "one norm of all": lambda: optax.chain(optax.clip_by_global_norm(0.1), optax.adam(1e-2)),
    "muon": lambda: optax.contrib.muon(1e-2),
    "a key for each leaf": lambda: optax.chain(optax.add_noise(0.1, 0.5, key=jax.random.key(3)), optax.sgd(0.1)),
    "a rate for some layers": lambda: optax.multi_transform(
        {"slow": optax.sgd(0.01), "fast": optax.adam(1e-2)}, _by_number
    ),
}


def arrays(model: Any) -> Any:
    return eqx.filter(model, eqx.is_inexact_array)


def trained(optimizer: Any, model: Any, steps: int = 3) -> tuple[Any, Any]:
    """Parameters and state after steps with gradients that are functions of the parameters, entry by entry."""
    params = arrays(model)

    @jax.jit
    def step(params: Any, state: Any, number: Any) -> Any:
        grads = jax.tree.map(lambda x: jnp.sin(3 * x + number).astype(x.dtype), params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    state = jax.jit(optimizer.init)(params)
    for number in range(steps):
        params, state = step(params, state, number)
    return params, state


def as_list(model: Model) -> list[Any]:
    return jax.tree.leaves((model.embed, list(model.layers), model.head))


def assert_close(one: list[Any], other: list[Any]) -> None:
    assert len(one) == len(other) > 0
    for a, b in zip(one, other, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert jnp.allclose(a.astype(float), b.astype(float), rtol=1e-6, atol=1e-6), (a, b)


SELDOM = ("one norm of all", "a key for each leaf")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.whole if name in SELDOM else ()) for name in OPTIMISERS]
)
@pytest.mark.parametrize(
    "kind", [ArrayStacked.of, pytest.param(BlockSeq.of, marks=pytest.mark.whole)], ids=["ArrayStacked", "BlockSeq"]
)
def test_three_steps_are_those_of_the_list(name: str, kind: Any) -> None:
    optimizer = OPTIMISERS[name]()
    expected, _ = trained(optimizer, listed())
    found, _ = trained(per_layer(optimizer), with_layers(listed(), kind))
    assert_close(as_list(found), as_list(expected))


@pytest.mark.parametrize("name", ["adafactor", "a norm of each leaf"])
@pytest.mark.whole
def test_without_it_they_are_others(name: str) -> None:
    """So that what is compared above is known to be told apart."""
    optimizer = OPTIMISERS[name]()
    expected, _ = trained(optimizer, listed())
    found, _ = trained(optimizer, with_layers(listed(), ArrayStacked.of))
    with pytest.raises(AssertionError):
        assert_close(as_list(found), as_list(expected))


@pytest.mark.whole
def test_stacks_within_stacks() -> None:
    optimizer = OPTIMISERS["lamb"]()
    expected, _ = trained(optimizer, nested(list))
    found, state = trained(per_layer(optimizer), nested(ArrayStacked.of))
    inner = [[jax.tree.leaves(list(outer.inner)), outer.bias] for outer in found.layers]
    assert_close(
        jax.tree.leaves((found.embed, inner, found.head)),
        jax.tree.leaves((expected.embed, expected.layers, expected.head)),
    )
    assert isinstance(state[0].mu.layers.stacked.inner, ArrayStacked)


def equations(name: str, count: int) -> int:
    params = arrays(with_layers(listed(count), ArrayStacked.of))
    optimizer = per_layer(OPTIMISERS[name]())
    state = jax.eval_shape(optimizer.init, params)
    jaxpr = jax.make_jaxpr(lambda *given: jax.tree.leaves(optimizer.update(*given)))(params, state, params)
    return str(jaxpr).count(" = ")


@pytest.mark.parametrize("name", ["adamw with a mask by rank", "lamb", "adafactor", "a norm of each leaf", "muon"])
def test_the_program_does_not_grow_with_the_layers(name: str) -> None:
    assert equations(name, 3) == equations(name, 6)


def test_what_is_computed_of_all_layers_grows() -> None:
    """So that the equations above are known to be counted."""
    assert equations("one norm of all", 3) < equations("one norm of all", 6)


def test_the_state_is_that_of_the_stack_where_layers_are_alike() -> None:
    stacked = arrays(with_layers(listed(), ArrayStacked.of))
    state = per_layer(optax.adam(1e-2)).init(stacked)
    assert eqx.tree_equal(state, optax.adam(1e-2).init(stacked), typematch=True)


def test_arguments_beside_the_parameters_reach_the_optimiser() -> None:
    def update(updates: Any, state: Any, params: Any = None, *, factor: Any, **others: Any) -> Any:
        return jax.tree.map(lambda u: u * factor, updates), state

    optimizer = per_layer(optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update))
    stacked = arrays(with_layers(listed(), ArrayStacked.of))
    updates, _ = jax.jit(lambda f: optimizer.update(stacked, optimizer.init(stacked), factor=f, more=1))(2.0)
    assert eqx.tree_equal(updates, jax.tree.map(lambda x: x * 2, stacked))


def test_layers_that_are_one_object_are_refused() -> None:
    one = eqx.nn.Linear(2, 2, key=jax.random.key(0))
    params = arrays(BlockSeq.of([one]).take([0, 0]))
    optimizer = per_layer(optax.sgd(0.1))
    with pytest.raises(ValueError, match="expected layers that have their own arrays; some of a BlockSeq share one"):
        optimizer.update(params, optimizer.init(params), params)


def test_an_optimiser_that_gives_another_structure_is_refused() -> None:
    wrong = optax.GradientTransformation(lambda params: 0.0, lambda u, s, p: ({"all": u}, s))
    params = arrays(with_layers(listed(), ArrayStacked.of))
    with pytest.raises(ValueError, match="expected the optimiser to give updates and a state of the structure"):
        per_layer(wrong).update(params, 0.0, params)


def test_optax_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install optax"):
        per_layer(optax.sgd(0.1))


@pytest.mark.parametrize("kind", [ArrayStacked.of, BlockSeq.of])
def test_a_mask_of_stacks_is_that_of_the_list(kind: Any) -> None:
    """Without `per_layer`: weight decay looks at each entry by itself."""
    expected, _ = trained(optax.adamw(1e-2, weight_decay=0.1, mask=_matrices), listed())
    optimizer = optax.adamw(1e-2, weight_decay=0.1, mask=weight_decay_mask)
    found, _ = trained(optimizer, with_layers(listed(), kind))
    assert_close(as_list(found), as_list(expected))
