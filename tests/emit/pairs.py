"""Programs before and after a rewrite: those of the rule pages and the fixtures, and models made at random."""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from scanify.pipeline import Project, rewrite_sources
from scanify.rules import RULES
from tests.fixture_helpers import FIXTURES
from tests.random_models import random_model

Texts = Mapping[str, str]


def page_pairs() -> Iterator[tuple[str, Texts, Texts]]:
    """Each `before` of a rule page with its `after`."""
    for rule in RULES:
        for number, example in enumerate(rule.page.examples):
            others = {fence.option("file") or "": fence.code for fence in example.fences if fence.role == "file"}
            before: dict[str, str] = {}
            for fence in example.fences:
                if fence.role == "before":
                    before = {**others, "model.py": fence.code}
                elif fence.role == "after":
                    name = fence.option("file") or "model.py"
                    yield f"{rule.id}-{number}-{fence.line}", before, {**before, name: fence.code}


def fixture_pairs() -> Iterator[tuple[str, Texts, Texts]]:
    for each in FIXTURES:
        yield f"{each}".replace(" ", "-").replace("/", "-"), each.before, each.after


def random_pairs(seeds: range, formatted: Mapping[int, str]) -> Iterator[tuple[str, Texts, Texts]]:
    """Models made at random and what the whole tool makes of them, where it changes them."""
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.py"
            path.write_text(formatted[seed], encoding="utf-8")
            texts = rewrite_sources(Project.load([path]), accept=lambda plan: True).texts
            after = {"model.py": next(iter(texts.values()))}
        if after["model.py"] != formatted[seed]:
            yield f"random-{seed}", {"model.py": formatted[seed]}, after


def raw_models(seeds: range) -> dict[int, str]:
    return {seed: random_model(seed).text for seed in seeds}
