"""Detect whether attributes of a module were read; otherwise the case takes its model from elsewhere."""

from types import ModuleType

_TAKEN: set[int] = set()


class _Watched(ModuleType):
    """A module that records that an attribute was read. Its own functions read its names without this."""

    def __getattribute__(self, name: str) -> object:
        if not name.startswith("__"):
            _TAKEN.add(id(self))
        return super().__getattribute__(name)


def watch(module: ModuleType) -> None:
    """Watch a module for `taken_from`. A module of a custom class is unchanged, and counts as read."""
    _TAKEN.discard(id(module))
    if type(module) is ModuleType:
        module.__class__ = _Watched


def taken_from(module: ModuleType) -> bool:
    """Return True if the module was read since it is watched."""
    return id(module) in _TAKEN or not isinstance(module, _Watched)
