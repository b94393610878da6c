"""The modules that a function names, of the user and of libraries, and what it may bind anew in them.

`import config` and then `config.scale = 2` in a call changes what the next call computes, as `global scale` does; so
does `jax.nn.gelu = ...`. Which attributes these can be is read from the function's code.
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
    """The names in a function's code, and which of them it binds as attributes. `by_text`: it may bind others, too."""

    names: tuple[str, ...]
    stored: tuple[str, ...]
    by_text: bool


@functools.lru_cache(8192)
def uses_of(code: types.CodeType) -> Uses:
    """What a function's code, and that of the functions in it, names."""
    every = list(codes(code))
    names = tuple(dict.fromkeys(name for each in every for name in each.co_names))
    stored = {str(one.argval) for each in every for one in dis.get_instructions(each) if one.opname in _BINDS}
    by_text = not _BY_TEXT.isdisjoint(names)
    if by_text:  # `setattr(config, "scale", 2)`
        stored |= {text for each in every for text in each.co_consts if isinstance(text, str) and text.isidentifier()}
    return Uses(names, tuple(sorted(stored)), by_text)


def modules_named(uses: Uses, variables: dict[str, Any]) -> Iterator[tuple[str, types.ModuleType]]:
    """The modules that a function names, by the name that it has for them: `jax`, `jax.nn`, one it imports itself."""
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
    if held is None:  # perhaps one of the user's that the function imports itself, of this package or by its whole name
        for whole in (f"{variables.get('__package__')}.{name}", name):
            found = sys.modules.get(whole)
            if found is not None and is_users(vars(found)):
                return found
    return None


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code and that of the functions in it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


def is_users(module_globals: dict[str, Any]) -> bool:
    """Whether the global variables are those of a module that is no library's, nor Python's."""
    file = module_globals.get("__file__")
    if not isinstance(file, str):
        return module_globals.get("__spec__") is None and module_globals.get("__name__") != "builtins"
    return _is_users_file(file)


@functools.lru_cache(4096)
def _is_users_file(file: str) -> bool:
    if any(f"{os.sep}{name}{os.sep}" in file for name in ("site-packages", "dist-packages")):
        return False
    return not os.path.realpath(file).startswith((_HERE, *_STANDARD))
