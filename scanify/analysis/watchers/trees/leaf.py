"""What a function does with one leaf of a tree: the same to each of its numbers, a total, or something else."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parameters
from scanify.analysis.watchers.names import Body, Callee, callee, is_decorated, local_scope
from scanify.analysis.watchers.tables import LEAF_LOADS
from scanify.analysis.watchers.trees.library import called, short
from scanify.analysis.watchers.trees.values import ELEMENTWISE, FILE, SAME, TOTAL, Kind, Value, joined, other

_MAX_DEPTH = 5
_SAME = frozenset("dtype sharding weak_type device devices itemsize is_fully_addressable committed".split())
_METHODS = frozenset("astype copy conj conjugate block_until_ready round clip real imag item".split())
# What gives something else each time it is called.
_CHANGES = frozenset("builtins.next builtins.input time.time time.perf_counter secrets.token_bytes os.urandom".split())
_PURE_METHODS = frozenset(
    """get keys items values format join split startswith endswith lower upper strip replace astype sum mean max min
    reshape ravel copy item tolist index count union intersection""".split()
)
_TOTAL_METHODS = frozenset("sum max min all any".split())


def applied(index: Index, module: Module, function: ast.expr, before: Sequence[Value] = ()) -> Value:
    """What a function gives that is applied to each leaf of one or more trees, behind what it is given `before`."""
    given = [*before, ELEMENTWISE]
    return _call(_Reader(index, module, {}), callee(index, module, function), given, {}, module.code(function))


def computed(index: Index, module: Module, expression: ast.expr, names: dict[str, Value]) -> Value:
    """What an expression gives in which some names stand for leaves."""
    return _Reader(index, module, names).value(expression)


@dataclass(frozen=True)
class _Reader:
    index: Index
    module: Module
    names: dict[str, Value]
    depth: int = 0

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant():
                return Value(Kind.SAME, zero=node.value in (0, 0.0) and node.value is not False)
            case ast.Name():
                return self.names[node.id] if node.id in self.names else self._function(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp():
                return self._operation(node)
            case ast.UnaryOp():
                inner = self.value(node.operand)
                if isinstance(node.op, ast.Not | ast.Invert) and inner.kind in (Kind.ALL, Kind.ANY):
                    return Value(Kind.ANY if inner.kind is Kind.ALL else Kind.ALL)
                plain = inner.kind is not Kind.SUM or isinstance(node.op, ast.USub | ast.UAdd)
                return inner if plain and inner.kind not in (Kind.MAX, Kind.MIN) else other("a total of each leaf")
            case ast.Compare():
                return self._comparison(node)
            case ast.BoolOp():
                return _compared([self.value(each) for each in node.values])
            case ast.IfExp():
                test = self.value(node.test)
                if test.kind is not Kind.SAME:
                    return self._condition(test)
                return joined([self.value(node.body), self.value(node.orelse)])
            case ast.Call():
                return self._called(node)
            case ast.Subscript():
                return self._part(node)
            case ast.Tuple() | ast.List():
                return joined([self.value(each) for each in node.elts]) if node.elts else SAME
            case ast.Starred():
                return self.value(node.value)
            case ast.Lambda():
                own = {each.arg: SAME for each in parameters(node)}
                return replace(self, names={**self.names, **own}).value(node.body)
            case _:
                return self._unknown(node)

    def _function(self, node: ast.Name) -> Value:
        """A name that stands for no value of a leaf: a function beside may still read one that is around it."""
        leaves = {name for name, value in self.names.items() if value.kind is not Kind.SAME}
        if not leaves or local_scope(self.module, node, node.id) is None:
            return SAME
        known = callee(self.index, self.module, node)
        read = nodes_in(known.node) if isinstance(known, Body) else ()
        if any(isinstance(each, ast.Name) and each.id in leaves for each in read):
            return other(f"each leaf, with `{node.id}`")
        return SAME

    def _unknown(self, node: ast.AST) -> Value:
        read = {each.id for each in nodes_in(node) if isinstance(each, ast.Name)}
        kinds = [self.names[name] for name in sorted(read) if name in self.names]
        if all(each.kind is Kind.SAME for each in kinds):
            return SAME
        return next((each for each in kinds if each.kind is Kind.OTHER), other(f"`{self._code(node)}` of each leaf"))

    def _code(self, node: ast.AST) -> str:
        text = " ".join(self.module.code(node).split())
        return text if len(text) <= 50 else f"{text[:47]}..."

    def _condition(self, test: Value) -> Value:
        return test if test.kind is Kind.OTHER else other("the value of each leaf as a whole")

    def _attribute(self, node: ast.Attribute) -> Value:
        inner = self.value(node.value)
        if inner.kind not in (Kind.ELEMENTWISE, Kind.STACKED, Kind.LEAVES):
            return inner
        match node.attr:
            case "shape":
                return Value(Kind.SHAPE, "the shape of each leaf")
            case "size" | "nbytes":
                return Value(Kind.SUM)
            case "real" | "imag":
                return inner
            case "ndim":
                return other("the rank of each leaf")
            case name if name in _SAME:
                return SAME
            case _:
                return other(f"`{self._code(node)}` of each leaf")

    def _operation(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        kinds = {left.kind, right.kind}
        if isinstance(node.op, ast.MatMult) and kinds != {Kind.SAME}:
            return other("each leaf as a matrix")
        if left.kind is Kind.NORM and isinstance(node.op, ast.Pow) and _is_two(node.right):
            return Value(Kind.SUM)
        if left.kind is Kind.SUM and right.kind is Kind.SAME and isinstance(node.op, ast.Mult | ast.Div):
            return left
        if left.kind is Kind.SAME and right.kind is Kind.SUM and isinstance(node.op, ast.Mult):
            return right
        if kinds == {Kind.SUM} and isinstance(node.op, ast.Add | ast.Sub):
            return left
        if kinds <= TOTAL | {Kind.SAME, Kind.NORM} and kinds != {Kind.SAME}:
            zero = (left, right)[left.kind is not Kind.SAME]
            if zero.zero and isinstance(node.op, ast.Add):
                return left if zero is right else right
            return other("a norm of each leaf" if Kind.NORM in kinds else "a total of each leaf")
        return joined([left, right])

    def _comparison(self, node: ast.Compare) -> Value:
        values = [self.value(node.left), *(self.value(each) for each in node.comparators)]
        if all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            return next((each for each in values if each.kind is Kind.OTHER), SAME)
        if all(each.kind is Kind.SHAPE for each in values):
            return SAME  # both change alike
        return _compared(values)

    def _part(self, node: ast.Subscript) -> Value:
        inner, index = self.value(node.value), self.value(node.slice) if isinstance(node.slice, ast.expr) else SAME
        if inner.kind is Kind.SAME and index.kind is Kind.SAME:
            return SAME
        if inner.kind is Kind.LEAVES:
            return ELEMENTWISE
        if inner.kind is Kind.SHAPE:
            return other("the shape of each leaf")
        if inner.kind in (Kind.ELEMENTWISE, Kind.STACKED) and _of_first_axis(node.slice):
            return inner
        return inner if inner.kind is Kind.OTHER else other("a part of each leaf")

    def _called(self, node: ast.Call) -> Value:
        given = [self.value(each) for each in node.args]
        named = {each.arg or "**": self.value(each.value) for each in node.keywords}
        if isinstance(node.func, ast.Attribute):
            holder = self.value(node.func.value)
            if holder.kind is not Kind.SAME:
                return self._method(node, node.func, holder, [*given, *named.values()])
        every = [*given, *named.values()]
        known = callee(self.index, self.module, node.func)
        if all(each.kind is Kind.SAME for each in every):
            return self._without_leaves(node, known)
        starred = any(isinstance(each, ast.Starred) for each in node.args)
        if isinstance(known, Body) and starred:
            return other(f"each leaf, with `{self._code(node.func)}`")
        return _call(self, known, given, named, self._code(node.func), node)

    def _without_leaves(self, node: ast.Call, known: Callee) -> Value:
        """A call that is given nothing of a leaf: the same for each, unless it changes from one call to the next."""
        if isinstance(known, Body):
            return _body(self, known, [SAME for _ in node.args], {}, self._code(node.func))
        if known in LEAF_LOADS and FILE in map(self.value, node.args):
            return ELEMENTWISE
        changes = known in _CHANGES or (isinstance(known, str) and known.startswith(("random.", "numpy.random.")))
        if known is None:
            method = node.func.attr if isinstance(node.func, ast.Attribute) else None
            changes = not (node.args or node.keywords) if method is None else method not in _PURE_METHODS
        return other(f"`{self._code(node)}` for each leaf, which may be another each time") if changes else SAME

    def _method(self, node: ast.Call, function: ast.Attribute, holder: Value, given: list[Value]) -> Value:
        name = function.attr
        if holder.kind is Kind.OTHER:
            return holder
        if holder.kind is Kind.ELEMENTWISE and name in _METHODS:
            return joined([holder, *given])
        if holder.kind is Kind.ELEMENTWISE and name in _TOTAL_METHODS and not node.args and not node.keywords:
            return Value(Kind(name))
        if holder.kind in TOTAL and name in ("item", "astype"):
            return holder
        return other(f"`{self._code(function)}` of each leaf")


def _call(
    reader: _Reader,
    known: Callee,
    given: list[Value],
    named: dict[str, Value],
    text: str,
    node: ast.Call | None = None,
) -> Value:
    """What a call gives, by what is called and what it is given."""
    bad = next((each for each in [*given, *named.values()] if each.kind is Kind.OTHER), None)
    if isinstance(known, Body) and not is_decorated(reader.index, known):
        return bad or _body(reader, known, given, named, text)
    if not isinstance(known, str):
        return bad or other(f"each leaf, with `{short(text)}`, which is not shown")
    return called(known, given, named, text, node)


def _of_first_axis(index: ast.expr) -> bool:
    """`x[i]`, `x[start:end]`, `x[i, ...]`, `x[None]`: what has one first axis in all leaves is a batch, or many models;
    a stack of layers in each of those has its own axis behind that one."""
    match index:
        case ast.Tuple(elts=[first, ast.Constant(value=rest)]):
            return rest is ... and _of_first_axis(first)
        case ast.Constant(value=value):
            return value is None
        case ast.Slice(lower=lower, upper=upper, step=None):
            return not any(isinstance(each, ast.Constant | ast.UnaryOp) for each in (lower, upper) if each is not None)
        case _:
            return isinstance(index, ast.Name | ast.Attribute)


def _only_raises(statement: ast.If) -> bool:
    """Whether all that a test decides is whether there is an error: one for a stack is loud."""
    return not statement.orelse and all(isinstance(each, ast.Raise) for each in statement.body)


def _compared(values: list[Value]) -> Value:
    """What a comparison, `and` or `or` gives: of a total it is no total any more."""
    if any(each.kind in TOTAL | {Kind.NORM} for each in values):
        return next((each for each in values if each.kind is Kind.OTHER), other("a total of each leaf"))
    return joined(values)


def _is_two(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (2, 2.0)


# -- functions whose bodies the project has -----------------------------------------------------------------------


def _body(reader: _Reader, function: Body, given: list[Value], named: dict[str, Value], text: str) -> Value:
    if reader.depth >= _MAX_DEPTH:
        return other(f"`{short(text)}` of each leaf")
    names = _bound(function.node.args, given, named)
    # What a function around binds, such as a leaf, is still what it is there.
    around = reader.names if function.module is reader.module else {}
    inner = replace(reader, module=function.module, names={**around, **names}, depth=reader.depth + 1)
    if isinstance(function.node, ast.Lambda):
        return inner.value(function.node.body)
    return _statements(inner, function.node.body) or SAME


def _bound(args: ast.arguments, given: list[Value], named: dict[str, Value]) -> dict[str, Value]:
    """The parameters by what a call gives them. A map gives one value: parameters after the first get other trees'."""
    positional = [*args.posonlyargs, *args.args]
    defaults = {each.arg for each in positional[len(positional) - len(args.defaults) :]}
    names = {each.arg: SAME for each in [*positional, *args.kwonlyargs]}
    mapped = len(given) == 1 and given[0] == ELEMENTWISE and not named
    for at, each in enumerate(positional):
        if at < len(given):
            names[each.arg] = given[at]
        elif mapped and each.arg not in defaults:
            names[each.arg] = ELEMENTWISE
    names.update({name: value for name, value in named.items() if name in names})
    if args.vararg is not None:
        names[args.vararg.arg] = Value(Kind.LEAVES)
    return names


def _statements(reader: _Reader, body: list[ast.stmt]) -> Value | None:
    """What a body returns; None where it goes on behind its end."""
    returned: list[Value] = []
    for statement in body:
        match statement:
            case ast.Return():
                value = reader.value(statement.value) if statement.value is not None else SAME
                return joined([*returned, value])
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                reader.names[name] = reader.value(value)
            case ast.Assign(targets=[ast.Tuple(elts=elements)], value=value):
                found = reader.value(value)
                for name in (each.id for each in elements if isinstance(each, ast.Name)):
                    reader.names[name] = found
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                reader.names[name] = joined([reader.names.get(name, SAME), reader.value(value)])
            case ast.If() if _only_raises(statement):
                pass
            case ast.If():
                test = reader.value(statement.test)
                if test.kind is not Kind.SAME:
                    return reader._condition(test)
                before = dict(reader.names)
                branches = []
                for branch in (statement.body, statement.orelse):
                    inner = replace(reader, names=dict(before))
                    ended = _statements(inner, branch)
                    returned += [ended] if ended is not None else []
                    branches.append(inner.names)
                for name in set(branches[0]) | set(branches[1]):
                    reader.names[name] = joined([each[name] for each in branches if name in each])
            case ast.Raise() | ast.Pass() | ast.Assert() | ast.FunctionDef() | ast.Import() | ast.ImportFrom():
                if isinstance(statement, ast.Raise):
                    return joined(returned) if returned else SAME
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=value):
                alone = reader.value(value)
                if alone.kind is not Kind.SAME:
                    return alone if alone.kind is Kind.OTHER else other(f"`{reader._code(value)}` of each leaf")
            case ast.Nonlocal() | ast.Global():
                return other("what other leaves left behind")
            case _:
                return other(f"`{short(reader.module.code(statement))}` for each leaf")
    return joined(returned) if returned else None
