"""The rows of the table: what is asked, and of ruff, black, pyupgrade and scanify the cell with what shows it."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from tests.command import MODEL
from tests.other_tools.trial import Done, Trial

# What each of the others finds something in: an import that nobody uses, and a list that is written as it was once.
PLAIN = "import os\nfrom typing import List\nx : List[int]=[1,2]\n"
_CELL = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}


def notebook(source: str) -> str:
    cells = [{**_CELL, "id": "a", "source": source}]
    return json.dumps(
        {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    )


@dataclass(frozen=True)
class Cell:
    """What stands in the table; the trials that show it, none where it is as the tool's documentation has it."""

    text: str
    trials: tuple[Trial, ...] = ()


Row = tuple[str, Cell, Cell, Cell, Cell]


def cell(text: str, command: str, holds: Callable[[Done], bool], **given: object) -> Cell:
    return Cell(text, (of(command, holds, **given),))


def of(command: str, holds: Callable[[Done], bool], **given: object) -> Trial:
    text = MODEL if command.startswith("scanify") else PLAIN
    files = given.pop("files", {"a.py": text})
    return Trial(command, holds, files=files, **given)  # type: ignore[arg-type]


def both(text: str, *trials: Trial) -> Cell:
    return Cell(text, trials)


def _code(number: int, *words: str) -> Callable[[Done], bool]:
    return lambda done: done.code == number and not done.changed and all(word in done.said for word in words)


def _changes(number: int) -> Callable[[Done], bool]:
    return lambda done: done.code == number and done.changed


def _unknown(done: Done) -> bool:
    """The tool has no such option, or does nothing with what it is given."""
    return done.code != 0 and (
        "unrecognized arguments" in done.err or "No such option" in done.err or "unexpected" in done.err
    )


NONE = Cell("-")
OLD = {"a.py": MODEL, "pyproject.toml": "[tool.scanify]\nexclude = ['a.py']\n"}
RUFF_EXCLUDE = {"a.py": PLAIN, "pyproject.toml": "[tool.ruff]\nexclude = ['a.py']\n"}
BLACK_EXCLUDE = {"a.py": PLAIN, "pyproject.toml": "[tool.black]\nexclude = 'a.py'\n"}
IGNORED = {"a.py": PLAIN, ".gitignore": "a.py\n"}
SILENT = {"a.py": MODEL.replace("in self.layers:", "in self.layers:  # scanify: ignore[SCN101] small")}
IDLE = {"a.py": "x = 1  # scanify: ignore[SCN101]\n"}
DASH = {"files": {}, "given": PLAIN}

ROWS: tuple[Row, ...] = (
    (
        "the current folder without a path",
        cell("yes", "ruff check", _code(1, "F401")),
        cell("-", "black", _code(1, "required")),
        cell("-", "pyupgrade", _code(0)),
        both(
            "`check`: yes; `rewrite` wants to be told",
            of("scanify check", _code(1, "SCN101")),
            of("scanify rewrite", _code(2, "PATHS")),
        ),
    ),
    (
        "looks, and changes nothing",
        both("`check`", of("ruff check a.py", _code(1, "F401")), of("ruff format --check a.py", _code(1))),
        cell("`--check`", "black --check a.py", _code(1)),
        cell("-", "pyupgrade --check a.py", _unknown),
        both(
            "`check`, `rewrite --check`",
            of("scanify check a.py", _code(1)),
            of("scanify rewrite --check a.py", _code(1)),
        ),
    ),
    (
        "shows the change",
        cell("`--diff`", "ruff check --diff a.py", _code(1, "-import os")),
        cell("`--diff`", "black --diff a.py", _code(0, "+++")),
        cell("-", "pyupgrade --diff a.py", _unknown),
        cell("`rewrite --diff`", "scanify rewrite --diff a.py", _code(1, "+++")),
    ),
    (
        "fixes",
        cell("`--fix`", "ruff check --fix a.py --select F401", _changes(0)),
        cell("always", "black a.py", _changes(0)),
        cell("always", "pyupgrade --py311-plus a.py", _changes(1)),
        cell("`rewrite`", "scanify rewrite a.py", _changes(0)),
    ),
    (
        "safe and unsafe fixes",
        both(
            "`--unsafe-fixes`",
            of("ruff check --fix --select F841 a.py", _code(1), files={"a.py": "def f():\n    a = 1\n"}),
            of(
                "ruff check --fix --unsafe-fixes --select F841 a.py",
                _changes(0),
                files={"a.py": "def f():\n    a = 1\n"},
            ),
        ),
        NONE,
        NONE,
        both(
            "`--unsafe`, with the obligations of each; or a case that proves it",
            of(
                "scanify rewrite --stack init a.py",
                _code(0, "unsafe (elsewhere):"),
                files={"a.py": MODEL + "\n\ndef f(m: Model):\n    return jax.tree.leaves(m)\n"},
            ),
            of(
                "scanify rewrite --stack init --unsafe a.py",
                _changes(0),
                files={"a.py": MODEL + "\n\ndef f(m: Model):\n    return jax.tree.leaves(m)\n"},
            ),
        ),
    ),
    (
        "the result is checked",
        Cell("parses again"),
        cell("compares syntax trees", "black --help", _code(0, "AST safety")),
        NONE,
        Cell("proved equal with a case; parsed without"),
    ),
    (
        "standard input",
        cell(
            "`-`, `--stdin-filename`",
            "ruff check --fix --stdin-filename b.py -",
            lambda done: "x :" in done.out and "import os" not in done.out,
            **DASH,
        ),
        cell(
            "`-`, `--stdin-filename`",
            "black -q --stdin-filename b.py -",
            lambda done: "x: List[int] = [1, 2]" in done.out,
            **DASH,
        ),
        cell("`-`", "pyupgrade --py311-plus -", lambda done: "list[int]" in done.out, **DASH),
        cell(
            "`-`, `--stdin-filename`",
            "scanify rewrite --stdin-filename b.py -",
            lambda done: "ArrayStacked" in done.out,
            files={},
            given=MODEL,
        ),
    ),
    (
        "formats",
        cell(
            "twelve",
            "ruff check --help",
            lambda done: done.out.split("possible values: ")[1].split("]")[0].count(",") == 11,
        ),
        cell("-", "black --output-format json a.py", _unknown),
        cell("-", "pyupgrade --output-format json a.py", _unknown),
        both(
            "`concise`, `full`, `json`, `github`, `gitlab`, `sarif`, `junit`, `markdown`",
            *(
                of(f"scanify check --format {form} a.py", _code(1, "SCN101"))
                for form in ("concise", "full", "json", "github", "gitlab", "sarif", "junit", "markdown")
            ),
        ),
    ),
    (
        "the report in a file",
        cell("`--output-file`", "ruff check --output-file found a.py", lambda done: "F401" in done.after["found"]),
        NONE,
        NONE,
        cell("`--output`", "scanify check --output found a.py", lambda done: "SCN101" in done.after["found"]),
    ),
    (
        "the line with a caret",
        cell("yes", "ruff check a.py", _code(1, "^^")),
        cell("-", "black --check a.py", lambda done: "^" not in done.said),
        cell("-", "pyupgrade --py311-plus a.py", lambda done: "^" not in done.said),
        cell("yes", "scanify check a.py", _code(1, "^^^")),
    ),
    (
        "colours",
        both(
            "`--color`, `NO_COLOR`, `FORCE_COLOR`",
            of("ruff check --color always a.py", _code(1, "\x1b[")),
            of("ruff check a.py", _code(1, "\x1b["), environment={"FORCE_COLOR": "1"}),
        ),
        cell("`--color`, of `--diff`", "black --color --diff a.py", _code(0, "\x1b[")),
        NONE,
        both(
            "`NO_COLOR`, `FORCE_COLOR`, of diffs too",
            of("scanify check a.py", _code(1, "\x1b["), environment={"FORCE_COLOR": "1"}),
            of("scanify rewrite --diff a.py", _code(1, "\x1b["), environment={"FORCE_COLOR": "1"}),
        ),
    ),
    (
        "only what matters is said",
        cell("`--quiet`, `--silent`", "ruff check --silent a.py", lambda done: done.code == 1 and not done.said),
        cell("`--quiet`", "black --quiet a.py", lambda done: done.changed and not done.said),
        cell("-", "pyupgrade --quiet a.py", _unknown),
        both(
            "`--quiet`",
            of("scanify rewrite --quiet a.py", lambda done: done.changed and not done.said),
            of("scanify check --quiet a.py", _code(0), files={"a.py": "x = 1\n"}),
        ),
    ),
    (
        "choosing rules",
        cell(
            "`--select`, `--ignore`, per file", "ruff check --select F401 --per-file-ignores a.py:F401 a.py", _code(0)
        ),
        cell("-", "black --select F401 a.py", _unknown),
        cell("by version", "pyupgrade --py36-plus a.py", _code(0)),
        both(
            "`--select`, `--ignore`, per file",
            of("scanify check --select SCN2 a.py", _code(0)),
            of(
                "scanify check a.py",
                _code(0),
                files={"a.py": MODEL, "pyproject.toml": "[tool.scanify.per-file-ignores]\n'a.py' = ['SCN1']\n"},
            ),
        ),
    ),
    (
        "counts of each rule",
        cell("`--statistics`", "ruff check --statistics a.py", _code(1, "F401")),
        NONE,
        NONE,
        cell("`--statistics`", "scanify check --statistics a.py", _code(1, "SCN101")),
    ),
    (
        "silencing a line",
        cell("`# noqa: F401`", "ruff check --select F401 a.py", _code(0), files={"a.py": "import os  # noqa: F401\n"}),
        cell("`# fmt: skip`", "black --check a.py", _code(0), files={"a.py": "x = [1,2]  # fmt: skip\n"}),
        NONE,
        cell("`# scanify: ignore[SCN101] reason`", "scanify check a.py", _code(0), files=SILENT),
    ),
    (
        "unused comments of that kind",
        cell(
            "`RUF100`", "ruff check --select RUF100 a.py", _code(1, "RUF100"), files={"a.py": "x = 1  # noqa: F401\n"}
        ),
        NONE,
        NONE,
        both(
            "SCN301, and `--fix-ignores`",
            of("scanify check a.py", _code(1, "SCN301"), files=IDLE),
            of("scanify check --fix-ignores a.py", _changes(0), files=IDLE),
        ),
    ),
    ("adding such comments", cell("`--add-noqa`", "ruff check --add-noqa a.py", _changes(0)), NONE, NONE, NONE),
    (
        "the page of a rule",
        cell("`ruff rule`", "ruff rule F401", _code(0, "## Why is this bad?")),
        NONE,
        NONE,
        cell("`scanify explain`; its examples are tests", "scanify explain SCN101", _code(0, "## Why")),
    ),
    (
        "what is in force",
        cell("`--show-settings`", "ruff check --show-settings a.py", _code(0, "line_length")),
        cell("`--verbose`", "black --verbose --check a.py", _code(1, "Identified")),
        NONE,
        cell("`scanify config`, with the file of each value", "scanify config", _code(0, "default")),
    ),
    (
        "a setting for one run",
        cell(
            "`--config KEY=VALUE`, `--isolated`",
            "ruff check --isolated --config line-length=10 --select E501 a.py",
            _code(1, "E501"),
        ),
        cell("`--line-length` and others", "black --line-length 10 --check a.py", _code(1)),
        cell("an option each", "pyupgrade --keep-mock a.py", _code(0)),
        cell("an option each", "scanify rewrite --target lax --diff a.py", _code(1, "jax.lax.scan")),
    ),
    (
        "settings that build on others",
        cell(
            "`extend`",
            "ruff check --select E501 a.py",
            _code(1, "> 10"),
            files={"a.py": PLAIN, "ruff.toml": "extend = 'base.toml'\n", "base.toml": "line-length = 10\n"},
        ),
        NONE,
        NONE,
        cell(
            "`extend`",
            "scanify check a.py",
            _code(0),
            files={
                "a.py": MODEL,
                "pyproject.toml": "[tool.scanify]\nextend = 'base.toml'\n",
                "base.toml": "ignore = ['SCN1']\n",
            },
        ),
    ),
    (
        "a schema for editors",
        Cell("yes"),
        Cell("yes"),
        NONE,
        cell("`scanify config --schema`", "scanify config --schema", _code(0, "$schema")),
    ),
    (
        "files that git ignores",
        cell("left out", "ruff check", _code(0, "No Python files"), files=IGNORED),
        cell("left out", "black --check .", _code(0, "No Python files"), files=IGNORED),
        NONE,
        cell("left out", "scanify check", _code(0, "no Python files"), files={**IGNORED, "a.py": MODEL}),
    ),
    (
        "`exclude`, for a file that is named",
        both(
            "with `--force-exclude`",
            of("ruff check a.py", _code(1, "F401"), files=RUFF_EXCLUDE),
            of("ruff check --force-exclude a.py", _code(0), files=RUFF_EXCLUDE),
        ),
        both(
            "`force-exclude`",
            of("black --check a.py", _code(1), files=BLACK_EXCLUDE),
            of("black --force-exclude a.py a.py", _code(0), files={"a.py": PLAIN}),
        ),
        NONE,
        both(
            "yes; `--no-exclude`",
            of("scanify check a.py", _code(0), files=OLD),
            of("scanify check --no-exclude a.py", _code(1, "SCN101"), files=OLD),
        ),
    ),
    (
        "notebooks",
        cell("yes", "ruff check n.ipynb", _code(1, "F401"), files={"n.ipynb": notebook(PLAIN)}),
        cell("with an extra", "black --check n.ipynb", _code(1), files={"n.ipynb": notebook(PLAIN)}),
        NONE,
        cell(
            "yes; no other byte changes",
            "scanify rewrite n.ipynb",
            lambda done: "ArrayStacked" in done.after["n.ipynb"],
            files={"n.ipynb": notebook(MODEL)},
        ),
    ),
    ("hooks of pre-commit", Cell("yes"), Cell("yes"), Cell("yes"), Cell("yes")),
    ("an action for CI", Cell("yes"), Cell("yes"), NONE, Cell("yes, with proofs")),
    (
        "editors",
        cell("`ruff server`", "ruff server --help", _code(0, "language server")),
        Cell("by plugins"),
        NONE,
        cell("`scanify server`", "scanify server --help", _code(0, "language server")),
    ),
    (
        "shell completion",
        cell("yes", "ruff generate-shell-completion bash", _code(0, "_ruff()")),
        cell("as click has it", "black", _code(0, "_black_completion"), environment={"_BLACK_COMPLETE": "bash_source"}),
        NONE,
        cell("yes, and installed by one command", "scanify completion bash", _code(0, "_scanify_completion")),
    ),
    (
        "a cache",
        cell(
            "by file; `ruff clean`", "ruff check a.py", lambda done: any(".ruff_cache" in name for name in done.after)
        ),
        cell("by file", "black a.py", lambda done: any(name.startswith("cache") for name in done.after)),
        NONE,
        Cell("by project, and of what was proved"),
    ),
    (
        "exit code where something would change",
        cell("1", "ruff format --check a.py", _code(1)),
        both("1 (`--diff`: 0)", of("black --check a.py", _code(1)), of("black --diff a.py", _code(0))),
        NONE,
        both("1", of("scanify rewrite --check a.py", _code(1)), of("scanify rewrite --diff a.py", _code(1))),
    ),
    (
        "exit code after a change",
        both(
            "0 (`--exit-non-zero-on-fix`: 1)",
            of("ruff check --fix --select F401 a.py", _changes(0)),
            of("ruff check --fix --exit-non-zero-on-fix --select F401 a.py", _changes(1)),
        ),
        cell("0", "black a.py", _changes(0)),
        both(
            "1 (`--exit-zero-even-if-changed`: 0)",
            of("pyupgrade --py311-plus a.py", _changes(1)),
            of("pyupgrade --py311-plus --exit-zero-even-if-changed a.py", _changes(0)),
        ),
        both(
            "0 (`--exit-non-zero-on-change`: 1)",
            of("scanify rewrite a.py", _changes(0)),
            of("scanify rewrite --exit-non-zero-on-change a.py", _changes(1)),
        ),
    ),
    (
        "a file that is not there",
        cell("a finding, E902", "ruff check gone.py", _code(1, "E902")),
        cell("2", "black gone.py", _code(2)),
        cell("a traceback, 1", "pyupgrade gone.py", _code(1, "Traceback")),
        cell("2", "scanify check gone.py", _code(2)),
    ),
    (
        "a file that cannot be parsed",
        cell("a finding, 1", "ruff check a.py", _code(1, "invalid-syntax"), files={"a.py": "x = (\n"}),
        cell("123", "black a.py", _code(123), files={"a.py": "x = (\n"}),
        cell("silence, 0", "pyupgrade a.py", lambda done: done.code == 0 and not done.said, files={"a.py": "x = (\n"}),
        cell("a finding, 1", "scanify check a.py", _code(1, "syntax error"), files={"a.py": "x = (\n"}),
    ),
    (
        "going back",
        NONE,
        NONE,
        NONE,
        cell("`scanify unroll`", "scanify unroll --check a.py", _code(0, "Nothing to unroll")),
    ),
)
