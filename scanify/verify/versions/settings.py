"""What each version sets for its whole process: the settings of jax, variables of the environment, the directory.

Both versions run in one process, where what one of them sets holds for the other, too. Alone, the other would compute
something else: in float32, say, where the first one has turned on float64 when it was imported.
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
    """By version, and by name, the value that its code set last; None for a variable that it took away. `earlier` are
    the values before any version set one.

    `version_of` says which version's code runs in a frame. What a library sets when it is imported counts for neither:
    it is imported once, by whichever version comes first.
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
        """How what the two versions set differs, in words; None where it does not."""
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
        """Put back what was there before the version set it: what looks before it sets should find the same again."""
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
    """Inside, `settings` is told what is set."""
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
