"""A call that was run once is no answer any more where what it looks at has changed since, and what it changes it changes
each time: objects that a function, a file, a default or an argument holds."""

import pytest
from helpers import only

from scanify.analysis.plan import Plan

CODE = """\
import functools
import equinox as eqx
import jax
import jax.numpy as jnp

SEEN = []


def remember(x):
    SEEN.append(x.shape)
    return x


class Config:
    def __init__(self):
        self.act = jnp.sin
        self.parts = [jnp.sin]
        self.table = {{"act": jnp.sin}}

    def read(self):
        return self.act


CONFIG = Config()
TABLE = {{"act": jnp.sin}}
PARTS = [jnp.sin]


def of_config():
    return CONFIG.act


def of_table():
    return TABLE["act"]


def through():
    return of_table()


def of_parts():
    return PARTS[-1]


def of_default(held=[jnp.sin], put=None):
    if put is not None:
        held.append(put)
    return held[-1]


def last(parts):
    return parts[-1]


def put(cfg, act):
    cfg.act = act


def add(parts, act):
    parts.append(act)


def add_all(parts, acts):
    parts.extend(acts)


class Block(eqx.Module):
    linear: eqx.nn.Linear
    act: object = eqx.field(static=True)

    def __init__(self, width, act, key):
        self.linear = eqx.nn.Linear(width, width, key=key)
        self.act = act

    def __call__(self, x):
        return x + self.act(self.linear(x))


class Model(eqx.Module):
    layers: list
    head: object

    def __init__(self, width, key):
        act = {act}
        keys = jax.random.split(key, 5)
        cfg = Config()
        other = Config()
{lines}

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
"""
READS = {
    "a function around, a field": ("def get():\n    return cfg.act", "get()", "cfg.act = act"),
    "a function around, a field by a function": ("def get():\n    return cfg.act", "get()", "put(cfg, act)"),
    "a function around, a list": ("def get():\n    return last(cfg.parts)", "get()", "cfg.parts.append(act)"),
    "a function around, a dict": ("def get():\n    return cfg.table['act']", "get()", "cfg.table['act'] = act"),
    "a lambda": ("get = lambda: cfg.act", "get()", "cfg.act = act"),
    "a variable": (
        "held = jnp.sin\ndef get():\n    return held\ndef change():\n    nonlocal held\n    held = act",
        "get()",
        "change()",
    ),
    "a file, a field": ("", "of_config()", "CONFIG.act = act"),
    "a file, a field by a function": ("", "of_config()", "put(CONFIG, act)"),
    "a file, a dict": ("", "of_table()", "TABLE['act'] = act"),
    "a file, a dict, through a function": ("", "through()", "TABLE['act'] = act"),
    "a file, a list": ("", "of_parts()", "PARTS.append(act)"),
    "a file, a list by a function": ("", "of_parts()", "add(PARTS, act)"),
    "a file, a list that is extended": ("", "of_parts()", "add_all(PARTS, [act])"),
    "an argument": ("", "last(cfg.parts)", "cfg.parts += [act]"),
    "an argument of a method": ("", "cfg.read()", "cfg.act = act"),
    "a bound method": ("get = cfg.read", "get()", "cfg.act = act"),
    "a partial": ("get = functools.partial(Config.read, cfg)", "get()", "cfg.act = act"),
}
CHANGES = {
    "two objects": ("put(other, act)\nput(cfg, act)", "cfg.act"),
    "the same object again": ("put(cfg, act)\nself.head = cfg.act\ncfg.act = jnp.sin\nput(cfg, act)", "cfg.act"),
    "two lists": ("one, two = [jnp.sin], [jnp.sin]\nadd(one, act)\nadd(two, act)", "last(two)"),
    "two lists, extended": ("one, two = [jnp.sin], [jnp.sin]\nadd_all(one, [act])\nadd_all(two, [act])", "last(two)"),
    "two objects through a function": (
        "def both(c):\n    put(c, act)\n    return c\nboth(other)\nboth(cfg)",
        "cfg.act",
    ),
    "two that return them": (
        "def new():\n    c = Config()\n    put(c, act)\n    return c\nnew()\ncfg = new()",
        "cfg.act",
    ),
}


def decided(act: str, *lines: str):
    code = "\n".join(f"        {line}" for part in lines if part for line in part.splitlines())
    return only(CODE.format(act=act, lines=code))


def built(read: str) -> str:
    return f"self.layers = [Block(width, {read}, k) for k in keys[1:]]"


@pytest.mark.parametrize("name", READS)
def test_what_was_read_once_is_read_again_where_it_has_changed(name):
    before, read, change = READS[name]
    first = f"self.head = Block(width, {read}, keys[0])"
    found = decided("remember", before, first, change, built(read))
    assert not (isinstance(found, Plan) and found.safe)


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_call_changes_it_changes_each_time(name):
    change, read = CHANGES[name]
    found = decided("remember", change, built(read))
    assert not (isinstance(found, Plan) and found.safe)
