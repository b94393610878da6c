"""The rows as text for a terminal, as Markdown and as JSON."""

import json
from collections.abc import Sequence
from typing import Any

from scanify.verify.children.codec import to_json
from scanify.verify.verdict import Status
from tests.packages.row import REFUSED, Row, share

HEAD = ("package", "model", "how", "layers", "scanned", "verdicts")


def verdicts(row: Row) -> str:
    """`12 PROVED`, or `8 PROVED, 4 TESTED`: of outputs and gradients under each policy; or that the loop was refused."""
    if row.how == REFUSED:
        return "refused"
    counts = row.counts()
    return ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status]) or Status.NOT_RUN.value


def summary(rows: list[Row]) -> str:
    proved, all_of_them = share(rows)
    return f"{proved} of {all_of_them} verdicts PROVED ({100 * proved / max(all_of_them, 1):.1f}%), {len(rows)} rows"


def text(rows: list[Row], versions: Sequence[tuple[str, str]]) -> str:
    cells = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEAD))]
    lines = []
    for index, row in enumerate(cells):
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        lines += [f"    {reason}" for reason in _remarks(rows[index - 1])] if index else []
    return "\n".join([*lines, "", summary(rows), _versions(versions), ""])


def markdown(rows: list[Row], versions: Sequence[tuple[str, str]]) -> str:
    lines = [_line(HEAD), _line(["---"] * len(HEAD)), *(_line(_cells(row)) for row in rows)]
    remarks = [f"- {row.package} {row.model}, {row.how}: {each}" for row in rows for each in _remarks(row)]
    return "\n".join([*lines, "", f"{summary(rows)}; {_versions(versions)}.", "", *remarks, ""])


def as_json(rows: list[Row], versions: Sequence[tuple[str, str]]) -> str:
    proved, all_of_them = share(rows)
    document: dict[str, Any] = {
        "versions": dict(versions),
        "proved": proved,
        "verdicts": all_of_them,
        "rows": [{**to_json(row), "reasons": row.reasons()} for row in rows],
    }
    return json.dumps(document, indent=2) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    scanned = "" if row.result is None or row.result.layers is None else str(row.result.layers)
    return row.package, row.model, row.how, row.layers, scanned, verdicts(row)


def _remarks(row: Row) -> list[str]:
    return [*(first_lines(reason) for reason in row.reasons()), *row.notes]


def first_lines(reason: str) -> str:
    """A reason on one line; what users' code said may have many."""
    return " ".join(reason.split())[:400]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _versions(versions: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions)
