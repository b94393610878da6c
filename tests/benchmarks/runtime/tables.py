"""The figures as JSON and as Markdown tables."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.runtime.measure import Figures


def write_json(rows: Sequence[Figures], machine: dict[str, str], path: Path) -> None:
    path.write_text(json.dumps({"machine": machine, "figures": [row.row() for row in rows]}, indent=1) + "\n")


def markdown(rows: Sequence[Figures], machine: dict[str, str]) -> str:
    """One table per sizes and number of layers; steps as ratios to the loop's, or to the first row's without one."""
    lines = [
        "# What a stack of layers costs",
        "",
        "The gradient of a sum of squares, on " + ", ".join(machine.values()),
    ]
    lines += ["", "Printed by `make bench`. Bytes in MB (10^6); `saved` is read from the jaxpr, `temp` is XLA's.", ""]
    for sizes, count in dict.fromkeys((row.sizes, row.layers) for row in rows):
        group = [row for row in rows if (row.sizes, row.layers) == (sizes, count)]
        base = next((row.step for row in group if row.contender == "loop"), None) or group[0].step
        lines += [f"## {count} layers, {sizes} heavy", ""]
        lines += ["| | remat | StableHLO lines | trace + lower s | compile s | saved MB | temp MB | step |"]
        lines += ["|---|---|---:|---:|---:|---:|---:|---:|"]
        lines += [_line(row, base) for row in group] + [""]
    return "\n".join([*lines, ratios(rows)])


def _line(row: Figures, base: float | None) -> str:
    ratio = f"{row.step / base:.2f}" if row.step and base else "-"
    cells: list[Any] = [row.contender, row.policy, f"{row.stablehlo_lines:,}", f"{row.trace + row.lower:.2f}"]
    cells += [f"{row.compile:.2f}", f"{row.saved_bytes / 1e6:.1f}", f"{row.temp_bytes / 1e6:.1f}", ratio]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def ratios(rows: Sequence[Figures]) -> str:
    """What the figures say of ours, a row for each size and number of layers; below 1 is better for ours."""
    lines = [
        "## Ours against the others",
        "",
        "A dash where one of the two was not run. Of steps the median of the ratios within a round; the last is the largest of all policies.",
        "",
    ]
    lines += ["| layers | heavy in | " + " | ".join(_RATIOS) + " | same program as by hand |"]
    lines += ["|---:|---|" + "---:|" * len(_RATIOS) + "---|"]
    for sizes, count in dict.fromkeys((row.sizes, row.layers) for row in rows):
        found = {(row.contender, row.policy): row for row in rows if (row.sizes, row.layers) == (sizes, count)}
        cells = [_ratio(found, field, pairs) for field, pairs in _RATIOS.values()]
        cells.append(", ".join(policy for policy in _BY_HAND if _same_program(found, policy)) or "-")
        lines.append(f"| {count} | {sizes} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


_Way = tuple[str, str]
_LOOP = ("loop", "none")
_BY_HAND = ("none", "full", "nested", "save_all", "dots")
_RATIOS: dict[str, tuple[str, tuple[tuple[_Way, _Way], ...]]] = {
    "compile, full / loop": ("compile", ((("scanify", "full"), _LOOP),)),
    "temp, none / by hand": ("temp_bytes", ((("scanify", "none"), ("by hand", "none")),)),
    "temp, full / by hand": ("temp_bytes", ((("scanify", "full"), ("by hand", "full")),)),
    "temp, nested / full": ("temp_bytes", ((("scanify", "nested"), ("scanify", "full")),)),
    "temp, nested / haliax nested": ("temp_bytes", ((("scanify", "nested"), ("haliax", "nested")),)),
    "step, nested / full": ("step", ((("scanify", "nested"), ("scanify", "full")),)),
    "temp, dots / loop": ("temp_bytes", ((("scanify", "dots"), _LOOP),)),
    "step, dots / loop": ("step", ((("scanify", "dots"), _LOOP),)),
    "step, ours / by hand": ("step", tuple((("scanify", policy), ("by hand", policy)) for policy in _BY_HAND)),
}


def _ratio(found: dict[_Way, Figures], field: str, pairs: Sequence[tuple[_Way, _Way]]) -> str:
    known = [
        (_quotient(found[ours], found[other], field), ours[1])
        for ours, other in pairs
        if ours in found and other in found and (field != "step" or found[ours].steps)
    ]
    if not known:
        return "-"
    ratio, policy = max(known)
    return f"{ratio:.3f}" + (f" ({policy})" if len(pairs) > 1 else "")


def _quotient(ours: Figures, other: Figures, field: str) -> float:
    """Of steps the median of the ratios within a round, which saw the same machine."""
    if field == "step":
        return statistics.median(mine / theirs for mine, theirs in zip(ours.steps, other.steps, strict=True))
    return float(getattr(ours, field) / getattr(other, field))


def _same_program(found: dict[_Way, Figures], policy: str) -> bool:
    ours, by_hand = found.get(("scanify", policy)), found.get(("by hand", policy))
    return ours is not None and by_hand is not None and ours.program == by_hand.program
