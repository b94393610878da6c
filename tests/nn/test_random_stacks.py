"""The first of the programs of `make fuzz-runtime`."""

import jax
import pytest

from tests.random_stacks.cases import Case

EACH = 10


@pytest.mark.parametrize("first", range(0, 4 * EACH, EACH))
def test_random_programs_are_the_loop(first: int) -> None:
    with jax.enable_x64(True):
        for seed in range(first, first + EACH):
            Case(seed).check()
