"""Shardings of leaves: one that names an axis is for the axes of the leaves of a list, and a stack has one more."""

import ast

from scanify.analysis.index import Module
from scanify.analysis.lower.nodes import names_in, nodes_in
from scanify.analysis.lower.text import called

PLACING = frozenset(
    """jax.device_put jax.lax.with_sharding_constraint equinox.filter_shard jax.make_array_from_callback
    jax.sharding.reshard jax.reshard""".split()
)
"""Functions that return the tree that they are given, each leaf by a sharding."""
SHARDED = "the axes of each leaf, which a sharding names"
_OTHERS = frozenset({"donate", "may_alias"})
_MOST = 4  # names that stand for one another


def names_axes(module: Module, call: ast.Call) -> bool:
    """True if a call, or a `partial`, may be given a sharding that names an axis: not `P()`, a device, or None."""
    given = [*call.args[1:], *(each.value for each in call.keywords if each.arg not in _OTHERS)]
    return not all(_is_whole(module, each) for each in given)


def _is_whole(module: Module, node: ast.expr, depth: int = 0) -> bool:
    match node:
        case ast.Constant(value=None):
            return True
        case ast.Call(args=args):
            name = (called(node) or "").rpartition(".")[2]
            name = module.imports.get(name, name).rpartition(".")[2]
            if name == "NamedSharding":
                return len(args) == 2 and _is_whole(module, args[1], depth)
            return (name in ("PartitionSpec", "P") and not args) or name in ("SingleDeviceSharding", "replicate")
        case ast.Subscript(value=ast.Call() as devices):
            return (called(devices) or "").rpartition(".")[2] in ("devices", "local_devices")
        case ast.Name(id=name) if depth < _MOST:
            bound = [each for each in nodes_in(module.tree) if name in _bound_by(each)]
            values = [getattr(each, "value", None) for each in bound if isinstance(each, ast.Assign | ast.AnnAssign)]
            plain = bool(values) and len(values) == len(bound)
            return plain and all(isinstance(each, ast.expr) and _is_whole(module, each, depth + 1) for each in values)
        case _:
            return False


def _bound_by(node: ast.AST) -> set[str]:
    """The names that a node binds, parameters among them."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case ast.arg(arg=name):
            return {name}
        case ast.Assign(targets=targets):
            return names_in(targets)
        case ast.For(target=target) | ast.comprehension(target=target) | ast.NamedExpr(target=target):
            return names_in([target])
        case _:
            return set()
