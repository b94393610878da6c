"""`equinox.tree_at` that names a layer of a stack, which is no part of the tree."""

import ast
from collections.abc import Iterator

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import Remark
from scanify.analysis.remarks.seen import Seen, argument
from scanify.analysis.remarks.stacks import BLOCK_SEQ, class_of, field_kind

RULE = "SCN316"


def remarks(seen: Seen, call: ast.Call) -> Iterator[Remark]:
    """`eqx.tree_at(lambda m: m.blocks[3].weight, model, new)` where `blocks` is a stack."""
    if seen.called(call.func) != "equinox.tree_at":
        return
    where, tree = argument(call, 0, "where"), argument(call, 1, "pytree")
    owner = class_of(seen.index, seen.module, tree) if tree is not None else None
    if owner is None or not isinstance(where, ast.Lambda) or not where.args.args:
        return
    model = where.args.args[0].arg
    for node in nodes_in(where.body):
        match node:
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr=field)) if name == model:
                kind = field_kind(seen.index, owner, field)
                if kind is not None and kind != BLOCK_SEQ:
                    layer = seen.code(node)
                    reason = f"`{layer}` is no part of the tree: `{field}` is a stack, which has no layers as leaves"
                    remedy = (
                        f"replace the stack, `lambda {model}: {model}.{field}`, by its `.with_layer(i, layer)`, "
                        f"or a parameter of all layers, `lambda {model}: {model}.{field}.stacked.weight`"
                    )
                    yield seen.remark(call, RULE, reason, remedy, node)
                    return
            case _:
                pass
