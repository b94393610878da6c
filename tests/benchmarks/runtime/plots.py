"""Three plots, each of one thing: `python -m tests.benchmarks.runtime.plots` makes them of docs/benchmarks/programs.json."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.runtime.measure import Figures

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "benchmarks"


@dataclass(frozen=True)
class Plot:
    """One figure of one kind of model against the number of layers; `ways` are contender, policy and colour."""

    name: str
    title: str
    field: str
    scale: float
    sizes: str
    ways: tuple[tuple[str, str, str], ...]


_TWO = (("loop", "none", "#222222"), ("scanify", "full", "#3182bd"))
PLOTS = (
    Plot("compile", "Seconds to compile the gradient (parameters dominate)", "compile", 1, "parameters", _TWO),
    Plot("lines", "Lines of StableHLO (parameters dominate)", "stablehlo_lines", 1, "parameters", _TWO),
    Plot(
        "memory",
        "Temporaries in MB (activations dominate)",
        "temp_bytes",
        1e-6,
        "activations",
        (
            ("loop", "none", "#222222"),
            ("scanify", "dots", "#fd8d3c"),
            ("scanify", "full", "#3182bd"),
            ("scanify", "nested", "#31a354"),
        ),
    ),
)


def plot(rows: Sequence[Figures], folder: Path) -> None:
    """Write one PNG for each plot into `folder`. Each line is named at its end."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for each in PLOTS:
        figure, axis = plt.subplots(figsize=(7, 3.6))
        for name, policy, colour in each.ways:
            mine = [row for row in rows if (row.sizes, row.contender, row.policy) == (each.sizes, name, policy)]
            points = sorted((row.layers, getattr(row, each.field) * each.scale) for row in mine)
            if points:
                axis.plot(*zip(*points, strict=True), color=colour, lw=2.4, marker="o", ms=5)
                label = name if name == "loop" else f"{name}, {policy}"
                axis.annotate(
                    label,
                    points[-1],
                    xytext=(8, -12 if policy == "nested" else -3),
                    textcoords="offset points",
                    color=colour,
                )
        axis.set_title(each.title, loc="left", fontsize=11)
        counts = sorted({row.layers for row in rows if row.sizes == each.sizes})
        axis.set(xlabel="layers", xticks=counts, ylim=(0, None))
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.25)
        figure.tight_layout()
        figure.savefig(folder / f"{each.name}.png", dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    kept = json.loads((FOLDER / "programs.json").read_text(encoding="utf-8"))["figures"]
    plot([Figures(**{**row, "steps": tuple(row["steps"])}) for row in kept], FOLDER)
