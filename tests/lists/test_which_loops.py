"""Which loops may walk layers: they get a verdict, if an open one, and loops over other values get none."""

from pathlib import Path

import pytest

from scanify.analysis import analyse
from scanify.analysis.plan import Plan, Refusal
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


def decided(text: str) -> list[Plan | Refusal]:
    """The verdicts on the loops behind the head."""
    found = analyse([Source(Path("model.py"), HEAD + text)]).loops
    return [each for each in found if each.place.span.line > HEAD.count("\n")]


KEPT = {
    "a field": "class M(eqx.Module):\n    bs: list\n    def __init__(self, n, key):\n"
    "        self.bs = [Block(n, k) for k in jax.random.split(key, n)]\n"
    "    def __call__(self, x):\n        for b in self.bs:\n            x = b(x)\n        return x\n",
    "what a method gives": "class M(eqx.Module):\n    bs: list\n    def blocks(self):\n        return self.bs\n"
    "    def __call__(self, x):\n        for b in self.blocks():\n            x = b(x)\n        return x\n",
    "a copy of a field": "class M(eqx.Module):\n    bs: list\n"
    "    def __call__(self, x):\n        for b in self.bs.copy():\n            x = b(x)\n        return x\n",
    "a helper's list": "def f(x, keys):\n    for b in blocks(4, keys):\n        x = b(x)\n    return x\n",
    "a field that a helper fills": "class M(eqx.Module):\n    bs: list\n    def __init__(self, n, keys):\n"
    "        self.bs = blocks(n, keys)\n"
    "    def __call__(self, x):\n        for b in self.bs:\n            x = b(x)\n        return x\n",
    "a parameter": "def f(bs, x):\n    for b in bs:\n        x = b(x)\n    return x\n",
    "an argument's field": "def f(model, x):\n    for b in model.bs:\n        x = b(x)\n    return x\n",
    "nested": "def f(x, keys):\n    stages = [blocks(4, keys), blocks(4, keys)]\n"
    "    for stage in stages:\n        x = stage[0](x)\n    return x\n",
    "a plain class with modules below it": "class Base:\n    def run(self, x): ...\nclass Deep(Base, eqx.Module): ...\n"
    "def make(n) -> Base:\n    return other(n)\ndef f(x):\n    bs = [make(i) for i in range(3)]\n    for b in bs:\n        x = b.run(x)\n    return x\n",
    "a protocol": "from typing import Protocol\nclass Runs(Protocol):\n    def run(self, x): ...\n"
    "def make(n) -> Runs:\n    return other(n)\ndef f(x):\n    bs = [make(i) for i in range(3)]\n    for b in bs:\n        x = b.run(x)\n    return x\n",
    "a list of a protocol": "from typing import Protocol\nclass Runs(Protocol):\n    def __call__(self, x): ...\n"
    "def f(bs: list[Runs], x):\n    for b in bs:\n        x = b(x)\n    return x\n",
    "a class whose base is not shown": "from elsewhere import Base\nclass Mine(Base):\n    def run(self, x): ...\n"
    "def make(n) -> Mine:\n    return other(n)\ndef f(x):\n    bs = [make(i) for i in range(3)]\n    for b in bs:\n        x = b.run(x)\n    return x\n",
    "by number": "def f(bs, x):\n    for i in range(len(bs)):\n        x = bs[i](x)\n    return x\n",
}
LEFT_OUT = {
    "numbers": "def f(x):\n    ns = [1, 2, 3]\n    for n in ns:\n        x = g(n, x)\n    return x\n",
    "arrays": "def f(x):\n    ws = [jax.numpy.ones(i) for i in range(3)]\n    for w in ws:\n        x = g(w, x)\n    return x\n",
    "records": "def f(x):\n    rs = [Record(i) for i in range(3)]\n    for r in rs:\n        x = r.grow(x)\n    return x\n",
    "declared records": "def f(x):\n    for r in records(3):\n        x = r.grow(x)\n    return x\n",
}


@pytest.mark.parametrize("name", KEPT)
def test_what_may_be_modules_gets_a_verdict(name: str) -> None:
    assert decided(KEPT[name])


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_shown_to_be_no_modules_gets_none(name: str) -> None:
    assert not decided(LEFT_OUT[name])


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

    def both(self, x):
        for b in self.blocks:
            x = b(x)
        return x
"""


def test_modules_of_another_framework_are_no_layers() -> None:
    lines = (HEAD + FOREIGN).split("\n")
    found = [lines[each.place.span.line - 2].strip() for each in decided(FOREIGN)]
    assert found == ["def given(self, blocks, x):", "def both(self, x):"]


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


def test_a_reason_is_one_line_whatever_code_it_quotes() -> None:
    made = "Block([\n            i], k) for i, k in enumerate(jax.random.split(key, n))"
    text = KEPT["a field"].replace("Block(n, k) for k in jax.random.split(key, n)", made)
    reasons = [each.reason for each in decided(text) if isinstance(each, Refusal)]
    assert reasons and not any("\n" in each for each in reasons), reasons
