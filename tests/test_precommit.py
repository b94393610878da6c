"""The hooks for pre-commit: what they are, and, with SCANIFY_PRECOMMIT=1, that the real pre-commit runs them.

Running them installs the project into an environment of pre-commit's own, from the package index: `make precommit-test`.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from scanify.cli import run
from tests.command import CALLER
from tests.command import MODEL as SMALL

ROOT = Path(__file__).resolve().parent.parent
CALLER = CALLER.replace("from model", "from first.model")
MODEL = ROOT / "fixtures" / "gpt" / "before.py"


def hooks() -> dict[str, dict[str, str]]:
    """The hooks by id. A list of flat mappings is all the YAML there is."""
    found: dict[str, dict[str, str]] = {}
    for line in (ROOT / ".pre-commit-hooks.yaml").read_text().splitlines():
        if line.lstrip().startswith("#"):
            continue
        key, _, value = line[2:].partition(": ")
        if line.startswith("- "):
            current = found.setdefault(value, {})
        current[key] = value
    return found


def test_there_are_two_hooks() -> None:
    assert set(hooks()) == {"scanify-check", "scanify-rewrite"}
    assert all(hook["language"] == "python" and hook["types_or"] == "[python, jupyter]" for hook in hooks().values())


@pytest.mark.parametrize("hook", hooks())
def test_a_hooks_entry_is_a_command_that_takes_files(
    hook: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "plain.py").write_text("x = 1\n")
    (tmp_path / "model.py").write_text(MODEL.read_text())
    name, *arguments = shlex.split(hooks()[hook]["entry"])
    assert name == "scanify"
    assert run([*arguments, "plain.py"]) == 0
    assert run([*arguments, "plain.py", "model.py"]) == 1
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": MODEL.read_text()}
    (tmp_path / "model.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}))
    assert run([*arguments, "plain.py", "model.ipynb"]) == 1
    for name in ("model.py", "model.ipynb"):
        assert ("ArrayStacked" in (tmp_path / name).read_text()) == (hook == "scanify-rewrite")


def test_a_commit_without_loops_takes_less_than_a_second(tmp_path: Path) -> None:
    """In a repository of several packages with models, and with results that are kept. CPU time is asked, not time."""
    resource = pytest.importorskip("resource", reason="this system does not count the time of processes")
    (tmp_path / ".git").mkdir()
    for number in range(40):
        package = tmp_path / f"package{number % 4}"
        package.mkdir(exist_ok=True)
        (package / f"model{number}.py").write_text(MODEL.read_text())
    files = [f"package0/plain{number}.py" for number in range(10)]
    for file in files:
        (tmp_path / file).write_text("def f(xs):\n    for x in xs:\n        print(x)\n" * 20)
    (tmp_path / ".scanify_cache" / "check").mkdir(parents=True)
    for hook in hooks().values():
        _, *arguments = shlex.split(hook["entry"])
        command = [sys.executable, "-m", "scanify", *arguments, *files]
        taken = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            assert done.returncode == 0
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert min(taken) < 1


class TestWithTheRealPreCommit:
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        if "SCANIFY_PRECOMMIT" not in os.environ:
            pytest.skip("installs from the package index; `make precommit-test` runs it")
        repository = tmp_path / "project"
        repository.mkdir()
        (repository / "model.py").write_text(MODEL.read_text())
        (repository / "plain.py").write_text("x = 1\n")
        for name in ("first", "second"):  # packages of which one uses what the other has
            (repository / name).mkdir()
            (repository / name / "__init__.py").write_text("")
        (repository / "first" / "model.py").write_text(SMALL)
        (repository / "second" / "caller.py").write_text(CALLER)
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
        subprocess.run(["git", "add", "."], cwd=repository, check=True)
        subprocess.run([*git, "commit", "-q", "-m", "models"], cwd=repository, check=True)
        return repository

    def test_a_neighbour_is_known_and_not_broken(self, repository: Path) -> None:
        caller = (repository / "second" / "caller.py").read_text()
        done = self.pre_commit(repository, "scanify-check", "second/caller.py")
        assert done.returncode == 1 and "second/caller.py:5: SCN101 loop over model.layers" in done.stdout, done.stdout
        done = self.pre_commit(repository, "scanify-rewrite", "second/caller.py")
        assert (done.returncode, (repository / "second" / "caller.py").read_text()) == (0, caller), done.stdout
        assert (repository / "first" / "model.py").read_text() == SMALL

    def pre_commit(self, repository: Path, hook: str, *files: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pre_commit", "try-repo", str(ROOT), hook, "--verbose", "--files", *files]
        cache = {"PRE_COMMIT_HOME": str(repository.parent / "cache")}
        return subprocess.run(command, cwd=repository, capture_output=True, text=True, env={**os.environ, **cache})

    def test_check_and_rewrite(self, repository: Path) -> None:
        before = (repository / "model.py").read_text()
        done = self.pre_commit(repository, "scanify-check", "plain.py")
        assert (done.returncode, "Passed" in done.stdout) == (0, True), done.stdout + done.stderr
        done = self.pre_commit(repository, "scanify-check", "plain.py", "model.py")
        assert done.returncode == 1, done.stdout + done.stderr
        assert "model.py:124: SCN101 loop over self.blocks can be a fold" in done.stdout
        assert (repository / "model.py").read_text() == before
        done = self.pre_commit(repository, "scanify-rewrite", "plain.py", "model.py")
        assert done.returncode == 1, done.stdout + done.stderr
        assert "files were modified by this hook" in done.stdout
        assert "ArrayStacked" in (repository / "model.py").read_text()
        done = self.pre_commit(repository, "scanify-rewrite", "plain.py", "model.py")
        assert (done.returncode, "Passed" in done.stdout) == (0, True), done.stdout + done.stderr
