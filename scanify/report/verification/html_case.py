"""The section of one case in the page: differences and their places, findings, measurements, and printed output."""

import re
from collections.abc import Sequence

from scanify.report.verification import losses, on_mesh
from scanify.report.verification.figures import EVERY, LOOP, backend, measured, rows
from scanify.report.verification.html_plots import bar_plots
from scanify.report.verification.markup import Markup, join, tag, text
from scanify.report.verification.remarks import Statement, findings, notes, place, sides, statements, under
from scanify.report.verification.summary import about, in_seconds
from scanify.verify.mesh.on_mesh import OnMesh
from scanify.verify.training.losses import Losses
from scanify.verify.verdict import CaseResult, Difference, Status, Verdict

_SYMBOLS = {Status.PROVED: "✓", Status.TESTED: "≈", Status.FAILED: "✗", Status.NOT_RUN: "–"}
_PRINTED = 400


def case_section(number: int, case: CaseResult, *, fold: bool) -> Markup:
    """Render all results of a case, collapsed if `fold`; `number` makes ids in the page unique."""
    ident = f"case-{number}"
    heading = tag("h2", case.case, id=ident)
    more = about(case)
    parts = [] if fold else [heading, tag("p", more, class_="muted") if more else ""]
    if case.error is not None:
        parts += [
            tag("p", badge("failed", "✗", "could not be verified")),
            tag("pre", case.error, class_="message", tabindex="0"),
        ]
    parts += _verdicts(case)
    for head, kind, texts in (("Findings", "failed", findings(case)), ("Notes", "note", notes(case))):
        items = [tag("li", tag("strong", f"{where}: ") if where else "", prose(said)) for where, said in texts]
        parts += [tag("h3", head), tag("ul", *items, class_=kind)] if items else []
    parts += _measurements(ident, case)
    parts += [] if case.losses is None else _losses(case.losses)
    parts += [] if case.on_mesh is None else _mesh(case.on_mesh)
    parts += [_printed(case.output)] if case.output.strip() else []
    body = join(parts, "\n")
    if fold:
        body = tag("details", tag("summary", heading, " ", tag("span", more, class_="muted")), body, class_="case")
    return tag("section", body, aria_labelledby=ident, class_="folded" if fold else None)


def status(verdict: Verdict) -> Markup:
    """Show a status by symbol, word and colour."""
    kind = verdict.status.value.lower().replace(" ", "-")
    return badge(kind, _SYMBOLS[verdict.status], verdict.status.value)


def badge(kind: str, symbol: str, word: str) -> Markup:
    return tag("span", tag("span", symbol, aria_hidden="true"), f" {word}", class_=f"badge {kind}")


def prose(sentence: str) -> Markup:
    """Render a sentence with code in backticks; line ends are kept."""
    parts = re.split(r"`([^`]+)`", sentence.strip())
    return join(text(part) if at % 2 == 0 else tag("code", part) for at, part in enumerate(parts))


def _verdicts(case: CaseResult) -> list[Markup]:
    """List the statements on the verdicts, with plain proofs joined in one line."""
    said = statements(case)
    items = [_statement(each) for each in said if not each.plain]
    proved = [each.what for each in said if each.plain]
    if case.policies and not any(" " in each.what for each in said):
        policies = [policy.policy for policy in case.policies]
        proved.insert(0, f"outputs and gradients{under(policies, policies)}")
    if proved:
        items.append(tag("li", badge("proved", "✓", "PROVED"), " ", tag("strong", ", ".join(proved))))
    return [tag("ul", *items, class_="said")] if items else []


def _statement(said: Statement) -> Markup:
    why = join([": ", tag("span", prose(said.why), class_="why")]) if said.why else ""
    return tag("li", status(said.verdict), " ", tag("strong", said.what), why, _difference(said.difference))


def _difference(difference: Difference | None) -> Markup:
    if difference is None:
        return Markup("")
    lines = [
        tag(
            "tr",
            tag("th", side, scope="row"),
            tag("td", tag("code", place(operation) or "–"), class_="place"),
            tag("td", tag("code", operation.text)),
        )
        for side, operation in sides(difference)
    ]
    head = tag("tr", *(tag("th", name, scope="col") for name in ("version", "where", "operation")))
    table = tag(
        "table", tag("caption", "First difference: ", prose(difference.what)), tag("thead", head), tag("tbody", *lines)
    )
    return tag("div", table, class_="wide difference", role="region", aria_label="First difference", tabindex="0")


def _measurements(ident: str, case: CaseResult) -> list[Markup]:
    figures = measured(case, EVERY)
    parts: list[Markup] = []
    if figures:
        compiled = backend(case)
        parts.append(tag("h3", "Measurements"))
        told = "Saved: kept from the forward to the backward pass, read from the traced program."
        told += f" Compiled for {compiled}." if compiled is not None else ""
        parts.append(tag("p", told, class_="muted"))
        parts.append(bar_plots(ident, case))
        heads = [tag("th", "remat", scope="col"), *(tag("th", each.heading, scope="col") for each in figures)]
        body = [
            tag("tr", tag("th", label, scope="row"), *(tag("td", each.text(row) or "–") for each in figures))
            for label, row in rows(case)
        ]
        table = tag(
            "table",
            tag("caption", f"All measurements; {LOOP} is the original", class_="hidden"),
            tag("thead", tag("tr", *heads)),
            tag("tbody", *body),
            class_="figures",
        )
        box = tag("div", table, class_="wide", role="region", aria_label="All measurements", tabindex="0")
        parts.append(tag("details", tag("summary", "All measurements in numbers"), box))
    parts += [_steps(case.seconds)] if case.seconds else []
    return parts


def _losses(found: Losses) -> list[Markup]:
    body = [
        tag("tr", tag("th", step, scope="row"), *(tag("td", cell) for cell in cells))
        for step, *cells in losses.rows(found)
    ]
    return _section(losses.heading(found), losses.HEADINGS, body)


def _mesh(found: OnMesh) -> list[Markup]:
    body = [
        tag("tr", tag("th", f"{program} {version}", scope="row", colspan="2"), *(tag("td", cell) for cell in cells))
        for program, version, *cells in on_mesh.rows(found)
    ]
    return _section(on_mesh.heading(found), on_mesh.HEADINGS, body, tag("p", f"{on_mesh.LEGEND}.", class_="muted"))


def _section(title: str, headings: Sequence[str], body: Sequence[Markup], *legend: Markup) -> list[Markup]:
    """A table below its title."""
    heads = [tag("th", each, scope="col") for each in headings]
    table = tag(
        "table",
        tag("caption", title, class_="hidden"),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *body),
        class_="figures",
    )
    box = tag("div", table, class_="wide", role="region", aria_label=title, tabindex="0")
    return [tag("h3", title[0].upper() + title[1:]), *legend, box]


def _steps(seconds: Sequence[tuple[str, float]]) -> Markup:
    lines = [tag("tr", tag("th", step, scope="row"), tag("td", in_seconds(took))) for step, took in seconds]
    head = tag("tr", tag("th", "step", scope="col"), tag("th", "seconds", scope="col"))
    table = tag(
        "table",
        tag("caption", "Seconds by step", class_="hidden"),
        tag("thead", head),
        tag("tbody", *lines),
        class_="figures",
    )
    return tag("details", tag("summary", "What the verification itself took"), table)


def _printed(output: str) -> Markup:
    lines = output.rstrip("\n").split("\n")
    last = f" (the last {_PRINTED} of {len(lines):,} lines)" if len(lines) > _PRINTED else ""
    shown = tag("pre", "\n".join(lines[-_PRINTED:]), tabindex="0")
    return tag("details", tag("summary", f"What the case printed{last}"), shown)
