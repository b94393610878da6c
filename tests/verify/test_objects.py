"""Objects of one project that is loaded twice: which of them are the same, by the closed table of types."""

import functools
import types
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from scanify.verify.compare.compare import compare_case
from scanify.verify.objects.same import difference
from scanify.verify.verdict import Status
from tests.verify.functions import outputs

HEAD = """
import abc, collections, dataclasses, datetime, decimal, enum, fractions, functools, math, numbers, pathlib, queue, re
import threading, types, typing
import equinox as eqx, jax, jax.numpy as jnp, numpy as np
settings = types.ModuleType("settings")
settings.scale, settings.inner = 1.0, types.ModuleType("inner")
settings.inner.rate = 0.5
"""
DISPATCHED = (
    "class A: ...\n@functools.singledispatch\ndef f(x): return x\n@f.register\ndef _(x: int): return x + 1\n"
    "f.register(A, lambda x: 0)\n"
)
MODULE = "class Out(eqx.Module):\n    v: jax.Array\n"


def load(text: str) -> Any:
    module = types.ModuleType("project")
    exec(compile(HEAD + text, "project.py", "exec"), vars(module))
    return module


# What a project defines as `it`. Two loads of it are the same.
SAME: dict[str, str] = {
    "a range and a slice": "it = range(3), slice(1, None, 2)",
    "a decimal, a fraction and a date": "it = decimal.Decimal('1.10'), fractions.Fraction(1, 3), datetime.date(2020, 1, 1)",
    "a path and a pattern": "it = pathlib.Path('a/b'), re.compile('a', re.I)",
    "an ordered dict": "it = collections.OrderedDict(b=1, a=2)",
    "scalars and dtypes": "it = np.float32(0.1), jnp.bfloat16(1), np.dtype('f4'), jnp.dtype(jnp.bfloat16), np.str_('a')",
    "an array": "it = np.arange(3)",
    "a key": "it = jax.random.key(1)",
    "a jitted closure": "def make(a):\n    def f(y, flag): return y * a if flag else y\n"
    "    return jax.jit(f, static_argnums=1)\nit = make(2.0)",
    "a function with a rule": "@jax.custom_jvp\ndef it(x): return jnp.sin(x)\n"
    "it.defjvp(lambda p, t: (it(*p), t[0] * jnp.cos(p[0])))",
    "a vmapped function": "def f(x): return x * 2\nit = jax.vmap(f, in_axes=1)",
    "a named tuple": "It = collections.namedtuple('It', 'a b')\nit = It(1, 2)",
    "a typed named tuple": "class It(typing.NamedTuple):\n    a: int\n    b: float = 1.0\n    def both(self): return self.a\n"
    "it = It(1)",
    "a member": "class It(enum.Enum):\n    A = 1\n    B = 2\nit = It.B",
    "a frozen dataclass": "@dataclasses.dataclass(frozen=True)\nclass It:\n    a: int\n    b: tuple = ()\nit = It(1, (2,))",
    "an object with slots": "class It:\n    __slots__ = ('a', '__weakref__')\nit = It()\nit.a = [1]",
    "a generic class": "T = typing.TypeVar('T')\nclass It(typing.Generic[T]):\n    a: typing.Annotated[int, 'm'] | None\n"
    "it = It()",
    "an abstract class": "class Base(abc.ABC):\n    @abc.abstractmethod\n    def f(self): ...\n"
    "class It(Base):\n    def f(self): return 1\nit = It()",
    "a setting of a module": "def it(x): return x * settings.inner.rate * math.pi",
    "one list in two places": "it = (lambda seen: (seen, seen))([1])",
    "a list in itself": "it = [1]\nit.append(it)",
    "a sentinel in code": "NONE = object()\ndef it(x=NONE): return x is NONE",
    "fields in another order of a record": MODULE + "it = Out",
    "functions that call each other": "def f(n): return n and g(n - 1)\ndef g(n): return f(n)\nit = f",
    "a function by the class of its argument": DISPATCHED + "f(1)\nit = f",
    "a method by the class of its argument": "class It:\n    @functools.singledispatchmethod\n    def f(self, x): return x\n"
    "    @f.register\n    def _(self, x: int): return -x\nit = It",
    "a cached property": "class It:\n    @functools.cached_property\n    def a(self): return 1\nit = It()",
}


@pytest.mark.parametrize("name", SAME)
def test_two_loads_of_one_object_are_the_same(name: str) -> None:
    assert difference(load(SAME[name]).it, load(SAME[name]).it) is None


# Two texts of a project whose `it` differs, seen for certain or not seen to be the same.
CERTAIN: dict[str, tuple[str, str]] = {
    "ranges": ("it = range(3)", "it = range(4)"),
    "decimals": ("it = decimal.Decimal('1.1')", "it = decimal.Decimal('1.10')"),
    "the order of a dict": ("it = dict(a=1, b=2)", "it = dict(b=2, a=1)"),
    "a moved key of an ordered dict": (
        "it = collections.OrderedDict(a=1, b=2)\nit.move_to_end('a')",
        "it = collections.OrderedDict(a=1, b=2)",
    ),
    "lists in two places": ("it = (lambda seen: (seen, seen))([1])", "it = ([1], [1])"),
    "writable arrays": ("it = np.arange(3)", "it = np.arange(3)\nit.flags.writeable = False"),
    "options of jit": ("it = jax.jit(math.sqrt)", "it = jax.jit(math.sqrt, donate_argnums=0)"),
    "an attribute of an object in a list": (
        "class It: pass\nit = [It()]\nit[0].a = 1",
        "class It: pass\nit = [It()]\nit[0].a = 2",
    ),
    "a class for a function": (DISPATCHED + "it = f", DISPATCHED.replace("x: int", "x: float") + "it = f"),
    "an attribute of a function by class": (DISPATCHED + "f.scale = 1\nit = f", DISPATCHED + "f.scale = 2\nit = f"),
    "bits of a key": ("it = jax.random.key(1)", "it = jax.random.key(1, impl='rbg')"),
}
UNSEEN: dict[str, tuple[str, str]] = {
    "names of a named tuple": (
        "it = collections.namedtuple('It', 'a b')(1, 2)",
        "it = collections.namedtuple('It', 'b a')(1, 2)",
    ),
    "match arguments": (
        MODULE + "    __match_args__ = ('v',)\nit = Out",
        MODULE + "    __match_args__ = ()\nit = Out",
    ),
    "match arguments that fields make": (
        "class It(eqx.Module):\n    a: int\n    b: int\n    def f(self): ...\nit = It",
        "class It(eqx.Module):\n    b: int\n    a: int\n    def f(self): ...\nit = It",
    ),
    "annotations": (
        "class It:\n    a: typing.Annotated[int, 1]\nit = It()",
        "class It:\n    a: typing.Annotated[int, 2]\nit = It()",
    ),
    "a name in the text of an annotation": (
        "SCALE = 1\nclass It:\n    a: 'typing.Annotated[int, SCALE]'\n    def f(self): ...\nit = It()",
        "SCALE = 2\nclass It:\n    a: 'typing.Annotated[int, SCALE]'\n    def f(self): ...\nit = It()",
    ),
    "annotations of a function": ("def it(x: 'a'): ...", "def it(x: 'b'): ..."),
    "a registration": (
        "class P(abc.ABC): ...\nclass It: ...\nP.register(It)\ndef it(x): return isinstance(It(), P)",
        "class P(abc.ABC): ...\nclass It: ...\ndef it(x): return isinstance(It(), P)",
    ),
    "a registration with a class of Python's": (
        "class It: ...\nnumbers.Number.register(It)\nit = It()",
        "class It: ...\nit = It()",
    ),
    "a registration with jax": (
        "class It: ...\njax.tree_util.register_pytree_node(It, lambda t: ((), 1), lambda a, c: It())\nit = It",
        "class It: ...\njax.tree_util.register_pytree_node(It, lambda t: ((), 2), lambda a, c: It())\nit = It",
    ),
    "a metaclass": (
        "class M(type):\n    a = 1\nclass It(metaclass=M): ...\nit = It()",
        "class M(type):\n    a = 2\nclass It(metaclass=M): ...\nit = It()",
    ),
    "a docstring": ("class It:\n    '1'\nit = It()", "class It:\n    '2'\nit = It()"),
    "a format of a module": (
        "def it(x): return '{0.scale}'.format(settings)",
        "settings.scale = 2.0\ndef it(x): return '{0.scale}'.format(settings)",
    ),
    "a module that is handed on": (
        "def get(m): return m.scale\ndef it(x): return get(settings)",
        "settings.scale = 2.0\ndef get(m): return m.scale\ndef it(x): return get(settings)",
    ),
    "an inner module in a choice": (
        "def it(x): return (settings.inner if x else settings).rate",
        "settings.inner.rate = 2.0\ndef it(x): return (settings.inner if x else settings).rate",
    ),
    "a function in a partial": (
        "def h(x): return x\nit = functools.partial(h, 1)",
        "def h(x): return -x\nit = functools.partial(h, 1)",
    ),
    "a function for a class": (DISPATCHED + "it = f", DISPATCHED.replace("x + 1", "x - 1") + "it = f"),
    "a function for a class that calls find": (
        DISPATCHED + "def it(x): return f(x)",
        DISPATCHED + "f.register(float, abs)\ndef it(x): return f(x)",
    ),
    "a function under jit in a table": (
        "def h(x): return x\nit = {'h': jax.jit(h)}",
        "def h(x): return -x\nit = {'h': jax.jit(h)}",
    ),
    "a method of a named tuple": (
        "class It(typing.NamedTuple):\n    a: int\n    def f(self): return 1\nit = It(1)",
        "class It(typing.NamedTuple):\n    a: int\n    def f(self): return 2\nit = It(1)",
    ),
    "a rule": (
        "@jax.custom_jvp\ndef it(x): return x\nit.defjvp(lambda p, t: (it(*p), t[0]))",
        "@jax.custom_jvp\ndef it(x): return x\nit.defjvp(lambda p, t: (it(*p), 2 * t[0]))",
    ),
}


@pytest.mark.parametrize("name", CERTAIN)
def test_data_that_differs_is_told(name: str) -> None:
    one, other = (load(text).it for text in CERTAIN[name])
    found = difference(one, other)
    assert found is not None and found.certain


@pytest.mark.parametrize("name", UNSEEN)
def test_code_that_differs_is_not_seen_to_be_the_same(name: str) -> None:
    one, other = (load(text).it for text in UNSEEN[name])
    found = difference(one, other)
    assert found is not None and not found.certain
    if not UNSEEN[name][0].startswith(("def it(x): return '{", "def get", "def it(x): return (settings")):
        assert difference(one, load(UNSEEN[name][0]).it) is None


@pytest.mark.parametrize("text", ["threading.Lock()", "queue.SimpleQueue()", "iter([1])", "settings", "object()"])
def test_what_is_not_in_the_table_is_not_understood(text: str) -> None:
    found = difference(load(f"it = [{text}]").it, load(f"it = [{text}]").it)
    assert found is not None and not found.certain and "is not understood" in found.text and found.path == "[0]"


X = jnp.arange(3.0)


def given(text: str) -> Any:
    """A function of an array and an object, whose body is `text`."""
    space: dict[str, Any] = {"functools": functools, "jnp": jnp, "np": np, "__name__": "project"}
    exec(f"def f(p, x, held):\n    {text}", space)
    return space["f"]


SHARED: dict[str, tuple[str, str]] = {
    "a list that is returned twice": ("s = [x]; return s, s", "return [x], [x]"),
    "a list that is given": ("return p * x, held.a", "return p * x, list(held.a)"),
    "a list in what is given": ("return p * x, held.a[0]", "return p * x, [*held.a[0]]"),
    "a list that is kept and returned": ("s = [x]; held.a.append(s); return s", "held.a.append([x]); return [x]"),
    "a list in a closure": ("s = [x]; return s, lambda: s", "s = [x]; t = [x]; return s, lambda: t"),
    "a view of an array": ("n = np.ones(3); return x, n, n[:2]", "n = np.ones(3); return x, n, n[:2].copy()"),
    "a view of what is given": ("return x, held.a[1][1:]", "return x, held.a[1][1:].copy()"),
    "a tuple of a list": ("t = ([x], 1); return t, t", "return ([x], 1), ([x], 1)"),
    "a partial of a list": (
        "f = functools.partial(max, [x]); return x, f, f",
        "return x, functools.partial(max, [x]), functools.partial(max, [x])",
    ),
    "a dict of two lists": ("s = [x]; return {'a': s, 'b': (s,)}", "return {'a': [x], 'b': ([x],)}"),
}


def test_equal_tuples_need_not_be_one_object() -> None:
    one, other = given("t = (x, (1, 'a')); return t, t"), given("return (x, (1, 'a')), (x, (1, 'a'))")
    assert outputs(one, other, X, X, None).status is Status.PROVED


@pytest.mark.parametrize("name", SHARED)
def test_what_stands_in_two_places_is_one_object(name: str) -> None:
    one, again, other = (given(text) for text in (SHARED[name][0], *SHARED[name]))
    held = types.SimpleNamespace(a=[[1.0], np.ones(3)])
    assert outputs(one, again, X, X, held).status is Status.PROVED
    verdict = outputs(one, other, X, X, held)
    assert verdict.status is Status.FAILED and "is the same object as" in verdict.reason


def test_a_given_object_that_is_not_understood_is_named() -> None:
    import queue

    run = given("return p * x")
    verdict = outputs(run, run, X, X, {"q": queue.SimpleQueue()})
    assert verdict.status is Status.NOT_RUN and "SimpleQueue" in verdict.reason and "args[1]['q']" in verdict.reason


HOLDS = """
def hook(m): return SIGN m
class M(eqx.Module):
    w: jax.Array
    hook: object = eqx.field(static=True)
    def __call__(self, x): return self.w * x
def case(): return M(jnp.ones(3), HELD), (jnp.ones(3),)
"""


@pytest.mark.parametrize("held", ["hook", "jax.jit(hook)", "functools.partial(hook)", "(lambda m: hook(m))"])
def test_a_function_that_a_model_holds_is_compared_by_its_code(held: str) -> None:
    cases = [load(HOLDS.replace("SIGN", sign).replace("HELD", held)).case for sign in ("+", "+", "-")]
    how = {"policies": (None,), "requested": None, "abstract": False, "measure": False}
    assert compare_case("case", cases[0], cases[1], **how).parameters.status is Status.PROVED
    assert compare_case("case", cases[0], cases[2], **how).parameters.status is Status.NOT_RUN


STRUCTURES = """
def hook(m): return SIGN m
class M(eqx.Module):
    NAME: list
    hook: object = eqx.field(static=True)
    def __call__(self, x): return self.NAME[0] * x
def case(): return M([jnp.ones(3)], hook), (jnp.ones(3),)
"""


def test_a_function_is_compared_in_models_of_other_structures_too() -> None:
    cases = [
        load(STRUCTURES.replace("NAME", name).replace("SIGN", sign)).case
        for name, sign in (("layers", "+"), ("stack", "+"), ("stack", "-"))
    ]
    how = {"policies": (None,), "requested": None, "abstract": False, "measure": False}
    assert compare_case("case", cases[0], cases[1], **how).parameters.status is Status.PROVED
    assert compare_case("case", cases[0], cases[2], **how).parameters.status is Status.NOT_RUN


CONFIGURED = """
@dataclasses.dataclass(frozen=True)
class Config:
    width: int = 3
    def build(self): return M(jnp.ones(self.width), self)
class M(eqx.Module):
    w: jax.Array
    config: Config = eqx.field(static=True)
    def __call__(self, x): return BODY
    def hook(self, m): return SIGN m
def case(): return Config().build(), (jnp.ones(3),)
"""


def test_a_class_that_builds_the_model_may_name_its_class() -> None:
    texts = [CONFIGURED.replace("BODY", body).replace("SIGN", "+") for body in ("self.w * x", "x * self.w")]
    other = texts[1].replace("width: int = 3", "width: int = 3\n    height: int = 4")
    cases = [load(text).case for text in (*texts, other)]
    how = {"policies": (None,), "requested": None, "abstract": False, "measure": False}
    assert compare_case("case", cases[0], cases[1], **how).parameters.status is Status.PROVED
    assert compare_case("case", cases[0], cases[2], **how).parameters.status is not Status.PROVED


SHARING = """
class Config:
    def __init__(self): self.names = ["a"]
class Layer(eqx.Module):
    w: jax.Array
    config: object = eqx.field(static=True)
class M(eqx.Module):
    layers: object
    def __call__(self, x): return x * self.layers[1].w, RETURNED
def case():
    config = Config()
    return M([Layer(jnp.ones(3), config) for _ in range(3)]), (jnp.ones(3),)
"""


def test_what_layers_share_may_be_returned_of_any_of_them() -> None:
    returned = [f"self.layers[{at}].config.names" for at in (0, 1)]
    first, second, copied = (
        load(SHARING.replace("RETURNED", each)).case for each in (*returned, f"list({returned[0]})")
    )
    how = {"policies": (None,), "requested": None, "abstract": False, "measure": False}
    assert compare_case("case", first, second, **how).policies[0].outputs.status is Status.PROVED
    assert compare_case("case", first, copied, **how).policies[0].outputs.status is Status.FAILED
