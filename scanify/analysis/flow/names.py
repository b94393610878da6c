"""The dataflow of one block: the names that it reads before it binds them, and the names that it binds.

The answer is conservative: a name counts as read first unless it is bound on every path that leads to the read.
"""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from scanify.analysis.lower.bound import names_bound_by
from scanify.analysis.lower.nodes import children, nodes_in
from scanify.analysis.lower.scope import Comprehension, Function, parameters

_SUPPRESSING = frozenset(("suppress", "raises"))


@dataclass
class Names:
    """`read_first`: names read before they are definitely bound, in order, each with the first such node.

    `bound`: names that may be bound, each with the first node that binds it. `definite`: names bound on every path that
    reaches the end. `ends`: no path reaches the end. `exits`: for each `break` and `continue`, the names that are
    definite there. `deleted`: names that some path unbinds; they are never definite again.
    """

    read_first: dict[str, ast.AST] = field(default_factory=dict)
    bound: dict[str, ast.AST] = field(default_factory=dict)
    definite: set[str] = field(default_factory=set)
    ends: bool = False
    exits: list[set[str]] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)

    def read(self, name: str, node: ast.AST) -> None:
        if name not in self.definite or name in self.deleted:
            self.read_first.setdefault(name, node)

    def bind(self, name: str, node: ast.AST) -> None:
        self.bound.setdefault(name, node)
        self.definite.add(name)

    def unbind(self, name: str, node: ast.AST) -> None:
        self.bound.setdefault(name, node)
        self.deleted.add(name)

    def fork(self, exits: list[set[str]]) -> "Names":
        """Return a path that may not be taken: its reads and bindings count, but none is definite after it."""
        return Names(self.read_first, self.bound, set(self.definite), exits=exits, deleted=self.deleted)


def flow(statements: Iterable[ast.AST]) -> Names:
    """Return the dataflow of statements (or expressions) that run in sequence."""
    names = Names()
    _block(statements, names)
    names.definite -= names.deleted
    return names


def reads(*nodes: ast.AST) -> dict[str, ast.AST]:
    """Return the free names that evaluating expressions (or definitions) reads, in order."""
    return flow(nodes).read_first


def target_names(target: ast.AST | None) -> list[str]:
    """Return the names that an assignment target binds, left to right; subscripts and attributes bind none."""
    match target:
        case ast.Name():
            return [target.id]
        case ast.Tuple() | ast.List():
            return [name for element in target.elts for name in target_names(element)]
        case ast.Starred():
            return target_names(target.value)
        case _:
            return []


# -- statements ---------------------------------------------------------------------------------------------------


def _block(nodes: Iterable[ast.AST], names: Names) -> None:
    for node in nodes:
        _visit(node, names)


def _maybe(nodes: Iterable[ast.AST], names: Names, *, own_exits: bool = False) -> None:
    """Visit nodes that may not run, or not to their end."""
    _block(nodes, names.fork([] if own_exits else names.exits))


def _branches(names: Names, *branches: Sequence[ast.AST]) -> None:
    """Visit branches, exactly one of which runs."""
    paths = [names.fork(names.exits) for _ in branches]
    for path, branch in zip(paths, branches, strict=True):
        _block(branch, path)
    reached = [path.definite for path in paths if not path.ends]
    names.definite = set.intersection(*reached) if reached else names.definite
    names.ends = names.ends or not reached


def _visit(node: ast.AST, names: Names) -> None:
    match node:
        case ast.Name(ctx=ast.Store()):
            names.bind(node.id, node)
        case ast.Name():
            names.read(node.id, node)
            if isinstance(node.ctx, ast.Del):
                names.unbind(node.id, node)
        case ast.expr():
            _expression(node, names)
        case ast.Assign():
            _block([node.value, *node.targets], names)
        case ast.AnnAssign():
            _block([node.value, node.target] if node.value is not None else [], names)
        case ast.AugAssign():
            if isinstance(node.target, ast.Name):
                names.read(node.target.id, node.target)
            _block([node.value, node.target], names)
        case ast.Return() | ast.Raise():
            _block(children(node), names)
            names.ends = True
        case ast.Break() | ast.Continue():
            names.exits.append(names.definite - names.deleted)
            names.ends = True
        case ast.Import() | ast.ImportFrom():
            for name in names_bound_by(node):
                names.bind(name, node)
        case _:
            _compound(node, names)


def _compound(node: ast.AST, names: Names) -> None:
    match node:
        case ast.If():
            _visit(node.test, names)
            _branches(names, node.body, node.orelse)
        case ast.For() | ast.AsyncFor():
            _visit(node.iter, names)
            _maybe([node.target, *node.body], names, own_exits=True)
            _maybe(node.orelse, names)
        case ast.While():
            _visit(node.test, names)
            _maybe(node.body, names, own_exits=True)
            _maybe(node.orelse, names)
        case ast.With() | ast.AsyncWith():
            _block(node.items, names)
            suppresses = any(_suppresses(item.context_expr) for item in node.items)
            _maybe(node.body, names) if suppresses else _block(node.body, names)
        case ast.Try() | ast.TryStar():
            _maybe([*node.body, *node.orelse], names)
            for handler in node.handlers:
                _maybe([handler], names)
            _block(node.finalbody, names)
        case ast.Match():
            _visit(node.subject, names)
            for case in node.cases:
                _maybe([case], names)
        case ast.pattern() | ast.ExceptHandler():
            for name in names_bound_by(node):
                names.bind(name, node)
            _block(children(node), names)
            if isinstance(node, ast.ExceptHandler) and node.name is not None:
                names.unbind(node.name, node)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            _block(node.decorator_list, names)
            _function(node, node.body, names)
            names.bind(node.name, node)
        case ast.ClassDef():
            _block([*node.decorator_list, *node.bases, *node.keywords], names)
            _nested(names, flow(node.body), set())
            names.bind(node.name, node)
        case _:
            _block(children(node), names)


def _suppresses(manager: ast.expr) -> bool:
    """True if a context manager is known to catch exceptions: the block may stop anywhere."""
    called = manager.func if isinstance(manager, ast.Call) else manager
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) in _SUPPRESSING


# -- expressions --------------------------------------------------------------------------------------------------


def _expression(node: ast.expr, names: Names) -> None:
    match node:
        case ast.NamedExpr():
            _block([node.value, node.target], names)
        case ast.BoolOp():
            _visit(node.values[0], names)
            _maybe(node.values[1:], names)
        case ast.IfExp():
            _visit(node.test, names)
            _branches(names, [node.body], [node.orelse])
        case ast.Lambda():
            _function(node, [node.body], names)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            _comprehension(node, names)
        case _:
            _block(children(node), names)


def _nested(names: Names, inner: Names, own: set[str]) -> None:
    """Read the free names of a nested scope."""
    for name, node in inner.read_first.items():
        if name not in own:
            names.read(name, node)


def _function(node: ast.Lambda | Function, body: Sequence[ast.AST], names: Names) -> None:
    _block([each for each in (*node.args.defaults, *node.args.kw_defaults) if each is not None], names)
    inner = flow(body)
    declared = (each for each in nodes_in(*body) if isinstance(each, ast.Global | ast.Nonlocal))
    outer = {name for each in declared for name in each.names} & set(inner.bound)
    # A name bound anywhere in a function is local in all of it.
    _nested(names, inner, {arg.arg for arg in parameters(node)} | (set(inner.bound) - outer))
    for name in outer:
        names.bound.setdefault(name, node)


def _comprehension(node: Comprehension, names: Names) -> None:
    inner = Names()
    own: set[str] = set()
    for number, level in enumerate(node.generators):
        _visit(level.iter, inner if number else names)
        own |= set(target_names(level.target))
        inner.definite |= own
        _block(level.ifs, inner)
    _block([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt], inner)
    _nested(names, inner, own)
    for name, bound in inner.bound.items():  # a walrus in a comprehension binds around it
        names.bound.setdefault(name, bound)
