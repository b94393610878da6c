"""Loops that are shown not to be over modules are left out, and nothing else."""

from pathlib import Path

import pytest

from scanify.analysis import analyse
from scanify.analysis.plan import Plan
from scanify.source.file import Source

HEAD = """\
import equinox as eqx
import jax

class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, width, key):
        self.linear = eqx.nn.Linear(width, width, key=key)

    def __call__(self, x):
        return x + self.linear(x)

class Record:
    def __init__(self, size: int):
        self.size = size

    def grow(self, x):
        return x + self.size

def blocks(width, keys):
    return [Block(width, key) for key in keys]

def records(n: int) -> list[Record]:
    return [Record(i) for i in range(n)]

"""


def lines_listed(text: str) -> set[int]:
    """The lines of `text`, from 1, with loops that are listed."""
    found = analyse([Source(Path("/project/model.py"), HEAD + text)]).loops
    return {each.place.span.line - HEAD.count("\n") for each in found}


KEPT = {
    "a field": "class M(eqx.Module):\n    bs: list\n    def __init__(self, n, key):\n"
    "        self.bs = [Block(n, k) for k in jax.random.split(key, n)]\n"
    "    def __call__(self, x):\n        for b in self.bs:\n            x = b(x)\n        return x\n",
    "a field that a helper fills": "class M(eqx.Module):\n    bs: list\n    def __init__(self, n, keys):\n"
    "        self.bs = blocks(n, keys)\n"
    "    def __call__(self, x):\n        for b in self.bs:\n            x = b(x)\n        return x\n",
    "a parameter": "def f(bs, x):\n    for b in bs:\n        x = b(x)\n    return x\n",
    "an argument's field": "def f(model, x):\n    for b in model.bs:\n        x = b(x)\n    return x\n",
}
LEFT_OUT = {
    "numbers": "def f(x):\n    ns = [1, 2, 3]\n    for n in ns:\n        x = g(n, x)\n    return x\n",
    "arrays": "def f(x):\n    ws = [jax.numpy.ones(i) for i in range(3)]\n    for w in ws:\n        x = g(w, x)\n    return x\n",
    "records": "def f(x):\n    rs = [Record(i) for i in range(3)]\n    for r in rs:\n        x = r.grow(x)\n    return x\n",
    "declared records": "def f(x):\n    for r in records(3):\n        x = r.grow(x)\n    return x\n",
}


@pytest.mark.parametrize("name", KEPT)
def test_what_may_be_modules_is_kept(name: str) -> None:
    assert lines_listed(KEPT[name])


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_surely_no_modules_is_left_out(name: str) -> None:
    assert not lines_listed(LEFT_OUT[name])


FOREIGN = """
import flax
import torch

class Base(torch.nn.Module):
    pass

class Encoder(Base):
    def __init__(self, n):
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(n)])

    def fields(self, x):
        for b in self.blocks:
            x = b(x)
        return x

    def given(self, blocks, x):
        for b in blocks:
            x = b(x)
        return x

class Record(flax.struct.PyTreeNode):
    blocks: list

    def __call__(self, x):
        for b in self.blocks:
            x = b(x)
        return x

class Data(torch.utils.data.Dataset):
    def read(self, x):
        for b in self.blocks:
            x = b(x)
        return x

class Twin(eqx.Module, torch.nn.Module):
    blocks: list

    def __call__(self, x):
        for b in self.blocks:
            x = b(x)
        return x
"""


def test_what_a_module_of_another_framework_holds_is_none_of_ours() -> None:
    first = FOREIGN[: FOREIGN.index("for b in self.blocks")].count("\n") + 1
    assert first not in lines_listed(FOREIGN)


# Methods of texts, dicts, lists and arrays, which layers of autoencoders and tokenisers have too.
NAMES = "encode decode split format strip items append extend keys pop update sort count astype reshape mean".split()
LOOPS = {
    "one after another": ("for b in self.bs:\n            x = b.{name}(x)", "SCN101"),
    "a method under a name": ("for b in self.bs:\n            f = b.{name}\n            x = f(x)", "SCN101"),
    "by number": ("for i in range(len(self.bs)):\n            x = self.bs[i].{name}(x)", "SCN101"),
    "collected": ("ys = []\n        for b in self.bs:\n            ys.append(b.{name}(x))", "SCN104"),
    "a comprehension": ("x = [b.{name}(x) for b in self.bs]", "SCN104"),
    "beside numbers": ("for b, y in zip(self.bs, x):\n            x = x + b.{name}(y)", "SCN101"),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", LOOPS)
def test_the_method_of_a_layer_may_have_any_name(form: str, name: str) -> None:
    body, rule = LOOPS[form]
    text = HEAD.replace("__call__", name) + KEPT["a field"].partition("        for b")[0]
    text += f"        {body.format(name=name)}\n        return x\n"
    (found,) = analyse([Source(Path("model.py"), text)]).loops
    assert isinstance(found, Plan), found
    assert found.rule == rule or (form == "by number" and not found.safe)  # `append` of an element of a list
