"""`scanify check --format github`: workflow commands, which GitHub shows next to the lines of a pull request."""

from scanify.report.findings.finding import Finding, Findings, Level
from scanify.report.visible import visible

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def render(found: Findings) -> str:
    """Render one command per finding: `::warning file=model.py,line=12,title=scanify (SCN101)::...`."""
    return "".join(f"{_command(found, each)}\n" for each in found.items)


def _command(found: Findings, each: Finding) -> str:
    mark = each.mark
    fields = {"title": f"scanify ({each.rule})", "file": found.uri(mark)}
    if mark.cell is None:  # GitHub would count lines in the JSON of a notebook
        fields |= {"line": str(mark.line), "endLine": str(max(mark.line, mark.end_line))}
        if mark.text and mark.end_line == mark.line:
            fields |= {"col": str(mark.column), "endColumn": str(mark.end)}
    given = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in fields.items())
    text = "\n".join([f"{found.where(each)}: {each.message}", *(f"{kind}: {text}" for kind, text in each.hints)])
    return f"::{_COMMANDS[each.level]} {given}::{_escaped(text)}"


def _escaped(text: str, more: str = "") -> str:
    """Escape characters that end a command or a field, as in command.ts of https://github.com/actions/toolkit."""
    shown = visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    for sign in more:
        shown = shown.replace(sign, f"%{ord(sign):02X}")
    return shown
