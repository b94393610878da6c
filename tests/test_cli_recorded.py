"""Commands with `--run`: what they do with the calls that a program of the user's makes."""

import json

import pytest

from scanify.cli import run
from scanify.errors import Exit
from tests.command import BLOCK

MODEL = (
    BLOCK.partition("class Model")[0]
    + """\
class Model(eqx.Module):
    layers: list[Block]
    head: list[Block]

    def __init__(self, width, depth, *, key):
        keys = jax.random.split(key, depth)
        self.layers = [Block(width, key=k) for k in keys]
        self.head = [Block(width, key=keys[0]) for _ in range(1)]

    def __call__(self, x):
        for layer in self.layers:  # three
            x = layer(x)
        for block in self.head:  # one
            x = block(x)
        return x

    def steps(self, x):
        for layer in self.layers:  # yields
            yield layer(x)

    def unused(self, x):
        for layer in self.layers:  # never
            x = layer(x)
        return x
"""
)
TRAIN = """\
import equinox as eqx
import jax
import jax.numpy as jnp
import sys
from model import Model

model = Model(int(sys.argv[1]), 3, key=jax.random.key(0))
loss = eqx.filter_jit(eqx.filter_grad(lambda model, x: jnp.sum(jax.vmap(model)(x))))
loss(model, jnp.ones((2, int(sys.argv[1]))))
list(model.steps(jnp.ones(int(sys.argv[1]))))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line_of(comment):
    return next(number for number, line in enumerate(MODEL.splitlines(), 1) if line.endswith(f"# {comment}"))


def test_a_check_says_which_loops_a_run_shows(folder, capsys):
    assert run(["check", ".", "--run", "python train.py 4", "--format", "json"]) == Exit.FINDINGS
    loops = {loop["line"]: loop for loop in json.loads(capsys.readouterr().out)["loops"]}
    said = {
        "three": "`python train.py 4` runs 3 iterations of it; `self.layers` has 3 layers: 3 x Block",
        "one": "`python train.py 4` runs 1 iteration of it, which shows nothing of a scan",
        "never": "`python train.py 4` does not show it: Model.unused is never called",
        "yields": "`python train.py 4` does not show it: calls of Model.steps cannot be recorded: TypeError: generators "
        "and coroutines return no arrays, so their loops cannot be compared",
    }
    for comment, text in said.items():
        assert loops[line_of(comment)]["runs"] == [text]
        assert loops[line_of(comment)]["shown"] is (comment == "three")
    assert (folder / "model.py").read_text() == MODEL


def test_a_call_with_more_layers_is_recorded_in_place_of_earlier_calls(folder, capsys):
    calls = (
        "for depth in (0, 1, 3, 2):\n    Model(4, depth, key=jax.random.key(0))(jnp.ones(4))\n    print('depth', depth)"
    )
    model = MODEL.replace("        for block in self.head:  # one\n            x = block(x)\n", "").replace(
        "key=keys[0]", "key=key"
    )
    (folder / "model.py").write_text(model)
    (folder / "train.py").write_text(f"import jax\nimport jax.numpy as jnp\nfrom model import Model\n\n{calls}\n")
    command = ["verify", "model.py", "--run", "python train.py", "--remat", "full", "--no-measure", "--format", "json"]
    assert run(command) == Exit.OK
    cases = json.loads(capsys.readouterr().out)["cases"]
    three = line_of("three")
    assert [next(loop["iterations"] for loop in case["loops"] if loop["line"] == three) for case in cases] == [3, 2]


def test_the_last_line_says_how_many_loops_the_run_shows(folder, capsys):
    (folder / "train.py").write_text("from model import Block, Model\nraise ValueError('no data')\n")
    assert run(["check", "model.py", "--run", "python train.py"]) == Exit.FINDINGS
    said = capsys.readouterr()
    assert "    run: `python train.py` does not show it: Model.__call__ is never called\n" in said.out
    assert said.out.splitlines()[-1].endswith("The run shows 0 of the 2 that can be rewritten.")
    assert "python train.py raised:" in said.err
    assert "ValueError: no data" in said.err


def test_the_program_of_a_recorded_call_is_profiled(folder, capsys):
    assert run(["profile", "model.py", "--run", "python train.py 4", "--format", "json"]) == Exit.OK
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    assert case["variant"] == {"call": "Model.__call__"}
    assert [program["name"] for program in case["programs"]] == ["call", "gradient"]
    loop = case["programs"][1]["loops"][0]
    assert (loop["line"], loop["turns"]) == (line_of("three"), 3)
    assert case["notes"] == ["the call is one that the command makes; what builds the model is not profiled"]


def test_a_file_without_loops_to_rewrite_is_profiled(folder, capsys):
    stopping = MODEL.replace(
        "            x = layer(x)\n        for block",
        "            x = layer(x)\n            if x.sum() > 9:\n                break\n        for block",
    )
    (folder / "model.py").write_text(stopping.partition("        for block")[0] + "        return x\n")
    (folder / "train.py").write_text(
        "import jax\nfrom model import Model\nModel(4, 3, key=jax.random.key(0))(jax.numpy.ones(4))\n"
    )
    assert run(["profile", "model.py", "--run", "python train.py"]) == Exit.VERIFICATION
    assert "Attempted boolean conversion" in capsys.readouterr().out


WRITTEN = """\
import dataclasses
import enum

import equinox as eqx
import jax
import jax.numpy as jnp


class Norm(enum.Enum):
    LAYER = "layer"
    RMS = "rms"


@dataclasses.dataclass
class Config:
    width: int = 4
    norm: Norm = Norm.LAYER
    rates: tuple = (0.0, 0.1)


class Block(eqx.Module):
    linear: eqx.nn.Linear
    act: object = eqx.field(static=True)

    def __call__(self, x):
        return self.act(x + self.linear(x))


class Net(eqx.Module):
    layers: list[Block]
    norm: eqx.nn.BatchNorm
    drop: eqx.nn.Dropout

    def __init__(self, config, depth, act, *, key):
        keys = jax.random.split(key, depth)
        self.layers = [Block(eqx.nn.Linear(config.width, config.width, key=k), act) for k in keys]
        self.norm = eqx.nn.BatchNorm(config.width, "batch", mode="batch")
        self.drop = eqx.nn.Dropout(0.1)

    def __call__(self, x, state, key=None):
        for layer in self.layers:
            x = layer(x)
        x, state = self.norm(x, state)
        return self.drop(x, key=key), state


class Encoder(eqx.Module):
    layers: list[Block]

    def __init__(self, depth, act=jnp.tanh, *, key):
        keys = jax.random.split(key, depth)
        self.layers = [Block(eqx.nn.Linear(4, 4, key=k), act) for k in keys]

    def encode(self, tokens, *rest, mask, key=None):
        x = jax.nn.one_hot(tokens, 4) * mask[:, None]
        for layer in self.layers:
            x = jax.vmap(layer)(x)
        return x


class Local(Encoder):
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def forward(encoder: Encoder, x, times=2):
    for layer in encoder.layers:
        x = layer(x)
    return x * times
"""
USES = """\
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from net import Config, Encoder, Local, Net, Norm, forward

net, state = eqx.nn.make_with_state(Net)(Config(norm=Norm.RMS), 3, jax.nn.gelu, key=jax.random.key(7))
net = eqx.nn.inference_mode(net)
eqx.filter_jit(jax.vmap(net, axis_name="batch", in_axes=(0, None), out_axes=(0, None)))(jnp.zeros((2, 4)), state)
encoder = Encoder(3, key=jax.random.PRNGKey(5))
encoder.encode(np.arange(5), mask=jnp.arange(5.0).astype(jnp.bfloat16), key=jax.random.split(jax.random.key(1))[0])
forward(encoder, jnp.arange(4.0), times=3)
Local(3, lambda x: 2 * x, key=jax.random.key(0))(jnp.ones(4))
"""


def test_calls_are_written_as_cases(folder, capsys):
    (folder / "net.py").write_text(WRITTEN)
    (folder / "uses.py").write_text(USES)
    assert run(["case", "net.py", "--run", "python uses.py", "-o", "cases.py"]) == Exit.OK
    assert capsys.readouterr().err == (
        "scanify: no case for Local.__call__: python uses.py: `self`: <lambda> of __main__ has no name that another "
        "file can import\n"
        "scanify: wrote cases.py:net, cases.py:encoder, cases.py:forward\n"
        "scanify: look at the sizes, then: scanify rewrite net.py --case cases.py:net --diff\n"
    )
    text = (folder / "cases.py").read_text()
    assert (
        text.partition("\n\n\n")[2]
        == '''\
def net(module):
    """A call of Net.__call__ that `python uses.py` makes, with arrays of its own."""
    model, state = eqx.nn.inference_mode(
        eqx.nn.make_with_state(module.Net)(
            module.Config(norm=module.Norm.RMS),
            3,
            jax.nn.gelu,
            key=jax.random.key(7),
        ),
    )
    x = jax.random.normal(jax.random.key(1), (4,))
    return model, (x, state)


def encoder(module):
    """A call of Encoder.encode that `python uses.py` makes, with arrays of its own."""
    model = module.Encoder(3, key=jax.random.PRNGKey(5))
    tokens = np.array([0, 1, 2, 3, 4], dtype=np.int64)
    mask = jax.random.normal(jax.random.key(1), (5,)).astype(jnp.bfloat16)
    key = jax.random.key(0)
    return model.encode, (tokens,), {"mask": mask, "key": key}


def forward(module):
    """A call of forward that `python uses.py` makes, with arrays of its own."""
    encoder = module.Encoder(3, key=jax.random.PRNGKey(5))
    x = jax.random.normal(jax.random.key(1), (4,))
    times = 3
    return eqx.Partial(module.forward, encoder), (x, times)
'''
    )
    chosen = ["--case", "cases.py:forward", "--remat", "none", "--no-measure"]
    assert run(["verify", "net.py", *chosen]) == Exit.OK
