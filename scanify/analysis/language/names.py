"""What the statements of one function do with its names, without the values."""

import ast
from collections import Counter
from dataclasses import dataclass

from scanify.analysis.lower.nodes import children

_READERS = frozenset(
    "len list tuple set sorted zip enumerate reversed sum any all min max isinstance dict map filter".split()
)
_CHANGING_METHODS = frozenset(
    "append extend insert add update setdefault appendleft extendleft pop clear remove reverse sort popitem discard "
    "popleft".split()
)
_CONSTRUCTORS = ("__init__", "__post_init__")
_READING_METHODS = frozenset("items values keys get copy index count".split())
_READING = (ast.For, ast.comprehension, ast.Starred, ast.If, ast.While, ast.Assert, ast.Expr)


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
        args = getattr(node, "args", None)
        first = [*args.posonlyargs, *args.args][:1] if isinstance(args, ast.arguments) else []
        self.first = first[0].arg if first and getattr(node, "name", "") in _CONSTRUCTORS else ""
        self.yields = False
        self.bound: Counter[str] = Counter()
        self.rebound: set[str] = set()
        self.open: set[str] = set()
        self.inner: set[str] = set()  # names that functions in the function read
        self.passed: list[tuple[str, ast.expr]] = []
        self.stored: dict[str, int] = {}  # the first line where a value is stored in a field
        self.changed: dict[str, int] = {}  # the last line where a container is changed
        if isinstance(node, ast.ClassDef):
            self.bound[node.name] += 1
        for child in children(node):
            self._read(child, (node, node), None, inner=False)

    def names(self) -> Names:
        """What was read."""
        several = frozenset(name for name, count in self.bound.items() if count > 1)
        early = {name for name, line in self.stored.items() if line <= self.changed.get(name, 0)}
        unsure = frozenset(self.open | early | (self.inner & self.changed.keys()))
        return Names(
            frozenset(self.bound),
            frozenset(self.changed),
            self.yields,
            several,
            frozenset(self.rebound),
            unsure,
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
            case ast.arg(arg=str(name)) | ast.MatchMapping(rest=str(name)) | ast.alias(asname=str(name)):
                self.bound[name] += 1
            case ast.FunctionDef(name=str(name)) | ast.AsyncFunctionDef(name=str(name)) | ast.ClassDef(name=str(name)):
                self.bound[name] += 1
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
                self.bound[name] += 1
            case ast.alias(name=name):
                self.bound[name.partition(".")[0]] += 1
            case ast.For() | ast.While():
                loop = loop or node
        inner = inner or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef)
        for child in children(node):
            self._read(child, (node, above[0]), loop, inner=inner)

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
            case ast.Subscript(value=value, ctx=ast.Load()), _ if value is node:
                pass
            case ast.Subscript(value=value, ctx=ast.Store()), _ if value is node:
                self._change(name, at)
            case ast.Call(func=called), _ if called is node:
                pass
            case ast.Call(func=ast.Name(id=called)), _ if called in _READERS:
                pass
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()]), _ if left is not node:
                pass
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]), _:
                pass
            case ast.Call(func=called), _:
                self.passed.append((name, called))
            case ast.keyword(arg=str()), ast.Call(func=called):
                self.passed.append((name, called))
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=owner))]), _ if owner == self.first:
                self.stored[name] = min(self.stored.get(name, at.lineno), at.lineno)
            case (ast.Return(), _) | (ast.Tuple(), ast.Return()) if not inner:
                pass
            case upper, _ if not isinstance(upper, (*_READING, ast.keyword)):
                self.open.add(name)
