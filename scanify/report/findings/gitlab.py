"""`scanify check --format gitlab`: a GitLab Code Quality report, which is a JSON array."""

import json
from typing import Any

from scanify.report.findings.finding import Finding, Findings, Level
from scanify.report.visible import visible

_SEVERITIES = {Level.ERROR: "major", Level.WARNING: "minor", Level.NOTE: "info"}


def render(found: Findings) -> str:
    """Render one object per finding, each with its own fingerprint."""
    marks = zip(found.items, found.fingerprints(), strict=True)
    return json.dumps([_issue(found, *each) for each in marks], indent=2, ensure_ascii=False) + "\n"


def _issue(found: Findings, each: Finding, fingerprint: str) -> dict[str, Any]:
    mark = each.mark
    begin, end = (mark.line, max(mark.line, mark.end_line)) if mark.cell is None else (1, 1)
    return {
        "description": visible(f"{each.rule}: {found.where(each)}: {each.message}"),
        "check_name": each.rule,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[each.level],
        "location": {"path": visible(found.uri(mark)), "lines": {"begin": begin, "end": end}},
    }
