"""Code that reads traced or compiled programs: a scan is one equation there, however many layers it runs."""

import ast
import re

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.watchers.rules import PROGRAM
from scanify.analysis.watchers.watcher import Watcher

_WORD = re.compile(r"\.eqns\b|\.cost_analysis\b")
# What walks into scans knows their length: `eqn.primitive.name == "scan"`, `scan_p`, `eqn.params["length"]`.
_KNOWS_SCANS = re.compile(r"""["']scan["']|\bscan_p\b|["']length["']""")


def program_readers(index: Index) -> tuple[Watcher, ...]:
    """The places of a project that read the equations of a program, or what it is said to cost, as of a loop."""
    found: list[Watcher] = []
    for path in index.paths:
        source = index.source(path)
        if source is None or not _WORD.search(source.text):
            continue
        module = index.module_at(path)
        if module is not None:
            found += _of_module(module)
    return tuple(found)


def _of_module(module: Module) -> list[Watcher]:
    nodes = [each for each in nodes_in(module.tree) if isinstance(each, ast.Attribute)]
    equations = [each for each in nodes if each.attr == "eqns"][:1]
    if equations and _KNOWS_SCANS.search(module.text):
        equations = []
    found = [Watcher(module.place(each), "the equations of a program", rule=PROGRAM, node=each) for each in equations]
    costs = [each for each in nodes if each.attr == "cost_analysis"][:1]
    return [*found, *(Watcher(module.place(each), "the cost of a program", rule=PROGRAM, node=each) for each in costs)]
