"""A verification as text: a table of verdicts a case, what differs and where, and one line that sums up."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from scanify.verify.limits import human_bytes
from scanify.verify.verdict import (
    CaseResult,
    Difference,
    Measurement,
    Operation,
    PolicyResult,
    Status,
    Verdict,
    Verification,
)
from scanify.verify.words import FIRST_DIFFERENCE, show_difference

_STYLES = {Status.PROVED: "green", Status.TESTED: "yellow", Status.FAILED: "bold red", Status.NOT_RUN: "magenta"}
_LOOP = "(loop)"
_OUTPUT_LINES = 20

# The figures a reader compares with the loop's; the JSON report has all of them.
_FIGURES: tuple[tuple[str, Callable[[Measurement], str | None]], ...] = (
    ("saved", lambda m: None if m.saved_bytes is None else human_bytes(m.saved_bytes)),
    ("StableHLO lines", lambda m: None if m.stablehlo_lines is None else f"{m.stablehlo_lines:,}"),
    ("compile", lambda m: None if m.compile_seconds is None else _seconds(m.compile_seconds)),
)


def print_verification(verification: Verification, console: Console) -> None:
    """Print the report on `console`: with colours and rules on a terminal, as plain ASCII otherwise."""
    for case in verification.cases:
        _print_case(case, console)
    _print_summary(verification, console)


def verification_text(verification: Verification, width: int = 80) -> str:
    """The report as plain text; tables and paragraphs are `width` characters wide at most."""
    stream = StringIO()
    print_verification(verification, Console(file=stream, width=width, force_terminal=False, color_system=None))
    return stream.getvalue()


def _print_case(case: CaseResult, console: Console) -> None:
    _line(console, Text(case.case, style="bold"))
    if case.error is not None:
        _line(console, Text.assemble("  ", ("could not be verified", "bold red")))
        _raw(console, case.error, "    ")
    if case.policies:
        _print_table(case, console)
    if case.parameters is not None:
        _print_parameters(case.parameters, console)
    _print_remarks(case.policies, console)
    _print_findings(case, console)
    if case.output.strip() and not case.good:
        _print_output(case.output.rstrip("\n").splitlines(), console)
    _line(console, Text(""))


def _print_table(case: CaseResult, console: Console) -> None:
    rows = [case.original, *(policy.measured for policy in case.policies)]
    figures = [(title, show) for title, show in _FIGURES if any(show(row) is not None for row in rows)]
    table = Table(box=box.SIMPLE_HEAD if console.is_terminal else _PLAIN, padding=(0, 1), show_edge=False)
    for title in ("remat", "outputs", "gradients"):
        table.add_column(title, no_wrap=title != "remat")
    for title, _ in figures:
        table.add_column(title, justify="right")
    if figures:
        table.add_row(_LOOP, "", "", *(show(case.original) or "-" for _, show in figures))
    for policy in case.policies:
        verdicts = [_status(policy.outputs), _status(policy.gradients)]
        table.add_row(policy.policy, *verdicts, *(show(policy.measured) or "-" for _, show in figures))
    for segments in console.render_lines(Padding(table, (0, 0, 0, 1), expand=False), pad=False):
        line = Text.assemble(*((segment.text, segment.style or "") for segment in segments))
        line.rstrip()
        _line(console, line)
    if figures:
        backend = f"; compile: on {case.original.backend}" if case.original.backend is not None else ""
        _paragraph(console, Text("saved: kept from the forward to the backward pass" + backend, style="dim"), "")


# A header line, a rule under it, and columns apart by spaces: nothing that a log viewer could garble.
_PLAIN = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


def _print_parameters(verdict: Verdict, console: Console) -> None:
    says = {
        Status.PROVED: "both versions start from the same parameters",
        Status.TESTED: "both versions start from parameters that agree numerically",
        Status.FAILED: "the versions start from different parameters",
        Status.NOT_RUN: "the initial parameters were not compared",
    }[verdict.status]
    _paragraph(console, Text.assemble("parameters ", _status(verdict)), f"  {_reason(verdict) or says}")
    _print_difference(verdict.difference, console)


@dataclass
class _Remark:
    """A verdict that is not plainly PROVED, and the policies under which the outputs, or the gradients, have it."""

    verdict: Verdict
    outputs: list[str] = field(default_factory=list)
    gradients: list[str] = field(default_factory=list)

    def where(self, policies: list[str]) -> str:
        held = {"outputs": self.outputs, "gradients": self.gradients}
        under = {what: _under(some, policies) for what, some in held.items() if some}
        if len(set(under.values())) == 1:
            return " and ".join(under) + next(iter(under.values()))
        return "; ".join(what + some for what, some in under.items())


def _print_remarks(policies: Sequence[PolicyResult], console: Console) -> None:
    """What there is to say on the verdicts, each once."""
    remarks: dict[Verdict, _Remark] = {}
    for policy in policies:
        for what, verdict in (("outputs", policy.outputs), ("gradients", policy.gradients)):
            if verdict.status is not Status.PROVED or verdict.reason:
                remark = remarks.setdefault(verdict, _Remark(verdict))
                getattr(remark, what).append(policy.policy)
    wrong = {policy.policy for policy in policies if policy.outputs.difference is not None}
    for verdict, remark in remarks.items():
        reason = _reason(verdict)
        where = remark.where([policy.policy for policy in policies])
        _paragraph(console, _status(verdict), f"  {where}{': ' if reason else ''}{reason}")
        if remark.outputs or not wrong.issuperset(remark.gradients):  # Where outputs differ, gradients differ in turn.
            _print_difference(verdict.difference, console)


def _reason(verdict: Verdict) -> str:
    """The reason without the difference, which has lines of its own."""
    if verdict.difference is None:
        return verdict.reason
    shown = FIRST_DIFFERENCE + show_difference(verdict.difference)
    return verdict.reason.replace(f"; {shown}", "").replace(f" ({shown})", "").replace(shown, "").strip("; ")


def _under(some: list[str], names: list[str]) -> str:
    if len(names) > 1 and len(some) == len(names):
        return " under every policy"
    return f" under {', '.join(some)}"


def _print_difference(difference: Difference | None, console: Console) -> None:
    if difference is None:
        return
    _paragraph(console, Text("  first difference"), f": {difference.what}")
    sides = [("before", difference.before), ("after", difference.after)]
    shown = [(side, operation, _place(operation)) for side, operation in sides if operation is not None]
    width = max((len(place) for _, _, place in shown), default=0)
    for side, operation, place in shown:
        head = f"      {side:<6}  {place:<{width}}  "
        lines = textwrap.wrap(operation.text, max(24, console.width - len(head))) or [""]
        for number, line in enumerate(lines):
            _line(console, Text((head if number == 0 else " " * len(head)) + line))


def _place(operation: Operation) -> str:
    file = "" if operation.file is None else operation.file + (f":{operation.line}" if operation.line else "")
    return (
        " ".join(part for part in (file, "" if operation.layer is None else f"layer {operation.layer}") if part) or "-"
    )


def _print_findings(case: CaseResult, console: Console) -> None:
    for finding in case.findings:
        _paragraph(console, Text("finding", style="bold red"), f"  {finding}")
    _print_by_policy("finding", "bold red", {p.policy: p.findings for p in case.policies}, console)
    _print_by_policy("note", "cyan", {p.policy: p.notes for p in case.policies}, console)


def _print_by_policy(head: str, style: str, texts: Mapping[str, Sequence[str]], console: Console) -> None:
    """Each text once, with the policies it holds under."""
    held: dict[str, list[str]] = {}
    for policy, some in texts.items():
        for text in some:
            held.setdefault(text, []).append(policy)
    for text, policies in held.items():
        _paragraph(console, Text(head, style=style), f" {_under(policies, list(texts))}: {text}")


def _print_output(lines: list[str], console: Console) -> None:
    last = f" (the last {_OUTPUT_LINES} of {len(lines)} lines)" if len(lines) > _OUTPUT_LINES else ""
    _line(console, Text(f"  the case printed{last}:"))
    _raw(console, "\n".join(lines[-_OUTPUT_LINES:]), "    | ")


def _print_summary(verification: Verification, console: Console) -> None:
    ran = ", ".join(f"{name} {version}" for name, version in verification.versions)
    total = sum(seconds for case in verification.cases for step, seconds in case.seconds if step == "total")
    _line(console, Text(f"{ran}{'; ' if ran else ''}{_seconds(total)}", style="dim"))
    head, rest = _summary(verification)
    style = "bold green" if verification.good else "bold red"
    _line(console, Text.assemble((head, style), "  ", rest))


def _summary(verification: Verification) -> tuple[str, str]:
    cases = verification.cases
    bad = [case for case in cases if not case.good]
    if not cases:
        return "NOT VERIFIED", "there was no case"
    if bad:
        failed = any(verdict.status is Status.FAILED for case in bad for verdict in _verdicts(case))
        names = ", ".join(case.case for case in bad)
        return "FAILED" if failed else "NOT VERIFIED", f"{len(bad)} of {_count(len(cases), 'case')}: {names}"
    policies = len({policy.policy for case in cases for policy in case.policies})
    scope = f"{_count(len(cases), 'case')}, {_count(policies, 'remat policy')}"
    tested = sum(verdict.status is Status.TESTED for case in cases for verdict in _verdicts(case))
    if tested:
        every = sum(len(_verdicts(case)) for case in cases)
        return "VERIFIED", f"{scope}: {every - tested} of {every} verdicts proved, {tested} tested numerically"
    return "PROVED", f"{scope}: equal for all inputs of these shapes and dtypes"


def _verdicts(case: CaseResult) -> list[Verdict]:
    both = [verdict for policy in case.policies for verdict in (policy.outputs, policy.gradients)]
    return both if case.parameters is None else [case.parameters, *both]


def _count(count: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s" if seconds < 100 else f"{seconds:.0f} s"


def _status(verdict: Verdict) -> Text:
    return Text(verdict.status.value, style=_STYLES[verdict.status])


def _paragraph(console: Console, head: Text, rest: str) -> None:
    """A head in its style and the rest, wrapped, the second line on a little further in."""
    text = Text.assemble(head, "\n".join(line for line in rest.splitlines() if line.strip()))
    for number, line in enumerate(text.wrap(console, max(24, console.width - 6))):
        line.rstrip()
        _line(console, Text.assemble("  " + ("" if number == 0 else "    "), line))


def _raw(console: Console, text: str, prefix: str) -> None:
    """The user's own text, as it is: neither markup nor wrapping may change it."""
    for line in text.rstrip("\n").splitlines():
        _line(console, Text(prefix + line))


def _line(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=True, highlight=False)
