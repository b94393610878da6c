"""A sample of the bad inputs; with `--whole`, or by `make bad-inputs`, all of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bad_inputs.all_of_them import INPUTS
from tests.bad_inputs.bad_input import BadInput, attempt
from tests.bad_inputs.cases import CASES
from tests.command import MODEL

EVERY = 20


def _marked(at: int, bad: BadInput) -> object:
    left = at % EVERY or bad in CASES
    return pytest.param(bad, id=bad.what, marks=[pytest.mark.whole] if left else [])


@pytest.mark.parametrize("bad", [_marked(at, bad) for at, bad in enumerate(INPUTS)])
def test_a_bad_input_ends_in_a_message_and_harms_nothing(bad: BadInput, tmp_path: Path) -> None:
    outcome = attempt(bad, tmp_path)
    assert not outcome.wrong, outcome


def test_there_are_many_and_each_is_another() -> None:
    assert len({bad.what for bad in INPUTS}) == len(INPUTS) >= 220
    assert len({(bad.run, str(bad.files), bad.before) for bad in INPUTS}) == len(INPUTS)


GOOD = BadInput("a model", "scanify rewrite model.py", 0, "1 loop rewritten", changes=("model.py",))


@pytest.mark.parametrize(
    ("bad", "wrong"),
    [
        (replace(GOOD, changes=()), "changed: model.py"),
        (replace(GOOD, code=(1, 2)), "exit code 0 in place of 1 or 2"),
        (replace(GOOD, says="2 loops"), "does not say"),
        (replace(GOOD, run="echo 'Traceback (most recent call last):'"), "traceback"),
        (replace(GOOD, run="rm model.py; echo 1 loop rewritten", changes=()), "changed: model.py"),
        (replace(GOOD, run="touch stray; echo 1 loop rewritten"), "changed: stray"),
        (
            replace(GOOD, files={"model.py": MODEL, "a.py": ""}, run="ln -sf a.py b; echo 1 loop rewritten"),
            "changed: b",
        ),
    ],
)
def test_what_is_wrong_is_told(bad: BadInput, wrong: str, tmp_path: Path) -> None:
    assert wrong in attempt(bad, tmp_path).wrong
