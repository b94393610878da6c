"""Stacks of Flax NNX layers that take the graph definition of the first for all."""

import ast
from collections.abc import Iterator

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors
from scanify.analysis.plan import Remark
from scanify.analysis.remarks.scans.body import body_of
from scanify.analysis.remarks.scans.forms import LAX
from scanify.analysis.remarks.seen import Seen, argument, names_read
from scanify.analysis.watchers.library import KINDS

RULE = "SCN338"
_REMEDY = (
    "compare them before: `if any(graphdef != graphdefs[0] for graphdef in graphdefs): raise ValueError(...)`, "
    "or build the layers stacked with `nnx.vmap`"
)


def remarks(seen: Seen, call: ast.Call) -> Iterator[Remark]:
    """`nnx.merge(graphdefs[0], jax.tree.map(lambda *x: jnp.stack(x), *states))` without a look at the others."""
    if not seen.called(call.func).startswith("flax.nnx.") or not seen.called(call.func).endswith("merge"):
        return
    around = _around(seen, call)
    if around is None:
        return
    definition = call.args[0]
    names = {each.id for each in names_read(definition)}
    if not _is_of_first(seen, definition) or any(_compares(each, names) for each in nodes_in(around)):
        return
    reason = f"all layers get the graph definition of the first, `{seen.code(definition)}`: what is no array may differ"
    yield seen.remark(call, RULE, reason, _REMEDY, definition)


def _around(seen: Seen, call: ast.Call) -> ast.AST | None:
    """The function that merges what stacked states are, or one row of them in the body of a scan."""
    around = seen.function_around(call)
    given = call.args[1] if len(call.args) >= 2 else None
    if around is None or given is None:
        return None
    states = seen.meant(given)
    if _stacks(seen, states):
        return around
    outside = seen.function_around(around)
    for each in nodes_in(outside) if outside is not None else ():
        if isinstance(each, ast.Call) and seen.called(each.func) in LAX and (body := body_of(seen, each)) is not None:
            xs = argument(each, 2, "xs")
            row = body.node is around and isinstance(given, ast.Name) and given.id in body.layer
            if row and xs is not None and any(_stacks(seen, seen.meant(one)) for one in (xs, *getattr(xs, "elts", ()))):
                return outside
    return None


def _stacks(seen: Seen, states: ast.expr) -> bool:
    """`jax.tree.map(lambda *x: jnp.stack(x), *states)`"""
    mapped = isinstance(states, ast.Call) and KINDS.get(seen.called(states.func)) == "map"
    return isinstance(states, ast.Call) and mapped and any(isinstance(each, ast.Starred) for each in states.args)


def _is_of_first(seen: Seen, definition: ast.expr) -> bool:
    """`graphdefs[0]`, or a name that `nnx.split(layers[0])` was unpacked into."""
    meant = seen.meant(definition)
    if isinstance(meant, ast.Subscript):
        return isinstance(meant.slice, ast.Constant)
    around = [each for each in ancestors(seen.module, definition) if isinstance(each, FUNCTIONS)]
    for each in nodes_in(*around) if isinstance(definition, ast.Name) else ():
        match each:
            case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=name), *_])], value=ast.Call() as split):
                first = split.args[0] if split.args else None
                if name == getattr(definition, "id", "") and isinstance(first, ast.Subscript):
                    return isinstance(first.slice, ast.Constant) and seen.called(split.func).startswith("flax.nnx.")
            case _:
                pass
    return False


def _compares(node: ast.AST, names: set[str]) -> bool:
    """Whether something is compared, or given to a function that may: `graphdef != graphdefs[0]`, `len(set(...))`."""
    if isinstance(node, ast.Compare):
        return True
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("set", "all", "any") and bool(names)
