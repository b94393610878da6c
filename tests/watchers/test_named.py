"""Code that looks at how a model holds its layers is named at its line with its rule; what is the same for both is not."""

from pathlib import Path

import pytest

from tests.watchers.table import rows
from tests.watchers.test_plans import MODEL

HEAD = """\
import dataclasses
import io
import operator
import pickle

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jax.flatten_util import ravel_pytree

from model import Block, Model


"""

# What a line does that ends in `# here`, and the rule it is named with: "call" if the list stays for a use of it.
NAMED = [
    ("SCN310", "def decayed(model: Model):\n    return jax.tree.map(lambda p: p.ndim >= 2, model)  # here\n"),
    (
        "SCN310",
        (
            "def polish(p):\n    return jnp.linalg.qr(p)[0] if jnp.ndim(p) == 2 else p\n\n\n"
            "def step(grads: Model):\n    return jax.tree.map(polish, grads)  # here\n"
        ),
    ),
    (
        "SCN311",
        ("def unit(model: Model):\n    return jax.tree.map(lambda p: p / jnp.sqrt((p * p).sum()), model)  # here\n"),
    ),
    ("SCN311", "def widest(model: Model):\n    return max(jnp.std(p) for p in jax.tree.leaves(model))  # here\n"),
    ("SCN311", "optimizer = optax.chain(optax.lamb(1e-3), optax.clip(1.0))  # here\n"),
    (
        "SCN312",
        ("def he(model: Model):\n    return jax.tree.map(lambda p: p * (2 / p.shape[-1]) ** 0.5, model)  # here\n"),
    ),
    ("SCN312", "optimizer = optax.adafactor(1e-3)  # here\n"),
    (
        "SCN313",
        (
            "def rates(model: Model):\n"
            "    return jax.tree_util.tree_map_with_path(lambda path, p: 0.9 ** len(path), model)  # here\n"
        ),
    ),
    (
        "SCN317",
        (
            "def jittered(model: Model, key):\n    found, made_of = jax.tree.flatten(model)  # here\n"
            "    keys = jr.split(key, len(found))\n"
            "    return made_of.unflatten([p + jr.normal(k, p.shape) for p, k in zip(found, keys)])\n"
        ),
    ),
    (
        "SCN315",
        (
            "def linears(model: Model):\n    def is_one(x):\n        return isinstance(x, eqx.nn.Linear)\n\n"
            "    return [x for x in jax.tree.leaves(model, is_leaf=is_one) if is_one(x)]  # here\n"
        ),
    ),
    (
        "SCN315",
        (
            "def biased(model: Model):\n    return jax.tree.leaves(model, is_leaf=lambda x: hasattr(x, 'bias'))  # here\n"
        ),
    ),
    ("SCN316", "def swapped(model: Model, new):\n    return eqx.tree_at(lambda m: m.layers[0], model, new)  # here\n"),
    (
        "SCN316",
        (
            "def zeroed(model: Model):\n"
            "    return eqx.tree_at(lambda m: m.layers[-1].linear.bias, model, jnp.zeros(4))  # here\n"
        ),
    ),
    (
        "call",
        (
            "def reversed_layers(model: Model):\n"
            "    return eqx.tree_at(operator.attrgetter('layers'), model, model.layers[::-1])  # here\n"
        ),
    ),
    (
        "SCN316",
        (
            "def frozen(model: Model):\n    nothing = jax.tree.map(lambda _: False, model)\n"
            "    return eqx.tree_at(lambda m: m.layers[1], nothing, replace=True)  # here\n"
        ),
    ),
    ("SCN317", "def count(model: Model):\n    return len(jax.tree.leaves(model))  # here\n"),
    ("SCN312", "def shapes(model: Model):\n    return [p.shape for p in jax.tree.leaves(model)]  # here\n"),
    ("SCN317", "def vector(model: Model):\n    return ravel_pytree(model)[0]  # here\n"),
    ("call", "def first(model: Model):\n    return jax.tree.leaves(model.layers)[0]  # here\n"),
    ("call", "def vector(model: Model):\n    return ravel_pytree(model.layers)[0]  # here\n"),
    (
        "SCN318",
        (
            "def save(model: Model):\n    return flat('', dataclasses.asdict(model))  # here\n\n\n"
            "def flat(at, node):\n"
            "    if isinstance(node, list):\n"
            "        return {k: v for i, one in enumerate(node) for k, v in flat(f'{at}.{i}', one).items()}\n"
            "    return {at: node}\n"
        ),
    ),
    (
        "SCN318",
        ("def lists(model: Model):\n    return [k for k, v in vars(model).items() if isinstance(v, list)]  # here\n"),
    ),
    (
        "SCN318",
        (
            "def lists(model: Model):\n    each = [getattr(model, f.name) for f in dataclasses.fields(model)]  # here\n"
            "    return [one for one in each if type(one) is list]\n"
        ),
    ),
    (
        "SCN317",
        (
            "def unfrozen(model: Model, spec: str):\n    path, _, upto = spec.partition(':')\n"
            "    get = operator.attrgetter(path)\n    return list(get(model)[: int(upto)])  # here\n"
            "def all_but_one(model: Model):\n    return unfrozen(model, 'layers:1')\n"
        ),
    ),
    ("SCN318", "def deep(model: Model):\n    return isinstance(model.layers, (list, tuple))  # here\n"),
    ("SCN318", "def deep(model: Model):\n    return type(model.layers) is list  # here\n"),
    ("SCN318", "def deep(model: Model):\n    return isinstance(getattr(model, 'layers'), list)  # here\n"),
    ("SCN319", "def size(model: Model):\n    return len(pickle.dumps(model))  # here\n"),
    (
        "SCN319",
        (
            "def saved(model: Model):\n    file = io.BytesIO()\n    eqx.tree_serialise_leaves(file, model)  # here\n"
            "    return file.getvalue()\n"
        ),
    ),
]

# What looks alike and is the same for a list and for a stack.
HARMLESS = [
    "def scaled(model: Model):\n    return jax.tree.map(lambda p: p * 0.99, model)\n",
    "def size(model: Model):\n    return sum(p.size for p in jax.tree.leaves(model))\n",
    "def norm(model: Model):\n    return jnp.sqrt(sum(jnp.sum(p**2) for p in jax.tree.leaves(model)))\n",
    "def depth(model: Model):\n    return len(jax.tree.map(lambda p: p + 1, model.layers))\n",
    "def alike(model: Model):\n    return eqx.tree_equal(model.layers[0], model.layers[1])\n",
    "def is_block(model: Model):\n    return isinstance(model.layers[0], Block)\n",
    "def is_model(model: Model):\n    return isinstance(model, Model)\n",
    "def widened(block: Block, new):\n    return eqx.tree_at(lambda b: b.linear.weight, block, new)\n",
    (
        "def copied(model: Model):\n    file = io.BytesIO()\n    eqx.tree_serialise_leaves(file, model)\n    file.seek(0)\n"
        "    return eqx.tree_deserialise_leaves(file, model)\n"
    ),
    "optimizer = optax.adamw(1e-3, weight_decay=0.1)\n",
]


def named(folder: Path, text: str) -> list[tuple[str, str]]:
    """The places in a file beside a model that are named, each with its rule."""
    (folder / "model.py").write_text(MODEL)
    (folder / "train.py").write_text(HEAD + text)
    return [(place, rule) for place, rule, _ in rows(folder)]


@pytest.mark.parametrize(("rule", "text"), NAMED)
def test_code_that_looks_at_leaves_is_named_at_its_line_with_its_rule(tmp_path: Path, rule: str, text: str) -> None:
    line = next(at for at, each in enumerate((HEAD + text).splitlines(), 1) if each.endswith("# here"))
    assert (f"train.py:{line}", rule) in named(tmp_path, text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_the_same_for_a_stack_has_no_rule(tmp_path: Path, text: str) -> None:
    assert not any(rule.startswith("SCN") for _, rule in named(tmp_path, text))


def test_the_note_on_a_list_that_is_kept_names_line_and_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from scanify.cli import run

    named(tmp_path, "def deep(model: Model):\n    return type(model.layers) is list\n")
    monkeypatch.chdir(tmp_path)
    assert run(["check", "."]) in (0, 1)
    line = HEAD.count("\n") + 2
    assert f"as code asks for the type of the list (train.py:{line}, SCN318)" in capsys.readouterr().out
