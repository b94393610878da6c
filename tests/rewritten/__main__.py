"""`python -m tests.rewritten`: rewrite published packages, import what changed, and run their own tests on both versions.

Exits with 1 where a rewritten file does not parse or import though the original does, or one of the package's own tests
passes before and not after.
"""

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.rewritten.environment import python_for
from tests.rewritten.folders import ROOT, folders
from tests.rewritten.imports import imported, unparsed
from tests.rewritten.own_tests import broken, outcomes
from tests.rewritten.packages import PACKAGES, Package


@dataclass
class Row:
    """What was seen of one package. `wrong` are the lines that make the run fail."""

    package: Package
    said: str = ""
    modules: int = 0
    imports: int = 0
    passed: int = 0
    compared: int = 0
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def row(package: Package, out: Path, seconds: int) -> Row:
    """Everything about one package."""
    found = Row(package)
    try:
        both = folders(package, out)
        found.said = both.said
        found.wrong += [f"does not parse: {each}" for each in unparsed(both)]
        if not both.changed:
            return found
        python = python_for(package, out)
    except RuntimeError as error:
        found.notes.append(str(error))
        return found
    before = imported(package, python, both.original, both.changed)
    after = imported(package, python, both.rewritten, both.changed)
    found.modules, found.imports = len(before), sum(not error for error in after.values())
    for name, error in after.items():
        if error:
            (found.notes if before[name] else found.wrong).append(f"import {name}: {error}")
    if package.tests:
        first = outcomes(package, python, both.original, seconds)
        second = outcomes(package, python, both.rewritten, seconds)
        found.passed = sum(ended == "PASSED" for ended in first.values())
        found.compared = sum(ended == "PASSED" and name in second for name, ended in first.items())
        found.wrong += broken(first, second)
    return found


def text(found: Row) -> str:
    tests = f"{found.compared} of its {found.passed} passing tests run again" if found.package.tests else "no tests"
    lines = [f"{found.package.requirement}: {found.said}"]
    if found.modules:
        lines.append(f"    {found.imports} of {found.modules} changed modules imported; {tests}")
    return "\n".join(
        [*lines, *(f"    note: {each}" for each in found.notes), *(f"    WRONG {each}" for each in found.wrong)]
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.rewritten", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which packages: {', '.join(one.name for one in PACKAGES)}")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "rewritten")
    parser.add_argument("--seconds", type=int, default=600, help="for one run of a package's tests")
    given = parser.parse_args()
    rows = []
    for package in PACKAGES:
        if not given.names or package.name in given.names:
            rows.append(row(package, (given.out / package.name).resolve(), given.seconds))
            print(text(rows[-1]), flush=True)
    wrong = sum(len(one.wrong) for one in rows)
    print(
        f"{len(rows)} packages, {sum(one.imports for one in rows)} of {sum(one.modules for one in rows)} changed modules imported, "
        f"{sum(one.compared for one in rows)} of their own tests run on both versions, {wrong} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
