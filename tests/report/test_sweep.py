"""Which variants are drawn as a line over the number of layers."""

from dataclasses import replace

from scanify.report.verification.figures import COMPILE, SAVED
from scanify.report.verification.sweep import fixed, series, sweeps
from scanify.verify.verdict import CaseResult, Measurement
from tests.report import samples


def layers(groups: tuple[tuple[CaseResult, ...], ...]) -> list[list[int | None]]:
    return [[case.layers for case in group] for group in groups]


def of(layers: int, **arguments: str) -> CaseResult:
    return samples.gpt(layers, variant=tuple(arguments.items()))


def test_variants_are_grouped_by_their_other_arguments_and_ordered() -> None:
    cases = (
        of(12, depth="12", batch="1"),
        of(4, depth="4", batch="1"),
        of(4, depth="4", batch="8"),
        of(12, depth="12", batch="8"),
    )
    assert layers(sweeps(cases)) == [[4, 12], [4, 12]]
    assert [fixed(group) for group in sweeps(cases)] == [(("batch", "1"),), (("batch", "8"),)]


def test_the_argument_need_not_be_the_number_of_layers() -> None:
    cases = tuple(of(2 * depth, depth=str(depth), batch=batch) for batch in "18" for depth in (1, 2, 3))
    assert layers(sweeps(cases)) == [[2, 4, 6], [2, 4, 6]]


def test_without_such_an_argument_different_numbers_of_layers_are_one_line() -> None:
    assert layers(sweeps((of(4, size="s", width="8"), of(8, size="s", width="9"), of(2, size="m", width="8")))) == [
        [2, 4, 8]
    ]


def test_what_has_no_layers_no_verdicts_or_no_other_number_is_left_out() -> None:
    assert sweeps((of(4, batch="1"), of(4, batch="8"))) == ()
    assert sweeps((of(4, depth="4"), replace(of(8, depth="8"), layers=None))) == ()
    assert sweeps((of(4, depth="4"), replace(of(8, depth="8"), policies=()))) == ()
    assert sweeps((of(4), replace(of(8), case="cases.py:other"))) == ()


def test_a_line_has_the_points_that_were_measured() -> None:
    group = (of(4, depth="4"), replace(of(8, depth="8"), original=Measurement(saved_bytes=7)))
    assert series(group, COMPILE)[0].points == ((4.0, 0.9 + 5.2 * 4),)
    assert series(group, SAVED)[0].points == ((4.0, 320_000_000.0), (8.0, 7.0))
    assert [each.label for each in series(group, SAVED)] == ["(loop)", *samples.POLICIES]
