"""The figures as plots: ours in colour, what it is compared with in grey and dashed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.runtime.measure import Figures


@dataclass(frozen=True)
class Panel:
    """One figure against the number of layers: the field, what stands above it, its unit, and the ways that are shown."""

    field: str
    title: str
    scale: float
    ways: tuple[tuple[str, str], ...]


PANELS = (
    Panel(
        "compile",
        "compile the gradient, s",
        1,
        (("loop", "none"), ("haliax", "full"), ("by hand", "full"), ("scanify", "full"), ("scanify", "nested")),
    ),
    Panel(
        "stablehlo_lines", "StableHLO lines", 1, (("loop", "none"), ("haliax", "full"), ("scanify", "full"))
    ),
    Panel(
        "temp_bytes",
        "temporaries, MB",
        1e-6,
        (
            ("loop", "none"),
            ("haliax", "none"),
            ("haliax", "nested"),
            ("eqx.internal", "checkpointed"),
            ("scanify", "none"),
            ("scanify", "dots"),
            ("scanify", "full"),
            ("scanify", "nested"),
        ),
    ),
)  # fmt: skip
_OURS = {"none": "#9ecae1", "dots": "#fd8d3c", "full": "#3182bd", "nested": "#31a354"}
_OTHERS = {"loop": ("#222222", "o"), "haliax": ("#888888", "s"), "by hand": ("#888888", "^"), "eqx.internal": ("#aaaaaa", "d")}  # fmt: skip
_DASHES = {"none": "--", "full": "-.", "nested": ":", "checkpointed": "-."}


def plot(rows: Sequence[Figures], path: Path) -> None:
    """Compile seconds, program size and temporaries against the number of layers, a row of panels for each size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    kinds = list(dict.fromkeys(row.sizes for row in rows))
    figure, grid = plt.subplots(len(kinds), len(PANELS), figsize=(15, 4.0 * len(kinds)), squeeze=False)
    for axes, kind in zip(grid, kinds, strict=True):
        for axis, panel in zip(axes, PANELS, strict=True):
            mine = [row for row in rows if row.sizes == kind]
            for way in panel.ways:
                _line(axis, [row for row in mine if (row.contender, row.policy) == way], panel)
            counts = sorted({row.layers for row in mine})
            axis.set(title=f"{panel.title}, {kind} heavy", xlabel="layers", yscale="log", xticks=counts)
            axis.spines[["top", "right"]].set_visible(False)
            axis.grid(alpha=0.25)
            beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if axis is axes[-1] else {}
            axis.legend(fontsize=7, frameon=False, **beside)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _line(axis: Any, rows: Sequence[Figures], panel: Panel) -> None:
    if not rows:
        return
    name, policy = rows[0].contender, rows[0].policy
    points = sorted((row.layers, getattr(row, panel.field) * panel.scale) for row in rows)
    label = f"{name}, {policy}"
    if name == "scanify":
        axis.plot(*zip(*points, strict=True), color=_OURS[policy], lw=2.6, marker="o", ms=5, label=label, zorder=3)
        return
    colour, marker = _OTHERS[name]
    axis.plot(*zip(*points, strict=True), _DASHES[policy], color=colour, lw=1.2, marker=marker, ms=4, label=label)
