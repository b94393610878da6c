"""All decisions about a project: find its loops, decide about each, and reconcile the decisions."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from scanify.analysis.decide.decide import Choices, decide
from scanify.analysis.decide.fact import LoopFact, fact_of
from scanify.analysis.decide.parameters import facts_over_parameters
from scanify.analysis.decide.together import in_line, left_behind
from scanify.analysis.index.project import Index
from scanify.analysis.linen.find import linen_decisions, linen_owner
from scanify.analysis.linen.first_look import may_be_linen
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.loops import loops_in
from scanify.analysis.lower.own_builtins import by_own_builtins
from scanify.analysis.plan import Plan, Refusal
from scanify.analysis.project_facts import ProjectFacts


def decisions(
    index: Index, paths: Iterable[Path], choices: Choices, among: Callable[[Loop], bool] | None = None
) -> tuple[list[Plan | Refusal], Callable[[], list[Plan | Refusal]]]:
    """Return the decisions about all loops over modules in some files, and a function for those if all lists stay.

    All loops of the project are considered, so that the result for a file does not depend on the other `paths`. With
    `among` only the loops that satisfy it are: a quick first result that ignores the others.
    """
    project = ProjectFacts.of(index)
    asked = list(dict.fromkeys(paths))
    own = {path: _loops_at(project, path) for path in asked}
    facts: list[LoopFact] = []
    if any(own.values()):
        for path in index.paths if among is None else asked:
            for loop in own.get(path) or _loops_at(project, path):
                if among is None or among(loop):
                    found = fact_of(project, loop)
                    facts += [found] if found is not None else []
    if choices.parameters:
        facts += facts_over_parameters(project, asked, {fact.loop.node for fact in facts}, among)
    decide_all = partial(_decisions, project, facts, asked)
    return decide_all(choices), partial(decide_all, replace(choices, stack="call"))


def _decisions(
    project: ProjectFacts, facts: Sequence[LoopFact], asked: Collection[Path], choices: Choices
) -> list[Plan | Refusal]:
    loops = {fact.loop.place: fact.loop for fact in facts}

    def heeded(found: Iterable[Plan | Refusal]) -> list[Plan | Refusal]:
        """Return the decisions whose rules no comment ignores."""
        return [each for each in found if not loops[each.place].ignores_rule(each.rule)]

    decided = {fact: decide(project, choices, fact) for fact in facts}
    while True:
        listed = heeded(decision for decision in decided.values() if decision is not None)
        final = heeded(in_line(sorted(listed, key=_position)))
        behind = left_behind(decided, final)
        if not behind:
            break
        decided |= {fact: decide(project, choices, fact, stays) for fact, stays in behind.items()}
    found = [*(each for each in final if each.place.path in asked), *linen_decisions(project, asked)]
    return sorted(found, key=_position)


def _position(each: Plan | Refusal) -> tuple[str, int, int]:
    return str(each.place.path), each.place.span.start, each.place.span.end


def _loops_at(project: ProjectFacts, path: Path) -> Sequence[Loop]:
    """Return the loops of a file, except loops over Flax Linen modules, which are decided separately."""
    module = project.index.module_at(path)
    if module is None:
        return ()
    loops = by_own_builtins(project.index, module, loops_in(module))
    if not loops or not may_be_linen(module.text):
        return loops
    return [each for each in loops if linen_owner(project, each) is None]
