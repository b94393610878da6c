"""What `explain=True` prints, and what is left as it is where nobody says how many layers make a scan."""

import inspect

import jax
import jax.numpy as jnp
import pytest

import scanify
from tests.reroll import test_wires
from tests.reroll.programs import scans
from tests.reroll.test_wires import LIST, N, X, dicts, folded_keys

LINE = inspect.getsourcelines(dicts)[1] + 2


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out.replace(str(test_wires.__file__), "test_wires.py")


def test_small_layers_are_left_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    rerolled = scanify.reroll(dicts, explain=True)
    assert scans(rerolled, LIST, X) == []
    text = said(capsys)
    assert text.startswith("dicts: nothing repeats whose scan would compile faster\n")
    assert f"test_wires.py:{LINE}: {N} x 17 equations are left as they are" in text


def test_layers_with_random_numbers_and_many_layers_are_not() -> None:
    assert scans(scanify.reroll(folded_keys), LIST, X, jax.random.key(0)) == [N]
    assert scans(scanify.reroll(dicts), LIST * 40, X) == [40 * N]


def test_a_policy_is_followed_all_the_same() -> None:
    assert scans(scanify.reroll(dicts, remat="full"), LIST, X) == [N]


def test_a_scan_is_said_with_its_place_and_costs(capsys: pytest.CaptureFixture[str]) -> None:
    scanify.reroll(dicts, min_layers=3, explain=True)(LIST, X)
    text = said(capsys)
    assert text.startswith("dicts: 1 scan\n")
    assert f"test_wires.py:{LINE}: {N} x 17 equations\n" in text
    assert f"carries 16 bytes, stacks {N * 20 * 4} bytes" in text
    assert f"To stack is to copy: {N * 20 * 4} bytes in each step" in text


def test_a_program_without_repetition(capsys: pytest.CaptureFixture[str]) -> None:
    scanify.reroll(jnp.sin, explain=True)(X)
    assert said(capsys) == "sin: nothing repeats whose scan would compile faster\n"
