"""Every wrong rewrite is told by the check that it is for, and passes for right where only that check is left out.

The suite holds one mutant of each check; `make mutants` takes them all.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.checks import CHECKS, said
from tests.mutants.mutant import Mutant
from tests.mutants.run import compare, verify

ONLY = [each for each in MUTANTS if each.only]
SAMPLE = list({each.caught: each for each in reversed(ONLY)}.values())


def _all(mutants: Iterable[Mutant]) -> list[Any]:
    """Parameters of a test, of which all but the sample are left to `--whole`."""
    return [pytest.param(each, id=str(each), marks=() if each in SAMPLE else pytest.mark.whole) for each in mutants]


@pytest.fixture(scope="module", autouse=True)
def _caches() -> Iterator[None]:
    yield
    jax.clear_caches()


@pytest.mark.parametrize("each", _all(MUTANTS))
def test_a_wrong_rewrite_is_told_by_its_check(each: Mutant, tmp_path: Path) -> None:
    results = verify(each, tmp_path)
    assert not all(result.good for result in results)
    found = said(results, abstract=each.abstract)
    assert each.caught in found
    assert re.search(each.says, found[each.caught])
    assert not set(found) & set(each.silent), "a check that was said to see nothing tells this mutant too"
    if each.only:
        assert set(found) == {each.caught}


@pytest.mark.parametrize("each", _all(ONLY))
def test_without_its_check_a_wrong_rewrite_is_good(
    each: Mutant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    CHECKS[each.caught].disable(monkeypatch)
    assert all(result.good for result in verify(each, tmp_path))


RIGHT = list(
    {(each.model.name, each.both): each for each in (*MUTANTS, *SAMPLE) if not each.abstract and each.changes}.values()
)


@pytest.mark.parametrize("each", _all(RIGHT))
def test_the_right_rewrite_is_good(each: Mutant, tmp_path: Path) -> None:
    """So the mistake is what is told."""
    results = compare(each.model, each.before, each.right, tmp_path, abstract=False)
    assert all(result.good for result in results)


def test_every_check_has_a_mutant_that_it_alone_tells() -> None:
    assert {each.caught for each in ONLY} == set(CHECKS)
    assert len(MUTANTS) >= 40
    assert len(set(map(str, MUTANTS))) == len(MUTANTS)
