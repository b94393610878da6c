"""`python -m tests.packages.commands`: verify each package by its own command, and print the table of the docs.

Exits with 1 if a version that was proved equal gives other numbers when it runs, or if less than 70% of the loops that
the commands reach are PROVED.
"""

import argparse
import json
import sys
from pathlib import Path

from scanify.verify.run import versions
from tests.packages.commands.environment import environment, sources
from tests.packages.commands.result import LoopResult, false_verdicts, markdown, proved_and_reached
from tests.packages.commands.table import Package, packages
from tests.packages.commands.verified import verified
from tests.packages.install import NotInstalled

ROOT = Path(__file__).resolve().parents[3]
LEAST = 0.7


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.packages.commands", description=__doc__)
    parser.add_argument("names", nargs="*", help="which packages; all, if none is named")
    parser.add_argument(
        "--without-run", action="store_true", help="propose cases, as without --run: the column `before`"
    )
    parser.add_argument("--scanify", type=Path, default=ROOT, help="the checkout of scanify to verify with")
    parser.add_argument("--python", type=Path, help="an environment's Python, in place of the pinned one")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "commands")
    return parser.parse_args()


def _found(package: Package, given: argparse.Namespace, python: Path) -> list[LoopResult]:
    reports = given.out / "reports"
    reports.mkdir(exist_ok=True)
    try:
        folder = sources(package, given.out, python)
    except NotInstalled as error:
        return [LoopResult(package.name, t.file, n, why=str(error)) for t in package.targets for n in t.loops]
    return [
        result
        for target in package.targets
        for result in verified(package, target, folder, python, given.scanify, reports, run=not given.without_run)
    ]


def main() -> None:
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    given.out, given.scanify = given.out.resolve(), given.scanify.resolve()
    python = given.python or environment(given.out / "venv")
    file = given.out / ("before.json" if given.without_run else "after.json")
    rows = [LoopResult(**row) for row in json.loads(file.read_text())] if file.is_file() else []
    for package in packages():
        if given.names and package.name not in given.names:
            continue
        found = _found(package, given, python)
        rows = [row for row in rows if row.package != package.name] + found
        file.write_text(json.dumps([vars(row) for row in rows], indent=1))
        print(package.name, *(f"{row.file}:{row.line} {row.text}" for row in found), sep="\n  ", file=sys.stderr)
    before, after = (
        [LoopResult(**row) for row in json.loads(each.read_text())] if each.is_file() else []
        for each in (given.out / "before.json", given.out / "after.json")
    )
    text = markdown(packages(), before, after, versions())
    (given.out / "commands.md").write_text(text)
    print(text)
    proved, reached = proved_and_reached(after)
    if false_verdicts(after) or proved < LEAST * reached:
        sys.exit(1)


if __name__ == "__main__":
    main()
