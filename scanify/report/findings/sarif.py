"""`scanify check --format sarif`: SARIF 2.1.0, read by GitHub code scanning and other tools."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import scanify
from scanify.report.findings.finding import SKIPPED, Finding, Findings, Mark
from scanify.report.visible import visible
from scanify.rules import find_rule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "SRCROOT"


def render(found: Findings) -> str:
    """Render one log with one run; files that were not read become notifications of the run."""
    loops = [(each, mark) for each, mark in zip(found.items, found.fingerprints(), strict=True) if each.rule != SKIPPED]
    rules = sorted({each.rule for each, _ in loops})
    run = {
        "tool": {"driver": {"name": "scanify", "version": scanify.__version__, "rules": list(map(_rule, rules))}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": found.folder.as_uri().rstrip("/") + "/"}},
        "invocations": [_invocation(found)],
        "results": [_result(found, each, mark, rules.index(each.rule)) for each, mark in loops],
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(name: str) -> dict[str, Any]:
    rule = find_rule(name)
    page = rule.page
    told = [f"## {heading}\n\n{text}" for heading, text in page.sections if heading != "Examples"]
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": page.summary},
        "help": {"text": page.summary, "markdown": "\n\n".join([page.summary, *told])},
    }


def _invocation(found: Findings) -> dict[str, Any]:
    notes = [
        {
            "level": each.level.value,
            "message": {"text": visible(each.message)},
            "locations": [_location(found, each.mark)],
        }
        for each in found.items
        if each.rule == SKIPPED
    ]
    return {"executionSuccessful": True, "toolExecutionNotifications": notes}


def _result(found: Findings, each: Finding, fingerprint: str, index: int) -> dict[str, Any]:
    said = [each.message, *(f"{kind}: {text}" for kind, text in each.hints)]
    if each.mark.cell is not None:
        said[0] = f"{found.where(each)}: {said[0]}"
    result: dict[str, Any] = {
        "ruleId": each.rule,
        "ruleIndex": index,
        "level": each.level.value,
        "message": {"text": visible("\n".join(said))},
        "locations": [_location(found, each.mark)],
        "partialFingerprints": {"scanifyLoop/v1": fingerprint},
    }
    if each.related is not None:
        result["relatedLocations"] = [{"id": 0, **_location(found, each.related)}]
    if each.fix is not None:
        result["properties"] = {"fix": each.fix}
    return result


def _location(found: Findings, mark: Mark) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(found.folder, mark.path)}
    if mark.text and mark.cell is None:  # SARIF would count lines in the JSON of a notebook
        place["region"] = {
            "startLine": mark.line,
            "startColumn": mark.column,
            "endLine": mark.end_line,
            "endColumn": mark.end_column,
            "snippet": {"text": visible(mark.text)},
        }
    return {"physicalLocation": place}


def _artifact(folder: Path, path: Path) -> dict[str, str]:
    if path.is_relative_to(folder):
        return {"uri": quote(path.relative_to(folder).as_posix()), "uriBaseId": _ROOT}
    return {"uri": path.as_uri()}
