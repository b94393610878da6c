"""What the analysis does not understand is an obligation: operations on values of unknown class, nodes, functions of
libraries, classes that inherit, and stores into other objects."""

import ast
import importlib
import re
from abc import ABC

import pytest
from helpers import decide, model
from test_never_silent import preceded, safe

from scanify.analysis.language import tables
from scanify.analysis.language.base import Base
from scanify.analysis.language.project import calls
from scanify.analysis.language.walker import Walker
from scanify.analysis.plan import Plan
from tests.texts import texts

FED = """\
import ast, contextlib, cmath, functools, itertools, math, operator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import unshown


def plain(*args, **named):
    return 1


SEEN = []


@unshown.decorate
class Decorated:
    def __call__(self, x):
        return x


class Made(metaclass=unshown.Meta):
    def __call__(self, x):
        return x


class Described:
    value = unshown.Descriptor()


DESCRIBED = Described()
"""
LAYER = """

class Block{at}(eqx.Module):
    linear: eqx.nn.Linear
    feed: Any

    def __init__(self, feed, *, key):
        self.linear = eqx.nn.Linear(8, 8, key=key)
        self.feed = feed

    {async_}def __call__(self, x):
{body}


class Model{at}(eqx.Module):
    layers: list[Block{at}]

    def __init__(self, depth, feed, *, key):
        self.layers = [Block{at}(feed, key=k) for k in jax.random.split(key, depth)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


def layer(*lines: str, at: int = 0, async_: str = "") -> str:
    """A model of layers of their own, whose calls run some lines and give `x`."""
    body = [each for line in lines for each in line.split("\n")]
    return LAYER.format(at=at, async_=async_, body="\n".join(f"        {line}" for line in (*body, "return x")))


def fed(*lines: str, async_: str = "") -> list[str]:
    """The lists of a safe fix in a model whose layers run some lines; `self.feed` may be anything."""
    return safe(FED + layer("x = self.linear(x)", *lines, async_=async_))


FEEDS = {
    "a method of a field that may be anything": "x = x + self.feed.get()",
    "a method of its name that arrays have": "x = x + self.feed.take(0)",
    "an attribute of it": "x = x + self.feed.rate",
    "an element of it": "x = x + self.feed[0]",
    "a part of it": "x = x + self.feed[1:]",
    "an operator with it": "x = x * self.feed",
    "an operator of it": "x = x * -self.feed",
    "an operator on what is computed of it": "y = self.feed\ny += 1",
    "a comparison with it": "x = x * (self.feed > 1)",
    "a search in it": "x = x * (3 in self.feed)",
    "a walk of it in a zip": "for _, y in zip(range(1), self.feed):\n    x = x + y",
    "a walk of it": "for y in self.feed:\n    x = x + y",
    "it unpacked": "a, b = self.feed",
    "it as arguments": "plain(*self.feed)",
    "it as named arguments": "plain(**self.feed)",
    "it as an index": "x = x[self.feed]",
    "it as the end of a slice": "x = x[: self.feed, None][: 8]",
    "it as a condition": "x = x + 1 if self.feed else x",
    "it in a function of arrays": "x = x + jnp.asarray(self.feed)",
    "its length": "x = x * len(self.feed)",
    "it mapped over": "y = jax.tree.map(lambda leaf: leaf + 1, self.feed)",
    "it called by a scan": "x = jax.lax.scan(self.feed, x, None, length=2)[0]",
    "it called by a layer": "x = eqx.nn.Lambda(self.feed)(x)",
    "it as an activation": "x = eqx.nn.MLP(8, 8, 8, 1, activation=self.feed, key=jax.random.key(0))(x)",
    "a function of operators": "x = operator.add(self.feed, x)",
    "a method by its name": "x = operator.methodcaller('get')(self.feed)",
    "a field by a computed name": "x = x + getattr(self, 'fe' + 'ed')",
    "it as a context manager": "with self.feed:\n    pass",
    "a library's context manager": "with jax.profiler.TraceAnnotation('layer'):\n    pass",
    "a decorator that a partial gives": "@functools.partial(plain, 1)\ndef f(x):\n    return x\nx = f(x)",
    "a function that calls itself": "def f(n, g):\n    return g(n) if n else f(n, print)\nx = x + f(1, jnp.sin)",
    "lists deep in lists": "x = x + jnp.sum(jnp.asarray([[[[self.feed]]]]))",
    "it as an argument of an array's method": "x = x.at[0].set(self.feed)",
    "it in a set": "h = {1}\nh.update(self.feed)",
    "it as a class that is asked for": "x = x + 1 if isinstance(x, self.feed) else x",
    "an object of a decorated class": "x = Decorated()(x)",
    "an object of a class with a metaclass": "x = Made()(x)",
    "a descriptor of a library": "y = DESCRIBED.value",
    "a function of a library that is unpacked": "a, b = unshown.make()\nx = x + a",
    "a text that it becomes": "y = f'{self.feed}'",
    "one of many values": "y = 0\n" + "\n".join(f"if x.ndim == {n}:\n    y = [{n}].copy" for n in range(9)) + "\ny()",
}


@pytest.mark.parametrize("lines", FEEDS.values(), ids=FEEDS)
def test_an_operation_on_what_may_be_anything_is_an_obligation(lines: str) -> None:
    assert fed("pass") and not fed(lines)


ARGUMENTS = {
    "x = layer(x) + feed.get()": False,
    "x = layer(x) + feed.take(0)": False,
    "x = layer(x) + feed.mean()": False,
    "x = layer(x) + feed.rate": False,
    "with feed:\n    x = layer(x)": False,
    "x = layer(x) + feed()": False,
    "x = layer(x)\nfor _, y in zip(range(1), feed):\n    x = x + y": False,
    "x = layer(x)\nfor y in feed:\n    x = x + y": False,
    "x = layer(x) + jnp.sin(feed)\nfor y in feed:\n    x = x + y": False,
    "a, b = feed\nx = layer(x) + a * len(b)": True,
    "x = layer(x) + feed": True,
    "x = layer(x) + feed[0] * feed.shape[0]": True,
    "x = layer(x) + jnp.sin(feed) + feed.mean()": False,
    "x = layer(x) + jnp.sin(feed[0]) + feed[1].mean()": False,
}


@pytest.mark.parametrize("body", ARGUMENTS)
def test_an_argument_without_an_annotation_is_computed_with(body: str) -> None:
    lines = body.replace("\n", "\n    ")
    assert bool(safe(model(f"for layer in self.layers:\n    {lines}", parameters="x, feed"))) is ARGUMENTS[body]
    declared = safe(model(f"for layer in self.layers:\n    {lines}", parameters="x, feed: 'queue.Queue'"))
    assert not declared


@pytest.mark.parametrize(
    "loop",
    [
        "for layer, y in zip(self.layers, {}):\n    x = layer(x) + y",
        "for i, layer in enumerate(self.layers):\n    x = layer(x) + {}[i]",
        "for layer, y in zip(self.layers, reversed({})):\n    x = layer(x) + y",
    ],
)
def test_what_is_walked_beside_the_layers_is_an_argument_or_an_obligation(loop: str) -> None:
    text = model(loop.format("feed"), parameters="x, feed").replace("norm: eqx", "feed: 'Any'\n    norm: eqx")
    text = text.replace("def __init__(self, depth, *", "def __init__(self, depth, feed, *")
    text = text.replace("self.layers = [", "self.feed = feed\n        self.layers = [")
    assert safe(text)
    for part in ("feed[i]", "self.layers, feed)", "reversed(feed)"):
        text = text.replace(part, part.replace("feed", "self.feed"))
    assert not safe(text)


@pytest.mark.parametrize("method", ["__add__", "__radd__", "__getitem__"])
def test_an_argument_may_be_an_object_of_a_class_of_the_project_whose_operators_act(method: str) -> None:
    text = model("for layer in self.layers:\n    x = layer(x) + feed[0]", parameters="x, feed")
    fetching = "SEEN = []\n\n\nclass Feed:\n    def {}(self, other):\n        {}\n        return other\n"
    assert not safe(preceded(text, fetching.format(method, "SEEN.append(1)")))
    assert safe(preceded(text, fetching.format(method, "other = (other, self)")))


def test_a_copy_with_other_fields_is_not_understood() -> None:
    held = "@dataclasses.dataclass\nclass Held:\n    scale: int = 1\n{}"
    text = FED.replace("import ast,", "import ast, dataclasses,") + held
    body = layer("x = self.linear(x) * dataclasses.replace(Held(), scale=2).scale")
    assert not safe(text.format("") + body)
    assert not safe(text.format("\n    def __post_init__(self):\n        self.twice = self.scale * 2\n") + body)


def test_a_loop_in_a_function_applies_what_any_caller_passes() -> None:
    run = (
        "\n\ndef run(layers: list[Block], x, act):\n    for layer in layers:\n        x = act(layer(x))\n    return x\n"
    )
    text = f"{model(loop='pass', after='')}        return run(self.layers, x, helper)\n{run}"
    assert all(
        "`act` has no annotation" in texts(loop.obligations)[0] for loop in decide(text) if isinstance(loop, Plan)
    )


PATCHES = {
    "through another name": "for cls in (Block,):\n    cls.__call__ = counted(cls.__call__)",
    "as one of two targets": "cls = Block\ncls.__call__, old = counted(cls.__call__), None",
    "as the target of a loop": "cls = Block\nfor cls.__call__ in (counted(cls.__call__),):\n    pass",
    "by a declared assignment": "cls = Block\ncls.__call__: object = counted(cls.__call__)",
    "in its dict": "vars(Block.__mro__[0])['__call__'] = counted(Block.__call__)",
    "by a setter": "object.__setattr__(Block, '__call__', counted(Block.__call__))",
    "in a method": "class Patch:\n    def apply(self, cls):\n        cls.__call__ = counted(cls.__call__)\nPatch().apply(Block)",
}


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
def test_a_method_that_any_code_stores_is_not_shown(patch: str) -> None:
    counted = "\n\ndef counted(f):\n    def g(*args, **named):\n        print(1)\n        return f(*args, **named)\n    return g\n\n\n"
    assert not safe(model() + counted + patch)
    assert safe(model() + counted + patch.replace("__call__", "attend_other"))


def test_a_field_that_other_code_stores_is_not_shown() -> None:
    held = "class Act:\n    def __init__(self):\n        self.function = jnp.tanh\n\n    def __call__(self, x):\n        return self.function(x)\n\n"
    text = preceded(
        model().replace("return x + self.linear(x)", "return ACT(self.linear(x))"), f"{held}\n\nACT = Act()"
    )
    assert safe(text)
    assert not safe(f"{text}\n\ndef trace(act, function):\n    act.function = function\n")


@pytest.mark.parametrize("heirs", [1, 7, 20])
def test_all_classes_that_inherit_are_looked_into(heirs: int) -> None:
    base = "SEEN = []\n\n\nclass Base(eqx.Module):\n    def __call__(self, x):\n        return x\n"
    quiet = "\n\nclass Sub{}(Base):\n    def __call__(self, x):\n        return x * {}\n"
    text = model().replace("linear: eqx.nn.Linear\n", "linear: eqx.nn.Linear\n    inner: Base\n", 1)
    text = text.replace("rate=0.0, *, key):", "rate=0.0, *, inner, key):").replace("key=k)", "inner=inner, key=k)")
    text = text.replace("key=key)\n", "key=key)\n        self.inner = inner\n", 1).replace(
        "depth, *", "depth, inner, *"
    )
    text = text.replace("return x + self.linear(x)", "return self.inner(self.linear(x))")
    text = preceded(text, base + "".join(quiet.format(at, at) for at in range(heirs)))
    assert safe(text)
    assert not safe(text.replace(f"return x * {heirs - 1}", "SEEN.append(1)\n        return x"))
    inside = "\n\ndef make():\n    class Inner(Base):\n        def __call__(self, x):\n            SEEN.append(1)\n            return x\n    return Inner()\n"
    assert not safe(text + inside)


def test_a_method_that_a_branch_defines_is_not_understood() -> None:
    either = "class Inner(eqx.Module):\n    if 1 > 2:\n        def __call__(self, x):\n            {}\n            return x\n    else:\n        def __call__(self, x):\n            return x\n"
    text = model().replace("eqx.nn.Linear(dim, dim, key=key)", "Inner()")
    assert not safe(preceded(text, either.format("print(1)")))


# What each kind of node is where it may do something, and those that only hold or name other nodes.
NODES: dict[str, str] = {
    "BoolOp": "self.feed and x",
    "NamedExpr": "(y := self.feed.y)",
    "BinOp": "x + self.feed",
    "UnaryOp": "~self.feed",
    "IfExp": "1 if self.feed else 2",
    "Dict": "{self.feed: 1}",
    "Set": "{self.feed}",
    "ListComp": "[y for y in self.feed]",
    "SetComp": "{y for y in self.feed}",
    "DictComp": "{y: 1 for y in self.feed}",
    "GeneratorExp": "[*(y for y in self.feed)]",
    "Await": "await self.feed",
    "Compare": "self.feed == 1",
    "Call": "self.feed()",
    "FormattedValue": "f'{self.feed}'",
    "JoinedStr": "f'{self.feed}'",
    "Attribute": "self.feed.y",
    "Subscript": "self.feed[0]",
    "Starred": "[*self.feed]",
    "Slice": "x[self.feed :]",
    "Delete": "del self.feed[0]",
    "Assign": "self.feed.y = 1",
    "AugAssign": "self.feed.y += 1",
    "AnnAssign": "self.feed.y: int = 1",
    "For": "for y in self.feed:\n    pass",
    "AsyncFor": "async for y in self.feed:\n    pass",
    "While": "while self.feed:\n    break",
    "If": "if self.feed:\n    pass",
    "With": "with self.feed:\n    pass",
    "AsyncWith": "async with self.feed:\n    pass",
    "Match": "match self.feed:\n    case 1:\n        pass",
    "Try": "try:\n    self.feed.y\nexcept ValueError:\n    pass",
    "TryStar": "try:\n    self.feed.y\nexcept* ValueError:\n    pass",
    "Assert": "assert self.feed",
    "Expr": "self.feed.y",
    "Return": "return self.feed + x",
    "ClassDef": "class Y(metaclass=self.feed):\n    pass",
    "FunctionDef": "@self.feed\ndef y():\n    return 1\ny()",
    "AsyncFunctionDef": "@self.feed\nasync def y():\n    return 1\ny()",
    "Lambda": "(lambda: self.feed.y)()",
    "Yield": "[*self.many(self.feed.y)]",
    "YieldFrom": "[*self.all(self.feed)]",
    "Interpolation": "t'{self.feed}'",
    "TemplateStr": "t'{self.feed}'",
    "TypeAlias": "type Y = int",
    "Nonlocal": "n = 0\ndef y():\n    nonlocal n\n    n = self.feed.y\ny()",
    "Global": "global SEEN\nSEEN = 1",
    "MatchValue": "match self.feed:\n    case 1:\n        pass",
    "MatchSequence": "match self.feed:\n    case [y]:\n        pass",
    "MatchMapping": "match self.feed:\n    case {'y': 1}:\n        pass",
    "MatchClass": "match self.feed:\n    case Described(y=1):\n        pass",
    "MatchOr": "match self.feed:\n    case 1 | 2:\n        pass",
}
HARMLESS = frozenset(
    "Constant Name List Tuple Pass Break Continue Import ImportFrom Raise MatchSingleton MatchStar MatchAs".split()
)
YIELDING = "\n\n    def many(self, y):\n        yield y\n\n    def all(self, y):\n        yield from y\n"


def test_every_kind_of_node_is_in_the_table() -> None:
    kinds = {
        kind.__name__
        for base in (ast.expr, ast.stmt, ast.pattern)
        for kind in base.__subclasses__()
        if not issubclass(kind, ast.Constant) or kind is ast.Constant
    }
    assert kinds <= NODES.keys() | HARMLESS, kinds - NODES.keys() - HARMLESS


@pytest.mark.parametrize("kind", [kind for kind in NODES if hasattr(ast, kind)])
def test_no_kind_of_node_is_silent(kind: str) -> None:
    async_ = "async " if kind in ("Await", "AsyncFor", "AsyncWith") else ""
    text = FED + layer("x = self.linear(x)", NODES[kind], async_=async_).replace(
        "\n\n\nclass Model", f"{YIELDING}\n\nclass Model"
    )
    ast.parse(text)
    assert not safe(text)


PACKAGES = (
    "jax jax.numpy jax.lax jax.nn jax.random jax.tree jax.tree_util jax.scipy.special jax.scipy.linalg jax.experimental "
    "equinox equinox.nn equinox.internal numpy numpy.linalg math operator itertools functools contextlib"
).split()
# What is called in other ways than as a function that computes: see the tables of these names.
KNOWN_OTHERWISE = tables.CALLERS | tables.IDENTITIES | tables.MANAGERS | {"functools.cached_property"}
ALIASES = {"jax.numpy": "jnp", "numpy": "np", "equinox": "eqx"}


def exports(package: str) -> list[str]:
    found = importlib.import_module(package)
    names = (name for name in dir(found) if not name.startswith("_"))
    return [name for name in names if callable(getattr(found, name, None))]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_function_of_a_library_that_is_not_listed_is_an_obligation(package: str) -> None:
    names = [name for name in exports(package) if not tables.is_listed(f"{package}.{name}")]
    names = [name for name in names if f"{package}.{name}" not in KNOWN_OTHERWISE]
    modules = [name for name in names if package == "equinox.nn" or name in ("Module", "ω")]
    text = f"import {package}\n{FED}"
    text += "".join(layer(f"y = {package}.{name}(x)", at=at) for at, name in enumerate(names) if name not in modules)
    found = [loop for loop in decide(text) if isinstance(loop, Plan)]
    assert [loop.container for loop in found if loop.safe] == []
    assert len(found) <= len(names) - len(modules)


NEVER = re.compile(r"save|^load|fromfile|print|^set_|seterr|geterr|callback|memmap|^nditer|^place$|^put|_put$")
KNOWN_TO_BE_PURE = frozenset({"pure_callback", "filter_pure_callback", "device_put"})


@pytest.mark.parametrize("package", tables.EXPORTS)
def test_what_is_listed_writes_nothing(package: str) -> None:
    assert [name for name in tables.EXPORTS[package] - KNOWN_TO_BE_PURE if NEVER.search(name)] == []


SAID = {
    "x = x + self.feed.get() + self.feed[0]": "`self.feed.get()` and `self.feed[0]` are not understood: {feed}",
    "x = x + self.feed.rate": "`self.feed.rate` is not understood: {feed}",
    "for y in self.feed:\n    x = x + y": "`self.feed` is not understood: {feed}",
    "y = self.feed\nx = x + y[0]": "`y[0]` is not understood: {feed}",
    "x = unshown.make(x)": "`unshown.make()` is not understood: `unshown.make` is not on the list of functions that only compute; give a case",
    "x = self.made(x)": "`self.made()` is not understood: `made` has type Callable (line 45); give a case",
    "x = self.linear(x) + self.other.deep()": "`self.other.deep()` is not understood: `deep` has type object (line 29); give a case, or annotate the field",
}


@pytest.mark.parametrize("lines", SAID)
def test_an_obligation_names_the_type_and_where_it_is_declared(lines: str) -> None:
    text = (FED + layer("x = self.linear(x)", lines)).replace(
        "from typing import Any", "from typing import Any, Callable"
    )
    text = text.replace("class Made(", "class Deep(eqx.Module):\n    deep: object\n\n\nclass Made(")
    text = text.replace("    feed: Any\n", "    feed: Any\n    made: Callable\n    other: Deep\n")
    text = text.replace("self.feed = feed", "self.feed, self.made, self.other = feed, feed, feed")
    (loop,) = decide(text)
    at = next(number for number, line in enumerate(text.split("\n"), start=1) if line == "    feed: Any")
    feed = f"`feed` has type Any (line {at}); give a case, or annotate the field"
    said = SAID[lines].format(feed=feed).replace("line 45", f"line {at + 1}")
    deep = next(number for number, line in enumerate(text.split("\n"), start=1) if line == "    deep: object")
    assert isinstance(loop, Plan) and said.replace("line 29", f"line {deep}") in texts(loop.obligations)


def test_an_operand_without_an_annotation_is_named() -> None:
    (loop,) = decide(model("for layer in self.layers:\n    x = layer(x) + feed.get()", parameters="x, feed"))
    assert isinstance(loop, Plan)
    (said,) = texts(loop.obligations)
    assert re.fullmatch(
        r"`feed.get\(\)` is not understood: `feed` has no annotation \(line \d+\); give a case, or .*", said
    )


def test_more_calls_than_are_read_for_one_loop_are_an_obligation(monkeypatch: pytest.MonkeyPatch) -> None:
    text = model("for layer in self.layers:\n    x = layer(x)")
    (loop,) = decide(text)
    assert isinstance(loop, Plan) and loop.safe
    monkeypatch.setattr(calls, "_MOST", 0)
    (loop,) = decide(text)
    assert isinstance(loop, Plan) and any(
        "more than 0 calls are read for this loop" in each for each in texts(loop.obligations)
    )


def test_a_list_of_any_type_names_it() -> None:
    init = "self.layers = [unshown.Block(k) for k in jr.split(key, depth)]"
    text = model("for layer in self.layers:\n    x = layer(x)", init=init).replace("list[Block]", "Any")
    (loop,) = decide(text)
    assert isinstance(loop, Plan)
    assert re.search(
        r": `layers` has type Any \(line \d+\); give a case, or annotate the field$", texts(loop.obligations)[0]
    )


def test_no_two_parts_of_the_walker_define_one_name() -> None:
    parts = [part for part in Walker.__mro__[1:] if part not in (Base, ABC, object)]
    names = [name for part in parts for name, value in vars(part).items() if callable(value) and name[:2] != "__"]
    assert sorted(name for name in names if names.count(name) > 1) == []


NOISY = (
    "class Noisy(eqx.Module):\n    n: int = 0\n\n    def __call__(self, x):\n        SEEN.append(1)\n        return x"
)


@pytest.mark.parametrize(
    "call",
    [
        "jax.tree_util.tree_map(Noisy(), x)",
        "jax.tree.map(Noisy(), x)",
        "jax.lax.map(lambda y: Noisy()(y), x)",
        "jax.lax.cond(True, Noisy(), lambda y: y, x)",
        "jax.lax.fori_loop(0, 2, lambda i, y: Noisy()(y), x)",
        "jax.lax.scan(lambda y, z: (Noisy()(y), z), x, x)[0]",
        "jax.lax.while_loop(lambda y: Noisy()(y), lambda y: y, x)",
        "jax.lax.switch(0, [lambda y: Noisy()(y)], x)",
        "functools.reduce(lambda y, z: Noisy()(y), [x], x)",
        "jax.vmap(Noisy())(x)",
        "jax.checkpoint(Noisy())(x)",
        "functools.partial(Noisy())(x)",
    ],
)
def test_what_a_function_of_a_library_calls_is_walked(call: str) -> None:
    lines = f"y = {call}\nx = self.linear(x)"
    text = f"{FED}\n\n{NOISY}{layer(lines)}"
    assert not safe(text)
    assert safe(text.replace("        SEEN.append(1)\n", "")) or any(
        each in call for each in ("tree", "cond", "switch", "partial")
    )
