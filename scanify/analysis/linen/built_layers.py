"""How the layers of a loop are built: in a list, or one in each iteration, all by one call."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scanify.analysis.flow.statements import blocks_in, statements_in
from scanify.analysis.index.module import Module
from scanify.analysis.linen.classes import Built, LinenClasses
from scanify.analysis.linen.layer_name import LayerName, layer_name
from scanify.analysis.lower.nodes import names_in, nodes_in
from scanify.analysis.lower.scope import Function, Scope, ancestors, inner_scope
from scanify.analysis.lower.text import dotted, only_argument

_BINDS = (ast.For, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, eq=False)
class BuiltLayers:
    """Layers that one call builds for each number of a range.

    `number` is the name of the number where the call is, `counted` what the range counts to. `name` is what the call
    says of the layer's name, None where it says nothing. `site` is the list, where they are in one; `statements` are
    those that make it, where it is filled layer by layer, the last of which assigns it to `target`.
    """

    scope: Scope
    built: Built
    number: str | None
    counted: ast.expr
    name: ast.expr | None
    site: ast.expr | None = None
    statements: tuple[ast.stmt, ...] = ()
    target: str = ""

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
    yield from _filled(classes, function, node)


def _filled(classes: LinenClasses, scope: Scope, function: Function) -> Iterator[tuple[str, BuiltLayers]]:
    """`layers = []`, `for _ in range(n): layers.append(Block(dim))` and `self.layers = layers`, one after the other."""
    for block in blocks_in(function.body):
        for empty, loop, *after in (block[at : at + 3] for at in range(len(block) - 1)):
            match empty:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])):
                    pass
                case _:
                    continue
            match loop:
                case ast.For(
                    target=ast.Name(id=number),
                    body=[
                        ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=filled), attr="append")) as put)
                    ],
                    orelse=[],
                ) if filled == name and len(put.args) == 1 and not put.keywords:
                    counted, built = counted_by(scope, loop.iter), classes.built(scope, put.args[0])
                case _:
                    continue
            statements: tuple[ast.stmt, ...] = (empty, loop)
            held = name if _is_walked(function, name) else None
            match after:
                case [ast.Assign(targets=[target], value=ast.Name(id=kept)) as last] if kept == name:
                    statements, held = (empty, loop, last), dotted(target) if _mentions(function, name) == 3 else None
            span = scope.module.text[scope.module.span(empty).start : scope.module.span(statements[-1]).end]
            if built is None or counted is None or held is None or "#" in span or _reads(scope.module, function, loop):
                continue
            named = given_name(built)
            yield held, BuiltLayers(scope, built, number, counted, named, statements=statements, target=f"{held} = ")


def _reads(module: Module, function: Function, loop: ast.For) -> bool:
    """Whether a function reads the number of a loop where no loop gives it another one."""
    number = getattr(loop.target, "id", "")
    for each in nodes_in(*function.body):
        if isinstance(each, ast.Name) and each.id == number and isinstance(each.ctx, ast.Load):
            around = (above for above in ancestors(module, each) if isinstance(above, _BINDS))
            if not any(number in _targets(above) for above in around):
                return True
    return False


def _targets(node: ast.AST) -> set[str]:
    generators = getattr(node, "generators", [node])
    return {each.id for one in generators for each in nodes_in(one.target) if isinstance(each, ast.Name)}


def _is_walked(function: Function, name: str) -> bool:
    return any(isinstance(each, ast.For) and name in names_in([each.iter]) for each in nodes_in(*function.body))


def _mentions(function: Function, name: str) -> int:
    return sum(isinstance(each, ast.Name) and each.id == name for each in nodes_in(*function.body))


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
