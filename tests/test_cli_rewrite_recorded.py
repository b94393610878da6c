"""`scanify rewrite --run`: what is written on the evidence of the calls that a program makes, and what is held back."""

from pathlib import Path

import pytest

from scanify.cli import run
from scanify.errors import Exit

MODEL = """\
import equinox as eqx
import jax


class Chain(eqx.Module):
    layers: tuple

    def __init__(self, *layers):
        self.layers = layers

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Sizes(eqx.Module):
    layers: list

    def __init__(self, sizes, key):
        self.layers = [eqx.nn.Linear(a, b, key=key) for a, b in zip(sizes[:-1], sizes[1:])]

    def __call__(self, x):
        for layer in self.layers:
            x = jax.nn.relu(layer(x))
        return x
"""
BLOCKS = """\
import equinox as eqx
import jax


class Model(eqx.Module):
    layers: list[eqx.nn.Linear]

    def __init__(self, key):
        self.layers = [eqx.nn.Linear(4, 4, key=k) for k in jax.random.split(key, 3)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
STAGES = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Stages(eqx.Module):
    stages: list

    def __init__(self, stages):
        self.stages = stages

    def __call__(self, x):
        for stage in self.stages:
            for block in stage:
                x = block(x)
            x = jnp.concatenate([x, x])
        return x


def case(module=None):
    keys = jax.random.split(jax.random.key(0), 3)
    build = Stages if module is None else module.Stages
    return build([[eqx.nn.Linear(size, size, key=key) for key in keys] for size in (4, 8)]), (jnp.ones(4),)
"""
PROGRAM = """\
import equinox as eqx
import jax
import jax.numpy as jnp
from model import Chain, Sizes

keys = jax.random.split(jax.random.key(0), 4)
"""
SAME = "Chain(*[eqx.nn.Linear(4, 4, key=key) for key in keys])(jnp.ones(4))\n"
UNLIKE = "Sizes([4, 5, 6, 7], keys[0])(jnp.ones(4))\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_loops_that_the_source_leaves_open_are_decided_by_the_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "program.py").write_text(PROGRAM + SAME + UNLIKE)
    assert run(["rewrite", "model.py", "--run", "python program.py", "--remat", "full"]) == Exit.OK
    text, said = (folder / "model.py").read_text(), capsys.readouterr().err
    assert "x = BlockSeq.of(self.layers" in text
    assert "for layer in self.layers:\n            x = jax.nn.relu(layer(x))" in text
    assert "of its layers no two are alike in the run: 3 layers: Linear (a) + Linear (b) + Linear (c)" in said
    assert "differ at .weight: float32[5,4] and float32[6,5]" in said


@pytest.mark.parametrize("way", [["--run", "python program.py"], ["--case", "stages.py:case"]], ids=["run", "case"])
def test_the_loop_in_a_stage_is_decided_if_no_two_stages_are_alike(
    way: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "stages.py").write_text(STAGES)
    (folder / "program.py").write_text("from stages import case\n\nmodel, (x,) = case()\nmodel(x)\n")
    assert run(["rewrite", "stages.py", *way, "--remat", "full"]) == Exit.OK
    text, said = (folder / "stages.py").read_text(), " ".join(capsys.readouterr().err.split())
    assert "for stage in self.stages:\n            x = BlockSeq.of(stage" in text
    assert "of its layers no two are alike in the run: 2 layers: list (a) + list (b)" in said


def test_a_loop_that_no_call_runs_is_held_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "program.py").write_text(PROGRAM + SAME)
    assert run(["rewrite", "model.py", "--run", "python program.py", "--remat", "full"]) == Exit.OK
    assert "model.py:24: SCN102 the loop over self.layers can be rewritten, but no call of it was recorded" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("count", [1, 2])
def test_a_loop_of_few_layers_is_held_back(count: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layers = f"*[eqx.nn.Linear(4, 4, key=key) for key in keys[:{count}]]"
    (folder / "program.py").write_text(f"{PROGRAM}Chain({layers})(jnp.ones(4))\n")
    assert run(["rewrite", "model.py", "--run", "python program.py", "--remat", "full"]) != Exit.OK
    assert (folder / "model.py").read_text() == MODEL
    said = (
        f"the run has {count} iteration{'s' * (count > 1)} of it, too few for a scan: `self.layers` has {count} layer"
    )
    assert said in capsys.readouterr().err


def test_nothing_is_written_if_no_call_can_be_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "program.py").write_text("raise ValueError('no data')\n")
    assert run(["rewrite", "model.py", "--run", "python program.py"]) == Exit.VERIFICATION
    assert (folder / "model.py").read_text() == MODEL
    assert "ValueError: no data" in capsys.readouterr().err


def test_a_model_in_a_test_file_that_pytest_rewrites(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = f"{MODEL}\n\ndef test_it():\n    net = Sizes([4] * 4, jax.random.key(0))\n    assert net(jax.numpy.ones(4)).ndim == 1\n"
    (folder / "test_it.py").write_text(test)
    command = ["verify", "test_it.py", "--run", "pytest -q test_it.py", "--remat", "full", "--no-measure"]
    assert run(command) == Exit.OK
    assert "PROVED  1 case in 1 variant" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("bash run.sh", "'bash' is no console script of this environment"),
        ("python missing.py", "there is no file"),
        ("train.py", "write `python train.py`"),
        ("python -c pass", "options of Python itself are not supported"),
        ("", "--run is empty"),
    ],
)
def test_other_commands_are_errors(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, message: str
) -> None:
    assert run(["rewrite", "model.py", "--run", command]) == Exit.USAGE
    assert message in capsys.readouterr().err


def test_the_program_is_read_wherever_it_lies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A decay mask by rank in a program outside of the folder of the model keeps the list a list."""
    source, program = folder / "src", folder / "program"
    for each in (source, program):
        each.mkdir()
    (source / "pyproject.toml").write_text("")
    (folder / "pyproject.toml").unlink()
    (folder / "model.py").unlink()
    (source / "model.py").write_text(BLOCKS)
    mask = "optimiser = optax.adamw(1e-1, mask=lambda p: jax.tree.map(lambda a: a.ndim > 1, p))\n"
    head = "import sys\nsys.path.insert(0, 'src')\nimport optax\n"
    model = "from model import Model\nModel(jax.random.key(0))(jnp.ones(4))\n"
    (program / "train.py").write_text(head + PROGRAM.replace("from model import Chain, Sizes\n", "") + mask + model)
    command = ["rewrite", "src", "--run", "python program/train.py", "--remat", "full", "--check"]
    assert run(command) == Exit.FINDINGS
    said = capsys.readouterr().err
    assert "the list stays and is stacked in each call" in said
    assert "program/train.py:9 reads the rank of each leaf (SCN310)" in said
