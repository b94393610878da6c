"""A verification as Markdown for a pull request: the verdict in one line, then the details."""

import re
from collections.abc import Sequence
from html import escape

from scanify.report.verification import losses, on_mesh
from scanify.report.verification.figures import COMPILE, LOOP, SAVED, STABLEHLO, STEP, TEMPORARIES, backend, measured
from scanify.report.verification.remarks import advice, findings, notes, place, sides, statements
from scanify.report.verification.summary import about, ran_on, summary, title
from scanify.report.visible import cut, visible
from scanify.verify.mesh.on_mesh import OnMesh
from scanify.verify.training.losses import Losses
from scanify.verify.verdict import CaseResult, Difference, Status, Verdict, Verification

# GitHub refuses comments of more than 65,536 characters.
LIMIT = 60_000
_SYMBOLS = {"PROVED": "✅", "VERIFIED": "✅", "FAILED": "❌", "NOT VERIFIED": "⚠️"}
_FIGURES = (SAVED, TEMPORARIES, STABLEHLO, COMPILE, STEP)
_SENTENCE, _MESSAGE, _HEADLINE = 1_500, 6_000, 1_000
# Room for the last lines and the notes on omitted parts.
_RESERVE = 2_000
_OPEN_CASES = 3


def verification_markdown(verification: Verification, limit: int = LIMIT) -> str:
    """Render GitHub Flavored Markdown of at most `limit` characters; parts that do not fit are cut, with a note.

    Text from elsewhere is escaped: it cannot create a link, mention a person or break a table. `limit` is at
    least 5,000.
    """
    head, rest = summary(verification)
    lines = f"**scanify verify: {_SYMBOLS[head]} {head}** {prose(rest, _HEADLINE)}\n"
    foot = f"\n<sub>{prose(ran_on(verification), _HEADLINE)}</sub>\n"
    room = limit - len(lines) - len(foot) - _RESERVE
    # Bad cases first, in case there is no room for all.
    ordered = sorted(verification.cases, key=lambda case: case.good)
    shown: list[str] = []
    for case in ordered:
        section = _case(case, fold=case.good and len(ordered) > _OPEN_CASES)
        if len(section) > room:
            break
        shown.append(section)
        room -= len(section)
    advised = _advice(verification, room)
    room -= len(advised)
    lines += "".join(shown)
    if len(shown) < len(ordered):
        left = f"{len(ordered) - len(shown)} of {len(ordered)} cases are left out here"
        lines += f"\n*{left}: the comment would be too long.*\n"
    lines += advised
    omitted = []
    for name, text, language in _long_texts(verification):
        details = _details(name, text, language, room)
        lines += details or ""
        room -= len(details or "")
        omitted += [] if details is not None else [name]
    if omitted:
        more = f" and {len(omitted) - 1} more" if len(omitted) > 1 else ""
        lines += f"\n*{prose(omitted[0], 200)}{more}: left out here, the comment would be too long.*\n"
    return lines + foot


def _advice(verification: Verification, room: int) -> str:
    """List where scanning does not pay, as far as there is room."""
    items = [f"- {code(name) + ': ' if name else ''}{prose(said)}\n" for name, said in advice(verification)]
    found = "\n**Advice**\n\n" if items else ""
    for item in items:
        if len(found) + len(item) > room:
            return found + "- *more, which would make the comment too long*\n"
        found += item
    return found


def prose(text: str, limit: int = _SENTENCE) -> str:
    """Render a sentence with code in backticks as one line of Markdown."""
    parts = re.split(r"`([^`]+)`", cut(" ".join(visible(text).split()), limit))
    return "".join(_escape(part) if at % 2 == 0 else code(part) for at, part in enumerate(parts))


def code(text: str) -> str:
    """Render `text` as inline code that also works in tables."""
    return f"<code>{_escape(' '.join(visible(text).split()))}</code>"


def _raw(text: str) -> str:
    """Render `text` as one line within an HTML element, where Markdown is not parsed."""
    return _inert(escape(" ".join(visible(text).split()), quote=False))


def _escape(text: str) -> str:
    return _inert(re.sub(r"([\\`*_\[\]{}~|!])", r"\\\1", escape(text, quote=False)))


def _inert(text: str) -> str:
    """Disable everything that GitHub links or renders in plain text: people, issues, URLs, emoji, mathematics."""
    inert = re.sub(r"@|#(?=\d)|://|(?<=www)\.|:(?=[\w+-]+:)", r"\g<0><!-- -->", text)
    return inert.replace("$", "<span>$</span>")


def _case(case: CaseResult, *, fold: bool) -> str:
    more = about(case)
    parts = []
    if case.error is not None:
        parts.append(f"**could not be verified**\n\n{_fenced(cut(visible(case.error), _MESSAGE), 'text')}")
    if case.policies:
        parts.append(_table(case))
    if case.losses is not None:
        parts.append(_losses(case.losses))
    if case.on_mesh is not None:
        parts.append(_mesh(case.on_mesh))
    parts.append("".join(f"- {item}\n" for item in _items(case)))
    body = "\n".join(part for part in parts if part)
    if fold:
        status = "TESTED" if any(v.status is Status.TESTED for v in _all(case)) else "PROVED"
        heading = f"<details><summary><code>{_raw(title(case))}</code>: {status}</summary>"
        return f"\n{heading}\n\n{body}\n</details>\n"
    heading = code(case.case) + (f" {_escape(visible(cut(more, _SENTENCE)))}" if more else "")
    return f"\n### {heading}\n\n{body}"


def _all(case: CaseResult) -> list[Verdict]:
    return [verdict for policy in case.policies for verdict in (policy.outputs, policy.gradients)]


def _table(case: CaseResult) -> str:
    figures = measured(case, _FIGURES)
    rows: list[Sequence[str]] = [["remat", "outputs", "gradients", *(figure.heading for figure in figures)]]
    if figures:
        rows.append([prose(LOOP), "", "", *(figure.text(case.original) or "" for figure in figures)])
    for policy in case.policies:
        verdicts = [_status(policy.outputs), _status(policy.gradients)]
        rows.append([code(policy.policy), *verdicts, *(figure.text(policy.measured) or "" for figure in figures)])
    table = _lines(["---"] * 3 + ["--:"] * len(figures), rows)
    if not figures:
        return table
    compiled = f"; compiled for {prose(str(backend(case)))}" if backend(case) is not None else ""
    return f"{table}\n<sub>saved: kept from the forward to the backward pass{compiled}</sub>\n"


def _lines(rule: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row is the heading."""
    return "".join(f"| {' | '.join(row)} |\n" for row in (rows[0], rule, *rows[1:]))


def _losses(found: Losses) -> str:
    table = _lines(["--:", "---", "---", "---"], [losses.HEADINGS, *losses.rows(found)])
    return f"{prose(losses.heading(found))}\n\n{table}"


def _mesh(found: OnMesh) -> str:
    rule = ["--:" if title in on_mesh.NUMBERS else "---" for title in on_mesh.HEADINGS]
    table = _lines(rule, [on_mesh.HEADINGS, *([prose(cell) for cell in row] for row in on_mesh.rows(found))])
    return f"{prose(on_mesh.heading(found))}\n\n{table}\n<sub>{prose(on_mesh.LEGEND)}</sub>\n"


def _status(verdict: Verdict) -> str:
    return verdict.status.value if verdict.status is Status.PROVED else f"**{verdict.status.value}**"


def _items(case: CaseResult) -> list[str]:
    proved = [each.what for each in statements(case) if each.plain]
    items = []
    for each in statements(case):
        if not each.plain:
            told = f"{prose(each.what)}: {prose(each.why)}" if each.why else prose(each.what)
            items.append(f"{_status(each.verdict)} {told}{_difference(each.difference)}")
    items += [f"PROVED {', '.join(proved)}"] if proved else []
    for head, texts in (("**finding**", findings(case)), ("note", notes(case))):
        items += [f"{head}{' ' if where else ''}{prose(where)}: {prose(text)}" for where, text in texts]
    return items


def _difference(difference: Difference | None) -> str:
    if difference is None:
        return ""
    lines = [f"first difference: {prose(difference.what)}"]
    for side, operation in sides(difference):
        at = place(operation)
        lines.append(
            f"{side} {code(cut(at, _SENTENCE))}: {code(cut(operation.text, _SENTENCE))}"
            if at
            else f"{side}: {code(cut(operation.text, _SENTENCE))}"
        )
    return "".join(f"\n  - {line}" for line in lines)


def _long_texts(verification: Verification) -> list[tuple[str, str, str]]:
    """The collapsed texts: a name, the text, and the language for highlighting."""
    texts = [
        (f"What {title(case)} printed", case.output, "text")
        for case in verification.cases
        if case.output.strip() and not case.good
    ]
    changed = [("The change that was verified", verification.diff, "diff")] if verification.diff.strip() else []
    return [*changed, *texts]


def _details(name: str, text: str, language: str, room: int) -> str | None:
    """Render a collapsed box with as many of the first lines as there is room for, or None if there is no room."""
    head = f"\n<details><summary>{_raw(cut(name, 200))}</summary>\n\n"
    tail = "\n</details>\n"
    lines = visible(text).rstrip("\n").split("\n")
    spare = room - len(head) - len(tail) - 2 * len(_fence(text)) - 100
    kept: list[str] = []
    for line in lines:
        spare -= len(line) + 1
        if spare < 0:
            break
        kept.append(line)
    if len(kept) == len(lines):
        return f"{head}{_fenced(text, language)}{tail}"
    if not kept:
        return None
    left = f"{len(lines) - len(kept):,} of {len(lines):,} lines are left out here."
    return f"{head}{_fenced(chr(10).join(kept), language)}\n*{left}*\n{tail}"


def _fenced(text: str, language: str) -> str:
    shown = visible(text).rstrip("\n")
    fence = _fence(shown)
    return f"{fence}{language}\n{shown}\n{fence}\n"


def _fence(text: str) -> str:
    """A fence longer than any run of backticks in the text."""
    return "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
