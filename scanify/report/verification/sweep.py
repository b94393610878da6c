"""Variants of a case that differ in their number of layers, as series for a plot over that number."""

from collections.abc import Sequence

from scanify.report.verification.figures import Figure, rows
from scanify.report.verification.plots_svg import Series
from scanify.verify.verdict import CaseResult


def sweeps(cases: Sequence[CaseResult]) -> tuple[tuple[CaseResult, ...], ...]:
    """Group the results of one case that differ only in the number of layers, sorted by that number.

    The argument that sets the number is recognised by its values: each corresponds to one number of layers.
    """
    found: list[tuple[CaseResult, ...]] = []
    for name in dict.fromkeys(case.case for case in cases):
        held = [case for case in cases if case.case == name and case.layers is not None and case.policies]
        found += [
            tuple(sorted(group, key=lambda case: case.layers or 0))
            for group in _groups(held)
            if len({case.layers for case in group}) == len(group) > 1
        ]
    return tuple(found)


def series(group: Sequence[CaseResult], figure: Figure) -> tuple[Series, ...]:
    """Return a series for the loop and for each policy, with the points that were measured."""
    points: dict[str, list[tuple[float, float]]] = {}
    for case in group:
        for label, measured in rows(case):
            value = figure.of(measured)
            if value is not None:
                points.setdefault(label, []).append((float(case.layers or 0), float(value)))
    return tuple(Series(label, tuple(some)) for label, some in points.items())


def fixed(group: Sequence[CaseResult]) -> tuple[tuple[str, str], ...]:
    """Return the arguments that are equal in all variants of the group."""
    return tuple(pair for pair in group[0].variant if all(pair in case.variant for case in group))


def _groups(cases: Sequence[CaseResult]) -> list[list[CaseResult]]:
    argument = _argument(cases)
    grouped: dict[tuple[tuple[str, str], ...], list[CaseResult]] = {}
    for case in cases:
        others = () if argument is None else tuple(pair for pair in case.variant if pair[0] != argument)
        grouped.setdefault(others, []).append(case)
    return list(grouped.values())


def _argument(cases: Sequence[CaseResult]) -> str | None:
    for name in dict.fromkeys(name for case in cases for name, _ in case.variant):
        values = [dict(case.variant).get(name) for case in cases]
        pairs = {(value, case.layers) for value, case in zip(values, cases, strict=True)}
        if len(pairs) == len(set(values)) == len({case.layers for case in cases}) > 1:
            return name
    return None
