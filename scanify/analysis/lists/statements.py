"""The statements of a function that fill one list, and the uses that may change it in other ways."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from scanify.analysis.flow.statements import given_to
from scanify.analysis.lists.home import Home, Repeat
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors
from scanify.analysis.lower.text import dotted

# Functions of Python that read a list and keep nothing of it but its elements.
_READING = frozenset(
    "len list tuple zip enumerate range reversed iter map sum any all min max isinstance print repr str bool type id "
    "sorted set next filter".split()
)
_READING_LIBRARIES = ("jax.", "numpy.", "equinox.", "flax.nnx.", "scanify.", "itertools.", "functools.reduce", "copy.")
CHANGING = frozenset("append extend insert pop remove clear reverse sort update setdefault popitem".split())
_GROWS = {"append": 0, "extend": 0, "insert": 1}  # methods, with the number of arguments before the new element
_READS = (
    ast.comprehension, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.IfExp, ast.BinOp, ast.Starred, ast.FormattedValue,
    ast.Expr, ast.For, ast.If, ast.While,
)  # fmt: skip
_BRANCHES = (ast.If, ast.Try, ast.TryStar, ast.Match)
_OPENS = (*FUNCTIONS, ast.Lambda, ast.ClassDef)


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
    last = target.rpartition(".")[2]
    found = (each for each in nodes_in(*body) if isinstance(each, ast.Name | ast.Attribute))
    named = [
        each for each in found if getattr(each, "id", getattr(each, "attr", "")) == last and dotted(each) == target
    ]
    named.sort(key=lambda each: (each.lineno, each.col_offset))
    reader = _Reader(home, target)
    return [about for each in named if (about := reader.about(each)) is not None]


class _Reader:
    """Reads the places that name one list."""

    def __init__(self, home: Home, target: str) -> None:
        self.home, self.target = home, target
        self.field: str | None = None  # the field that is assigned the list

    def about(self, node: ast.expr) -> About | None:
        """Return what is done with the list where a node names it, None if it is only read."""
        around = self._around(node)
        statement = next(each for each in around if isinstance(each, ast.stmt))
        above = around[1] if isinstance(around[0], ast.keyword) else around[0]
        found = self._filled(node, statement)
        if found is None and (problem := self._problem(node, above, around)) is not None:
            found = Other(problem, node)
        inner = next((each for each in around if isinstance(each, _OPENS)), None)
        if inner is not None and (found or isinstance(above, ast.Return) or isinstance(inner, ast.ClassDef)):
            return Other(f"an inner function may change `{self.target}`", inner)
        return found

    def _around(self, node: ast.AST) -> list[ast.AST]:
        """The nodes around a node, as far as the function that holds the list."""
        return list(takewhile(lambda each: each is not self.home.function, ancestors(self.home.module, node)))

    def _filled(self, node: ast.expr, statement: ast.stmt) -> About | None:
        """An assignment to the list, or a statement that adds elements to it."""
        loops, conditional = self._place(statement)
        early = _may_end_early(loops)
        match statement:
            case ast.AnnAssign(target=bound, value=value) if bound is node:
                return Put(value, statement, loops, conditional) if value is not None else None
            case ast.AugAssign(target=bound, op=ast.Add(), value=value) if bound is node:
                return Grown(value, statement, loops, conditional, False, early)
            case ast.Assign(targets=[ast.Subscript(value=owner)], value=value) if owner is node:
                return Grown(value, statement, loops, conditional, True, early, keyed=True)
            case ast.Assign(targets=[target], value=value) if (given := _given(target, value, node)) is not None:
                return Put(given, statement, loops, conditional)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=owner, attr=name), args=[*at, value], keywords=[])
            ) if owner is node and len(at) == _GROWS.get(name) and not isinstance(value, ast.Starred):
                return Grown(value, statement, loops, conditional or bool(at), name != "extend", early)
            case _:
                return None

    def _place(self, statement: ast.stmt) -> tuple[tuple[Repeat, ...], bool]:
        """The loops that repeat a statement, the outermost first, and whether a condition decides about it."""
        loops: tuple[Repeat, ...] = ()
        conditional, below = False, ast.AST()
        for above in [statement, *self._around(statement)]:
            if isinstance(above, ast.For | ast.While) and above is not statement:
                repeated = any(below is each for each in above.body)
                loops = (above, *loops) if repeated else loops
                conditional |= not repeated
            conditional |= isinstance(above, _BRANCHES) and above is not statement
            below = above
        return loops, conditional

    def _problem(self, node: ast.expr, above: ast.AST, around: Sequence[ast.AST]) -> str | None:
        """Why the list may hold something else after the expression `above`, a direct part of which it is."""
        if not isinstance(getattr(node, "ctx", None), ast.Load):
            how = "bound by a loop" if isinstance(above, ast.For) else "assigned in a way that is not understood"
            return f"`{self.target}` is {how}"
        match above:
            case ast.Attribute(attr=name):
                return f"`{self.target}.{name}` may change the list"
            case ast.Subscript(ctx=ast.Load()):
                part = around[1]
                changed = isinstance(part, ast.Attribute) and part.attr in CHANGING
                return f"`{ast.unparse(part)}` may change an element of `{self.target}`" if changed else None
            case ast.Subscript():
                return f"`{self.target}[...]` is assigned to"
            case ast.Call() if node is not above.func:
                if reads_alone(self.home, above):
                    return None
                return f"the list is given to `{ast.unparse(above.func)}`, which may change it"
            case ast.Assign(targets=[ast.Name(id=name)]):
                return f"the list has another name, `{name}`"
            case ast.Assign(targets=[ast.Attribute() as field]):
                other, self.field = self.field not in (None, ast.unparse(field)), ast.unparse(field)
                return f"`{self.field}` is the same list" if other else None
            case ast.Return():
                return None
            case _:
                read = isinstance(above, _READS)
                return None if read else f"what becomes of `{self.target}` here is not shown"


def _given(target: ast.expr, value: ast.expr, node: ast.expr) -> ast.expr | None:
    """The part of a value that an assignment to several targets gives to one of them."""
    return next((given for part, given in given_to(target, value) if part is node), None)


def reads_alone(home: Home, call: ast.Call) -> bool:
    """True if a call only reads the lists that it is given, and keeps nothing of them but their elements."""
    return home.builtin(call) in _READING or home.library(call).startswith(_READING_LIBRARIES)


def _may_end_early(loops: Sequence[Repeat]) -> bool:
    """True if a loop may skip or end iterations."""
    bodies = [each for loop in loops if isinstance(loop, ast.For | ast.While) for each in loop.body]
    return any(isinstance(each, ast.Break | ast.Continue | ast.Return) for each in nodes_in(*bodies))
