"""The mapping of parameters that a case gives: what its paths mean, and every way in which it can be wrong."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.errors import ScanifyError
from scanify.verify.cases.build import Built, build
from scanify.verify.cases.mapping import given_recipes
from scanify.verify.compare.compare import compare_case
from scanify.verify.leaves.correspond import Recipe
from scanify.verify.verdict import CaseResult, Status
from tests.verify.test_infer import KEY, Block, Loop, scan, vmapped


def layers(n: int = 4, width: int = 3) -> list[Any]:
    return [{"w": jnp.full((width,), float(i)), "b": jnp.zeros(2)} for i in range(n)]


BEFORE = {"layers": layers(), "head": jnp.ones(5), "block_1": jnp.ones(7), "block_2": jnp.ones(7)}
STACK = {"w": jnp.zeros((4, 3)), "b": jnp.zeros((4, 2))}
NAMES = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(BEFORE)]


def sources(after: Any, mapping: Any) -> list[tuple[list[str], tuple[int, ...]]]:
    recipes = given_recipes(BEFORE, after, mapping)
    return [([NAMES[i].removeprefix("['layers']") for i in each.sources], each.lead) for each in recipes.values()]


@pytest.mark.parametrize(
    ("after", "mapping", "expected"),
    [
        ({"s": STACK}, {"['s']['w']": "['layers'][*]['w']"}, [([f"[{i}]['w']" for i in range(4)], (4,))]),
        ({"o": jnp.ones(5)}, {"['o']": "['head']"}, [(["['head']"], ())]),
        ({"o": jnp.zeros(3)}, {"['o']": "['layers'][2]['w']"}, [(["[2]['w']"], ())]),
        ({"s": jnp.zeros((3, 3))}, {"['s']": "['layers'][1:]['w']"}, [([f"[{i}]['w']" for i in (1, 2, 3)], (3,))]),
        ({"s": jnp.zeros((3, 3))}, {"['s']": "['layers'][:-1]['w']"}, [([f"[{i}]['w']" for i in (0, 1, 2)], (3,))]),
        ({"s": jnp.zeros((2, 3))}, {"['s']": "['layers'][1::2]['w']"}, [([f"[{i}]['w']" for i in (1, 3)], (2,))]),
        ({"s": jnp.zeros((4, 3))}, {"['s']": "['layers'][::-1]['w']"}, [([f"[{i}]['w']" for i in (3, 2, 1, 0)], (4,))]),
        ({"s": jnp.zeros((2, 7))}, {"['s']": "['block_*']"}, [(["['block_1']", "['block_2']"], (2,))]),
    ],
    ids=["all", "a name", "one layer", "from", "up to", "every other", "backwards", "numbered fields"],
)
def test_what_a_path_stands_for(after: Any, mapping: Any, expected: Any) -> None:
    assert sources(after, mapping) == expected


def test_a_part_stands_for_all_its_leaves_and_the_longest_path_holds() -> None:
    after = {"s": {"w": jnp.zeros((4, 3)), "c": jnp.zeros((4, 2))}}
    found = sources(after, {"['s']": "['layers'][*]", "['s']['c']": "['layers'][*]['b']"})
    assert found == [([f"[{i}]['b']" for i in range(4)], (4,)), ([f"[{i}]['w']" for i in range(4)], (4,))]


def test_two_stars_are_a_stack_of_stacks() -> None:
    before = [[jnp.full(2, float(3 * i + j)) for j in range(3)] for i in range(2)]
    recipes = given_recipes(before, {"s": jnp.zeros((2, 3, 2))}, {"['s']": "[*][*]"})
    assert recipes == {0: Recipe((0, 1, 2, 3, 4, 5), (2, 3))}


@pytest.mark.parametrize(
    ("after", "mapping", "message"),
    [
        ({"s": STACK}, [], "expected the mapping of the case to be a dict"),
        ({"s": STACK}, {"s": 3}, "expected the mapping of the case to be a dict"),
        ({"s": STACK}, {"s..w": "head"}, "is no path such as"),
        ({"s": STACK}, {"['t']": "['head']"}, r"\['t'\] is no leaf of the rewritten model; it has \['s'\]\['b'\]"),
        ({"s": STACK}, {"['s']": "['tail'][*]"}, r"\['tail'\]\[\*\]\['b'\] is no leaf of the original model"),
        ({"o": jnp.ones(4)}, {"['o']": "['head']"}, r"each is float32\[5\] in the original, but \['o'\] is float32"),
        ({"s": jnp.ones((3, 3))}, {"['s']": "['layers'][*]['w']"}, r"stacked 4, but \['s'\] is float32\[3, 3\]"),
        ({"s": jnp.ones((4, 3), int)}, {"['s']": "['layers'][*]['w']"}, r"is int32\[4, 3\]"),
        (
            {"a": jnp.ones(5), "b": jnp.ones(5)},
            {"['a']": "['head']", "['b']": "['head']"},
            "into both .* and .*; each leaf must be in one place",
        ),
        ({"s": jnp.ones((2, 5))}, {"['s']": "[*]"}, "is no leaf of the original"),
    ],
    ids=[
        "a list", "a number", "no path", "no such key", "no such value", "another shape", "another length",
        "another dtype", "a leaf twice", "no list",
    ],
)  # fmt: skip
def test_a_wrong_mapping_is_told(after: Any, mapping: Any, message: str) -> None:
    with pytest.raises(ScanifyError, match=message):
        given_recipes(BEFORE, after, mapping)


def test_layers_of_different_shapes_cannot_be_stacked() -> None:
    before = [jnp.ones(2), jnp.ones(3)]
    with pytest.raises(ScanifyError, match="differ in shape"):
        given_recipes(before, {"s": jnp.ones((2, 2))}, {"['s']": "[*]"})


def test_the_mapping_is_an_attribute_of_the_case() -> None:
    def case() -> Any:
        return (lambda x: x), (jnp.ones(1),)

    case.mapping = {"a": "b"}  # type: ignore[attr-defined]
    built = [build(case, abstract=abstract) for abstract in (False, True)]
    assert [each.mapping for each in built] == [{"a": "b"}] * 2
    assert Built(built[0].tree).mapping is None


class Case:
    """A case as the child hands it to the comparison: it may have a mapping."""

    def __init__(self, model: Any, mapping: Any = None) -> None:
        self.model, self.mapping = model, mapping

    def __call__(self) -> Any:
        return self.model, (jnp.arange(3.0),)


def compared(after: Any, mapping: Any, *, before: Any = None) -> CaseResult:
    return compare_case(
        "case",
        Case(Loop(KEY) if before is None else before),
        Case(after, mapping),
        policies=(None,),
        requested=None,
        abstract=False,
        measure=False,
    )


RIGHT = {"stack": "layers[*]", "out": "head"}


def test_the_right_mapping_is_proved() -> None:
    result = compared(scan(KEY, vmapped), RIGHT)
    (policy,) = result.policies
    assert result.parameters is not None
    statuses = [result.parameters.status, policy.outputs.status, policy.gradients.status]
    assert statuses == [Status.PROVED] * 3


@pytest.mark.parametrize(
    ("mapping", "wrong"),
    [
        ({**RIGHT, "stack": "layers[::-1]"}, "layers[0].w"),
        ({**RIGHT, "embed": "head.weight", "out.weight": "embed"}, "embed"),
        ({**RIGHT, "out.bias": "layers[0].b", "stack.b": "layers[*].b"}, None),
    ],
    ids=["layers backwards", "two leaves swapped", "a leaf in two places"],
)
def test_a_wrong_mapping_never_proves_a_right_conversion_equal(mapping: Any, wrong: str | None) -> None:
    """The bits of the parameters tell, and so do the programs: with leaves in other places they differ."""
    if wrong is None:
        with pytest.raises(ScanifyError, match="in one place"):
            compared(scan(KEY, vmapped), mapping)
        return
    result = compared(scan(KEY, vmapped), mapping)
    (policy,) = result.policies
    assert result.parameters is not None and result.parameters.status is Status.FAILED
    assert wrong in result.parameters.reason
    assert policy.outputs.status is Status.FAILED and not policy.gradients.good and not result.good


def test_no_mapping_makes_a_wrong_conversion_good() -> None:
    """Applied backwards, the stack is right for a mapping that turns it around; then its parameters are wrong."""

    class Backwards(eqx.Module):
        embed: jax.Array
        stack: Block
        out: eqx.nn.Linear

        def __call__(self, x: jax.Array) -> jax.Array:
            def body(x: jax.Array, layer: Block) -> tuple[jax.Array, None]:
                return layer(x), None

            return self.out(jax.lax.scan(body, self.embed @ x, self.stack, reverse=True)[0])

    built = scan(KEY, vmapped)
    wrong = Backwards(built.embed, built.stack, built.out)
    plain, turned = (compared(wrong, mapping) for mapping in (RIGHT, {**RIGHT, "stack": "layers[::-1]"}))
    assert plain.policies[0].outputs.status is Status.FAILED
    assert turned.policies[0].outputs.status is Status.PROVED
    assert turned.parameters is not None and turned.parameters.status is Status.FAILED
    assert not plain.good and not turned.good
