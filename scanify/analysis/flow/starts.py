"""Initial values of the carries of a loop, and names of its body whose values Python needs."""

import ast
from collections.abc import Iterator, Sequence

from scanify.analysis.flow.names import Names
from scanify.analysis.flow.statements import assignments, value_given
from scanify.analysis.lower.loop import Loop, Problem
from scanify.analysis.lower.nodes import children, nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors
from scanify.analysis.lower.text import called

_GROWS = "starts empty and grows with every layer; what a scan carries keeps its shape"
_CONVERSIONS = frozenset("bool int float str range round".split())


class Starts:
    """Values that names of the loop's function hold before the loop, as far as assignments show."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.scope = loop, loop.scope.function
        node = self.scope.node
        self.body: Sequence[ast.AST] = [] if isinstance(node, ast.Lambda) else getattr(node, "body", [])

    def values(self, name: str) -> tuple[ast.expr, ...]:
        """Return the values that a name may be assigned before the loop, in source order, with tuples unpacked."""
        start, module = self.loop.place.span.start, self.loop.module
        before = (each for each in assignments(self.body, name) if module.span(each).end <= start)
        return tuple(value for statement in before for value in value_given(statement, name))

    def defined(self, name: str) -> bool:
        """True if code outside the loop may give a name its value before the first layer."""
        if name in self.scope.params:
            return True
        module, start = self.loop.module, self.loop.place.span.start
        around = list(ancestors(module, self.loop.node))
        function = next((at for at, each in enumerate(around) if isinstance(each, (*FUNCTIONS, ast.ClassDef))), None)
        again = any(isinstance(each, ast.For | ast.While) for each in around[:function])
        inside = set(assignments([self.loop.node], name))
        return any(
            again or module.span(each).end <= start or (each in around and isinstance(each, ast.For | ast.With))
            for each in assignments(self.body, name)
            if each not in inside
        )


def start_problems(loop: Loop, starts: Starts, read: Sequence[str], names: Names) -> Iterator[Problem]:
    """Yield carries that have no value before the first layer, and carries that start empty."""
    for name in read:
        node = names.read_first.get(name)
        if node is None:
            yield Problem("SCN210", "no value goes from one layer to the next", loop.node)
        elif not starts.defined(name):
            yield Problem("SCN210", f"the first layer needs `{name}`, which has no value before the loop", node)
        elif any(map(_is_empty, starts.values(name)[-1:])):
            yield Problem("SCN206", f"`{name}` {_GROWS}", node)


def _is_empty(value: ast.expr) -> bool:
    return (isinstance(value, ast.List | ast.Tuple) and not value.elts) or (
        isinstance(value, ast.Dict) and not value.keys
    )


# -- values that Python itself needs -----------------------------------------------------------------------------------


def concretized(loop: Loop) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names whose values Python itself needs in a body, each with the expression that needs it."""
    for test in _tests_in(*loop.body):
        for name in dict.fromkeys(_by_value(test)):
            yield name, test


def _tests_in(*nodes: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions whose value Python itself needs: conditions, conversions to numbers, and counts."""
    for each in nodes_in(*nodes):
        match each:
            case ast.If() | ast.IfExp() | ast.While() | ast.Assert():
                yield each.test
            case ast.comprehension():
                yield from each.ifs
            case ast.Call() if called(each) in _CONVERSIONS:
                yield from each.args
                yield from (keyword.value for keyword in each.keywords)
            case ast.UnaryOp(op=ast.Not()) | ast.BoolOp() | ast.FormattedValue():
                yield each
            case _:
                pass


def _by_value(test: ast.AST) -> Iterator[str]:
    """Yield the names in a condition whose values it needs: not `x` in `x.ndim`, or in `isinstance(x, tuple)`."""
    if isinstance(test, ast.Name):
        yield test.id
    identity = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot)
    if identity or isinstance(test, ast.Attribute | ast.Call | ast.Lambda):
        return
    for child in children(test):
        yield from _by_value(child)
