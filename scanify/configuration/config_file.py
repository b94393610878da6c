"""The settings as written: `[tool.scanify]` of a pyproject.toml, and the files it extends."""

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scanify.errors import ScanifyError

NAME = "pyproject.toml"
EXTEND = "extend"


@dataclass(frozen=True)
class Table:
    """The values of keys as parsed from TOML, and the file that each comes from. `file` is the first of these files."""

    file: Path
    values: Mapping[str, Any]
    origins: Mapping[str, Path]

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or `default` if it is not set."""
        return self.values.get(key, default)

    def where(self, key: str) -> str:
        """The beginning of a message about a key."""
        return _key_of(self.origins.get(key, self.file), key)


def read_table(file: Path, keys: Sequence[str], inside: tuple[Path, ...] = ()) -> Table:
    """Read the table of a file, overriding the values of the file that it extends.

    Raises ScanifyError, naming the file, if it cannot be read, has a key that is not in `keys`, or extends itself.
    """
    where, own = _table_of(file), _own(file)
    unknown = sorted(set(own) - set(keys))
    if unknown:
        names = ", ".join(_named(key, keys) for key in unknown)
        raise ScanifyError(f"{where}: unknown key {names}; the known ones are {', '.join(keys)}")
    base = own.get(EXTEND)
    if base is None:
        return Table(file, own, dict.fromkeys(own, file))
    if not isinstance(base, str) or not base:
        raise ScanifyError(f"{_key_of(file, EXTEND)}: expected the path of a TOML file, got {base!r}")
    path = file.parent / base
    if not path.is_file():
        raise ScanifyError(f"{_key_of(file, EXTEND)}: expected a file, got {base!r}, and there is none at {path}")
    chain = (*inside, file.resolve())
    if path.resolve() in chain:
        raise ScanifyError(f"{_key_of(file, EXTEND)}: {base!r} leads back to itself; take one of the two out")
    below = read_table(path, keys, chain)
    return Table(file, {**below.values, **own}, {**below.origins, **dict.fromkeys(own, file)})


def _own(file: Path) -> dict[str, Any]:
    """Return the settings of one file: the table of a pyproject.toml, or the top level of any other file."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScanifyError(f"{file}: not valid TOML: {error}") from None
    except OSError as error:
        raise ScanifyError(f"{file}: cannot be read: {error.strerror}") from None
    if file.name != NAME:
        return document
    tool = document.get("tool", {})
    table = tool.get("scanify", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise ScanifyError(f"{_table_of(file)}: expected a table, got {table!r}")
    return table


def _table_of(file: Path) -> str:
    return f"{file}: [tool.scanify]" if file.name == NAME else str(file)


def _key_of(file: Path, key: str) -> str:
    return f"{_table_of(file)}{' ' if file.name == NAME else ': '}{key}"


def _named(key: str, keys: Sequence[str]) -> str:
    """An unknown key, with the most similar known one."""
    close = difflib.get_close_matches(key, keys, 1)
    return f"{key!r} (did you mean {close[0]!r}?)" if close else repr(key)
