"""The whole models of `fixtures/` as rows: the expected text of the rewrite against the loop, under all policies."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import jax

from scanify.configuration.config import REMATS
from scanify.verify.compare.compare import compare_case
from tests import fixture_helpers
from tests.fixture_helpers import FIXTURES, Fixture, write
from tests.packages.row import REWRITTEN, Row


def fixture_rows(names: Sequence[str] = ()) -> Iterator[Row]:
    """A row for each case of each fixture; of those named, where any is."""
    for each in FIXTURES:
        for case in each.cases:
            if not names or each.name in names:
                yield _row(each, case)
        jax.clear_caches()


def _row(each: Fixture, case: str) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        original, rewritten = (
            fixture_helpers.thunk(write(texts, Path(folder, name)), each.target, each.case_file, case)
            for name, texts in (("original", each.before), ("rewritten", each.after))
        )
        result = compare_case(
            case,
            original,
            rewritten,
            policies=REMATS,
            requested=each.remat,
            abstract=False,
            measure=False,
            files=fixture_helpers.files,
        )
    return Row(f"fixture {each}", case, REWRITTEN, result=result)
