"""What a call binds anew in modules that it names, and what it writes through objects that stand before others."""

import builtins
import enum
import functools
import io
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import scanify
from scanify.errors import ScanifyError
from scanify.verify.compare.written import Watch
from scanify.verify.verdict import Status
from tests.verify import settings_of_a_model as settings

X = jnp.arange(3.0)


class Named(list[int]):
    """A list with attributes."""


def bound(given: Any, scale: float) -> None:
    settings.scale = scale


def by_its_own_function(given: Any, scale: float) -> None:
    settings.put(scale)


def imported_inside(given: Any, scale: float) -> None:
    from tests.verify import settings_of_a_model

    settings_of_a_model.scale = scale


def by_text(given: Any, scale: float) -> None:
    setattr(settings, "".join(("sc", "ale")), scale)


def a_list_of_it(given: Any, scale: float) -> None:
    settings.kept.append(scale)


def of_a_library(given: Any, scale: float) -> None:
    jax.nn.gelu = functools.partial(jnp.multiply, scale)


def new_in_a_library(given: Any, scale: float) -> None:
    jnp.of_scanify = scale  # type: ignore[attr-defined]


def new_in_python(given: Any, scale: float) -> None:
    builtins.of_scanify = scale  # type: ignore[attr-defined]


def to_memory(given: Any, scale: float) -> None:
    given[0] = int(scale)


def beside_elements(given: Any, scale: float) -> None:
    given.scale = scale


def by_a_method(given: Any, scale: float) -> None:
    given(scale)


def the_place_in_a_file(given: Any, scale: float) -> None:
    given.seek(int(scale))


KEPT: list[Any] = []
BY_CLASS: dict[Any, Any] = {int: 1}
OF_THREAD = threading.local()


class Logs:
    """Its methods are inherited, so that none of them stands in the class that is named."""

    def log(self, scale: float) -> None:
        KEPT.append(scale)

    @classmethod
    def set(cls, scale: float) -> None:
        Logs.scale = scale  # type: ignore[attr-defined]


class Meta(type):
    def keep(cls, scale: float) -> None:
        KEPT.append(scale)


class Heir(Logs, metaclass=Meta):
    pass


class Member(enum.Enum):
    A = 1


class Unnamed(enum.Enum):
    """Of a version that was loaded under no name."""

    __module__ = "of_no_name"
    A = 1


def inherited(given: Any, scale: float) -> None:
    given.log(scale)


def of_a_base(given: Any, scale: float) -> None:
    Heir.set(scale)


def by_a_metaclass(given: Any, scale: float) -> None:
    Heir.keep(scale)


def of_a_member(given: Any, scale: float) -> None:
    Member.A.extra = scale  # type: ignore[attr-defined]


def of_an_unnamed_member(given: Any, scale: float) -> None:
    Unnamed.A.extra = scale  # type: ignore[attr-defined]


def of_a_class_of_a_library(given: Any, scale: float) -> None:
    eqx.nn.Identity.of_scanify = scale


def through_a_reference(given: Any, scale: float) -> None:
    given().scale = scale


def through_a_view(given: Any, scale: float) -> None:
    given["a"].append(scale)


def of_a_thread(given: Any, scale: float) -> None:
    OF_THREAD.scale = scale


def to_a_registry(given: Any, scale: float) -> None:
    BY_CLASS[float if scale > 2 else bool] = 1


NOTHING = "nothing"
LOGS = Logs()
WRITES: dict[str, tuple[Callable[[Any, float], None], Callable[[], Any]]] = {
    "a variable of another module": (bound, lambda: NOTHING),
    "by a function of that module": (by_its_own_function, lambda: NOTHING),
    "of a module imported inside": (imported_inside, lambda: NOTHING),
    "an attribute by its text": (by_text, lambda: NOTHING),
    "a list of another module": (a_list_of_it, lambda: NOTHING),
    "a function of a library": (of_a_library, lambda: NOTHING),
    "a new name in a library": (new_in_a_library, lambda: NOTHING),
    "a new builtin": (new_in_python, lambda: NOTHING),
    "a view of memory": (to_memory, lambda: memoryview(bytearray(2))),
    "an attribute of a list": (beside_elements, Named),
    "a method of a list": (by_a_method, lambda: [].append),
    "a partial of a method": (by_a_method, lambda: functools.partial([].append)),
    "the place in a file": (the_place_in_a_file, lambda: io.TextIOWrapper(io.BytesIO(b"text"))),
    "by an inherited method": (inherited, Heir),
    "of a class that is inherited from": (of_a_base, lambda: NOTHING),
    "by a metaclass": (by_a_metaclass, lambda: NOTHING),
    "of a member of an enumeration": (of_a_member, lambda: NOTHING),
    "of a member in a module of no name": (of_an_unnamed_member, lambda: NOTHING),
    "of a class of a library": (of_a_class_of_a_library, lambda: NOTHING),
    "through a weak reference": (through_a_reference, lambda: weakref.ref(LOGS)),
    "through a view of a dict": (through_a_view, lambda: types.MappingProxyType({"a": []})),
    "of a thread": (of_a_thread, lambda: NOTHING),
    "to a registry of classes": (to_a_registry, lambda: NOTHING),
    "the place in bytes": (the_place_in_a_file, lambda: io.BytesIO(b"text")),
}


def call(write: Callable[[Any, float], None], given: Any, scale: float | None) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        if scale is not None:
            write(given, scale)
        return jnp.sin(x)

    return run


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_differs_is_told_and_an_equal_one_is_proved(name: str) -> None:
    write, make = WRITES[name]
    given = make()
    before = settings.scale, list(settings.kept), jax.nn.gelu
    same, other, none = (call(write, given, scale) for scale in (1.5, 2.5, None))
    assert scanify.prove_equal(call(write, given, 1.5), same, X, up_to=0).verdict is Status.PROVED
    assert scanify.prove_equal(same, other, X, up_to=0).verdict is not Status.PROVED
    assert scanify.prove_equal(same, none, X, up_to=0).verdict is not Status.PROVED
    assert (settings.scale, settings.kept, jax.nn.gelu) == before
    assert not any(hasattr(each, "of_scanify") for each in (jnp, builtins, eqx.nn.Identity))
    assert not KEPT and not vars(OF_THREAD) and list(BY_CLASS) == [int] and not hasattr(Logs, "scale")


def test_what_is_sent_to_a_generator_is_told() -> None:
    def keeps() -> Iterator[None]:
        while True:
            _last = yield

    kept = keeps()
    next(kept)

    def run(x: Any) -> Any:
        kept.send(1.5)  # type: ignore[attr-defined]
        return jnp.sin(x)

    with pytest.raises(ScanifyError, match="takes elements from an iterator, a generator"):
        scanify.prove_equal(run, run, X, up_to=0)


def test_what_a_function_only_reads_of_a_module_is_not_written_to() -> None:
    watch = Watch(lambda x: jax.nn.relu(x) * settings.scale, (X,), {})
    assert watch.result("as it is") == "as it is"
