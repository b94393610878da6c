"""`pytest --scanify`, as a project sees it: run from outside, in a folder of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scanify.commands.verifying.target import target_of
from scanify.configuration.config import parse_config
from scanify.errors import ScanifyError
from scanify.verify.cases.case import CaseSpec
from tests.command import BLOCK, LINE, MODEL, REFUSED, environment

CASES = """\
import jax
import jax.numpy as jnp


def model(module):
    return build(module), (jnp.ones(4),)


def build(module):
    return module.Model(4, 3, key=jax.random.key(0))


def broken(module):
    raise ValueError("this case is broken")


def refused(module):
    return module.Stopped(4, 3, key=jax.random.key(0)), (jnp.ones(4), 3.0)


def unclear(module):
    return module.Twice(4, 3, key=jax.random.key(0)), (jnp.ones(4),)


def anything(module):
    return getattr(module, "Model")(4, 3, key=jax.random.key(0)), (jnp.ones(4),)
"""
OWN = """\
import sys

sys.path.insert(0, "src")

import jax
import jax.numpy as jnp
from model import Model


def test_own():
    assert Model(4, 3, key=jax.random.key(0))(jnp.ones(4)).shape == (4,)
"""
RECORDED = """\
[tool.scanify]
exclude = ["src/refused.py"]

[tool.scanify.cases]
own = {run = "python -m pytest tests"}

[tool.pytest.ini_options]
addopts = "-p scanify.pytest_plugin.hooks --scanify"
"""
CONFIGURATION = """\
[tool.scanify.cases]
model = {case = "tests/cases.py:model", file = "src/model.py"}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("GIT_", "PYTEST_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    files = {
        "src/model.py": MODEL,
        "src/refused.py": REFUSED.replace("class Model", "class Stopped"),
        "src/one.py": "class Twice: pass\n",
        "src/two.py": "class Twice: pass\n",
        "tests/cases.py": CASES,
        "tests/test_own.py": "def test_own():\n    pass\n",
        "pyproject.toml": CONFIGURATION,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    variables = environment() | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "JAX_PLATFORMS": "cpu", "CI": ""}
    command = [sys.executable, "-m", "pytest", "-p", "scanify.pytest_plugin.hooks", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *arguments], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def cases(project: Path, *names: str) -> None:
    text = "".join(f'{name} = "tests/cases.py:{name}"\n' for name in names)
    (project / "pyproject.toml").write_text(f"[tool.scanify.cases]\n{text}")


@pytest.mark.parametrize("target", ["scanify", pytest.param("lax", marks=pytest.mark.whole)])
def test_each_case_and_policy_is_a_test(project: Path, target: str) -> None:
    (project / "pyproject.toml").write_text(f'[tool.scanify]\ntarget = "{target}"\n\n{CONFIGURATION}')
    code, out = run(project, "--scanify", "--scanify-remat", "nested", "--scanify-remat", "False", "-v")
    assert code == 0, out
    assert "pyproject.toml::model[case] PASSED" in out and "pyproject.toml::model[nested] PASSED" in out
    assert "pyproject.toml::model[none] PASSED" in out and "4 passed" in out  # and that of the project itself
    assert (project / ".scanify_cache").is_dir()


def test_each_loop_is_a_test_in_the_calls_of_a_command(project: Path) -> None:
    model = (
        MODEL
        + """\

    def unused(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Open(eqx.Module):
    layers: list

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
    )
    (project / "src/model.py").write_text(model)
    given = "    Open([Block(4, key=jax.random.key(n)) for n in range(3)])(jnp.ones(4))\n"
    (project / "tests/test_own.py").write_text(OWN.replace("import Model", "import Block, Model, Open") + given)
    (project / "pyproject.toml").write_text(RECORDED)
    code, out = run(project, "--scanify-remat", "none", "-v", "-rs")
    assert code == 0, out
    lines = [number for number, line in enumerate(model.splitlines(), 1) if "in self.layers:" in line]
    assert f"pyproject.toml::own[src/model.py:{lines[0]}] PASSED" in out
    assert f"pyproject.toml::own[src/model.py:{lines[1]}] SKIPPED" in out
    assert f"pyproject.toml::own[src/model.py:{lines[2]}] PASSED" in out  # the source leaves its layers open
    assert "`python -m pytest tests` makes no call that runs this loop for two iterations or more" in out
    assert "3 passed" in out  # with that of the project itself, which is run once


def test_without_the_option_there_are_no_cases(project: Path) -> None:
    code, out = run(project)
    assert code == 0 and "1 passed" in out
    code, out = run(project, "--scanify-remat", "nested")
    assert code == 4 and "go with --scanify" in out
    code, out = run(project, "--scanify", "--scanify-remat", "nestd")
    assert code == 4 and "expected one of none, full, nested" in out


@pytest.mark.whole
def test_what_fails_has_a_short_message(project: Path) -> None:
    cases(project, "broken", "refused", "unclear", "anything")
    code, out = run(project, "--scanify", "--scanify-remat", "none", "-rs", "tests")
    assert code == 1
    assert "tests/cases.py:unclear" in out and "2 files define Twice (src/one.py, src/two.py)" in out
    assert "unclear = {case = 'tests/cases.py:unclear', file = 'model.py'}" in out
    assert "tests/cases.py:anything shows no name that it takes from its module" in out
    assert "SKIPPED" in out and "no loop of src/refused.py can be rewritten" in out and "SCN205" in out
    for inner in ("Traceback", "runtest", "site-packages", "pytest_plugin/"):
        assert inner not in out, out


@pytest.mark.whole
def test_the_working_tree_against_a_revision(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        CONFIGURATION + 'broken = {case = "tests/cases.py:broken", file = "src/model.py"}\n'
    )

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=project, check=True, capture_output=True)

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    against = ("--scanify", "--scanify-against", "HEAD", "-rs")
    code, out = run(project, *against)
    assert code == 0 and "nothing to verify: no Python file differs between HEAD and the working tree" in out
    (project / "src/model.py").write_text(MODEL.replace("x + self.linear(x)", "x - self.linear(x)"))
    code, out = run(project, *against)
    assert code == 1 and "2 failed" not in out.replace("4 failed", "")
    shown = out.partition("model[as written] ")[2]
    assert "tests/cases.py:model under as written" in shown and "outputs FAILED: " in shown
    assert f"src/model.py:{LINE - 9}" in shown or "before  src/model.py:" in shown
    assert "tests/cases.py:broken could not be verified: " in out and "this case is broken" in out
    assert "pytest_plugin/" not in out and "runtest" not in out
    code, out = run(project, "--scanify", "--scanify-against", "gone", "pyproject.toml::model[case]")
    assert code == 1 and "expected a revision of the git repository" in out and "1 failed" in out


def test_a_configuration_that_is_wrong_is_an_error_of_collection(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.scanify.cases]\nmodel = 3\n")
    code, out = run(project, "--scanify")
    assert code == 2 and "expected a table of name = 'FILE:FUNCTION'" in out


@pytest.mark.parametrize(
    ("name", "file"), [("model", "src/model.py"), ("refused", "src/refused.py"), ("broken", None), ("unclear", None)]
)
def test_a_case_is_for_the_file_that_defines_what_it_takes(project: Path, name: str, file: str | None) -> None:
    cases(project, name)
    (project / "src/again.py").write_text("from model import Model\nfrom refused import Stopped\n" + BLOCK[:0])
    config = parse_config(project / "pyproject.toml")
    case = CaseSpec(project / "tests/cases.py", name, f"tests/cases.py:{name}")
    if file is None:
        with pytest.raises(ScanifyError, match="name it in"):
            target_of(name, case, config)
    else:
        assert target_of(name, case, config) == project / file


def test_a_file_that_the_configuration_names_must_be_there(project: Path) -> None:
    (project / "pyproject.toml").write_text(CONFIGURATION.replace("src/model.py", "src/gone.py"))
    config = parse_config(project / "pyproject.toml")
    case = CaseSpec(project / "tests/cases.py", "model", "tests/cases.py:model")
    with pytest.raises(ScanifyError, match="expected file to be a Python file"):
        target_of("model", case, config)
