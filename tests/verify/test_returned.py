"""What a call returns beside arrays of jax: functions, modules, objects, arrays of NumPy, pytrees that look alike."""

import collections
import types
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.verify.verdict import Status
from tests.verify.functions import compared, proved, verdicts

W, X = jnp.linspace(0.5, 1.5, 4), jnp.arange(4.0) + 0.25
SOURCE = """
import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp


def helper(x):
    return jnp.NAME(x)


def head(w, y):
    return helper(w * y)


class Law(eqx.Module):
    mean: jax.Array

    def density(self, y):
        return helper(y - self.mean)

    @property
    def mode(self):
        return head(1.0, self.mean)


class Other(Law):
    steps: int = eqx.field(static=True, default=1)

    @eqx.filter_jit
    def jitted(self, y):
        return head(self.mean, y)


@dataclasses.dataclass
class Plain:
    held: object

    def value(self):
        return helper(self.held)


@jax.jit
def jitted(x):
    return head(2.0, x)


TABLE = {"helper": helper}


def by_table(x):
    return TABLE["helper"](x)


RETURNS = {
    "a partial": lambda p, x: functools.partial(head, 2.0),
    "a partial of an array": lambda p, x: functools.partial(head, p),
    "a partial that is a pytree": lambda p, x: jax.tree_util.Partial(head, p),
    "a module": lambda p, x: Law(p * x),
    "a module with a jitted method": lambda p, x: Other(p * x),
    "an object": lambda p, x: Plain(p + x),
    "a closure": lambda p, x: lambda y: helper(y * p),
    "a method": lambda p, x: Law(p * x).density,
    "a jitted function": lambda p, x: jitted,
    "a function with a table": lambda p, x: by_table,
    "a module in a list in an object": lambda p, x: [Plain([Law(p), Plain(x)])],
}
"""


def load(name: str) -> Any:
    module = types.ModuleType("returning")
    exec(compile(SOURCE.replace("NAME", name), "returning.py", "exec"), vars(module))
    return module


SIN, AGAIN, COS = load("sin"), load("sin"), load("cos")


def with_array(returns: Any) -> Any:
    return lambda p, x: (p * x, returns(p, x))


@pytest.mark.parametrize("name", SIN.RETURNS)
def test_what_is_returned_is_the_same_only_where_its_code_is(name: str) -> None:
    sin, again, cos = (with_array(module.RETURNS[name]) for module in (SIN, AGAIN, COS))
    assert proved(compared(sin, again, W, X))
    found = verdicts(compared(sin, cos, W, X))
    assert found["outputs"] is Status.NOT_RUN


def test_what_a_closure_holds_is_an_output() -> None:
    one, other = (lambda p, x, scale=scale: (x, lambda y: y * (p * scale)) for scale in (1.0, 2.0))
    assert verdicts(compared(one, other, W, X))["outputs"] is Status.FAILED


class Alike:
    """Is equal to everything of its kind."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Number(int):
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@jax.tree_util.register_pytree_node_class
class Kept:
    """Tells jax of one of two attributes."""

    def __init__(self, told: Any, kept: Any) -> None:
        self.told, self.kept = told, kept

    def tree_flatten(self) -> tuple[tuple[Any], None]:
        return (self.told,), None

    @classmethod
    def tree_unflatten(cls, aux: None, children: tuple[Any]) -> "Kept":
        return cls(children[0], None)


PAIRS: dict[str, tuple[Any, Any]] = {
    "dtypes of NumPy": (np.array([0.1]), np.array([0.1], np.float32)),
    "what float32 does not hold": (np.array([1.0]), np.array([1.0 + 1e-12])),
    "what int32 does not hold": (np.array([1]), np.array([1 + 2**32])),
    "scalars of NumPy": (np.float64(1), np.float32(1)),
    "what equality says": (Alike(1), Alike(2)),
    "a number that equals all": (Number(1), Number(2)),
    "the factory of a defaultdict": (collections.defaultdict(list), collections.defaultdict(int)),
    "what a deque holds": (collections.deque([1]), collections.deque([2])),
    "a mask": (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])),
    "what a node keeps from jax": (Kept(1, 2), Kept(1, 3)),
    "equality inside of a set in a list": ([{1: Alike(1)}], [{1: Alike(3)}]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_no_array_of_jax_is_compared_as_it_is(name: str) -> None:
    one, other = PAIRS[name]
    assert proved(compared(lambda p, x: (p * x, one), lambda p, x: (p * x, one), W, X))
    assert verdicts(compared(lambda p, x: (p * x, one), lambda p, x: (p * x, other), W, X))["outputs"] is Status.FAILED


def test_an_array_that_a_node_keeps_from_jax_is_an_output() -> None:
    one, again, other = (lambda p, x, scale=scale: Kept(p * x, p * scale) for scale in (2.0, 2.0, 3.0))
    assert proved(compared(one, again, W, X))
    assert verdicts(compared(one, other, W, X))["outputs"] is Status.FAILED


def test_an_array_of_numpy_is_none_of_jax() -> None:
    found = compared(lambda p, x: (p, np.ones(2, np.float32)), lambda p, x: (p, jnp.ones(2)), W, X)
    assert verdicts(found)["outputs"] is Status.FAILED


def _fields(*names: str) -> Any:
    """A module with these fields, whose name is the same whatever their order is."""
    space = {"__annotations__": dict.fromkeys(names, jax.Array), "__qualname__": "Pair", "__module__": __name__}
    return type(eqx.Module)("Pair", (eqx.Module,), space)


FIRST, TURNED = _fields("a", "b"), _fields("b", "a")


def test_the_order_of_fields_is_no_part_of_a_result() -> None:
    one, other = (lambda p, x, made=made: [made(a=p * x, b=p + x), x] for made in (FIRST, TURNED))
    assert proved(compared(one, other, W, X))
    crossed = lambda p, x: [TURNED(b=p * x, a=p + x), x]  # noqa: E731
    assert verdicts(compared(one, crossed, W, X))["outputs"] is Status.FAILED
    scaled = lambda p, x: [TURNED(a=p * x, b=(p + x) * 2), x]  # noqa: E731
    assert verdicts(compared(one, scaled, W, X))["outputs"] is Status.FAILED


def _written(scale: float) -> Any:
    """A module with a constructor that somebody wrote, in code that has no file."""
    source = f"class Pair(eqx.Module):\n a: object\n def __init__(self, a):\n  self.a = a * {scale}\n"
    space: dict[str, Any] = {"eqx": eqx, "__name__": __name__}
    exec(source, space)
    return space["Pair"]


def test_a_constructor_that_somebody_wrote_is_part_of_a_result() -> None:
    one, other = _written(1.0), _written(2.0)
    found = compared(lambda p, x: one(p * x), lambda p, x: other(p * x / 2), W, X)
    assert verdicts(found)["outputs"] is Status.NOT_RUN


def test_the_order_of_the_fields_of_a_tuple_is_part_of_it() -> None:
    one, other = (collections.namedtuple("Two", names) for names in ("a b", "b a"))
    found = compared(lambda p, x: one(a=p, b=x), lambda p, x: other(a=p, b=x), W, X)
    assert verdicts(found)["outputs"] is Status.FAILED


def test_shapes_that_a_call_returns_are_compared_as_objects():
    def gives(shape):
        return lambda p, x: {"shape": shape, "y": p * x}

    shape = jax.ShapeDtypeStruct((4,), jnp.float32)
    assert proved(compared(gives(shape), gives(jax.ShapeDtypeStruct((4,), jnp.float32)), W, X))
    weak = jax.ShapeDtypeStruct((4,), jnp.float32, weak_type=True)
    for other in (jax.ShapeDtypeStruct((5,), jnp.float32), jax.ShapeDtypeStruct((4,), jnp.int32), weak, None, 4):
        assert verdicts(compared(gives(shape), gives(other), W, X))["outputs"] is Status.FAILED
    assert verdicts(compared(gives(shape), lambda p, x: {"shape": x, "y": p * x}, W, X))["outputs"] is Status.FAILED


class Cache(NamedTuple):
    kept: Any


def _in_scan(p: Any, x: Any) -> Any:
    return jax.lax.scan(lambda c, _: ({"k": c["k"] * p, "a": c["a"] + x}, None), {"k": x, "a": p}, None, length=2)[0]


def _in_loop(p: Any, x: Any) -> Any:
    found = {"k": x, "a": p}
    for _ in range(2):
        found = {"k": found["k"] * p, "a": found["a"] + x}
    return found


def _writes(*names: str) -> Any:
    def call(p: Any, x: Any, kept: dict[str, Any]) -> Any:
        kept.update(dict.fromkeys(names, p * x))
        return x

    return call


ORDERS: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "of a dict": (lambda p, x: {"k": x, "a": p}, lambda p, x: {"a": p, "k": x}, ()),
    "in a tuple": (lambda p, x: Cache({"k": x, "a": p}), lambda p, x: Cache({"a": p, "k": x}), ()),
    "of a carry, which a scan sorts": (_in_loop, _in_scan, ()),
    "in a closure": (lambda p, x: lambda: {**_in_loop(p, x)}, lambda p, x: lambda: {**_in_scan(p, x)}, ()),
    "of what is written": (_writes("k", "a"), _writes("a", "k"), ({"z": W},)),
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_keys_of_dicts_are_compared_in_their_order(name: str) -> None:
    one, other, more = ORDERS[name]
    assert verdicts(compared(one, other, W, X, *more))["outputs"] in (Status.FAILED, Status.NOT_RUN)
    assert proved(compared(one, one, W, X, *more))
