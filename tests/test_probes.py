"""Mutations of real models: what is called safe computes and leaves behind what it did, and the probes can tell."""

from collections.abc import Iterator

import jax
import pytest

from scanify.analysis.classes.classes import Classes
from scanify.analysis.decide import fact
from scanify.analysis.uses.use import Uses
from tests.probes.__main__ import blind, told
from tests.probes.check import Outcome, check, rewritten
from tests.probes.compose import FAMILIES, random_probe
from tests.probes.models import Model, models
from tests.probes.probe import Probe
from tests.probes.run import run
from tests.random_projects.compare import differences

SAMPLE = range(30)
SLICE = 5


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


@pytest.mark.parametrize("family", ["expression", "statement", "class", "patch", "default"])
def test_a_tool_that_calls_everything_safe_is_told(family: str) -> None:
    kept = (seed for seed in SAMPLE if check(seed, family=family, static=True).outcome is Outcome.KEPT)
    assert Outcome.DIFFERS in (check(seed, family=family, accept=blind).outcome for seed in kept)


@pytest.mark.parametrize(
    ("family", "place", "name", "overlooked"),
    [
        pytest.param("patch", Classes, "is_patched", False, id="patches"),
        pytest.param("alias", fact, "uses_of", Uses(), id="other names of the list"),
    ],
)
def test_an_engine_that_overlooks_something_is_told(
    family: str, place: object, name: str, overlooked: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, name, lambda *asked: overlooked)
    assert not {Outcome.DIFFERS, Outcome.LOUD}.isdisjoint(check(seed, family=family).outcome for seed in SAMPLE)
