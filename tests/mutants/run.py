"""Verifying a mutant in this process, as the child process of a verification does."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from scanify.verify.cases.case import CaseSpec
from scanify.verify.children.child import run_case
from scanify.verify.request import Change, Request
from scanify.verify.verdict import CaseResult
from tests.fixture_helpers import write
from tests.mutants.mutant import Model, Mutant, Texts

LIBRARY = "library_with_a_registry"


def verify(mutant: Mutant, folder: Path) -> tuple[CaseResult, ...]:
    """The results of the mutant's case, one for each of its variants."""
    return compare(mutant.model, mutant.before, mutant.after, folder, abstract=mutant.abstract)


def compare(model: Model, before: Texts, after: Texts, folder: Path, *, abstract: bool) -> tuple[CaseResult, ...]:
    """The results of a model's case on two versions of it; `folder` is written to."""
    write({**before, "cases_of_mutants.py": model.cases}, folder)
    changes = tuple(Change(folder / name, before[name].encode(), after[name].encode()) for name in after)
    request = Request(
        case=CaseSpec(folder / "cases_of_mutants.py", model.case, model.case),
        target=folder / model.target,
        changes=changes,
        policies=model.policies,
        requested=model.requested,
        abstract=abstract,
        measure=False,
        directory=folder,
    )
    with _library():
        return run_case(request)


@contextmanager
def _library() -> Iterator[None]:
    """A library of which there is one for both versions, with a registry."""
    library = ModuleType(LIBRARY)
    vars(library)["found"] = {}
    sys.modules[LIBRARY] = library
    try:
        yield
    finally:
        del sys.modules[LIBRARY]
