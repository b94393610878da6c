"""How the layers of a loop are built: in a list, or one in each iteration, all by one call."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scanify.analysis.flow.statements import statements_in
from scanify.analysis.linen.classes import Built, LinenClasses
from scanify.analysis.linen.layer_name import LayerName, layer_name
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import Function, Scope, inner_scope
from scanify.analysis.lower.text import dotted, only_argument


@dataclass(frozen=True, eq=False)
class BuiltLayers:
    """Layers that one call builds for each number of a range.

    `number` is the name of the number where the call is, `counted` what the range counts to. `name` is what the call
    says of the layer's name, None where it says nothing. `site` is the list, where they are in one.
    """

    scope: Scope
    built: Built
    number: str | None
    counted: ast.expr
    name: ast.expr | None
    site: ast.expr | None = None

    @property
    def layer_name(self) -> LayerName | None:
        """The name that each layer is given, where it is given one of its own."""
        if self.name is None or self.number is None:
            return None
        return layer_name(self.name, self.number)

    @property
    def arguments(self) -> list[ast.expr | ast.keyword]:
        """What the call is given beside the name."""
        call = self.built.call
        return [*call.args, *(each for each in call.keywords if each.arg != "name")]

    @property
    def own(self) -> ast.AST | None:
        """An argument that is another one for each layer."""
        for argument in self.arguments:
            if any(isinstance(each, ast.Name) and each.id == self.number for each in nodes_in(argument)):
                return argument
        return None


def counted_by(scope: Scope, walked: ast.expr) -> ast.expr | None:
    """`n` of `range(n)` and of `range(0, n)`."""
    if not isinstance(walked, ast.Call) or scope.builtin(walked) != "range" or walked.keywords:
        return None
    match walked.args:
        case [count] | [ast.Constant(value=0), count]:
            return count
        case _:
            return None


def lists_in(classes: LinenClasses, function: Scope) -> Iterator[tuple[str, BuiltLayers]]:
    """The lists of layers that a function assigns to a name or to an attribute of its object, each with that."""
    node = function.node
    assert isinstance(node, Function)
    for statement in statements_in(node.body):
        match statement:
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                name = dotted(target)
                found = _list_of(classes, function, value) if name is not None else None
                if name is not None and found is not None:
                    yield name, found


def _list_of(classes: LinenClasses, scope: Scope, value: ast.expr) -> BuiltLayers | None:
    """`[Block(dim) for _ in range(n)]`, and the same as a tuple."""
    made = value
    if isinstance(value, ast.Call) and scope.builtin(value) in ("list", "tuple"):
        made = only_argument(value) or value
    if not isinstance(made, ast.ListComp | ast.GeneratorExp) or (made is value and isinstance(value, ast.GeneratorExp)):
        return None
    inner = inner_scope(scope.module, made)
    built = classes.built(inner, made.elt)
    generator = made.generators[0]
    if built is None or len(made.generators) > 1 or generator.ifs or not isinstance(generator.target, ast.Name):
        return None
    counted = counted_by(scope, generator.iter)
    return BuiltLayers(inner, built, generator.target.id, counted, given_name(built), value) if counted else None


def given_name(built: Built) -> ast.expr | None:
    """What a call gives as the name of the module."""
    return next((each.value for each in built.call.keywords if each.arg == "name"), None)


def built_in(classes: LinenClasses, scope: Scope, body: Sequence[ast.AST]) -> list[Built]:
    """The modules that statements build, in no function of their own."""
    found = (classes.built(scope, each) for statement in body for each in nodes_in(statement))
    return [each for each in found if each is not None]
