"""`scanify check --format concise`: one line per finding, for editors and grep."""

from scanify.report.findings.finding import SKIPPED, Finding, Findings
from scanify.report.findings.style import Style
from scanify.report.visible import visible


def render(found: Findings) -> str:
    """Render one line per finding and a summary."""
    lines = [head(found, each) for each in found.items]
    return "".join(f"{line}\n" for line in [*lines, *([found.sentence()] if found.summary else [])])


def head(found: Findings, each: Finding) -> str:
    """`model.py:12: SCN101 loop over self.layers can be a fold ...`."""
    style = Style(colour=found.colour)
    rule = "" if each.rule == SKIPPED else f"{style.level(each.rule, each.level)} "
    return f"{style.bold(visible(found.where(each)))}: {rule}{visible(each.message)}"
