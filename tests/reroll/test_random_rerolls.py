"""The first of the programs of `python -m tests.random_rerolls`; with `--whole` more of them."""

from collections.abc import Hashable
from typing import Any

import pytest

from scanify.rolling.find import signature
from scanify.rolling.find.signature import Signatures
from scanify.rolling.find.slices import Slices
from tests.random_rerolls.case import Case, Outcome

EACH, SUITE, ALL = 4, 24, 400
WHOLE = [pytest.param(first, marks=pytest.mark.whole) for first in range(SUITE, ALL, EACH)]


@pytest.mark.parametrize("first", [*range(0, SUITE, EACH), *WHOLE])
def test_a_rerolled_program_computes_the_same_and_what_is_planted_is_found(first: int) -> None:
    for seed in range(first, first + EACH):
        outcome = Case(seed).outcome(gradients=seed % 4 == 0)
        assert (outcome.wrong, outcome.doubt, outcome.missed) == ("", "", 0), seed


class TestThisWouldSee:
    """Mistakes that these programs must show: each is made on purpose, and one of the programs tells."""

    @staticmethod
    def outcomes(seeds: range) -> list[Outcome]:
        return [Case(seed).outcome(gradients=False) for seed in seeds]

    def test_parameters_that_are_not_compared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def parameters(self: Signatures, equation: Any, operation: Any) -> Hashable:
            return operation.inside.key if operation is not None and operation.inside is not None else ()

        monkeypatch.setattr(Signatures, "_parameters", parameters)
        outcomes = self.outcomes(range(12))
        assert any(outcome.wrong and outcome.doubt for outcome in outcomes)
        assert all(outcome.doubt for outcome in outcomes if outcome.wrong.startswith("output"))

    @pytest.mark.whole
    def test_slices_that_begin_elsewhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        of = Slices.of
        monkeypatch.setattr(Slices, "of", lambda self, array: of(self, array)[::-1])
        outcomes = self.outcomes(range(6))
        assert any(outcome.wrong for outcome in outcomes)
        assert all(outcome.doubt for outcome in outcomes if outcome.wrong)

    def test_rules_that_are_not_compared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The values are the same: only gradients tell. One layer of this program has another rule."""
        assert Case(186).outcome(gradients=True).wrong == ""
        monkeypatch.setattr(signature, "rule_key", lambda equation, key: None)
        assert Case(186).outcome(gradients=True).wrong.startswith("the gradient")
