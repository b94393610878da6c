"""Kept results: found again where nothing changed, and not where any one thing that they depend on did.

Each child that would run is stood in for: it imports the files, so what it reads is real, and answers that all is good.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from scanify.verify import run as run_module
from scanify.verify.cache import cache as cache_module
from scanify.verify.cache import consulted
from scanify.verify.cache.cache import Cache
from scanify.verify.cases.case import CaseSpec
from scanify.verify.children.codec import from_json, to_json
from scanify.verify.children.limits import Limits
from scanify.verify.children.process import Outcome
from scanify.verify.request import Request, Response
from scanify.verify.run import verify
from scanify.verify.verdict import CaseResult, PolicyResult, Status, Verdict, Verification
from scanify.verify.versions.versions import consulted_by, consulting_of, overlay_of, read_of, target_of

pytestmark = pytest.mark.usefixtures("nothing_reads_by_itself")
PROVED = Verdict(Status.PROVED)
CONSULTS = """
import os
from pathlib import Path

here = Path(__file__).parent
tokens = (here / "tokens.txt").read_text()
layers = int(os.environ.get("LAYERS", "4"))
more = "MORE_LAYERS" in os.environ
(here / "log.txt").write_text("ran")
log = (here / "log.txt").read_text()
try:
    weights = (here / "weights.txt").read_text()
except FileNotFoundError:
    weights = ""
flag = (here / "flag").exists()
names = [each.name for each in (here / "data").glob("*.txt")]
"""
FILES = {
    "pyproject.toml": "",
    "model.py": "from blocks import y\nimport helper_library",
    "blocks.py": "y = 1",
    "unread.py": "z = 1",
    "cases.py": "import inputs\ndef f(module): ...",
    "inputs.py": "x = 1\n" + CONSULTS,
    "tokens.txt": "1 2 3",
    "data/1.txt": "1",
}


@dataclass
class Child:
    """Stands in for `run_child`: imports what the request names, and answers `verdict` for each of `variants`."""

    verdict: Verdict = PROVED
    variants: int = 1
    runs: int = 0
    steps: list[str] = field(default_factory=list)

    def __call__(self, request: bytes, limits: Limits, **_: Any) -> Outcome:
        self.runs += 1
        asked = from_json(Request, json.loads(request))
        overlay = overlay_of(asked)
        with consulting_of(overlay) as record, overlay:
            for version in (overlay.original, overlay.rewritten):
                overlay.load(target_of(asked, version), version)
                overlay.load(asked.case.path, version)
        policies = tuple(PolicyResult(str(name), self.verdict, self.verdict) for name in asked.policies)
        results = (CaseResult(asked.case.text, self.verdict, policies, seconds=(("prove", 1.0),)),) * self.variants
        response = Response(
            results, read_of(overlay.original), read_of(overlay.rewritten), consulted_by(overlay, record)
        )
        return Outcome(json.dumps(to_json(response)).encode(), "printed", 2.0, 0)


Verify = Callable[..., Verification]


@pytest.fixture
def root(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    library = tmp_path_factory.mktemp("installed") / "site-packages"
    library.mkdir()
    (library / "helper_library.py").write_text("")
    monkeypatch.syspath_prepend(library)
    monkeypatch.chdir(tmp_path)
    # To look at all libraries that the tests have loaded would take a while, each time.
    loaded, places = {id(module) for module in sys.modules.values()}, consulted._places
    monkeypatch.setattr(consulted, "_places", lambda module: [] if id(module) in loaded else places(module))
    return tmp_path


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Child:
    child = Child()
    monkeypatch.setattr(run_module, "run_child", child)
    return child


@pytest.fixture
def run(root: Path) -> Verify:
    def run(
        *, before: str | None = None, after: str = "y = 2", target: str = "model.py", **options: Any
    ) -> Verification:
        sys.modules.pop("helper_library", None)
        text = (root / "blocks.py").read_bytes() if before is None else before.encode()
        options = {"policies": ["nested"], "requested": None, "cache": Cache(root / "kept")} | options
        changes = {root / "blocks.py": (text, after.encode()), root / "unread.py": (b"z = 1", b"z = 2")}
        case = CaseSpec(root / "cases.py", options.pop("function", "f"), "cases.py:f")
        return verify(changes, [case], target=root / target, **options)

    return run


def test_the_same_contents_are_not_verified_again(run: Verify, child: Child) -> None:
    child.variants = 2
    first, second = run(), run()
    assert child.runs == 1
    assert [case.cached for case in first.cases] == [False, False]
    assert [case.cached for case in second.cases] == [True, True]
    assert second.good and second.cases[0].policies == first.cases[0].policies
    assert second.cases[0].output == "printed"
    assert [[step for step, _ in case.seconds] for case in second.cases] == [["total"], []]


def write(name: str, text: str) -> Callable[[Path, pytest.MonkeyPatch], dict[str, Any]]:
    def change(root: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
        return {}

    return change


def given(**options: Any) -> Callable[[Path, pytest.MonkeyPatch], dict[str, Any]]:
    return lambda root, monkeypatch: options


def variable(name: str, value: str) -> Callable[[Path, pytest.MonkeyPatch], dict[str, Any]]:
    def change(root: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        monkeypatch.setenv(name, value)
        return {}

    return change


def attribute(owner: Any, name: str, value: Any) -> Callable[[Path, pytest.MonkeyPatch], dict[str, Any]]:
    def change(root: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        monkeypatch.setattr(owner, name, value)
        return {}

    return change


def packaged(metadata: str) -> Callable[[Path, pytest.MonkeyPatch], dict[str, Any]]:
    """A package is installed, as any may be imported; or in the place of another."""

    def change(root: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        place = next(Path(place) for place in sys.path if place.endswith("site-packages") and "installed" in place)
        info = place / "helper_library-2.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(metadata)
        return {}

    return change


def in_place(root: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """An installed file is edited, or replaced by one of the same version."""
    place = next(Path(place) for place in sys.path if place.endswith("site-packages") and "installed" in place)
    (place / "helper_library.py").write_text("x = 1\n")
    return {}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(write("blocks.py", "y = 3"), id="the original text of a changed file"),
        pytest.param(given(after="y = 3"), id="the rewritten text of a changed file"),
        pytest.param(write("model.py", "from blocks import y\nimport helper_library\n"), id="an unchanged neighbour"),
        pytest.param(write("cases.py", "import inputs\ndef f(module): return"), id="the case file"),
        pytest.param(write("inputs.py", "x = 2\n" + CONSULTS), id="what the case file imports"),
        pytest.param(write("helper_library.py", ""), id="a file that now shadows a library"),
        pytest.param(write("inputs/__init__.py", "x = 2"), id="a package that now shadows a module"),
        pytest.param(write("__init__.py", ""), id="a folder that became a package"),
        pytest.param(given(function="g"), id="the function of the case"),
        pytest.param(given(target="blocks.py"), id="the file that the case is given"),
        pytest.param(given(rewritten_target=Path("model.py")), id="a version written by hand"),
        pytest.param(given(policies=["full"]), id="the policies"),
        pytest.param(given(requested="nested"), id="the policy asked for"),
        pytest.param(given(abstract=True), id="abstract weights"),
        pytest.param(given(measure=False), id="measuring"),
        pytest.param(variable("JAX_ENABLE_X64", "1"), id="JAX_ENABLE_X64"),
        pytest.param(variable("JAX_DEFAULT_PRNG_IMPL", "rbg"), id="JAX_DEFAULT_PRNG_IMPL"),
        pytest.param(variable("XLA_FLAGS", "--xla_cpu_enable_fast_math=true"), id="XLA_FLAGS"),
        pytest.param(variable("EQX_ON_ERROR", "nan"), id="EQX_ON_ERROR"),
        pytest.param(variable("PYTHONPATH", "/elsewhere"), id="PYTHONPATH"),
        pytest.param(packaged("Name: helper-library\nVersion: 2.0\n"), id="an installed package"),
        pytest.param(in_place, id="a package that is changed in place"),
        pytest.param(write("tokens.txt", "1 2 4"), id="a file that the case reads"),
        pytest.param(write("weights.txt", "1.0"), id="a file that the case looked for"),
        pytest.param(write("flag", ""), id="a file that the case asks for"),
        pytest.param(write("data/2.txt", ""), id="a folder that the case lists"),
        pytest.param(variable("LAYERS", "5"), id="a variable that the case reads"),
        pytest.param(variable("MORE_LAYERS", "1"), id="a variable that the case asks for"),
        pytest.param(attribute(sys, "version", "4.0"), id="the version of Python"),
        pytest.param(attribute(cache_module, "_own_source", lambda: "other"), id="scanify's own source"),
        pytest.param(attribute(cache_module.platform, "machine", lambda: "other"), id="the kind of machine"),
        pytest.param(attribute(cache_module, "accelerators", lambda: ["/dev/nvidia7"]), id="a GPU"),
        pytest.param(attribute(cache_module, "FORMAT", 5), id="the format"),
    ],
)
def test_a_change_of_what_a_result_depends_on_runs_it_again(
    run: Verify, child: Child, root: Path, monkeypatch: pytest.MonkeyPatch, change: Any
) -> None:
    run()
    run()
    assert child.runs == 1
    run(**change(root, monkeypatch))
    assert child.runs == 2


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(write("unread.py", "z = 3"), id="a file that is not imported"),
        pytest.param(write("notes.md", "new"), id="a file that is no module"),
        pytest.param(write("log.txt", "before"), id="a file that the case writes"),
        pytest.param(variable("TERM", "dumb"), id="the terminal"),
    ],
)
def test_what_a_result_does_not_depend_on_does_not(
    run: Verify, child: Child, root: Path, monkeypatch: pytest.MonkeyPatch, change: Any
) -> None:
    run()
    run(**change(root, monkeypatch))
    assert child.runs == 1


LONG = "Metadata-Version: 2.4\nSummary: a helper\n  on two lines\nVersion: {0}\nName: {1}\n\nVersion: {2}\n"


@pytest.mark.parametrize(
    ("metadata", "runs"),
    [(LONG.format(2, "helper", 1), 2), (LONG.format(1, "other", 1), 2), (LONG.format(1, "helper", 2), 1)],
    ids=["another version", "another name", "another description"],
)
def test_of_the_metadata_of_a_package_name_and_version_count(
    run: Verify, child: Child, root: Path, monkeypatch: pytest.MonkeyPatch, metadata: str, runs: int
) -> None:
    packaged(LONG.format(1, "helper", 1))(root, monkeypatch)
    run()
    packaged(metadata)(root, monkeypatch)
    run()
    assert child.runs == runs


@pytest.mark.parametrize("status", [Status.FAILED, Status.NOT_RUN])
def test_only_good_results_are_kept(run: Verify, child: Child, root: Path, status: Status) -> None:
    child.verdict = Verdict(status, "why")
    run()
    assert not (root / "kept").exists()
    assert not run().cases[0].cached and child.runs == 2
    child.verdict = PROVED
    run()
    assert run().cases[0].cached and child.runs == 3


def entry(root: Path) -> Path:
    (file,) = (root / "kept").glob("*.json")
    return file


def forged(text: str, **changes: Any) -> str:
    document = json.loads(text)
    return json.dumps(document | changes)


@pytest.mark.parametrize(
    "break_",
    [
        lambda text: "",
        lambda text: text[:-10],
        lambda text: "[]",
        lambda text: "\x00\xff",
        lambda text: forged(text, key={"format": 1}),
        lambda text: forged(text, response={"results": []}),
        lambda text: forged(text, response={"results": [{"case": "cases.py:f"}]}),
        lambda text: text.replace("PROVED", "FAILED"),
        lambda text: text.replace("PROVED", "SPLENDID"),
    ],
    ids=["empty", "cut short", "a list", "no text", "another key", "no result", "no verdict", "failed", "nonsense"],
)
def test_a_broken_or_foreign_entry_is_ignored(run: Verify, child: Child, root: Path, break_: Any) -> None:
    run()
    entry(root).write_text(break_(entry(root).read_text()))
    assert run().good and child.runs == 2
    assert run().cases[0].cached and child.runs == 2


def test_without_a_cache_nothing_is_read_or_written(run: Verify, child: Child, root: Path) -> None:
    run()
    before = entry(root).read_bytes()
    assert not run(cache=None).cases[0].cached
    assert (child.runs, entry(root).read_bytes()) == (2, before)


def test_a_folder_that_cannot_be_written_is_no_error(run: Verify, child: Child, root: Path) -> None:
    (root / "kept").write_text("a file where the folder should be")
    assert run().good and run().good and child.runs == 2


def test_git_ignores_the_folder_and_old_entries_go(
    run: Verify, root: Path, child: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_ENTRIES", 2)
    for number in range(4):
        run(policies=[str(number)])
    assert (root / "kept/.gitignore").read_text() == "*\n"
    assert len(list((root / "kept").glob("*.json"))) == 2
    assert {path.suffix for path in (root / "kept").iterdir()} == {".json", ""}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "project/.scanify_cache"),
        ({"CI": "true"}, None),
        ({"SCANIFY_CACHE_DIR": "elsewhere"}, "elsewhere"),
        ({"CI": "true", "SCANIFY_CACHE_DIR": "elsewhere"}, "elsewhere"),
    ],
    ids=["the project's", "none where a change may bring its own", "the one named", "the one named, in CI too"],
)
def test_where_results_are_kept(
    variables: dict[str, str], expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("CI", "SCANIFY_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = Cache.of(tmp_path / "project")
    assert (None if found is None else found.folder) == (None if expected is None else tmp_path / expected)
