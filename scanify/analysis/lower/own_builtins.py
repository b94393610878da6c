"""Loops that read as if `enumerate`, `zip` and the like were Python's own, where they may be others.

A file's own `zip` is seen where a loop is lowered (`Scope.builtin`). That a star of another file brings one, or that
some file puts one into `builtins`, only the index of the project knows.
"""

import ast
from collections.abc import Iterable
from dataclasses import replace

from scanify.analysis.index.module import Module
from scanify.analysis.index.project import Index
from scanify.analysis.lower.loop import Loop, Problem
from scanify.analysis.lower.nodes import nodes_in

# What a lowering takes at its name, and what a scan may be given: `range(len(self.layers))`, `list(reversed(keys))`.
_READ = frozenset(
    "abs enumerate filter getattr int iter len list map max min next range reversed str tuple zip".split()
)
_WRITTEN = frozenset({"len", "list", "range"})


def by_own_builtins(index: Index, module: Module, loops: Iterable[Loop]) -> list[Loop]:
    """Return the loops of a file; those which read or need a name that may not be Python's own have a problem."""
    others = index.rebound_builtins(module)
    return [_with_problem(loop, others) if others & (_READ | _WRITTEN) else loop for loop in loops]


def _with_problem(loop: Loop, others: frozenset[str]) -> Loop:
    read = [each for each in nodes_in(loop.node) if isinstance(each, ast.Name) and each.id in others & _READ]
    name = next(iter((*(each.id for each in read), *sorted(others & _WRITTEN))), None)
    if loop.problem is not None or name is None:
        return loop
    reason = f"`{name}` may not be Python's own here: a star import or a patch of `builtins` may bring another one"
    remedy = f"import by name what you need, so that `{name}` is Python's own"
    return replace(loop, problem=Problem("SCN213", reason, read[0] if read else loop.node, remedy))
