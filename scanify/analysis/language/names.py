"""The uses of each name in one function: bound, changed, or held elsewhere. Values are not looked at."""

import ast
from collections import Counter
from dataclasses import dataclass

from scanify.analysis.lower.nodes import children

_READERS = frozenset("len list tuple set sorted zip enumerate reversed sum any all min max isinstance dict map".split())
_CHANGING_METHODS = frozenset("append extend insert add update pop clear remove reverse".split())
_READING = (ast.For, ast.comprehension, ast.Starred, ast.If, ast.While, ast.Assert, ast.Expr)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True)
class Names:
    """The names of a function.

    `several` are bound more than once, `rebound` are bound by functions in the function. `open` are those whose values
    something else may hold, by which a container changes unseen.
    """

    bound: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    yields: bool = False
    several: frozenset[str] = frozenset()
    rebound: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()


NO_NAMES = Names()


def names_of(node: ast.AST) -> Names:
    """The names of a function; kept with its node."""
    known: Names | None = getattr(node, "_names", None)
    if known is None:
        known = _Reader(node).names()
        setattr(node, "_names", known)  # noqa: B010  # `ast.AST` declares no such attribute
    return known


class _Reader:
    """Reads each place of each name of a function once."""

    def __init__(self, node: ast.AST) -> None:
        self.yields = False
        self.bound: Counter[str] = Counter()
        self.rebound: set[str] = set()
        self.open: set[str] = set()
        self.changed: set[str] = set()
        for child in children(node):
            self._read(child, (node, node), inner=False)

    def names(self) -> Names:
        """Return the names that were read."""
        several = frozenset(name for name, count in self.bound.items() if count > 1)
        found = (frozenset(each) for each in (self.rebound, self.open))
        return Names(frozenset(self.bound), frozenset(self.changed), self.yields, several, *found)

    def _read(self, node: ast.AST, above: tuple[ast.AST, ast.AST], *, inner: bool) -> None:
        """Read a node below two others; `inner` if it is in a function or a class in the function."""
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self._place(name, node, above, inner=inner)
            case ast.Nonlocal(names=names) | ast.Global(names=names):
                self.rebound.update(names)
                self.open.update(names)
            case _ if inner:
                pass
            case ast.Yield() | ast.YieldFrom():
                self.yields = True
            case ast.Name(id=name):
                self.bound[name] += 1
                if isinstance(above[0], ast.AugAssign):  # `layers += [layer]`
                    self.changed.add(name)
            case ast.arg() | ast.alias() | ast.MatchMapping() | ast.MatchAs() | ast.MatchStar() | ast.ExceptHandler():
                given = (getattr(node, each, None) for each in ("arg", "asname", "rest", "name"))
                self.bound[next(filter(None, given), "").partition(".")[0]] += 1
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self.bound[name] += 1
        for child in children(node):
            self._read(child, (node, above[0]), inner=inner or isinstance(node, _FUNCTIONS))

    def _place(self, name: str, node: ast.Name, above: tuple[ast.AST, ast.AST], *, inner: bool) -> None:
        """Note how a name is read: a container stays known where its elements are read, or it is changed by name."""
        if inner:
            self.open.add(name)
        match above:
            case ast.Attribute(attr=attr), ast.Call(func=called) if called is above[0] and attr in _CHANGING_METHODS:
                self.changed.add(name)
            case ast.Subscript(value=value, ctx=ctx), _ if value is node and not isinstance(ctx, ast.Del):
                if isinstance(ctx, ast.Store):
                    self.changed.add(name)
            case ast.Call(func=called), _ if called is node or getattr(called, "id", "") in _READERS:
                pass
            case ast.Compare(ops=[ast.In() | ast.NotIn() | ast.Is() | ast.IsNot()]), _:
                pass
            case (ast.Return(), _) | (ast.Tuple(), ast.Return()) if not inner:
                pass
            case upper, _ if not isinstance(upper, _READING):
                self.open.add(name)
