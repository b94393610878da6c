"""`python -m tests.corpus`: download the labelled packages, check them, and compare with the labels."""

import argparse
import sys
from pathlib import Path

from tests.corpus.compare import Answer, answers, check
from tests.corpus.labels import read_labels
from tests.corpus.packages import source_folder
from tests.corpus.table import disagreement, needs, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path("build/corpus"), help="where packages are kept")
    parser.add_argument("--only", help="packages to look at, with commas between")
    parser.add_argument("--quiet", action="store_true", help="leave the disagreements out")
    given = parser.parse_args()
    labels = read_labels()
    found: list[Answer] = []
    skipped = 0
    for package, version in dict.fromkeys((one.package, one.version) for one in labels):
        if given.only and package not in given.only.split(","):
            continue
        checked = check(source_folder(package, version, given.cache))
        skipped += len(checked.skipped)
        found += answers([one for one in labels if one.package == package], checked)
    if not given.quiet:
        print("\n".join(disagreement(one) for one in found if not one.agrees), end="\n\n")
        refused = [one for one in found if one.loop is not None and not one.label.eligible]
        print(f"{len(refused)} refused, as their labels ask for; the label's reason and ours:")
        print("\n".join(disagreement(one) for one in refused), end="\n\n")
        print("capabilities that eligible loops need and were not rewritten for:", needs(found), sep="\n", end="\n\n")
    print(table(found))
    print(f"{skipped} file{'s' if skipped != 1 else ''} skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
