"""Changing the policies of existing stacks: what to measure, and which version to compare with."""

from dataclasses import replace

from scanify.commands.common import Given
from scanify.pipeline import Outcome, with_policy
from scanify.source.read import encode
from scanify.unrolling import unroll_project


def measurable(outcome: Outcome, given: Given) -> Outcome:
    """Add the unchanged files with existing stacks to the outcome, so that they are measured under every policy."""
    if not given.changes_policies:
        return outcome
    changed = [each for remat in ("nested", "dots") for each in with_policy(outcome, given.project, remat).policies]
    sources = [given.project.source(path) for path in {each.path for each in changed if not each.why}]
    as_they_are = {source.path: encode(source, source.text) for source in sources}
    same = {path: (data, data) for path, data in as_they_are.items() if path not in outcome.changes}
    return replace(outcome, changes={**same, **outcome.changes}, before=outcome.before or given.project.texts())


def against_loops(outcome: Outcome, given: Given) -> Outcome | None:
    """Return the outcome to verify; if only policies of stacks change, compare them with the corresponding loops.

    None if the loops are unknown: comparing a scan with a scan would not verify a rewrite of loops.
    """
    if outcome.applied or not outcome.changes or not given.changes_policies:
        return outcome
    loops = unroll_project(given.project, unsafe=True).texts
    if not outcome.changes.keys() <= loops.keys():
        return None
    sources = {path: given.project.source(path) for path in outcome.changes}
    old = {path: encode(source, loops[path]) for path, source in sources.items()}
    return replace(outcome, changes={path: (old[path], new) for path, (_, new) in outcome.changes.items()})
