"""The plots of the page: each policy compared with the loop, and each over the number of layers."""

from collections.abc import Sequence

from scanify.report.verification.figures import LOOP, PLOTTED, measured, rows
from scanify.report.verification.markup import Markup, tag
from scanify.report.verification.plots_svg import Bar, Scale, bars, lines
from scanify.report.verification.sweep import fixed, series
from scanify.verify.verdict import CaseResult


def bar_plots(ident: str, case: CaseResult) -> Markup:
    """Draw a bar plot of each measured figure, with the loop first."""
    plots = []
    for number, figure in enumerate(measured(case, PLOTTED)):
        drawn = [
            Bar(label, figure.of(row), figure.text(row) or "not measured", reference=label == LOOP)
            for label, row in rows(case)
        ]
        plot = bars(f"{ident}-{number}", f"{figure.title}, by remat policy", drawn)
        plots.append(tag("figure", tag("figcaption", figure.title), plot))
    return tag("div", *plots, class_="plots")


def sweep_section(number: int, group: Sequence[CaseResult]) -> Markup:
    """Draw plots over the number of layers, for variants that differ in nothing else."""
    ident = f"layers-{number}"
    plots = []
    for at, figure in enumerate(PLOTTED):
        drawn = [each for each in series(group, figure) if len(each.points) > 1]
        if drawn:
            plot = lines(
                f"{ident}-{at}",
                f"{figure.title}, over the number of layers",
                "layers",
                drawn,
                Scale(figure.show, figure.tick, figure.unit),
            )
            plots.append(tag("figure", tag("figcaption", figure.title), plot))
    if not plots:
        return Markup("")
    same = ", ".join(f"{name}={value}" for name, value in fixed(group))
    return tag(
        "section",
        tag("h2", f"{group[0].case} by number of layers", id=ident),
        tag("p", same, class_="muted") if same else "",
        tag("div", *plots, class_="plots"),
        aria_labelledby=ident,
    )
