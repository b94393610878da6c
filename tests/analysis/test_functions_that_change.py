"""A function that a name, a field, a list or a dict holds from some line on is the one that is called there.

Each body stands in the layers of two lists: what is remembered of the first is asked for again by the second.
"""

import pytest
from helpers import decide

from scanify.analysis.plan import Plan, Refusal

CODE = """\
import functools
import equinox as eqx
import jax
import jax.numpy as jnp

SEEN = []
TABLE = {"f": jnp.sin}
CURRENT = jnp.sin


def remember(x):
    SEEN.append(1)
    return x


class Holder:
    function = jnp.sin

    def __init__(self):
        self.inner = jnp.sin

    def go(self, x):
        return self.inner(x)

    @property
    def prop(self):
        return self.inner


def through(holder, x):
    return holder.go(x)


def through_list(functions, x):
    for function in functions:
        x = function(x)
    return x


def through_dict(functions, x):
    return functions["f"](x)


def set_it(holder, function):
    holder.inner = function


def gen(function, x):
    yield function(x)


def default(x, seen=[]):
    seen.append(1)
    return x


def outer(function):
    def wrapper(x):
        return function(x)
    return wrapper


def later(functions, function):
    functions.append(function)


class Block(eqx.Module):
    w: jax.Array

    def __init__(self, key):
        self.w = jax.random.normal(key, (4, 4))

    def __call__(self, x):
%s


class Other(eqx.Module):
    w: jax.Array

    def __init__(self, key):
        self.w = jax.random.normal(key, (4, 4))

    def __call__(self, x):
%s


class Model(eqx.Module):
    layers: list
    others: list

    def __init__(self, key):
        self.layers = [Block(k) for k in jax.random.split(key, 4)]
        self.others = [Other(k) for k in jax.random.split(key, 4)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        for other in self.others:
            x = other(x)
        return x
"""
BODIES = {
    "holder": "h = Holder()\na = through(h, self.w)\nh.inner = FUNCTION\nreturn through(h, self.w) @ x + a @ x",
    "holder helper": "h = Holder()\na = through(h, self.w)\nset_it(h, FUNCTION)\nreturn through(h, self.w) @ x + a @ x",
    "holder branch": "h = Holder()\na = through(h, self.w)\nif x.ndim > 0:\n    h.inner = FUNCTION\n    a = through(h, self.w)\nreturn a @ x",
    "list": "fs = [jnp.sin]\na = through_list(fs, self.w)\nfs[0] = FUNCTION\nreturn through_list(fs, self.w) @ x + a @ x",
    "list append": "fs = [jnp.sin]\na = through_list(fs, self.w)\nlater(fs, FUNCTION)\nreturn through_list(fs, self.w) @ x + a @ x",
    "list append twice": "fs = []\nlater(fs, jnp.sin)\na = through_list(fs, self.w)\nlater(fs, FUNCTION)\nreturn through_list(fs, self.w) @ x + a @ x",
    "dict": "fs = {'f': jnp.sin}\na = through_dict(fs, self.w)\nfs['f'] = FUNCTION\nreturn through_dict(fs, self.w) @ x + a @ x",
    "dict update by a dict": "fs = {'f': jnp.sin}\na = through_dict(fs, self.w)\nfs.update({'f': FUNCTION})\nreturn through_dict(fs, self.w) @ x + a @ x",
    "list reversed": "fs = [FUNCTION, jnp.sin]\na = fs[1](self.w)\nfs.reverse()\nreturn fs[1](self.w) @ x + a @ x",
    "nonlocal": "g = jnp.sin\ndef swap():\n    nonlocal g\n    g = FUNCTION\ndef call(v):\n    return g(v)\nswap()\nreturn call(self.w) @ x",
    "dict update": "fs = {'f': jnp.sin}\na = through_dict(fs, self.w)\nfs.update(f=FUNCTION)\nreturn through_dict(fs, self.w) @ x + a @ x",
    "partial": "fs = functools.partial(through_list, [jnp.sin])\na = fs(self.w)\nfs = functools.partial(through_list, [FUNCTION])\nreturn fs(self.w) @ x + a @ x",
    "generator loop": "for y in gen(FUNCTION, x):\n    x = y\nreturn self.w @ x",
    "property": "h = Holder()\na = h.prop(self.w)\nh.inner = FUNCTION\nreturn h.prop(self.w) @ x + a @ x",
    "outer": "a = outer(jnp.sin)(self.w)\nb = outer(FUNCTION)(self.w)\nreturn (a + b) @ x",
    "outer twice": "f = outer(jnp.sin)\na = f(self.w)\nf = outer(FUNCTION)\nreturn (a + f(self.w)) @ x",
    "lambda": "f = lambda v: g(v)\ng = jnp.sin\na = f(self.w)\ng = FUNCTION\nreturn (a + f(self.w)) @ x",
    "map": "g = jnp.sin\ndef call(v):\n    return g(v)\na = list(map(call, [self.w]))\ng = FUNCTION\nb = list(map(call, [self.w]))\nreturn (a[0] + b[0]) @ x",
    "comp": "g = jnp.sin\ndef call(v):\n    return g(v)\na = [call(self.w) for _ in range(2)]\ng = FUNCTION\nb = [call(self.w) for _ in range(2)]\nreturn (a[0] + b[0]) @ x",
    "vmap": "g = jnp.sin\ndef call(v):\n    return g(v)\na = jax.vmap(call)(self.w)\ng = FUNCTION\nb = jax.vmap(call)(self.w)\nreturn (a + b) @ x",
    "inner class": "class C:\n    def go(self, v):\n        return g(v)\ng = jnp.sin\na = C().go(self.w)\ng = FUNCTION\nreturn (a + C().go(self.w)) @ x",
    "with": "g = jnp.sin\ndef call(v):\n    return g(v)\nwith jax.named_scope('a'):\n    g = FUNCTION\n    a = call(self.w)\nreturn a @ x",
    "while": "g = jnp.sin\ndef call(v):\n    return g(v)\nn = 0\na = self.w\nwhile n < 2:\n    a = call(a)\n    g = FUNCTION\n    n += 1\nreturn a @ x",
    "match": "g = jnp.sin\ndef call(v):\n    return g(v)\na = x\nmatch x.ndim:\n    case 1:\n        g = FUNCTION\n        a = call(x)\nreturn self.w @ a",
    "else": "g = jnp.sin\ndef call(v):\n    return g(v)\nif x.ndim > 3:\n    a = x\nelse:\n    g = FUNCTION\n    a = call(x)\nreturn self.w @ a",
    "finally": "g = jnp.sin\ndef call(v):\n    return g(v)\ntry:\n    a = x\nfinally:\n    g = FUNCTION\n    a = call(x)\nreturn self.w @ a",
    "walrus": "g = jnp.sin\ndef call(v):\n    return g(v)\na = call(x) if (g := FUNCTION) else x\nreturn self.w @ a",
    "swap": "f, g = FUNCTION, jnp.sin\ndef call(v):\n    return g(v)\na = call(x)\nf, g = g, f\nreturn self.w @ call(a)",
    "for target": "def call(v):\n    return g(v)\na = x\nfor g in (jnp.sin, FUNCTION):\n    a = call(a)\nreturn self.w @ a",
    "del": "g = FUNCTION\ndef call(v):\n    return g(v)\na = call(x)\ndel g\nreturn self.w @ a",
    "star": "fs = [jnp.sin]\ndef call(v, *fs):\n    return fs[0](v)\na = call(x, *fs)\nfs[0] = FUNCTION\nreturn self.w @ call(a, *fs)",
    "kw": "kw = dict(f=jnp.sin)\ndef call(v, f):\n    return f(v)\na = call(x, **kw)\nkw['f'] = FUNCTION\nreturn self.w @ call(a, **kw)",
}
HELD_BACK = {
    "nonlocal": "g = jnp.sin\ndef swap():\n    nonlocal g\n    g = FUNCTION\ndef call(v):\n    return g(v)\na = call(self.w)\nswap()\nreturn (a + call(self.w)) @ x",
    "default": "return self.w @ default(x)",
    "generator": "a = next(gen(jnp.sin, self.w))\nb = next(gen(FUNCTION, self.w))\nreturn a @ x + b @ x",
}


def decisions(body: str, function: str) -> list[Plan | Refusal]:
    block = "\n".join(f"        {line}" for line in body.replace("FUNCTION", function).splitlines())
    found = decide(CODE % (block, block))
    return [each for each in found if each.container in ("self.layers", "self.others")]


def is_safe(found: Plan | Refusal) -> bool:
    return isinstance(found, Plan) and found.safe


@pytest.mark.parametrize("name", BODIES)
def test_a_function_with_a_side_effect_is_never_taken_for_the_one_before(name):
    found = decisions(BODIES[name], "remember")
    assert len(found) == 2 and not any(map(is_safe, found)), found


@pytest.mark.parametrize("name", ["outer"])
def test_functions_without_side_effects_in_containers_are_safe(name):
    assert all(map(is_safe, decisions(BODIES[name], "jnp.cos")))


@pytest.mark.parametrize("name", HELD_BACK)
def test_what_changes_with_every_call_is_held_back_in_both_lists(name):
    found = decisions(HELD_BACK[name], "jnp.cos")
    assert len(found) == 2 and not any(map(is_safe, found))
