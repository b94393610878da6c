"""What only looks equal: primitives of one name, functions that share state, trees with other contents, uninitialised
memory. None may be PROVED."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback
from jax.extend.core import Primitive

from scanify.jaxpr import number
from scanify.jaxpr.reading import canonical
from scanify.verify.proof.prove import prove

V = jnp.arange(4.0)
OUT = jax.ShapeDtypeStruct((4,), jnp.float32)

Function = Callable[[Any], Any]


def primitive(name: str) -> Callable[..., Any]:
    made = Primitive(name)
    made.def_abstract_eval(lambda x, *_: x)
    return made.bind


# Of matrices it may be a product in which the order counts.
PRODUCT = primitive("mul")


def counter() -> tuple[Function, Function]:
    """Two functions that share what one of them writes: neither is what another pair's is."""
    calls = 0

    def write(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x

    def read(x: Any) -> Any:
        return x * np.float32(calls)

    return write, read


FIRST, SECOND = counter(), counter()


def called(*functions: Function) -> Function:
    def run(v: Any) -> Any:
        for function in functions:
            v = io_callback(function, OUT, v, ordered=True)
        return v

    return run


@jax.tree_util.register_pytree_node_class
class Scaled:
    """A pytree that keeps a number outside of its leaves."""

    def __init__(self, value: Any, scale: Any) -> None:
        self.value, self.scale = value, scale

    def tree_flatten(self) -> Any:
        return (self.value,), self.scale

    @classmethod
    def tree_unflatten(cls, scale: Any, values: Any) -> "Scaled":
        return cls(*values, scale)


def on_tree(scale: Any) -> Function:
    return lambda v: jax.pure_callback(_on_tree, OUT, Scaled(v, scale))


def _on_tree(tree: Scaled) -> Any:
    return np.copysign(np.asarray(tree.value), np.float32(tree.scale))


PAIRS: dict[str, tuple[Function, Function]] = {
    "primitives of one name": (primitive("mine"), primitive("mine")),
    "a primitive named like one of jax": (primitive("neg"), lax.neg),
    "a primitive named like a call": (primitive("optimization_barrier"), lambda v: v),
    "a primitive named like a product": (lambda v: PRODUCT(v, v + 1), lambda v: PRODUCT(v + 1, v)),
    "functions that share what another writes": (called(FIRST[0], FIRST[1]), called(FIRST[0], SECOND[1])),
    "trees with both zeros": (on_tree(0.0), on_tree(-0.0)),
    "trees with a boolean and a number": (on_tree(True), on_tree(1)),
    "the bits of a NaN": (
        lambda v: lax.full_like(v, np.nan, jnp.float16).astype(jnp.float8_e5m2),
        lambda v: jnp.asarray(np.full(4, np.nan, np.float16).astype(jnp.float8_e5m2)),
    ),
    "what stands in memory": (
        lambda v: v + lax.empty((4,), v.dtype) - lax.empty((4,), v.dtype),
        lambda v: (lambda e: v + e - e)(lax.empty((4,), v.dtype)),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_only_looks_equal_is_not_proved(name: str) -> None:
    assert not prove(*(jax.make_jaxpr(function)(V) for function in PAIRS[name])).proved


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "what stands in memory"])
def test_each_is_proved_equal_to_itself_traced_again(name: str) -> None:
    for function in PAIRS[name]:
        assert prove(*(jax.make_jaxpr(lambda v, f=function: f(v))(V) for _ in range(2))).proved


def _by_name(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(number, "is_own", lambda primitive: True)


MUTANTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "primitives by name": (_by_name, "primitives of one name"),
    "rules by name": (_by_name, "a primitive named like one of jax"),
    "operands swapped by name": (_by_name, "a primitive named like a product"),
    "calls by name": (_by_name, "a primitive named like a call"),
    "captured names are values": (
        lambda patch: patch.setattr(canonical, "_written_elsewhere", lambda function: frozenset()),
        "functions that share what another writes",
    ),
    "trees as jax compares them": (
        lambda patch: patch.setattr(canonical.Canonical, "_tree", lambda self, tree: ("tree", tree)),
        "trees with both zeros",
    ),
    "memory is a value": (lambda patch: patch.setattr(number, "STATEFUL", set()), "what stands in memory"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_rule_proves_what_differs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate, pair = MUTANTS[name]
    traced = [jax.make_jaxpr(function)(V) for function in PAIRS[pair]]
    mutate(monkeypatch)
    assert prove(*traced).proved
