"""`scanify reroll --report` from outside: what repeats in a case's trace, and where it comes from."""

from pathlib import Path
from typing import Any

import pytest

from scanify.cli import run
from scanify.errors import Exit

# Nothing of Equinox: a list of dicts. One loop is worth more than the other.
MODEL = """\
import jax
import jax.numpy as jnp


def dense(x, w):
    y = jax.nn.softmax(jnp.tanh(w @ x))
    return y * jax.nn.sigmoid(x) - jnp.cos(x)


def forward(params, x):
    for w in params["first"]:
        x = dense(x, w)
    x = jnp.sort(x)
    for w in params["second"]:
        x = jnp.sin(dense(x, w))
    return x
"""
CASES = """\
import jax.numpy as jnp


def model(module):
    params = {"first": [jnp.eye(4)] * 5, "second": [jnp.eye(4)] * 90}
    return module.forward, (params, jnp.ones(4))


def plain(module):
    return jnp.sin, (jnp.ones(4),)


def broken(module):
    raise ValueError("no model today")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "cases.py").write_text(CASES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_loops_are_listed_by_what_they_would_save(folder: Path, capsys: Any) -> None:
    given = ["reroll", "--report", "model.py", "--case", "cases.py:model", "--case", "cases.py:plain"]
    assert run(given) == Exit.OK
    first, second, third, plain = capsys.readouterr().out.splitlines()
    assert first.startswith("cases.py:model: ")
    assert first.endswith(" equations")
    loops = MODEL.splitlines()
    assert second.startswith(f"  model.py:{loops.index('        x = jnp.sin(dense(x, w))') + 1}: 90 x ")
    assert third.startswith(f"  model.py:{loops.index('        x = dense(x, w)') + 1}: 5 x ")
    assert "on a CPU too little" in third
    assert "on a CPU" not in second
    assert plain == "cases.py:plain: 1 equations, of which none repeat so that a scan would save some"
    assert (folder / "model.py").read_text() == MODEL


def test_a_case_that_fails_is_said(folder: Path, capsys: Any) -> None:
    assert run(["reroll", "--report", "model.py", "--case", "cases.py:broken"]) == Exit.VERIFICATION
    assert "no model today" in capsys.readouterr().out
