"""Plans that change the tree of parameters, in projects that look at it."""

from pathlib import Path

import pytest

from scanify.analysis.plan import Plan
from scanify.analysis.stack import CallStack, InitStack
from scanify.cli import run
from scanify.pipeline import Project
from tests.texts import texts

MODEL = """\
import equinox as eqx
import jax


class Norm(eqx.Module):
    scale: jax.Array


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, key):
        self.linear = eqx.nn.Linear(4, 4, key=key)

    def __call__(self, x):
        return x + self.linear(x)


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, key):
        self.layers = [Block(k) for k in jax.random.split(key, 4)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


def plan(folder: Path, name: str = "", text: str = "", *, stack: str | None = None) -> Plan:
    (folder / "model.py").write_text(MODEL)
    if name:
        (folder / name).write_text(text)
    (loop,) = Project.load([folder]).analyse(stack=stack).loops  # type: ignore[arg-type]
    assert isinstance(loop, Plan)
    return loop


def test_code_anywhere_in_the_project_that_looks_at_leaves_makes_the_fix_unsafe(tmp_path: Path) -> None:
    text = "import jax\n\n\ndef mask(params):\n    return jax.tree.map(lambda p: p.ndim > 1, params)\n"
    found = plan(tmp_path, "train.py", text)
    assert isinstance(found.stack, InitStack) and not found.safe
    (said,) = texts(found.elsewhere)
    assert said.startswith(f"{tmp_path / 'train.py'}:5 reads the rank of each leaf") and "--stack call" in said
    assert said.endswith(
        "scanify.optim has weight_decay_mask, a mask by the rank in a layer, and per_layer for optimizers"
    )
    assert texts(found.obligations) == texts(found.elsewhere)
    assert sum("`scanify convert OLD NEW --stack '*layers' --axis 0`" in note for note in found.notes) == 1
    inside = plan(tmp_path, stack="call")
    assert isinstance(inside.stack, CallStack) and inside.safe and texts(inside.elsewhere) == ()


def test_an_optimiser_that_looks_at_whole_leaves_is_shown_what_to_write(tmp_path: Path) -> None:
    found = plan(tmp_path, "train.py", "import optax\n\noptimizer = optax.lamb(1e-3)\n")
    (said,) = texts(found.elsewhere)
    assert "reads a norm of each leaf" in said
    assert said.endswith("and scanify.optim.per_layer(optimizer) sees each layer by itself")


def test_where_nothing_looks_the_change_is_announced_in_one_line(tmp_path: Path) -> None:
    text = "import jax\n\n\ndef scale(params):\n    return jax.tree.map(lambda p: p * 2, params)\n"
    found = plan(tmp_path, "train.py", text)
    assert found.safe and texts(found.elsewhere) == ()
    assert sum("checkpoints" in note for note in found.notes) == 1
    assert not any("checkpoints" in note for note in plan(tmp_path, stack="call").notes)


def test_the_first_places_are_named_and_the_others_are_counted(tmp_path: Path) -> None:
    text = "import jax\n\n\ndef f(p):\n" + "".join(f"    a{n} = len(jax.tree.leaves(p))\n" for n in range(7))
    found = plan(tmp_path, "train.py", text)
    (said,) = texts(found.elsewhere)
    assert "train.py:7 reads how many leaves there are (SCN317), and 4 more places: that changes" in said
    assert [reader.place.span.line for reader in found.readers] == [5, 6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize(
    ("searched", "safe"),
    [
        ("eqx.nn.Conv", False),
        ("Norm", False),
        ("jax.Array", True),
        ("(int, float)", True),
        ("hnn.NamedArray", True),
        ("Block", False),
        ("eqx.nn.Linear", False),
        ("(eqx.nn.Conv, eqx.nn.Linear)", False),
        ("eqx.Module", False),
        ("list", False),
        ("(eqx.nn.Conv, list)", False),
    ],
)
@pytest.mark.parametrize("predicate", ["lambda x: isinstance(x, KIND)", "is_one"])
def test_a_search_for_modules_matters_and_one_for_arrays_does_not(
    tmp_path: Path, searched: str, safe: bool, predicate: str
) -> None:
    text = (
        "import equinox as eqx\nimport haliax as hnn\nimport jax\nfrom model import Block, Model, Norm\n\n\n"
        "def is_one(node):\n    return isinstance(node, KIND)\n\n\ndef f(m):\n"
        f"    return sum(x.size for x in jax.tree.leaves(m, is_leaf={predicate}) if eqx.is_array(x))\n"
    ).replace("KIND", searched)
    found = plan(tmp_path, "train.py", text)
    assert (found.safe and isinstance(found.stack, InitStack)) == safe


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("def f(m):\n    return isinstance(getattr(m, 'layers'), list)\n", False),
        ("def f(m):\n    return getattr(m, 'heads', None)\n", True),
        ("def f(m, name):\n    return getattr(m, name)\n\n\nf(model, 'layers')\n", False),
        ("import jax\n\n\ndef f(name):\n    return getattr(jax.nn, name)('layers')\n", True),
    ],
)
def test_a_list_that_is_read_by_its_name(tmp_path: Path, text: str, safe: bool) -> None:
    found = plan(tmp_path, "train.py", text)
    assert (found.safe and isinstance(found.stack, InitStack)) == safe


@pytest.mark.parametrize(("text", "safe"), [("x = jax.tree.map(f, (\n", False), ("print 'hello'\n", True)])
def test_a_file_that_cannot_be_parsed_may_look_at_leaves(tmp_path: Path, text: str, safe: bool) -> None:
    found = plan(tmp_path, "train.py", text)
    assert found.safe == safe
    assert safe or "train.py:1 reads what cannot be seen" in texts(found.elsewhere)[0]


def test_a_rewrite_leaves_the_list_and_names_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    plan(tmp_path, "train.py", "import optax\n\nopt = optax.lamb(1e-3)\n")
    assert run(["rewrite", "."]) == 0
    err = capsys.readouterr().err
    assert "the list is stacked inside the call" in err and "train.py:3 reads a norm of each leaf (SCN311); `" in err
    assert "BlockSeq.of(self.layers).fold(x)" in (tmp_path / "model.py").read_text()
    (tmp_path / "model.py").write_text(MODEL)
    assert run(["rewrite", ".", "--stack", "init"]) == 0
    assert "unsafe (elsewhere): train.py:3 reads a norm of each leaf" in capsys.readouterr().err
    assert (tmp_path / "model.py").read_text() == MODEL


PATCH = """\
{head}
from model import Model


def patched(model, names):
    for name in {names}:
        for part in name.split("."):
            model = model[int(part)] if part.isdigit() else getattr(model, part)
    return model
"""


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("import tomllib", "tomllib.loads(names)"),
        ("import sys", "sys.argv[1:]"),
        ("import pathlib", "pathlib.Path(names).read_text().split()"),
        ("import math", "('norm', 'head.bias')"),
        ("import math", "names"),
    ],
)
def test_a_field_whose_name_varies_may_be_any(tmp_path: Path, head: str, names: str) -> None:
    found = plan(tmp_path, "patch.py", PATCH.format(head=head, names=names))
    assert [each for each in texts(found.elsewhere) if "patch.py:8 reads fields by their names (SCN318)" in each]


def test_a_field_that_a_keyword_names_may_be_replaced(tmp_path: Path) -> None:
    text = "def put(model, **new):\n    for name, value in new.items():\n        object.__setattr__(model, name, value)\n\n\n"
    assert not plan(tmp_path, "swap.py", f"{text}def swapped(model, found):\n    put(model, layers=list(found))\n").safe
