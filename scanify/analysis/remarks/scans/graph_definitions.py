"""Stacks of Flax NNX layers that use the graph definition of the first layer for all."""

import ast
from collections.abc import Iterator

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import Remark
from scanify.analysis.remarks.view import View, bindings
from scanify.analysis.watchers.library import KINDS

RULE = "SCN338"
_REMEDY = (
    "compare them before: `if any(graphdef != graphdefs[0] for graphdef in graphdefs): raise ValueError(...)`, "
    "or build the layers stacked with `nnx.vmap`"
)


def remarks(view: View, call: ast.Call) -> Iterator[Remark]:
    """Check `nnx.merge(graphdefs[0], jax.tree.map(lambda *x: jnp.stack(x), *states))` without a comparison."""
    known = view.called(call.func)
    if not known.startswith("flax.nnx.") or not known.endswith("merge") or len(call.args) < 2:
        return
    definition = call.args[0]
    around = nodes_in(*list(view.functions_around(call))[-1:])
    stacks = any(isinstance(each, ast.Call) and _stacks(view, each) for each in around)
    if stacks and _is_of_first(view, definition) and not any(map(_compares, around)):
        first = view.code(definition)
        reason = f"all layers get the graph definition of the first, `{first}`: what is no array may differ"
        yield view.remark(call, RULE, reason, _REMEDY, definition)


def _stacks(view: View, call: ast.Call) -> bool:
    """True for `jax.tree.map(lambda *x: jnp.stack(x), *states)`."""
    mapped = KINDS.get(view.called(call.func)) == "map"
    return mapped and any(isinstance(each, ast.Starred) for each in call.args)


def _is_of_first(view: View, definition: ast.expr) -> bool:
    """True for `graphdefs[0]`, or a name unpacked from `nnx.split(layers[0])`."""
    match view.value(definition):
        case ast.Subscript(slice=ast.Constant()):
            return True
        case ast.Name() as given:
            splits = [getattr(statement, "value", None) for statement, _ in bindings(view.module, given)]
        case _:
            return False
    match splits:
        case [ast.Call(func=split, args=[ast.Subscript(slice=ast.Constant())])]:
            return view.called(split).startswith("flax.nnx.")
        case _:
            return False


def _compares(node: ast.AST) -> bool:
    """True if code compares, or calls a function that may compare: `graphdef != graphdefs[0]`, `len(set(...))`."""
    by_function = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("set", "all", "any")
    return isinstance(node, ast.Compare) or by_function
