"""Which names a stretch of code reads before it binds them, and which it binds: the dataflow of one block.

The answer errs on the safe side: a name counts as read first unless it is bound on every path that leads to the read.
"""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from scanify.analysis.lower.nodes import children, nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, Comprehension, names_bound_by, parameters

_SUPPRESSING = frozenset(("suppress", "raises"))


@dataclass
class Names:
    """`read_first`: names read before they are definitely bound, in order, each with the first such node.

    `bound`: names that may be bound, each with the first node that does. `definite`: names bound on every path that
    reaches the end. `ends`: no path reaches the end. `exits`: for each `break` and `continue` the names that are
    definite there. `deleted`: names that some path unbinds.
    """

    read_first: dict[str, ast.AST] = field(default_factory=dict)
    bound: dict[str, ast.AST] = field(default_factory=dict)
    definite: set[str] = field(default_factory=set)
    ends: bool = False
    exits: list[set[str]] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)

    def read(self, name: str, node: ast.AST) -> None:
        if name not in self.definite:
            self.read_first.setdefault(name, node)

    def bind(self, name: str, node: ast.AST) -> None:
        self.bound.setdefault(name, node)
        self.definite.add(name)


def flow(statements: Iterable[ast.AST], given: Iterable[str] = ()) -> Names:
    """The dataflow of statements (or expressions) run one after another; `given` are names that are bound already."""
    names = Names(definite=set(given))
    _block(statements, names)
    return names


def reads(*nodes: ast.AST) -> dict[str, ast.AST]:
    """The free names that evaluating some expressions (or definitions) reads, in order."""
    return flow(nodes).read_first


def target_names(target: ast.AST | None) -> list[str]:
    """The names that an assignment target binds, left to right; subscripts and attributes bind none."""
    match target:
        case ast.Name():
            return [target.id]
        case ast.Tuple() | ast.List():
            return [name for element in target.elts for name in target_names(element)]
        case ast.Starred():
            return target_names(target.value)
        case _:
            return []


def pattern_names(pattern: ast.AST) -> list[str]:
    """The names that a pattern of `match` captures."""
    return [name for node in nodes_in(pattern) if isinstance(node, ast.pattern) for name in names_bound_by(node)]


# -- statements ---------------------------------------------------------------------------------------------------


def _block(statements: Iterable[ast.AST], names: Names) -> None:
    for statement in statements:
        _statement(statement, names)


def _statement(node: ast.AST, names: Names) -> None:
    match node:
        case ast.Assign():
            _expression(node.value, names)
            for target in node.targets:
                _target(target, names)
        case ast.AnnAssign():
            if node.value is not None:
                _expression(node.value, names)
                _target(node.target, names)
        case ast.AugAssign():
            if isinstance(node.target, ast.Name):
                names.read(node.target.id, node.target)
            else:
                _expression(node.target, names)
            _expression(node.value, names)
            _target(node.target, names)
        case ast.Return() | ast.Raise():
            _children(node, names)
            names.ends = True
        case ast.Break() | ast.Continue():
            names.exits.append(set(names.definite))
            names.ends = True
        case ast.Delete():
            for target in node.targets:
                _expression(target, names)
                for name in target_names(target):
                    names.bound.setdefault(name, node)
                    names.definite.discard(name)
                    names.deleted.add(name)
        case ast.Import() | ast.ImportFrom():
            for name in names_bound_by(node):
                names.bind(name, node)
        case ast.Global() | ast.Nonlocal() | ast.Pass():
            pass
        case ast.stmt():
            _compound(node, names)
        case _:
            _expression(node, names)


def _compound(node: ast.stmt, names: Names) -> None:
    match node:
        case ast.If():
            _expression(node.test, names)
            _branches(names, [node.body, node.orelse])
        case ast.For() | ast.AsyncFor():
            _expression(node.iter, names)
            inner = _fork(names, own_exits=True)
            _target(node.target, inner)
            _maybe(names, node.body, inner)
            _maybe(names, node.orelse, _fork(names))
        case ast.While():
            _expression(node.test, names)
            _maybe(names, node.body, _fork(names, own_exits=True))
            _maybe(names, node.orelse, _fork(names))
        case ast.With() | ast.AsyncWith():
            suppresses = False
            for item in node.items:
                _expression(item.context_expr, names)
                suppresses = suppresses or _suppresses(item.context_expr)
                if item.optional_vars is not None:
                    _target(item.optional_vars, names)
            if suppresses:
                _maybe(names, node.body, _fork(names))
            else:
                _block(node.body, names)
        case ast.Try() | ast.TryStar():
            _try(node, names)
        case ast.Match():
            _match(node, names)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            _expression(node, names)
            names.bind(node.name, node)
        case _:
            _children(node, names)


def _suppresses(manager: ast.expr) -> bool:
    """Whether a manager of a `with` is one that is known to catch exceptions: the block may stop anywhere."""
    called = manager.func if isinstance(manager, ast.Call) else manager
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) in _SUPPRESSING


def _match(node: ast.Match, names: Names) -> None:
    _expression(node.subject, names)
    paths = []
    for case in node.cases:
        inner = _fork(names)
        for part in nodes_in(case.pattern):
            if isinstance(part, ast.MatchValue):
                _expression(part.value, inner)
        for name in pattern_names(case.pattern):
            inner.bind(name, case)
        if case.guard is not None:
            _expression(case.guard, inner)
        _block(case.body, inner)
        paths.append(inner)
    last = node.cases[-1]
    if not (isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None):
        paths.append(_fork(names))
    _join(names, paths)


def _try(node: ast.Try | ast.TryStar, names: Names) -> None:
    whole = _fork(names)
    _block([*node.body, *node.orelse], whole)
    paths = [whole]
    for handler in node.handlers:
        inner = _fork(names)
        inner.definite -= whole.deleted
        if handler.type is not None:
            _expression(handler.type, inner)
        if handler.name is not None:
            inner.bound.setdefault(handler.name, handler)
            inner.definite.add(handler.name)
        _block(handler.body, inner)
        if handler.name is not None:  # unbound again at the handler's end
            inner.definite.discard(handler.name)
            inner.deleted.add(handler.name)
        paths.append(inner)
    final = _fork(names)
    final.definite -= {name for each in paths for name in each.deleted}
    _block(node.finalbody, final)
    _join(names, paths)
    names.deleted |= final.deleted
    names.definite = (names.definite - final.deleted) | final.definite
    names.ends = names.ends or final.ends


def _fork(names: Names, *, own_exits: bool = False) -> Names:
    """A path that may not be taken: what it reads and binds is seen, what it definitely binds is not bound after it."""
    exits: list[set[str]] = [] if own_exits else names.exits
    return Names(names.read_first, names.bound, set(names.definite), exits=exits)


def _maybe(names: Names, statements: Iterable[ast.AST], inner: Names) -> None:
    """Run statements that may not run, or not to their end."""
    _block(statements, inner)
    names.definite -= inner.deleted
    names.deleted |= inner.deleted


def _forked(names: Names, node: ast.AST) -> Names:
    inner = _fork(names)
    _expression(node, inner)
    return inner


def _branches(names: Names, branches: Sequence[Sequence[ast.AST]]) -> None:
    paths = []
    for branch in branches:
        inner = _fork(names)
        _block(branch, inner)
        paths.append(inner)
    _join(names, paths)


def _join(names: Names, paths: Sequence[Names]) -> None:
    names.deleted |= {name for each in paths for name in each.deleted}
    reached = [each.definite for each in paths if not each.ends]
    if reached:
        names.definite = set.intersection(*reached)
    else:
        names.ends = True


# -- expressions --------------------------------------------------------------------------------------------------


def _target(node: ast.AST, names: Names) -> None:
    match node:
        case ast.Name():
            names.bind(node.id, node)
        case ast.Tuple() | ast.List():
            for element in node.elts:
                _target(element, names)
        case ast.Starred():
            _target(node.value, names)
        case _:
            _children(node, names)  # an attribute or a subscript: its parts are read


def _children(node: ast.AST, names: Names) -> None:
    for child in children(node):
        _expression(child, names)


def _expression(node: ast.AST, names: Names) -> None:
    match node:
        case ast.Name():
            names.read(node.id, node)
        case ast.Constant() | ast.expr_context() | ast.operator() | ast.cmpop() | ast.unaryop() | ast.boolop():
            pass
        case ast.NamedExpr():
            _expression(node.value, names)
            _target(node.target, names)
        case ast.BoolOp():
            _expression(node.values[0], names)
            inner = _fork(names)
            for value in node.values[1:]:
                _expression(value, inner)
        case ast.IfExp():
            if any(isinstance(part, ast.NamedExpr) for part in nodes_in(node.test)):
                _expression(node.test, names)
                _branches(names, [[node.body], [node.orelse]])
            else:  # as it is written: the order of names is the order in which they are read
                inner = _fork(names)
                _expression(node.body, inner)
                _expression(node.test, names)
                _join(names, [inner, _forked(names, node.orelse)])
        case ast.Lambda():
            _function(node, [node.body], names)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            for decorator in node.decorator_list:
                _expression(decorator, names)
            _function(node, node.body, names)
        case ast.ClassDef():
            for part in (*node.decorator_list, *node.bases, *node.keywords):
                _expression(part, names)
            _nested(names, flow(node.body), set())
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            _comprehension(node, names)
        case ast.stmt():
            _statement(node, names)
        case _:
            _children(node, names)


def _nested(names: Names, inner: Names, own: set[str]) -> None:
    """What a nested scope reads and does not bind itself is read from around it."""
    for name, node in inner.read_first.items():
        if name not in own:
            names.read(name, node)


def _function(node: ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef, body: Sequence[ast.AST], names: Names) -> None:
    for default in (*node.args.defaults, *node.args.kw_defaults):
        if default is not None:
            _expression(default, names)
    inner = flow(body)
    outer = {name for each in body for name in _outer_names(each)}
    # A name bound anywhere in a function is local in all of it.
    _nested(names, inner, {arg.arg for arg in parameters(node)} | (set(inner.bound) - outer))
    for name in outer & set(inner.bound):
        names.bound.setdefault(name, node)


def _outer_names(node: ast.AST) -> list[str]:
    """The names that a function declares `global` or `nonlocal`."""
    if isinstance(node, ast.Global | ast.Nonlocal):
        return list(node.names)
    if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.expr)):
        return []
    return [name for child in children(node) for name in _outer_names(child)]


def _comprehension(node: Comprehension, names: Names) -> None:
    _expression(node.generators[0].iter, names)
    inner = Names(definite=set())
    own: set[str] = set()
    for number, level in enumerate(node.generators):
        if number:
            _expression(level.iter, inner)
        own |= set(target_names(level.target))
        inner.definite |= own
        for condition in level.ifs:
            _expression(condition, inner)
    for result in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
        _expression(result, inner)
    _nested(names, inner, own)
    for name, bound in inner.bound.items():  # a walrus in a comprehension binds around it
        names.bound.setdefault(name, bound)
