"""`scanify check --format markdown`: a table for a pull request or a job summary."""

import re

from scanify.report.findings.finding import Finding, Findings
from scanify.report.visible import visible

# Characters with a special meaning in Markdown or on GitHub.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~@])")


def render(found: Findings) -> str:
    """Render a summary and, if there are findings, a table of them."""
    lines = [f"**scanify check:** {_text(found.sentence())}"]
    if found.items:
        lines += ["", "| where | rule | what |", "|---|---|---|", *(_row(found, each) for each in found.items)]
    return "".join(f"{line}\n" for line in lines)


def _row(found: Findings, each: Finding) -> str:
    said = [_text(each.message), *(f"<br>*{kind}:* {_text(text)}" for kind, text in each.hints)]
    return f"| {_text(found.where(each))} | {_text(each.rule)} | {''.join(said)} |"


def _text(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", visible(text)).replace("\n", "<br>").replace("\t", " ")
