"""Settings that each version makes for its whole process: of jax, environment variables, the working directory.

Both versions run in one process, where a setting of one affects the other. Alone, the other would compute something
else: in float32, for example, if the first one enables float64 when it is imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import jax

from scanify.verify.cache.audit import hearing

_VersionOf = Callable[[FrameType], object]


@dataclass(eq=False)
class Settings:
    """The last value that each version set, by name; None for a variable that it removed. `earlier` are the values
    before any version set one.

    `version_of` returns the version whose code runs in a frame. Settings by a library on import count for neither: it
    is imported once, by whichever version comes first.
    """

    version_of: _VersionOf
    made: dict[object, dict[str, object]] = field(default_factory=dict)
    earlier: dict[str, object] = field(default_factory=dict)

    def note(self, name: str, value: object, earlier: object) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            version = self.version_of(frame)
            if version is not None:
                self.made.setdefault(version, {})[name] = value
                self.earlier.setdefault(name, earlier)
                return
            if frame.f_code.co_name == "<module>":
                return
            frame = frame.f_back

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.chdir":
            self.note(_DIRECTORY, str(Path(os.fsdecode(arguments[0])).absolute()), str(Path.cwd()))
        elif event in ("os.putenv", "os.unsetenv"):
            name, value = os.fsdecode(arguments[0]), os.fsdecode(arguments[1]) if len(arguments) > 1 else None
            self.note(f"${name}", value, os.environ.get(name))

    def difference(self, original: object, rewritten: object) -> str | None:
        """Describe how the settings of the two versions differ; None if they do not."""
        sides = {
            "in the original": self.made.get(original, {}),
            "in the rewritten version": self.made.get(rewritten, {}),
        }
        one, other = sides.values()
        odd = sorted(name for name in {*one, *other} if one.get(name, _UNSET) != other.get(name, _UNSET))
        if not odd:
            return None
        said = (
            f"to {made[odd[0]]!r} {where}" if odd[0] in made else f"not at all {where}" for where, made in sides.items()
        )
        return f"{odd[0]} is set {' and '.join(said)}"

    def undo(self, version: object) -> None:
        """Restore the values from before the version's settings, for code that reads them before it sets them."""
        for name in self.made.get(version, ()):
            _put(name, self.earlier[name])


_UNSET = object()
_DIRECTORY = "the working directory"


def _put(name: str, value: Any) -> None:
    if name == _DIRECTORY:
        os.chdir(value)
    elif not name.startswith("$"):
        jax.config.update(name, value)
    elif value is None:
        os.environ.pop(name[1:], None)
    else:
        os.environ[name[1:]] = value


@contextmanager
def recorded(settings: Settings) -> Iterator[None]:
    """Record settings in `settings` while the context is open."""
    kind = type(jax.config)
    update = kind.update

    def noted(self: Any, name: str, value: object) -> None:
        settings.note(name, value, self.values.get(name))
        update(self, name, value)

    kind.update = noted
    try:
        with hearing(settings.hear):
            yield
    finally:
        kind.update = update
