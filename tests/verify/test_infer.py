"""Versions written by hand: which leaves of the original make up theirs, by value, by place, by name."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanify.verify.cases.build import Built
from scanify.verify.leaves.correspond import Correspondence, Mismatch, Recipe
from scanify.verify.leaves.infer import infer
from scanify.verify.programs.pair import pair
from scanify.verify.programs.trace import version

KEY = jax.random.key(0)


class Block(eqx.Module):
    w: jax.Array
    b: jax.Array

    def __init__(self, key: jax.Array) -> None:
        self.w = jax.random.normal(key, (3, 3))
        self.b = jnp.zeros(3)

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.tanh(self.w @ x + self.b)


class Loop(eqx.Module):
    embed: jax.Array
    layers: list[Block]
    head: eqx.nn.Linear

    def __init__(self, key: jax.Array, n: int = 4) -> None:
        first, second, third = jax.random.split(key, 3)
        self.embed = jax.random.normal(first, (3, 3))
        self.layers = [Block(k) for k in jax.random.split(second, n)]
        self.head = eqx.nn.Linear(3, 3, key=third)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = self.embed @ x
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Weights(NamedTuple):
    w: jax.Array
    b: jax.Array


class Scan(eqx.Module):
    """`stack` is anything that holds the stacked arrays `w` and `b`."""

    embed: jax.Array
    stack: Any
    out: eqx.nn.Linear

    def __call__(self, x: jax.Array) -> jax.Array:
        def body(x: jax.Array, wb: Any) -> tuple[jax.Array, None]:
            return jnp.tanh(wb[0] @ x + wb[1]), None

        w, b = (jax.tree.leaves(self.stack)[i] for i in ((0, 1) if not isinstance(self.stack, dict) else (1, 0)))
        return self.out(jax.lax.scan(body, self.embed @ x, (w, b))[0])


def vmapped(key: jax.Array, n: int) -> Any:
    return eqx.filter_vmap(Block)(jax.random.split(key, n))


def named_tuple(key: jax.Array, n: int) -> Any:
    made = vmapped(key, n)
    return Weights(made.w, made.b)


def a_dict(key: jax.Array, n: int) -> Any:
    made = vmapped(key, n)
    return {"w": made.w, "bias": made.b}


FORMS = {"a vmapped init": vmapped, "a NamedTuple": named_tuple, "a dict": a_dict}


def scan(key: jax.Array, form: Any, n: int = 4) -> Scan:
    first, second, third = jax.random.split(key, 3)
    return Scan(jax.random.normal(first, (3, 3)), form(second, n), eqx.nn.Linear(3, 3, key=third))


def structs(tree: Any) -> Any:
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype) if eqx.is_array(x) else x, tree)


def found(before: Any, after: Any) -> Correspondence:
    answer = infer(before, after)
    assert isinstance(answer, Correspondence), answer
    return answer


def made(before: Any, after: Any, recipes: tuple[Recipe, ...]) -> None:
    """The recipes make the leaves of `after` of those of `before`, and take them apart again."""
    program = version(Built((after, (), {})), recipes)
    ours, theirs = ([x for x in jax.tree.leaves(tree) if eqx.is_array(x)] for tree in (after, before))
    for made, held in zip(program.own(theirs), ours, strict=True):
        np.testing.assert_array_equal(made, held)
    for apart, original in zip(program.split(ours), theirs, strict=True):
        np.testing.assert_array_equal(apart, original)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_stacks_of_every_form_are_found_with_renamed_fields(form: Any) -> None:
    before, after = Loop(KEY), scan(KEY, form)
    answer = found(before, after)
    made(before, after, answer.recipes)
    assert answer.stacks == (4,)
    assert answer.names[1] == "layers[0].w" and answer.layers[:3] == (None, 0, 0)
    assert ("out.weight", "head.weight") in answer.matched
    assert "layers[0..3].w" in dict(answer.matched).values()


@pytest.mark.parametrize(
    ("matched", "said"),
    [
        ([("a.w", "a.w")], None),
        ([("s.x.w", "l[0..3].w"), ("s.x.b", "l[0..3].b"), ("o", "h")], "s.x is l[0..3], o is h"),
        ([("s.w", "l[0..3].w"), ("s.b", "m[0..3].b")], "s.w is l[0..3].w, s.b is m[0..3].b"),
        (
            [(f"a{i}", f"b{i}") for i in range(8)],
            "a0 is b0, a1 is b1, a2 is b2, a3 is b3, a4 is b4, a5 is b5 and 2 more",
        ),
    ],
    ids=["the same names", "parts", "a part of two parts", "many"],
)
def test_the_report_says_what_was_taken_for_what(matched: list[tuple[str, str]], said: str | None) -> None:
    answer = Correspondence((), (), (), matched=tuple(matched))
    assert answer.notes == (
        () if said is None else (f"the parameters were matched leaf by leaf: {said} of the original",)
    )


@pytest.mark.parametrize("form", [vmapped, named_tuple], ids=["a vmapped init", "a NamedTuple"])
def test_without_values_names_and_shapes_tell(form: Any) -> None:
    before, after = Loop(KEY), scan(KEY, form)
    answer = found(structs(before), structs(after))
    made(before, after, answer.recipes)


def test_values_win_where_names_are_swapped() -> None:
    a, b = jax.random.normal(KEY, (2, 5))
    assert found({"p": a, "q": b}, {"q": a, "p": b}).recipes == (Recipe((1,)), Recipe((0,)))


def test_zeros_are_told_apart_by_what_lies_beside_them() -> None:
    w = jax.random.normal(KEY, (2, 3))
    before = {"one": {"w": w[0], "b": jnp.zeros(3)}, "two": {"w": w[1], "b": jnp.zeros(3)}}
    after = {"second": {"w": w[1], "b": jnp.zeros(3)}, "first": {"w": w[0], "b": jnp.zeros(3)}}
    answer = found(before, after)
    assert dict(answer.matched) == {
        "['first']['b']": "['one']['b']",
        "['first']['w']": "['one']['w']",
        "['second']['b']": "['two']['b']",
        "['second']['w']": "['two']['w']",
    }


def test_a_peeled_layer_and_the_rest_of_the_list_are_found_by_their_values() -> None:
    before = {"layers": [Block(k) for k in jax.random.split(KEY, 4)]}
    rest = jax.tree.map(lambda *xs: jnp.stack(xs), *before["layers"][1:])
    after = {"first": before["layers"][0], "rest": rest}
    answer = found(before, after)
    made(before, after, answer.recipes)
    assert dict(answer.matched)["['rest'].b"] == "['layers'][1..3].b"


def test_two_stacks_of_every_other_layer_are_found_by_their_values() -> None:
    layers = [Block(k) for k in jax.random.split(KEY, 6)]
    even, odd = (jax.tree.map(lambda *xs: jnp.stack(xs), *layers[at::2]) for at in (0, 1))
    answer = found(layers, {"local": even, "globals": odd})
    made(layers, {"local": even, "globals": odd}, answer.recipes)


def test_a_stack_of_stacks_is_found() -> None:
    nested = [{"experts": [Block(k) for k in jax.random.split(key, 2)]} for key in jax.random.split(KEY, 3)]
    rows = [jax.tree.map(lambda *xs: jnp.stack(xs), *layer["experts"]) for layer in nested]
    stacked = {"experts": jax.tree.map(lambda *xs: jnp.stack(xs), *rows)}
    for before, after in ((nested, stacked), (structs(nested), structs(stacked))):
        recipes = found(before, after).recipes
        assert [recipe.lead for recipe in recipes] == [(3, 2), (3, 2)]
        made(nested, stacked, recipes)


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(4)), st.integers(0, 3))
def test_any_order_of_layers_is_taken_apart_as_it_was_put_together(order: list[int], zeros: int) -> None:
    values = jax.random.normal(KEY, (4, 2))
    before = [{"w": values[i], "b": jnp.full(2, float(max(i, zeros)))} for i in range(4)]
    after = {name: jnp.stack([before[i][name] for i in order]) for name in ("w", "b")}
    made(before, after, found(before, after).recipes)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            {"a": jnp.ones(3)},
            {"b": jnp.ones(4)},
            "['b'] (float32[4]) of the rewritten model and ['a'] (float32[3]) of the original model",
        ),
        (
            {"a": jnp.ones(3), "b": jnp.ones(2)},
            {"a": jnp.ones(3)},
            "no counterpart was found for ['b'] (float32[2]) of the original",
        ),
        ([jnp.ones(3)] * 4, jnp.ones((3, 3)), "[0..3] (float32[3]) of the original model"),
        (
            {"a": jnp.ones(3), "b": jnp.ones(3)},
            {"x": jnp.ones(3), "y": jnp.ones(3)},
            "['x'] (float32[3]), ['y'] (float32[3]) of the rewritten",
        ),
        ({"a": jnp.ones((2, 3))}, {"a": jnp.ones((3, 2))}, "of the rewritten"),
        ({"a": jnp.ones(3)}, {"a": jnp.ones(3, jnp.int32)}, "of the rewritten"),
    ],
    ids=["other shapes", "a leaf too few", "a layer too few", "two alike", "transposed", "another dtype"],
)
def test_leaves_without_a_counterpart_are_named(before: Any, after: Any, message: str) -> None:
    answer = infer(before, after)
    assert isinstance(answer, str) and message in answer


def test_many_leaves_without_a_counterpart_are_not_all_named() -> None:
    answer = infer([jnp.ones(n) for n in range(20)], {})
    assert isinstance(answer, str) and "and 16 more of the original" in answer
    assert "mapping = {'stack.w': 'layers[*].w'}" in answer


def both(before: Any, after: Any, mapping: Any = None) -> Any:
    x = jnp.arange(3.0)
    return pair(Built((before, (x,), {})), Built((after, (x,), {}), mapping=mapping))


def test_the_pair_calls_both_versions_with_the_same_leaves() -> None:
    before, after = Loop(KEY), scan(KEY, vmapped)
    answer = both(before, after)
    assert answer.found.names[-1] == "x" and answer.inputs == (len(answer.leaves) - 1,)
    # Whole numbers, of which `tanh` makes -1, 0 and 1: then no program rounds, in whatever order it adds up.
    leaves = [jnp.round(4 * leaf) * 16 for leaf in answer.leaves]
    outputs = [program.call(program.own(leaves)) for program in (answer.before, answer.after)]
    np.testing.assert_array_equal(*outputs)
    swapped = [*answer.leaves[1::-1], *answer.leaves[2:]]
    both_ways = [answer.after.call(answer.after.own(each)) for each in (answer.leaves, swapped)]
    assert not np.allclose(*both_ways, rtol=1e-3)


def test_where_leaves_do_not_match_the_structures_are_told_first() -> None:
    answer = both(Loop(KEY), scan(KEY, vmapped, n=3))
    assert isinstance(answer, Mismatch)
    assert str(answer).startswith("the model: a Loop in the original, a Scan in the rewritten version; leaf by leaf, ")
    assert "layers[" in str(answer)


def test_an_argument_is_never_taken_for_a_parameter() -> None:
    """The input has the bits of the parameter: what is matched by value is matched among the parameters alone."""

    class Plain(eqx.Module):
        a: jax.Array

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.a * x

    class Renamed(eqx.Module):
        b: jax.Array

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.b * x

    answer = both(Plain(jnp.arange(3.0)), Renamed(jnp.arange(3.0)))
    assert [recipe.sources for recipe in answer.found.recipes] == [(0,), (1,)]
    assert answer.inputs == (1,)
