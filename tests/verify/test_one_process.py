"""What two versions have in common because they run in one process: none of it may make them equal."""

import calendar
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

from scanify.verify.cases.case import CaseSpec
from scanify.verify.children import case_run
from scanify.verify.children.child import run_case
from scanify.verify.programs import trace
from scanify.verify.request import Change, Request
from scanify.verify.verdict import CaseResult, Status
from scanify.verify.versions import mixed, settings
from scanify.verify.versions.overlay import Overlay

# `calendar` stands for a library that is loaded once.
MODEL = """
import calendar
import os

import equinox as eqx
import jax
import jax.numpy as jnp

TOP

class Model(eqx.Module):
    w: jax.Array

    def __call__(self, x):
        return BODY
"""
CASES = """
import jax.numpy as jnp

def model(module):
    return module.Model(jnp.ones(3)), (jnp.ones(3),)
"""


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    found: dict[str, Any] = {}
    apply = jax.jit(lambda name, x: found[name](x), static_argnums=0)
    monkeypatch.setattr(calendar, "found", found, raising=False)
    monkeypatch.setattr(calendar, "apply", apply, raising=False)
    directory = Path.cwd()
    precision = jax.config.jax_default_matmul_precision
    yield
    jax.config.update("jax_default_matmul_precision", precision)
    os.environ.pop("SCALE_OF_MODEL", None)
    os.chdir(directory)


def text(top: str = "", body: str = "x * self.w") -> str:
    return MODEL.replace("TOP", top).replace("BODY", body)


def compared(folder: Path, original: str, rewritten: str, cases: str = CASES) -> CaseResult:
    for name, content in {"one_model.py": original, "two_model.py": rewritten, "one_cases.py": cases}.items():
        (folder / name).write_text(content)
    paths = folder / "one_model.py", folder / "two_model.py"
    (result,) = run_case(
        Request(
            case=CaseSpec(folder / "one_cases.py", "model", "one_cases.py:model"),
            target=paths[0],
            rewritten_target=paths[1],
            changes=tuple(Change(path, path.read_bytes(), path.read_bytes()) for path in paths),
            policies=(None,),
            requested=None,
            abstract=False,
            measure=False,
            directory=folder,
        )
    )
    return result


def proved(result: CaseResult) -> bool:
    assert result.error is None, result.error
    (policy,) = result.policies
    return policy.outputs.status is Status.PROVED and policy.gradients.status is Status.PROVED


PRECISE = 'jax.config.update("jax_default_matmul_precision", "float32")'
SCALED = 'os.environ["SCALE_OF_MODEL"] = "2"'
UNLESS = f'if "SCALE_OF_MODEL" not in os.environ: {SCALED}; {PRECISE}'


@pytest.mark.parametrize(
    ("top", "says"),
    [
        (PRECISE, "jax_default_matmul_precision is set to 'float32' in the original and not at all in the rewritten"),
        ("os.chdir('..')", "the working directory is set to"),
        (SCALED, "$SCALE_OF_MODEL is set to '2' in the original and not at all in the rewritten"),
    ],
    ids=["jax", "directory", "environment"],
)
def test_what_one_version_sets_when_it_is_imported_is_no_part_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, top: str, says: str
) -> None:
    result = compared(tmp_path, text(top), text())
    assert result.error is not None and says in result.error
    monkeypatch.setattr(settings.Settings, "difference", lambda *_: None)
    assert proved(compared(tmp_path, text(top), text()))


def test_what_one_version_sets_when_it_is_called_is_found_too(tmp_path: Path) -> None:
    called = f"({PRECISE}, x * self.w)[1]"
    result = compared(tmp_path, text(body=called), text())
    assert result.error is not None and "jax_default_matmul_precision is set" in result.error


@pytest.mark.parametrize(
    "top",
    [PRECISE, SCALED, UNLESS, "os.chdir(os.path.dirname(__file__))"],
    ids=["jax", "environment", "unless it is set", "directory"],
)
def test_what_both_versions_set_is_no_difference(tmp_path: Path, top: str) -> None:
    assert proved(compared(tmp_path, text(top), text(top)))


def test_what_a_library_sets_when_it_is_imported_is_set_for_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "setting_library.py").write_text(f"import jax\n{PRECISE}\n")
    monkeypatch.syspath_prepend(library)
    assert proved(compared(tmp_path, text("import setting_library"), text("import setting_library")))


@pytest.mark.whole
def test_each_version_imports_from_where_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/path_helper.py").write_text("from jax.numpy import sin as f")
    (tmp_path / "path_helper.py").write_text("from jax.numpy import cos as f")
    insert = "import sys; sys.path.insert(0, os.path.join(os.path.dirname(__file__), 'old'))\n"
    pair = [text(top + "from path_helper import f", "f(x * self.w)") for top in (insert, "")]
    assert compared(tmp_path, *pair).policies[0].outputs.status is Status.FAILED
    assert proved(compared(tmp_path, *pair[::-1][:1] * 2)) and proved(compared(tmp_path, *pair[:1] * 2))
    monkeypatch.setattr(Overlay, "_turn_path", lambda *_: None)
    assert proved(compared(tmp_path, *pair))


REGISTERED = "def act(x): return jnp.{}(x)\ncalendar.found['act'] = act"


def test_a_registry_that_a_jitted_function_of_a_library_reads_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "calendar.apply('act', x * self.w)"
    pair = text(REGISTERED.format("sin"), body), text(REGISTERED.format("cos"), body)
    result = compared(tmp_path, *pair)
    assert result.error is not None and "the original model ran code of the rewritten two_model.py" in result.error
    monkeypatch.setattr(mixed, "children", lambda equation: [])
    assert proved(compared(tmp_path, *pair))


def test_a_jitted_function_of_a_library_is_traced_for_each_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "(calendar.found.update(act=jnp.{}), calendar.apply('act', x * self.w))[1]"
    pair = text(body=body.format("sin")), text(body=body.format("cos"))
    result = compared(tmp_path, *pair)
    assert result.policies[0].outputs.status is Status.FAILED
    monkeypatch.setattr(trace, "traced_apart", lambda name, own=trace.traced_apart: own("always"))
    calendar.apply.clear_cache()  # type: ignore[attr-defined]
    assert proved(compared(tmp_path, *pair))


def test_a_case_that_takes_the_model_from_the_original_compares_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = CASES.replace("import jax.numpy", "import one_model\nimport jax.numpy").replace("module.M", "one_model.M")
    pair = text(), text(body="x + self.w")
    result = compared(tmp_path, *pair, cases)
    assert result.error is not None and "imports one_model.py itself where it is given two_model.py" in result.error
    monkeypatch.setattr(case_run, "taken_elsewhere", lambda *_: None)
    result = compared(tmp_path, *pair, cases)
    assert result.error is not None and "took nothing from two_model.py, so that one_model.py would be" in result.error
    monkeypatch.setattr(case_run, "taken_from", lambda module: True)
    assert proved(compared(tmp_path, *pair, cases))


def test_a_version_that_builds_on_the_original_is_compared(tmp_path: Path) -> None:
    rewritten = "import jax.numpy as jnp\nfrom one_model import Model as First\nclass Model(First): pass\n"
    assert proved(compared(tmp_path, text(), rewritten))
