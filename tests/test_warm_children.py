"""Children that are forked for tests are what children are that users have, and nothing of one reaches the next."""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from scanify.verify.cases.case import CaseSpec
from scanify.verify.run import verify
from scanify.verify.verdict import CaseResult

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are forked for tests on Linux alone")

MODEL = """
import equinox as eqx
import jax


class Model(eqx.Module):
    w: jax.Array

    def __init__(self, key):
        self.w = jax.random.normal(key, (3,))

    def __call__(self, x):
        return x * self.w
"""
CASES = """
import os
import sys

import jax
import jax.numpy as jnp


def model(module):
    print(sorted(name for name in sys.modules if name.partition(".")[0] in ("tests", "pytest", "_pytest")), os.getcwd())
    print(sys.stdin.read() + os.environ["TOLD"], sys.argv, sys.flags.safe_path, sys.path)
    return module.Model(jax.random.key(0)), (jnp.ones(3),)


def leaves_something(module):
    assert getattr(jax, "left", os.getpid()) == os.getpid(), "another case has been here"
    jax.left = os.getpid()
    return model(module)


def dies(module):
    os.kill(os.getpid(), int(os.environ["TOLD"]))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "cases.py").write_text(CASES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'one'}{os.pathsep}{tmp_path / 'two'}")
    monkeypatch.setenv("TOLD", "something")
    return tmp_path


def verified(folder: Path, *functions: str) -> list[CaseResult]:
    text = MODEL.encode()
    cases = [CaseSpec(folder / "cases.py", name, name) for name in functions]
    found = verify({folder / "model.py": (text, text)}, cases, policies=[None], requested=None, measure=False)
    return list(found.cases)


def without_times(case: CaseResult) -> CaseResult:
    policies = tuple(replace(policy, measured=None) for policy in case.policies)
    return replace(case, seconds=(), original=None, policies=policies)


def test_they_answer_what_fresh_ones_answer(folder: Path, request: pytest.FixtureRequest) -> None:
    (forked,) = verified(folder, "model")
    assert forked.good and "something" in forked.output and str(folder / "two") in forked.output
    request.getfixturevalue("fresh_children")
    (fresh,) = verified(folder, "model")
    assert without_times(fresh) == without_times(forked)


@pytest.mark.whole
def test_nothing_of_a_case_is_left_for_the_next(folder: Path) -> None:
    assert all(case.good for case in verified(folder, "leaves_something", "leaves_something"))


def test_how_they_end_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOLD", str(int(signal.SIGSEGV)))
    (case,) = verified(folder, "dies")
    assert "killed by SIGSEGV" in str(case.error)
