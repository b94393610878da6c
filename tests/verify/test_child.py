"""What the child makes of a case: the two versions that are compared, and a message for everything that goes wrong.

The cases run in this process, with a comparer that only calls both models; the child as a process is in test_run.
"""

import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scanify.verify.cases.case import CaseSpec
from scanify.verify.children.child import run_case
from scanify.verify.request import Change, Request
from scanify.verify.verdict import CaseResult

COMPARER = """
from scanify.errors import ScanifyError
from scanify.verify.verdict import CaseResult

def call_both(name, before, after, *, policies, requested, abstract, measure, files):
    found = []
    for build in (before, after):
        model, args, kwargs = build()
        found.append(str(model(*args, **kwargs)))
    return CaseResult(name, findings=tuple(found), seconds=(("compare", 1.0),))

def options(name, before, after, **options):
    options.pop("files")
    return CaseResult(name, findings=tuple(f"{key}={value}" for key, value in options.items()))

def swallow(name, before, after, **options):
    for build in (before, after):
        try:
            build()
        except (Exception, SystemExit):
            pass
    return CaseResult(name)

def broken(name, before, after, **options):
    return [][0]

def refusing(name, before, after, **options):
    raise ScanifyError("the comparer says no")

def library_call(name, before, after, **options):
    raise TypeError("raised where no line of the user's is")
"""

MODEL = """
def model(x):
    return 2 * x
"""
CASES = """
def twice(module):
    return module.model, (21,)
"""

Run = Callable[..., CaseResult]


@pytest.fixture
def run(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `twice` of `cases` on the `original` and the `rewritten` model."""
    comparers = tmp_path_factory.mktemp("comparers")
    (comparers / "written_comparers.py").write_text(COMPARER)
    monkeypatch.syspath_prepend(comparers)

    def run(
        *,
        cases: str = CASES,
        original: str = MODEL,
        rewritten: str = MODEL,
        comparer: str = "call_both",
        function: str = "twice",
        **options: object,
    ) -> CaseResult:
        (tmp_path / "cases.py").write_text(textwrap.dedent(cases))
        (tmp_path / "model.py").write_text("raise AssertionError('the file itself must not be read')")
        model = tmp_path / "model.py"
        request = Request(
            case=CaseSpec(tmp_path / "cases.py", function, f"cases.py:{function}"),
            target=model,
            changes=(Change(model, textwrap.dedent(original).encode(), textwrap.dedent(rewritten).encode()),),
            policies=("False", "nested"),
            requested="nested",
            abstract=False,
            measure=True,
            directory=tmp_path,
            comparer=f"written_comparers:{comparer}",
        )
        (result,) = run_case(replace(request, **options))  # type: ignore[arg-type]
        return result

    return run


def test_the_comparer_gets_the_original_and_the_rewritten_version(run: Run) -> None:
    result = run(rewritten="def model(x): return 3 * x")
    assert (result.case, result.error, result.findings) == ("cases.py:twice", None, ("42", "63"))


def test_the_steps_are_timed_and_the_comparers_steps_follow(run: Run) -> None:
    assert [step for step, _ in run().seconds] == ["import jax", "load original", "load rewritten", "compare"]


def test_the_comparer_gets_the_options(run: Run) -> None:
    assert run(comparer="options").findings == (
        "policies=('False', 'nested')",
        "requested=nested",
        "abstract=False",
        "measure=True",
    )


def test_keyword_arguments_of_the_call_are_passed_on(run: Run) -> None:
    result = run(cases="def twice(module): return module.model, (), {'x': 5}")
    assert result.findings == ("10", "10")


def test_a_case_that_imports_the_model_itself_gets_both_versions(run: Run) -> None:
    result = run(
        cases="import model\ndef twice(module): return module.model, (1 if module is model else 0,)",
        rewritten="def model(x): return 3 * x",
    )
    assert result.findings == ("2", "3")


def test_the_case_file_is_loaded_anew_for_each_version(run: Run) -> None:
    cases = "count = [0]\ndef twice(module):\n    count[0] += 1\n    return module.model, (count[0],)"
    assert run(cases=cases).findings == ("2", "2")


def error_of(result: CaseResult) -> str:
    assert result.error is not None and result.policies == () and not result.good
    assert "Traceback" not in result.error and str(Path(__file__).parents[2] / "scanify") not in result.error
    return result.error


def test_a_missing_function_is_named_with_those_there_are(run: Run) -> None:
    assert error_of(run(function="once")) == "cases.py has no function 'once'; it has twice"


def test_a_case_that_raises_shows_the_users_own_lines(run: Run) -> None:
    cases = """
        def config():
            raise ValueError("no width")
        def twice(module):
            return module.model, (config(),)
    """
    assert error_of(run(cases=cases)) == (
        "cases.py:twice failed with the original model.py:\n"
        "  cases.py:5, in twice\n"
        "    return module.model, (config(),)\n"
        "  cases.py:3, in config\n"
        '    raise ValueError("no width")\n'
        "ValueError: no width"
    )


def test_a_case_that_raises_with_the_rewritten_module_only_says_so(run: Run) -> None:
    error = error_of(run(rewritten="MODEL = 1"))
    assert error.startswith("cases.py:twice failed with the rewritten model.py:\n  cases.py:3, in twice\n")
    assert error.splitlines()[-1].startswith("AttributeError: module 'model' has no attribute 'model'")


def test_an_error_of_the_case_survives_a_comparer_that_swallows_it(run: Run) -> None:
    cases = "def twice(module): raise ValueError('boom')"
    assert error_of(run(cases=cases, comparer="swallow")).endswith("ValueError: boom")


def test_an_exception_of_the_rewritten_case_is_a_verdict_for_the_comparer(run: Run) -> None:
    result = run(rewritten="MODEL = 1", comparer="swallow")
    assert result == CaseResult("cases.py:twice", seconds=result.seconds)


def test_an_exit_of_the_rewritten_case_ends_the_comparison(run: Run) -> None:
    error = error_of(run(rewritten="import sys\ndef __getattr__(name): sys.exit(name)", comparer="swallow"))
    assert error.startswith("cases.py:twice failed with the rewritten model.py, as it calls sys.exit:")


@pytest.mark.parametrize(
    ("returned", "came"),
    [("None", "got None"), ("(module.model,)", "got a tuple of 1 (function)"), ("(3, ())", "got an int")],
)
def test_a_case_that_returns_nonsense_says_what_came(run: Run, returned: str, came: str) -> None:
    error = error_of(run(cases=f"def twice(module): return {returned}"))
    assert error.startswith("cases.py:twice: expected the case to return (model, args)") and came in error


def test_a_case_that_exits_says_so(run: Run) -> None:
    error = error_of(run(cases="import sys\ndef twice(module): sys.exit(0)"))
    assert error.startswith("cases.py:twice failed with the original model.py, as it calls sys.exit:\n  cases.py:2")
    assert error.endswith("SystemExit: 0")


def test_a_case_file_that_does_not_import_shows_its_line(run: Run) -> None:
    error = error_of(run(cases="import no_such_library\n" + CASES))
    assert error == (
        "cases.py does not import:\n"
        "  cases.py:1\n"
        "    import no_such_library\n"
        "ModuleNotFoundError: No module named 'no_such_library'"
    )


def test_a_case_file_with_a_syntax_error_shows_its_line(run: Run) -> None:
    error = error_of(run(cases="x = 1\ndef twice(module:\n    pass\n"))
    assert error == "cases.py does not import:\n  cases.py:2\n    def twice(module:\nSyntaxError: '(' was never closed"


def test_a_case_file_that_exits_when_imported_says_so(run: Run) -> None:
    assert error_of(run(cases="raise SystemExit('no GPU')")).startswith(
        "cases.py does not import, as it calls sys.exit:"
    )


def test_a_case_file_that_does_not_import_with_the_rewritten_model_says_so(run: Run) -> None:
    error = error_of(run(cases="from model import model\n" + CASES, rewritten="other = 1"))
    assert error.startswith("cases.py does not import with the rewritten model.py:\n  cases.py:1\n")


@pytest.mark.parametrize("version", ["original", "rewritten"])
def test_a_model_file_that_does_not_import_names_its_version_and_line(run: Run, version: str) -> None:
    error = error_of(run(**{version: "x = 1\ny = x + nope\n"}))
    assert error == (
        f"the {version} model.py does not import:\n"
        "  model.py:2\n"
        "    y = x + nope\n"
        "NameError: name 'nope' is not defined"
    )


def test_a_rewritten_file_with_a_syntax_error_shows_its_line(run: Run) -> None:
    assert error_of(run(rewritten="def model(x: return x\n")).startswith(
        "the rewritten model.py does not import:\n  model.py:1\n    def model(x: return x\nSyntaxError: "
    )


@pytest.mark.parametrize("version", ["original", "rewritten"])
def test_a_model_that_raises_when_called_names_its_version_and_line(run: Run, version: str) -> None:
    raising = "def model(x):\n    # never\n    raise RuntimeError('no such shape')\n"
    error = error_of(run(**{version: raising}))
    assert error == (
        f"cases.py:twice: the {version} model raised when called:\n"
        "  model.py:3, in model\n"
        "    raise RuntimeError('no such shape')\n"
        "RuntimeError: no such shape"
    )


@pytest.mark.parametrize("version", ["original", "rewritten"])
def test_a_model_that_raises_in_a_library_alone_names_its_version(run: Run, version: str) -> None:
    good, bad = "import jax.numpy as jnp\nmodel = jnp.tanh", "import jax.numpy as jnp\nmodel = jnp.linalg.inv"
    models = {"original": good, "rewritten": good} | {version: bad}
    error = error_of(run(cases=CASES.replace("21", "1.0"), comparer="library_call", **models))
    assert error.startswith(f"cases.py:twice: the {version} model raised when called:\nValueError: ")


def test_a_defect_of_the_comparer_is_told_as_one_with_its_place(run: Run) -> None:
    error = error_of(run(comparer="broken"))
    assert error.startswith("internal error of scanify while it compared the two versions: IndexError: list index")
    assert "(written_comparers.py:" in error and "please report it" in error


def test_a_library_that_does_not_import_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "equinox", None)
    error = error_of(run())
    assert error.startswith(f"equinox is installed but does not import in {sys.executable}: ModuleNotFoundError: ")


def test_a_message_of_the_comparer_is_passed_on(run: Run) -> None:
    assert error_of(run(comparer="refusing")) == "the comparer says no"


def test_a_message_that_cannot_be_shown_does_no_harm(run: Run) -> None:
    cases = """
        class Odd(Exception):
            def __str__(self): raise ValueError
        def twice(module): raise Odd
    """
    assert error_of(run(cases=cases)).endswith("Odd: (its message cannot be shown)")


def test_a_long_traceback_and_a_long_message_are_cut(run: Run) -> None:
    cases = """
        def down(n):
            if n: down(n - 1)
            raise ValueError("\\n".join(map(str, range(100))))
        def twice(module): down(50)
    """
    lines = error_of(run(cases=cases)).splitlines()
    assert len(lines) < 45
    assert "    ... 44 calls left out ..." in lines and lines[-1] == "... 80 lines left out ..."
