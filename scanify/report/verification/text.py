"""A verification as text: a table of verdicts per case, the differences and their places, and a summary."""

import textwrap
from io import StringIO
from typing import Literal

from rich.console import Console
from rich.text import Text

from scanify.report.tables import print_line, print_table, table_for
from scanify.report.verification import losses, on_mesh
from scanify.report.verification.figures import LOOP, SHORT, backend, measured
from scanify.report.verification.remarks import Statement, advice, findings, notes, place, sides, statements
from scanify.report.verification.summary import about, ran_on, summary
from scanify.report.visible import visible
from scanify.verify.mesh.on_mesh import OnMesh
from scanify.verify.training.losses import Losses
from scanify.verify.verdict import CaseResult, Difference, Status, Verdict, Verification

_STYLES = {Status.PROVED: "green", Status.TESTED: "yellow", Status.FAILED: "bold red", Status.NOT_RUN: "magenta"}
_OUTPUT_LINES = 20


def print_verification(verification: Verification, console: Console) -> None:
    """Print the report on `console`, with colours and rules on a terminal and as plain ASCII elsewhere."""
    for case in verification.cases:
        _print_case(case, console)
    for name, said in advice(verification):
        _paragraph(console, Text("advice", style="cyan"), f": {name}{': ' if name else ''}{said}")
    _print_summary(verification, console)


def verification_text(verification: Verification, width: int = 80) -> str:
    """Render the report as plain text; tables and paragraphs are at most `width` characters wide."""
    stream = StringIO()
    print_verification(verification, Console(file=stream, width=width, force_terminal=False, color_system=None))
    return stream.getvalue()


def _print_case(case: CaseResult, console: Console) -> None:
    _print_heading(case, console)
    if case.error is not None:
        print_line(console, Text.assemble("  ", ("could not be verified", "bold red")))
        _raw(console, case.error, "    ")
    if case.policies:
        _print_table(case, console)
    for each in statements(case):
        _print_statement(each, console)
    if case.losses is not None:
        _print_losses(case.losses, console)
    if case.on_mesh is not None:
        _print_mesh(case.on_mesh, console)
    for head, style, texts in (("finding", "bold red", findings(case)), ("note", "cyan", notes(case))):
        for where, text in texts:
            _paragraph(console, Text(head, style=style), f"  {where}{': ' if where else ''}{text}")
    if case.output.strip() and not case.good:
        _print_output(case.output.rstrip("\n").splitlines(), console)
    print_line(console, Text(""))


def _print_heading(case: CaseResult, console: Console) -> None:
    """Print the case and its description on one line, or on separate lines if that is too long."""
    name, more = Text(case.case, style="bold"), about(case)
    if len(case.case) + 2 + len(more) <= console.width:
        print_line(console, Text.assemble(name, f"  {more}" if more else ""))
        return
    print_line(console, name)
    _paragraph(console, Text(""), more)


def _print_table(case: CaseResult, console: Console) -> None:
    figures = measured(case, SHORT)
    table = table_for(console)
    for title in ("remat", "outputs", "gradients"):
        table.add_column(title, no_wrap=title != "remat")
    for figure in figures:
        table.add_column(figure.heading, justify="right")
    if figures:
        table.add_row(LOOP, "", "", *(figure.text(case.original) or "-" for figure in figures))
    for policy in case.policies:
        verdicts = [_status(policy.outputs), _status(policy.gradients)]
        table.add_row(policy.policy, *verdicts, *(figure.text(policy.measured) or "-" for figure in figures))
    print_table(table, console)
    if figures:
        compiled = f"; compile: on {backend(case)}" if backend(case) is not None else ""
        _paragraph(console, Text("saved: kept from the forward to the backward pass" + compiled, style="dim"), "")


def _print_losses(found: Losses, console: Console) -> None:
    _paragraph(console, Text(losses.heading(found)), "")
    table = table_for(console)
    for title in losses.HEADINGS:
        table.add_column(title, justify="right" if title == "step" else "left")
    for row in losses.rows(found):
        table.add_row(*row)
    print_table(table, console)


def _print_mesh(found: OnMesh, console: Console) -> None:
    _paragraph(console, Text(on_mesh.heading(found)), "")
    table = table_for(console)
    for title in ("program", *on_mesh.HEADINGS[2:]):
        justify: Literal["left", "right"] = "right" if title in on_mesh.NUMBERS else "left"
        table.add_column(title, justify=justify, no_wrap=title != "collectives")
    for program, version, *sizes, collectives, moved in on_mesh.rows(found):
        table.add_row(f"{program} {version}", *sizes, "\n".join(collectives.split(", ")), moved)
    print_table(table, console)
    _paragraph(console, Text(on_mesh.LEGEND, style="dim"), "")


def _print_statement(said: Statement, console: Console) -> None:
    status = _status(said.verdict)
    if " " in said.what:  # With policies, the status comes first, as in a list.
        _paragraph(console, status, f"  {said.what}{': ' if said.why else ''}{said.why}")
    else:
        _paragraph(console, Text.assemble(f"{said.what} ", status), f"  {said.why}")
    _print_difference(said.difference, console)


def _print_difference(difference: Difference | None, console: Console) -> None:
    if difference is None:
        return
    _paragraph(console, Text("  first difference"), f": {difference.what}")
    shown = [(side, operation, place(operation) or "-") for side, operation in sides(difference)]
    width = max((len(where) for _, _, where in shown), default=0)
    for side, operation, where in shown:
        head = f"      {side:<6}  {where:<{width}}  "
        lines = textwrap.wrap(operation.text, max(24, console.width - len(head))) or [""]
        for number, line in enumerate(lines):
            print_line(console, Text((head if number == 0 else " " * len(head)) + line))


def _print_output(lines: list[str], console: Console) -> None:
    last = f" (the last {_OUTPUT_LINES} of {len(lines)} lines)" if len(lines) > _OUTPUT_LINES else ""
    print_line(console, Text(f"  the case printed{last}:"))
    _raw(console, "\n".join(lines[-_OUTPUT_LINES:]), "    | ")


def _print_summary(verification: Verification, console: Console) -> None:
    print_line(console, Text(ran_on(verification), style="dim"))
    head, rest = summary(verification)
    style = "bold green" if verification.good else "bold red"
    print_line(console, Text.assemble((head, style), "  ", rest))


def _status(verdict: Verdict) -> Text:
    return Text(verdict.status.value, style=_STYLES[verdict.status])


def _paragraph(console: Console, head: Text, rest: str) -> None:
    """Print a styled head and the rest, wrapped with a hanging indent."""
    text = Text.assemble(head, "\n".join(line for line in rest.splitlines() if line.strip()))
    for number, line in enumerate(text.wrap(console, max(24, console.width - 6))):
        line.rstrip()
        print_line(console, Text.assemble("  " + ("" if number == 0 else "    "), line))


def _raw(console: Console, text: str, prefix: str) -> None:
    """Print text of the user unchanged: without markup, wrapping or control characters."""
    for line in text.rstrip("\n").splitlines():
        print_line(console, Text(prefix + visible(line)))
