"""The command of `--run`: the Python program that it starts, and its arguments."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from scanify.errors import ScanifyError

_PYTHON = ("python", "python3", "py")
_IGNORED = ("-u", "-B")  # the child process writes no bytecode and buffers no output anyway
_EXPECTED = "expected `python FILE ...`, `python -m MODULE ...`, `pytest ...` or a console script of this environment"


RECORDING = "SCANIFY_RECORDING"  # set in a process that runs a command: `pytest --scanify` has no cases there


@dataclass(frozen=True)
class Command:
    """A Python program: a file (`kind` "file", an absolute path), a module ("module") or a console script ("script").

    `target` is the path, the dotted name or the name of the script; `folder` the directory that it runs in; `text` the
    command as written by its user.
    """

    text: str
    kind: str
    target: str
    arguments: tuple[str, ...]
    folder: Path


def parse_command(text: str, folder: Path) -> Command:
    """Return the program that a command starts in `folder`.

    Raises ScanifyError if it is not a Python program, or if its file or its script does not exist.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ScanifyError(f"--run {text!r}: {error}") from None
    if not words:
        raise ScanifyError(f"--run is empty; {_EXPECTED}")
    first, *rest = words
    if Path(first).name.rstrip("0123456789.") in _PYTHON:
        return _python(text, rest, folder)
    if first == "pytest":
        return Command(text, "module", "pytest", tuple(rest), folder)
    if first.endswith(".py"):
        raise ScanifyError(f"--run {text!r}: write `python {text}`; {_EXPECTED}")
    if not entry_points(group="console_scripts", name=first):
        raise ScanifyError(f"--run {text!r}: {first!r} is no console script of this environment; {_EXPECTED}")
    return Command(text, "script", first, tuple(rest), folder)


def program_files(command: Command) -> list[Path]:
    """Return the files named by a command: its script or module, and the tests passed to pytest."""
    folder = command.folder
    if command.kind == "file":
        return [Path(command.target)]
    if command.target != "pytest":
        parts = command.target.split(".")
        places = [base.joinpath(*parts) for base in (folder, folder / "src")]
        return [
            path for place in places for path in (place.with_suffix(".py"), place / "__main__.py") if path.is_file()
        ]
    given = [folder / argument.partition("::")[0] for argument in command.arguments if not argument.startswith("-")]
    tests = [path for path in given if path.exists()] or [folder / "tests"]
    found = [file for path in tests for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    above = {
        parent / "conftest.py" for path in tests for parent in (path, *path.parents) if parent.is_relative_to(folder)
    }
    return [path for path in (*found, *sorted(above)) if path.suffix == ".py" and path.is_file()]


def _python(text: str, words: list[str], folder: Path) -> Command:
    while words and words[0] in _IGNORED:
        words = words[1:]
    match words:
        case ["-m", module, *rest]:
            return Command(text, "module", module, tuple(rest), folder)
        case [file, *rest] if not file.startswith("-"):
            path = folder / file
            if not path.is_file():
                raise ScanifyError(f"--run {text!r}: there is no file {path}")
            return Command(text, "file", str(path.absolute()), tuple(rest), folder)
    raise ScanifyError(f"--run {text!r}: {_EXPECTED}; options of Python itself are not supported")
