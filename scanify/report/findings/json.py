"""`scanify check --format json`: an object in a stable format for other tools."""

import json
from pathlib import Path
from typing import Any

from scanify.analysis.facts import Place
from scanify.analysis.obligation import Obligation
from scanify.analysis.plan import Plan, Refusal, Remark
from scanify.analysis.stack import CallStack
from scanify.report.findings.finding import Findings
from scanify.report.sentences import Once, found, shorten, shown

VERSION = 2


def render(every: Findings) -> str:
    """Render one JSON object, with paths relative to the folder if they are below it."""
    analysis, folder = every.analysis, every.folder
    once = Once(folder)
    document = {
        "version": VERSION,
        "files": analysis.files,
        "undecided": analysis.undecided + sum(isinstance(loop, Refusal) and loop.open for loop in analysis.loops),
        "skipped": [
            {"path": shown(each.path, folder), "reason": shorten(each.reason, folder)} for each in analysis.skipped
        ],
        "loops": [_loop(loop, once) | _runs(loop, every) for loop in analysis.loops],
        "readers": [
            {
                "loops": [_at(each, folder) for each in loops],
                "places": [_at(each.place, folder) | {"rule": each.rule, "reads": each.reads} for each in readers],
            }
            for readers, loops in once.said.items()
        ],
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
    return {
        **_at(each.place, folder),
        "end_line": (each.place.cell or each.place.span).end_line,
        "rule": each.rule,
        "reason": shorten(each.reason, folder),
        "remedy": shorten(each.remedy, folder),
    }


def _at(place: Place, folder: Path) -> dict[str, Any]:
    number = place.cell.number if place.cell is not None else None
    return {"path": shown(place.path, folder), "cell": number, "line": (place.cell or place.span).line}


def _runs(loop: Plan | Refusal, every: Findings) -> dict[str, Any]:
    """Describe what the commands showed about a loop; empty if no commands were run."""
    reached = every.reached
    if reached is None:
        return {}
    return {"shown": loop.place in reached.shown, "runs": list(reached.said.get(loop.place, ()))}


def _obligation(each: Obligation, loop: Plan, folder: Path) -> dict[str, Any]:
    return {"kind": each.kind.value, "text": each.text, **_at(each.place or loop.place, folder)}


def _loop(loop: Plan | Refusal, once: Once) -> dict[str, Any]:
    folder = once.folder
    return {
        **_at(loop.place, folder),
        "end_line": (loop.place.cell or loop.place.span).end_line,
        "rule": loop.rule,
        "status": "rewritable" if isinstance(loop, Plan) else "undecided" if loop.open else "refused",
        "kind": loop.kind.value,
        "fix": ("safe" if loop.safe else "unsafe") if isinstance(loop, Plan) else None,
        "reason": found(loop) if isinstance(loop, Plan) else shorten(loop.reason, folder),
        "container": loop.container,
        "carry": list(loop.carry),
        "xs": {each.target: each.axis for each in loop.xs},
        "broadcast": list(loop.broadcast),
        "ys": list(loop.ys),
        "stack": ("call" if isinstance(loop.stack, CallStack) else "init") if isinstance(loop, Plan) else None,
        "obligations": [_obligation(each, loop, folder) for each in once.of(loop)[0]] if isinstance(loop, Plan) else [],
    }
