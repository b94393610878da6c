"""A decision for every loop over modules of Flax Linen, whose layers a scan keeps in one tree of variables.

None is safe: the scan is for the same parameters, and up to a renaming of random streams. Flax folds a hash of a
module's path into its keys (`flax.core.scope.LazyRng`), and the path is another one.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from scanify.analysis.decide.remedies import refused
from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.index.project import Index
from scanify.analysis.linen.built_layers import lists_in
from scanify.analysis.linen.classes import LinenClasses
from scanify.analysis.linen.decide import decide_linen
from scanify.analysis.linen.first_look import may_be_linen
from scanify.analysis.linen.loop import Lists, linen_loop
from scanify.analysis.lower.loop import Form, Loop
from scanify.analysis.lower.loops import for_loops_in
from scanify.analysis.lower.own_builtins import by_own_builtins
from scanify.analysis.lower.scope import inner_scope
from scanify.analysis.plan import Plan, Refusal


def linen_decisions(index: Index, paths: Iterable[Path]) -> list[Plan | Refusal]:
    """What becomes of the loops over modules of Flax Linen in some files."""
    found: list[Plan | Refusal] = []
    classes = LinenClasses(index)
    for path in paths:
        module = index.module_at(path)
        if module is not None and may_be_linen(module.text):
            for owner in _owners(classes, module):
                found += _in_class(classes, owner)
    return found


def stands_in_linen(classes: LinenClasses, loop: Loop) -> bool:
    """Whether a loop stands in a method of a module of Flax Linen: what it walks is no list of another framework."""
    owner = loop.scope.owner
    if owner is None:
        return False
    meaning = classes.index.resolve(loop.module, owner.name)
    return isinstance(meaning, Definition) and meaning.node is owner and classes.is_linen(meaning)


def _owners(classes: LinenClasses, module: Module) -> Iterator[Definition]:
    for name, statements in module.definitions.items():
        meaning = classes.index.resolve(module, name) if isinstance(statements[-1], ast.ClassDef) else None
        if isinstance(meaning, Definition) and meaning.node in statements and classes.is_linen(meaning):
            yield meaning


def _in_class(classes: LinenClasses, owner: Definition) -> Iterator[Plan | Refusal]:
    module = owner.module
    loops = [each for each in _loops(classes.index, module) if each.scope.owner is owner.node and not each.ignored]
    if not loops:
        return
    lists: Lists = {}
    for each in (one for one in reversed(classes.classes.lineage(owner)) if one.module is owner.module):
        for function in classes.classes.methods(each).values():
            if function.args.args:
                prefix = f"{function.args.args[0].arg}."
                found = lists_in(classes, inner_scope(each.module, function))
                for target, made in found:
                    if target.startswith(prefix):
                        lists.setdefault(f"self.{target.removeprefix(prefix)}", []).append(made)
    decided: list[Plan | Refusal] = []
    for loop in loops:
        around = loop.scope.function
        name = loop.scope.self_name
        if name is None or not isinstance(around.node, ast.FunctionDef):
            continue
        own = {f"{name}.{key.removeprefix('self.')}": made for key, made in lists.items()}
        local: Lists = {}
        for key, made in lists_in(classes, around):
            if "." not in key:
                local.setdefault(key, []).append(made)
        seen = linen_loop(classes, loop, {**own, **local})
        if seen is not None:
            decision = decide_linen(classes, owner, seen)
            if not loop.ignores_rule(decision.rule):
                decided.append(decision)
    yield from _together(decided)


def _loops(index: Index, module: Module) -> list[Loop]:
    return [each for each in by_own_builtins(index, module, for_loops_in(module)) if each.form is Form.FOR]


def _together(decided: list[Plan | Refusal]) -> Iterator[Plan | Refusal]:
    """A list is one module for all loops over it, or it stays."""
    walked: dict[str, list[Plan | Refusal]] = {}
    for each in decided:
        walked.setdefault(each.container, []).append(each)
    for each in decided:
        others = walked[each.container]
        stays = next((one for one in others if isinstance(one, Refusal)), None)
        if isinstance(each, Plan) and stays is not None and each.linen is not None and each.linen.held:
            reason = f"another loop over `{each.container}` stays one ({stays.place.span.line}), and it needs the list"
            yield replace(refused(each, "SCN214", reason, "keep both loops, or rewrite both"), at=stays.place)
        else:
            yield each
