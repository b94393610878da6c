"""Find the names that code reads, and code that may read values without naming them."""

from __future__ import annotations

import dis
import functools
import sys
import types

from scanify.verify.objects.modules import codes, is_users

# Functions that return all names of a place, run text, or inspect the caller.
_ALL_NAMES = frozenset({"globals", "locals", "vars", "dir", "eval", "exec", "__import__", "import_module"})
_PLACES = frozenset({"__globals__", "__builtins__", "f_globals", "f_locals", "f_back", "_getframe", "currentframe"})
_OF_PROCESS = frozenset({"get_objects", "get_referrers", "get_referents", "__subclasses__"})
_EVERYTHING = _ALL_NAMES | _PLACES | _OF_PROCESS
_WITH_OWNER = frozenset({("sys", "modules"), ("inspect", "stack"), ("importlib", "util")})
_LOADS, _ATTRIBUTES = frozenset({"LOAD_GLOBAL", "LOAD_NAME"}), frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_BINDS = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})
_BETWEEN = frozenset({"EXTENDED_ARG", "CACHE"})


@functools.lru_cache(4096)
def chains(code: types.CodeType) -> tuple[tuple[str, ...], ...]:
    """Return the global names in code and in the functions inside it, each with the attributes read from it directly.

    `settings.train.rate` gives `("settings", "train", "rate")`, `f(settings)` gives `("settings",)`.
    """
    found: dict[tuple[str, ...], None] = {}
    for each in codes(code):
        chain: tuple[str, ...] = ()
        for instruction in dis.get_instructions(each):
            name = str(instruction.argval)
            if instruction.opname in _BETWEEN:
                continue
            if chain and instruction.opname in _ATTRIBUTES:
                chain = (*chain, name)
                continue
            if chain:
                found[chain] = None
            chain = (name,) if instruction.opname in _LOADS else ()
            if instruction.opname in _BINDS:
                found[(name,)] = None
    return tuple(found)


def reads_unnamed(code: types.CodeType) -> bool:
    """True if code may read any value of the process, or imports a module of the user itself."""
    named = {name for each in codes(code) for name in each.co_names}
    owned = any(owner in named and name in named for owner, name in _WITH_OWNER)
    return owned or not named.isdisjoint(_EVERYTHING) or any(map(_imports_users, codes(code)))


def _imports_users(code: types.CodeType) -> bool:
    """True if a function imports a module outside of libraries, which may be either version's."""
    before: list[dis.Instruction] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            level = before[-2].argval if len(before) > 1 else None
            if level != 0 or not _is_library(str(instruction.argval).partition(".")[0]):
                return True
        before.append(instruction)
    return False


def _is_library(name: str) -> bool:
    module = sys.modules.get(name)
    return name in sys.stdlib_module_names if module is None else not is_users(vars(module))
