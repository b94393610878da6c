"""The body of a scan over layers: the names that hold the layer or the carry, or that vary by layer."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from scanify.analysis.flow.names import target_names
from scanify.analysis.lower.nodes import names_in, nodes_in
from scanify.analysis.lower.scope import inner_scope
from scanify.analysis.lower.text import root
from scanify.analysis.remarks.scans.forms import LAX, VIAS
from scanify.analysis.remarks.stacks import kind_of
from scanify.analysis.remarks.view import View, argument, names_read

_PRODUCTS = frozenset(f"jax.numpy.{name}" for name in ("dot", "matmul", "einsum", "tensordot", "vdot", "inner"))


@dataclass(frozen=True, eq=False)
class ScanBody:
    """The body of a scan. `carry` and `element` are its parameters for the carry and for the layer (or its arrays).

    `element` may hold more xs than the layer. `given` are the parameters that `partial` binds, with their values.
    """

    view: View
    node: ast.FunctionDef | ast.Lambda
    carry: str
    element: str
    given: Mapping[str, ast.expr] = field(default_factory=dict)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """The nodes of its code, without its parameters."""
        return nodes_in(*([self.node.body] if isinstance(self.node, ast.Lambda) else self.node.body))

    @cached_property
    def layer(self) -> set[str]:
        """The element's name, and the names computed from it."""
        return _computed_from({self.element}, self.nodes)

    @cached_property
    def bound(self) -> frozenset[str]:
        """All names that the body binds, except parameters that `partial` binds."""
        return inner_scope(self.view.module, self.node).locals - set(self.given)

    @cached_property
    def varying(self) -> set[str]:
        """All names whose value may differ by layer."""
        params = inner_scope(self.view.module, self.node).params
        return _computed_from({*params} - set(self.given), self.nodes)

    def calls_of_layers(self) -> Iterator[ast.Call]:
        """Yield the calls that apply the layer: `layer(x)`, `layer.attn(x)`, `eqx.combine(arrays, static)(x)`."""
        for node in self.nodes:
            if isinstance(node, ast.Call) and (node.args or node.keywords):
                made = isinstance(node.func, ast.Call) and self.mentions(node.func, self.layer)
                if made or root(node.func) in self.layer:
                    yield node

    @cached_property
    def over_layers(self) -> bool:
        """True if each iteration applies a layer: it calls one, or multiplies the carry with the element."""
        return any(self.calls_of_layers()) or any(map(self._multiplies, self.nodes))

    def _multiplies(self, node: ast.AST) -> bool:
        """True for `x @ w`, `jnp.dot(x, layer["w"])`: in a scan over time the weights come from outside the body."""
        match node:
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                parts = [left, right]
            case ast.Call(func=function, args=parts) if self.view.called(function) in _PRODUCTS:
                pass
            case _:
                return False
        carried = _computed_from({self.carry}, self.nodes)
        weights = [each for each in parts if self.mentions(each, self.layer) and not self.mentions(each, carried)]
        return bool(weights) and any(self.mentions(each, carried) for each in parts)

    def mentions(self, node: ast.AST, names: set[str]) -> bool:
        """True if a node reads one of some names."""
        return any(each.id in names for each in names_read(node))


def body_of(view: View, call: ast.Call) -> ScanBody | None:
    """Return the body of `jax.lax.scan(f, x, xs)`, or of `stack.fold_via(f)`, if it is in the project."""
    if view.called(call.func) in LAX:
        function = argument(call, 0, "f")
        return _body(view, function, layer_first=False) if function is not None else None
    match call:
        case ast.Call(func=ast.Attribute(value=stack, attr=method), args=[function, *_]) if method in VIAS:
            known = kind_of(view.project, view.module, stack) is not None
            return _body(view, function, layer_first=True) if known else None
        case _:
            return None


def _body(view: View, function: ast.expr, *, layer_first: bool) -> ScanBody | None:
    meant, filled = view.value(function), list[ast.expr]()
    if isinstance(meant, ast.Call) and view.called(meant.func) == "functools.partial" and not meant.keywords:
        function, *filled = meant.args
    found = view.body(function)
    if found is None or any(isinstance(each, ast.Starred) for each in filled):
        return None
    parameters = [each.arg for each in (*found.node.args.posonlyargs, *found.node.args.args)]
    given = dict(zip(parameters, filled, strict=False))
    match parameters[len(filled) :]:
        case ["self" | "cls", *_] if not layer_first:
            return None
        case [first, second, *_]:
            carry, element = (second, first) if layer_first else (first, second)
            return ScanBody(replace(view, module=found.module), found.node, carry, element, given)
        case _:
            return None


def _computed_from(names: set[str], nodes: Sequence[ast.AST]) -> set[str]:
    """Return some names, and all names assigned a value computed from them."""
    pairs: list[tuple[list[str], set[str]]] = []
    for node in nodes:
        match node:
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                pairs.append((target_names(target), names_in([value])))
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                pairs.append((target_names(target), names_in([value])))
    for _ in pairs:  # each pair may extend the reach of another
        names = names.union(*(bound for bound, read in pairs if read & names))
    return names
