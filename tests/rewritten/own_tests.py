"""A package's own tests, run on one version of it: which pass, which do not."""

import contextlib
import re
import subprocess
from pathlib import Path

from tests.rewritten.imports import path_to
from tests.rewritten.packages import Package

_LINE = re.compile(r"^(\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b")


def outcomes(package: Package, python: Path, folder: Path, seconds: int) -> dict[str, str]:
    """Test id to its outcome, as far as pytest came in `seconds`."""
    command = [str(python), "-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", "--color=no"]
    command += ["-o", "addopts=", "--continue-on-collection-errors"]
    command += ["-k", package.leave_out] if package.leave_out else []
    # What was printed until the time is over counts.
    with (folder / "pytest.log").open("w") as log, contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [*command, *package.tests],
            cwd=folder,
            env=path_to(package, folder),
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    lines = (folder / "pytest.log").read_text(errors="replace").splitlines()
    return {match[1]: match[2] for line in lines if (match := _LINE.match(line))}


def broken(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The tests that passed before and were run to another end after."""
    return [
        f"{name}: {after[name]}"
        for name, ended in before.items()
        if ended == "PASSED" and after.get(name, ended) != ended
    ]
