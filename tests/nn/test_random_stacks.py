"""The first of the programs of `make fuzz-runtime`; with `--whole` more of them."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from tests.random_stacks.cases import Case
from tests.random_stacks.transformations import INTERPRETED

EACH, SUITE, ALL = 20, 80, 800
WHOLE = [pytest.param(first, marks=pytest.mark.whole) for first in range(SUITE, ALL, EACH)]


@pytest.mark.parametrize("first", [*range(0, SUITE, EACH), *WHOLE])
def test_random_programs_are_the_loop(first: int) -> None:
    with jax.enable_x64(True):
        for seed in range(first, first + EACH):
            case = Case(seed)
            if case.transformation in INTERPRETED:
                case.check()


@pytest.mark.whole
def test_random_programs_are_the_loop_on_eight_devices_and_where_they_are_compiled() -> None:
    command = [sys.executable, "-m", "tests.random_stacks", "--count", "40", "--compiled"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "shard_map" in done.stdout and "export" in done.stdout
