"""Models of Flax Linen in cases: PROVED where `nn.scan` is the loop, for the same parameters and with its random
streams renamed; FAILED where a layer gets another stream, other parameters or another place.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from scanify.errors import ScanifyError
from scanify.verify.cases.build import build
from scanify.verify.compare.compare import compare_case
from scanify.verify.linen.align import renaming_of
from scanify.verify.linen.streams import Use, check_one_to_one
from scanify.verify.verdict import CaseResult, Status
from tests.verify.linen_models import DEEP_LOOP, DEEP_SCAN, LOOP, SCAN

nn: Any = pytest.importorskip("flax.linen", reason="flax is not installed")

STREAMS = "for the same parameters, and up to a renaming of random streams"
ALONE = "for the same parameters"
SPLIT = "split_rngs={True: True}"
AXES = "variable_axes={True: 0}"


def case(text: str, *, rngs: bool = True, mapping: Any = None, **kwargs: Any) -> Callable[[], Any]:
    def build() -> Any:
        module = ModuleType("linen_model_under_test")
        sys.modules[module.__name__] = module
        exec(compile(text, "linen_model_under_test.py", "exec"), module.__dict__)
        given = {"rngs": {"dropout": jax.random.key(1)}} if rngs else {}
        return module.Model(), (jnp.linspace(-1, 1, 16).reshape(2, 8),), {**given, **kwargs}

    if mapping is not None:
        build.mapping = mapping  # type: ignore[attr-defined]
    return build


def compared(before: str, after: str, *, abstract: bool = False, policies: Any = (None,), **options: Any) -> CaseResult:
    versions = case(before, **options), case(after, **options)
    return compare_case("linen", *versions, policies=policies, requested=None, abstract=abstract, measure=False)


def proved(result: CaseResult) -> bool:
    """Whether all there is to prove is proved."""
    once = (result.parameters, result.tangents, result.batched, result.keys)
    both = [verdict for policy in result.policies for verdict in (policy.outputs, policy.gradients)]
    return result.good and all(each is None or each.status is Status.PROVED for each in (*once, *both))


def hooks() -> tuple[Any, Any]:
    """What is replaced in Flax while a model is traced."""
    from flax.core.scope import LazyRng, Scope

    return Scope.push, LazyRng.as_jax_rng


@pytest.mark.parametrize("abstract", [False, True], ids=["arrays", "shapes"])
def test_the_scan_is_the_loop_with_its_streams_renamed(abstract: bool) -> None:
    before = hooks()
    result = compared(LOOP, SCAN, abstract=abstract)
    assert proved(result) and hooks() == before
    assert (result.proviso, result.layers) == (STREAMS, 3)
    assert (
        result.notes[0] == "modules were matched by their names and shapes: layers is layer_0..layer_2 of the original"
    )


@pytest.mark.whole
def test_without_a_random_stream_the_parameters_are_all_there_is_to_say() -> None:
    result = compared(LOOP, SCAN, train=False, rngs=False)
    assert proved(result) and result.proviso == ALONE


@pytest.mark.whole
def test_a_model_that_did_not_change_has_no_proviso() -> None:
    result = compared(LOOP, LOOP)
    assert result.proviso == "" and result.parameters is not None and result.parameters.reason == ""


@pytest.mark.whole
def test_families_stand_in_one_another_and_beside_one_another() -> None:
    result = compared(DEEP_LOOP, DEEP_SCAN)
    assert proved(result)
    assert "stages is stages_0..stages_2" in result.notes[0] and "tail is tail_0..tail_1" in result.notes[0]


@pytest.mark.whole
def test_under_remat() -> None:
    scan = SCAN.replace('(Block(name="layers")', '(nn.remat(Block, static_argnums=(3,))(name="layers")')
    assert scan != SCAN and proved(compared(LOOP, scan))


@pytest.mark.whole
def test_under_the_remat_of_both() -> None:
    both = [text.replace("Block(name", "nn.remat(Block, static_argnums=(3,))(name") for text in (LOOP, SCAN)]
    assert proved(compared(*both))


INSIDE = """
import flax.linen as nn
import jax


class Cell(nn.Module):
    @nn.compact
    def __call__(self, c, x):
        c = nn.Dropout(0.5, deterministic=False)(nn.Dense(8)(c) + x)
        return c, c


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        drop = nn.Dropout(0.5, deterministic=False)
        if CELLS:
            split = {"params": False, "dropout": True}
            _, x = nn.scan(Cell, variable_broadcast="params", split_rngs=split)()(x[0], x)
        return drop(x) + drop(nn.Dense(8)(x)) * jax.random.uniform(self.make_rng("dropout"))


Kept = nn.jit(Block)
Mapped = nn.vmap(Block, variable_axes={"params": 0}, split_rngs={"params": True, "dropout": True})


class Model(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        APPLIED
        return x
"""
IN_TURN = 'for i in range(4): x = Block(name=f"h_{i}")(x)'
LIFTED = """lifted = nn.scan(lambda h, x, _: (h(x), None), variable_axes={True: 0}, split_rngs={True: True}, length=4)
        x, _ = lifted(Block(name="h"), x, None)"""


def inside(applied: str, block: str = "Block", cells: bool = False) -> str:
    return INSIDE.replace("APPLIED", applied.replace("Block", block)).replace("CELLS", str(cells))


@pytest.mark.parametrize(
    "block", ["Kept", *(pytest.param(each, marks=pytest.mark.whole) for each in ("nn.jit(Block)", "Mapped"))]
)
def test_modules_under_another_transformation(block: str) -> None:
    assert proved(compared(inside(IN_TURN, block), inside(LIFTED, block)))


@pytest.mark.whole
def test_layers_that_scan_themselves() -> None:
    assert proved(compared(inside(IN_TURN, cells=True), inside(LIFTED, cells=True)))


@pytest.mark.whole
def test_a_scan_of_scans_over_one_loop() -> None:
    result = compared(inside(IN_TURN), inside('x = nn.remat_scan(Block, lengths=(2, 2))(name="h")(x)'))
    assert proved(result) and "h is h_0..h_3" in result.notes[0]


@pytest.mark.whole
def test_a_stream_that_is_used_once_more_is_not_the_same() -> None:
    more = inside(LIFTED).replace("drop = ", 'again = self.make_rng("dropout")\n        drop = ')
    same = more.replace('jax.random.uniform(self.make_rng("dropout"))', "jax.random.uniform(again)")
    twice = inside(IN_TURN).replace("drop(x) +", 'drop(x) * jax.random.uniform(self.make_rng("dropout")) +')
    (policy,) = compared(twice, same.replace("drop(x) +", "drop(x) * jax.random.uniform(again) +")).policies
    assert policy.outputs.status is Status.FAILED


class TestRenaming:
    """Two streams must not become one, nor one two: then nothing is shown."""

    def uses(self, *streams: tuple[Any, Any]) -> Any:
        return [Use("dropout", (), 1, (), before, after) for before, after in streams]

    def test_one_to_one(self) -> None:
        check_one_to_one(self.uses((("a_0", 1), ("a", 1)), (("a_0", 2), ("a", 2)), (("a_0", 1), ("a", 1))))

    def test_two_become_one(self) -> None:
        with pytest.raises(ScanifyError, match=r"stream a_1/1 of the loop would be a/1 in the scan"):
            check_one_to_one(self.uses((("a_0", 1), ("a", 1)), (("a_1", 1), ("a", 1))))

    def test_one_becomes_two(self) -> None:
        with pytest.raises(ScanifyError, match="no renaming"):
            check_one_to_one(self.uses((("a_0", 1), ("a", 1)), (("a_0", 1), ("b", 1))))

    def test_paths_that_are_one_to_linen_are_one(self) -> None:
        """Linen hashes the names of a path one behind another: (a, bc) and (ab, c) are one stream."""
        with pytest.raises(ScanifyError, match="no renaming"):
            check_one_to_one(self.uses((("a", "bc"), ("x", "bc")), (("ab", "c"), ("ab", "c"))))

    def test_it_is_looked_at_in_each_call(self) -> None:
        """A layer and a module beside it whose paths are one to Linen drop the same units in the loop alone."""
        loop, scan = (
            text.replace(
                "drop = nn.Dropout(0.5, deterministic=False)", 'drop = nn.Dropout(0.5, deterministic=False, name="1x")'
            ).replace("        return x\n", '        return nn.Dropout(0.5, deterministic=False, name="h_01x")(x)\n')
            for text in (inside(IN_TURN), inside(LIFTED))
        )
        with pytest.raises(ScanifyError, match=r"stream h_01x/1 of the loop would be h_01x/1 in the scan"):
            compared(loop, scan)

    def test_layers_have_streams_of_their_own(self) -> None:
        check_one_to_one([Use("dropout", (), 1, (row,), (f"a_{row}", 1), ("a", 1)) for row in range(3)])


WRONG = {
    "one dropout key for all layers": (SPLIT, 'split_rngs={"params": True, "dropout": False}'),
    "another rate": ('Block(name="layers")', 'Block(rate=0.1, name="layers")'),
    "another order": ("length=self.n", "length=self.n, reverse=True"),
    "another argument": ("layer(x, 2.0,", "layer(x, 1.0,"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_outputs_that_differ_are_found(wrong: str) -> None:
    scan = SCAN.replace(*WRONG[wrong])
    assert scan != SCAN
    (policy,) = compared(LOOP, scan).policies
    assert policy.outputs.status is Status.FAILED


@pytest.mark.whole
def test_one_dropout_key_is_told_as_such() -> None:
    (policy,) = compared(LOOP, SCAN.replace(*WRONG["one dropout key for all layers"])).policies
    assert "uses rngs['dropout'] where the loop uses [0] of random_split" in policy.outputs.reason


UNLIKE = {
    "wrong length": (
        "length=self.n",
        "length=self.n + 1",
        r"layers\.BatchNorm_0\.bias: expected float32\[3, 8\] \(stacked 3\)",
    ),
    "shared parameters": (AXES, 'variable_axes={"batch_stats": 0}, variable_broadcast="params"', "cannot be built"),
    "no statistics": (AXES, 'variable_axes={"params": 0}', "cannot be built"),
    "another axis": (
        AXES,
        'variable_axes={"params": 1, "batch_stats": 0}',
        r"layers\.Dense_0\.kernel: expected|layers\.BatchNorm_0\.bias: expected",
    ),
    "a width": (
        'Block(name="layers")',
        'Block(dim=1, name="layers")',
        r"layers\.BatchNorm_0\.bias: expected float32\[3, 8\]",
    ),
}


@pytest.mark.parametrize("wrong", UNLIKE)
def test_variables_that_differ_are_named(wrong: str) -> None:
    old, new, said = UNLIKE[wrong]
    scan = SCAN.replace(old, new)
    assert scan != SCAN
    result = compared(LOOP, scan)
    assert result.parameters is not None and result.parameters.status is Status.FAILED
    assert re.search(said, result.parameters.reason)


@pytest.mark.whole
def test_shared_parameters_of_layers_without_statistics() -> None:
    texts = [
        text.replace("        y = nn.BatchNorm(use_running_average=deterministic)(y)\n", "") for text in (LOOP, SCAN)
    ]
    assert proved(compared(*texts))
    split = 'split_rngs={"params": False, "dropout": True}'
    shared = texts[1].replace(AXES, 'variable_broadcast="params"').replace(SPLIT, split)
    result = compared(texts[0], shared)
    assert result.parameters is not None and result.parameters.status is Status.FAILED
    assert (
        "layers.Dense_0.bias: expected float32[3, 8] (stacked 3), the scan has float32[8]" in result.parameters.reason
    )


@pytest.mark.whole
def test_layers_that_start_alike_are_found() -> None:
    result = compared(LOOP, SCAN.replace(SPLIT, 'split_rngs={"params": False, "dropout": True}'))
    assert result.parameters is not None and result.parameters.status is Status.FAILED
    assert result.parameters.reason.startswith("layer_0.Dense_0.kernel is ")


@pytest.mark.whole
def test_a_stream_that_the_scan_does_not_lift_is_what_it_raises() -> None:
    (policy,) = compared(LOOP, SCAN.replace(SPLIT, 'split_rngs={"params": True}')).policies
    assert policy.outputs.status is Status.FAILED and 'needs PRNG for "dropout"' in policy.outputs.reason


@pytest.mark.whole
def test_what_layers_sow_is_an_output() -> None:
    texts = LOOP, SCAN.replace(AXES, 'variable_axes={"params": 0, "batch_stats": 0}')
    (policy,) = compared(*texts).policies
    assert policy.outputs.status is Status.FAILED
    assert proved(compared(*texts, mutable=["batch_stats"]))


def test_collections_that_are_updated_are_outputs() -> None:
    scan = SCAN.replace("nn.BatchNorm(", "nn.BatchNorm(momentum=0.5, ")
    (policy,) = compared(LOOP, scan).policies
    assert policy.outputs.status is Status.FAILED


@pytest.mark.whole
def test_collections_that_are_updated_alike_are_the_same() -> None:
    slower = [text.replace("nn.BatchNorm(", "nn.BatchNorm(momentum=0.5, ") for text in (LOOP, SCAN)]
    assert proved(compared(*slower))


def test_what_is_no_module_that_init_can_be_called_on() -> None:
    def of_class() -> Any:
        return type(case(LOOP)()[0]), (jnp.ones((2, 8)),)

    def bound() -> Any:
        model, args, kwargs = case(LOOP, rngs=False, train=False)()
        return model.bind(model.init(jax.random.key(0), *args, **kwargs)), args, kwargs

    for wrong, said in ((of_class, r"got the class Model: return what it makes"), (bound, "got a bound Model")):
        with pytest.raises(ScanifyError, match=said):
            compare_case("linen", wrong, wrong, policies=(None,), requested=None, abstract=False, measure=False)


def test_flax_is_left_as_it_was_where_something_is_wrong() -> None:
    before = hooks()
    with pytest.raises(ScanifyError):
        compared(LOOP, SCAN, mapping={"layers": "nothing_*"})
    assert hooks() == before


class TestWhichBelongTogether:
    TWO = """
import flax.linen as nn

class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        {body}
        return x
"""
    LOOP = TWO.format(body="for name in ('a_0', 'a_1', 'b_0', 'b_1'): x = nn.Dense(8, name=name)(x)")
    SCAN = TWO.format(
        body="""step = lambda layer, x, _: (layer(x), None)
        lifted = nn.scan(step, variable_axes={"params": 0}, split_rngs={"params": True}, length=2)
        x, _ = lifted(nn.Dense(8, name="first"), x, None)
        x, _ = lifted(nn.Dense(8, name="second"), x, None)"""
    )

    def test_the_case_is_asked_where_it_is_not_clear(self) -> None:
        result = compared(self.LOOP, self.SCAN, rngs=False)
        assert result.parameters is not None and result.parameters.status is Status.FAILED
        assert "first of the scan may hold a_0..a_1 or b_0..b_1 of the loop" in result.parameters.reason
        assert "`mapping = {" in result.parameters.reason

    def test_the_case_says_it(self) -> None:
        assert proved(compared(self.LOOP, self.SCAN, rngs=False, mapping={"first": "a_*", "second": "b_*"}))

    def test_what_the_case_says_is_compared(self) -> None:
        (policy,) = compared(self.LOOP, self.SCAN, rngs=False, mapping={"first": "b_*", "second": "a_*"}).policies
        assert policy.outputs.status is Status.FAILED

    def test_names_that_are_alike_tell(self) -> None:
        scan = self.SCAN.replace('"first"', '"as"').replace('"second"', '"bs"')
        assert proved(compared(self.LOOP, scan, rngs=False))

    def test_a_mapping_that_names_nothing_is_an_error(self) -> None:
        first, second = (build(case(text, rngs=False), abstract=False) for text in (self.LOOP, self.SCAN))
        for mapping in ({"third": "a_*"}, {"first": "c_*"}, {"first": 1}):
            with pytest.raises(ScanifyError, match="mapping of the case"):
                renaming_of(first, replace(second, mapping=mapping))
        assert not isinstance(renaming_of(first, replace(second, mapping={"first": "a_*", "second": "b_*"})), str)
