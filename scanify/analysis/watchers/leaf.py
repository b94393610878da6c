"""A small language of functions of one leaf that treat each number of an array by itself.

Applied to a stack, a function in the language returns the stack of the results of the layers. Its body is one
expression, as in a lambda. Any other function counts as reading whole leaves.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parameters
from scanify.analysis.watchers.library import EACH_NUMBER, TOTALS, TYPE_TESTS
from scanify.analysis.watchers.names import Body, callee
from scanify.analysis.watchers.sharding import PLACING, SHARDED, names_axes

_MAX_DEPTH = 4  # nested calls
_NAMED = {
    **dict.fromkeys(("mean", "std", "var", "median"), "a mean of each leaf"),
    **dict.fromkeys("sum max min all any prod size nbytes".split(), "a total of each leaf"),
    "norm": "a norm of each leaf",
    "ndim": "the rank of each leaf",
    "shape": "the shape of each leaf",
    "len": "the length of each leaf",
}
_METHODS = frozenset("astype copy conj conjugate block_until_ready round clip".split())
_SAME = frozenset("dtype weak_type itemsize sharding device devices committed".split())
_RANDOM = ("jax.random.", "numpy.random.", "random.")
_NUMBERS = ("builtins.float", "builtins.int", "builtins.bool", "jax.device_get")


class Reads(Exception):
    """Raised if whole leaves are read; the message describes the read."""


def reads_of(index: Index, module: Module, function: ast.expr) -> str | None:
    """Return what a function mapped over the leaves of trees reads; None if stacking does not change it."""
    try:
        Leaf(index, module).call(function, function)
    except Reads as found:
        return str(found)
    return None


def _result(function: ast.FunctionDef | ast.Lambda) -> ast.expr:
    """Return the one expression that a function returns; raise if it has other statements."""
    if isinstance(function, ast.Lambda):
        return function.body
    *head, last = function.body
    is_plain = all(isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in head)
    if not is_plain or not isinstance(last, ast.Return) or last.value is None:
        named = (_NAMED.get(each.attr) for each in nodes_in(*function.body) if isinstance(each, ast.Attribute))
        raise Reads(next(filter(None, named), f"`{function.name}` of each leaf"))
    return last.value


@dataclass(frozen=True)
class Leaf:
    """Evaluates expressions: True for an array computed number by number, False for a value computed from no leaf.

    `names` hold leaves, or values computed from leaves.
    """

    index: Index
    module: Module
    names: frozenset[str] = frozenset()
    depth: int = 0

    def value(self, node: ast.expr) -> bool:
        """Evaluate an expression of the language."""
        match node:
            case ast.Constant():
                return False
            case ast.Name(id=name):
                return name in self.names
            case ast.Attribute(value=value, attr=attr):
                if not self.value(value) or attr in _SAME:
                    return False
                raise Reads(_NAMED.get(attr, f"{self._code(node)} of each leaf"))
            case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.MatMult):
                return self._some([left, right])
            case ast.UnaryOp(op=ast.Not(), operand=test):
                return self.test(test)
            case ast.UnaryOp(operand=operand):
                return self.value(operand)
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._some([left, *others]) and not all(isinstance(op, ast.Is | ast.IsNot) for op in ops)
            case ast.BoolOp(values=tests):
                return any(self.test(each) for each in tests)  # each is false, or raises
            case ast.IfExp(test=test, body=body, orelse=other):
                return self.test(test) or self._some([body, other])
            case ast.Call(func=function):
                return self._called(node, function)
            case ast.Subscript(value=value, slice=at) if not self._some([value, at]):
                return False
            case _:
                raise Reads(f"{self._code(node)} of each leaf")

    def test(self, test: ast.expr) -> bool:
        """Return False if a test has the same value for a stack; raise if it depends on a leaf."""
        if self.value(test):
            raise Reads("the value of each leaf as a whole")
        return False

    def _some(self, nodes: Sequence[ast.expr]) -> bool:
        values = [self.value(each) for each in nodes]  # evaluates every node: each may raise
        return any(values)

    def _code(self, node: ast.AST) -> str:
        text = " ".join(self.module.code(node).split())
        return f"`{text if len(text) <= 50 else f'{text[:47]}...'}`"

    def _called(self, node: ast.Call, function: ast.expr) -> bool:
        given = [*node.args, *(each.value for each in node.keywords)]
        known = callee(self.index, self.module, function)
        if known in TYPE_TESTS:
            return False
        if known is None and isinstance(function, ast.Attribute):
            varies = self.value(function.value)
            if varies and function.attr in _METHODS:
                self._some(given)
                return True
            raise Reads(_NAMED.get(function.attr if varies else "", f"{self._code(node)} of each leaf"))
        self.call(function, node)
        return self._some(given)

    def call(self, function: ast.expr, node: ast.expr) -> None:
        """Raise unless a function is in the language."""
        known = callee(self.index, self.module, function)
        if isinstance(known, Body) and known.is_plain and self.depth < _MAX_DEPTH:
            names = {each.arg for each in parameters(known.node)} | self.names
            inner = replace(self, module=known.module, names=frozenset(names), depth=self.depth + 1)
            inner.value(_result(known.node))
        elif not isinstance(known, str):
            raise Reads(f"each leaf, with {self._code(node)}, which is not shown")
        elif known in PLACING and (not isinstance(node, ast.Call) or names_axes(self.module, node)):
            raise Reads(SHARDED)
        elif known.startswith(_RANDOM):
            raise Reads("random numbers for each leaf")
        elif known not in EACH_NUMBER | TYPE_TESTS:
            raise Reads(_NAMED.get(known.rpartition(".")[2], f"{self._code(node)} of each leaf"))

    def total(self, node: ast.expr) -> str | None:
        """Return the reduction of a leaf that an expression is, such as "sum", which may continue over all leaves."""
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="size" | "nbytes"):
                return "sum" if name in self.names else None
            case ast.Call(func=ast.Attribute(value=value, attr="sum" | "max" | "min" | "all" | "any" as name), args=[]):
                if callee(self.index, self.module, node.func) is None and not node.keywords and self.value(value):
                    return name
            case ast.Call(func=function, args=[value], keywords=[]):
                known = callee(self.index, self.module, function)
                if known in _NUMBERS:
                    return self.total(value)
                return TOTALS.get(str(known)) if self.value(value) else None
        return None
