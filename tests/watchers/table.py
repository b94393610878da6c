"""`python -m tests.watchers.table FOLDER`: for each project in a folder, which code that looks at leaves is named, and
with which rule.

A line a place: what an obligation of a fix names, the use for which a list is stacked in the call or not at all, and
what `check` remarks on.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from scanify.analysis.plan import Plan
from scanify.analysis.stack import CallStack
from scanify.pipeline import Project
from scanify.source.discover import Selection
from tests.texts import texts

_NAMED = re.compile(r"(?P<place>[^ ]+:\d+) reads (?P<reads>.*?) \((?P<rule>SCN\d+)\)")


def rows(root: Path) -> Iterator[tuple[str, str, str]]:
    """The place, the rule and the reason of what is named in one project."""
    found = Project.load([root], selection=Selection(root, gitignore=False)).analyse(remarks=True)
    for loop in found.loops:
        if isinstance(loop, Plan):
            for match in (match for said in texts(loop.elsewhere) for match in _NAMED.finditer(said)):
                yield match["place"].removeprefix(f"{root}/"), match["rule"], match["reads"]
            if isinstance(loop.stack, CallStack) and loop.stack.at is not None:
                yield str(loop.stack.at).removeprefix(f"{root}/"), loop.stack.rule or "call", loop.stack.reason
        elif loop.at is not None:
            yield str(loop.at).removeprefix(f"{root}/"), loop.rule, loop.reason
    for each in found.remarks:
        yield str(each.place).removeprefix(f"{root}/"), each.rule, each.reason


def main() -> None:
    """Print the table."""
    for root in sorted(each for each in Path(sys.argv[1]).resolve().iterdir() if each.is_dir()):
        for place, rule, reason in rows(root):
            print(f"| {root.name} | {place} | {rule} | {reason} |")


if __name__ == "__main__":
    main()
