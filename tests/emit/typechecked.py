"""`python -m tests.emit.typechecked`: pyright over the programs before and after, and what it finds only after.

Needs `pyright` on the path (a package of that name is on the index); its imports are those of the running Python.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.emit.linted import store
from tests.emit.pairs import fixture_pairs, page_pairs

# The same fault under two names: `a + b` and `a += b` where `a` may be None.
_SAME = {"reportOptionalOperand": "reportOperatorIssue"}


def errors(folder: Path) -> Counter[tuple[str, str]]:
    """How often each rule is broken in each file."""
    command = ["pyright", "--outputjson", "--pythonpath", sys.executable, "."]
    out = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    found: Counter[tuple[str, str]] = Counter()
    for one in json.loads(out)["generalDiagnostics"]:
        if one["severity"] == "error":
            rule = one.get("rule", "")
            found[str(Path(one["file"]).relative_to(folder)), _SAME.get(rule, rule)] += 1
    return found


def main() -> int:
    pairs = [*page_pairs(), *fixture_pairs()]
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder).resolve()
        before = errors(store(top / "before", [(name, texts) for name, texts, _ in pairs]))
        after = errors(store(top / "after", [(name, texts) for name, _, texts in pairs]))
    for (file, rule), count in sorted((after - before).items()):
        print(f"{file}: {rule}: {count} more than before")
    print(f"{len(pairs)} programs, {before.total()} errors before, {(after - before).total()} more after")
    return 1 if after - before else 0


if __name__ == "__main__":
    sys.exit(main())
