"""Models made at random: rewritten, and unrolled with what the rewrite has kept and without."""

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from scanify.errors import ScanifyError
from scanify.pipeline import Project, files_of, rewrite_sources
from scanify.unrolling.kept import Rewrite, keep
from scanify.unrolling.project import Unrolling, unroll_project
from tests.random_models.model import Model, random_model


@dataclass(frozen=True)
class There:
    """What became of the model of a seed; None where no loop of it is rewritten.

    `kept` is what it is unrolled to with what its rewrite has kept, `edited` where a line was added since, and `read`
    without: `why` says why that differs from the model, in classes.
    """

    seed: int
    model: Model
    scan: str
    kept: str
    edited: bool
    read: str
    unrolling: Unrolling
    why: str = ""


def there_and_back(seed: int, folder: Path) -> There | None:
    """Rewrite the model of a seed in a folder, and unroll it in each way."""
    model = random_model(seed)
    path = folder / "model.py"
    path.write_text(model.text)
    project = Project.load([path])
    accept = (lambda plan: plan.safe) if model.planted else (lambda plan: True)
    outcome = rewrite_sources(project, stack=model.stack, remat=model.remat, accept=accept)
    if not outcome.changes:
        return None
    scan = outcome.texts[path]
    path.write_text(scan)
    read = unroll_project(Project.load([path]), unsafe=True)
    rewrite = Rewrite(outcome.before, outcome.texts, model.stack, model.remat)
    keep(project.root, rewrite, map(files_of, outcome.applied))
    kept = unroll_project(Project.load([path])).texts.get(path, scan)
    edited = True
    if seed % 10 == 0:
        path.write_text(f"{scan}\n\nMORE = 1\n")
        edited = unroll_project(Project.load([path])).texts.get(path) == f"{model.text}\n\nMORE = 1\n"
    off = read.texts.get(path, scan)
    return There(seed, model, scan, kept, edited, off, read, _why(model.text, off, read))


def _why(text: str, off: str, read: Unrolling) -> str:
    if off == text:
        return "the same bytes"
    if read.left:
        return f"stays: {read.left[0].why}"
    return "another loop, not shown" if read.obligations else "another loop, shown by its rewrite"


@dataclass
class Tally:
    """What became of many."""

    seen: int = 0
    rewritten: int = 0
    kept: int = 0
    edited: Counter[bool] = field(default_factory=Counter)
    why: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, there: There | None) -> None:
        self.seen += 1
        if there is None:
            return
        self.rewritten += 1
        self.kept += there.kept == there.model.text
        if there.kept != there.model.text:
            self.failures.append(f"seed {there.seed}: what was kept is not what was there")
        if there.seed % 10 == 0:
            self.edited[there.edited] += 1
        self.why[there.why] += 1

    def __str__(self) -> str:
        lines = [
            f"{self.seen} models, {self.rewritten} rewritten",
            f"unrolled with what was kept: {self.kept} of {self.rewritten} the same bytes",
            f"a line added since: {self.edited[True]} of {self.edited.total()} the same bytes with that line",
            "read off the source, without what was kept:",
            *(f"  {count:5}  {why}" for why, count in self.why.most_common()),
        ]
        return "\n".join([*lines, *self.failures])


def tally(seeds: range, every_so_many: int = 0) -> tuple[Tally, list[There]]:
    """Unroll the models of some seeds, and print what is known after each so many."""
    found, every = Tally(), []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / ".git").mkdir()
            try:
                there = there_and_back(seed, Path(name).resolve())
            except ScanifyError as error:  # a check that failed: of the rewrite, or of the way back
                found.failures.append(f"seed {seed}: {error}")
                continue
        found.add(there)
        every += [there] if there is not None else []
        if every_so_many and found.seen % every_so_many == 0:
            print(found, flush=True)
    return found, every
