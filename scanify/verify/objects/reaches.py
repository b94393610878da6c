"""Does code read what it does not name? Then its text, and what it finds under its names, do not say what it does."""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterator

from scanify.verify.objects.modules import codes, is_users

# What gives all names of a place, or runs text, or looks at what called.
_ALL_NAMES = frozenset({"globals", "locals", "vars", "dir", "eval", "exec", "__import__", "import_module"})
_PLACES = frozenset({"__globals__", "__builtins__", "f_globals", "f_locals", "f_back", "_getframe", "currentframe"})
_OF_PROCESS = frozenset({"get_objects", "get_referrers", "get_referents", "__subclasses__"})
_EVERYTHING = _ALL_NAMES | _PLACES | _OF_PROCESS
_WITH_OWNER = frozenset({("sys", "modules"), ("inspect", "stack"), ("importlib", "util")})
# What takes an attribute by a text: of an object that is compared as a whole, or of a module, of which it is not known.
_BY_TEXT = frozenset({"getattr", "attrgetter", "methodcaller", "hasattr", "__dict__", "__getattribute__"})


def names(code: types.CodeType) -> Iterator[str]:
    """The global names and the attributes that code and the functions in it name."""
    for each in codes(code):
        yield from each.co_names


def reads_unnamed(code: types.CodeType) -> bool:
    """Whether code may read anything of the process, or a module of the user's that it imports itself."""
    named = set(names(code))
    owned = any(owner in named and name in named for owner, name in _WITH_OWNER)
    return owned or not named.isdisjoint(_EVERYTHING) or any(map(_imports_users, codes(code)))


def takes_by_text(named: frozenset[str]) -> bool:
    """Whether code with these names may take an attribute that it does not name."""
    return not named.isdisjoint(_BY_TEXT)


def _imports_users(code: types.CodeType) -> bool:
    """Whether one of the imports in a function is not that of a library: which module it finds is not known here."""
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
