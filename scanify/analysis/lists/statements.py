"""The statements of a function that fill one list, and the uses that may change it in other ways."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scanify.analysis.flow.names import target_names
from scanify.analysis.flow.statements import given_to
from scanify.analysis.lists.home import Home, Repeat
from scanify.analysis.lower.nodes import children, nodes_in
from scanify.analysis.lower.text import dotted

# Functions of Python that read a list and keep nothing of it but its elements.
_READING = frozenset(
    "len list tuple zip enumerate range reversed iter map sum any all min max isinstance print repr str bool type id "
    "sorted set next filter".split()
)
_READING_LIBRARIES = ("jax.", "numpy.", "equinox.", "flax.nnx.", "scanify.", "itertools.", "functools.reduce", "copy.")
CHANGING = frozenset("append extend insert pop remove clear reverse sort update setdefault popitem".split())
_OPENS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True, eq=False)
class Put:
    """`target = value`, in `loops`; `conditional`: under an `if` or the like."""

    value: ast.expr
    statement: ast.stmt
    loops: tuple[Repeat, ...]
    conditional: bool


@dataclass(frozen=True, eq=False)
class Grown:
    """`target.append(value)` if `one`, else `target.extend(value)`; `keyed`: `target[name] = value`.

    `early_end`: a `break` or the like may skip it.
    """

    value: ast.expr
    statement: ast.stmt
    loops: tuple[Repeat, ...]
    conditional: bool
    one: bool
    early_end: bool
    keyed: bool = False


@dataclass(frozen=True, eq=False)
class Other:
    """A use that may change the list in another way."""

    text: str
    node: ast.AST


About = Put | Grown | Other


def statements_about(home: Home, body: Sequence[ast.stmt], target: str) -> list[About]:
    """Return what a block of statements does to the list that it calls `target`, in source order."""
    return list(_Reader(home, target).block(body, (), False))


class _Reader:
    def __init__(self, home: Home, target: str) -> None:
        self.home, self.target = home, target
        self.last = target.rpartition(".")[2]
        self.kept: str | None = None  # the field that is assigned the list

    def block(self, body: Sequence[ast.stmt], loops: tuple[Repeat, ...], conditional: bool) -> Iterator[About]:
        for statement in body:
            if not self._mentions(statement):
                continue
            match statement:
                case ast.For() | ast.While():
                    heads = [statement.iter] if isinstance(statement, ast.For) else [statement.test]
                    if isinstance(statement, ast.For) and self.target in target_names(statement.target):
                        yield Other(f"`{self.target}` is bound by a loop", statement.target)
                    yield from self._uses(heads)
                    yield from self.block(statement.body, (*loops, statement), conditional)
                    yield from self.block(statement.orelse, loops, True)
                case ast.If():
                    yield from self._uses([statement.test])
                    yield from self.block(statement.body, loops, True)
                    yield from self.block(statement.orelse, loops, True)
                case ast.With():
                    yield from self._uses([each.context_expr for each in statement.items])
                    yield from self.block(statement.body, loops, conditional)
                case ast.Try():
                    for part in (statement.body, *(each.body for each in statement.handlers)):
                        yield from self.block(part, loops, True)
                    yield from self.block([*statement.orelse, *statement.finalbody], loops, True)
                case _:
                    yield from self._statement(statement, loops, conditional)

    def _statement(self, statement: ast.stmt, loops: tuple[Repeat, ...], conditional: bool) -> Iterator[About]:
        match statement:
            case ast.Assign(targets=[*targets], value=value) if any(map(self._binds, targets)):
                given = [each for one in targets for part, each in given_to(one, value) if dotted(part) == self.target]
                if len(targets) == 1 and len(given) == 1:
                    yield Put(given[0], statement, loops, conditional)
                else:
                    yield Other(f"`{self.target}` is assigned beside other names", statement)
                yield from self._uses([value])
            case ast.Assign(targets=[ast.Subscript(value=owner)], value=value) if dotted(owner) == self.target:
                yield Grown(value, statement, loops, conditional, True, _may_end_early(loops), keyed=True)
                yield from self._uses([value])
            case ast.AnnAssign(target=bound, value=value) if dotted(bound) == self.target:
                if value is not None:
                    yield Put(value, statement, loops, conditional)
                    yield from self._uses([value])
            case ast.AugAssign(target=bound, op=ast.Add(), value=value) if dotted(bound) == self.target:
                yield Grown(value, statement, loops, conditional, False, _may_end_early(loops))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=method), args=args, keywords=[])) if (
                dotted(owner) == self.target
            ):
                if method in ("append", "extend") and len(args) == 1 and not isinstance(args[0], ast.Starred):
                    yield Grown(args[0], statement, loops, conditional, method == "append", _may_end_early(loops))
                    yield from self._uses(args)
                elif method == "insert" and len(args) == 2:
                    yield Grown(args[1], statement, loops, True, True, _may_end_early(loops))
                else:
                    yield Other(f"`{self.target}.{method}` changes the list", statement)
            case ast.Assign(targets=[ast.Name()], value=value) if dotted(value) == self.target:
                yield Other(f"the list has another name, `{ast.unparse(statement.targets[0])}`", statement)
            case ast.Assign(targets=[ast.Attribute() as field], value=value) if dotted(value) == self.target:
                if self.kept not in (None, ast.unparse(field)):
                    yield Other(f"`{ast.unparse(field)}` is the same list", statement)
                self.kept = ast.unparse(field)
            case _:
                yield from self._uses([statement])

    def _binds(self, node: ast.expr) -> bool:
        parts = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
        return any(dotted(part.value if isinstance(part, ast.Starred) else part) == self.target for part in parts)

    def _mentions(self, node: ast.AST) -> bool:
        return any(self._is_named(each) for each in nodes_in(node))

    def _is_named(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id == self.target
        return isinstance(node, ast.Attribute) and node.attr == self.last and dotted(node) == self.target

    def _uses(self, nodes: Sequence[ast.AST]) -> Iterator[Other]:
        """The uses in expressions and other statements that do not just read the list."""
        for node in nodes:
            yield from self._inner(node) if isinstance(node, _OPENS) else self._below(node)

    def _inner(self, node: ast.AST) -> Iterator[Other]:
        """An inner function or class that names the list, and does more than to read its elements."""
        if not self._mentions(node):
            return
        body = node.body if isinstance(node, ast.FunctionDef) else []
        given = (each.value for each in nodes_in(*body) if isinstance(each, ast.Return) and each.value is not None)
        changes = any(map(self._is_named, given)) or any(True for _ in self.block(body, (), False))
        if changes or not isinstance(node, ast.FunctionDef | ast.Lambda) or any(True for _ in self._below(node)):
            yield Other(f"an inner function may change `{self.target}`", node)

    def _below(self, node: ast.AST) -> Iterator[Other]:
        for child in children(node):
            if isinstance(child, ast.keyword) and isinstance(node, ast.Call):
                child = child.value
            if self._is_named(child):
                problem = self._problem(node, child)
                if problem is not None:
                    yield Other(problem, child)
            elif isinstance(child, _OPENS):
                yield from self._inner(child)
            elif isinstance(node, ast.Attribute) and node.attr in CHANGING and self._is_part(child):
                yield Other(f"`{ast.unparse(node)}` may change an element of `{self.target}`", child)
            else:
                yield from self._below(child)

    def _is_part(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Subscript) and self._is_named(node.value)

    def _problem(self, around: ast.AST, node: ast.AST) -> str | None:
        """Why the list may hold something else after the expression `around`, a direct part of which it is."""
        match around:
            case ast.Attribute(attr=attr):
                return f"`{self.target}.{attr}` may change the list"
            case ast.Subscript(ctx=ctx):
                return f"`{self.target}[...]` is assigned to" if not isinstance(ctx, ast.Load) else None
            case ast.Call() if node is not around.func:
                if reads_alone(self.home, around):
                    return None
                return f"the list is given to `{ast.unparse(around.func)}`, which may change it"
            case ast.Return() | ast.comprehension() | ast.Compare() | ast.BoolOp() | ast.UnaryOp() | ast.IfExp():
                return None
            case ast.BinOp() | ast.Starred() | ast.FormattedValue() | ast.Expr() | ast.For():
                return None
            case _:
                return f"what becomes of `{self.target}` here is not shown"


def reads_alone(home: Home, call: ast.Call) -> bool:
    """True if a call only reads the lists that it is given, and keeps nothing of them but their elements."""
    return home.builtin(call) in _READING or home.library(call).startswith(_READING_LIBRARIES)


def _may_end_early(loops: Sequence[Repeat]) -> bool:
    """True if a loop may skip or end iterations."""
    bodies = [each for loop in loops if isinstance(loop, ast.For | ast.While) for each in loop.body]
    return any(isinstance(each, ast.Break | ast.Continue | ast.Return) for each in nodes_in(*bodies))
