"""Projects made at random: their traps are traps, and what is rewritten computes what it computed."""

from collections.abc import Iterator
from typing import Any

import jax
import pytest

from tests.random_projects.check import Asked, Outcome, check
from tests.random_projects.compose import random_project
from tests.random_projects.genuine import fault
from tests.random_projects.tally import EXPECT, failure
from tests.random_projects.trap import Trap
from tests.random_projects.traps import HARMLESS, TRAPS

SAMPLE = 40
SLICE = 10
GENUINE = 5  # every so manyth class; `make fuzz-traps` holds every way to set each against a naive rewrite


def _traps() -> list[Any]:
    traps = enumerate((*TRAPS, *HARMLESS))
    return [pytest.param(each, id=each.name, marks=pytest.mark.whole if at % GENUINE else ()) for at, each in traps]


@pytest.fixture(autouse=True, scope="module")
def _caches() -> Iterator[None]:
    yield
    jax.clear_caches()


@pytest.mark.parametrize("trap", _traps())
def test_a_trap_is_one_for_who_looks_at_nothing(trap: Trap) -> None:
    assert fault(trap, trap.variants[0]) is None


@pytest.mark.parametrize("start", range(0, SAMPLE, SLICE))
def test_projects_without_a_trap_compute_what_they_computed_from_seed(start: int) -> None:
    answers = [check(Asked(seed)) for seed in range(start, start + SLICE) if not random_project(seed).traps]
    bad = [one for one in answers if one.outcome not in (Outcome.SAME, Outcome.UNCHANGED)]
    assert not bad, failure(bad[0])


def test_every_class_of_traps_finds_a_base() -> None:
    for name in EXPECT:
        projects = [random_project(seed, name) for seed in range(5)]
        assert all(name in (*project.traps, *project.harmless) for project in projects)
        assert len({str(project.files) for project in projects}) > 1, name


def test_a_project_is_python_and_its_loops_stand_where_it_says() -> None:
    for project in map(random_project, range(300)):
        assert project.loops
        for name, text in project.files.items():
            compile(text, name, "exec")
        for loop in project.loops:
            line = project.files[loop.file].splitlines()[loop.line - 1]
            assert any(word in line for word in ("for ", "while ")), line
