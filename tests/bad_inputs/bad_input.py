"""One bad input, and what must become of it."""

import os
import re
import shlex
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.command import MODEL

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120
# What is run in front of each: the command from this checkout, and, for root, modes of files that hold for root, too.
_PRELUDE = """\
scanify() {{ {strict} {python} -m scanify "$@"; }}
export -f scanify
"""
_STRICT = "setpriv --bounding-set -dac_override,-dac_read_search --inh-caps -dac_override,-dac_read_search"


@dataclass(frozen=True)
class BadInput:
    """`run` is given to bash in a folder with `files`, after `before`."""

    what: str
    run: str
    code: int | tuple[int, ...]  # the exit codes that are right
    says: str  # a pattern: something that the message must say
    files: dict[str, str | bytes] = field(default_factory=lambda: {"model.py": MODEL})
    before: str = ""
    changes: tuple[str, ...] = ()  # files that may be other or new afterwards; all else stays, byte for byte


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    wrong: str  # empty where all is well

    @property
    def first_line(self) -> str:
        """What a reader sees first of the message."""
        lines = [line for line in self.out.splitlines() if line.strip() and not line.startswith(("Usage:", "Try '"))]
        return lines[0] if lines else ""


def attempt(bad: BadInput, folder: Path) -> Outcome:
    """Run one bad input in the empty `folder`."""
    (folder / ".git").mkdir()
    for name, text in bad.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    # Not PYTHON* of this process: the command is tried as a user has it.
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "COLUMNS")}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "JAX_PLATFORMS": "cpu"}
    strict = _STRICT if os.geteuid() == 0 else ""
    prelude = _PRELUDE.format(strict=strict, python=shlex.quote(sys.executable))
    if bad.before:
        subprocess.run(["bash", "-ec", bad.before], cwd=folder, check=True)
    before = contents(folder)
    try:
        done = subprocess.run(
            ["bash", "-c", prelude + bad.run],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        return Outcome(-1, (expired.stdout or b"").decode(errors="replace"), f"it did not end within {SECONDS} s")
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=False, capture_output=True)
    out = done.stdout.decode(errors="replace")
    return Outcome(done.returncode, out, _wrong(bad, done.returncode, out, before, contents(folder)))


def _wrong(bad: BadInput, code: int, out: str, before: dict[str, object], after: dict[str, object]) -> str:
    codes = bad.code if isinstance(bad.code, tuple) else (bad.code,)
    if "Traceback" in out or "Fatal Python error" in out or "this is a bug" in out.lower():
        return "a traceback"
    if code not in codes:
        return f"exit code {code} in place of {' or '.join(map(str, codes))}"
    if not re.search(bad.says, out):
        return f"the message does not say {bad.says!r}"
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    if other := sorted(changed - set(bad.changes)):
        return f"changed: {', '.join(other)}"
    return ""


def contents(folder: Path) -> dict[str, object]:
    """What lies in a folder, but for kept results: files as bytes, links as where they lead, else what kind it is."""
    found: dict[str, object] = {}
    for parent, folders, files in os.walk(os.fsencode(folder)):
        folders[:] = [name for name in folders if name != b".scanify_cache"]
        for name in files + folders:
            path = os.path.join(parent, name)  # noqa: PTH118  (bytes)
            mode = os.lstat(path).st_mode
            key = os.fsdecode(os.path.relpath(path, os.fsencode(folder)))
            if stat.S_ISLNK(mode):
                found[key] = os.readlink(path)  # noqa: PTH115
            elif stat.S_ISREG(mode):
                with open(path, "rb") as file:  # noqa: PTH123
                    found[key] = file.read()
            else:
                found[key] = stat.S_IFMT(mode)
    return found
