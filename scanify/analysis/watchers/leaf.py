"""A small language of functions of one leaf in which each number of an array is treated by itself.

A function in the language gives a stack of layers the numbers that it gives each layer. Any other function reads
something of whole leaves, and so depends on how layers are stored.
"""

import ast
from dataclasses import dataclass, replace

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parameters
from scanify.analysis.watchers.names import Body, Callee, callee, is_decorated, local_scope
from scanify.analysis.watchers.tables import EACH_NUMBER, FILLED, TOTALS, TYPE_TESTS

SAME, EACH, OTHER = "same", "each", "other"
"""A value that does not depend on the leaf; an array computed number by number; everything that is not understood."""
TOTAL = frozenset("sum max min all any".split())
"""Totals that can go on over all leaves."""
RANK, SHAPE = "the rank of each leaf", "the shape of each leaf"
NORM, MEAN = "a norm of each leaf", "a mean of each leaf"
_MAX_DEPTH = 8
_SAME = frozenset("dtype sharding weak_type device devices itemsize is_fully_addressable committed".split())
_METHODS = frozenset("astype copy conj conjugate block_until_ready round clip real imag item".split())
_KEEPS = frozenset("array asarray float32 astype device_get int32 stop_gradient".split())
_PURE = ("jax.numpy.", "jax.lax.", "jax.nn.", "math.", "operator.", "numpy.")
_PURE_BUILTINS = frozenset(f"builtins.{name}" for name in "float int bool len min max abs sum tuple round str".split())
_RANDOM = ("jax.random.", "numpy.random.", "random.")


@dataclass(frozen=True)
class Result:
    """The value of a function of a leaf, and what else it reads of leaves."""

    value: str
    reads: tuple[str, ...] = ()

    @property
    def is_harmless(self) -> bool:
        """True if a stack gives the same numbers."""
        return self.value in (SAME, EACH) and not self.reads

    @property
    def text(self) -> str:
        """A description of everything that is read."""
        value = "a total of each leaf" if self.value in TOTAL else "the value of each leaf as a whole"
        return " and ".join(self.reads) or value


LEAF = Result(EACH)


def applied(index: Index, module: Module, function: ast.expr) -> Result:
    """Return the value of a function that is applied to each leaf of one or more trees."""
    leaf = _Leaf(index, module, {}, [])
    value = leaf.call(callee(index, module, function), [EACH], {}, function)
    return Result(value, tuple(dict.fromkeys(leaf.reads)))


def computed(index: Index, module: Module, expression: ast.expr, names: dict[str, str]) -> Result:
    """Return the value of an expression in which some names are leaves, or totals of leaves."""
    leaf = _Leaf(index, module, names, [])
    value = leaf.value(expression)
    return Result(value, tuple(dict.fromkeys(leaf.reads)))


@dataclass(frozen=True)
class _Leaf:
    index: Index
    module: Module
    names: dict[str, str]
    reads: list[str]
    depth: int = 0

    def other(self, reads: str) -> str:
        self.reads.append(reads)
        return OTHER

    def code(self, node: ast.AST) -> str:
        text = " ".join(self.module.code(node).split())
        return f"`{text if len(text) <= 50 else f'{text[:47]}...'}`"

    # -- expressions -----------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> str:
        match node:
            case ast.Constant():
                return SAME
            case ast.Name():
                return self.names.get(node.id) or self._other_name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp():
                return self._operation(node)
            case ast.UnaryOp(op=op, operand=operand):
                inner = self.value(operand)
                if isinstance(op, ast.Not | ast.Invert) and inner in ("all", "any"):
                    return "any" if inner == "all" else "all"
                kept = inner == "sum" and isinstance(op, ast.USub)
                return inner if kept else self.number_by_number([inner])
            case ast.Compare(left=left, ops=ops, comparators=others):
                values = [self.value(each) for each in (left, *others)]
                if all(isinstance(op, ast.Is | ast.IsNot) for op in ops):
                    return OTHER if OTHER in values else SAME
                return self.number_by_number(values)
            case ast.BoolOp(values=values):
                return self.number_by_number([self.value(each) for each in values])
            case ast.IfExp(test=test, body=body, orelse=other):
                return self.condition(test) or self.joined([self.value(body), self.value(other)])
            case ast.Call():
                return self._called(node)
            case ast.Subscript(value=value, slice=index):
                inner, at = self.value(value), self.value(index)
                if at == SAME and (inner in (SAME, OTHER) or (inner == EACH and _is_first_axis(index))):
                    return inner
                return OTHER if OTHER in (inner, at) else self.other("a part of each leaf")
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return self.joined([self.value(each) for each in elements])
            case ast.Slice(lower=lower, upper=upper, step=step):
                return self.joined([self.value(each) for each in (lower, upper, step) if each is not None])
            case ast.Lambda(args=ast.arguments(defaults=[], kw_defaults=[]), body=body):
                own = {each.arg: SAME for each in parameters(node)}
                return replace(self, names={**self.names, **own}).value(body)
            case _:
                return self.other(f"{self.code(node)} of each leaf")

    def joined(self, values: list[str]) -> str:
        """Return the value of an expression that may have any of several values."""
        found = set(values)
        return found.pop() if len(found) == 1 else self.number_by_number(values)

    def number_by_number(self, values: list[str]) -> str:
        """Return the value of an operation on several values, number by number."""
        if OTHER in values:
            return OTHER
        if not TOTAL.isdisjoint(values):
            return self.other("a total of each leaf")
        return EACH if EACH in values else SAME

    def condition(self, test: ast.expr) -> str | None:
        """Return OTHER if a test may be another one for a stack."""
        value = self.value(test)
        if value in (SAME, OTHER):
            return None if value == SAME else OTHER
        return self.other("the value of each leaf as a whole")

    def _other_name(self, node: ast.Name) -> str:
        """The value of a name that is no leaf: a function may read one that is bound around it."""
        if local_scope(self.module, node, node.id) is None:
            return SAME
        known = callee(self.index, self.module, node)
        read = nodes_in(known.node) if isinstance(known, Body) else ()
        if any(isinstance(each, ast.Name) and self.names.get(each.id, SAME) != SAME for each in read):
            return self.other(f"each leaf, with `{node.id}`")
        return SAME

    def _attribute(self, node: ast.Attribute) -> str:
        inner = self.value(node.value)
        if inner != EACH:
            return inner
        if node.attr in ("ndim", "shape"):
            self.reads.append(RANK if node.attr == "ndim" else SHAPE)
            return SAME
        if node.attr in ("size", "nbytes"):
            return "sum"
        if node.attr in ("real", "imag"):
            return EACH
        return SAME if node.attr in _SAME else self.other(f"{self.code(node)} of each leaf")

    def _operation(self, node: ast.BinOp) -> str:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.MatMult) and EACH in (left, right):
            return self.other("each leaf as a matrix")
        if (left, right) == ("sum", SAME) and isinstance(node.op, ast.Mult | ast.Div):
            return "sum"
        if (left, right) == (SAME, "sum") and isinstance(node.op, ast.Mult):
            return "sum"
        if (left, right) == ("sum", "sum") and isinstance(node.op, ast.Add | ast.Sub):
            return "sum"
        return self.number_by_number([left, right])

    # -- calls -----------------------------------------------------------------------------------------------------

    def _called(self, node: ast.Call) -> str:
        known = callee(self.index, self.module, node.func)
        if known in TYPE_TESTS:
            return SAME
        holder = self.value(node.func.value) if isinstance(node.func, ast.Attribute) and known is None else SAME
        shapes = [each for each in node.args if known in FILLED and self._is_shape(each)]
        given = [self.value(each) for each in node.args if each not in shapes]
        named = {each.arg or "**": self.value(each.value) for each in node.keywords}
        if any(isinstance(each, ast.List | ast.Tuple) and self.value(each) == EACH for each in node.args):
            return self.other("several leaves as one array")
        if isinstance(node.func, ast.Attribute) and known is None:
            return self._method(node, node.func.attr, holder, [*given, *named.values()])
        return self.call(known, [*given, *(EACH for _ in shapes)], named, node)

    def _is_shape(self, node: ast.expr) -> bool:
        """True for `x.shape` of a leaf, which makes an array of one value as large as the leaf."""
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="shape"):
                return self.names.get(name) == EACH
            case _:
                return False

    def _method(self, node: ast.Call, name: str, holder: str, given: list[str]) -> str:
        if holder == EACH and name in TOTAL and not given:
            return name
        if holder in TOTAL and name in ("item", "astype"):
            return holder
        if name in _METHODS or OTHER in (holder, *given):
            return self.number_by_number([holder, *given])
        if holder == EACH and name in ("mean", "std", "var"):
            return self.other(MEAN)
        changes = ", which may be another each time" if holder == SAME else ""
        return self.other(f"{self.code(node)} of each leaf{changes}")

    def call(self, known: Callee, given: list[str], named: dict[str, str], node: ast.expr) -> str:
        """Return the value of a call, by what is called and the values of its arguments."""
        values = [*given, *named.values()]
        if isinstance(known, str) and known.endswith("linalg.norm"):
            return self.other(NORM)  # of a leaf in another form, too: `jnp.linalg.norm(x.ravel())`
        if OTHER in values:
            return OTHER
        if known in TYPE_TESTS:
            return SAME
        if isinstance(known, Body) and not is_decorated(self.index, known) and self.depth < _MAX_DEPTH:
            return self._body(known, given, named)
        if not isinstance(known, str):
            return self.other(f"each leaf, with {self.code(node)}, which is not shown")
        if known.startswith(_RANDOM):
            self.reads.append("random numbers for each leaf")
            return EACH
        if set(values) <= {SAME}:
            pure = known.startswith(_PURE) or known in _PURE_BUILTINS | EACH_NUMBER | FILLED
            return SAME if pure else self.other(f"{self.code(node)} for each leaf, which may be another each time")
        return self._library(known, given, named, node)

    def _library(self, known: str, given: list[str], named: dict[str, str], node: ast.expr) -> str:
        name, values = known.rpartition(".")[2], [*given, *named.values()]
        if known in FILLED:
            return self.number_by_number(values)
        if known in TOTALS and values.count(EACH) == len(given) == len(values) - ("dtype" in named):
            alone = len(given) == 1 or name in ("vdot", "allclose", "array_equal")
            return TOTALS[known] if alone else self.other("a total over some axes of each leaf")
        if values[0] in TOTAL and len(values) == 1 and (name in _KEEPS or known in _PURE_BUILTINS):
            return values[0]
        if known in EACH_NUMBER:
            return self.other(NORM) if name == "sqrt" and values[0] in TOTAL else self.number_by_number(values)
        if name in ("mean", "std", "var", "median"):
            return self.other(MEAN)
        if name in ("ndim", "shape") and known in (f"jax.numpy.{name}", f"numpy.{name}"):
            self.reads.append(RANK if name == "ndim" else SHAPE)
            return SAME
        if known in TOTALS:
            return self.other("a total over some axes of each leaf")
        return self.other("the length of each leaf" if known == "builtins.len" else f"{self.code(node)} of each leaf")

    # -- functions of the project ----------------------------------------------------------------------------------

    def _body(self, function: Body, given: list[str], named: dict[str, str]) -> str:
        args = function.node.args
        positional = [*args.posonlyargs, *args.args]
        first_default = len(positional) - len(args.defaults)
        names = {each.arg: SAME for each in (*positional, *args.kwonlyargs)}
        mapped = given == [EACH] and not named
        for at, each in enumerate(positional):
            if at < len(given) or (mapped and at < first_default):  # a map gives the others leaves of other trees
                names[each.arg] = given[at] if at < len(given) else EACH
        names.update({name: value for name, value in named.items() if name in names})
        if args.vararg is not None or args.kwarg is not None:
            return self.other("several leaves at once")
        # A name that a function around binds, such as a leaf, has its value inside, too.
        around = self.names if function.module is self.module else {}
        inner = replace(self, module=function.module, names={**around, **names}, depth=self.depth + 1)
        body = function.node.body
        return inner.value(body) if isinstance(body, ast.expr) else inner.statements(body)

    def statements(self, body: list[ast.stmt]) -> str:
        """Return the value that statements return."""
        for at, statement in enumerate(body):
            match statement:
                case ast.Return(value=value):
                    return self.value(value) if value is not None else SAME
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    self.names[name] = self.value(value)
                case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value) if self.value(value) == SAME:
                    self.names.update({each.id: SAME for each in parts if isinstance(each, ast.Name)})
                case ast.AugAssign(target=ast.Name(id=name), value=value):
                    self.names[name] = self.number_by_number([self.names.get(name, SAME), self.value(value)])
                case ast.If(body=inside, orelse=[]) if all(isinstance(each, ast.Raise) for each in inside):
                    pass  # an error for a stack is loud
                case ast.If(test=test, body=inside, orelse=outside) if self.depth < _MAX_DEPTH:
                    rest = body[at + 1 :]
                    ways = [replace(self, names=dict(self.names), depth=self.depth + 1) for _ in range(2)]
                    found = self.condition(test)
                    branches = zip(ways, (inside, outside), strict=True)
                    return found or self.joined([way.statements([*branch, *rest]) for way, branch in branches])
                case ast.Raise():
                    return SAME
                case ast.Pass() | ast.Assert() | ast.Expr(value=ast.Constant()):
                    pass
                case ast.FunctionDef(args=ast.arguments(defaults=[], kw_defaults=[])):
                    pass  # a default would keep a leaf
                case _:
                    return self.other(f"{self.code(statement)} for each leaf")
        return SAME


def _is_first_axis(index: ast.expr) -> bool:
    """`x[i]`, `x[start:end]`, `x[i, ...]`, `x[None]`: leaves with one first axis are a batch, or several models.

    A stack of layers in each of several models has its own axis behind that one.
    """
    match index:
        case ast.Tuple(elts=[first, ast.Constant(value=rest)]):
            return rest is ... and _is_first_axis(first)
        case ast.Constant(value=value):
            return value is None
        case ast.Slice(lower=lower, upper=upper, step=None):
            return not any(isinstance(each, ast.Constant | ast.UnaryOp) for each in (lower, upper))
        case _:
            return isinstance(index, ast.Name | ast.Attribute)
