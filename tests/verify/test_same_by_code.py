"""What two loads of one module have in common: callbacks by their code; and what changes no bit of a result."""

import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from scanify.verify.objects.same import difference
from scanify.verify.programs.apart import traced_apart
from scanify.verify.proof.prove import prove
from scanify.verify.verdict import Status
from tests.verify.functions import Function, compared, proved, verdicts

W, X = jnp.linspace(0.5, 1.5, 4), jnp.arange(4.0) + 0.25
SOURCE = """
import functools

import jax
import numpy as np

TABLE = {"scale": SCALE}


def helper(v):
    return np.tanh(v) * TABLE["scale"]


def host(v):
    return helper(v)


class Log:
    def __init__(self):
        self.seen = []

    def __call__(self, v):
        self.seen.append(v)


def log(v):
    helper(v)


def pure(f, x):
    return jax.pure_callback(f, jax.ShapeDtypeStruct(x.shape, x.dtype), jax.lax.stop_gradient(x))


def counting():
    count = 0

    def counts(v):
        nonlocal count
        count += 1
        return v + count

    return counts


RUNS = {
    "pure": lambda p, x: p * x + pure(host, x),
    "a lambda": lambda p, x: p * x + pure(lambda v: helper(v), x),
    "a partial": lambda p, x: p * x + pure(functools.partial(lambda a, v: helper(v) * a, np.float32(2.0)), x),
    "a callback": lambda p, x: (jax.debug.callback(log, x), p * x)[1],
    "a print": lambda p, x: (jax.debug.print("SCALE {}", x), p * x)[1],
    "io": lambda p, x: p * x + jax.experimental.io_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, ordered=True),
}
KEEPS = {
    "a count": lambda p, x: p * x + pure(counting(), x),
    "an object": lambda p, x: (jax.debug.callback(Log(), x), p * x)[1],
}
"""


def load(scale: str) -> Any:

    module = types.ModuleType("calling")
    exec(compile(SOURCE.replace("SCALE", scale), "calling.py", "exec"), vars(module))
    return module


ONE, AGAIN, OTHER = load("1.0"), load("1.0"), load("2.0")


# What a function does that its text, and what it finds under the names in it, do not say, or not at first sight.
BEHIND: dict[str, str] = {
    "a metaclass": "class M(type):\n    g = SCALE\nclass K(metaclass=M): pass\ndef f(v): return v * K.g",
    "all globals": "G = SCALE\ndef f(v): return v * globals()['G']",
    "a text that is run": "G = SCALE\ndef f(v): return v * eval('G')",
    "a frame": "G = SCALE\ndef f(v): return v * sys._getframe().f_globals['G']",
    "a result that was kept": "S = [SCALE]\n@functools.lru_cache\ndef h(): return S[0]\nh()\nS[0] = 3\n"
    "def f(v): return v * h()",
    "names of one module in two functions": "M = types.ModuleType('m')\nM.a, M.b = 1.0, SCALE\n"
    "def f(v): return h(v * M.a)\ndef h(v): return v * M.b",
    "an attribute of a module by its text": "M = types.ModuleType('m')\nM.ab = SCALE\n"
    "def f(v): return v * getattr(M, 'a' + 'b')",
    "a module that makes up attributes": "M = types.ModuleType('m')\nM.__getattr__ = lambda name: SCALE\n"
    "def f(v): return v * M.ab",
    "a method of a member": "class E(enum.Enum):\n    A = 1\n    def g(self): return SCALE\nD = [E.A]\n"
    "def f(v): return v * D[0].g()",
    "a method of a number": "class F(float):\n    def g(self): return SCALE\nD = [F(1)]\ndef f(v): return v * D[0].g()",
    "what a dict gives for others": "class K(dict):\n    def __missing__(self, k): return SCALE\nD = K()\n"
    "def f(v): return v * D[0]",
    "what a default is made by": "D = collections.defaultdict(lambda: SCALE)\ndef f(v): return v * D[0]",
    "a generator of random numbers": "class R(random.Random): pass\nD = R(SCALE)\nD.x = 1\ndef f(v): return v * D.random()",
    "an import of a module that is not there yet": "def f(v):\n    import of_the_project as m\n    return v * m.g",
}
PLAIN: dict[str, str] = {
    "a member": "class E(enum.Enum):\n    A = SCALE\nD = [E.A]\ndef f(v): return v * D[0].value",
    "a library's module in the function": "def f(v):\n    import math\n    return v * math.sqrt(SCALE)",
    "an attribute by its text": "class K:\n    g = SCALE\ndef f(v): return v * getattr(K(), 'g')",
    "nothing kept yet": "@functools.lru_cache\ndef h(): return SCALE\ndef f(v): return v * h()",
    "a default": "D = collections.defaultdict(float, a=SCALE)\ndef f(v): return v * D['a']",
    "two names of one module": "M = types.ModuleType('m')\nM.a, M.b = 1.0, SCALE\ndef f(v): return h(v * M.a)\n"
    "def h(v): return v * M.b",
}


def host_of(text: str, scale: str) -> Any:
    head = "import collections, enum, functools, random, sys, types\n"
    held: dict[str, Any] = {"__name__": "calling"}
    exec(compile(head + text.replace("SCALE", scale), "calling.py", "exec"), held)
    return held["f"]


@pytest.mark.parametrize("name", BEHIND)
def test_what_the_text_does_not_say_is_not_taken_for_the_same(name: str) -> None:
    assert difference(host_of(BEHIND[name], "1"), host_of(BEHIND[name], "2")) is not None


@pytest.mark.parametrize("name", PLAIN)
def test_what_the_text_says_is_the_same_where_it_is(name: str) -> None:
    assert difference(host_of(PLAIN[name], "1"), host_of(PLAIN[name], "1")) is None
    assert difference(host_of(PLAIN[name], "1"), host_of(PLAIN[name], "2")) is not None


def outputs(before: Function, after: Function) -> Status:
    return verdicts(compared(before, after, W, X))["outputs"]


@pytest.mark.parametrize("name", ONE.RUNS)
def test_a_callback_is_what_its_code_does(name: str) -> None:
    assert outputs(ONE.RUNS[name], AGAIN.RUNS[name]) is Status.PROVED
    assert outputs(ONE.RUNS[name], OTHER.RUNS[name]) is not Status.PROVED


@pytest.mark.parametrize("name", ONE.KEEPS)
def test_what_keeps_something_is_itself_alone(name: str) -> None:
    assert outputs(ONE.KEEPS[name], AGAIN.KEEPS[name]) is not Status.PROVED


EQUAL: dict[str, tuple[Function, Function]] = {
    "a sum": (lambda x, y: x + y, lambda x, y: y + x),
    "a product": (lambda x, y: jnp.sin(x) * y, lambda x, y: y * jnp.sin(x)),
    "times one": (lambda x, y: x * 1.0 + y / 1.0, lambda x, y: x + y),
    "less zero": (lambda x, y: (x - 0.0) * y, lambda x, y: x * y),
    "in a scan": (
        lambda x, y: lax.scan(lambda c, v: (c + v * 1.0, None), x, y[None])[0],
        lambda x, y: lax.scan(lambda c, v: (v + c, None), x, y[None])[0],
    ),
    "searchsorted": (lambda x, y: jnp.searchsorted(x, y), lambda x, y: jnp.searchsorted(x, y)),
    "interp": (lambda x, y: jnp.interp(y, x, x * x), lambda x, y: jnp.interp(y, x, x * x)),
    "unique": (lambda x, y: jnp.unique(x, size=4), lambda x, y: jnp.unique(x, size=4)),
    "nonzero": (lambda x, y: jnp.nonzero(x > y, size=4)[0], lambda x, y: jnp.nonzero(x > y, size=4)[0]),
}
NOT_EQUAL: dict[str, tuple[Function, Function]] = {
    "a difference": (lambda x, y: x - y, lambda x, y: y - x),
    "another order of three": (lambda x, y: (x + y) + 0.1, lambda x, y: x + (y + 0.1)),
    "plus zero": (lambda x, y: x + 0.0, lambda x, y: x),
    "less negative zero": (lambda x, y: x - (-0.0), lambda x, y: x),
    "one of another dtype": (lambda x, y: x * np.float64(1.0).astype(np.float16), lambda x, y: x.astype(jnp.float16)),
    "divided": (lambda x, y: x / y, lambda x, y: y / x),
    "one over": (lambda x, y: 1.0 / x, lambda x, y: x),
    "which is larger": (lambda x, y: jnp.maximum(x, y), lambda x, y: jnp.maximum(y, x)),
    "another side": (lambda x, y: jnp.searchsorted(x, y), lambda x, y: jnp.searchsorted(x, y, side="right")),
}


def _proved(pair: tuple[Function, Function]) -> bool:
    traced = []
    for at, each in enumerate(pair):
        with traced_apart(f"{at}"):  # as two versions are: otherwise jax gives both what it has kept of the first
            traced.append(jax.make_jaxpr(lambda x, y, f=each: f(x, y))(W, X))
    return prove(*traced).proved


@pytest.mark.parametrize("name", EQUAL)
def test_what_changes_no_bit_is_proved(name: str) -> None:
    one, other = EQUAL[name]
    np.testing.assert_array_equal(one(W, X), other(W, X))
    assert _proved(EQUAL[name])


@pytest.mark.parametrize("name", NOT_EQUAL)
def test_what_may_change_a_bit_is_not(name: str) -> None:
    assert not _proved(NOT_EQUAL[name])


def test_a_module_that_is_loaded_twice_is_proved_with_its_callbacks() -> None:
    both = [lambda p, x, m=m: m.RUNS["a callback"](p, m.RUNS["pure"](p, x)) for m in (ONE, AGAIN)]
    found = compared(both[0], both[1], W, X)
    assert {verdicts(found)[name] for name in ("outputs", "gradients")} == {Status.PROVED} or proved(found)
