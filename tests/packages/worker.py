"""`python -m tests.packages.worker NAME ROOT FILE`: one model, in a process whose path has its package; rows to FILE."""

import json
import sys
import traceback
from dataclasses import replace
from pathlib import Path

from scanify.configuration.config import TARGETS
from scanify.verify.children.codec import to_json
from tests.packages.all_models import model
from tests.packages.by_hand import compare_by_hand
from tests.packages.install import source
from tests.packages.models import Model
from tests.packages.rewritten import rewrite, verify_rewrite
from tests.packages.row import REFUSED, Row


def rows(which: Model, root: Path, *, by_hand: bool) -> list[Row]:
    """The rewritten package where scanify rewrites the loop; otherwise, or if asked for, the list stacked by hand.

    Lists are stacked by hand with the classes of scanify.nn, so those of other frameworks are not: such a loop that
    scanify leaves alone has a row that says why.
    """
    files = source(which, root)
    outcome = rewrite(which, files)
    if which.target != TARGETS[0]:
        if isinstance(outcome, str):
            return [Row(which.requirement, which.title, REFUSED, notes=(outcome,))]
        return [verify_rewrite(which, files, outcome)]
    if not isinstance(outcome, str):
        row = verify_rewrite(which, files, outcome)
        return [row, *(_by_hand(which, files) if by_hand else [])]
    first, *others = _by_hand(which, files)
    return [replace(first, notes=(f"not rewritten: {outcome}", *first.notes)), *others]


def _by_hand(which: Model, files: Path) -> list[Row]:
    try:
        return compare_by_hand(which, files)
    except Exception as error:  # what the packages' code raises, and what it may raise is anything
        traceback.print_exc()
        return [Row(which.requirement, which.title, "by hand", error=f"{type(error).__name__}: {error}")]


def main() -> None:
    name, root, file, *options = sys.argv[1:]
    found = rows(model(name), Path(root), by_hand="--by-hand" in options)
    Path(file).write_text(json.dumps([to_json(row) for row in found]))


if __name__ == "__main__":
    main()
