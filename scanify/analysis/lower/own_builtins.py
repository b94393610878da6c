"""Refuse loops that rely on builtins such as `enumerate` and `zip` if those may be rebound.

Lowering sees a file's own `zip` (`Scope.builtin`). Only the project's index knows that a star import brings one, or
that some file patches `builtins`.
"""

import ast
from collections.abc import Iterable
from dataclasses import replace

from scanify.analysis.index.module import Module
from scanify.analysis.index.project import Index
from scanify.analysis.lower.loop import Loop, Problem
from scanify.analysis.lower.nodes import nodes_in

# Builtins that lowering takes by name, and that a scan may use: `range(len(self.layers))`, `list(reversed(keys))`.
_READ = frozenset(
    "abs enumerate filter getattr int iter len list map max min next range reversed str tuple zip".split()
)
_WRITTEN = frozenset({"len", "list", "range"})


def by_own_builtins(index: Index, module: Module, loops: Iterable[Loop]) -> list[Loop]:
    """Return the loops of a file; loops that use a name which may not be the builtin get a problem."""
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
