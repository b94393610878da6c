"""One trial: a command of a tool in a folder of its own, and what must be seen of it."""

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Done:
    """How a command ended, what it printed, and the files of its folder before and after it."""

    code: int
    out: str
    err: str
    before: Mapping[str, str]
    after: Mapping[str, str]

    @property
    def said(self) -> str:
        return self.out + self.err

    @property
    def changed(self) -> bool:
        """Whether a Python file is another one."""
        return any(self.after.get(name) != text for name, text in self.before.items() if name.endswith(".py"))


@dataclass(frozen=True)
class Trial:
    """`command` begins with the tool. `files` lie in the folder; `given` is its standard input."""

    command: str
    holds: Callable[[Done], bool]
    files: Mapping[str, str] = field(default_factory=dict)
    given: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, folder: Path, tools: Mapping[str, list[str]]) -> Done:
        (folder / ".git").mkdir()
        for name, text in self.files.items():
            (folder / name).write_text(text)
        tool, *arguments = self.command.split()
        before = _files(folder)
        done = subprocess.run(
            [*tools[tool], *arguments],
            cwd=folder,
            input=self.given,
            capture_output=True,
            text=True,
            env={**os.environ, "BLACK_CACHE_DIR": str(folder / "cache"), **self.environment},
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr, before, _files(folder))


def _files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file()
    }
