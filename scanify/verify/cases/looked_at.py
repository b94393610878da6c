"""Was anything taken from a module? A case that takes its model from elsewhere compares a version with itself."""

from types import ModuleType

_TAKEN: set[int] = set()


class _Watched(ModuleType):
    """A module that remembers that something was taken from it. Its own functions read its names without asking it."""

    def __getattribute__(self, name: str) -> object:
        if not name.startswith("__"):
            _TAKEN.add(id(self))
        return super().__getattribute__(name)


def watch(module: ModuleType) -> None:
    """From now on, `taken_from` tells. A module of a class of its own stays as it is, and counts as taken from."""
    _TAKEN.discard(id(module))
    if type(module) is ModuleType:
        module.__class__ = _Watched


def taken_from(module: ModuleType) -> bool:
    """Whether something was taken from the module since it is watched."""
    return id(module) in _TAKEN or not isinstance(module, _Watched)
