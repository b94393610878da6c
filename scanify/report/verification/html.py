"""A verification as a self-contained page: no scripts, no network access, inline style and plots."""

import re
from collections.abc import Sequence
from dataclasses import replace

from scanify.report.page import page
from scanify.report.unified import FileDiff, files_of
from scanify.report.verification.html_case import case_section, prose, status
from scanify.report.verification.html_plots import sweep_section
from scanify.report.verification.markup import Markup, join, tag
from scanify.report.verification.remarks import advice
from scanify.report.verification.summary import about, once, ran_on, summary
from scanify.report.verification.sweep import sweeps
from scanify.verify.verdict import CaseResult, Verdict, Verification

_SYMBOLS = {"PROVED": "✓", "VERIFIED": "✓", "FAILED": "✗", "NOT VERIFIED": "!"}
_ONCE = ("parameters", "tangents", "batched", "keys", "updates", "training", "depth")
_COLUMNS = ("remat", "outputs", "gradients", *_ONCE)
_MEANINGS = (
    ("PROVED", "equal for all inputs of these shapes and dtypes: both programs compute the same operations"),
    ("TESTED", "agrees numerically on many inputs, not proved"),
    ("FAILED", "differs"),
    ("NOT RUN", "nothing was shown"),
    ("parameters", "both versions start from equal parameters for any random key"),
    ("remat", "what is kept from the forward to the backward pass, and what is computed again"),
    ("outputs, gradients", "what the model returns, and the derivatives with respect to parameters and inputs (vjp)"),
    ("tangents", "forward derivatives (jvp)"),
    ("batched", "the outputs under vmap"),
    ("keys", "no random key is used more than once"),
    ("updates", "the parameters after one step with the optimiser of the case"),
    ("training", "the losses of both versions in training, as far as rounding lets them be equal"),
    ("depth", "NOT RUN if a rewritten loop runs fewer than two iterations, which shows nothing of a scan"),
)
_LINES = 5_000
# With more cases than this, good cases are shown in short form.
_MANY = 3
# Policies that should save the same values as a scan without remat.
_SAVE_ALL = ("none", "save_all")


def verification_html(verification: Verification) -> str:
    """Render the page, to be written as UTF-8."""
    head, rest = summary(verification)
    banner = tag(
        "header",
        tag("p", "scanify verify", class_="eyebrow"),
        tag("h1", tag("span", _SYMBOLS[head], aria_hidden="true", class_="symbol"), " ", head),
        tag("p", rest, class_="lead"),
        tag("p", ran_on(verification), class_="muted"),
        class_="good" if verification.good else "bad",
    )
    # Failures come first.
    cases = sorted(verification.cases, key=lambda case: case.good)
    many = len(cases) > _MANY
    sections = [case_section(number, case, fold=many and case.good) for number, case in enumerate(cases, 1)]
    bad = sum(not case.good for case in cases)
    parts = [banner]
    parts += [_verdicts(cases, many=many)] if cases else []
    parts += sections[:bad]
    parts += [sweep_section(number, group) for number, group in enumerate(sweeps(verification.cases), 1)]
    parts += sections[bad:]
    parts += _advice(verification)
    if verification.diff.strip():
        parts.append(_diff(files_of(verification.diff)))
    parts.append(_versions(verification))
    return page(f"{head}: scanify verify", tag("main", join(parts, "\n"))) + "\n"


def _verdicts(cases: Sequence[CaseResult], *, many: bool) -> Markup:
    heads = [tag("th", name, scope="col") for name in ("case", *_COLUMNS)]
    table = tag(
        "table",
        tag("caption", "Verdicts by case and remat policy", class_="hidden"),
        tag("thead", tag("tr", *heads)),
        *(_group(number, case, short=many) for number, case in enumerate(cases, 1)),
        class_="verdicts",
    )
    terms = [tag("div", tag("dt", name), tag("dd", meaning)) for name, meaning in _MEANINGS]
    return tag(
        "section",
        tag("h2", "Verdicts", id="verdicts"),
        scrolled(table, "Verdicts by case and remat policy"),
        tag("details", tag("summary", "What the words mean"), tag("dl", *terms, class_="terms")),
        aria_labelledby="verdicts",
    )


def _group(number: int, case: CaseResult, *, short: bool) -> Markup:
    """Render a row per policy; verdicts that hold for all policies span the rows.

    With `short`, one row covers all policies if their verdicts are equal.
    """
    more = tag("span", about(case), class_="muted") if about(case) else ""
    name = join([tag("a", _breakable(case.case), href=f"#case-{number}"), more])
    policies = case.policies
    if short and len({(each.outputs.status, each.gradients.status) for each in policies}) == 1:
        every = f"all {len(policies)}" if len(policies) > 1 else policies[0].policy
        policies = (replace(policies[0], policy=every, changed=None),)
    span = max(1, len(policies))
    head = tag("th", name, scope="rowgroup", rowspan=span)
    if not case.policies:
        why = "could not be verified" if case.error is not None else "nothing was compared"
        return tag("tbody", tag("tr", head, tag("td", tag("span", why, class_="badge failed"), colspan=len(_COLUMNS))))
    whole = {name: tag("td", _cell(verdict), rowspan=span) for name, verdict in _whole(case).items()}
    rows: list[Markup] = []
    for at, policy in enumerate(policies):
        first = at == 0
        idle = policy.changed is False and policy.policy not in _SAVE_ALL
        effect = tag("span", "no effect", class_="muted") if idle else ""
        own = [
            tag("th", policy.policy, effect, scope="row"),
            tag("td", status(policy.outputs)),
            tag("td", status(policy.gradients)),
        ]
        rows.append(
            tag(
                "tr",
                *([head] if first else []),
                *own,
                *(whole.values() if first else []),
            )
        )
    return tag("tbody", *rows)


def _breakable(name: str) -> Markup:
    """A name that may be wrapped after `/`, `:`, `.` and `_`."""
    return join([tag("wbr") if part == "" else part for part in re.split(r"(?<=[/:._])()", name)])


def _whole(case: CaseResult) -> dict[str, Verdict | None]:
    empty: dict[str, Verdict | None] = dict.fromkeys(_ONCE)
    return empty | dict(once(case))


def _cell(verdict: Verdict | None) -> Markup:
    if verdict is None:
        return tag(
            "span", tag("span", "–", aria_hidden="true"), tag("span", "not compared", class_="hidden"), class_="muted"
        )
    return status(verdict)


def scrolled(table: Markup, name: str) -> Markup:
    """A table that scrolls by itself on a narrow page and can be focused with the keyboard."""
    return tag("div", table, class_="wide", role="region", aria_label=name, tabindex="0")


def _advice(verification: Verification) -> list[Markup]:
    """List where scanning does not pay, if advice was requested."""
    items = [tag("li", tag("strong", f"{name}: ") if name else "", prose(said)) for name, said in advice(verification)]
    if not items:
        return []
    return [tag("section", tag("h2", "Advice", id="advice"), tag("ul", *items), aria_labelledby="advice")]


def _diff(files: Sequence[FileDiff]) -> Markup:
    shown = []
    for file in files:
        lines = [tag("span", _said(kind), text or " ", class_=kind) for kind, text in file.lines[:_LINES]]
        left = len(file.lines) - _LINES
        more = tag("p", f"{left:,} more lines are not shown.", class_="muted") if left > 0 else ""
        counts = tag("span", f"+{file.count('added')} −{file.count('removed')}", class_="muted")
        body = tag(
            "pre", tag("code", *lines), class_="diff", tabindex="0", role="region", aria_label=f"Diff of {file.name}"
        )
        shown.append(tag("details", tag("summary", tag("code", file.name), " ", counts), body, more, open=True))
    return tag("section", tag("h2", "The change that was verified", id="diff"), *shown, aria_labelledby="diff")


def _said(kind: str) -> Markup:
    """The prefix by which a screen reader tells added lines from removed ones."""
    return tag("span", f"{kind}: ", class_="hidden") if kind in ("added", "removed") else Markup("")


def _versions(verification: Verification) -> Markup:
    rows = [tag("tr", tag("th", name, scope="row"), tag("td", version)) for name, version in verification.versions]
    if not rows:
        return Markup("")
    table = tag("table", tag("caption", "Versions that the cases ran on", class_="hidden"), tag("tbody", *rows))
    return tag("section", tag("h2", "Versions", id="versions"), table, aria_labelledby="versions")
