"""The first, shallow run: loops that are surely not over modules are left out, and nothing else."""

import ast
from pathlib import Path

import pytest
from scanify.analysis.loops.lists.used_as_data import used_as_data
from scanify.analysis.loops.lists.vocabulary import Vocabulary
from scanify.analysis.planning.project import _that_may_walk_modules, facts_of
from scanify.analysis.planning.scout import is_foreign
from scanify.analysis.values.run.interpreter import Interpreter

from scanify.analysis import analyse
from scanify.analysis.index.project import Index
from scanify.analysis.lower.loops import loops_in
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


def project(text: str) -> tuple[Interpreter, list]:
    path = Path("/project/model.py")
    index = Index(path.parent, [Source(path, HEAD + text)])
    module = index.module_at(path)
    assert module is not None
    return Interpreter(index), list(loops_in(module))


KEPT = {
    "a field": "class M(eqx.Module):\n    bs: list\n    def __init__(self, n, key):\n"
    "        self.bs = [Block(n, k) for k in jax.random.split(key, n)]\n"
    "    def __call__(self, x):\n        for b in self.bs:\n            x = b(x)\n        return x\n",
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
def test_what_may_be_modules_is_kept(name: str) -> None:
    run, loops = project(KEPT[name])
    assert [loop for loop in _that_may_walk_modules(run, loops) if loop.place.span.line > HEAD.count("\n")]


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_surely_no_modules_is_left_out(name: str) -> None:
    run, loops = project(LEFT_OUT[name])
    own = [loop for loop in loops if loop.place.span.line > HEAD.count("\n") and loop.is_statement]
    assert own and not _that_may_walk_modules(run, own)


def test_a_shallow_run_leaves_no_trace() -> None:
    # Uses of a list are kept with the tree: one that the shallow run had noted would hide that of the run for good.
    text = KEPT["a field"].replace("def __call__", "def grow(self):\n        self.bs.append(1)\n    def __call__")
    run, loops = project(text)
    _that_may_walk_modules(run, loops)
    assert not run.stores and not run.models and not run.memo and not run.clock
    assert not any(hasattr(node, "_site") and node._site.uses for loop in loops for node in ast.walk(loop.module.tree))


def test_the_facts_are_those_of_the_run_for_good() -> None:
    run, loops = project(KEPT["a field that a helper fills"])
    facts = facts_of(run, [loop.module.path for loop in loops][:1])
    assert [fact.layers.classes[0].name for fact in facts] == ["Block"]


BODIES = {
    "total += b": True,
    "x = table[b]": True,
    "x = x - b": True,
    "x = x if b in seen else b(x)": True,
    "x = x if b > 2 else b(x)": True,
    "x = g(int(b), x)": True,
    "x = g(b.split(','), x)": False,
    "x = b(x)": False,
    "x = b.norm(x)": False,
    "x = x + b.weight": False,
    "x = table[b.name](x)": False,
    "x = x if b is None else b(x)": False,
    "b = b.inner; x = table[b]": False,
    "x = g(len(b), x)": False,
}


@pytest.mark.parametrize("body", BODIES)
def test_how_a_body_uses_what_it_walks(body: str) -> None:
    _, loops = project(
        f"def f(bs, x, table, seen, total):\n    for b in bs:\n        {body}\n        x = b(x)\n    return x\n"
    )
    run, _ = project("")
    words = Vocabulary(run.index, run.classes)
    walks = [(loop, walk) for loop in loops for walk in loop.walks if loop.is_statement]
    assert [used_as_data(*each, words) for each in walks] == [BODIES[body]]


ASKED = {
    "x = b.linear(x)": False,
    "x = b.linear(x) + b.weight": False,
    "x = b.grow(x)": True,
    "x = x + b.linear(b.size)": True,
    "x = g(b, x)": False,
    "x = x + b": True,
    "x = jnp.add(x, b)": True,
    "x = jnp.vectorize(b)(x)": False,
    "x = jax.vmap(b)(x)": False,
    "x = g(str(b), x)": True,
    "x = g(f'{b}', x)": True,
    "x = x[b] + x[b + 1, :]": True,
    "x = b['linear'](x)": False,
    "x = [c(x) for c in b]": False,
    "x = b(x) if not b else x": False,
    "x = b.of_another(x)": False,
    "x = b.layer3(x)": False,
    "x = b.taken(x) + b.put_there(x)": False,
    "x = g(b.split(','), x)": True,
    "x = g(b.strip().items(), x)": True,
    "x = b.encode(x)": False,
    "x = b.encode(x) + b.of_another(x)": False,
}


@pytest.mark.parametrize("body", ASKED)
def test_what_is_asked_for_what_no_module_has_is_none(body: str) -> None:
    others = """
class Named(eqx.Module):
    def __init__(self, n):
        for i in range(n):
            setattr(self, f"layer{i}", i)
    def of_another(self, x):
        return x
    def encode(self, x):
        return x

class Filled(eqx.Module):
    def __init__(self, fields):
        for field in fields:
            setattr(self, field.name, field)
    def taken(self, x):
        return x
"""
    head = "import jax.numpy as jnp\n"
    run, loops = project(f"{head}{others}\ndef f(bs, x, g):\n    for b in bs:\n        {body}\n    return x\n")
    words = Vocabulary(run.index, run.classes)
    walks = [(loop, walk) for loop in loops for walk in loop.walks if ast.unparse(loop.node).startswith("for b in")]
    assert [used_as_data(*each, words) for each in walks] == [ASKED[body]] * len(walks)
    assert walks or ASKED[body]


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
    run, loops = project(FOREIGN)
    assert [is_foreign(run, loop) for loop in loops if loop.is_statement] == [True, False, False, False, False]


def test_files_without_a_loop_over_modules_are_answered_for_without_the_others(monkeypatch) -> None:
    from scanify.analysis.planning import project as decided
    from scanify.analysis.planning.decide import Choices

    own, other = Path("/project/own.py"), Path("/project/model.py")
    text = "import torch\n\nclass Net(torch.nn.Module):\n    def f(self, x):\n        for b in self.blocks:\n"
    sources = [Source(own, text + "            x = b(x)\n        return x\n"), Source(other, HEAD + FOREIGN)]
    asked: list[Path] = []
    loops_at = decided._loops_at
    monkeypatch.setattr(decided, "_loops_at", lambda index, path: asked.append(path) or loops_at(index, path))
    assert not decided.decisions(Index(own.parent, sources), [own], Choices(None, frozenset()))[0]
    assert asked == [own]


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
