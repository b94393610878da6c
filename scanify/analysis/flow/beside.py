"""The xs of a loop as expressions: the index, other lists, keys."""

import ast
from collections.abc import Sequence

from scanify.analysis.flow.names import target_names
from scanify.analysis.flow.statements import assignments
from scanify.analysis.lower.loop import Index, Loop, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import called, code
from scanify.analysis.plan import PerLayer


def is_walked(index: Index, layer: Walk) -> bool:
    """True if an index must be among the xs: it is read, or only it gives the number of iterations."""
    if index.read:
        return True
    if index.numbers is None:
        return False
    whole = (f"range(len({layer.counted}))", f"list({layer.counted})", _counted_from(index.first, layer))
    return layer.numbers is None and index.numbers_text not in whole


def index_text(index: Index, layer: Walk) -> str:
    """Return the numbers of a loop's index as an expression."""
    if index.numbers is not None:
        return index.numbers_text
    return _counted_from(index.first, layer)


def _counted_from(first: ast.expr | None, layer: Walk) -> str:
    if first is None:
        return f"range(len({layer.counted}))"
    return f"range({ast.unparse(first)}, {ast.unparse(first)} + len({layer.counted}))"


def walked_beside(loop: Loop, index: Index | None, beside: Sequence[Walk], layer: Walk) -> tuple[PerLayer, ...]:
    """Return each xs with its target; arguments of a `zip` that may be longer are truncated to the number of layers."""
    xs = [] if index is None else [PerLayer(code(loop.module, index.target), index_text(index, layer))]
    for walk in beside:
        of_all = layer.in_part and isinstance(walk.source, ast.Name | ast.Attribute)  # `zip(layers[:-1], keys)`
        longer = walk.cut and (of_all or _may_be_longer(loop, walk.source)) and loop.scope.binding("len") is None
        rest = f"[: len({layer.counted})]" if longer else ""
        xs.append(PerLayer(code(loop.module, walk.target), f"{walk.beside}{rest}"))
    return tuple(xs)


def _may_be_longer(loop: Loop, walked: ast.expr) -> bool:
    """True if a name may hold more elements than layers: `first, *keys = ...`, `keys = split(key, depth + 1)`."""
    name = walked.id if isinstance(walked, ast.Name) else ""
    for statement in assignments(getattr(loop.scope.function.node, "body", ()), name):
        if isinstance(statement, ast.Assign):
            for node in nodes_in(statement):
                if isinstance(node, ast.Starred) and name in target_names(node):
                    return True
                if isinstance(node, ast.Call) and (called(node) or "").rpartition(".")[2] == "split":
                    counts = [*node.args[1:2], *(each.value for each in node.keywords if each.arg == "num")]
                    if any(isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add | ast.Mult) for each in counts):
                        return True
    return False
