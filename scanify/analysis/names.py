"""Which names a stretch of code reads before it binds them, and which it binds: the dataflow of one block.

The answer is conservative in the safe direction: a name counts as read-first unless it is bound on every path.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import libcst as cst

from scanify.analysis.children import children


@dataclass
class Names:
    """`exposed`: names read before they are surely bound, in order, with the first such node. `bound`: names that
    may be bound, with the first binding node. `sure`: names bound on every path that reaches the end. `ends`: no path
    reaches the end. `exits`: for each `break` and `continue`, the names that are surely bound there.
    """

    exposed: dict[str, cst.CSTNode] = field(default_factory=dict)
    bound: dict[str, cst.CSTNode] = field(default_factory=dict)
    sure: set[str] = field(default_factory=set)
    ends: bool = False
    exits: list[set[str]] = field(default_factory=list)

    def read(self, name: cst.Name) -> None:
        if name.value not in self.sure:
            self.exposed.setdefault(name.value, name)

    def bind(self, name: str, node: cst.CSTNode) -> None:
        self.bound.setdefault(name, node)
        self.sure.add(name)


def flow(statements: Iterable[cst.CSTNode]) -> Names:
    """The dataflow of statements run one after another."""
    names = Names()
    _block(statements, names)
    return names


def reads(expression: cst.CSTNode) -> dict[str, cst.CSTNode]:
    """The free names that evaluating an expression (or a definition) reads, in order."""
    names = Names()
    _expression(expression, names)
    return names.exposed


def target_names(target: cst.CSTNode) -> list[str]:
    """The names that an assignment target binds, left to right; subscripts and attributes bind none."""
    if isinstance(target, cst.Name):
        return [target.value]
    if isinstance(target, cst.Tuple | cst.List):
        return [name for element in target.elements for name in target_names(element.value)]
    if isinstance(target, cst.StarredElement):
        return target_names(target.value)
    return []


def _block(statements: Iterable[cst.CSTNode], names: Names) -> None:
    for statement in statements:
        _statement(statement, names)


def body_of(block: cst.BaseSuite) -> Sequence[cst.CSTNode]:
    """The statements of a suite, whether it is indented or on the line of its header."""
    return block.body


def _statement(node: cst.CSTNode, names: Names) -> None:
    if isinstance(node, cst.SimpleStatementLine):
        _block(node.body, names)
    elif isinstance(node, cst.BaseSmallStatement):
        _small_statement(node, names)
    else:
        _compound_statement(node, names)


def _compound_statement(node: cst.CSTNode, names: Names) -> None:
    match node:
        case cst.If():
            _expression(node.test, names)
            orelse = node.orelse
            _branches(names, [body_of(node.body), [orelse] if orelse is not None else []])
        case cst.Else() | cst.Finally():
            _block(body_of(node.body), names)
        case cst.For():
            _expression(node.iter, names)
            _maybe(names, [node.target], body_of(node.body), targets=True)
            _maybe(names, [], [node.orelse] if node.orelse else [])
        case cst.While():
            _expression(node.test, names)
            _maybe(names, [], body_of(node.body))
            _maybe(names, [], [node.orelse] if node.orelse else [])
        case cst.With():
            for item in node.items:
                _expression(item.item, names)
                if item.asname is not None:
                    _target(item.asname.name, names)
            _block(body_of(node.body), names)
        case cst.Try() | cst.TryStar():
            _try(node, names)
        case cst.Match():
            _match(node, names)
        case cst.FunctionDef() | cst.ClassDef():
            _expression(node, names)
            names.bind(node.name.value, node)
        case _:
            _expression(node, names)


def _match(node: cst.Match, names: Names) -> None:
    _expression(node.subject, names)
    for case in node.cases:
        inner = _fork(names)
        for capture in pattern_names(case.pattern):
            inner.bind(capture, case)
        if case.guard is not None:
            _expression(case.guard, inner)
        _block(body_of(case.body), inner)


def _small_statement(node: cst.BaseSmallStatement, names: Names) -> None:
    match node:
        case cst.Assign():
            _expression(node.value, names)
            for target in node.targets:
                _target(target.target, names)
        case cst.AnnAssign():
            if node.value is not None:
                _expression(node.value, names)
                _target(node.target, names)
        case cst.AugAssign():
            _expression(node.target, names)
            _expression(node.value, names)
            _target(node.target, names)
        case cst.Return() | cst.Raise():
            _children(node, names)
            names.ends = True
        case cst.Break() | cst.Continue():
            names.exits.append(set(names.sure))
            names.ends = True
        case cst.Del():
            _children(node, names)
        case cst.Import() | cst.ImportFrom():
            for bound in imported_names(node):
                names.bind(bound, node)
        case cst.Global() | cst.Nonlocal() | cst.Pass():
            pass
        case _:
            _expression(node, names)


def imported_names(node: cst.Import | cst.ImportFrom) -> list[str]:
    """The local names an import statement binds."""
    if isinstance(node.names, cst.ImportStar):
        return []
    found = []
    for alias in node.names:
        if alias.asname is not None:
            found.extend(target_names(alias.asname.name))
        else:
            root: cst.BaseExpression = alias.name
            while isinstance(root, cst.Attribute):
                root = root.value
            found.extend(target_names(root))
    return found


def _fork(names: Names) -> Names:
    """A path that may not be taken: what it reads and binds is seen, what it surely binds is only perhaps bound."""
    return Names(names.exposed, names.bound, set(names.sure), exits=names.exits)


def _branches(names: Names, branches: Sequence[Sequence[cst.CSTNode]]) -> None:
    reached: list[set[str]] = []
    for branch in branches:
        inner = _fork(names)
        _block(branch, inner)
        if not inner.ends:
            reached.append(inner.sure)
    if reached:
        names.sure = set.intersection(*reached)
    else:
        names.ends = True


def _maybe(
    names: Names, bindings: Sequence[cst.CSTNode], statements: Iterable[cst.CSTNode], targets: bool = False
) -> None:
    inner = _fork(names)
    if targets:
        for binding in bindings:
            _target(binding, inner)
    _block(statements, inner)


def _try(node: cst.Try | cst.TryStar, names: Names) -> None:
    _maybe(names, [], body_of(node.body))
    for handler in node.handlers:
        inner = _fork(names)
        if handler.type is not None:
            _expression(handler.type, inner)
        if handler.name is not None:
            _target(handler.name.name, inner)
        _block(body_of(handler.body), inner)
    for rest in (node.orelse, node.finalbody):
        if rest is not None:
            _maybe(names, [], body_of(rest.body))


def pattern_names(pattern: cst.CSTNode) -> list[str]:
    """The names that a pattern of `match` captures."""
    found = []
    if isinstance(pattern, cst.MatchAs | cst.MatchStar) and pattern.name is not None:
        found.append(pattern.name.value)
    for child in children(pattern):
        found.extend(pattern_names(child))
    return found


def _target(node: cst.CSTNode, names: Names) -> None:
    match node:
        case cst.Name():
            names.bind(node.value, node)
        case cst.Tuple() | cst.List():
            for element in node.elements:
                _target(element.value, names)
        case cst.StarredElement():
            _target(node.value, names)
        case _:
            _children(node, names)  # an attribute or a subscript: its parts are read


def _children(node: cst.CSTNode, names: Names) -> None:
    for child in children(node):
        _expression(child, names)


def _expression(node: cst.CSTNode, names: Names) -> None:
    match node:
        case cst.Name():
            names.read(node)
        case cst.Attribute():
            _expression(node.value, names)
        case cst.Arg():
            _expression(node.value, names)
        case cst.Annotation() | cst.BaseParenthesizableWhitespace():
            pass  # annotations of local names are not evaluated
        case cst.NamedExpr():
            _expression(node.value, names)
            _target(node.target, names)
        case cst.Lambda():
            _function(node.params, [node.body], names)
        case cst.FunctionDef():
            for decorator in node.decorators:
                _children(decorator, names)
            _function(node.params, body_of(node.body), names)
        case cst.ClassDef():
            for decorator in node.decorators:
                _children(decorator, names)
            for arg in (*node.bases, *node.keywords):
                _expression(arg, names)
            _nested(names, flow(body_of(node.body)), set())
        case cst.ListComp() | cst.SetComp() | cst.GeneratorExp():
            _comprehension(node.for_in, [node.elt], names)
        case cst.DictComp():
            _comprehension(node.for_in, [node.key, node.value], names)
        case _:
            _children(node, names)


def _nested(names: Names, inner: Names, own: set[str]) -> None:
    """What a nested scope reads and does not bind itself is read from around it."""
    for name, node in inner.exposed.items():
        if name not in own and isinstance(node, cst.Name):
            names.read(node)


def parameter_names(params: cst.Parameters) -> set[str]:
    """All names that a parameter list binds."""
    found = {p.name.value for p in (*params.posonly_params, *params.params, *params.kwonly_params)}
    for star in (params.star_arg, params.star_kwarg):
        if isinstance(star, cst.Param):
            found.add(star.name.value)
    return found


def _function(params: cst.Parameters, body: Sequence[cst.CSTNode], names: Names) -> None:
    for param in (*params.posonly_params, *params.params, *params.kwonly_params):
        if param.default is not None:
            _expression(param.default, names)
    inner = flow(body)
    # A name bound anywhere in a function is local in all of it.
    _nested(names, inner, parameter_names(params) | set(inner.bound))


def _comprehension(comp: cst.CompFor, results: Sequence[cst.CSTNode], names: Names) -> None:
    own: set[str] = set()
    inner = Names()
    level: cst.CompFor | None = comp
    while level is not None:
        _expression(level.iter, inner)
        for name in target_names(level.target):
            own.add(name)
            inner.sure.add(name)
        for condition in level.ifs:
            _expression(condition.test, inner)
        level = level.inner_for_in
    for result in results:
        _expression(result, inner)
    _nested(names, inner, set())
    for name, node in inner.bound.items():  # a walrus in a comprehension binds around it
        names.bound.setdefault(name, node)
