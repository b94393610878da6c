"""The statements of a function that fill a list, and uses that may change it in other ways."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from scanify.analysis.flow.statements import given_to
from scanify.analysis.lists.home import Home, Repeat
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors
from scanify.analysis.lower.text import dotted

# Builtins that read a list and keep no reference to it, only to its elements.
_READING = frozenset(
    "len list tuple zip enumerate range reversed iter map sum any all min max isinstance print repr str bool type id "
    "sorted set next filter".split()
)
_READING_LIBRARIES = ("jax.", "numpy.", "equinox.", "flax.nnx.", "scanify.", "itertools.", "functools.reduce", "copy.")
CHANGING = frozenset("append extend insert pop remove clear reverse sort update setdefault popitem".split())
_GROWS = {"append": 0, "extend": 0, "insert": 1}  # methods, with the number of arguments before the new element
_READS = (
    ast.comprehension, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.IfExp, ast.BinOp, ast.Starred, ast.FormattedValue,
    ast.Expr, ast.For, ast.If, ast.While, ast.Return,
)  # fmt: skip
_BRANCHES = (ast.If, ast.Try, ast.TryStar, ast.Match)
_ENDS = (ast.Break, ast.Continue, ast.Return)
_OPENS = (*FUNCTIONS, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True, eq=False)
class Put:
    """`target = value` inside `loops`; `conditional`: under an `if` or the like."""

    value: ast.expr
    statement: ast.stmt
    loops: tuple[Repeat, ...]
    conditional: bool


@dataclass(frozen=True, eq=False)
class Grown(Put):
    """`target.append(value)` if `one`, else `target.extend(value)`; `keyed`: `target[name] = value`."""

    one: bool = True
    keyed: bool = False


@dataclass(frozen=True, eq=False)
class Other:
    """A use that may change the list in another way."""

    text: str
    node: ast.AST


def statements_about(home: Home, body: Sequence[ast.stmt], target: str) -> list[Put | Other]:
    """Return the uses of the list named `target` in a block that fill it or may change it, in source order."""
    last = target.rpartition(".")[2]
    found = (each for each in nodes_in(*body) if isinstance(each, ast.Name | ast.Attribute))
    named = [
        each for each in found if getattr(each, "id", getattr(each, "attr", "")) == last and dotted(each) == target
    ]
    named.sort(key=lambda each: (each.lineno, each.col_offset))
    kept: set[str] = set()
    about = [each for node in named if (each := _about(home, node, target)) is not None]
    for node in named:
        above = next(ancestors(home.module, node))
        if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Attribute) and above.value is node:
            kept.add(ast.unparse(above.targets[0]))
            if len(kept) > 1:
                about.append(Other(f"`{ast.unparse(above.targets[0])}` is the same list", node))
    return about


def _about(home: Home, node: ast.expr, target: str) -> Put | Other | None:
    """Return how the code around a node, which names the list, fills or changes it; None if it only reads it."""
    around = list(takewhile(lambda each: each is not home.function, ancestors(home.module, node)))
    above = around[1] if isinstance(around[0], ast.keyword) else around[0]
    at = next(at for at, each in enumerate(around) if isinstance(each, ast.stmt))
    found: Put | Other | None = _filled(node, around[at:])
    if found is None and not _is_read(home, node, above, around[1:]):
        found = Other(f"`{home.module.code(above)}` may change `{target}`", node)
    inner = next((each for each in around if isinstance(each, _OPENS)), None)
    if inner is not None and (found or isinstance(above, ast.Return) or isinstance(inner, ast.ClassDef)):
        return Other(f"an inner function may change `{target}`", inner)
    return found


def _filled(node: ast.expr, around: Sequence[ast.AST]) -> Put | None:
    """Return an assignment to the list, or a statement that adds elements to it; `around` begins with the statement."""
    statement = around[0]
    assert isinstance(statement, ast.stmt)
    loops, conditional = _place(around)
    match statement:
        case ast.AnnAssign(target=bound, value=ast.expr() as value) if bound is node:
            return Put(value, statement, loops, conditional)
        case ast.AugAssign(target=bound, op=ast.Add(), value=value) if bound is node:
            return Grown(value, statement, loops, conditional, one=False)
        case ast.Assign(targets=[ast.Subscript(value=owner)], value=value) if owner is node:
            return Grown(value, statement, loops, conditional, keyed=True)
        case ast.Assign(targets=[target], value=value):
            given = next((given for part, given in given_to(target, value) if part is node), None)
            return Put(given, statement, loops, conditional) if given is not None else None
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=owner, attr=name), args=[*before, value], keywords=[])
        ) if owner is node and len(before) == _GROWS.get(name) and not isinstance(value, ast.Starred):
            return Grown(value, statement, loops, conditional or bool(before), one=name != "extend")
        case _:
            return None


def _place(around: Sequence[ast.AST]) -> tuple[tuple[Repeat, ...], bool]:
    """Return the loops that repeat a statement, outermost first, and whether a condition or a `break` may skip it."""
    loops: tuple[Repeat, ...] = ()
    conditional = False
    for below, above in pairwise(around):
        if isinstance(above, ast.For | ast.While):
            repeated = any(below is each for each in above.body)
            loops = (above, *loops) if repeated else loops
            conditional |= not repeated or any(isinstance(each, _ENDS) for each in nodes_in(*above.body))
        conditional |= isinstance(above, _BRANCHES)
    return loops, conditional


def _is_read(home: Home, node: ast.expr, above: ast.AST, around: Sequence[ast.AST]) -> bool:
    """True if the list has the same contents after the node `above`, its parent."""
    match above:
        case _ if not isinstance(getattr(node, "ctx", None), ast.Load):
            return isinstance(above, ast.AnnAssign)
        case ast.Subscript(ctx=ast.Load()):
            return not (isinstance(around[0], ast.Attribute) and around[0].attr in CHANGING)
        case ast.Call():
            return node is not above.func and reads_alone(home, above)
        case ast.Assign(targets=[target]):
            return isinstance(target, ast.Attribute)
        case _:
            return isinstance(above, _READS)


def reads_alone(home: Home, call: ast.Call) -> bool:
    """True if a call only reads the lists passed to it, and keeps no reference to them, only to their elements."""
    return home.builtin(call) in _READING or home.library(call).startswith(_READING_LIBRARIES)
