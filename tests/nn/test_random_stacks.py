"""The first of the programs of `make fuzz-runtime`; with `--whole` a few hundred of them."""

import jax
import pytest

from tests.random_stacks.cases import Case

EACH = 5
WHOLE = [pytest.param(first, marks=pytest.mark.whole) for first in range(4 * EACH, 300, EACH)]


@pytest.mark.parametrize("first", [*range(0, 4 * EACH, EACH), *WHOLE])
def test_random_programs_are_the_loop(first: int) -> None:
    with jax.enable_x64(True):
        for seed in range(first, first + EACH):
            Case(seed).check()
