"""Keys of parameters: equal only where the parameters mean the same."""

import functools
from collections.abc import Hashable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from scanify.jaxpr.number import Numbering
from scanify.jaxpr.reading.canonical import Canonical, NotUnderstood
from scanify.jaxpr.table import Table


def maker() -> Canonical:
    table = Table()
    return Canonical(Numbering(table).jaxpr_key, table.kept_alive)


def add(n: Any) -> Any:
    return lambda x: x + n


def counter() -> Any:
    calls = 0

    def count(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x * calls

    return count


def counter_inside() -> Any:
    count = counter()
    return lambda x: count(x) + 1


def counter_in_attribute() -> Any:
    def count(x: Any) -> Any:
        count.calls = getattr(count, "calls", 0) + 1  # type: ignore[attr-defined]
        return x * count.calls  # type: ignore[attr-defined]

    return count


def place(axis: str | None, memory: str | None = None) -> Any:
    mesh = jax.make_mesh((1,), ("d",))
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(axis), memory_kind=memory)


DIFFERENT = {
    "shardings over other axes": (place("d"), place(None)),
    "shardings in other memories": (place("d", "device"), place("d", "unpinned_host")),
    "a boolean and a number": (True, 1),
    "an integer and a float": (1, 1.0),
    "both zeros": (0.0, -0.0),
    "a float of numpy and of Python": (np.float32(1.0), 1.0),
    "two dtypes": (np.float32(1.0), np.float64(1.0)),
    "a tuple and a list": ((1, 2), [1, 2]),
    "arrays of other shapes": (np.zeros(4), np.zeros((2, 2))),
    "arrays with other zeros": (np.array([0.0]), np.array([-0.0])),
    "text and bytes": ("a", b"a"),
    "functions that captured other numbers": (add(1), add(True)),
    "functions that captured two lists": (add([]), add([])),
    "functions that count their calls": (counter(), counter()),
    "functions that call one that counts": (counter_inside(), counter_inside()),
    "functions that count in an attribute": (counter_in_attribute(), counter_in_attribute()),
    "partials that keep two lists": (functools.partial(max, []), functools.partial(max, [])),
    "partials": (functools.partial(max, 1), functools.partial(max, 2)),
    "keys in another order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "precisions": (lax.Precision.HIGH, lax.Precision.HIGHEST),
    "jaxprs": (jax.make_jaxpr(jnp.sin)(1.0), jax.make_jaxpr(jnp.cos)(1.0)),
    "jaxprs of other inputs": (jax.make_jaxpr(lambda x, y: x)(1.0, 1.0), jax.make_jaxpr(lambda x, y: y)(1.0, 1.0)),
    "objects": (object(), object()),
}

EQUAL = {
    "shardings that are made twice": (place("d"), place("d")),
    "not a number": (float("nan"), float("nan")),
    "arrays": (np.arange(3), np.arange(3)),
    "functions made by the same line": (add(1), add(1)),
    "functions that captured one list": (lambda shared=[]: [add(shared), add(shared)])(),
    "partials": (functools.partial(max, 1), functools.partial(max, 1)),
    "jaxprs that name calls otherwise": (
        jax.make_jaxpr(lambda x: jax.jit(jnp.sin)(x))(1.0),
        jax.make_jaxpr(lambda x: jnp.sin(x))(1.0),
    ),
    "tree definitions": (jax.tree.structure({"a": 1}), jax.tree.structure({"a": 2})),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_parameters_have_different_keys(name: str) -> None:
    make = maker()
    one, other = DIFFERENT[name]
    assert make.key(one) != make.key(other)


@pytest.mark.parametrize("name", EQUAL)
def test_equal_parameters_have_equal_keys(name: str) -> None:
    make = maker()
    one, other = EQUAL[name]
    first: Hashable = make.key(one)
    assert first == make.key(other) and hash(first) == hash(make.key(other))


def test_a_function_that_captures_itself_has_a_key() -> None:
    def countdown(n: int) -> int:
        return countdown(n - 1) if n else 0

    assert maker().key(countdown) is not None


def test_a_function_whose_name_has_no_value_yet_is_not_understood() -> None:
    def outer() -> Any:
        inner = lambda: later  # noqa: E731
        make = maker()
        with pytest.raises(NotUnderstood, match="not defined yet"):
            make.key(inner)
        later = 1
        return later

    outer()


def test_an_array_of_objects_is_not_understood() -> None:
    with pytest.raises(NotUnderstood, match="Python objects"):
        maker().key(np.array([object()]))


def test_what_is_compared_by_identity_is_kept_alive() -> None:
    alive: list[Any] = []
    thing = object()
    Canonical(lambda jaxpr: None, alive).key(thing)
    assert any(kept is thing for kept in alive)
