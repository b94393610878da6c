"""What is written in the rewritten source is checked too, where only policies are asked for that override it."""

import pytest

from tests.verify.loop_model import FOLD, PROVED, REWRITE, changed, statuses

# Code that runs only where no policy takes the place of the one that is written.
AS_WRITTEN = """        from scanify.nn.scans.checkpoint import ScanCheckpointPolicy, effective_policy
        if effective_policy("dots") == ScanCheckpointPolicy.of("dots"):
            {}
"""


@pytest.mark.parametrize("requested", [None, "nested"])
@pytest.mark.parametrize(
    ("statement", "said"),
    [("raise ValueError('no')", "cannot be traced: ValueError"), ("x = 2 * x", "the outputs differ")],
    ids=["an error", "another value"],
)
def test_what_is_wrong_only_as_it_is_written_is_found(compare, requested, statement, said):
    wrong = changed(FOLD, AS_WRITTEN.format(statement) + FOLD)
    result = compare(wrong, policies=("none", "nested"), requested=requested)
    assert statuses(result) == PROVED
    assert not result.good
    assert any("as it is written" in finding and said in finding for finding in result.findings)


def test_a_source_that_is_right_as_it_is_written_has_no_finding(compare):
    assert compare(REWRITE, policies=("none",), requested=None).good
