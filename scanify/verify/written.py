"""What a call writes to the objects that it is given: a cache whose elements it replaces is another result.

A traced call has its own copies of the lists and dicts of the model and the arguments, so what it writes to them is
seen nowhere else.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax


class Written(NamedTuple):
    """What a call returned, and what it wrote: the contents of each container that it changed, by its place."""

    result: Any
    written: dict[str, Any]


_Contents = list[Any] | dict[Any, Any]


class Watch:
    """Looks at the containers of a model and the arguments of its call, to say later what was written to them."""

    def __init__(self, model: Any, args: Any, kwargs: Any) -> None:
        parts = {"model": model, "args": args, "kwargs": kwargs}
        self._seen = [found for name, part in parts.items() for found in _containers(part, name)]

    def result(self, returned: Any) -> Any:
        """What the call returned; `Written` where it wrote, too."""
        found = {place: now for place, container, old in self._seen if (now := _changed(container, old)) is not None}
        return Written(returned, found) if found else returned


def differently_written(before: Any, after: Any) -> str | None:
    """How what two calls wrote to differs, in words; None where it does not. What they wrote there is not compared."""
    places = [set(result.written) if isinstance(result, Written) else set() for result in (before, after)]
    odd = sorted(places[0] ^ places[1])
    if not odd:
        return None
    names = ["the original", "the rewritten version"]
    writes, other = names if odd[0] in places[0] else names[::-1]
    return f"{writes} writes to {odd[0]}, which it is given, and {other} does not"


def _containers(value: Any, place: str) -> Iterator[tuple[str, Any, _Contents]]:
    if isinstance(value, eqx.nn.State):  # it forgets what it held when it is written to, and the new one is returned
        return
    contents = _contents(value)
    if contents is not None:
        yield place, value, contents
    node = None if value is None else jax.tree_util.default_registry.flatten_one_level_with_keys(value)
    for key, child in () if node is None else node[0]:
        yield from _containers(child, f"{place}{key}")


def _contents(value: Any) -> _Contents | None:
    if isinstance(value, list):
        return list(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, type | types.FunctionType | types.ModuleType | jax.Array | functools.partial | eqx.Module):
        return None
    kept = getattr(value, "__dict__", None)
    return dict(kept) if isinstance(kept, dict) else None


def _changed(container: Any, old: _Contents) -> _Contents | None:
    """What the container holds now, of an object only what it did hold before; None where that is the same."""
    now = _contents(container)
    if isinstance(now, dict) and isinstance(old, dict):
        if not isinstance(container, dict):
            now = {name: value for name, value in now.items() if name in old}
        same = list(now) == list(old) and all(now[key] is old[key] for key in old)
    else:
        assert isinstance(now, list)
        same = len(now) == len(old) and all(a is b for a, b in zip(now, old, strict=True))
    return None if same else now
