"""The table `[tool.scanify]` of the nearest pyproject.toml."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from scanify.analysis.plan import Plan, Refusal, Remark
from scanify.configuration.chosen import ALL, Chosen, codes
from scanify.configuration.config_file import EXTEND, NAME, Table, read_table
from scanify.errors import ScanifyError
from scanify.source.root import project_root
from scanify.verify.children.limits import parse_memory

STACKS = ("init", "call")
# The targets, by the names of `scanify.emit.targets`; the first is the default.
TARGETS = ("scanify", "haliax", "lax", "nnx", "linen")
# The targets for frameworks other than Equinox, by name (`scanify.analysis.plan.Framework`).
OF_FRAMEWORKS = {"Flax NNX": ("nnx",), "Flax Linen": ("linen",)}
# The remat policies by their names on the command line; "none" is a scan without rematerialisation.
REMATS = ("none", "full", "nested", "offload", "save_all", "dots")
# Other names of ScanCheckpointPolicy for the same policies: False and True.
SYNONYMS = {"false": "none", "true": "full"}
# Chooses a policy by the measurements of the cases (`scanify.verify.measure.choose`).
AUTO = "auto"
KEYS = (
    "cases",
    "exclude",
    EXTEND,
    "ignore",
    "memory-budget",
    "per-file-ignores",
    "remat",
    "select",
    "stack",
    "target",
    "target-version",
)


@dataclass(frozen=True)
class Config:
    """The settings of a project.

    `root` is the folder that paths are relative to; `cases` are pairs `(name, FILE:FUNCTION)`, and `files` pairs
    `(name, FILE)` for cases that name their target file. `commands` are cases recorded from a run, `(name, COMMAND)`.
    `target_version` is the release to write for, as a requirement. `memory_budget` is the limit in bytes on the device
    memory of the gradient if `remat` is AUTO.
    """

    root: Path
    remat: str | None = None
    stack: str | None = None
    exclude: tuple[str, ...] = ()
    cases: tuple[tuple[str, str], ...] = ()
    memory_budget: int | None = None
    files: tuple[tuple[str, str], ...] = ()
    target: str = TARGETS[0]
    target_version: str | None = None
    chosen: Chosen = field(default_factory=Chosen)
    commands: tuple[tuple[str, str], ...] = ()

    def version_of(self, target: str) -> str | None:
        """Return the configured release for a target; None unless it is the configured target."""
        return self.target_version if target == self.target else None

    def wants(self, found: Plan | Refusal | Remark) -> bool:
        """True if the rule of a loop or remark is chosen for its file."""
        return self.chosen.takes(found.rule, found.place.path, self.root)


def load_config(paths: Iterable[Path]) -> Config:
    """Return the configuration of the project that contains `paths`, from the pyproject.toml in its top folder.

    Raises ScanifyError with file and key if the table is invalid.
    """
    root = project_root(paths)
    file = root / NAME
    return parse_config(file) if file.is_file() else Config(root)


def parse_config(file: Path) -> Config:
    """Parse `[tool.scanify]` of `file`, and the file it extends."""
    table = read_table(file, KEYS)
    cases = _cases(table)
    return Config(
        root=file.parent,
        remat=_choice(_policy(table.get("remat")), (*REMATS, AUTO), table.where("remat")),
        stack=_choice(table.get("stack"), STACKS, table.where("stack")),
        target=_choice(table.get("target"), TARGETS, table.where("target")) or TARGETS[0],
        target_version=_text(table.get("target-version"), table.where("target-version")),
        exclude=_patterns(table),
        cases=tuple((name, case) for name, case, _ in cases if case is not None),
        commands=tuple((name, str(given["run"])) for name, given in _runs(table)),
        files=tuple((name, file) for name, _, file in cases if file is not None),
        memory_budget=_memory(table),
        chosen=_chosen(table),
    )


def _choice(value: object, choices: tuple[str, ...], where: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in choices:
        raise ScanifyError(f"{where}: expected one of {', '.join(choices)}, got {value!r}")
    return value


def _text(value: object, where: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ScanifyError(f"{where}: expected a text, got {value!r}")
    return value


def _policy(value: object) -> object:
    """Map `remat = false` in TOML to the policy that `gradient_checkpointing=False` means in Python."""
    return SYNONYMS.get(str(value).lower(), value)


def _memory(table: Table) -> int | None:
    value = table.get("memory-budget")
    if value is None:
        return None
    try:
        return parse_memory(value if isinstance(value, str) else "")
    except ScanifyError:
        wanted = "a text with a number and a unit, such as '8GiB'"
        raise ScanifyError(f"{table.where('memory-budget')}: expected {wanted}, got {value!r}") from None


def _patterns(table: Table) -> tuple[str, ...]:
    value = table.get("exclude", [])
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise ScanifyError(f"{table.where('exclude')}: expected patterns such as ['tests', 'src/old/*'], got {value!r}")
    return tuple(value)


def _chosen(table: Table) -> Chosen:
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        wanted = "a table such as {'tests' = ['SCN1']}"
        raise ScanifyError(f"{table.where('per-file-ignores')}: expected {wanted}, got {per_file!r}")
    return Chosen(
        _codes(table.get("select", [ALL]), table.where("select")),
        _codes(table.get("ignore", []), table.where("ignore")),
        tuple((pattern, _codes(each, table.where("per-file-ignores"))) for pattern, each in per_file.items()),
    )


def _codes(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ScanifyError(f"{where}: expected rules such as ['SCN101', 'SCN2'], got {value!r}")
    return codes(value, where)


def _cases(table: Table) -> list[tuple[str, str | None, str | None]]:
    """Return the name of each case, its FILE:FUNCTION (None for a command), and its target file."""
    value = table.get("cases", {})
    found: list[tuple[str, str | None, str | None]] = []
    for name, given in value.items() if isinstance(value, dict) else ():
        if isinstance(given, dict) and set(given) == {"run"} and isinstance(given["run"], str):
            found.append((name, None, None))
            continue
        case, file = (given.get("case"), given.get("file")) if isinstance(given, dict) else (given, None)
        known = not isinstance(given, dict) or set(given) <= {"case", "file"}
        if not known or not isinstance(case, str) or ":" not in case or not isinstance(file, str | None):
            break
        found.append((name, case, file))
    if not isinstance(value, dict) or len(found) < len(value):
        wanted = (
            "a table of name = 'FILE:FUNCTION', name = {case = 'FILE:FUNCTION', file = 'MODEL.py'} or "
            "name = {run = 'COMMAND'}"
        )
        raise ScanifyError(f"{table.where('cases')}: expected {wanted}, got {value!r}")
    return found


def _runs(table: Table) -> list[tuple[str, dict[str, object]]]:
    return [(name, each) for name, each in table.get("cases", {}).items() if isinstance(each, dict) and "run" in each]
