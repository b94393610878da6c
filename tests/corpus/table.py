"""The answers as a table, and each disagreement."""

from collections import Counter
from collections.abc import Sequence

from tests.corpus.compare import Answer

KINDS = ("fold", "scan", "map", "group", "ineligible", "not-layers")


def table(answers: Sequence[Answer]) -> str:
    """A row for each kind of label: how many there are, are listed, have the right kind, and are rewritable."""
    lines = [f"{'label':<12}{'loops':>7}{'listed':>8}{'right kind':>12}{'rewritable':>12}"]
    lines += [_row(kind, [one for one in answers if one.label.label == kind]) for kind in KINDS]
    lines.append(_row("eligible", [one for one in answers if one.label.eligible]))
    lines.append(_row("others", [one for one in answers if not one.label.eligible]))
    return "\n".join(lines)


def _row(name: str, mine: Sequence[Answer]) -> str:
    def share(count: int) -> str:
        return f"{count} {100 * count / len(mine):3.0f}%" if mine else "0"

    listed = sum(one.loop is not None for one in mine)
    right, rewritable = sum(one.right_kind for one in mine), sum(one.rewritable for one in mine)
    return f"{name:<12}{len(mine):>7}{listed:>8}{share(right):>12}{share(rewritable):>12}"


def needs(answers: Sequence[Answer]) -> str:
    """Of the eligible loops that are not rewritten: which capabilities they need, most wanted first."""
    missing = [one for one in answers if one.label.eligible and not one.rewritable]
    counts = Counter(need for one in missing for need in one.label.needs)
    alone = Counter(one.label.needs[0] for one in missing if len(one.label.needs) == 1)
    return "\n".join(f"{count:>5} {need} ({alone[need]} need nothing else)" for need, count in counts.most_common())


def disagreement(answer: Answer) -> str:
    """One disagreement in a few lines: the place, the label with its reason, and what was said instead."""
    label, loop = answer.label, answer.loop
    said = "not listed" if loop is None else f"{loop['status']} {loop['kind']} {loop['rule']}: {loop['reason'] or '-'}"
    wants = f" (needs {', '.join(label.needs)})" if label.needs else ""
    return f"{label.place}\n    label: {label.label}{wants}: {label.reason}\n    found: {said}"
