"""`[tool.scanify]` of the nearest pyproject.toml."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scanify.analysis.plan import Plan, Refusal
from scanify.chosen import ALL, Chosen, codes
from scanify.errors import ScanifyError
from scanify.source.root import project_root

STACKS = ("init", "call")
# What loops become, by the names of `scanify.emit.targets`: the first where nothing is said.
TARGETS = ("scanify", "haliax", "lax")
# The remat policies by their names on the command line: "none" is a scan without rematerialisation.
REMATS = ("none", "full", "nested", "offload", "save_all", "dots")
# The other names that ScanCheckpointPolicy has for the same: False and True.
SYNONYMS = {"false": "none", "true": "full"}
# In place of a policy: that which `scanify.verify.measure.choose` chooses by what the cases measure.
AUTO = "auto"
KEYS = ("cases", "exclude", "ignore", "memory-budget", "per-file-ignores", "remat", "select", "stack", "target")


@dataclass(frozen=True)
class Config:
    """What a project sets. `root` is the folder that its paths are relative to; `cases` are `(name, FILE:FUNCTION)`,
    and `files` the files that they are for, `(name, FILE)`, of those that say so.

    `memory_budget` are the bytes of device memory that the gradient may need where `remat` is AUTO.
    """

    root: Path
    remat: str | None = None
    stack: str | None = None
    exclude: tuple[str, ...] = ()
    cases: tuple[tuple[str, str], ...] = ()
    memory_budget: int | None = None
    files: tuple[tuple[str, str], ...] = ()
    target: str = TARGETS[0]
    chosen: Chosen = field(default_factory=Chosen)

    def wants(self, loop: Plan | Refusal) -> bool:
        """Whether the rule of a loop is chosen for its file."""
        return self.chosen.takes(loop.rule, loop.place.path, self.root)


def load_config(paths: Iterable[Path]) -> Config:
    """The configuration of the project that `paths` lie in: that of the pyproject.toml in its top folder.

    Raises ScanifyError, naming file and key, where the table is not as expected.
    """
    root = project_root(paths)
    file = root / "pyproject.toml"
    return parse_config(file) if file.is_file() else Config(root)


def parse_config(file: Path) -> Config:
    """Read `[tool.scanify]` of `file`."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScanifyError(f"{file}: not valid TOML: {error}") from None
    except OSError as error:
        raise ScanifyError(f"{file}: cannot be read: {error.strerror}") from None
    tool = document.get("tool", {})
    table = tool.get("scanify", {}) if isinstance(tool, dict) else {}
    where = f"{file}: [tool.scanify]"
    if not isinstance(table, dict):
        raise ScanifyError(f"{where}: expected a table, got {table!r}")
    unknown = sorted(set(table) - set(KEYS))
    if unknown:
        names = ", ".join(map(_named, unknown))
        raise ScanifyError(f"{where}: unknown key {names}; the known ones are {', '.join(KEYS)}")
    return Config(
        root=file.parent,
        remat=_choice(_policy(table.get("remat")), "remat", (*REMATS, AUTO), where),
        stack=_choice(table.get("stack"), "stack", STACKS, where),
        target=_choice(table.get("target"), "target", TARGETS, where) or TARGETS[0],
        exclude=_patterns(table, where),
        cases=tuple((name, case) for name, case, _ in _cases(table, where)),
        files=tuple((name, file) for name, _, file in _cases(table, where) if file is not None),
        memory_budget=_memory(table, where),
        chosen=_chosen(table, where),
    )


def _named(key: str) -> str:
    """A key that there is not, with the nearest that there is."""
    close = difflib.get_close_matches(key, KEYS, 1)
    return f"{key!r} (did you mean {close[0]!r}?)" if close else repr(key)


def _choice(value: object, key: str, choices: tuple[str, ...], where: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in choices:
        raise ScanifyError(f"{where} {key}: expected one of {', '.join(choices)}, got {value!r}")
    return value


def _policy(value: object) -> object:
    """`remat = false` in TOML means what `gradient_checkpointing=False` means in Python."""
    return SYNONYMS.get(str(value).lower(), value)


def _memory(table: Mapping[str, Any], where: str) -> int | None:
    value = table.get("memory-budget")
    if value is None:
        return None
    from scanify.verify.children.limits import parse_memory

    try:
        return parse_memory(value if isinstance(value, str) else "")
    except ScanifyError:
        wanted = "a text with a number and a unit, such as '8GiB'"
        raise ScanifyError(f"{where} memory-budget: expected {wanted}, got {value!r}") from None


def _patterns(table: Mapping[str, Any], where: str) -> tuple[str, ...]:
    value = table.get("exclude", [])
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise ScanifyError(f"{where} exclude: expected patterns such as ['tests', 'src/old/*'], got {value!r}")
    return tuple(value)


def _chosen(table: Mapping[str, Any], where: str) -> Chosen:
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        wanted = "a table such as {'tests' = ['SCN1']}"
        raise ScanifyError(f"{where} per-file-ignores: expected {wanted}, got {per_file!r}")
    return Chosen(
        _codes(table.get("select", [ALL]), f"{where} select"),
        _codes(table.get("ignore", []), f"{where} ignore"),
        tuple((pattern, _codes(each, f"{where} per-file-ignores")) for pattern, each in per_file.items()),
    )


def _codes(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ScanifyError(f"{where}: expected rules such as ['SCN101', 'SCN2'], got {value!r}")
    return codes(value, where)


def _cases(table: Mapping[str, Any], where: str) -> list[tuple[str, str, str | None]]:
    """The name of each case, its FILE:FUNCTION, and the file that it is for, where that is said."""
    value = table.get("cases", {})
    found = []
    for name, given in value.items() if isinstance(value, dict) else ():
        case, file = (given.get("case"), given.get("file")) if isinstance(given, dict) else (given, None)
        known = not isinstance(given, dict) or set(given) <= {"case", "file"}
        if not known or not isinstance(case, str) or ":" not in case or not isinstance(file, str | None):
            break
        found.append((name, case, file))
    if not isinstance(value, dict) or len(found) < len(value):
        wanted = "a table of name = 'FILE:FUNCTION' or name = {case = 'FILE:FUNCTION', file = 'MODEL.py'}"
        raise ScanifyError(f"{where} cases: expected {wanted}, got {value!r}")
    return found
