"""Try the rows of docs/other-tools.md: `python -m tests.other_tools BIN`, the folder with ruff, black and pyupgrade.

Prints the table, and fails where a tool does otherwise.
"""

import sys
import tempfile
from pathlib import Path

from tests.other_tools.rows import ROWS, Row
from tests.other_tools.trial import Trial

HEAD = "| | ruff | black | pyupgrade | scanify |\n|---|---|---|---|---|\n"


def line(row: Row) -> str:
    """A row as it stands in the table: a cell that was not tried has an asterisk."""
    cells = (f"{each.text}{'' if each.trials or each.text == '-' else ' *'}" for each in row[1:-1])
    return f"| {' | '.join((row[0], *cells, row[-1].text))} |\n"


def main() -> int:
    folder = Path(sys.argv[1]).absolute()
    tools = {name: [str(folder / name)] for name in ("ruff", "black", "pyupgrade")}
    tools["scanify"] = [sys.executable, "-m", "scanify"]
    tried, wrong = 0, []
    for what, *cells in ROWS:
        for trial in (each for cell in cells for each in cell.trials):
            tried += 1
            wrong += [f"{what}: {trial.command}: {said}"] if (said := _failed(trial, tools)) else []
    print(HEAD + "".join(map(line, ROWS)))
    print(f"{tried} trials, {len(wrong)} otherwise than the table has it", *wrong, sep="\n")
    return 1 if wrong else 0


def _failed(trial: Trial, tools: dict[str, list[str]]) -> str:
    with tempfile.TemporaryDirectory() as name:
        done = trial.run(Path(name), tools)
    return "" if trial.holds(done) else f"exit code {done.code}, changed: {done.changed}, {done.said[:300]!r}"


if __name__ == "__main__":
    sys.exit(main())
