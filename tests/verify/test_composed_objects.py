"""Objects that a call returns, is given, writes to or holds, where one version has a loop and the other a scan."""

import types
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from scanify.verify.verdict import Status
from tests.verify.functions import compared, verdicts

HEAD = """
import abc, collections, dataclasses, decimal, enum, functools, types, typing
import equinox as eqx, jax, jax.numpy as jnp, numpy as np
settings = types.ModuleType("settings")
settings.scale = 1.0
KEPT = []


def loop(p, x, layer=lambda w, x: jnp.tanh(w @ x)):
    for w in p:
        x = layer(w, x)
    return x


def scan(p, x, layer=lambda w, x: jnp.tanh(w @ x)):
    return jax.lax.scan(lambda c, w: (layer(w, c), None), x, p)[0]


def each_loop(p, x):
    found = []
    for w in p:
        x = jnp.tanh(w @ x)
        found.append(x)
    return found


def each_scan(p, x):
    def body(c, w):
        y = jnp.tanh(w @ c)
        return y, y
    return list(jax.lax.scan(body, x, p)[1])


def ruled(order):
    @jax.custom_vjp
    def act(x):
        return jnp.sin(x)
    def back(x, g):
        terms = [1e30 * g, -1e30 * g, g * jnp.cos(x)]
        return (jnp.sum(jnp.stack([terms[at] for at in order]), axis=0),)
    act.defvjp(lambda x: (jnp.sin(x), x), back)
    return act
"""
CACHE = "class Cache:\n    def __init__(self): self.rows, self.seen = [], {}\n"
TUPLE = (
    "class Out(typing.NamedTuple):\n    y: jax.Array\n    steps: range\n    def last(self): return self.y[-1] * WHAT\n"
)
MODULE = "class Out(eqx.Module):\n    y: jax.Array\n    def head(self, x): return self.y @ x * WHAT\n"
HOOK = "def hook(m): return m * WHAT\n"

# A project, in which RUN is `loop` in the original and `scan` in the rewritten version, and WHAT 1 and 2 where they differ.
SAME: dict[str, str] = {
    "a named tuple with a method and a range": TUPLE + "def f(p, x, c): return Out(RUN(p, x), range(3))",
    "a named tuple of layers": "Out = collections.namedtuple('Out', 'a b c')\ndef f(p, x, c): return Out(*each_RUN(p, x))",
    "a jitted closure over a result": "def f(p, x, c):\n    y = RUN(p, x)\n    def step(z, flag): return z @ y if flag else z\n"
    "    return y, jax.jit(step, static_argnums=1)",
    "rows that are kept in an object": CACHE + "def f(p, x, c):\n    c.rows += each_RUN(p, x)\n    return c.rows[-1]",
    "a list that is returned and kept": CACHE + "def f(p, x, c):\n    c.rows = each_RUN(p, x)\n    return c.rows",
    "a factory that is set": "def f(p, x, c):\n    c.seen = collections.defaultdict(list)\n    return RUN(p, x)",
    "an array of NumPy that is filled": "def f(p, x, c):\n    c.buffer[:] = 1.5\n    return RUN(p, x)",
    "a member and a decimal": "class Kind(enum.Enum):\n    A = 1\n    def g(self): return 2\n"
    "def f(p, x, c): return {'y': RUN(p, x), 'kind': Kind.A, 'rate': decimal.Decimal('0.10')}",
    "one list twice": "def f(p, x, c):\n    s = each_RUN(p, x)\n    return s, {'again': s}",
    "a module with a method": MODULE + "def f(p, x, c): return Out(RUN(p, x))",
    "a module and its bound method": MODULE + "def f(p, x, c):\n    out = Out(RUN(p, x))\n    return out, out.head",
    "a partial in a frozen dataclass": HOOK + "@dataclasses.dataclass(frozen=True)\nclass It:\n    f: object\n"
    "def f(p, x, c): return RUN(p, x), It(functools.partial(hook, 2.0))",
    "a rule in each layer": "act = ruled((0, 1, 2))\ndef f(p, x, c): return RUN(p, x, lambda w, x: act(w @ x))",
    "factors in either order": "def f(p, x, c):\n    y = RUN(p, x)\n    return jnp.einsum('i,j->ij', y, x) @ x",
    "a callback beside a named tuple": "Out = collections.namedtuple('Out', 'y n')\ndef seen(v): pass\n"
    "def f(p, x, c):\n    jax.debug.callback(seen, x)\n    return Out(RUN(p, x), 3)",
}
OTHER: dict[str, str] = {
    "the method of a named tuple": SAME["a named tuple with a method and a range"],
    "the fields of a named tuple": "Out = collections.namedtuple('Out', 'a b' if WHAT == 1 else 'b a')\n"
    "def f(p, x, c): return Out(RUN(p, x), x)",
    "options of a jitted closure": "def f(p, x, c):\n    y = RUN(p, x)\n    def step(z, flag=WHAT): return z @ y if flag else z\n"
    "    return y, jax.jit(step, static_argnums=1)",
    "rows that are kept twice": CACHE + "def f(p, x, c):\n    c.rows += each_RUN(p, x) * WHAT\n    return x * p[0, 0]",
    "a copy of what is kept": CACHE + "def f(p, x, c):\n    c.rows = each_RUN(p, x)\n"
    "    return c.rows if WHAT == 1 else list(c.rows)",
    "the factory that is set": "def f(p, x, c):\n    c.seen = collections.defaultdict([list, set][WHAT - 1])\n    return RUN(p, x)",
    "the form of an array of NumPy": "def f(p, x, c):\n    c.buffer.resize((2, WHAT), refcheck=False)\n    return RUN(p, x)",
    "the method of a member": "class Kind(enum.Enum):\n    A = 1\n    def g(self): return WHAT\n"
    "def f(p, x, c): return {'y': RUN(p, x), 'kind': Kind.A}",
    "two lists for one": "def f(p, x, c):\n    s = each_RUN(p, x)\n    return s, {'again': s if WHAT == 1 else [*s]}",
    "the annotation of a module": "class Out(eqx.Module):\n    y: typing.Annotated[jax.Array, WHAT]\n"
    "def f(p, x, c): return [Out(RUN(p, x))]",
    "a module that a closure formats": "settings.scale = WHAT\ndef f(p, x, c):\n    y = RUN(p, x)\n"
    "    return y, lambda: y * float('{0.scale}'.format(settings))",
    "a registration behind a method": "class Positive(abc.ABC): ...\n" + MODULE.replace("WHAT", "isinstance(self, Positive)")
    + "if WHAT == 1: Positive.register(Out)\ndef f(p, x, c): return Out(RUN(p, x))",
    "a partial in a frozen dataclass": SAME["a partial in a frozen dataclass"],
    "a rule in each layer": "act = ruled((0, 1, 2) if WHAT == 1 else (0, 2, 1))\n"
    "def f(p, x, c): return RUN(p, x, lambda w, x: act(w @ x))",
    "a list of the module's": "def f(p, x, c):\n    y = RUN(p, x)\n    return y, KEPT if WHAT == 1 else []",
    "the result turned": "def f(p, x, c):\n    y = RUN(p, x)\n    z = jnp.outer(y, x) @ p[0]\n    return z if WHAT == 1 else z.T",
}  # fmt: skip


def given() -> Any:
    return types.SimpleNamespace(rows=[], seen={}, buffer=np.zeros(4))


def function(text: str, run: str, what: int) -> Any:
    module = types.ModuleType("project")
    text = text.replace("RUN", run).replace("WHAT", str(what))
    exec(compile(HEAD + text, "project.py", "exec"), vars(module))
    return module.f  # type: ignore[attr-defined]


P, X = jnp.sin(jnp.arange(48.0)).reshape(3, 4, 4), jnp.linspace(0.5, 1.5, 4)


def statuses(text: str, what: int) -> set[Status]:
    one, other = function(text, "loop", 1), function(text, "scan", what)
    found = verdicts(compared(one, other, P, X, given()))
    # The function is a static field of the model of `compared`, whose code differs by intention.
    return {status for name, status in found.items() if name != "parameters"}


@pytest.mark.parametrize("name", SAME)
def test_what_is_the_same_is_proved(name: str) -> None:
    assert statuses(SAME[name], 1) == {Status.PROVED}


@pytest.mark.parametrize("name", OTHER)
def test_what_differs_is_not_proved(name: str) -> None:
    assert statuses(OTHER[name], 2) - {Status.PROVED}
    if name not in ("the form of an array of NumPy", "a module that a closure formats"):
        assert statuses(OTHER[name], 1) == {Status.PROVED}
