"""`verify --before --after` and `verify --against` from outside; verification itself stands in."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scanify.cli import run
from scanify.errors import Exit
from scanify.verify.mesh.on_mesh import OnMesh
from scanify.verify.training.losses import Losses, Step
from scanify.verify.verdict import CaseResult, PolicyResult, Status, Verdict, Verification

PROVED = Verdict(Status.PROVED)


class Stand:
    """Stands in for `scanify.verify.run.verify`."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def __call__(self, changes: Mapping[Path, Any], cases: Any, **options: Any) -> Verification:
        self.calls.append({"changes": dict(changes), "cases": [case.text for case in cases], **options})
        results = tuple(PolicyResult(str(policy), PROVED, PROVED) for policy in options["policies"])
        return Verification(tuple(CaseResult(case.text, PROVED, results) for case in cases), (("jax", "0"),))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    for name, text in {"loop.py": "x = 1\n", "scan.py": "x = 2\n", "cases.py": "def f(module): ...\n"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def stand(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Stand:
    stand = Stand()
    monkeypatch.setattr("scanify.verify.run.verify", stand)
    return stand


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(folder: Path) -> Path:
    git(folder, "init", "--quiet")
    git(folder, "add", "loop.py", "scan.py")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder


CASE = ["--case", "cases.py:f"]
TWO = ["verify", "--before", "loop.py", "--after", "scan.py", *CASE]


class TestTwoFiles:
    def test_both_are_in_both_versions_and_the_case_is_given_each(self, stand: Stand, folder: Path) -> None:
        assert run(TWO) == Exit.OK
        (call,) = stand.calls
        assert call["changes"] == {folder / "loop.py": (b"x = 1\n",) * 2, folder / "scan.py": (b"x = 2\n",) * 2}
        assert (call["target"], call["rewritten_target"]) == (folder / "loop.py", folder / "scan.py")
        assert (call["policies"], call["requested"]) == ((None,), None)

    def test_policies_override_what_is_written(self, stand: Stand) -> None:
        assert run([*TWO, "--remat", "nested", "--remat", "False"]) == Exit.OK
        assert (stand.calls[0]["policies"], stand.calls[0]["requested"]) == (("nested", "none"), None)

    def test_the_report_has_the_difference_of_the_two(self, stand: Stand, capsys: pytest.CaptureFixture[str]) -> None:
        assert run([*TWO, "--format", "html", "--output", "report.html"]) == Exit.OK
        assert capsys.readouterr().out.endswith("report.html: the report\n")
        page = Path("report.html").read_text()
        assert "scan.py" in page and "x = 2" in page

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--before", "loop.py"], "--before and --after go together"),
            (["--before", "loop.py", "--after", "gone.py"], "--after: expected a Python file, got gone.py"),
            (["--before", ".", "--after", "scan.py"], "--before: expected a Python file, got ., which is a folder"),
            (["--before", "loop.py", "--after", "./loop.py"], "are the same file"),
            (["--before", "loop.py", "--after", "notes.md"], "only Python files (.py) can be verified; got notes.md"),
            (["--before", "loop.py", "--after", "scan.py", "model.py"], "leave out model.py"),
            (["--before", "loop.py", "--after", "scan.py", "--against", "HEAD"], "give one of them"),
            (
                ["--before", "loop.py", "--after", "scan.py", "--stack", "init"],
                "--stack, --accept, --target and --target-version are how",
            ),
            ([], "expected a FILE to rewrite and verify, or --before A.py --after B.py, or --against REV"),
        ],
    )
    def test_wrong_usage_says_what_to_give(
        self, stand: Stand, folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "notes.md").write_text("")
        assert run(["verify", *arguments, *CASE]) == Exit.USAGE
        assert message in capsys.readouterr().err
        assert stand.calls == []


class TestAgainst:
    def test_the_only_file_that_changed_is_given_to_the_case(self, stand: Stand, repository: Path) -> None:
        (repository / "loop.py").write_text("x = 3\n")
        assert run(["verify", "--against", "HEAD", *CASE]) == Exit.OK
        (call,) = stand.calls
        path = repository.resolve() / "loop.py"
        assert call["changes"] == {path: (b"x = 1\n", b"x = 3\n")}
        assert call["target"] == call["rewritten_target"] == path
        assert call["policies"] == (None,)

    def test_where_data_files_differ_the_original_lies_in_its_own_tree(self, stand: Stand, repository: Path) -> None:
        (repository / "config.json").write_text("{}")
        assert run(["verify", "--against", "HEAD", *CASE]) == Exit.USAGE  # of which file?
        for text in ("x = 1\n", "x = 3\n"):
            stand.calls.clear()
            (repository / "loop.py").write_text(text)
            assert run(["verify", "--against", "HEAD", "loop.py", *CASE]) == Exit.OK
            (call,) = stand.calls
            assert "config.json" in [path.name for path in call["data"]]
            assert all(path.suffix != ".py" for path in call["data"])
            assert call["target"] == call["rewritten_target"] == repository / "loop.py"
            assert call["changes"] == {repository / "loop.py": (b"x = 1\n", text.encode())}
            with call["tree"]() as tree:
                assert tree.place(call["target"]).read_text() == "x = 1\n" and tree.here == repository.resolve()

    def test_a_case_file_is_no_part_of_the_change(self, stand: Stand, repository: Path) -> None:
        """It is new here; were it part of the change, the original would have none."""
        (repository / "scan.py").unlink()
        (repository / "new.py").write_text("")
        assert run(["verify", "--against", "HEAD", "loop.py", *CASE]) == Exit.OK
        changes = {path.name: texts for path, texts in stand.calls[0]["changes"].items()}
        assert changes == {"scan.py": (b"x = 2\n", None), "new.py": (None, b"")}
        assert stand.calls[0]["target"] == repository / "loop.py"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["HEAD"], "2 files changed since HEAD (loop.py, scan.py); name the one that the cases are for"),
            (["HEAD", "new.py"], "new.py does not exist in HEAD"),
            (["HEAD", "gone.py"], "--against: expected a Python file, got gone.py, which does not exist"),
            (["nowhere", "loop.py"], "expected a revision of the git repository"),
        ],
    )
    def test_what_is_not_there_is_named(
        self, stand: Stand, repository: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for name in ("loop.py", "scan.py", "new.py"):
            (repository / name).write_text("x = 4\n")
        assert run(["verify", "--against", *arguments, *CASE]) == Exit.USAGE
        assert message in capsys.readouterr().err
        assert stand.calls == []

    def test_verifying_nothing_is_no_success(
        self, stand: Stand, repository: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["verify", "--against", "HEAD", *CASE]) == Exit.USAGE
        error = capsys.readouterr().err
        assert "nothing to verify: no Python file differs between HEAD and the working tree" in error


class TestAgainstWithoutAFile:
    """Every case is called with the module of the file that it is for; the change is that of all files."""

    CASES = """\
def loop(module):
    return module.Loop(), ()

def scan(module):
    return module.Scan(), ()

def unclear(module):
    ...
"""

    @pytest.fixture
    def models(self, repository: Path) -> Path:
        (repository / "loop.py").write_text("class Loop: ...\n")
        (repository / "scan.py").write_text("class Scan: ...\n")
        (repository / "cases.py").write_text(self.CASES)
        git(repository, "add", ".")
        git(repository, "commit", "--quiet", "-m", "models")
        for name in ("loop.py", "scan.py"):
            (repository / name).write_text((repository / name).read_text() + "x = 1\n")
        return repository

    def test_each_case_is_for_the_file_that_has_what_it_takes(self, stand: Stand, models: Path) -> None:
        assert run(["verify", "--against", "HEAD", "--case", "cases.py:loop", "--case", "cases.py:scan"]) == Exit.OK
        assert [(call["cases"], call["target"].name) for call in stand.calls] == [
            (["cases.py:loop"], "loop.py"),
            (["cases.py:scan"], "scan.py"),
        ]
        changed = [{path.name for path in call["changes"]} for call in stand.calls]
        assert changed == [{"loop.py", "scan.py"}] * 2

    def test_or_that_the_configuration_names(self, stand: Stand, models: Path) -> None:
        (models / "pyproject.toml").write_text(
            "[tool.scanify.cases]\na = 'cases.py:loop'\nb = {case = 'cases.py:unclear', file = 'scan.py'}\n"
        )
        assert run(["verify", "--against", "HEAD"]) == Exit.OK
        assert [call["target"].name for call in stand.calls] == ["loop.py", "scan.py"]

    def test_one_that_did_not_change_itself_may_use_what_did(self, stand: Stand, models: Path) -> None:
        git(models, "checkout", "--quiet", "scan.py")
        assert run(["verify", "--against", "HEAD", "--case", "cases.py:scan"]) == Exit.OK
        (call,) = stand.calls
        assert (call["target"].name, {path.name for path in call["changes"]}) == ("scan.py", {"loop.py"})

    def test_where_that_is_not_clear_it_says_what_to_do(
        self, stand: Stand, models: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["verify", "--against", "HEAD", "--case", "cases.py:unclear"]) == Exit.USAGE
        error = capsys.readouterr().err
        assert "2 files changed since HEAD (loop.py, scan.py); name the one that the cases are for" in error
        assert "shows no name that it takes from its module" in error and stand.calls == []

    def test_a_new_file_is_named_and_the_others_are_verified(
        self, stand: Stand, models: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (models / "new.py").write_text("class New: ...\n")
        (models / "cases.py").write_text(self.CASES + "\ndef new(module):\n    return module.New(), ()\n")
        new = ["verify", "--against", "HEAD", "--case", "cases.py:new"]
        assert run([*new, "--case", "cases.py:loop"]) == Exit.OK
        assert [call["target"].name for call in stand.calls] == ["loop.py"]
        assert "not verified: new.py does not exist in HEAD" in capsys.readouterr().err
        assert run(new) == Exit.USAGE and "new.py does not exist in HEAD" in capsys.readouterr().err


class TestTheCache:
    def test_results_are_kept_at_the_top_of_the_project_unless_told_not_to(self, stand: Stand, folder: Path) -> None:
        run(TWO)
        run([*TWO, "--no-cache"])
        kept, not_kept = (call["cache"] for call in stand.calls)
        assert kept.folder == folder / ".scanify_cache" and not_kept is None


def test_every_format_can_be_asked_for() -> None:
    from scanify.commands.verify import FORMATS
    from scanify.report import formats

    assert ("text", *formats.FORMATS) == FORMATS


@pytest.mark.parametrize("form", ["json", "markdown", "junit", "html", "text"])
def test_a_report_goes_to_standard_output_or_to_a_file(
    stand: Stand, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run([*TWO, "--format", form])
    printed = capsys.readouterr().out
    run([*TWO, "--format", form, "--output", "report"])
    verdict = "PROVED: 1 case, 1 remat policy: equal for all inputs of these shapes and dtypes"
    assert capsys.readouterr().out == f"{verdict}\nreport: the report\n"
    assert Path("report").read_text() == printed


class TestMesh:
    """`--mesh` runs the cases once more, on a mesh."""

    MESHED = "scanify.verify.mesh.partitioned:partitioned_case"

    @pytest.fixture
    def meshed(self, stand: Stand, monkeypatch: pytest.MonkeyPatch) -> dict[str, CaseResult]:
        """What the run on the mesh answers, by the case."""
        answers = {"cases.py:f": CaseResult("cases.py:f", on_mesh=OnMesh((("data", 8),)))}

        def verify(changes: Any, cases: Any, **options: Any) -> Verification:
            done = stand(changes, cases, **options)
            return done if not options.get("mesh") else Verification(tuple(answers[case.text] for case in cases))

        monkeypatch.setattr("scanify.verify.run.verify", verify)
        return answers

    def test_its_figures_are_shown_beside_the_verdicts(
        self, stand: Stand, meshed: dict[str, CaseResult], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run([*TWO, "--mesh", "8"]) == Exit.OK
        assert [(call["comparer"] == self.MESHED, call.get("mesh", ())) for call in stand.calls] == [
            (False, ()),
            (True, (("data", 8),)),
        ]
        printed = capsys.readouterr().out
        assert "on 8 virtual devices (data=8)" in printed and "PROVED" in printed

    def test_a_case_that_cannot_be_compiled_for_it_fails(
        self, meshed: dict[str, CaseResult], capsys: pytest.CaptureFixture[str]
    ) -> None:
        meshed["cases.py:f"] = CaseResult("cases.py:f", error="it does not fit")
        assert run([*TWO, "--mesh", "2x4"]) == Exit.VERIFICATION
        assert "on the mesh: it does not fit" in capsys.readouterr().out

    def test_without_it_nothing_more_is_run(self, stand: Stand) -> None:
        assert run(TWO) == Exit.OK
        assert len(stand.calls) == 1

    def test_what_is_no_mesh_is_told_before_anything_runs(
        self, stand: Stand, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run([*TWO, "--mesh", "two"]) == Exit.USAGE
        assert "a mesh is sizes, as 2x4" in capsys.readouterr().err
        assert not stand.calls


def test_a_report_that_cannot_be_written_is_told(stand: Stand, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*TWO, "--output", "no/such/folder/report"]) == Exit.USAGE
    assert "--output: no/such/folder/report cannot be written: No such file" in capsys.readouterr().err


class TestSteps:
    """`--steps` runs the cases once more, and trains both versions."""

    COMPARER = "scanify.verify.training.side_by_side:trained_case"

    @pytest.fixture
    def trained(self, stand: Stand, monkeypatch: pytest.MonkeyPatch) -> dict[str, CaseResult]:
        """The answers of the run that trains, by the case."""
        steps = (Step(2.0, 2.0, equal=True), Step(1.0, 1.5, equal=False, relative=0.5))
        losses = Losses("SGD (rate 0.01)", "the output", 9, steps)
        tested = Verdict(Status.TESTED, "2 steps: close")
        answers = {"cases.py:f": CaseResult("cases.py:f", training=tested, losses=losses)}

        def verify(changes: Any, cases: Any, **options: Any) -> Verification:
            done = stand(changes, cases, **options)
            return done if not options.get("steps") else Verification(tuple(answers[case.text] for case in cases))

        monkeypatch.setattr("scanify.verify.run.verify", verify)
        return answers

    def test_the_losses_are_shown_beside_the_verdicts(
        self, stand: Stand, trained: dict[str, CaseResult], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run([*TWO, "--remat", "nested", "--steps", "2"]) == Exit.OK
        assert [
            (call["comparer"] == self.COMPARER, call.get("steps", 0), call["policies"]) for call in stand.calls
        ] == [
            (False, 0, ("nested",)),
            (True, 2, (None,)),
        ]
        printed = capsys.readouterr().out
        assert "losses of 2 steps: the output, SGD (rate 0.01)" in printed and "PROVED" in printed

    def test_losses_that_differ_fail(self, trained: dict[str, CaseResult], capsys: pytest.CaptureFixture[str]) -> None:
        trained["cases.py:f"] = CaseResult("cases.py:f", training=Verdict(Status.FAILED, "they part"))
        assert run([*TWO, "--steps", "2"]) == Exit.VERIFICATION
        assert "training FAILED  they part" in capsys.readouterr().out

    def test_a_case_that_cannot_be_trained_is_not_run(
        self, trained: dict[str, CaseResult], capsys: pytest.CaptureFixture[str]
    ) -> None:
        trained["cases.py:f"] = CaseResult("cases.py:f", error="it took too long")
        assert run([*TWO, "--steps", "2"]) == Exit.VERIFICATION
        assert "training NOT RUN  it took too long" in capsys.readouterr().out

    def test_models_without_weights_are_not_trained(self, stand: Stand, capsys: pytest.CaptureFixture[str]) -> None:
        assert run([*TWO, "--steps", "2", "--abstract"]) == Exit.USAGE
        assert "--steps trains the model, and --abstract builds it without weights" in capsys.readouterr().err
        assert run([*TWO, "--steps", "0"]) == Exit.USAGE and not stand.calls
