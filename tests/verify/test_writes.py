"""What a call writes to the lists, dicts and objects that it is given is part of what it does."""

import functools
import random
import types
import warnings
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.verify.compare import outputs as outputs_module
from scanify.verify.compare.compare import compare_case
from scanify.verify.compare.written import Watch
from scanify.verify.verdict import Status, Verdict

X = jnp.arange(3.0)


@jax.tree_util.register_dataclass
@dataclass
class Cache:
    keys: Any
    values: Any


class Held:
    """No pytree."""

    def __init__(self) -> None:
        self.last = 0


class Model(eqx.Module):
    w: jax.Array
    body: Any = eqx.field(static=True)

    def __call__(self, x: jax.Array, given: Any = None) -> Any:
        return self.body(self.w, x, given)


def outputs(before: Any, after: Any, given: Any) -> Verdict:
    def case(body: Any) -> Any:
        return lambda: (Model(jnp.ones(3), body), (X, given() if given else None))

    found = compare_case(
        "case", case(before), case(after), policies=[None], requested=None, abstract=False, measure=False
    )
    return found.policies[0].outputs


def replaced(place: int, scale: float = 2.0) -> Any:
    def body(w: Any, x: Any, given: Any) -> Any:
        given[place] = w * x * scale
        return x

    return body


def attribute(name: str, scale: float = 2.0) -> Any:
    def body(w: Any, x: Any, given: Any) -> Any:
        setattr(given, name, w * x * scale)
        return x

    return body


def nothing(w: Any, x: Any, given: Any) -> Any:
    return x


def lists() -> Any:
    return [jnp.zeros(3), jnp.zeros(3)]


def caches() -> Any:
    return Cache(jnp.zeros(3), jnp.zeros(3))


# What is given, what is written to it, what else is written, and how the place is called.
WRITES: dict[str, tuple[Any, Any, Any, str]] = {
    "a list": (lists, replaced(1), replaced(1, 3.0), "args[1]"),
    "another element": (lists, replaced(1), replaced(0), "args[1]"),
    "a dict": (lambda: {0: jnp.zeros(3)}, replaced(0), replaced(0, 3.0), "args[1]"),
    "a list inside": (
        lambda: {"a": lists()},
        lambda w, x, given: replaced(1)(w, x, given["a"]),
        lambda w, x, given: replaced(1, 3.0)(w, x, given["a"]),
        "args[1]['a']",
    ),
    "a longer list": (
        lists,
        lambda w, x, given: (given.append(w * x), x)[1],
        lambda w, x, given: (given.append(w), x)[1],
        "args[1]",
    ),
    "a dataclass": (caches, attribute("keys"), attribute("keys", 3.0), "args[1]"),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_call_that_writes_something_else_is_not_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, writes, other, place = WRITES[name]
    assert outputs(writes, writes, given).status is Status.PROVED
    assert outputs(writes, other, given).status is Status.FAILED
    for pair, says in (
        ((writes, nothing), f"the original writes to {place}, which it is given, and the rewritten version does not"),
        ((nothing, writes), f"the rewritten version writes to {place}, which it is given, and the original does not"),
    ):
        verdict = outputs(*pair, given)
        assert verdict.status is Status.FAILED and says in verdict.reason
    monkeypatch.setattr(Watch, "result", lambda self, returned: returned)
    assert outputs(writes, nothing, given).status is Status.PROVED


def test_an_object_that_is_no_pytree_is_looked_at_too() -> None:
    held = Held()
    watch = Watch(None, (held,), {})
    assert watch.result(X) is X
    held.last = 1
    assert watch.result(X).written == {"args[0]": {"last": 1}}


def test_a_state_that_is_replaced_is_not_written_to() -> None:
    index = eqx.nn.StateIndex(jnp.zeros(3))
    state = eqx.nn.State(index)
    watch = Watch(None, (state,), {})
    state.set(index, X)
    assert watch.result(X) is X


@pytest.mark.parametrize("what", ["kept", "replaced by equals"])
def test_what_is_not_written_to_is_no_result(what: str) -> None:
    given = [X, {"a": X}]
    watch = Watch(None, (given,), {})
    if what == "kept":
        given[0] = X
        assert watch.result(X) is X
    else:
        given[0] = X + 0
        assert list(watch.result(X).written) == ["args[0]"]


def returning(scale: str) -> Any:
    found: dict[str, Any] = {}
    exec(f"def f(y): return y * {scale}\ndef body(w, x, given): return w * x, f", found)
    return found["body"]


def test_a_function_that_is_returned_is_not_proved_unless_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outputs(returning("2"), returning("2"), None).status is Status.PROVED
    verdict = outputs(returning("2"), returning("3"), None)
    assert verdict.status is Status.NOT_RUN and "output[1].__code__: the code of" in verdict.reason
    monkeypatch.setattr(outputs_module, "different_objects", lambda *_, **__: None)
    assert outputs(returning("2"), returning("3"), None).status is Status.PROVED


class Deep:
    """An object that holds what can be written to."""

    __slots__ = ("items", "last")

    def __init__(self) -> None:
        self.items: list[Any] = []


WRITTEN = types.SimpleNamespace(value=0)
NUMBER = 0.0
TABLE: dict[str, float] = {}


def to_an_attribute(w: Any, x: Any, given: Any, *, scale: float) -> Any:
    given.last = w * x * scale
    return x


def to_a_list_in_an_object(w: Any, x: Any, given: Any, *, scale: float) -> Any:
    given.items.append(w * x * scale)
    return x


def to_a_set(w: Any, x: Any, given: Any, *, scale: float) -> Any:
    given.add(scale)
    return x


def to_an_array(w: Any, x: Any, given: Any, *, scale: float) -> Any:
    given["a"][0][1] = scale
    return x


def to_a_global(w: Any, x: Any, given: Any, *, scale: float) -> Any:
    WRITTEN.value = scale
    return x


def to_a_name(w: Any, x: Any, given: Any, *, scale: float) -> Any:
    global NUMBER
    NUMBER = scale
    return x


class Calls:
    """Writes to a global dict where it is called."""

    def __call__(self, scale: float) -> None:
        TABLE["scale"] = scale


def through_an_operator(w: Any, x: Any, given: Any, *, scale: float) -> Any:
    given(scale)
    return x


def to_random(w: Any, x: Any, given: Any, *, scale: float) -> Any:
    random.seed(scale)
    return x


def to_numpys_random(w: Any, x: Any, given: Any, *, scale: float) -> Any:
    np.random.seed(int(scale))
    return x


def to_the_filters(w: Any, x: Any, given: Any, *, scale: float) -> Any:
    warnings.filterwarnings("error", message=str(scale))
    return x


def to_numpys_errors(w: Any, x: Any, given: Any, *, scale: float) -> Any:
    np.seterr(all="call" if scale == 1 else "raise")
    return x


def to_a_class(w: Any, x: Any, given: Any, *, scale: float) -> Any:
    type(given).scale = scale  # type: ignore[attr-defined]
    return x


def both(w: Any, x: Any, given: Any, *, scale: float) -> Any:
    given.items.append({"held": [w * scale]})
    given.last = given.items
    return {"x": x}


PLACES: dict[str, tuple[Any, Any]] = {
    "a new attribute": (Held, to_an_attribute),
    "a slot": (Deep, to_an_attribute),
    "a list in an object": (Deep, to_a_list_in_an_object),
    "a set": (set, to_a_set),
    "an array of NumPy": (lambda: Arrays(), to_an_array),
    "a global object": (None, to_a_global),
    "a global name": (None, to_a_name),
    "a global dict, by an operator": (Calls, through_an_operator),
    "the generator of random": (None, to_random),
    "the generator of NumPy": (None, to_numpys_random),
    "the filters of warnings": (None, to_the_filters),
    "what NumPy does about errors": (None, to_numpys_errors),
    "a class": (Held, to_a_class),
    "a list and a slot": (Deep, both),
}


class Arrays(dict[str, Any]):
    """No pytree, so that its array stays one of NumPy."""

    def __init__(self) -> None:
        super().__init__(a=[np.zeros(2)])


@pytest.mark.parametrize("name", PLACES)
def test_what_is_written_is_compared_wherever_it_is(name: str) -> None:
    given, writes = PLACES[name]
    one, again, other = (functools.partial(writes, scale=scale) for scale in (1.0, 1.0, 2.0))
    assert outputs(one, again, given).status is Status.PROVED
    assert outputs(one, other, given).status is Status.FAILED
    assert outputs(one, nothing, given).status is Status.FAILED
    assert WRITTEN.value == NUMBER == 0 and not hasattr(Held, "scale") and not TABLE


def test_a_property_that_remembers_is_not_written_to() -> None:
    class Remembers:
        @functools.cached_property
        def size(self) -> int:
            return 3

    def reads(w: Any, x: Any, given: Any) -> Any:
        return w * x * given.size

    assert outputs(reads, lambda w, x, given: w * x * 3, Remembers).status is Status.PROVED


def _appends(to: int, count: int) -> Any:
    """Appends to one of two arguments, and gives the length of one of them times the input."""

    def body(w: Any, x: Any, given: Any) -> Any:
        given[to].append(w)
        return x * len(given[count])

    return body


def test_a_list_that_is_given_twice_is_one_list() -> None:
    def twice() -> Any:
        held: list[Any] = []
        return (held, held)

    assert outputs(_appends(0, 1), _appends(1, 0), twice).status is Status.PROVED
    first = lambda w, x, given: (x * len(given[1]), given[0].append(w))[0]  # noqa: E731
    assert outputs(_appends(0, 1), first, twice).status is Status.FAILED
    assert outputs(_appends(0, 1), first, lambda: ([], [])).status is Status.PROVED
