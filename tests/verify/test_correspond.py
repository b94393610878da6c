"""Which leaves of the original make up the leaves of the rewritten version."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanify.nn import ArrayStacked
from scanify.verify.cases.build import Built
from scanify.verify.leaves.correspond import Correspondence, Mismatch, Recipe, correspond
from scanify.verify.programs.trace import version

SOURCE = """
import enum
import functools
import equinox as eqx
import jax
import jax.numpy as jnp


class Kind(enum.Enum):
    LOCAL = 1
    GLOBAL = 2


class Rate:
    def __init__(self, value):
        self.value = value


class Block(eqx.Module):
    w: jax.Array
    b: jax.Array | None
    p: float = eqx.field(static=True, default=0.1)
    act: object = jax.nn.relu
    extra: object = None


class Model(eqx.Module):
    head: jax.Array
    layers: object
    tail: object = None


def helper(x):
    return x + 1
"""


@pytest.fixture
def two(load_twice):
    return load_twice(SOURCE, {})


def blocks(module, n, **fields):
    return [module.Block(jnp.full((2,), float(i)), jnp.zeros(()), **fields) for i in range(n)]


def stack(layers):
    """As a rewritten module holds it, whatever the fields of the layers are."""
    arrays = [eqx.filter(layer, eqx.is_array) for layer in layers]
    stacked = jax.tree.map(lambda *xs: jnp.stack(xs), *arrays)
    return ArrayStacked(eqx.combine(stacked, layers[0]), len(layers), True)


def match(before, after) -> Correspondence:
    found = correspond(before, after)
    assert isinstance(found, Correspondence), found
    return found


def part(before, after) -> str:
    found = correspond(before, after)
    assert isinstance(found, Mismatch), found
    return str(found)


def test_a_stack_is_made_of_the_leaves_of_all_layers_in_order(two):
    found = match(
        two.before.Model(jnp.ones(3), blocks(two.before, 3)), two.after.Model(jnp.ones(3), stack(blocks(two.after, 3)))
    )
    assert found.names == (
        "head", "layers[0].w", "layers[0].b", "layers[1].w", "layers[1].b", "layers[2].w", "layers[2].b"
    )  # fmt: skip
    assert found.layers == (None, 0, 0, 1, 1, 2, 2)
    assert found.recipes == (Recipe((0,)), Recipe((1, 3, 5), (3,)), Recipe((2, 4, 6), (3,)))
    assert found.stacks == (3,)
    assert found.statics == ()


def test_a_list_that_stays_a_list_corresponds_leaf_by_leaf(two):
    models = [module.Model(jnp.ones(3), blocks(module, 2)) for module in (two.before, two.after)]
    found = match(*models)
    assert found.recipes == tuple(Recipe((i,)) for i in range(5))
    assert found.layers == (None, 0, 0, 1, 1)
    assert found.stacks == ()


@pytest.mark.parametrize("container", [tuple, eqx.nn.Sequential], ids=["a tuple", "a Sequential"])
def test_other_containers_of_layers_can_be_stacked(two, container):
    layers = [eqx.nn.Lambda(jax.nn.relu), eqx.nn.Lambda(jax.nn.relu)] if container is eqx.nn.Sequential else []
    layers = [eqx.nn.Linear(2, 2, key=jax.random.key(i)) for i in range(2)] if layers else blocks(two.before, 2)
    found = match(container(layers), stack(layers))
    assert found.recipes[0] == Recipe((0, 2), (2,))


def test_a_dict_of_layers_is_taken_in_the_order_of_its_keys(two):
    one, other = blocks(two.before, 2)
    found = match({"b": one, "a": other}, stack(blocks(two.after, 2)))
    assert found.names[0] == "[0].w"
    assert found.recipes[0] == Recipe((0, 2), (2,))


def test_a_stack_inside_a_stack_is_a_stack_of_stacks(two):
    def model(module, wrap):
        inner = [module.Model(jnp.full((1,), float(i)), wrap(blocks(module, 2))) for i in range(3)]
        return module.Model(jnp.ones(3), wrap(inner))

    before, after = model(two.before, list), model(two.after, stack)
    found = match(before, after)
    assert Recipe(tuple(i for i, n in enumerate(found.names) if n.endswith(".w")), (3, 2)) in found.recipes
    assert set(found.layers) == {None, 0, 1, 2}
    built = [Built((tree, (), {})) for tree in (before, after)]
    program = version(built[1], match(built[0].tree, built[1].tree).recipes)
    for made, held in zip(program.own(built[0].arrays), built[1].arrays, strict=True):
        assert jnp.array_equal(made, held)
    for apart, original in zip(program.split(built[1].arrays), built[0].arrays, strict=True):
        assert jnp.array_equal(apart, original)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 4),
    st.recursive(
        st.sampled_from([(), (2,), (1, 3)]),
        lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
        max_leaves=6,
    ),
)
def test_taking_a_stack_apart_undoes_stacking(length, shapes):
    class Layer(eqx.Module):
        content: object

    numbers = iter(range(10_000))

    def filled(shape):
        return jnp.full(shape, float(next(numbers)))

    layers = [Layer(jax.tree.map(filled, shapes, is_leaf=lambda s: isinstance(s, tuple))) for _ in range(length)]
    before, after = Built((layers, (), {})), Built((stack(layers), (), {}))
    program = version(after, match(before.tree, after.tree).recipes)
    for made, held in zip(program.own(before.arrays), after.arrays, strict=True):
        assert jnp.array_equal(made, held)
    for apart, original in zip(program.split(after.arrays), before.arrays, strict=True):
        assert jnp.array_equal(apart, original)


def test_another_number_of_layers_is_a_mismatch(two):
    original = two.before.Model(jnp.ones(1), blocks(two.before, 4))
    text = part(original, two.after.Model(jnp.ones(1), stack(blocks(two.after, 3))))
    assert text == "layers: 4 layers in the original, a stack of 3 in the rewritten version"


def test_another_shape_is_a_mismatch_that_names_the_leaf_of_the_layer(two):
    narrow = [two.after.Block(jnp.ones(5), jnp.zeros(())) for _ in range(2)]
    text = part(two.before.Model(jnp.ones(1), blocks(two.before, 2)), two.after.Model(jnp.ones(1), stack(narrow)))
    assert text.startswith("layers[0].w: expected float32[2, 2] (stacked 2)") and "float32[2, 5]" in text


def test_another_dtype_is_a_mismatch(two):
    assert "float32[3]" in part(two.before.Model(jnp.ones(3), ()), two.after.Model(jnp.ones(3, jnp.int32), ()))


def test_a_missing_array_is_a_mismatch(two):
    text = part([two.before.Block(jnp.ones(1), None)], [two.after.Block(jnp.ones(1), jnp.ones(()))])
    assert text == "[0].b: None in the original, float32[] in the rewritten version"


def test_another_class_is_a_mismatch(two):
    text = part(two.before.Model(jnp.ones(1), blocks(two.before, 1)), two.after.Model(jnp.ones(1), [eqx.nn.Identity()]))
    assert text == "layers[0]: a Block in the original, a Identity in the rewritten version"


def test_other_keys_are_a_mismatch():
    assert "['a']" in part({"a": jnp.ones(1)}, {"b": jnp.ones(1)})


def test_something_else_than_layers_cannot_be_a_stack(two):
    assert part(jnp.ones(3), stack(blocks(two.after, 2))).endswith("a stack of layers in the rewritten version")


def test_the_static_field_of_one_layer_is_told(two):
    layers = [two.before.Block(jnp.ones(1), None, p=p) for p in (0.0, 0.1, 0.0)]
    found = match(layers, stack([two.after.Block(jnp.ones(1), None, p=0.0) for _ in layers]))
    assert [str(s) for s in found.statics] == ["[1].p: 0.1 in the original, 0.0 in the rewritten version"]


@pytest.mark.parametrize(
    "value",
    [
        lambda m: m.helper,
        lambda m: m.Kind.LOCAL,
        lambda m: m.Rate(0.5),
        lambda m: m.Rate(m.Rate([m.Kind.GLOBAL])),
        lambda m: m.Block,
        lambda m: m.functools.partial(m.helper, 3),
        lambda m: eval("lambda x: x * 2", vars(m)),
        lambda m: float("nan"),
        lambda m: object(),
        lambda m: jnp.float32,
        lambda m: {"kind": m.Kind.LOCAL, "rates": (1, 2.0)},
        lambda m: frozenset({m.Kind.LOCAL, m.Kind.GLOBAL}),
        lambda m: np.float32("nan"),
    ],
    ids=[
        "a function", "an enum", "an object", "nested objects", "a class", "a partial", "a lambda", "a NaN",
        "a sentinel", "a dtype", "a dict", "a set", "a NaN of NumPy",
    ],
)  # fmt: skip
def test_a_module_loaded_twice_holds_equal_values(two, value):
    layers = [m.Block(jnp.ones(1), None, extra=value(m)) for m in (two.before, two.after)]
    assert match(*layers).statics == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda m: m.helper, lambda m: m.Block),
        (lambda m: m.Kind.LOCAL, lambda m: m.Kind.GLOBAL),
        (lambda m: m.Rate(0.5), lambda m: m.Rate(0.25)),
        (lambda m: m.functools.partial(m.helper, 3), lambda m: m.functools.partial(m.helper, 4)),
        (lambda m: eval("lambda x: x * 2", vars(m)), lambda m: eval("lambda x: x * 3", vars(m))),
        (lambda m: eval("lambda k: lambda x: k")(1), lambda m: eval("lambda k: lambda x: k")(2)),
        (lambda m: 0.0, lambda m: -0.0),
        (lambda m: 1, lambda m: True),
        (lambda m: 1, lambda m: 1.0),
        (lambda m: "a", lambda m: "b"),
        (lambda m: m.Kind, lambda m: m.Rate),
        (lambda m: frozenset({m.Kind.LOCAL, 1}), lambda m: frozenset({m.Kind.GLOBAL, 1})),
        (lambda m: np.float32(0.0), lambda m: np.float32(-0.0)),
        (lambda m: eval("lambda *, k=1: k", vars(m)), lambda m: eval("lambda *, k=2: k", vars(m))),
    ],
    ids=[
        "a function and a class", "enums", "objects", "partials", "lambdas of other code",
        "lambdas of other closures", "signed zeros", "an int and a bool", "an int and a float", "strings", "classes",
        "sets", "signed zeros of NumPy", "defaults by name",
    ],
)  # fmt: skip
def test_values_that_differ_are_told_apart(two, one, other):
    before, after = (m.Block(jnp.ones(1), None, extra=f(m)) for m, f in ((two.before, one), (two.after, other)))
    assert [s.path.startswith("extra") for s in match(before, after).statics] == [True]
