"""The versions are what they are called, and train as the loop does: some steps of small ones."""

import pytest

from tests.training.report import difference, table
from tests.training.run import Run, Size, train
from tests.training.text import CHARACTERS, batch, characters
from tests.training.version import VERSIONS

pytest.importorskip("optax", reason="training needs optax")
SIZE = Size(steps=2, layers=3, width=8, heads=2, length=8, batch=2, x64=False)


@pytest.mark.whole
@pytest.mark.parametrize("name", [each.name for each in VERSIONS if each.remat is not None])
def test_a_scan_trains_as_its_loop_does(name: str) -> None:
    reference = next(each.reference for each in VERSIONS if each.name == name)
    runs = {each: train(each, SIZE) for each in (name, reference)}
    assert difference(runs[name], runs[reference]) < 1e-5
    assert f"| {name} |" in table(runs, SIZE)


def test_the_difference_is_that_of_the_worst_step() -> None:
    one, loop = (Run(losses, [], 0.0, 0.0, 0, "cpu") for losses in ([1.0, 2.2, 3.0], [1.0, 2.0, 3.0]))
    assert difference(one, loop) == pytest.approx(0.1)


def test_the_text_is_long_and_its_windows_are_those_of_the_step() -> None:
    text = characters()
    assert len(text) > 100_000 and text.min() >= 0 and text.max() < CHARACTERS
    assert (batch(text, 3, 2, 8) == batch(text, 3, 2, 8)).all() and batch(text, 3, 2, 8).shape == (2, 9)
    assert (batch(text, 3, 2, 8) != batch(text, 4, 2, 8)).any()
