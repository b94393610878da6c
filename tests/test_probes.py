"""Mutations of real models: what is called safe computes and leaves behind what it did, and the probes can tell."""

from collections.abc import Iterator

import jax
import pytest

from scanify.analysis.classes.classes import Classes
from tests.probes.__main__ import blind, told
from tests.probes.check import Outcome, check, rewritten
from tests.probes.compose import FAMILIES, random_probe
from tests.probes.models import Model, models
from tests.probes.probe import Probe
from tests.probes.run import run
from tests.random_projects.compare import differences

SAMPLE = range(100, 130)
SLICE = 5
# Of each: the number of a probe whose plan is not safe, and which differs if it is applied all the same.
TOLD = {"expression": 25, "statement": 24, "class": 5, "patch": 0, "alias": 0}


@pytest.fixture(autouse=True, scope="module")
def _caches() -> Iterator[None]:
    yield
    jax.clear_caches()


@pytest.mark.parametrize("start", SAMPLE[::SLICE])
def test_no_rewrite_that_is_called_safe_differs_from_seed(start: int) -> None:
    found = [check(seed) for seed in range(start, start + SLICE)]
    bad = [one for one in found if one.bad]
    assert not bad, told(bad[0])


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_gives_python_that_changes_one_model(family: str) -> None:
    originals = {each.name: each.files for each in models()}
    for seed in range(30):
        probe = random_probe(seed, family)
        assert probe == random_probe(seed, family)
        assert probe.files != originals[probe.model]
        for name, text in probe.files.items():
            compile(text, name, "exec")


@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
def test_a_model_without_a_mutation_computes_the_same(model: Model) -> None:
    probe = Probe(0, model.name, model.files, model.target, model.case_text, model.case, "none", "", "")
    files, _ = rewritten(model.files, blind)
    assert files != model.files
    before, after = run(probe, model.files, "traced"), run(probe, files, "traced")
    assert (before.error, after.error) == (None, None)
    assert not differences(before, after)


@pytest.mark.parametrize("family", TOLD)
def test_a_tool_that_calls_everything_safe_is_told(family: str) -> None:
    one = check(TOLD[family], family=family, accept=blind)
    assert one.outcome is Outcome.DIFFERS, told(one)
    assert check(TOLD[family], family=family, static=True).outcome is Outcome.KEPT


@pytest.mark.parametrize("seed", [0, 2])
def test_an_engine_that_overlooks_patches_is_told(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(seed, family="patch").outcome is Outcome.KEPT
    monkeypatch.setattr(Classes, "is_patched", lambda *asked: False)
    assert check(seed, family="patch").outcome is Outcome.DIFFERS
