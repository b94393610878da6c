"""`verify` and `rewrite --case` from outside: what is asked of verification, and what follows from its answer.

Verification itself stands in: it is recorded what it was given, and it answers what the test wants.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scanify.cache_folder import FOLDER
from scanify.cli import run
from scanify.errors import Exit
from scanify.verify.verdict import CaseResult, LoopRun, PolicyResult, Status, Verdict, Verification

PROVED, FAILED = Verdict(Status.PROVED), Verdict(Status.FAILED, "the outputs differ")

MODEL = """\
import equinox as eqx
import jax


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __call__(self, x):
        return x + self.linear(x)


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, *, key):
        self.layers = [Block(eqx.nn.Linear(4, 4, key=k)) for k in jax.random.split(key, 3)]

    def __call__(self, x, act):
        for layer in self.layers:
            x = layer(x)
        return x
"""
UNSAFE = MODEL.replace("x = layer(x)", "x = act(layer(x))")


class Stand:
    """Stands in for `scanify.verify.run.verify`."""

    def __init__(self) -> None:
        self.good = True
        self.reached: tuple[LoopRun, ...] = ()
        self.calls: list[dict[str, Any]] = []

    def __call__(self, changes: Mapping[Path, tuple[bytes, bytes]], cases: Any, **options: Any) -> Verification:
        if "reached" in options.get("comparer", ""):
            return Verification((CaseResult(cases[0].text, loops=self.reached),))
        self.calls.append({"changes": dict(changes), "cases": [case.text for case in cases], **options})
        outputs = PROVED if self.good else FAILED
        results = tuple(PolicyResult(policy, outputs, outputs) for policy in options["policies"])
        return Verification(tuple(CaseResult(case.text, PROVED, results) for case in cases), (("jax", "0"),))


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stand:
    stand = Stand()
    monkeypatch.setattr("scanify.verify.run.verify", stand)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "cases.py").write_text("def f(module): ...\ndef g(module): ...\n")
    return stand


class TestRewrite:
    def test_a_verified_rewrite_is_written(self, stand: Stand, tmp_path: Path) -> None:
        assert run(["rewrite", "model.py", "--remat", "nested", "--case", "cases.py:f"]) == Exit.OK
        (call,) = stand.calls
        before, after = call["changes"][tmp_path / "model.py"]
        assert (before, after) == (MODEL.encode(), (tmp_path / "model.py").read_bytes())
        assert before != after
        assert (call["cases"], call["requested"], call["target"]) == (["cases.py:f"], "nested", tmp_path / "model.py")
        assert call["policies"] == ("none", "full", "nested", "offload", "save_all", "dots")

    @pytest.mark.parametrize("options", [[], ["--diff"], ["--check"], ["--unsafe"]], ids=str)
    def test_a_rewrite_that_fails_is_3_and_not_written(
        self, stand: Stand, tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        stand.good = False
        assert run(["rewrite", "model.py", "--case", "cases.py:f", *options]) == Exit.VERIFICATION
        assert (tmp_path / "model.py").read_text() == MODEL
        error = capsys.readouterr().err
        assert "FAILED" in error
        assert error.endswith("scanify: verification failed; no file was changed\n")

    def test_what_a_look_has_proved_is_kept_for_the_rewrite(
        self, stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("CI", raising=False)
        for options in (["--diff"], ["--no-cache", "--diff"], []):
            run(["rewrite", "model.py", "--case", "cases.py:f", *options])
        run(["unroll", "model.py", "--case", "cases.py:f"])
        kept = [call["cache"] and call["cache"].folder for call in stand.calls]
        assert kept == [tmp_path / FOLDER, None, tmp_path / FOLDER, tmp_path / FOLDER]

    def test_the_cases_of_the_configuration_run_unless_told_not_to(self, stand: Stand, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text('[tool.scanify.cases]\nfirst = "cases.py:f"\nlast = "cases.py:g"\n')
        run(["rewrite", "model.py", "--diff"])
        run(["rewrite", "model.py", "--diff", "--case", "last"])
        run(["rewrite", "model.py", "--diff", "--no-verify"])
        assert [call["cases"] for call in stand.calls] == [["cases.py:f", "cases.py:g"], ["cases.py:g"]]

    def test_where_nothing_changes_no_case_runs(self, stand: Stand, tmp_path: Path) -> None:
        (tmp_path / "model.py").write_text("x = 1\n")
        assert run(["rewrite", "model.py", "--case", "cases.py:f"]) == Exit.OK
        assert stand.calls == []

    def test_an_unsafe_fix_is_written_where_a_case_reaches_it(self, stand: Stand, tmp_path: Path) -> None:
        (tmp_path / "model.py").write_text(UNSAFE)
        assert run(["rewrite", "model.py"]) == Exit.OK
        stand.reached = (LoopRun(str(tmp_path / "model.py"), UNSAFE[: UNSAFE.index("x = act")].count("\n") + 1, "", 3),)
        assert run(["rewrite", "model.py", "--case", "cases.py:f"]) == Exit.OK
        assert "ArrayStacked" in (tmp_path / "model.py").read_text()

    def test_an_unsafe_fix_that_no_case_reaches_is_held_back(
        self, stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "model.py").write_text(UNSAFE)
        assert run(["rewrite", "model.py", "--case", "cases.py:f"]) == Exit.OK
        assert (tmp_path / "model.py").read_text() == UNSAFE
        error = capsys.readouterr().err
        assert "help: no case reaches this loop; give one that does" in error
        assert "1 loop held back" in error

    def test_which_of_several_files_a_case_means_is_not_guessed(
        self, stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "other.py").write_text(MODEL)
        assert run(["rewrite", ".", "--case", "cases.py:f"]) == Exit.USAGE
        assert "2 would change (model.py, other.py); name one" in capsys.readouterr().err
        assert (tmp_path / "model.py").read_text() == MODEL
        (tmp_path / "other.py").write_text("x = 1\n")
        assert run(["rewrite", ".", "--case", "cases.py:f", "--diff"]) == Exit.FINDINGS
        assert stand.calls[-1]["target"] == tmp_path / "model.py"


class TestVerify:
    def test_good_is_0_and_nothing_is_written(
        self, stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["verify", "model.py", "--case", "cases.py:f"]) == Exit.OK
        assert (tmp_path / "model.py").read_text() == MODEL
        assert "PROVED" in capsys.readouterr().out
        assert (stand.calls[0]["measure"], stand.calls[0]["abstract"]) == (True, False)

    def test_a_failure_is_3(self, stand: Stand) -> None:
        stand.good = False
        assert run(["verify", "model.py", "--case", "cases.py:f"]) == Exit.VERIFICATION

    def test_json_goes_to_standard_output_alone(self, stand: Stand, capsys: pytest.CaptureFixture[str]) -> None:
        run(["verify", "model.py", "--case", "cases.py:f", "--remat", "nested", "--format", "json"])
        document = json.loads(capsys.readouterr().out)
        assert [each["policy"] for each in document["cases"][0]["policies"]] == ["nested"]

    def test_options_reach_the_run(self, stand: Stand) -> None:
        options = ["--abstract", "--time-limit", "7.5", "--memory-limit", "2GiB", "--no-measure", "--remat", "False"]
        assert run(["verify", "model.py", "--case", "cases.py:f", "--case", "cases.py:g", *options]) == Exit.OK
        (call,) = stand.calls
        assert (call["abstract"], call["measure"], call["policies"]) == (True, False, ("none",))
        assert (call["limits"].seconds, call["limits"].memory) == (7.5, 2 * 1024**3)
        assert call["cases"] == ["cases.py:f", "cases.py:g"]

    def test_an_unsafe_fix_is_verified_too(self, stand: Stand, tmp_path: Path) -> None:
        (tmp_path / "model.py").write_text(UNSAFE)
        assert run(["verify", "model.py", "--case", "cases.py:f"]) == Exit.OK
        assert list(stand.calls[0]["changes"]) == [tmp_path / "model.py"]

    def test_verifying_nothing_is_no_success(
        self, stand: Stand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "model.py").write_text("x = 1\n")
        assert run(["verify", "model.py", "--case", "cases.py:f"]) == Exit.USAGE
        assert "nothing to verify: no loop in model.py can be rewritten" in capsys.readouterr().err
        assert stand.calls == []
