"""The modules that a function names, of the user and of libraries, and the attributes that it may rebind in them.

`import config` and then `config.scale = 2` in a call changes what the next call computes, as `global scale` does; so
does `jax.nn.gelu = ...`. The possible attributes are read from the function's code.
"""

from __future__ import annotations

import dis
import functools
import os
import sys
import sysconfig
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_HERE = str(Path(__file__).resolve().parents[2]) + os.sep
_STANDARD = tuple(f"{os.path.realpath(sysconfig.get_path(name))}{os.sep}" for name in ("stdlib", "platstdlib"))
_BINDS = frozenset({"STORE_ATTR", "DELETE_ATTR"})
_BY_TEXT = frozenset({"setattr", "delattr", "__setattr__", "__dict__", "vars", "__delattr__"})


@dataclass(frozen=True)
class Uses:
    """The names in a function's code, and those it binds as attributes. `by_text`: it may bind others, too."""

    names: tuple[str, ...]
    stored: tuple[str, ...]
    by_text: bool


@functools.lru_cache(8192)
def uses_of(code: types.CodeType) -> Uses:
    """Return the names in a function's code, and in the functions inside it."""
    every = list(codes(code))
    names = tuple(dict.fromkeys(name for each in every for name in each.co_names))
    stored = {str(one.argval) for each in every for one in dis.get_instructions(each) if one.opname in _BINDS}
    by_text = not _BY_TEXT.isdisjoint(names)
    if by_text:  # `setattr(config, "scale", 2)`
        stored |= {text for each in every for text in each.co_consts if isinstance(text, str) and text.isidentifier()}
    return Uses(names, tuple(sorted(stored)), by_text)


def modules_named(uses: Uses, variables: dict[str, Any]) -> Iterator[tuple[str, types.ModuleType]]:
    """Yield the modules that a function names, with their names in it: `jax`, `jax.nn`, or one it imports itself."""
    seen: set[int] = set()
    waiting = [(name, found) for name in uses.names if (found := _module(name, variables)) is not None]
    while waiting:
        place, module = waiting.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield place, module
        inner = ((name, vars(module).get(name)) for name in uses.names)
        waiting += [(f"{place}.{name}", held) for name, held in inner if isinstance(held, types.ModuleType)]


def _module(name: str, variables: dict[str, Any]) -> types.ModuleType | None:
    held = variables.get(name)
    if isinstance(held, types.ModuleType):
        return held
    if held is None:  # perhaps a user's module that the function imports itself, from this package or by its full name
        for whole in (f"{variables.get('__package__')}.{name}", name):
            found = sys.modules.get(whole)
            if found is not None and is_users(vars(found)):
                return found
    return None


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a function's code and the code of the functions inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


def is_users(module_globals: dict[str, Any]) -> bool:
    """True if the global variables belong to a module that is not a library's, nor Python's."""
    file = module_globals.get("__file__")
    if not isinstance(file, str):
        return module_globals.get("__spec__") is None and module_globals.get("__name__") != "builtins"
    return _is_users_file(file)


@functools.lru_cache(4096)
def _is_users_file(file: str) -> bool:
    if any(f"{os.sep}{name}{os.sep}" in file for name in ("site-packages", "dist-packages")):
        return False
    return not os.path.realpath(file).startswith((_HERE, *_STANDARD))
