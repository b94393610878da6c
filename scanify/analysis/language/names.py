"""What the statements of one function do with its names, without the values."""

import ast
from collections import Counter
from dataclasses import dataclass

from scanify.analysis.language import tables
from scanify.analysis.lower.nodes import children

_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_READING = (
    ast.Attribute, ast.For, ast.comprehension, ast.Starred, ast.Compare, ast.BinOp, ast.If, ast.While, ast.Assert,
    ast.Expr, ast.FormattedValue, ast.AugAssign, ast.Call, ast.keyword, ast.Return,
)  # fmt: skip
_MAKERS = frozenset("list dict set sorted defaultdict OrderedDict Counter deque".split())


@dataclass(frozen=True)
class Names:
    """The names of a function.

    `several` are bound more than once, `rebound` are bound, or their containers changed, by functions in the function.
    `built` are only bound to containers that are made there, and get other names only after their last change.
    """

    bound: frozenset[str] = frozenset()
    yields: bool = False
    several: frozenset[str] = frozenset()
    rebound: frozenset[str] = frozenset()
    built: frozenset[str] = frozenset()


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
        self.odd: set[str] = set()  # names that are bound to something else than a container that is made there
        self.shared: dict[str, int] = {}  # the first line where a name's value gets another name
        self.changed: dict[str, int] = {}  # the last line where its container is changed
        if isinstance(node, ast.ClassDef):
            self._bind(node.name)
        for child in children(node):
            self._read(child, (node, node), None, inner=False)

    def names(self) -> Names:
        """What was read."""
        several = frozenset(name for name, count in self.bound.items() if count > 1)
        early = {name for name, line in self.shared.items() if line <= self.changed.get(name, 0)}
        bound = frozenset(self.bound)
        return Names(bound, self.yields, several, frozenset(self.rebound), bound - self.odd - early)

    def _read(self, node: ast.AST, above: tuple[ast.AST, ast.AST], loop: ast.stmt | None, *, inner: bool) -> None:
        """Read a node below two others; `inner` if it is in a function or a class in the function."""
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self._place(name, node, above, loop, inner=inner)
            case ast.Nonlocal(names=names):
                self.rebound.update(names)
            case _ if inner:
                pass
            case ast.Yield() | ast.YieldFrom():
                self.yields = True
            case ast.Name(id=name) if isinstance(above[0], ast.AugAssign):  # `layers += [layer]`
                self.bound[name] += 1
                self._change(name, loop or node)
            case ast.Name(id=name):
                self.bound[name] += 1
                self.odd |= set() if _is_made(node, above[0]) else {name}
            case ast.arg(arg=str(name)) | ast.MatchMapping(rest=str(name)) | ast.alias(asname=str(name)):
                self._bind(name)
            case ast.FunctionDef(name=str(name)) | ast.AsyncFunctionDef(name=str(name)) | ast.ClassDef(name=str(name)):
                self._bind(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
                self._bind(name)
            case ast.alias(name=name):
                self._bind(name.partition(".")[0])
            case ast.For() | ast.While():
                loop = loop or node
        inner = inner or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef)
        for child in children(node):
            self._read(child, (node, above[0]), loop, inner=inner)

    def _bind(self, name: str) -> None:
        """Note a name that is bound to something else than a container that is made there."""
        self.bound[name] += 1
        self.odd.add(name)

    def _change(self, name: str, at: ast.stmt | ast.expr) -> None:
        self.changed[name] = max(self.changed.get(name, 0), at.end_lineno or at.lineno)

    def _place(
        self, name: str, node: ast.Name, above: tuple[ast.AST, ast.AST], loop: ast.stmt | None, *, inner: bool
    ) -> None:
        """Note where a name is read; each place in a loop is in all of its lines."""
        if _changes(node, above[0]):
            self._change(name, loop or node)
            self.rebound |= {name} if inner else set()
        elif not _only_reads(node, *above):
            self.shared[name] = min(self.shared.get(name, node.lineno), (loop or node).lineno)


def _is_made(node: ast.Name, above: ast.AST) -> bool:
    """True if a name is bound to a container that is made there."""
    if isinstance(above, ast.Assign) and above.targets != [node]:
        return False
    value = getattr(above, "value", None) if isinstance(above, ast.Assign | ast.AnnAssign) else None
    called = value.func if isinstance(value, ast.Call) else None
    return isinstance(value, _DISPLAYS) or getattr(called, "id", getattr(called, "attr", "")) in _MAKERS


def _changes(node: ast.Name, above: ast.AST) -> bool:
    """True if a container is changed under a name: `name.append(...)`, `name[0] = ...`."""
    match above:
        case ast.Attribute(attr=attr):
            return attr in tables.MUTATORS
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            return value is node
        case _:
            return False


def _only_reads(node: ast.Name, above: ast.AST, further: ast.AST) -> bool:
    """True if nothing holds the value of a name afterwards; what a call may do with it is looked at where it is."""
    match above:
        case ast.Subscript(value=value):
            return value is node
        case ast.Tuple():
            return isinstance(further, ast.Return)
        case _:
            return isinstance(above, _READING)
