"""Convert findings to the protocol: positions in the client's units, diagnostics, hovers."""

from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types
from pygls.workspace import PositionCodec

from scanify.report.findings.finding import Finding, Level
from scanify.rules import find_rule, pages_folder

_SEVERITIES = {
    Level.ERROR: types.DiagnosticSeverity.Error,
    Level.WARNING: types.DiagnosticSeverity.Warning,
    Level.NOTE: types.DiagnosticSeverity.Hint,
}
# The sections omitted in a hover: examples are long, and the page is one action away.
_LEFT_OUT = ("Examples",)


def range_of(finding: Finding, lines: Sequence[str], codec: PositionCodec) -> types.Range:
    """The range of a finding, limited to its first line."""
    mark = finding.mark
    row = min(mark.line, max(len(lines), 1)) - 1
    alone = types.Range(types.Position(0, mark.column - 1), types.Position(0, max(mark.end, mark.column) - 1))
    found = codec.range_to_client_units([f"{line}\n" for line in lines[row : row + 1]], alone)
    start, end = (types.Position(row, each.character) for each in (found.start, found.end))
    return types.Range(start, end)


def diagnostic(finding: Finding, lines: Sequence[str], codec: PositionCodec) -> types.Diagnostic:
    message = "\n".join([finding.message, *(f"{kind}: {hint}" for kind, hint in finding.hints)])
    return types.Diagnostic(
        range=range_of(finding, lines, codec),
        message=message,
        severity=_SEVERITIES[finding.level],
        code=finding.rule,
        code_description=types.CodeDescription(page_uri(finding.rule)),
        source="scanify",
        tags=[types.DiagnosticTag.Unnecessary] if finding.rule == "SCN301" else None,
    )


def page_uri(rule: str) -> str:
    """The URI of the installed page of a rule."""
    return (pages_folder() / find_rule(rule).filename).as_uri()


def hover_text(findings: Sequence[Finding], verdict: str) -> str:
    """Describe the findings on a line, their rules, and the last verification of the file."""
    parts = []
    for each in findings:
        page = find_rule(each.rule).page
        hints = "".join(f"\n- *{kind}*: {hint}" for kind, hint in each.hints)
        sections = "".join(
            f"\n\n**{title}**\n\n{text.strip()}" for title, text in page.sections if title not in _LEFT_OUT
        )
        parts.append(f"**{each.rule}** {each.message}{hints}\n\n{page.summary}{sections}")
    return "\n\n---\n\n".join([*parts, *([verdict] if verdict else [])])


def path_of(uri: str) -> Path | None:
    """Return the file that a URI names, or None if it is not a file."""
    from pygls.uris import to_fs_path, urlparse

    name = to_fs_path(uri) if urlparse(uri)[0] == "file" else None
    return Path(name) if name else None
