"""The figures as JSON, as a Markdown table and as plots."""

import json
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
    return "\n".join(lines)


def _line(row: Figures, base: float | None) -> str:
    ratio = f"{row.step / base:.2f}" if row.step and base else "-"
    cells: list[Any] = [row.contender, row.policy, f"{row.stablehlo_lines:,}", f"{row.trace + row.lower:.2f}"]
    cells += [f"{row.compile:.2f}", f"{row.saved_bytes / 1e6:.1f}", f"{row.temp_bytes / 1e6:.1f}", ratio]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def plot(rows: Sequence[Figures], path: Path) -> None:
    """Compile seconds, program size and temporaries against the number of layers, a line for each way."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = {"compile": "compile, s", "stablehlo_lines": "StableHLO lines", "temp_bytes": "temporaries, bytes"}
    kinds = list(dict.fromkeys(row.sizes for row in rows))
    figure, axes = plt.subplots(len(kinds), len(shown), figsize=(14, 4.2 * len(kinds)), squeeze=False)
    for line, kind in zip(axes, kinds, strict=True):
        for axis, (field, title) in zip(line, shown.items(), strict=True):
            for name, policy in _shown_ways(rows):
                points = [(r.layers, getattr(r, field)) for r in rows if _is(r, kind, name, policy)]
                if points:
                    style = "--" if name != "scanify" else "-"
                    axis.plot(*zip(*sorted(points), strict=True), style, marker="o", ms=3, label=f"{name}, {policy}")
            axis.set(title=f"{title}, {kind} heavy", xlabel="layers", yscale="log")
            axis.grid(alpha=0.3)
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _shown_ways(rows: Sequence[Figures]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row.contender, row.policy) for row in rows if row.policy not in ("offload", "save_all")))


def _is(row: Figures, kind: str, name: str, policy: str) -> bool:
    return (row.sizes, row.contender, row.policy) == (kind, name, policy)
