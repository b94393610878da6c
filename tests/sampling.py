"""Which points of a test's parameters the suite takes, by what each was measured to cost.

Most tests with parameters are quick, and all of their points run. Of those that trace and compile programs the suite takes
as many points as fit into a quarter of a second, one at least, evenly over all. `costs.txt` beside this file has what a point
costs, one row for each test that is dear; `pytest --whole --costs` writes it anew. A test without a row runs whole, and
`--whole` runs all.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

COSTS = Path(__file__).with_name("costs.txt")
_HEAVY = 0.1  # seconds, from which on a point has more to say about time than about what it asks
_SHARES = {True: 0.25, False: 3.0}  # seconds for all points of a test, where each is heavy, and where it is not
_HEADER = "# seconds for each point of a test's parameters, where they are dear together: `pytest --whole --costs`\n"


def function_of(nodeid: str) -> str:
    """`tests/test_file.py::TestClass::test_name` of `tests/test_file.py::TestClass::test_name[point]`."""
    file, _, name = nodeid.partition("::")
    return f"{file}::{name.partition('[')[0]}"


def costs(text: str) -> dict[str, float]:
    """Seconds by function."""
    rows = (line.split(maxsplit=1) for line in text.splitlines() if not line.startswith("#"))
    return {function: float(seconds) for seconds, function in rows}


def left_out(items: Iterable[pytest.Item], seconds: dict[str, float]) -> Iterator[pytest.Item]:
    """The points that the suite leaves to `--whole`."""
    points: dict[str, list[pytest.Item]] = {}
    for item in items:
        function = function_of(item.nodeid)
        if function in seconds:
            points.setdefault(function, []).append(item)
    for function, all_points in points.items():
        taken = set(spread(len(all_points), _as_many(seconds[function])))
        yield from (point for at, point in enumerate(all_points) if at not in taken)


def spread(length: int, wanted: int) -> list[int]:
    """`wanted` numbers below `length`, the first among them, as far from each other as they can be."""
    wanted = min(wanted, length)
    return [at * length // wanted for at in range(wanted)]


def _as_many(seconds: float) -> int:
    return max(1, int(_SHARES[seconds >= _HEAVY] / seconds))


class Costs:
    """What each point took: a plugin of the process that all others report to."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0) + report.duration

    def pytest_sessionfinish(self) -> None:
        COSTS.write_text(table(self._seconds))


def table(seconds: dict[str, float]) -> str:
    """The rows of `costs.txt`, from what each test took."""
    of_functions: dict[str, list[float]] = {}
    for nodeid, taken in seconds.items():
        if "[" in nodeid:
            of_functions.setdefault(function_of(nodeid), []).append(taken)
    means = {function: round(sum(each) / len(each), 2) for function, each in of_functions.items()}
    dear = [function for function, mean in means.items() if mean and _as_many(mean) < len(of_functions[function])]
    return _HEADER + "".join(f"{means[function]:.2f} {function}\n" for function in sorted(dear))
