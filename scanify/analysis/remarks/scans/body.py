"""The function that a scan runs for each layer: which of its names are the layer, the carry, or differ by turns."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from scanify.analysis.lower.nodes import names_in, nodes_in
from scanify.analysis.remarks.scans.forms import LAX, VIAS
from scanify.analysis.remarks.seen import Seen, argument, names_read
from scanify.analysis.remarks.stacks import kind_of

_PARAMETERS = re.compile(r"param|weight|layer|block|theta", re.IGNORECASE)
_PRODUCTS = frozenset(f"jax.numpy.{name}" for name in ("dot", "matmul", "einsum", "tensordot", "vdot", "inner"))


@dataclass(frozen=True, eq=False)
class ScanBody:
    """`carry` is the parameter of the carry, `given` that of what the scan takes apart: a layer, or its parameters,
    with what goes along. `gives` says whether it returns `(carry, y)`. `ahead` are the parameters that `partial` has
    given something already, which is the same in each turn."""

    seen: Seen
    node: ast.FunctionDef | ast.Lambda
    carry: str
    given: str
    gives: bool
    ahead: Mapping[str, ast.expr] = field(default_factory=dict)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """The nodes of its code, without its parameters."""
        return nodes_in(*([self.node.body] if isinstance(self.node, ast.Lambda) else self.node.body))

    @cached_property
    def layer(self) -> frozenset[str]:
        """The names of what the scan gives for a layer, and of what is made of it."""
        return _made_of(self.nodes, {self.given})

    @cached_property
    def turns(self) -> frozenset[str]:
        """All names that may stand for something else in each turn."""
        return _made_of(self.nodes, self._parameters)

    @cached_property
    def bound(self) -> frozenset[str]:
        """All names that the body binds."""
        return frozenset(self._parameters | set(_stored(self.nodes)))

    @property
    def _parameters(self) -> set[str]:
        args = self.node.args
        return {each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)} - set(self.ahead)

    def calls_of_layers(self) -> Iterator[ast.Call]:
        """The calls that apply the layer: `layer(x)`, `layer.attn(x)`, `eqx.combine(arrays, static)(x)`, and
        `block(params, x)` where the name says that these are parameters."""
        for node in self.nodes:
            if not isinstance(node, ast.Call):
                continue
            function = node.func
            while isinstance(function, ast.Attribute):
                function = function.value
            if isinstance(function, ast.Name):
                applied = function.id in self.layer and (node.args or node.keywords)
                given = node.args[0] if node.args else None
                named = isinstance(given, ast.Name) and given.id in self.layer and _PARAMETERS.search(given.id)
                if applied or (named and len(node.args) > 1 and not self.seen.called(node.func)):
                    yield node
            elif isinstance(function, ast.Call) and node.func is function and self.mentions(function, self.layer):
                yield node

    @cached_property
    def over_layers(self) -> bool:
        """Whether each turn applies a layer: it calls one, or multiplies what is carried with what it is given."""
        return any(self.calls_of_layers()) or any(self._multiplies(each) for each in self.nodes)

    def _multiplies(self, node: ast.AST) -> bool:
        """`x @ w`, `jnp.dot(x, layer["w"])`: in a scan over steps of time the weights come from around."""
        match node:
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                parts = [left, right]
            case ast.Call(func=function, args=parts) if self.seen.called(function) in _PRODUCTS:
                pass
            case _:
                return False
        given = [each for each in parts if self.mentions(each, self.layer) and not self.mentions(each, self._carried)]
        return bool(given) and any(self.mentions(each, self._carried) for each in parts)

    @cached_property
    def _carried(self) -> frozenset[str]:
        """The names of the carry, and of what is made of it."""
        return _made_of(self.nodes, {self.carry})

    def mentions(self, node: ast.AST, names: frozenset[str]) -> bool:
        return any(each.id in names for each in names_read(node))

    def returned(self) -> list[ast.expr]:
        """The expressions of the carry that is given to the next turn, names of the body followed."""
        values: list[ast.expr] = []
        if isinstance(self.node, ast.Lambda):
            values = [self.node.body]
        else:
            returns = (each for each in self.nodes if isinstance(each, ast.Return))
            values = [each.value for each in returns if each.value is not None]
        found = []
        for value in values:
            if self.gives and isinstance(value, ast.Tuple) and len(value.elts) == 2:
                value = value.elts[0]
            found.append(value)
        return found


def body_of(seen: Seen, call: ast.Call) -> ScanBody | None:
    """The body of `jax.lax.scan(f, x, xs)`, or of `stack.fold_via(f)(x)`, where the project has it."""
    if call not in seen.bodies:
        seen.bodies[call] = _body_of(seen, call)
    found = seen.bodies[call]
    return found if isinstance(found, ScanBody) else None


def _body_of(seen: Seen, call: ast.Call) -> ScanBody | None:
    known = seen.called(call.func)
    if known in LAX:
        function = argument(call, 0, "f")
        return scan_body(seen, function, layer_first=False, gives=True) if function is not None else None
    via = call.func
    is_via = isinstance(via, ast.Attribute) and via.attr in VIAS and bool(call.args)
    if not is_via or not isinstance(via, ast.Attribute) or kind_of(seen.index, seen.module, via.value) is None:
        return None
    return scan_body(seen, call.args[0], layer_first=True, gives=via.attr == "scan_via")


def scan_body(seen: Seen, function: ast.expr, *, layer_first: bool, gives: bool) -> ScanBody | None:
    meant, given_ahead = seen.meant(function), list[ast.expr]()
    if isinstance(meant, ast.Call) and seen.called(meant.func) == "functools.partial" and not meant.keywords:
        function, *given_ahead = meant.args
    found = seen.body(function)
    if found is None or any(isinstance(each, ast.Starred) for each in given_ahead):
        return None
    node, inner = found.node, replace(seen, module=found.module)
    every = [*node.args.posonlyargs, *node.args.args]
    ahead = {each.arg: value for each, value in zip(every, given_ahead, strict=False)}
    parameters = every[len(given_ahead) :]
    if len(parameters) < 2 or (parameters[0].arg in ("self", "cls") and not layer_first):
        return None
    first, second = parameters[0].arg, parameters[1].arg
    given, carry = (first, second) if layer_first else (second, first)
    return ScanBody(inner, node, carry, given, gives, ahead)


def _stored(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for each in nodes:
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id
        elif isinstance(each, ast.FunctionDef):
            yield each.name


def _made_of(nodes: list[ast.AST], names: set[str]) -> frozenset[str]:
    """Some names and those that are assigned something with one of them in it."""
    bindings: list[tuple[list[str], set[str]]] = []
    for each in nodes:
        targets = getattr(each, "targets", [getattr(each, "target", None)])
        value = getattr(each, "value", getattr(each, "iter", None))
        if isinstance(targets[0], ast.AST) and isinstance(value, ast.AST):
            bindings.append((list(_stored(nodes_in(*targets))), names_in([value])))
    found, before = set(names), -1
    while len(found) != before:
        before = len(found)
        for bound, read in bindings:
            if not read.isdisjoint(found):
                found.update(bound)
    return frozenset(found)
