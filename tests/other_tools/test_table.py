"""The page has the table that the trials are about; and scanify's side of it, with a trial that does not hold, is tried."""

from pathlib import Path

import pytest

from tests.command import Tool
from tests.other_tools.__main__ import HEAD, line
from tests.other_tools.rows import ROWS
from tests.other_tools.trial import Done, Trial

PAGE = Path(__file__).resolve().parents[2] / "docs" / "other-tools.md"
OURS = [trial for row in ROWS for trial in row[4].trials]


def test_the_page_has_the_table() -> None:
    assert HEAD + "".join(map(line, ROWS)) in PAGE.read_text()


@pytest.mark.parametrize("trial", OURS, ids=[trial.command for trial in OURS])
def test_scanify_does_what_the_table_says(trial: Trial, tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in trial.environment.items():
        monkeypatch.setenv(name, value)
    for name, text in trial.files.items():
        tool.write(name, text)
    before = {name: data.decode() for name, data in tool.files().items()}
    done = tool(*trial.command.split()[1:], stdin=trial.given.encode() if trial.given else None)
    after = {name: data.decode() for name, data in tool.files().items()}
    assert trial.holds(Done(done.code, done.out, done.err, before, after)), done


def test_no_trial_holds_of_a_tool_that_does_nothing() -> None:
    ends = Done(77, "possible values: a]", "", {"a.py": ""}, {"a.py": "", "found": "", "n.ipynb": ""})
    every = [trial for row in ROWS for cell in row[1:] for trial in cell.trials]
    held = {trial.command for trial in every if trial.holds(ends)}
    assert held == {"black --check a.py", "pyupgrade --py311-plus a.py"}, "which show no caret"
