"""A decision for every loop over modules of Flax Linen, whose layers a scan keeps in one tree of variables.

None is safe: the scan needs the same parameters, and is equal up to a renaming of random streams. Flax folds a hash
of a module's path into its keys (`flax.core.scope.LazyRng`), and the scan changes the path.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from scanify.analysis.decide.remedies import refused
from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.linen.classes import is_linen
from scanify.analysis.linen.decide import decide_linen
from scanify.analysis.linen.first_look import may_be_linen
from scanify.analysis.linen.loop import linen_loop
from scanify.analysis.lower.loop import Form, Loop
from scanify.analysis.lower.loops import for_loops_in
from scanify.analysis.lower.own_builtins import by_own_builtins
from scanify.analysis.plan import Plan, Refusal
from scanify.analysis.project_facts import ProjectFacts


def linen_decisions(project: ProjectFacts, paths: Iterable[Path]) -> list[Plan | Refusal]:
    """Return the decisions about loops over modules of Flax Linen in some files."""
    modules = (module for path in paths if (module := project.index.module_at(path)) is not None)
    return [each for module in modules if may_be_linen(module.text) for each in _in_file(project, module)]


def linen_owner(project: ProjectFacts, loop: Loop) -> Definition | None:
    """Return the Flax Linen module whose method contains a loop; None if it is not in one."""
    owner = loop.scope.owner
    meaning = project.index.resolve(loop.module, owner.name) if owner is not None else None
    own = isinstance(meaning, Definition) and meaning.node is owner and is_linen(project, meaning)
    return meaning if own and isinstance(meaning, Definition) else None


def _in_file(project: ProjectFacts, module: Module) -> Iterator[Plan | Refusal]:
    decided: list[tuple[Definition, Plan | Refusal]] = []
    for loop in by_own_builtins(project.index, module, for_loops_in(module)):
        owner = linen_owner(project, loop) if loop.form is Form.FOR and not loop.ignored else None
        if owner is None or loop.scope.self_name is None or not isinstance(loop.scope.function.node, ast.FunctionDef):
            continue
        seen = linen_loop(project, owner, loop)
        decision = decide_linen(project, owner, seen) if seen is not None else None
        if decision is not None and not loop.ignores_rule(decision.rule):
            decided.append((owner, decision))
    for owner, each in decided:  # a list becomes one module for all loops over it, or stays a list
        others = [other for cls, other in decided if cls == owner and other.container == each.container]
        stays = next((other for other in others if isinstance(other, Refusal)), None)
        if isinstance(each, Plan) and stays is not None and each.linen is not None and each.linen.held:
            reason = f"another loop over `{each.container}` stays one ({stays.place.span.line}), and it needs the list"
            yield replace(refused(each, "SCN214", reason, "keep both loops, or rewrite both"), at=stays.place)
        else:
            yield each
