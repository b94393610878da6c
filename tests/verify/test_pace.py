"""What is timed in passing: which cases, when not, what is said of it, and that nothing else depends on it."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from scanify.cli import run
from scanify.errors import Exit
from scanify.report.verification.remarks import own_notes
from scanify.verify.compare.compare import compare_case
from scanify.verify.measure import in_passing
from scanify.verify.measure.pace import KEPT, Pace, remark
from scanify.verify.verdict import CaseResult

# Each cache is much larger than what a layer computes: a scan copies them into a stack and out again.
DECODER = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Block(eqx.Module):
    weight: jax.Array

    def __init__(self, key):
        self.weight = jax.random.normal(key, (16, 16)) / 4

    def __call__(self, x):
        return x + jnp.tanh(x @ self.weight)

    def step(self, x, cache, at):
        cache = jax.lax.dynamic_update_slice(cache, x[None], (at, 0))
        return self(x + cache[at]), cache


class Decoder(eqx.Module):
    layers: list[Block]

    def __init__(self, key):
        self.layers = [Block(k) for k in jax.random.split(key, 3)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def decode(self, x, caches, at):
        new_caches = []
        for layer, cache in zip(self.layers, caches):
            x, new = layer.step(x, cache, at)
            new_caches.append(new)
        return x, new_caches
"""
LOOP = """\
        for layer in self.layers:
            x = layer(x)
        return x
"""
DECODING = DECODER[DECODER.index("        new_caches") :]
SCAN = {
    "import jax\n": "import jax\nfrom scanify.nn import ArrayStacked\n",
    "list[Block]": "ArrayStacked[Block]",
    "[Block(k) for k in jax.random.split(key, 3)]": "ArrayStacked.of([Block(k) for k in jax.random.split(key, 3)])",
    LOOP: "        return self.layers.fold(x)\n",
    DECODING: "        return self.layers.collect_via(Block.step, in_axes=(0, None))(x, caches, at)\n",
}
CASES = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Step(eqx.Module):
    model: eqx.Module

    def __call__(self, x, caches, at):
        return self.model.decode(x, caches, at)


def train(module):
    return module.Decoder(jax.random.key(0)), (jnp.ones((8, 16)),)


def decode(module, positions=65536):
    caches = [jnp.zeros((positions, 16))] * 3
    return Step(module.Decoder(jax.random.key(0))), (jnp.ones(16), caches, jnp.int32(0))
"""


@pytest.fixture
def paced(load_twice: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Pace | None]:
    """What is timed of a case, where a loop takes the first of `seconds` and its scan the second, each time."""

    def run(case: str, *, what: str, seconds: Sequence[float] = (1.0, 2.0), **more: Any) -> Pace | None:
        changes = more.pop("changes", SCAN)
        both, cases = load_twice(more.pop("source", DECODER), changes), dict[str, Any]()
        exec(CASES, cases)
        turns = iter(zip(seconds[::2], seconds[1::2], strict=True))
        monkeypatch.setattr(in_passing, "step_seconds", lambda *given: next(turns))
        monkeypatch.setattr(in_passing, "_compiled", lambda *given: [])
        small = {"positions": 4} if case == "decode" else {}
        given: dict[str, Any] = {"policies": [None], "requested": None, "abstract": False, "measure": False}
        before, after = (partial(cases[case], each, **small) for each in (both.before, both.after))
        return compare_case(case, before, after, paced=what, **(given | more)).pace

    return run


class TestWhatIsTimed:
    def test_a_call_with_caches(self, paced: Any) -> None:
        assert paced("decode", what="decoding", seconds=(1.0, 1.01)) == Pace("call", 1.0, 1.01)

    def test_what_is_slower_is_timed_again(self, paced: Any) -> None:
        assert paced("decode", what="decoding", seconds=(1.0, 2.0, 1.0, 1.2)) == Pace("call", 1.0, 1.2)

    def test_no_other_call_but_where_there_are_several_cases(self, paced: Any) -> None:
        assert paced("train", what="decoding") is None
        found = paced("train", what="all", seconds=(1.0, 1.0))
        assert (found.what, found.loop, found.scan) == ("step", 1.0, 1.0)
        assert 1.2 < found.operations < 1.5  # it recomputes each layer

    def test_nothing_where_nobody_asks(self, paced: Any) -> None:
        assert paced("decode", what="") is None

    def test_a_loop_that_stays_is_the_same_program(self, paced: Any) -> None:
        assert paced("decode", what="all", changes={}) is None

    def test_what_does_something_when_it_runs_is_left_alone(self, paced: Any) -> None:
        printing = DECODER.replace("        cache = jax", '        jax.debug.print("{}", at)\n        cache = jax')
        assert paced("decode", what="all", source=printing) is None

    def test_what_has_no_weights_or_is_large_is_not(self, paced: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        assert paced("decode", what="decoding", abstract=True) == Pace("call", untimed="it has no weights")
        monkeypatch.setattr(in_passing, "_EQUATIONS", 5)
        assert paced("decode", what="decoding").untimed.startswith("the loop is a program of ")
        monkeypatch.setattr(in_passing, "_BYTES", 0)
        assert paced("decode", what="decoding").untimed.startswith("its arrays are ")

    def test_a_failure_is_told(self, paced: Any) -> None:
        assert paced("decode", what="decoding", seconds=()).untimed.startswith("it raised StopIteration")


class TestWhatIsSaid:
    def test_nothing_where_the_scan_is_not_slower(self) -> None:
        assert remark(Pace("call", 1.0, 1.05)) == ""

    def test_how_much_slower_and_what_to_do(self) -> None:
        assert remark(Pace("call", 0.001, 0.0012)) == (
            f"slower: the call takes 1.2 ms, that of the loop 1 ms, 1.20 times as long; {KEPT}. `--advise` times it "
            "more carefully"
        )

    def test_what_remat_costs_is_not_taken_for_the_scan(self) -> None:
        said = remark(Pace("step", 1.0, 1.3, operations=1.33))
        assert "of which 1.33 times the operations are what remat computes again; `--remat none`" in said
        assert "ignore" not in said
        assert "ignore" in remark(Pace("step", 1.0, 1.3, operations=1.0))

    def test_why_it_was_not_timed(self) -> None:
        said = remark(Pace("call", untimed="it has no weights"))
        assert said == "the call was not timed, as it has no weights; `--advise` times the loop and its scan"


def verified(capsys: pytest.CaptureFixture[str], *names: str) -> dict[str, list[str]]:
    """What is said of each case beside its verdicts."""
    cases = [text for name in names for text in ("--case", f"cases.py:{name}")]
    capsys.readouterr()
    assert run(["verify", "decoder.py", *cases, "--remat", "none", "--no-measure", "--format", "json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    return {case["case"]: case["notes"] for case in found["cases"]}


@pytest.mark.whole
def test_a_decoder_is_timed_once_and_one_whose_loop_stays_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCANIFY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CI", raising=False)  # where no results are kept
    Path("pyproject.toml").touch()
    Path("cases.py").write_text(CASES)
    Path("decoder.py").write_text(dedent(DECODER))
    said = verified(capsys, "train", "decode")  # whether it is slower is the clock's to say
    assert not any("not timed" in note for note in said["cases.py:decode"])
    verified(capsys, "train", "decode")  # what jax keeps of compiled programs is read for the first time
    again = verified(capsys, "train", "decode")
    assert any("was not timed, as this result is kept from an earlier run" in note for note in again["cases.py:decode"])
    stays = DECODER.replace("zip(self.layers, caches):", "zip(self.layers, caches):  # scanify: ignore")
    Path("decoder.py").write_text(stays)
    assert not any(
        "slower" in note or "not timed" in note for note in verified(capsys, "train", "decode")["cases.py:decode"]
    )


def test_a_report_has_it_beside_the_notes_of_the_case() -> None:
    (said,) = own_notes(CaseResult("c", pace=Pace("call", 1.0, 9.0)))
    assert said.startswith("slower: the call takes 9 s")


def test_no_verdict_depends_on_it() -> None:
    assert CaseResult("c", pace=Pace("call", 1.0, 9.0)).good == CaseResult("c").good
