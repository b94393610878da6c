"""What a call does to objects that are neither containers nor have attributes of their own, and to functions."""

import array
import contextvars
import functools
import io
import itertools
import os
import random
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scanify
from scanify.errors import ScanifyError
from scanify.verify.compare.written import Watch, Written
from scanify.verify.objects.same import difference
from scanify.verify.verdict import Status

X = jnp.arange(3.0)
VARIABLE = contextvars.ContextVar("VARIABLE", default=0)


class Held:
    def __init__(self, value: Any = 0) -> None:
        self.value = value


class Other(Held):
    pass


class Noted(Exception):
    code = 0


class Text(io.StringIO):
    pass


def counter() -> Callable[[], int]:
    count = 0

    def more() -> int:
        nonlocal count
        count += 1
        return count

    return more


def adder() -> Any:
    def add(x: int, y: int = 1) -> int:
        return x + y

    return add


def linear() -> eqx.nn.Linear:
    return eqx.nn.Linear(2, 2, key=jax.random.key(0))


def objects() -> Any:
    return np.array([[1], [2], None], object)


# What is given, and what is done to it.
WRITES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "a generator of random": (lambda: random.Random(0), lambda given: given.random()),
    "a generator of NumPy": (lambda: np.random.default_rng(0), lambda given: given.random()),
    "an old generator of NumPy": (lambda: np.random.RandomState(0), lambda given: given.rand()),
    "a generator in a list": (lambda: [np.random.default_rng(0)], lambda given: given[0].random()),
    "the bits of a generator": (lambda: np.random.PCG64(0), lambda given: given.random_raw()),
    "a text": (lambda: Text("a"), lambda given: given.write("b")),
    "bytes": (lambda: io.BytesIO(b"a"), lambda given: given.read(1)),
    "an array of Python's": (lambda: array.array("i", [0]), lambda given: given.append(1)),
    "the arguments of an exception": (lambda: Noted("a"), lambda given: setattr(given, "args", ("b",))),
    "an attribute of an exception": (lambda: Noted("a"), lambda given: setattr(given, "code", 1)),
    "what a function closes over": (counter, lambda given: given()),
    "the defaults of a function": (adder, lambda given: setattr(given, "__defaults__", (2,))),
    "the code of a function": (adder, lambda given: setattr(given, "__code__", (lambda x, y=1: y).__code__)),
    "an attribute of a function": (adder, lambda given: setattr(given, "seen", 1)),
    "an attribute of a partial": (lambda: functools.partial(max, 1), lambda given: setattr(given, "seen", 1)),
    "the class of an object": (Held, lambda given: setattr(given, "__class__", Other)),
    "a field of a Module": (linear, lambda given: object.__setattr__(given, "in_features", 3)),
    "an array of a Module": (linear, lambda given: object.__setattr__(given, "bias", given.bias * 2)),
    "an array of objects": (objects, lambda given: given.__setitem__(2, [3])),
    "a list in an array of objects": (objects, lambda given: given[0].append(3)),
    "the factory of a defaultdict": (
        lambda: defaultdict(None, a=1),
        lambda given: setattr(given, "default_factory", list),
    ),
    "the shape of an array": (lambda: np.arange(4.0), lambda given: given.resize((2, 2), refcheck=False)),
    "the shape of an array of objects": (objects, lambda given: given.resize((3, 1), refcheck=False)),
    "the size of an array": (lambda: np.arange(4.0), lambda given: given.resize(2, refcheck=False)),
    "whether an array may be written to": (lambda: np.arange(4.0), lambda given: given.setflags(write=False)),
    "the name of a function": (adder, lambda given: setattr(given, "__name__", "other")),
    "a list behind a zip": (lambda: (held := [], zip(held, strict=True)), lambda given: given[0].append(3)),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_is_part_of_the_result_and_put_back(name):
    make, write = WRITES[name]
    given = make()
    watch = Watch(None, (given,), {})
    write(given)
    assert isinstance(watch.result(0), Written)
    watch.undo()
    assert not isinstance(watch.result(0), Written)
    assert not isinstance(Watch(None, (given,), {}).result(0), Written)


def test_a_generator_that_is_put_back_draws_the_same():
    given = [random.Random(0), np.random.default_rng(0), np.random.RandomState(0)]
    watch = Watch(None, given, {})
    drawn = [each.random() for each in given]
    watch.undo()
    assert [each.random() for each in given] == drawn


@pytest.mark.parametrize(
    "make", [lambda: iter([1, 2]), lambda: (i for i in range(3)), lambda: itertools.count(), lambda: iter({1: 2})]
)
def test_an_iterator_that_a_call_moves_on_is_an_error(make):
    given = make()
    watch = Watch(None, (given,), {})
    watch.undo()
    next(given)
    with pytest.raises(ScanifyError, match=r"takes elements from an iterator.*give it a list"):
        watch.undo()


def drawing(count: int) -> Callable[..., Any]:
    def draw(x: jax.Array, generator: np.random.Generator) -> jax.Array:
        generator.random(count)
        return x * 2

    return draw


def counting(step: int) -> Callable[..., Any]:
    def count(x: jax.Array, more: Callable[[], int]) -> jax.Array:
        for _ in range(step):
            more()
        return x * 2

    return count


def setting(value: Any) -> Callable[..., Any]:
    def put(x: jax.Array) -> jax.Array:
        VARIABLE.set(x * value)
        return x * 2

    return put


def exporting(value: str) -> Callable[..., Any]:
    def export(x: jax.Array) -> jax.Array:
        os.environ["SCANIFY_TEST_OF_WRITES"] = value
        return x * 2

    return export


def rounding(precision: str) -> Callable[..., Any]:
    """What is computed after it is rounded otherwise, in the whole process."""

    def set_it(x: jax.Array) -> jax.Array:
        jax.config.update("jax_default_matmul_precision", precision)
        return x * 2

    return set_it


@pytest.mark.parametrize(
    ("f", "g", "given"),
    [
        (drawing(1), drawing(2), (np.random.default_rng(0),)),
        (counting(1), counting(2), (counter(),)),
        (setting(1), setting(2), ()),
        (exporting("a"), exporting("b"), ()),
        (rounding("float32"), rounding("bfloat16"), ()),
        (rounding("float32"), lambda x: x * 2, ()),
    ],
    ids=[
        "a generator",
        "a counter in a closure",
        "a context variable",
        "a variable of the environment",
        "a setting of jax",
        "a setting of jax in one alone",
    ],
)
def test_writes_that_differ_are_told_and_equal_ones_are_no_doubt(f, g, given):
    assert scanify.prove_equal(f, f, X, *given, up_to=0)
    assert scanify.prove_equal(f, g, X, *given, up_to=0).verdict is Status.FAILED
    assert VARIABLE.get() == 0 and "SCANIFY_TEST_OF_WRITES" not in os.environ
    assert jax.config.jax_default_matmul_precision is None


PAIRS = {
    "sets of objects": (lambda: {Held(1), Held(1)}, lambda: {Held(1), Held(2)}),
    "the length of a deque": (lambda: deque([1], 1), lambda: deque([1])),
    "arrays of objects": (lambda: np.array([Held(1)], object), lambda: np.array([Held(2)], object)),
    "generators": (lambda: random.Random(1), lambda: random.Random(2)),
    "generators of NumPy": (lambda: np.random.default_rng(1), lambda: np.random.default_rng(2)),
    "attributes of a partial": (lambda: functools.partial(max, 1), lambda: _with_attribute(functools.partial(max, 1))),
    "a counter": (lambda: itertools.count(1), lambda: itertools.count(2)),
    "a method of a list": (lambda: [1].append, lambda: [2].append),
}


def _with_attribute(made: Any) -> Any:
    made.seen = 1
    return made


@pytest.mark.parametrize("name", PAIRS)
def test_objects_are_compared_by_all_that_they_hold(name):
    first, second = PAIRS[name]
    assert difference(first(), first()) is None
    assert difference(first(), second()) is not None
