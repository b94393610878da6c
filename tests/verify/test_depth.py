"""A case that runs a loop for fewer than two iterations shows nothing of the scan that takes its place."""

from pathlib import Path

import pytest

from scanify.pytest_plugin.failure import wrong_as_a_whole
from scanify.report.verification.html import verification_html
from scanify.report.verification.json import verification_json
from scanify.report.verification.junit import verification_junit
from scanify.report.verification.markdown import verification_markdown
from scanify.report.verification.summary import about
from scanify.report.verification.text import verification_text
from scanify.verify import depth
from scanify.verify.cases.case import parse_case
from scanify.verify.depth import short_loops, with_depth
from scanify.verify.run import verify
from scanify.verify.verdict import CaseResult, LoopRun, PolicyResult, Status, Verdict, Verification

PROVED = Verdict(Status.PROVED)


def case(*iterations: int | None, layers: int | None = None, name: str = "case") -> CaseResult:
    loops = tuple(LoopRun("model.py", line, "for layer in self.layers", n) for line, n in enumerate(iterations))
    return CaseResult(name, PROVED, (PolicyResult("none", PROVED, PROVED),), layers=layers, loops=loops)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (case(1), "runs one iteration"),
        (case(4, 1), "model.py:1"),
        (case(0), "runs no iteration"),
        (case(None, None), "no loop that is rewritten runs in this case"),
        (case(layers=1), "scans over one layer"),
        (case(None, layers=1), "scans over one layer"),
    ],
    ids=[
        "one layer",
        "one of two loops",
        "no layer",
        "another method",
        "a scan over one layer",
        "a `Sequential` of one layer",
    ],
)
def test_it_is_not_run(result: CaseResult, words: str) -> None:
    assert result.good
    (found,) = with_depth([result])
    assert not found.good and found.depth is not None and found.depth.status is Status.NOT_RUN
    assert words in found.depth.reason


@pytest.mark.parametrize(
    "result", [case(2), case(2, None), case(3, 5), case(layers=2), case(None, layers=5), case(), case(layers=None)]
)
def test_two_layers_are_enough(result: CaseResult) -> None:
    assert with_depth([result]) == (result,)


def test_without_the_least_number_one_layer_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth, "FEWEST", 1)
    assert all(each.good for each in with_depth([case(1), case(4, 1)]))


def test_where_another_case_shows_the_loop_it_is_a_note() -> None:
    found = with_depth([case(1), case(4)])
    assert all(each.good for each in found)
    assert "another case shows more" in found[0].notes[0] and found[1].notes == ()
    assert not any(each.good for each in with_depth([case(1), case(None)]))


def test_a_case_that_could_not_be_run_shows_nothing_for_another() -> None:
    broken = CaseResult("case", error="it died", loops=case(4).loops)
    assert [each.good for each in with_depth([case(1), broken])] == [False, False]


def test_the_loops_that_no_case_shows_are_known_by_their_places() -> None:
    assert [run.line for run in short_loops([case(1, 4, None), case(1, 1, None)])] == [0]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (case(6, layers=6), "6 layers"),
        (case(1, layers=1), "1 layer"),
        (case(4, 8, layers=12), "2 loops of 4 and 8 layers"),
        (case(4, None, layers=4), "4 layers"),
        (case(*range(2, 9), layers=35), "7 loops of 2 to 8 layers"),
        (case(layers=3), "3 layers"),
        (case(), ""),
    ],
)
def test_the_header_has_the_layers_that_ran(result: CaseResult, words: str) -> None:
    assert about(result) == words


def test_every_report_says_so() -> None:
    done = Verification(with_depth([case(1, layers=1)]))
    for text in (verification_text(done), verification_markdown(done), verification_junit(done)):
        assert "runs one iteration" in " ".join(text.split())
    assert "runs one iteration" in verification_html(done)
    assert "depth NOT RUN" in str(wrong_as_a_whole(done.cases[0]))
    (found,) = verification_json(done)["cases"]
    assert found["depth"]["status"] == "NOT RUN" and found["loops"][0]["iterations"] == 1 and not found["good"]


ORIGINAL = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Block(eqx.Module):
    w: jax.Array

    def __call__(self, x, key):
        return jnp.tanh(x * self.w) + jax.random.uniform(key, x.shape)


class Model(eqx.Module):
    blocks: list[Block]

    def __init__(self, depth, *, key):
        self.blocks = [Block(jax.random.normal(k, (3,))) for k in jax.random.split(key, depth)]

    def __call__(self, x, key):
        if len(self.blocks) == 0:
            return x
        blocks = jax.tree.map(lambda a: a.astype(jnp.float32), self.blocks)
        for block, k in zip(blocks, jax.random.split(key, len(blocks))):
            x = block(x, k)
        return x

    def plain(self, x, key):
        return x + jnp.sum(self.blocks[0].w)
"""
LOOP = """\
        for block, k in zip(blocks, jax.random.split(key, len(blocks))):
            x = block(x, k)
"""
ONE_KEY = """\
        stacked = jax.tree.map(lambda *a: jnp.stack(a), *blocks)
        keys = jax.random.split(key, len(blocks))
        x, _ = jax.lax.scan(lambda x, block: (block(x, keys[0]), None), x, stacked)
"""
CASES = """\
import jax
import jax.numpy as jnp


def model(module, depth=DEPTH, method="__call__"):
    built = module.Model(depth, key=jax.random.key(0))
    return (built if method == "__call__" else getattr(built, method)), (jnp.ones(3), jax.random.key(1))
"""


def verified(
    folder: Path, layers: int, cases: str = CASES, original: str = ORIGINAL, scan: str = ONE_KEY
) -> CaseResult:
    model = folder / "model.py"
    model.write_text(original)
    (folder / "cases.py").write_text(cases.replace("DEPTH", str(layers)))
    done = verify(
        {model: (original.encode(), original.replace(LOOP, scan).encode())},
        [parse_case("cases.py:model", folder)],
        policies=(None,),
        requested=None,
        measure=False,
    )
    return done.cases[0]


@pytest.mark.parametrize("layers", [3, 1, 0])
def test_one_key_for_all_layers_is_not_proved_by_a_model_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layers: int
) -> None:
    monkeypatch.chdir(tmp_path)
    found = verified(tmp_path, layers)
    assert found.error is None and not found.good
    outputs = found.policies[0].outputs.status
    if layers == 3:
        assert outputs is Status.FAILED and found.layers == 3 and found.depth is None
        return
    assert outputs is Status.PROVED and found.depth is not None and found.depth.status is Status.NOT_RUN
    assert ("model.py:23" if layers else "no loop that is rewritten runs") in found.depth.reason


def test_a_method_that_runs_no_layer_shows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = verified(tmp_path, 3, CASES.replace('method="__call__"', 'method="plain"'))
    assert found.policies[0].outputs.status is Status.PROVED and found.depth is not None and not found.good


def test_layers_that_both_versions_scan_over_show_nothing_of_a_loop_that_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scan = "jax.lax.scan(lambda c, w: (c * w, None), x, jnp.stack([block.w for block in self.blocks]))[0]"
    original = ORIGINAL.replace("x + jnp.sum(self.blocks[0].w)", scan)
    found = verified(tmp_path, 3, CASES.replace('method="__call__"', 'method="plain"'), original)
    assert found.policies[0].outputs.status is Status.PROVED and found.depth is not None and not found.good


def test_a_sweep_that_has_one_layer_beside_more_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The right rewrite, in which all layers are read through a cast: they are counted all the same."""
    monkeypatch.chdir(tmp_path)
    every_key = ONE_KEY.replace(
        "lambda x, block: (block(x, keys[0]), None), x, stacked",
        "lambda x, each: (each[0](x, each[1]), None), x, (stacked, keys)",
    )
    found = verified(tmp_path, 4, CASES + '\n\nmodel.sweep = [{"depth": 1}]\n', scan=every_key)
    assert found.good and found.layers == 4
