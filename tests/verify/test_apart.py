"""An original that holds stacks against a version that holds lists: the stacks are taken apart, layer by layer."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq
from scanify.verify.leaves.apart import apart, turned
from scanify.verify.leaves.correspond import Recipe
from scanify.verify.verdict import Status
from tests.verify.loop_model import LIST, LOOP, PROVED, REWRITE, SOURCE, statuses

REWRITTEN = SOURCE
for _old, _new in REWRITE.items():
    REWRITTEN = REWRITTEN.replace(_old, _new)
BACK = {new: old for old, new in REWRITE.items()}
SEQUENCE = SOURCE.replace("import ArrayStacked", "import BlockSeq").replace(LIST, f"BlockSeq.of({LIST})")
# A stack made by hand, and the list of the same layers.
BY_HAND = SOURCE.replace("ArrayStacked", "fold").replace(
    LIST, "eqx.filter_vmap(lambda k: Block(width, rates[0], key=k))(jax.random.split(key, n))"
)
BY_HAND = BY_HAND.replace(
    LOOP,
    """        arrays, rest = eqx.partition(self.layers, eqx.is_array)

        def body(x, each):
            return eqx.combine(each[0], rest)(x, mask, each[1]), None

        x = jax.lax.scan(body, x, (arrays, keys))[0]
""",
).replace("class Model(eqx.Module):\n    layers: list[Block]", "class Model(eqx.Module):\n    layers: Block")
_MADE = "eqx.filter_vmap(lambda k: Block(width, rates[0], key=k))(jax.random.split(key, n))"
_START = BY_HAND.index("        arrays, rest")
LOOPED = {_MADE: LIST, BY_HAND[_START : BY_HAND.index("        x = x * self.norm")]: LOOP}

SOURCES = {
    "a stack": (REWRITTEN, BACK),
    "a sequence": (SEQUENCE, {f"BlockSeq.of({LIST})": LIST}),
    "a stack by hand": (BY_HAND, LOOPED),
}


@pytest.mark.parametrize("abstract", [False, True], ids=["concrete", "abstract"])
@pytest.mark.parametrize("name", SOURCES)
def test_a_stack_that_becomes_a_list_is_proved(compare, name, abstract):
    source, changes = SOURCES[name]
    result = compare(changes, source=source, policies=(None,), requested=None, abstract=abstract)
    assert statuses(result) == PROVED and result.good
    assert {result.parameters.status, result.tangents.status, result.batched.status} == {Status.PROVED}


@pytest.mark.parametrize("name", SOURCES)
def test_a_list_of_the_layers_in_another_order_fails(compare, name):
    source, changes = SOURCES[name]
    changes = {
        old: new.replace("jax.random.split(key, n)", "jax.random.split(key, n)[::-1]") for old, new in changes.items()
    }
    result = compare(changes, source=source, policies=(None,), requested=None)
    assert not result.good
    # By hand leaves are matched by their values, so it is the outputs that differ.
    failed = result.policies[0].outputs if name == "a stack by hand" else result.parameters
    assert failed.status is Status.FAILED


def test_a_list_of_layers_that_compute_something_else_fails(compare):
    source, changes = SOURCES["a stack"]
    result = compare({**changes, "jnp.tanh": "jnp.sin"}, source=source, policies=(None,), requested=None)
    assert not result.good and result.policies[0].outputs.status is Status.FAILED


class Inner(eqx.Module):
    w: jax.Array


class Outer(eqx.Module):
    inner: object
    b: jax.Array


def outer(i, wrap):
    return Outer(wrap([Inner(jnp.full((2,), 10.0 * i + j)) for j in range(2)]), jnp.full((), float(i)))


@pytest.mark.parametrize("wrap", [list, ArrayStacked.of], ids=["all lists", "lists of stacks"])
def test_stacks_in_stacks_are_taken_apart_in_order(wrap):
    before = ArrayStacked.of([outer(i, ArrayStacked.of) for i in range(3)])
    found = apart(before, [outer(i, wrap) for i in range(3)])
    assert found is not None
    b, w = sorted(found.before, key=lambda recipe: len(recipe.lead))
    assert (b.lead, w.lead) == ((3,), (3, 2))
    assert [found.names[i] for i in b.sources] == ["[0].b", "[1].b", "[2].b"]
    assert [found.names[i] for i in w.sources][:3] == ["[0].inner[0].w", "[0].inner[1].w", "[1].inner[0].w"]


def test_layers_of_several_kinds_are_taken_apart():
    layers = [Inner(jnp.zeros(2)), Outer(None, jnp.zeros(())), Inner(jnp.ones(2))]
    found = apart(BlockSeq.of(layers), layers)
    assert found is not None and {recipe.lead for recipe in found.before} == {(2,), (1,)}
    assert sorted(found.names) == ["[0].w", "[1].b", "[2].w"]


def test_what_holds_no_stack_or_other_layers_is_not_taken_apart():
    layers = [Inner(jnp.zeros(2)), Inner(jnp.ones(2))]
    assert apart(layers, layers[:1]) is None
    assert apart(ArrayStacked.of(layers), [*layers, layers[0]]) is None
    assert apart(ArrayStacked.of(layers), [Inner(jnp.zeros(3)), Inner(jnp.zeros(3))]) is None
    assert turned(Inner(jnp.zeros((2, 3))), [Inner(jnp.zeros(2)), Inner(jnp.zeros(2))]) is None


def test_a_stack_by_hand_is_made_of_the_leaves_of_the_list():
    values = np.arange(6.0).reshape(3, 2)
    found = turned(Inner(jnp.asarray(values)), [Inner(jnp.asarray(row)) for row in values])
    assert found is not None and found.before == (Recipe((0, 1, 2), (3,)),)
    assert found.matched == (("[0..2].w", "w"),) and found.names == ("[0].w", "[1].w", "[2].w")
