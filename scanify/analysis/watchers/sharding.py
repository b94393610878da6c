"""Shardings of leaves: one that names an axis fits the leaves of a list, but not a stack, which has one more axis."""

import ast

from scanify.analysis.flow.statements import value_given
from scanify.analysis.index import Module
from scanify.analysis.lower.text import called
from scanify.analysis.watchers.names import bindings_of, local_scope

PLACING = frozenset(
    """jax.device_put jax.lax.with_sharding_constraint equinox.filter_shard jax.make_array_from_callback
    jax.sharding.reshard jax.reshard""".split()
)
"""Functions that return the tree that they are passed, with each leaf placed by a sharding."""
SHARDED = "the axes of each leaf, which a sharding names"
_OTHERS = frozenset({"donate", "may_alias"})
SHARD_MAPS = frozenset({"jax.shard_map", "jax.experimental.shard_map.shard_map"})
# Arguments that place the inputs or outputs of a function: a tree of shardings, or one for all leaves.
PLACES = frozenset("in_shardings out_shardings in_specs out_specs".split())
_MOST = 4  # aliases from one name to another


def names_axes(module: Module, call: ast.Call) -> bool:
    """True if a call, or a `partial`, may be passed a sharding that names an axis: not `P()`, a device, or None."""
    given = [*call.args[1:], *(each.value for each in call.keywords if each.arg not in _OTHERS)]
    given += [each for each in call.args[:1] if isinstance(each, ast.Starred)]
    return not all(is_whole(module, each) for each in given)


def is_whole(module: Module, node: ast.expr, depth: int = 0) -> bool:
    """True if a sharding, or each in a tuple of them, is the same for a leaf with one more axis."""
    match node:
        case ast.Constant(value=None):
            return True
        case ast.Tuple(elts=several):
            return all(is_whole(module, each, depth) for each in several)
        case ast.Call(args=args):
            name = (called(node) or "").rpartition(".")[2]
            name = module.imports.get(name, name).rpartition(".")[2]
            if name == "NamedSharding":
                return len(args) == 2 and is_whole(module, args[1], depth)
            return (name in ("PartitionSpec", "P") and not args) or name in ("SingleDeviceSharding", "replicate")
        case ast.Subscript(value=ast.Call() as devices):
            return (called(devices) or "").rpartition(".")[2] in ("devices", "local_devices")
        case ast.Name(id=name) if depth < _MOST:
            holder = local_scope(module, node, name)
            bound = bindings_of(holder, name) if holder is not None else module.definitions.get(name, ())
            values = [value for each in bound for value in value_given(each, name)]
            is_plain = bool(values) and len(values) == len(bound) and not (holder and name in holder.params)
            return is_plain and all(is_whole(module, each, depth + 1) for each in values)
        case _:
            return False
