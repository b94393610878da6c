"""The packages, their commands and the loops that ought to be rewritten, from `packages.toml`."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("packages.toml")


@dataclass(frozen=True)
class Target:
    """A file of a package, the lines of its loops that ought to be rewritten, and a command that calls its model."""

    file: str
    loops: tuple[int, ...]
    run: str


@dataclass(frozen=True)
class Package:
    """A public package: a source distribution of `version` on PyPI, or a commit of a repository at `url`.

    `root` is the folder of the sources that goes on the path. `folder` is the name of the unpacked sources, `options` are
    further options of `scanify verify`.
    """

    name: str
    version: str
    targets: tuple[Target, ...]
    root: str = "."
    url: str | None = None
    options: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.version}"


def packages() -> list[Package]:
    """Return all packages of the table."""
    found = tomllib.loads(FILE.read_text())
    return [_package(name, row) for name, row in found.items()]


def _package(name: str, row: dict) -> Package:
    targets = tuple(
        Target(file, tuple(loops), row["run"] if isinstance(row["run"], str) else row["run"][file])
        for file, loops in row["loops"].items()
    )
    return Package(name, row["version"], targets, row.get("root", "."), row.get("url"), tuple(row.get("options", ())))
