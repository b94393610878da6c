"""Where objects stand in what a call is given and returns: whoever appends to a list finds it wherever it stands."""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from scanify.verify.leaves.correspond import one_level
from scanify.verify.objects.modules import is_users
from scanify.verify.objects.parts import kind_in_words, may_be_written, parts
from scanify.verify.objects.states import behind, state
from scanify.verify.objects.statics import Code
from scanify.verify.values.arrays import is_traced


def not_understood(roots: Mapping[str, Any]) -> dict[str, str]:
    """The objects in `roots` whose contents are not understood, in words, by their place."""
    return {where: kind_in_words(held) for where, held, understood in _walked(roots) if not understood}


def shared(roots: Mapping[str, Any], known: Mapping[int, str]) -> dict[str, str]:
    """The place where an object stood first, by each other place in `roots`, if it may be written to.

    `known` are places of other objects, by their `id`.
    """
    first, found = dict(known), dict[str, str]()
    for where, held, _ in _walked(roots, again=True):
        if may_be_written(held) and first.setdefault(id(held), where) != where:
            found[where] = first[id(held)]
    return found


def _walked(roots: Mapping[str, Any], *, again: bool = False) -> Iterator[tuple[str, Any, bool]]:
    """Each object in `roots` with its place, and True if its type is in the table of parts.

    Classes, modules and the functions of libraries are not opened. With `again` an object comes at each of its places.
    """
    seen: dict[int, Any] = {}
    waiting = list(roots.items())[::-1]
    while waiting:
        where, held = waiting.pop()
        if is_traced(held) or isinstance(held, type | types.ModuleType | Code) or _is_librarys_function(held):
            continue
        if id(held) in seen:
            if again:
                yield where, held, True
            continue
        seen[id(held)] = held
        found = parts(held)
        node = one_level(held) if found is None else None
        yield where, held, found is not None or node is not None or _is_watched(held)
        inner = found.inner if found is not None else {str(key): child for key, child in node[0]} if node else {}
        elements = {f"{{{at}}}": each for at, each in enumerate(held)} if isinstance(held, set | frozenset) else {}
        waiting += [(f"{where}{name}", each) for name, each in reversed({**inner, **elements}.items())]


def _is_watched(value: Any) -> bool:
    """True if what happens to an object is seen though it is not opened here, or if nothing can happen to it."""
    return type(value) is object or isinstance(value, weakref.ref) or state(value) is not None or bool(behind(value))


def _is_librarys_function(value: Any) -> bool:
    if isinstance(value, types.BuiltinMethodType):
        return isinstance(value.__self__, types.ModuleType | types.NoneType)
    if not callable(value) or isinstance(value, types.MethodType):
        return False
    module = sys.modules.get(str(getattr(value, "__module__", None)))
    return module is not None and not is_users(vars(module))
