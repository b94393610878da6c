"""`scanify check --statistics`: the number of findings per rule."""

import json
from collections import Counter

from scanify.report.findings.finding import SKIPPED, Findings
from scanify.rules import find_rule


def render(found: Findings, form: str) -> str:
    """Render one line per rule, most frequent first, or an array of objects if `form` is "json"."""
    counts = sorted(Counter(each.rule for each in found.items).items(), key=lambda each: (-each[1], each[0]))
    rows = [(count, rule, "a file was not read" if rule == SKIPPED else find_rule(rule).name) for rule, count in counts]
    if form == "json":
        made = [{"rule": rule, "name": name, "count": count} for count, rule, name in rows]
        return json.dumps(made, indent=2) + "\n"
    width = max((len(str(count)) for count, _, _ in rows), default=1)
    lines = [f"{count:>{width}}  {rule}  {name}" for count, rule, name in rows]
    return "".join(f"{line}\n" for line in [*lines, *([found.sentence()] if found.summary else [])])
