"""`rewrite --remat auto` and `--advise` from outside: which policy is written, what is said, and with which exit code.

Verification stands in, but for one run of the real one.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scanify.cli import run
from scanify.errors import Exit
from scanify.verify.verdict import CaseResult, Measurement, PolicyResult, Status, Verdict, Verification

PROVED, FAILED = Verdict(Status.PROVED), Verdict(Status.FAILED, "the outputs differ")
MIB = 1024**2
# flops and MiB of each policy
COSTS = {
    "none": (30, 300),
    "full": (40, 30),
    "nested": (50, 20),
    "offload": (40, 10),
    "save_all": (30, 300),
    "dots": (35, 90),
}

MODEL = """\
import equinox as eqx
import jax


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __call__(self, x):
        return jax.numpy.tanh(self.linear(x))


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, *, key):
        self.layers = [Block(eqx.nn.Linear(4, 4, key=k)) for k in jax.random.split(key, 3)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
CASES = """\
import jax
import jax.numpy as jnp


def f(module):
    return module.Model(key=jax.random.key(0)), (jnp.ones(4),)
"""


def figures(policy: str | None) -> Measurement:
    flops, mib = COSTS[policy or "full"]
    return Measurement(
        temp_bytes=mib * MIB, argument_bytes=0, output_bytes=0, backend="cpu", flops=flops, moved_bytes=0
    )


class Stand:
    """Stands in for `scanify.verify.run.verify`: answers what is asked for, but FAILED for the policies in `bad`."""

    def __init__(self) -> None:
        self.bad: set[str | None] = set()
        self.again_bad = False
        self.calls: list[dict[str, Any]] = []
        self.timed: dict[str, float] = {"none": 0.5, "as written": 0.5}

    def __call__(self, changes: Mapping[Path, tuple[bytes, bytes]], cases: Any, **options: Any) -> Verification:
        self.calls.append({"changes": dict(changes), **options})
        if "timed_case" in options["comparer"]:
            scans = [PolicyResult(p, FAILED, FAILED, Measurement(step_seconds=s)) for p, s in self.timed.items()]
            return Verification(
                (CaseResult(cases[0].text, policies=tuple(scans), original=Measurement(step_seconds=0.1)),)
            )
        bad = set(COSTS) if self.again_bad and options["requested"] else self.bad
        results = [
            PolicyResult(
                str(p), FAILED if p in bad else PROVED, PROVED, figures(p) if options["measure"] else Measurement()
            )
            for p in options["policies"]
        ]
        return Verification(tuple(CaseResult(case.text, PROVED, tuple(results)) for case in cases))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "cases.py").write_text(CASES)
    return tmp_path


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Stand:
    stand = Stand()
    monkeypatch.setattr("scanify.verify.run.verify", stand)
    return stand


AUTO = ["rewrite", "model.py", "--remat", "auto", "--case", "cases.py:f"]


class TestChoosing:
    @pytest.mark.parametrize(
        ("budget", "written"),
        [([], "False"), (["--memory-budget", "100MiB"], '"dots"'), (["--memory-budget", "30MiB"], '"full"')],
    )
    def test_what_is_written(
        self, stand: Stand, folder: Path, budget: list[str], written: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run([*AUTO, *budget]) == Exit.OK
        text = (folder / "model.py").read_text()
        assert f"gradient_checkpointing={written}" in text
        said = capsys.readouterr().err
        assert "is the cheapest of" in said and "offload cannot be chosen (nothing goes to host memory on cpu)" in said
        assert said.endswith("1 loop rewritten in 1 file.\n")
        first, second = stand.calls
        assert (first["requested"], first["measure"], len(first["policies"])) == (None, True, 6)
        assert (second["measure"], second["policies"]) == (False, (second["requested"],))
        assert second["changes"][folder / "model.py"] == (MODEL.encode(), text.encode())

    def test_a_policy_that_fails_is_not_chosen(self, stand: Stand, folder: Path) -> None:
        stand.bad = {"none", "save_all"}
        assert run(AUTO) == Exit.OK
        assert 'gradient_checkpointing="dots"' in (folder / "model.py").read_text()

    @pytest.mark.parametrize("options", [[], ["--diff"], ["--check"]], ids=str)
    def test_nothing_fits_is_3_and_not_written(
        self, stand: Stand, folder: Path, options: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run([*AUTO, "--memory-budget", "10MiB", *options]) == Exit.VERIFICATION
        assert (folder / "model.py").read_text() == MODEL
        said = capsys.readouterr().err
        assert "scanify: no remat policy fits into 10 MiB: remat 'nested' needs the least, 20 MiB on cpu." in said
        assert said.endswith("scanify: no remat policy was chosen; no file was changed\n")

    def test_what_was_written_is_verified_itself(
        self, stand: Stand, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        stand.again_bad = True
        assert run(AUTO) == Exit.VERIFICATION
        assert (folder / "model.py").read_text() == MODEL
        assert capsys.readouterr().err.endswith("scanify: verification failed; no file was changed\n")

    @pytest.mark.parametrize("option", ["--diff", "--check"])
    def test_looking_writes_nothing(
        self, stand: Stand, folder: Path, option: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run([*AUTO, "--memory-budget", "30MiB", option]) == Exit.FINDINGS
        assert (folder / "model.py").read_text() == MODEL
        out = capsys.readouterr().out
        assert ('"full"' in out) == (option == "--diff")

    def test_where_nothing_changes_no_case_runs(self, stand: Stand, folder: Path) -> None:
        (folder / "model.py").write_text("x = 1\n")
        assert run(AUTO) == Exit.OK
        assert stand.calls == []

    def test_the_configuration_asks_for_it(self, stand: Stand, folder: Path) -> None:
        table = '[tool.scanify]\nremat = "auto"\nmemory-budget = "30MiB"\n[tool.scanify.cases]\nf = "cases.py:f"\n'
        (folder / "pyproject.toml").write_text(table)
        assert run(["rewrite", "model.py", "--diff", "--remat", "nested"]) == Exit.FINDINGS
        assert [call["requested"] for call in stand.calls] == ["nested"]
        assert run(["rewrite", "model.py"]) == Exit.OK
        assert 'gradient_checkpointing="full"' in (folder / "model.py").read_text()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--remat", "auto"], "remat auto chooses by what a case measures, and there is none: name one with"),
            (["--remat", "auto", "--no-verify"], "and leave out --no-verify"),
            (["--memory-budget", "1GiB", "--case", "cases.py:f"], "goes with --remat auto"),
            (["--memory-budget", "1GiB", "--remat", "full", "--case", "cases.py:f"], "here the policy is full"),
            (["--memory-budget", "much", "--remat", "auto", "--case", "cases.py:f"], "got 'much'"),
            (["--advise"], "--advise advises by what a case measures, and there is none"),
        ],
    )
    def test_wrong_usage_is_2(
        self, stand: Stand, folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["rewrite", "model.py", *arguments]) == Exit.USAGE
        assert message in capsys.readouterr().err
        assert (folder / "model.py").read_text() == MODEL
        assert stand.calls == []


class TestAdvice:
    def test_it_is_given_and_changes_nothing_else(
        self, stand: Stand, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["rewrite", "model.py", "--case", "cases.py:f", "--advise"]) == Exit.OK
        assert "ArrayStacked" in (folder / "model.py").read_text()
        said = " ".join(capsys.readouterr().err.split())
        assert "advice: cases.py:f: a step of the loop takes 0.1 s, one of the scan (none) 0.5 s" in said
        assert stand.calls[1]["policies"] == ("none", None)

    def test_where_there_is_nothing_to_say(self, stand: Stand, capsys: pytest.CaptureFixture[str]) -> None:
        stand.timed = {"none": 0.1, "as written": 0.1}
        assert run(["rewrite", "model.py", "--case", "cases.py:f", "--advise"]) == Exit.OK
        assert "advice: nothing that was measured speaks against scanning" in capsys.readouterr().err

    def test_what_failed_is_not_timed(self, stand: Stand) -> None:
        stand.bad = set(COSTS)
        assert run(["rewrite", "model.py", "--case", "cases.py:f", "--advise"]) == Exit.VERIFICATION
        assert len(stand.calls) == 1


class TestAdviceOfVerify:
    VERIFY = ("verify", "model.py", "--case", "cases.py:f", "--no-cache")

    @pytest.mark.parametrize("form", ["text", "json", "markdown", "junit", "html"])
    def test_it_is_in_the_report_and_leaves_the_exit_code_alone(
        self, stand: Stand, form: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run([*self.VERIFY, "--format", form]) == Exit.OK
        assert "of the scan" not in capsys.readouterr().out
        assert run([*self.VERIFY, "--format", form, "--advise"]) == Exit.OK
        assert "a step of the loop takes 0.1 s" in capsys.readouterr().out

    def test_of_a_version_written_by_hand(self, stand: Stand, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "other.py").write_text(MODEL)
        files = ["--before", "model.py", "--after", "other.py", "--case", "cases.py:f", "--no-cache"]
        assert run(["verify", *files, "--advise"]) == Exit.OK
        assert "advice: cases.py:f: a step of the loop" in capsys.readouterr().out
        assert stand.calls[1]["policies"] == ("none", None)

    def test_what_failed_is_not_timed(self, stand: Stand) -> None:
        stand.bad = set(COSTS)
        assert run([*self.VERIFY, "--advise"]) == Exit.VERIFICATION
        assert len(stand.calls) == 1


def test_with_the_real_verification(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three layers without anything to keep: what is chosen is one of those that compute least, and it is written.

    Without weights: XLA plans memory by shapes.
    """
    assert run([*AUTO, "--memory-budget", "1MiB", "--abstract"]) == Exit.OK
    said = capsys.readouterr().err
    assert "is the cheapest of those that fit into 1 MiB: its gradient needs" in said
    assert "and takes the fewest operations. The others:" in said
    assert "full" in said and "times" in said
    assert "gradient_checkpointing=" in (folder / "model.py").read_text()
    assert "for layer in" not in (folder / "model.py").read_text()
