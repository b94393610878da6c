from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from tests.sampling import costs, function_of, left_out, spread, table

TEST = "tests/test_it.py::TestIt::test_one"


def _taken(points: int, seconds: dict[str, float]) -> list[int]:
    items = [SimpleNamespace(nodeid=f"{TEST}[{at}]") for at in range(points)]
    left = list(left_out(items, seconds))  # type: ignore[arg-type]
    return [at for at, item in enumerate(items) if item not in left]


def test_points_that_cost_much_are_sampled() -> None:
    assert _taken(9, {TEST: 0.12}) == [0, 4]
    assert _taken(9, {TEST: 8.0}) == [0]


def test_points_that_cost_little_run() -> None:
    assert _taken(9, {TEST: 0.02}) == list(range(9))
    assert _taken(9, {}) == list(range(9))


def test_a_function_is_what_its_points_share() -> None:
    assert function_of(f"{TEST}[a::b[0]]") == function_of(TEST) == TEST


@given(st.integers(1, 300), st.integers(1, 300))
def test_a_sample_is_as_large_as_it_may_be_and_spread(length: int, wanted: int) -> None:
    at = spread(length, wanted)
    assert len(set(at)) == min(length, wanted)
    assert at[0] == 0
    steps = [after - before for before, after in zip(at, [*at[1:], length], strict=True)]
    assert max(steps) - min(steps) <= 1


def test_a_table_says_what_was_measured_and_names_what_is_dear_alone() -> None:
    dear, cheap, single = "tests/a.py::test_dear", "tests/a.py::test_cheap", "tests/a.py::test_single"
    taken = {f"{dear}[{at}]": 0.2 + at / 10 for at in range(3)} | {f"{cheap}[{at}]": 0.01 for at in range(3)}
    assert costs(table(taken | {single: 9.0})) == {dear: 0.3}
