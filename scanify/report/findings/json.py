"""`scanify check --format json`: the object that other tools rely on."""

import json
from pathlib import Path
from typing import Any

from scanify.analysis.plan import Plan, Refusal, Remark
from scanify.report.findings.finding import Findings
from scanify.report.sentences import found, shorten, shown

VERSION = 1


def render(every: Findings) -> str:
    """One JSON object, with paths relative to the folder where they lie below it."""
    analysis, folder = every.analysis, every.folder
    document = {
        "version": VERSION,
        "files": analysis.files,
        "skipped": [
            {"path": shown(each.path, folder), "reason": shorten(each.reason, folder)} for each in analysis.skipped
        ],
        "loops": [_loop(loop, folder) for loop in analysis.loops],
        "comments": [
            {
                "path": shown(each.mark.path, folder),
                "cell": each.mark.cell,
                "line": each.mark.line,
                "rule": each.rule,
                "reason": each.message,
            }
            for each in every.items
            if each.rule in ("SCN301", "SCN302")
        ],
        "remarks": [_remark(each, folder) for each in analysis.remarks],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _remark(each: Remark, folder: Path) -> dict[str, Any]:
    lines = each.place.cell or each.place.span
    return {
        "path": shown(each.place.path, folder),
        "cell": each.place.cell.number if each.place.cell is not None else None,
        "line": lines.line,
        "end_line": lines.end_line,
        "rule": each.rule,
        "reason": shorten(each.reason, folder),
        "remedy": shorten(each.remedy, folder),
    }


def _loop(loop: Plan | Refusal, folder: Path) -> dict[str, Any]:
    rewritable = isinstance(loop, Plan)
    lines = loop.place.cell or loop.place.span
    return {
        "path": shown(loop.place.path, folder),
        "cell": loop.place.cell.number if loop.place.cell is not None else None,
        "line": lines.line,
        "end_line": lines.end_line,
        "rule": loop.rule,
        "status": "rewritable" if rewritable else "refused",
        "kind": loop.kind.value,
        "fix": ("safe" if loop.safe else "unsafe") if isinstance(loop, Plan) else None,
        "reason": found(loop) if isinstance(loop, Plan) else shorten(loop.reason, folder),
        "container": loop.container,
        "carry": list(loop.carry),
        "xs": {each.target: each.axis for each in loop.xs},
        "broadcast": list(loop.broadcast),
        "ys": list(loop.ys),
        "obligations": [shorten(each, folder) for each in loop.obligations] if isinstance(loop, Plan) else [],
    }
