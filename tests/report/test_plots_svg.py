"""Plots: what is drawn where, to scale."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanify.report.verification.plots_svg import Bar, Scale, Series, bars, decades, lines, ticks

SCALE = Scale("{:g} s".format, "{:g}".format)


def attributes(svg: str, element: str, name: str) -> list[str]:
    return re.findall(rf'<{element} [^>]*?\b{name}="([^"]*)"', svg)


def test_bars_are_to_scale_and_start_at_zero() -> None:
    svg = bars("p", "Compile", [Bar("(loop)", 8.0, "8 s", True), Bar("none", 2.0, "2 s"), Bar("full", 0.0, "0 s")])
    long, short = map(float, attributes(svg, "rect", "width"))
    assert long == 4 * short
    assert set(attributes(svg, "rect", "x")) == {"86"}
    assert attributes(svg, "rect", "class") == ["loop", "bar"]
    assert "<desc" in svg and "(loop): 8 s; none: 2 s; full: 0 s</desc>" in svg


def test_a_bar_that_would_not_be_seen_is_drawn_as_a_sliver() -> None:
    svg = bars("p", "t", [Bar("(loop)", 10**12, "1 T"), Bar("none", 1, "1")])
    assert attributes(svg, "rect", "width") == ["216", "1.5"]


def test_what_was_not_measured_has_no_bar_and_says_so() -> None:
    svg = bars("p", "t", [Bar("(loop)", None, "not measured"), Bar("none", 1.0, "1 s")])
    assert len(attributes(svg, "rect", "width")) == 1 and ">not measured</text>" in svg
    assert "<rect" not in bars("p", "t", [Bar("(loop)", None, "not measured")])


def test_a_long_label_is_shortened_and_said_in_full() -> None:
    svg = bars("p", "t", [Bar("everything_but_the_dots", 1.0, "1")])
    assert ">everything_b…</text>" in svg and "everything_but_the_dots: 1</desc>" in svg


def test_lines_go_through_their_points_to_scale() -> None:
    svg = lines("p", "t", "layers", [Series("(loop)", ((4, 1.0), (8, 2.0), (12, 4.0)))], SCALE)
    points = re.findall(r"[ML]([\d.]+) ([\d.]+)", attributes(svg, "path", "d")[0])
    xs, ys = ([float(point[at]) for point in points] for at in (0, 1))
    assert xs[1] - xs[0] == xs[2] - xs[1] > 0
    bottom = max(float(y) for y in attributes(svg, "line", "y1"))
    assert bottom - ys[1] == pytest.approx(2 * (bottom - ys[0]), abs=0.2)
    assert bottom - ys[2] == pytest.approx(4 * (bottom - ys[0]), abs=0.4)
    assert "Over layers. (loop): 1 s at 4, 2 s at 8, 4 s at 12</desc>" in svg


def test_series_are_told_apart_without_colour() -> None:
    names = [f"policy {number}" for number in range(7)]
    svg = lines("p", "t", "layers", [Series(name, ((1, 1.0), (2, 2.0))) for name in names], SCALE)
    drawn = re.findall(r'<path d="[^"]*" class="line s\d"(?: stroke-dasharray="([^"]*)")?/><path d="([^"]*)"', svg)
    assert len(drawn) == 14 and len(set(drawn)) == 7
    assert all(f">{name}</text>" in svg for name in names)


def test_numbers_of_layers_that_are_close_do_not_overlap() -> None:
    points = tuple((float(x), 1.0) for x in (1, 2, 3, 12, 47, 48))
    svg = lines("p", "t", "layers", [Series("none", points)], SCALE)
    shown = re.findall(r'<text x="([\d.]+)" y="208" text-anchor="middle" class="value">(\d+)', svg)
    assert [label for _, label in shown] == ["1", "12", "48"]
    places = [float(x) for x, _ in shown]
    assert all(after - before >= 30 for before, after in pairwise(places))


@pytest.mark.parametrize(
    ("top", "unit", "expected"),
    [
        (0, 10, [0, 1]),
        (63.3, 10, [0, 20, 40, 60, 80]),
        (1.0, 10, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (10_764, 10, [0, 2_000, 4_000, 6_000, 8_000, 10_000, 12_000]),
        (3 * 1024**3, 1024, [0, 1024**3 / 2, 1024**3, 1.5 * 1024**3, 2 * 1024**3, 2.5 * 1024**3, 3 * 1024**3]),
        (900 * 1024**2, 1024, [0, 200 * 1024**2, 400 * 1024**2, 600 * 1024**2, 800 * 1024**2, 1000 * 1024**2]),
    ],
)
def test_ticks_are_round_numbers(top: float, unit: int, expected: list[float]) -> None:
    assert ticks(top, unit) == pytest.approx(expected)


@given(st.floats(1e-9, 1e18), st.sampled_from([10, 1024]))
def test_ticks_reach_over_the_top_and_are_few(top: float, unit: int) -> None:
    steps = ticks(top, unit)
    assert steps[0] == 0 and 3 <= len(steps) <= 8
    assert steps[-2] < top * (1 + 1e-9) and steps[-1] >= top * (1 - 1e-9)


def test_values_that_are_far_apart_are_drawn_on_a_logarithmic_scale() -> None:
    series = [Series("(loop)", ((4, 10.0), (8, 1000.0))), Series("none", ((4, 1.0), (8, 1.0)))]
    svg = lines("p", "t", "layers", series, SCALE)
    assert "layers (values on a logarithmic scale)" in svg
    (first, last), (flat, same) = _heights(svg)
    assert flat == same and flat - first == pytest.approx((first - last) / 2, abs=0.2)
    near = lines("p", "t", "layers", [Series("none", ((4, 1.0), (8, 30.0)))], SCALE)
    assert "logarithmic" not in near
    assert "logarithmic" not in lines("p", "t", "layers", [Series("none", ((4, 0.0), (8, 30.0)))], SCALE)


def _heights(svg: str) -> list[list[float]]:
    """The heights of the points of each line, without those of the legend."""
    ways = re.findall(r'<path d="([^"]*)" class="line', svg)
    return [[float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", way)] for way in ways[: len(ways) // 2]]


@pytest.mark.parametrize(
    ("low", "high", "unit", "expected"),
    [
        (0.58, 251, 10, [0.1, 1, 10, 100, 1000]),
        (1, 100, 10, [1, 10, 100]),
        (515, 43_056, 10, [100, 1_000, 10_000, 100_000]),
        (35 * 1024**2, 3 * 1024**3, 1024, [10 * 1024**2, 100 * 1024**2, 1024**3, 10 * 1024**3]),
    ],
)
def test_ticks_of_a_logarithmic_scale_are_powers_of_ten(
    low: float, high: float, unit: int, expected: list[float]
) -> None:
    assert decades(low, high, unit) == pytest.approx(expected)


@given(st.floats(1e-9, 1e18), st.floats(30, 1e12), st.sampled_from([10, 1024]))
def test_a_logarithmic_scale_holds_its_values_with_few_ticks(low: float, ratio: float, unit: int) -> None:
    steps = decades(low, low * ratio, unit)
    assert steps == sorted(set(steps)) and 2 <= len(steps) <= 9
    assert steps[0] <= low * (1 + 1e-9) and steps[-1] >= low * ratio * (1 - 1e-9)
