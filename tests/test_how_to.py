"""The pages docs/how-to/findings.md and settings.md: their tables are whole, and what `config` shows is what comes out."""

import re
from pathlib import Path

import pytest

from scanify.configuration.config import KEYS
from scanify.report.findings.formats import FORMATS
from tests.command import Tool

ROOT = Path(__file__).parents[1]
PAGES = {
    name: (ROOT / "docs" / "how-to" / f"{name}.md").read_text(encoding="utf-8") for name in ("findings", "settings")
}


def test_what_config_shows(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    tool.write("base.toml", 'remat = "nested"\n')
    tool.write(
        "gpt/pyproject.toml", '[tool.scanify]\nextend = "../base.toml"\n[tool.scanify.cases]\ngpt = "cases.py:gpt"\n'
    )
    monkeypatch.chdir(tool.folder / "gpt")
    (shown,) = re.findall(r"```text\n(project: .*?)```", PAGES["settings"], re.DOTALL)
    assert tool("config").out.splitlines()[1:] == shown.splitlines()[1:]


def test_every_format_and_every_key_has_its_row() -> None:
    rows = re.findall(r"^\| (`[^|]*`) \|", PAGES["findings"], re.MULTILINE)
    assert [row.strip("`") for row in rows] == ["--format", *FORMATS]
    named = {
        name for row in re.findall(r"^\| (`[^|]*`) \|", PAGES["settings"], re.MULTILINE) for name in row.split("`")
    }
    assert set(KEYS) <= named
