"""One project of a seed: rewritten by the whole tool and held against itself."""

import tempfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tests.random_projects.compose import random_project
from tests.random_projects.project import Project
from tests.random_projects.rewriting import Rewriting, rewriting

EAGER, JIT, ORIGINAL = 25, 50, 20  # every so manyth project is also called so, or run though it is left alone


class Outcome(Enum):
    SAME = "same"
    UNCHANGED = "not changed"
    ANALYSED = "analysed only"
    SILENT = "SILENT"
    LOUD = "LOUD"
    CRASH = "CRASH"
    BROKEN = "BROKEN"  # a project that does not run itself: the generator's fault


@dataclass(frozen=True)
class Checked:
    seed: int
    project: Project
    rewriting: Rewriting
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True)
class Asked:
    seed: int
    only: str | None = None
    static: bool = False


def check(asked: Asked) -> Checked:
    """Rewrite the project of a seed with safe fixes and, unless asked for the analysis alone, run both versions."""
    project = random_project(asked.seed, asked.only)
    with tempfile.TemporaryDirectory() as folder:
        found = rewriting(project, Path(folder))
    if found.crash is not None:
        return Checked(asked.seed, project, found, Outcome.CRASH, found.crash)
    changed = found.files != project.files
    if asked.static or (not changed and asked.seed % ORIGINAL):
        return Checked(asked.seed, project, found, Outcome.ANALYSED if changed else Outcome.UNCHANGED)
    return Checked(asked.seed, project, found, *_run(asked.seed, project, found, changed))


def _run(seed: int, project: Project, found: Rewriting, changed: bool) -> tuple[Outcome, str]:
    from tests.random_projects.compare import differences  # jax is not loaded where nothing is run
    from tests.random_projects.run import run

    eager = ["eager"] if seed % EAGER == 0 else []
    for how in ["eager"] if project.eager else ["traced", *eager, *(["jit"] if seed % JIT == 1 else [])]:
        before = run(project.files, how)
        if before.error is not None:
            return Outcome.BROKEN, f"{how}: {before.trace}"
        if not changed:
            continue
        after = run(found.files, how)
        if after.error is not None:
            return Outcome.LOUD, f"{how}: {after.trace}"
        if differs := differences(before, after):
            return Outcome.SILENT, f"{how}: {'; '.join(differs)}"
    return (Outcome.SAME if changed else Outcome.UNCHANGED), ""
