"""What the statements of one function do with its names, without the values."""

import ast
from collections import Counter
from dataclasses import dataclass

from scanify.analysis.lower.nodes import children

_READERS = frozenset("len list tuple set sorted zip enumerate reversed sum any all min max isinstance dict map".split())
_CHANGING_METHODS = frozenset(
    "append extend insert add update setdefault appendleft extendleft pop clear remove reverse sort popitem discard "
    "popleft".split()
)
_READING_METHODS = frozenset("items values keys get copy index count".split())
_READING = (ast.For, ast.comprehension, ast.Starred, ast.If, ast.While, ast.Assert, ast.Expr)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True)
class Names:
    """The names of a function.

    `several` are bound more than once, `rebound` are bound by functions in the function. `open` are those whose values
    something else may hold, by which a container changes unseen; `passed` gives the functions that a value is passed
    to.
    """

    bound: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    yields: bool = False
    several: frozenset[str] = frozenset()
    rebound: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    passed: tuple[tuple[str, ast.expr], ...] = ()


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
        constructs = getattr(node, "name", "") in ("__init__", "__post_init__")
        args = (
            [each.arg for each in ast.walk(getattr(node, "args", node)) if isinstance(each, ast.arg)]
            if constructs
            else []
        )
        self.first = args[:1]  # the names of the object that is constructed
        self.yields = False
        self.bound: Counter[str] = Counter()
        self.rebound: set[str] = set()
        self.open: set[str] = set()
        self.inner: set[str] = set()  # names that functions in the function read
        self.passed: list[tuple[str, ast.expr]] = []
        self.stored: dict[str, int] = {}  # the first line where a value is stored in a field
        self.changed: dict[str, int] = {}  # the last line where a container is changed
        for child in children(node):
            self._read(child, (node, node), None, inner=False)

    def names(self) -> Names:
        """What was read."""
        early = {name for name, line in self.stored.items() if line <= self.changed.get(name, 0)}
        return Names(
            frozenset(self.bound),
            frozenset(self.changed),
            self.yields,
            frozenset(name for name, count in self.bound.items() if count > 1),
            frozenset(self.rebound),
            frozenset(self.open | early | (self.inner & self.changed.keys())),
            tuple(self.passed),
        )

    def _read(self, node: ast.AST, above: tuple[ast.AST, ast.AST], loop: ast.stmt | None, *, inner: bool) -> None:
        """Read a node below two others; `inner` if it is in a function or a class in the function."""
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self._place(name, node, above, loop, inner=inner)
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
                    self._change(name, loop or node)
            case ast.arg() | ast.alias() | ast.MatchMapping() | ast.MatchAs() | ast.MatchStar() | ast.ExceptHandler():
                given = (getattr(node, each, None) for each in ("arg", "asname", "rest", "name"))
                self.bound[next(filter(None, given), "").partition(".")[0]] += 1
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self.bound[name] += 1
            case ast.For() | ast.While():
                loop = loop or node
        for child in children(node):
            self._read(child, (node, above[0]), loop, inner=inner or isinstance(node, _FUNCTIONS))

    def _change(self, name: str, at: ast.stmt | ast.expr) -> None:
        self.changed[name] = max(self.changed.get(name, 0), at.end_lineno or at.lineno)

    def _place(
        self, name: str, node: ast.Name, above: tuple[ast.AST, ast.AST], loop: ast.stmt | None, *, inner: bool
    ) -> None:
        """Note how a name is read; each place in a loop is in all of its lines."""
        at: ast.stmt | ast.expr = loop or node
        if inner:
            self.inner.add(name)
        match above:
            case ast.Attribute(attr=attr), ast.Call(func=called) if called is above[0] and attr in _CHANGING_METHODS:
                self._change(name, at)
            case ast.Attribute(attr=attr), ast.Call(func=called) if called is above[0] and attr in _READING_METHODS:
                pass
            case ast.Subscript(value=value, ctx=ctx), _ if value is node and not isinstance(ctx, ast.Del):
                if isinstance(ctx, ast.Store):
                    self._change(name, at)
            case ast.Call(func=called), _ if called is node or getattr(called, "id", "") in _READERS:
                pass
            case ast.Compare(ops=[ast.In() | ast.NotIn() | ast.Is() | ast.IsNot()]), _:
                pass
            case (ast.Call(func=called), _) | (ast.keyword(arg=str()), ast.Call(func=called)):
                self.passed.append((name, called))
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=owner))]), _ if owner in self.first:
                self.stored[name] = min(self.stored.get(name, at.lineno), at.lineno)
            case (ast.Return(), _) | (ast.Tuple(), ast.Return()) if not inner:
                pass
            case upper, _ if not isinstance(upper, (*_READING, ast.keyword)):
                self.open.add(name)
