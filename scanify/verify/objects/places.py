"""Find the places of objects in arguments and results: an append to a list is visible at each of its places."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx
import numpy as np

from scanify.verify.leaves.correspond import one_level
from scanify.verify.objects.modules import is_users
from scanify.verify.objects.mutable import unwrapped
from scanify.verify.objects.parts import kind_in_words, may_be_written, parts
from scanify.verify.objects.states import behind, state
from scanify.verify.objects.statics import Code
from scanify.verify.values.arrays import is_traced


def not_understood(roots: Mapping[str, Any]) -> dict[str, str]:
    """Describe the objects in `roots` whose contents are not understood, by their place."""
    return {where: kind_in_words(held) for where, held, understood in _walked(roots) if not understood}


def shared(roots: Mapping[str, Any], known: Mapping[int, str]) -> dict[str, str]:
    """Return the first place of an object, by each other place in `roots`, if a part of it is mutable.

    `known` are places of other objects, by the `id` of their memory.
    """
    first, found = dict(known), dict[str, str]()
    for where, held, _ in _walked(roots, again=True):
        before = first.setdefault(id(memory(held)), where)
        if before != where and any(may_be_written(each) for _, each, _ in _walked({"": held})):
            found[where] = before
    return found


def memory(value: Any) -> Any:
    """Return the object that owns the elements of `value`: a view of a NumPy array shares them with another."""
    while isinstance(value, np.ndarray | memoryview):
        owner = value.base if isinstance(value, np.ndarray) else value.obj
        if owner is None:
            return value
        value = owner
    return value


def _walked(roots: Mapping[str, Any], *, again: bool = False) -> Iterator[tuple[str, Any, bool]]:
    """Yield each object in `roots` with its place, and True if its type is in the table of parts.

    Classes, modules and the functions of libraries are not opened. With `again`, an object is repeated at each place.
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
    """True if changes of an object are detected although it is not opened here, or if it is immutable."""
    return type(value) is object or isinstance(value, weakref.ref) or state(value) is not None or bool(behind(value))


def _is_librarys_function(value: Any) -> bool:
    """True for a function that a library defines, also inside a wrapper like `jax.jit`."""
    if isinstance(value, types.BuiltinMethodType):
        return isinstance(value.__self__, types.ModuleType | types.NoneType)
    if isinstance(value, functools.partial | types.MethodType | eqx.Module):
        return False
    function = unwrapped(value)
    return function is not None and not is_users(function.__globals__)
