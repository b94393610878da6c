"""Other policies of stacks that are there already: what is measured, and which version they are held against."""

from dataclasses import replace

from scanify.commands.common import Given
from scanify.pipeline import Outcome, with_policy
from scanify.source.read import encode
from scanify.unrolling import unroll_project


def measurable(outcome: Outcome, given: Given) -> Outcome:
    """The outcome with the files that have stacks already, as they are: so these are measured under every policy."""
    if not given.changes_policies:
        return outcome
    changed = [each for remat in ("nested", "dots") for each in with_policy(outcome, given.project, remat).policies]
    sources = [given.project.source(path) for path in {each.path for each in changed if not each.why}]
    as_they_are = {source.path: encode(source, source.text) for source in sources}
    same = {path: (data, data) for path, data in as_they_are.items() if path not in outcome.changes}
    return replace(outcome, changes={**same, **outcome.changes}, before=outcome.before or given.project.texts())


def against_loops(outcome: Outcome, given: Given) -> Outcome | None:
    """What is to be verified: where stacks change their policies alone, these held against the loops they stand for.

    None where the loops are not known: then a scan is held against a scan, which is no rewrite of loops.
    """
    if outcome.applied or not outcome.changes or not given.changes_policies:
        return outcome
    loops = unroll_project(given.project, unsafe=True).texts
    if not outcome.changes.keys() <= loops.keys():
        return None
    sources = {path: given.project.source(path) for path in outcome.changes}
    old = {path: encode(source, loops[path]) for path, source in sources.items()}
    return replace(outcome, changes={path: (old[path], new) for path, (_, new) in outcome.changes.items()})
