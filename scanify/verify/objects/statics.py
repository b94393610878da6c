"""Names and attributes of objects from one module loaded twice, whose classes are then different objects."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import types
from collections.abc import Callable, Iterator
from typing import Any


@dataclasses.dataclass(frozen=True, eq=False)
class Code:
    """A function without its closure and defaults (`same.difference` compares it)."""

    function: types.FunctionType


_IsUsers = Callable[[str], bool]

_IS_USERS: contextvars.ContextVar[_IsUsers] = contextvars.ContextVar("is_users", default=lambda name: False)


@contextlib.contextmanager
def users_modules(is_users: _IsUsers) -> Iterator[None]:
    """Omit the names of the user's own modules, according to `is_users`, from qualified names in this context.

    A class keeps its name when somebody moves it to another file, and its computation is compared anyway.
    """
    token = _IS_USERS.set(is_users)
    try:
        yield
    finally:
        _IS_USERS.reset(token)


def qualified(kind: type) -> str:
    """Return `module.Class`, the name that a reloaded class keeps."""
    return f"{module_of(kind)}.{kind.__qualname__}"


def module_of(value: Any) -> str:
    """Return the name of the module of a class or function; "" for the user's."""
    name = str(value.__module__)
    return "" if _IS_USERS.get()(name) else name


def cell_contents(cell: types.CellType) -> Any:
    """Return the value of a closure cell; None for a name without a value yet."""
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def attributes(value: Any) -> dict[str, Any]:
    """Return the contents of an object's `__dict__` and slots, by name."""
    found = dict(getattr(value, "__dict__", {}))
    if "__module__" in found:  # in a wrapper, which copies the names of the wrapped function
        found["__module__"] = module_of(value)
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found
