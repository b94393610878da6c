"""Two kinds of plot as inline SVG: bar plots, and line plots over a number. The page's CSS colours them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scanify.report.verification.markup import Markup, join, tag, text

_WIDTH = 380
_LABEL, _SHOWN, _ROW = 86, 78, 24
_LEFT, _RIGHT, _TOP, _HEIGHT, _LEGEND = 66, 14, 10, 180, 18
_COLUMNS = 3
# From this ratio on, the smaller values would coincide with the axis.
_FAR = 30
# Series also differ by marker and dashes, not only by colour.
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 5", "1 4", "12 4")
_SERIES = len(_DASHES)
_MARKS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
    "M-4 -4h8v8h-8z",
    "M0 -5L5 4H-5z",
    "M0 -5L5 0L0 5L-5 0z",
    "M0 5L5 -4H-5z",
)


@dataclass(frozen=True)
class Bar:
    """A row of a bar plot. `shown` is the value as text, shown next to the bar; without a value no bar is drawn."""

    label: str
    value: float | None
    shown: str
    reference: bool = False


@dataclass(frozen=True)
class Series:
    """A line through `points`, which are (x, y) sorted by x."""

    label: str
    points: tuple[tuple[float, float], ...]


def bars(ident: str, title: str, rows: Sequence[Bar]) -> Markup:
    """Draw horizontal bars from zero, each with its label and value. `ident` must be unique in the page."""
    top = max((row.value for row in rows if row.value is not None), default=0) or 1
    space = _WIDTH - _LABEL - _SHOWN
    drawn: list[Markup] = []
    for number, row in enumerate(rows):
        y = number * _ROW
        drawn.append(tag("text", _short(row.label, 13), x=_LABEL - 8, y=y + 16, text_anchor="end", class_="label"))
        width = 0.0 if row.value is None else max(space * (row.value / top), 1.5 if row.value else 0.0)
        if width:
            drawn.append(
                tag(
                    "rect",
                    x=_LABEL,
                    y=y + 4,
                    width=_number(width),
                    height=16,
                    rx=2,
                    class_="loop" if row.reference else "bar",
                )
            )
        drawn.append(tag("text", row.shown, x=_number(_LABEL + width + 6), y=y + 16, class_="value"))
    said = "; ".join(f"{row.label}: {row.shown}" for row in rows)
    return _svg(ident, title, said, len(rows) * _ROW, drawn)


@dataclass(frozen=True)
class Scale:
    """An axis of values: its ticks, and how to format a value at a tick (`tick`) and in text (`show`)."""

    show: Callable[[float], str]
    tick: Callable[[float], str]
    unit: int = 10


def lines(ident: str, title: str, over: str, series: Sequence[Series], scale: Scale) -> Markup:
    """Draw one line per series over the quantity `over`, with a legend below.

    The axis starts at zero, or is logarithmic if the largest value is more than 30 times the smallest; otherwise the
    scan would coincide with the axis.
    """
    xs = sorted({x for each in series for x, _ in each.points})
    ys = [y for each in series for _, y in each.points]
    logarithmic = bool(ys) and min(ys) > 0 and max(ys) / min(ys) > _FAR
    steps = decades(min(ys), max(ys), scale.unit) if logarithmic else ticks(max(ys, default=0), scale.unit)
    low, high = (xs[0], xs[-1]) if xs else (0, 1)
    right, bottom = _WIDTH - _RIGHT, _TOP + _HEIGHT

    def across(x: float) -> float:
        return _LEFT + (right - _LEFT) * ((x - low) / (high - low) if high > low else 0.5)

    def up(y: float) -> float:
        part = math.log(y / steps[0]) / math.log(steps[-1] / steps[0]) if logarithmic else y / steps[-1]
        return bottom - _HEIGHT * part

    drawn: list[Markup] = []
    for step in steps:
        level = _number(up(step))
        drawn.append(tag("line", x1=_LEFT, x2=right, y1=level, y2=level, class_="grid"))
        drawn.append(
            tag("text", scale.tick(step), x=_LEFT - 8, y=_number(up(step) + 4), text_anchor="end", class_="value")
        )
    drawn += [
        tag("text", f"{x:g}", x=_number(across(x)), y=bottom + 18, text_anchor="middle", class_="value")
        for x in _spread(xs, across)
    ]
    below = f"{over} (values on a logarithmic scale)" if logarithmic else over
    middle = _number((_LEFT + right) / 2)
    drawn.append(tag("text", below, x=middle, y=bottom + 36, text_anchor="middle", class_="label"))
    for number, each in enumerate(series):
        drawn += _line(number, [(across(x), up(y)) for x, y in each.points])
    said = "; ".join(f"{s.label}: " + ", ".join(f"{scale.show(y)} at {x:g}" for x, y in s.points) for s in series)
    start = bottom + 50
    height = start + _LEGEND * math.ceil(len(series) / _COLUMNS)
    return _svg(ident, title, f"Over {over}. {said}", height, [*drawn, *_legend(series, start)])


def _legend(series: Sequence[Series], top: int) -> list[Markup]:
    drawn: list[Markup] = []
    for number, each in enumerate(series):
        x, y = 8 + (number % _COLUMNS) * (_WIDTH // _COLUMNS), top + _LEGEND * (number // _COLUMNS)
        drawn += _line(number, [(x, y + 6), (x + 30, y + 6)], marks=[(x + 15.0, y + 6.0)])
        drawn.append(tag("text", _short(each.label, 12), x=x + 36, y=y + 10, class_="label"))
    return drawn


def decades(low: float, high: float, unit: int = 10) -> list[float]:
    """Return at most eight values, powers of ten times powers of `unit`, that cover `low` to `high`."""
    if unit == 10:
        every = [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    else:
        reach = range(math.floor(math.log(low, unit)) - 1, math.ceil(math.log(high, unit)) + 2)
        every = [float(unit) ** power * ten for power in reach for ten in (1, 10, 100)]
    first = max(at for at, step in enumerate(every) if step <= low or at == 0)
    last = min(at for at, step in enumerate(every) if step >= high or at == len(every) - 1)
    stride = math.ceil((last - first) / 7)
    return [every[min(at, len(every) - 1)] for at in range(first, last + stride, stride)]


def ticks(top: float, unit: int = 10) -> list[float]:
    """Return three to six steps from zero to at least `top`: 1, 2 or 5 times a power of ten of `unit`s."""
    if top <= 0:
        return [0.0, 1.0]
    scale = 1.0 if unit == 10 else float(unit) ** math.floor(math.log(top, unit) + 1e-9)
    size = 10.0 ** math.floor(math.log10(top / scale))
    step = next(size * factor for factor in (0.2, 0.5, 1.0, 2.0) if math.ceil(top / scale / (size * factor)) <= 6)
    return [number * step * scale for number in range(math.ceil(top / scale / step * (1 - 1e-9)) + 1)]


def _line(
    number: int, points: list[tuple[float, float]], marks: list[tuple[float, float]] | None = None
) -> list[Markup]:
    way = " ".join(f"{'L' if at else 'M'}{_number(x)} {_number(y)}" for at, (x, y) in enumerate(points))
    name = f"s{number % _SERIES}"
    mark = _MARKS[number % len(_MARKS)]
    placed = points if marks is None else marks
    return [
        tag("path", d=way, class_=f"line {name}", stroke_dasharray=_DASHES[number % _SERIES] or None),
        *(
            tag("path", d=mark, transform=f"translate({_number(x)} {_number(y)})", class_=f"mark {name}")
            for x, y in placed
        ),
    ]


def _spread(xs: Sequence[float], across: Callable[[float], float]) -> list[float]:
    """Return the ticks whose numbers do not overlap: the first, the last, and as many as fit between."""
    kept: list[float] = []
    for x in (*xs[:1], *xs[-1:], *xs[1:-1]):
        if all(abs(across(x) - across(other)) >= 30 for other in kept):
            kept.append(x)
    return sorted(kept)


def _svg(ident: str, title: str, said: str, height: float, drawn: Sequence[Markup]) -> Markup:
    names = tag("title", title, id=f"{ident}-title"), tag("desc", said, id=f"{ident}-desc")
    return tag(
        "svg",
        join([*names, *drawn]),
        viewBox=f"0 0 {_WIDTH} {_number(height)}",
        role="img",
        aria_labelledby=f"{ident}-title {ident}-desc",
        class_="plot",
    )


def _short(label: str, limit: int) -> Markup:
    return text(label if len(label) <= limit else f"{label[: limit - 1]}…")


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
