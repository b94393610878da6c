"""Layers of a loop that one call builds, in a list or one in each iteration."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from scanify.analysis.flow.statements import statements_in
from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.linen.classes import Built, built_by
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.nodes import names_in
from scanify.analysis.lower.scope import scope_of
from scanify.analysis.lower.text import dotted, only_argument
from scanify.analysis.project_facts import ProjectFacts


@dataclass(frozen=True, eq=False)
class BuiltLayers:
    """Layers that one call builds for each number of `range(count)`; `number` is the variable's name in the call.

    `site` is the list, if they are in one.
    """

    module: Module
    built: Built
    number: str
    count: ast.expr
    site: ast.expr | None = None

    @property
    def varying(self) -> ast.AST | None:
        """An argument that depends on the number of the layer."""
        return next((each for each in self.built.arguments if self.number in names_in([each])), None)


def count_of(module: Module, walked: ast.expr) -> ast.expr | None:
    """Return `n` for `range(n)` and `range(0, n)`."""
    if scope_of(module, walked).builtin(walked) != "range":
        return None
    match walked:
        case ast.Call(args=[count] | [ast.Constant(value=0), count], keywords=[]):
            return count
        case _:
            return None


def lists_for(project: ProjectFacts, owner: Definition, loop: Loop) -> Iterator[tuple[str, BuiltLayers]]:
    """Yield the lists of layers in the function and the object of a loop, by their names."""
    for method in project.classes.methods(owner).values():
        own = f"{method.args.args[0].arg}." if method.args.args else "."
        for statement in statements_in(method.body):
            value = getattr(statement, "value", None)
            made = _list_of(project, owner.module, value) if isinstance(value, ast.expr) else None
            targets = getattr(statement, "targets", [getattr(statement, "target", None)])
            name = dotted(targets[0]) or ""
            if made is not None and name.startswith(own):
                yield f"{loop.scope.self_name}.{name.removeprefix(own)}", made
            elif made is not None and method is loop.scope.function.node:
                yield name, made


def _list_of(project: ProjectFacts, module: Module, value: ast.expr) -> BuiltLayers | None:
    """Return the layers of `[Block(dim) for _ in range(n)]`, or of the same as a tuple."""
    made: ast.expr | None = value
    if isinstance(value, ast.Call) and scope_of(module, value).builtin(value) in ("list", "tuple"):
        made = only_argument(value)
    match made:
        case ast.ListComp() | ast.GeneratorExp() if not (made is value and isinstance(made, ast.GeneratorExp)):
            built, count = built_by(project, module, made.elt), count_of(module, made.generators[0].iter)
        case _:
            return None
    match made.generators:
        case [ast.comprehension(target=ast.Name(id=number), ifs=[])] if built is not None and count is not None:
            return BuiltLayers(module, built, number, count, value)
        case _:
            return None
