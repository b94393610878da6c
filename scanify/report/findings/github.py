"""`scanify check --format github`: workflow commands, which GitHub shows beside the lines of a pull request."""

from scanify.report.findings.finding import Finding, Findings, Level
from scanify.report.visible import visible

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def render(found: Findings) -> str:
    """A command a finding: `::warning file=model.py,line=12,title=scanify (SCN101)::...`."""
    return "".join(f"{_command(found, each)}\n" for each in found.items)


def _command(found: Findings, each: Finding) -> str:
    mark = each.mark
    fields = {"title": f"scanify ({each.rule})", "file": found.uri(mark)}
    if mark.cell is None:  # the lines of a notebook's file are those of its JSON
        fields |= {"line": str(mark.line), "endLine": str(max(mark.line, mark.end_line))}
        if mark.text and mark.end_line == mark.line:
            fields |= {"col": str(mark.column), "endColumn": str(mark.end)}
    given = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in fields.items())
    text = "\n".join([f"{found.where(each)}: {each.message}", *(f"{kind}: {text}" for kind, text in each.hints)])
    return f"::{_COMMANDS[each.level]} {given}::{_escaped(text)}"


def _escaped(text: str, more: str = "") -> str:
    """What ends a command or a field of one, as GitHub writes it: https://github.com/actions/toolkit, command.ts."""
    shown = visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    for sign in more:
        shown = shown.replace(sign, f"%{ord(sign):02X}")
    return shown
