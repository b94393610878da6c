"""Record the writes of a call to its arguments, as a part of its result: filling a cache may be its only purpose.

All writes are undone after a call, because it is traced several times and each trace must start the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from scanify.verify.objects.mutable import Contents, containers, contents, put_back
from scanify.verify.objects.parts import Opaque
from scanify.verify.objects.places import memory, not_understood, shared
from scanify.verify.objects.process_state import ProcessState


class Written(NamedTuple):
    """The result of a call and its writes: the contents of each container that it changed, by its place.

    `shared` maps every other place of an object in the result and the writes to its first place.
    """

    result: Any
    written: dict[str, Any]
    shared: dict[str, str]


class Watch:
    """Keeps the contents of all containers in a model and the arguments of its call, to find the writes of a call."""

    def __init__(self, model: Any, args: Any, kwargs: Any) -> None:
        self._seen = containers({"model": model, "args": args, "kwargs": kwargs})
        self._opaque = not_understood({"args": args, "kwargs": kwargs})
        self._process = ProcessState()

    def result(self, returned: Any) -> Any:
        """Return the result of the call, as a `Written` if the call wrote or returned shared objects."""
        found: dict[str, Any] = dict(self._process.changed())
        for place, container, old in self._seen:
            now = _changed(container, old)
            if now is not None:
                found.setdefault(place, now)
        found |= {place: Opaque(f"{text}, which the call may write to,") for place, text in self._opaque.items()}
        # A list of layers and a stack have an object at different places.
        named = [("model" if place.startswith("model") else place, held) for place, held, _ in self._seen]
        places = {id(memory(held)): place for place, held in reversed(named)}
        both = shared({"output": returned, **found}, places)
        written, both = (dict(sorted(each.items())) for each in (found, both))
        return Written(returned, written, both) if written or both else returned

    def undo(self) -> None:
        """Restore the contents from before the call."""
        self._process.put_back()
        for _, container, old in self._seen:
            if _changed(container, old) is not None:
                put_back(container, old)


def differently_written(before: Any, after: Any) -> str | None:
    """Describe how the places differ that two calls wrote to or share; None if they do not. Contents may differ."""
    written = [result if isinstance(result, Written) else Written(result, {}, {}) for result in (before, after)]
    places = [set(each.written) for each in written]
    odd = sorted(places[0] ^ places[1])
    if not odd:
        return _differently_shared(*(each.shared for each in written))
    names = ["the original", "the rewritten version"]
    writes, other = names if odd[0] in places[0] else names[::-1]
    given = ", which it is given" if odd[0].startswith(("model", "args", "kwargs")) else ""
    return f"{writes} writes to {odd[0]}{given}, and {other} does not"


def _differently_shared(before: dict[str, str], after: dict[str, str]) -> str | None:
    odd = sorted(before.items() ^ after.items())
    if not odd:
        return None
    names = ["the original", "the rewritten version"]
    one, other = names if odd[0] in before.items() else names[::-1]
    return f"in {one} {odd[0][0]} is the same object as {odd[0][1]}, and in {other} it is not"


def _changed(container: Any, old: Contents) -> Any:
    """Return the new contents of a container, as a pytree; None if they are the same as before.

    For an object these are the attributes that were added, replaced or deleted.
    """
    now = contents(container)
    if isinstance(now, dict) and isinstance(old, dict):
        if list(now) == list(old) and all(_same(now[key], old[key]) for key in old):
            return None
        if isinstance(container, dict):
            return _as_tree(now)
        other = {name: value for name, value in now.items() if name not in old or not _same(value, old[name])}
        other |= dict.fromkeys((f"{name} (gone)" for name in old.keys() - now.keys()), True)
        return dict(sorted(other.items())) or None
    if isinstance(now, list) and isinstance(old, list):
        same = len(now) == len(old) and all(a is b for a, b in zip(now, old, strict=True))
        return None if same else now
    if now == old:
        return None
    return container.copy() if isinstance(container, bytearray) else now


def _as_tree(kept: dict[Any, Any]) -> Any:
    """Return a dict as a pytree with sorted keys, or as pairs if they cannot be sorted, as in a registry of classes."""
    try:
        sorted(kept)
    except TypeError:
        return list(kept.items())
    return kept


def _same(now: Any, old: Any) -> bool:
    """True for the same object; a state is serialised on each read, so it is compared by value."""
    return now is old or (type(now) is bytes and now == old)
