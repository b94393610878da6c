"""Loops over lists of parameters, which are treated like loops over modules.

    for p in params["blocks"]:
        x = block(p, x)

A list of parameters is recognised by its name (`named`), and by products of the carry with arrays of its elements
(`products`). The caller passes the list, so the source never shows that its elements are alike: the code that stacks
them checks.
"""

import ast
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path

from scanify.analysis.decide.fact import LoopFact, fact_of
from scanify.analysis.flow.names import target_names
from scanify.analysis.flow.shape import shape_of
from scanify.analysis.lists.layer_list import LayerList, Reason
from scanify.analysis.lower.loop import Form, Loop, Order, Walk
from scanify.analysis.lower.loops import for_loops_in
from scanify.analysis.lower.own_builtins import by_own_builtins
from scanify.analysis.parameters.named import called_parameters, may_walk_parameters
from scanify.analysis.parameters.products import Use, use_of
from scanify.analysis.project_facts import ProjectFacts


def facts_over_parameters(
    project: ProjectFacts,
    paths: Iterable[Path],
    others: Collection[ast.AST],
    among: Callable[[Loop], bool] | None = None,
) -> list[LoopFact]:
    """Return the facts of each loop over parameters in some files; `others` are the nodes of loops over modules."""
    index = project.index
    found = [
        (loop, *over)
        for path in paths
        if (module := index.module_at(path)) is not None and may_walk_parameters(module.text)
        for loop in by_own_builtins(index, module, for_loops_in(module))
        if loop.node not in others and (among is None or among(loop))
        if (over := _walk_over_parameters(project, loop)) is not None
    ]
    facts = (
        (fact_of(project, loop, LayerList(walk, loop.code(walk.base)), trees=True), use) for loop, walk, use in found
    )
    return [_judged(fact, use) for fact, use in facts if fact is not None]


def _walk_over_parameters(project: ProjectFacts, loop: Loop) -> tuple[Walk, Use] | None:
    """Return the walk of a loop that goes over parameters and the use of its elements; None if no walk does."""
    if loop.form is not Form.FOR or loop.element is not None or loop.scope.function is None:
        return None
    for walk in loop.walks:
        if walk.order is Order.OTHER or not called_parameters(loop, walk):
            continue
        use = use_of(project.index, loop, walk, shape_of(loop, walk).carry)
        if use.multiplies:
            return walk, use
    return None


def _judged(fact: LoopFact, use: Use) -> LoopFact:
    """Add the obstacles to a scan over trees: it sorts the keys of dicts, and traces branches on layer numbers once."""
    problems: list[Reason] = list(fact.problems)
    index = fact.shape.index
    asked = frozenset(target_names(index.target)) if index is not None else frozenset()
    for name, node in fact.shape.concretized:
        if name in asked:
            text = f"`{fact.loop.code(node)}` asks for the number of the layer, which is an array in a scan"
            remedy = "take the layers that differ out of the loop, or use `jnp.where`"
            problems.append(("SCN208", text, fact.loop.module.place(node), remedy))
    if use.walked is not None:
        module, walk = use.walked
        text = f"`{module.code(walk)}` walks a dict in its own order, and a scan sorts its keys"
        problems.append(("SCN213", text, module.place(walk), "sort what is walked, as `sorted(p.items())` does"))
    return replace(fact, problems=tuple(problems))
