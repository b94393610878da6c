"""What runs where an attribute is read: it may count, and then each layer reads another number."""

import pytest
from helpers import PRELUDE, model, only

from scanify.analysis.plan import Plan, Refusal

COUNTS = """\
class Ticker:
    def __init__(self, period):
        self.period = period
        self.value = -1

    def __get__(self, instance, owner=None):
        self.value = (self.value + 1) % self.period
        return self.value


def ticker(period):
    return Ticker(period)


class counted:
    def __init__(self, function):
        self.function = function
        self.reads = 0

    def __get__(self, instance, owner=None):
        self.reads += 1
        return self.function(instance, self.reads)


class Meta(type(eqx.Module)):
    reads = 0

    @property
    def place(cls):
        cls.reads += 1
        return cls.reads


COUNT = itertools.cycle(range(4))


class Above(eqx.Module):
    place = ticker(4)
"""
# How a class comes by `place`, and how its method reads it.
READS = {
    "a descriptor": ("    place = Ticker(4)\n", "", "self.place"),
    "a descriptor that a function makes": ("    place = ticker(4)\n", "", "self.place"),
    "a descriptor of a base class": ("", "Above", "self.place"),
    "a descriptor read of the class": ("    place = Ticker(4)\n", "", "type(self).place"),
    "a descriptor read by its name": ("    place = Ticker(4)\n", "", "getattr(self, 'place')"),
    "a property that is a call": ("    place = property(lambda self: next(COUNT))\n", "", "self.place"),
    "a property with a keyword": ("    place = property(fget=lambda self: next(COUNT))\n", "", "self.place"),
    "a property": ("    @property\n    def place(self):\n        return next(COUNT)\n", "", "self.place"),
    "a decorator with `__get__`": ("    @counted\n    def place(self, n):\n        return n\n", "", "self.place"),
    "a property of a metaclass": ("", "eqx.Module, metaclass=Meta", "type(self).place"),
}


def reading(given: str, bases: str, read: str, code: str = COUNTS) -> Plan | Refusal:
    text = model().replace("import functools\n", "import functools\nimport itertools\n")
    text = text.replace("class Block(eqx.Module):\n", f"{code}\n\nclass Block({bases or 'eqx.Module'}):\n{given}")
    assert text.count("return x + self.linear(x)") == 1 and PRELUDE not in text
    return only(text.replace("return x + self.linear(x)", f"return x + {read} * self.linear(x)"))


@pytest.mark.parametrize(("given", "bases", "read"), READS.values(), ids=READS)
def test_what_counts_its_reads_has_no_safe_fix(given: str, bases: str, read: str) -> None:
    found = reading(given, bases, read)
    assert isinstance(found, Refusal) or not found.safe


def test_a_property_that_gives_one_number_is_understood() -> None:
    given, bases, read = READS["a property"]
    found = reading(given.replace("next(COUNT)", "2"), bases, read)
    assert isinstance(found, Plan) and found.safe
