"""The table and the plot of a training."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from tests.training.run import Run, Size
from tests.training.version import VERSIONS


def table(runs: Mapping[str, Run], size: Size) -> str:
    """In Markdown. The differences are the largest of any step, relative to the loss of the loop with that optimiser."""
    rows = [
        "| version | start to first step | median step | temporaries | first loss | last loss | largest difference |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in VERSIONS:
        if each.name not in runs:
            continue
        one, loop = runs[each.name], runs[each.reference]
        apart = f"{difference(one, loop):.1e}" if one is not loop else ""
        rows.append(
            f"| {each.name} | {one.start:.1f} s | {one.step * 1e3:.0f} ms | {one.temporaries / 2**20:.1f} MiB "
            f"| {one.losses[0]:.4f} | {one.losses[-1]:.4f} | {apart} |"
        )
    rows += ["", said(size, next(iter(runs.values())).device)]
    return "\n".join(rows)


def difference(one: Run, loop: Run) -> float:
    return max(abs(a - b) / abs(b) for a, b in zip(one.losses, loop.losses, strict=True))


def said(size: Size, device: str) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("jax", "equinox", "optax"))
    return (
        f"{size.steps} steps of AdamW or LAMB with a mask; {size.layers} blocks of width {size.width}, dropout 0.1, "
        f"{size.batch} windows of {size.length} characters, float{64 if size.x64 else 32}, on {device}; "
        f"Python {platform.python_version()}, {packages}."
    )


def plot(runs: Mapping[str, Run], file: Path) -> None:
    """The loss over the seconds since the start, smoothed over 20 steps: how much sooner a scan is anywhere."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    shown = {"loop": "#444444", "scan, no remat": "#1f77b4", "scan, nested": "#d62728"}
    for name, colour in shown.items():
        if name not in runs:
            continue
        one = runs[name]
        smooth = [
            sum(part) / len(part) for at in range(len(one.losses)) if (part := one.losses[max(0, at - 19) : at + 1])
        ]
        axes.plot(one.times, smooth, color=colour, label=name, linewidth=1.6)
        axes.axvline(one.start, color=colour, linewidth=0.8, linestyle=":")
    axes.set_xlabel("seconds since the start (dotted: the first step is done)")
    axes.set_ylabel("loss, mean of 20 steps")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    axes.set_xlim(left=0)
    axes.set_ylim(2, 6)  # what a model that knows nothing begins with is above it
    figure.savefig(file, dpi=150)
