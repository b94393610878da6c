"""Findings to render: on a real model with a loop that can be rewritten and one that cannot, a file that cannot be read,
and hostile texts."""

from pathlib import Path

from scanify.analysis.plan import Skipped
from scanify.pipeline import Project
from scanify.report.findings.finding import Findings, findings
from tests.command import MODEL, REFUSED


def found(folder: Path, *, colour: bool = False, summary: bool = True, **texts: str) -> Findings:
    """What is found in files of these names and texts; by default a model of each kind."""
    for name, text in (texts or {"model": MODEL, "sub__stays": REFUSED, "bad": "def f(:\n"}).items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    project = Project.load([folder])
    return findings(project.analyse(), project.texts(), folder, colour=colour, summary=summary)


def hostile(folder: Path) -> Findings:
    """A file whose name and message hold what each format reads as more than text."""
    from scanify.analysis.plan import Analysis

    name = "a|b<c>&,:%`*\n::error::]]>\x1b[31m.py"
    return findings(Analysis(1, (), (Skipped(folder / name, "said: \x00 </failure> ::error::x\n| # %"),)), {}, folder)
