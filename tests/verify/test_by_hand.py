"""Conversions that somebody wrote by hand, compared in real child processes. Each starts jax, so they are few."""

import os
import subprocess
from pathlib import Path

import pytest

from scanify.cli import run
from scanify.errors import Exit
from scanify.verify.cases.case import CaseSpec
from scanify.verify.children.limits import Limits
from scanify.verify.run import verify
from scanify.verify.verdict import CaseResult, Status

LOOP = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Block(eqx.Module):
    linear: eqx.nn.Linear
    scale: jax.Array

    def __init__(self, key):
        self.linear = eqx.nn.Linear(4, 4, key=key)
        self.scale = jnp.ones(4)

    def __call__(self, x):
        return x + self.scale * jnp.tanh(self.linear(x))


class Model(eqx.Module):
    layers: list
    head: eqx.nn.Linear

    def __init__(self, key):
        key, last = jax.random.split(key)
        self.layers = [Block(k) for k in jax.random.split(key, 4)]
        self.head = eqx.nn.Linear(4, 2, key=last)

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
"""
# As people write it: blocks built under vmap, other names, the block imported from where it is.
SCAN = """\
import equinox as eqx
import jax

from loop import Block


class Model(eqx.Module):
    stack: Block
    out: eqx.nn.Linear

    def __init__(self, key):
        key, last = jax.random.split(key)
        self.stack = eqx.filter_vmap(Block)(jax.random.split(key, 4))
        self.out = eqx.nn.Linear(4, 2, key=last)

    def __call__(self, x):
        arrays, rest = eqx.partition(self.stack, eqx.is_array)

        def body(x, each):
            return eqx.combine(each, rest)(x), None

        return self.out(jax.lax.scan(body, x, arrays)[0])
"""
CASES = """\
import jax
import jax.numpy as jnp


def model(module):
    return module.Model(jax.random.key(0)), (jnp.arange(4.0),)


def told(module):
    return model(module)


told.mapping = {"stack": "layers[*]", "out": "head"}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"loop.py": LOOP, "scan.py": SCAN, "cases.py": CASES, "pyproject.toml": ""}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


def compared(folder: Path, *functions: str, scan: str = SCAN, told: list[str] | None = None) -> tuple[CaseResult, ...]:
    one, two = (folder / "loop.py", LOOP.encode()), (folder / "scan.py", scan.encode())
    done = verify(
        {path: (data, data) for path, data in (one, two)},
        [CaseSpec(folder / "cases.py", name, f"cases.py:{name}") for name in functions],
        policies=[None],
        requested=None,
        measure=False,
        limits=Limits(seconds=120),
        target=one[0],
        rewritten_target=two[0],
        notify=[].append if told is None else told.append,
    )
    return done.cases


def statuses(case: CaseResult) -> list[Status | None]:
    (policy,) = case.policies
    return [case.parameters and case.parameters.status, policy.outputs.status, policy.gradients.status]


def test_a_conversion_with_other_names_is_proved_and_says_what_was_matched(folder: Path) -> None:
    steps: list[str] = []
    inferred, told = compared(folder, "model", "told", told=steps)
    assert {"verifying cases.py:model", "verifying cases.py:told: proving as it is written"} <= set(steps)
    for case in (inferred, told):
        assert case.error is None and case.good
        assert statuses(case) == [Status.PROVED] * 3
        assert (
            "the parameters were matched leaf by leaf: stack is layers[0..3], out is head of the original" in case.notes
        )


def test_a_wrong_conversion_fails(folder: Path) -> None:
    (case,) = compared(folder, "model", scan=SCAN.replace("x, arrays)", "x, arrays, reverse=True)"))
    assert not case.good
    outputs = case.policies[0].outputs
    assert outputs.status is Status.FAILED
    assert outputs.difference is not None and outputs.difference.before is not None
    assert outputs.difference.before.file == "loop.py"


@pytest.mark.whole
def test_the_working_tree_against_a_revision_with_a_class_that_moved(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The block moves to a file of its own, and the layers are stacked. The second run finds the first one's result."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)

    git("init", "--quiet")
    git("add", "loop.py")
    git("commit", "--quiet", "-m", "first")
    head, _, rest = LOOP.partition("class Block")
    block = rest.partition("class Model")[0]
    (folder / "blocks.py").write_text(f"{head}class Block{block}")
    scanned = SCAN.partition("class Model")[2]
    (folder / "loop.py").write_text(f"{head}from blocks import Block\n\n\nclass Model{scanned}")
    command = ["verify", "--against", "HEAD", "loop.py", "--case", "cases.py:model", "--no-measure"]
    assert run(command) == Exit.OK, capsys.readouterr()
    first = capsys.readouterr().out
    assert "PROVED" in first and "FAILED" not in first
    assert (folder / ".scanify_cache/.gitignore").read_text() == "*\n"
    monkeypatch.setattr("scanify.verify.run.run_child", lambda *_, **__: pytest.fail("it was run again"))
    assert run(command) == Exit.OK
    capsys.readouterr()
    (folder / "blocks.py").write_text((folder / "blocks.py").read_text() + "\n")
    with pytest.raises(pytest.fail.Exception, match="it was run again"):
        run(command)
