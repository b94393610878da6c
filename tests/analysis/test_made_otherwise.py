"""Classes whose calls do more than make an object: each layer may be another one, so they are grouped as they are met."""

import pytest
from helpers import only

from scanify.analysis.plan import Holds, Plan

MODEL = """\
import functools
import itertools

import equinox as eqx
import jax

COUNT = itertools.count(1)
NAMED = {{}}


class Numbering(type(eqx.Module)):
    def __call__(cls, *args, **kwargs):
        return super().__call__(*args, rank=next(COUNT), **kwargs)


class Noting(type(eqx.Module)):
    def __repr__(cls):
        return "a layer"


def numbered(cls):
    {body}


def named(name):
    def note(cls):
        NAMED[name] = cls
        cls.label = name
        return cls

    return note


class Base(eqx.Module):
    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        {told}


{decorator}
class Block({base}):
    linear: eqx.nn.Linear
    rank: int = eqx.field(static=True)

    def __init__(self, key, rank=1):
        self.linear = eqx.nn.Linear(4, 4, key=key)
        self.rank = rank

    def __call__(self, x):
        return x + self.linear(x) / self.rank


class Net(eqx.Module):
    layers: list[Block]

    def __init__(self, key):
        self.layers = [Block(k) for k in jax.random.split(key, 5)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
PLAIN = {"body": "return cls", "told": "pass", "decorator": "", "base": "eqx.Module"}
NUMBERS = (
    "def made(self, *args, **kwargs):\n{0}    init(self, *args, rank=next(COUNT), **kwargs)\n{0}cls.__init__ = made"
)
UNLIKE = {
    "a metaclass": {"base": "eqx.Module, metaclass=Numbering"},
    "a function in its place": {
        "body": "return lambda *args, **kwargs: cls(*args, rank=next(COUNT), **kwargs)",
        "decorator": "@numbered",
    },
    "a partial in its place": {"body": "return functools.partial(cls, rank=2)", "decorator": "@numbered"},
    "a class in its place": {
        "body": (
            "class Numbered(cls):\n        def __init__(self, *args):\n            super().__init__(*args, rank=next(COUNT))\n"
            "    return Numbered"
        ),
        "decorator": "@numbered",
    },
    "another constructor": {
        "body": f"init = cls.__init__\n    {NUMBERS.format('    ')}\n    return cls",
        "decorator": "@numbered",
    },
    "another constructor by its name": {
        "body": "setattr(cls, '__init__', functools.partialmethod(cls.__init__, rank=2))\n    return cls",
        "decorator": "@numbered",
    },
    "another constructor from above": {
        "told": f"init = cls.__init__\n        {NUMBERS.format('        ')}",
        "base": "Base",
    },
    "a decorator that is not shown": {"decorator": "@somewhere.numbered"},
    "a metaclass that makes nothing": {"base": "eqx.Module, metaclass=Noting"},
    "a decorator that gives it back": {"decorator": "@numbered"},
    "a table of names": {"decorator": "@named('block')"},
    "names from above": {"told": "cls.label = cls.__name__.lower()\n        NAMED[cls.label] = cls", "base": "Base"},
}


def held_in(parts: dict[str, str]) -> Holds:
    found = only(MODEL.format(**PLAIN | parts))
    assert isinstance(found, Plan), found
    return found.holds


@pytest.mark.parametrize("name", UNLIKE)
def test_layers_that_something_else_makes_may_be_unlike(name: str) -> None:
    assert held_in(UNLIKE[name]) is Holds.BLOCK_SEQ


def test_a_class_that_makes_its_objects_makes_them_alike() -> None:
    assert held_in({}) is Holds.ARRAY_STACKED
    assert held_in({"decorator": "@functools.total_ordering"}) is Holds.ARRAY_STACKED
