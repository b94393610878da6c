"""`python -m tests.corpus.each_file`: what `check` says of each file alone, against its part of what it says of all.

What is named must never change what is known, so the two are the same; each difference is printed.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from scanify.analysis.index.parse import parse
from scanify.analysis.lower.candidates import may_hold_loop
from scanify.analysis.plan import Plan, Refusal
from scanify.pipeline import Project
from scanify.source.discover import Selection
from tests.corpus.labels import read_labels
from tests.corpus.packages import source_folder

Loop = Plan | Refusal


def differences(root: Path) -> Iterator[str]:
    """The files of a project of which `check` says something else when they are named alone."""
    selection = Selection(root, gitignore=False)
    project = Project.load([root], selection=selection)
    together: dict[Path, list[Loop]] = {}
    for loop in project.analyse().loops:
        together.setdefault(loop.place.path, []).append(loop)
    for source in project.sources:
        if not may_hold_loop(source.text, parse(source.text)):
            continue  # no loop of it is reported in either case
        alone = Project.load([source.path], selection=selection).analyse().loops
        if list(alone) != together.get(source.path, []):
            yield f"{source.path.relative_to(root)}: {len(together.get(source.path, []))} with all, {len(alone)} alone"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus.each_file", description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path("build/corpus"), help="where packages are kept")
    parser.add_argument("--only", help="packages to look at, with commas between")
    given = parser.parse_args()
    found = 0
    for package, version in dict.fromkeys((one.package, one.version) for one in read_labels()):
        if given.only and package not in given.only.split(","):
            continue
        for difference in differences(source_folder(package, version, given.cache).resolve()):
            print(f"{package}/{difference}")
            found += 1
    print(f"{found} file{'s' if found != 1 else ''} of which something else is said")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
