"""A small language of functions of one leaf in which each number of an array is treated by itself.

A function in the language gives a stack of layers the numbers that it gives each layer. Any other function reads
something of whole leaves, and so depends on how layers are stored.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from scanify.analysis.index import Index, Module
from scanify.analysis.language.tables import is_listed
from scanify.analysis.lower.scope import parameters
from scanify.analysis.watchers.library import EACH_NUMBER, FILLED, TOTALS, TYPE_TESTS
from scanify.analysis.watchers.names import Body, Callee, callee, is_decorated, local_scope

_MAX_DEPTH = 8
_TOTAL, _MEAN = "a total of each leaf", "a mean of each leaf"
_NAMED = {
    **dict.fromkeys(("mean", "std", "var", "median"), _MEAN),
    **dict.fromkeys(("sum", "max", "min", "all", "any", "prod"), _TOTAL),
    "size": _TOTAL,
    "nbytes": _TOTAL,
    "norm": "a norm of each leaf",
    "ndim": "the rank of each leaf",
    "shape": "the shape of each leaf",
    "len": "the length of each leaf",
}
_METHODS = frozenset("astype copy conj conjugate block_until_ready round clip".split())
_ATTRIBUTES = frozenset({"real", "imag"})
_SAME = frozenset("dtype weak_type itemsize sharding device devices committed".split())
# Arrays with a shape of their own, which a stack of leaves meets with one more axis.
_SHAPED = frozenset("zeros ones full empty eye identity tri arange linspace tile repeat broadcast_to".split())
_RANDOM = ("jax.random.", "numpy.random.", "random.")


class Reads(Exception):
    """Something of whole leaves is read, in the words of a watcher."""


def reads_of(index: Index, module: Module, function: ast.expr) -> str | None:
    """Return what a function reads that is applied to each leaf of one or more trees; None if that is harmless."""
    try:
        _Leaf(index, module).call(callee(index, module, function), [True], function)
    except Reads as found:
        return str(found)
    return None


def reads_in(index: Index, module: Module, expression: ast.expr, leaf: str, *, is_test: bool = False) -> str | None:
    """Return what an expression, or a test, reads of the leaf that a name stands for; None if that is harmless."""
    here = _Leaf(index, module, {leaf: True})
    try:
        (here.condition if is_test else here.value)(expression)
    except Reads as found:
        return str(found)
    return None


def total_of(index: Index, module: Module, node: ast.expr, leaf: str) -> str | None:
    """Return the total of one leaf that an expression is, such as "sum", which may go on over all leaves."""
    inner = _Leaf(index, module, {leaf: True})
    match node:
        case ast.Attribute(value=value, attr="size" | "nbytes"):
            return "sum" if inner.is_harmless(value) else None
        case ast.Call(func=function, args=[value], keywords=[]):
            name = callee(index, module, function)
            if name in ("builtins.float", "builtins.int", "builtins.bool", "jax.numpy.array", "jax.device_get"):
                return total_of(index, module, value, leaf)
            return TOTALS.get(name) if isinstance(name, str) and inner.is_harmless(value) else None
        case ast.Call(func=ast.Attribute(value=value, attr="sum" | "max" | "min" | "all" | "any" as name), args=[]):
            return name if not node.keywords and inner.is_harmless(value) else None
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            same = inner.is_harmless(right, varies=False)
            return "sum" if same and total_of(index, module, left, leaf) == "sum" else None
        case _:
            return None


@dataclass(frozen=True)
class _Leaf:
    """Evaluates expressions: True for an array computed number by number, False for what no leaf has a part in."""

    index: Index
    module: Module
    names: Mapping[str, bool] = field(default_factory=dict)
    depth: int = 0

    def is_harmless(self, node: ast.expr, varies: bool = True) -> bool:
        """True if an expression is in the language; with `varies=False`, if no number of a leaf is in it either."""
        try:
            return self.value(node) <= varies
        except Reads:
            return False

    def code(self, node: ast.AST) -> str:
        text = " ".join(self.module.code(node).split())
        return f"`{text if len(text) <= 50 else f'{text[:47]}...'}`"

    def value(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant():
                return False
            case ast.Name(id=name):
                if name not in self.names and local_scope(self.module, node, name) is not None:
                    self._closure(node)
                return self.names.get(name, False)
            case ast.Attribute(value=value, attr=attr):
                return self._attribute(node, self.value(value), attr)
            case ast.BinOp(left=left, right=right):
                varies = self.some([left, right])
                if isinstance(node.op, ast.MatMult) and varies:
                    raise Reads("each leaf as a matrix")
                return varies
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.condition(operand)
                return False
            case ast.UnaryOp(operand=operand):
                return self.value(operand)
            case ast.Compare(left=left, ops=ops, comparators=others):
                varies = self.some([left, *others])
                return varies and not all(isinstance(op, ast.Is | ast.IsNot) for op in ops)
            case ast.BoolOp(values=values):
                for each in values:
                    self.condition(each)
                return False
            case ast.IfExp(test=test, body=body, orelse=other):
                self.condition(test)
                return self.some([body, other])
            case ast.Call():
                return self._called(node)
            case ast.Subscript(value=value, slice=at):
                if self.some([value, at]):
                    raise Reads("a part of each leaf")
                return False
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                if self.some(parts):
                    raise Reads("several leaves as one array")
                return False
            case _:
                raise Reads(f"{self.code(node)} of each leaf")

    def some(self, nodes: Sequence[ast.expr]) -> bool:
        """Evaluate all of some expressions; True if one varies."""
        values = [self.value(each) for each in nodes]
        return any(values)

    def _closure(self, name: ast.Name) -> None:
        """Refuse a local function that is passed on: it may read a leaf of the function around."""
        if isinstance(callee(self.index, self.module, name), Body):
            raise Reads(f"each leaf, with `{name.id}`")

    def condition(self, test: ast.expr) -> None:
        """Evaluate a test that must be the same for a stack."""
        if self.value(test):
            raise Reads("the value of each leaf as a whole")

    def _attribute(self, node: ast.Attribute, varies: bool, attr: str) -> bool:
        if not varies or attr in _ATTRIBUTES:
            return varies
        if attr not in _SAME:
            raise Reads(_NAMED.get(attr, f"{self.code(node)} of each leaf"))
        return False

    def _called(self, node: ast.Call) -> bool:
        known = callee(self.index, self.module, node.func)
        given = [*node.args, *(each.value for each in node.keywords)]
        if isinstance(known, str) and known.startswith(_RANDOM):
            raise Reads("random numbers for each leaf")
        rest = [each for each in given if not self._is_shape(each)]
        if known in FILLED and len(rest) < len(given):
            self.some(rest)
            return True
        if known is None and isinstance(node.func, ast.Attribute):
            values = [self.value(each) for each in (node.func.value, *given)]
            if node.func.attr in _METHODS and values[0]:
                return True
            changes = "" if values[0] else ", which may be another each time"
            raise Reads(_NAMED.get(node.func.attr if values[0] else "", f"{self.code(node)} of each leaf{changes}"))
        return self.call(known, [self.value(each) for each in given], node)

    def _is_shape(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Attribute) and node.attr == "shape" and self.is_harmless(node.value)

    def call(self, known: Callee, given: Sequence[bool], node: ast.expr) -> bool:
        """Return the value of a call, by what is called and the values of its arguments."""
        if known in TYPE_TESTS:
            return False
        if isinstance(known, Body) and not is_decorated(self.index, known) and self.depth < _MAX_DEPTH:
            return self._body(known, given)
        if not isinstance(known, str):
            raise Reads(f"each leaf, with {self.code(node)}, which is not shown")
        if not any(given) and isinstance(node, ast.Call) and self._has_shape(known, node):
            raise Reads(f"{self.code(node)} for each leaf, which has a shape of its own")
        if known in EACH_NUMBER or (not any(given) and is_listed(known)):
            return any(given)
        raise Reads(_NAMED.get(known.rpartition(".")[2], f"{self.code(node)} of each leaf"))

    def _has_shape(self, known: str, node: ast.Call) -> bool:
        of_list = any(isinstance(each, ast.List | ast.Tuple) and each.elts for each in node.args)
        name = known.rpartition(".")[2]
        return known.startswith(("jax.numpy.", "numpy.")) and (of_list or (name in _SHAPED and bool(node.args)))

    # -- functions of the project -------------------------------------------------------------------------------------

    def _body(self, function: Body, given: Sequence[bool]) -> bool:
        """Return the value of a call of a function; of all its parameters if one of them is a leaf."""
        args = function.node.args
        if args.vararg is not None or args.kwarg is not None:
            raise Reads("several leaves at once")
        names = {each.arg: any(given) for each in parameters(function.node)}
        # A name that a function around binds, such as a leaf, has its value inside, too.
        around = self.names if function.module is self.module else {}
        inner = replace(self, module=function.module, names={**around, **names}, depth=self.depth + 1)
        body = function.node.body
        return inner.value(body) if isinstance(body, ast.expr) else inner.statements(body)

    def statements(self, body: Sequence[ast.stmt]) -> bool:
        """Return the value that statements return."""
        names = dict(self.names)
        here = replace(self, names=names)
        for at, statement in enumerate(body):
            match statement:
                case ast.Return(value=value):
                    return value is not None and here.value(value)
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    names[name] = here.value(value)
                case ast.AugAssign(target=ast.Name(id=name), value=value):
                    names[name] = here.value(value) or names.get(name, False)
                case ast.If(body=[ast.Raise()], orelse=[]):
                    pass  # an error for a stack is loud
                case ast.If(test=test, body=inside, orelse=outside) if self.depth < _MAX_DEPTH:
                    here.condition(test)
                    branch = replace(here, depth=self.depth + 1)
                    rest = body[at + 1 :]
                    ways = [branch.statements([*each, *rest]) for each in (inside, outside)]
                    return any(ways)
                case ast.Raise():
                    return False
                case ast.Pass() | ast.Assert() | ast.Expr(value=ast.Constant()):
                    pass
                case ast.FunctionDef(args=ast.arguments(defaults=[], kw_defaults=[]), decorator_list=[]):
                    pass  # evaluated where it is called; a default would keep a leaf
                case _:
                    raise Reads(f"{self.code(statement)} for each leaf")
        return False
