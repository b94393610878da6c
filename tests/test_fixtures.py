"""Whole models as people write them: rewritten to the expected text, refused for the expected reason, or left alone."""

import operator
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.analysis.plan import Plan, Refusal
from scanify.nn import ArrayStacked, BlockSeq
from scanify.pipeline import Outcome, Project, rewrite_sources
from scanify.source.discover import Selection
from scanify.verify.cases.build import build
from scanify.verify.compare.compare import compare_case
from scanify.verify.compare.parameters import same_parameters
from scanify.verify.programs.pair import Pair, pair
from scanify.verify.programs.trace import trace
from scanify.verify.proof.prove import prove
from scanify.verify.verdict import Status
from tests import fixture_helpers
from tests.benchmarks.constructor import CASE, constructor_proved, versions
from tests.fixture_helpers import FIXTURES, Fixture, Refused, fixture, left_alone, read, refused, thunk, write

POLICIES = ("none", "full", "nested", "save_all", "offload", "dots")
# A fold and a group are proved under every policy; the others, scans too, under what they are rewritten to, one of those.
UNDER_ALL = ("drop_path", "alternating")
assert {each.remat for each in FIXTURES} <= {*POLICIES}

# Of the largest value: bfloat16 has 8 bits, and XLA may keep more of them in a fused loop than outside.
TOLERANCE = {"float32": 1e-5, "bfloat16": 5e-2}

CASES = [(each, case) for each in FIXTURES for case in each.cases]
# One case of each model is enough for the numbers: compiling the loops is what takes long, and longest for these.
ORACLE = [(each, each.cases[0]) for each in FIXTURES if each.stack == "init"]
LARGE = ("gpt", "vit", "mixer", "encoder", "llama")
REFUSED = refused()


def of_cases(values: list[tuple[Fixture, str]], whole: Collection[str] = ()) -> list[Any]:
    """Parameters of a test, of which those of the models named are left to `--whole`."""
    return [
        pytest.param(each, case, id=f"{case} of {each}", marks=pytest.mark.whole if each.name in whole else ())
        for each, case in values
    ]


@pytest.fixture(scope="module", autouse=True)
def _caches() -> Iterator[None]:
    yield
    jax.clear_caches()


def rewrite(folder: Path, *, stack: str = "init", remat: str | None = "nested") -> Outcome:
    return rewrite_sources(Project.load([folder], selection=Selection(folder)), stack=stack, remat=remat)  # type: ignore[arg-type]


def store(outcome: Outcome) -> None:
    for path, (_, after) in outcome.changes.items():
        path.write_bytes(after)


@pytest.mark.parametrize("each", FIXTURES, ids=str)
def test_the_rewrite_prints_the_expected_text(each: Fixture, tmp_path: Path) -> None:
    folder = write(each.before, tmp_path)
    store(rewrite(folder, stack=each.stack, remat=each.remat))
    assert read(folder) == each.after


@pytest.mark.parametrize("each", FIXTURES, ids=str)
def test_every_loop_of_a_fixture_is_found_once_and_its_fix_is_safe(each: Fixture, tmp_path: Path) -> None:
    found = rewrite(write(each.before, tmp_path), stack=each.stack).analysis
    assert [(loop.kind.value, loop.safe) for loop in found.loops if isinstance(loop, Plan)] == [(each.kind, True)]
    assert len(found.loops) == 1
    assert not found.skipped


@pytest.mark.parametrize("each", FIXTURES, ids=str)
def test_a_second_run_changes_nothing(each: Fixture, tmp_path: Path) -> None:
    outcome = rewrite(write(each.after, tmp_path), stack=each.stack, remat=each.remat)
    assert not outcome.changes
    assert not outcome.analysis.loops


@pytest.mark.parametrize("each", REFUSED, ids=[f"{each.path.stem} by {each.rule}" for each in REFUSED])
def test_a_model_that_must_stay_as_it_is_is_refused(each: Refused, tmp_path: Path) -> None:
    folder = write({each.path.name: each.path.read_text()}, tmp_path)
    outcome = rewrite(folder)
    assert not outcome.changes
    assert [(loop.rule, loop.place.span.line) for loop in outcome.analysis.loops] == [(each.rule, each.line)]
    (refusal,) = outcome.analysis.loops
    assert isinstance(refusal, Refusal)
    assert refusal.reason


@pytest.mark.parametrize("each", REFUSED, ids=[each.path.stem for each in REFUSED])
def test_stacking_in_the_call_cures_a_list_that_is_changed_elsewhere_and_nothing_else(
    each: Refused, tmp_path: Path
) -> None:
    folder = write({each.path.name: each.path.read_text()}, tmp_path)
    outcome = rewrite(folder, stack="call")
    assert any(isinstance(loop, Plan) for loop in outcome.analysis.loops) == (each.rule == "SCN214")


@pytest.mark.parametrize("path", left_alone(), ids=[path.stem for path in left_alone()])
def test_a_model_without_a_layer_loop_is_left_alone(path: Path, tmp_path: Path) -> None:
    outcome = rewrite(write({path.name: path.read_text()}, tmp_path))
    assert not outcome.changes
    assert not outcome.analysis.loops
    assert not outcome.analysis.skipped


def test_the_refused_models_cover_every_reason_that_a_whole_model_can_show() -> None:
    assert {f"SCN2{number:02}" for number in range(1, 15)} - {each.rule for each in REFUSED} == set()


def built(each: Fixture, case: str, folder: Path) -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """What the case builds with the original and with the rewritten model."""
    versions = []
    for name, texts in (("original", each.before), ("rewritten", each.after)):
        returned = fixture_helpers.thunk(write(texts, folder / name), each.target, each.case_file, case)()
        versions.append((returned[0], returned[1], returned[2] if len(returned) == 3 else {}))
    return versions


def scalar(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[jax.Array, Any]:
    """A number that every output takes part in, and the outputs."""
    outputs = model(*args, **kwargs)
    parts = (jnp.sum(jnp.sin(out.astype(jnp.float32))) for out in jax.tree.leaves(outputs))
    return sum(parts, jnp.zeros(())), outputs


def apart(tree: Any) -> Any:
    """A pytree with every stack taken apart into a list of layers."""

    def layers(node: Any) -> Any:
        if isinstance(node, BlockSeq):
            return node.with_arrays(lambda array, row: array if row is None else array[row])
        if not isinstance(node, ArrayStacked):
            return node
        return [jax.tree.map(operator.itemgetter(i), node.stacked) for i in range(node.num_layers)]

    return jax.tree.map(layers, tree, is_leaf=lambda node: isinstance(node, ArrayStacked | BlockSeq))


@pytest.mark.parametrize(("each", "case"), of_cases(ORACLE, LARGE))
def test_the_loop_and_the_expected_text_compute_the_same_numbers(each: Fixture, case: str, tmp_path: Path) -> None:
    """The plain Python loop is the oracle, and nothing of the verifier takes part."""

    differentiate = eqx.filter_jit(eqx.filter_grad(scalar, has_aux=True))
    loop, scan = (differentiate(*version) for version in built(each, case, tmp_path))
    for expected, got in zip(loop, scan, strict=True):
        close(jax.tree.leaves(apart(expected)), jax.tree.leaves(apart(got)))


def close(loop: list[jax.Array], scan: list[jax.Array]) -> None:
    """Equal up to rounding, which is of the size of the largest number: some gradients are zero but for rounding."""
    assert len(loop) == len(scan) > 0
    largest = max(float(jnp.max(jnp.abs(leaf))) for leaf in loop)
    for expected, got in zip(loop, scan, strict=True):
        assert (expected.shape, expected.dtype) == (got.shape, got.dtype)
        relative = TOLERANCE[expected.dtype.name]
        np.testing.assert_allclose(np.float64(got), np.float64(expected), rtol=0, atol=relative * largest)


@pytest.mark.parametrize(("each", "case"), of_cases([one for one in CASES if one[0].name not in UNDER_ALL]))
def test_the_rewrite_is_proved(each: Fixture, case: str, tmp_path: Path) -> None:
    proved(each, case, tmp_path, [each.remat])


@pytest.mark.parametrize(("each", "case"), of_cases(CASES, {each.name for each in FIXTURES} - {*UNDER_ALL}))
def test_the_rewrite_is_proved_under_every_policy(each: Fixture, case: str, tmp_path: Path) -> None:
    proved(each, case, tmp_path, POLICIES)


def proved(each: Fixture, case: str, folder: Path, policies: Sequence[str]) -> None:
    original, rewritten = (
        fixture_helpers.thunk(write(texts, folder / name), each.target, each.case_file, case)
        for name, texts in (("original", each.before), ("rewritten", each.after))
    )
    result = compare_case(
        case,
        original,
        rewritten,
        policies=policies,
        requested=each.remat,
        abstract=False,
        measure=False,
        files=fixture_helpers.files,
    )
    assert result.error is None
    assert result.parameters is not None
    assert result.parameters.status is Status.PROVED, result.parameters
    assert [policy.policy for policy in result.policies] == list(policies)
    not_proved = [
        (policy.policy, verdict)
        for policy in result.policies
        for verdict in (policy.outputs, policy.gradients)
        if verdict.status is not Status.PROVED
    ]
    assert not_proved == []
    assert result.good, (result.findings, [policy.findings for policy in result.policies])


@pytest.mark.parametrize("case", ["llama_training", pytest.param("llama_80x8192", marks=pytest.mark.whole)])
def test_a_decoder_is_proved_without_weights(case: str, tmp_path: Path) -> None:
    """Nothing is allocated: of four layers, and of 69 billion parameters. More of the large one is for `make demo`."""
    each = fixture("llama")
    original, rewritten = (
        build(
            fixture_helpers.thunk(write(texts, tmp_path / name), each.target, each.case_file, case),
            abstract=True,
        )
        for name, texts in (("original", each.before), ("rewritten", each.after))
    )
    both = pair(original, rewritten)
    assert isinstance(both, Pair)
    assert same_parameters(original, rewritten, both.found, both.inputs, None).status is Status.PROVED
    loop, scan = trace(both.before, both.avals), trace(both.after, both.avals, "nested")
    assert prove(loop.forward, scan.forward).proved
    assert prove(loop.gradient, scan.gradient, cotangents=len(loop.outputs.inexact)).proved


def test_a_constructor_of_more_layers_is_no_larger_program_after_the_rewrite(tmp_path: Path) -> None:
    """`python -m tests.benchmarks.constructor` prints how long they take, too."""
    lines = {}
    for name, texts in versions().items():
        folder = write({**texts, "case.py": CASE}, tmp_path / name)
        make = thunk(folder, "model.py", folder / "case.py", "constructor")()
        for count in (2, 8):
            made = jax.make_jaxpr(lambda key, make=make, count=count: eqx.filter(make(key, count), eqx.is_array))
            lines[name, count] = len(str(made(jax.random.key(0))).splitlines())
    assert lines["init", 8] <= 1.1 * lines["init", 2]
    assert all(lines[name, 8] > 1.5 * lines[name, 2] for name in ("list", "of"))


def test_a_constructor_after_the_rewrite_is_proved_and_one_with_other_keys_is_not() -> None:
    after = versions()["init"]
    assert constructor_proved(3, after).verdict is Status.PROVED
    keys = "key=jax.random.split(blocks_key, config.n_layer)\n"
    other = fixture_helpers.replaced(after, fixture("gpt").target, (keys, keys.replace(")\n", ")[::-1]\n")))
    assert constructor_proved(3, other).verdict is Status.NOT_RUN  # without values there is proof or nothing
