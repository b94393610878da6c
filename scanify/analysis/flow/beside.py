"""What is walked beside the layers, as expressions: the index, other lists, keys."""

import ast
from collections.abc import Iterator, Sequence

from scanify.analysis.flow.names import target_names
from scanify.analysis.flow.statements import assignments
from scanify.analysis.lower.loop import Index, Loop, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import called, code, dotted
from scanify.analysis.plan import PerLayer


def is_walked(index: Index, layer: Walk) -> bool:
    """Whether an index is one more xs: it is read, or it says how many iterations there are and the layers do not."""
    if index.read:
        return True
    if index.numbers is None:
        return False
    whole = (f"range(len({layer.counted}))", f"list({layer.counted})", _counted_from(index.first, layer))
    return layer.numbers is None and index.numbers_text not in whole


def index_text(index: Index, layer: Walk) -> str:
    """The numbers of a loop's index as an expression, counted beside its layers."""
    if index.numbers is not None:
        return index.numbers_text
    return _counted_from(index.first, layer)


def _counted_from(first: ast.expr | None, layer: Walk) -> str:
    if first is None:
        return f"range(len({layer.counted}))"
    return f"range({ast.unparse(first)}, {ast.unparse(first)} + len({layer.counted}))"


def walked_beside(loop: Loop, index: Index | None, beside: Sequence[Walk], layer: Walk) -> tuple[PerLayer, ...]:
    """Each xs with its target. Of what a `zip` may leave a rest of, as many as there are layers."""
    xs = [] if index is None else [PerLayer(code(loop.module, index.target), index_text(index, layer))]
    for walk in beside:
        of_all = layer.in_part and isinstance(walk.source, ast.Name | ast.Attribute)  # `zip(layers[:-1], keys)`
        longer = walk.cut and (of_all or _may_be_longer(loop, walk.source)) and loop.scope.binding("len") is None
        rest = f"[: len({layer.counted})]" if longer else ""
        xs.append(PerLayer(code(loop.module, walk.target), f"{walk.beside}{rest}"))
    return tuple(xs)


def _may_be_longer(loop: Loop, walked: ast.expr) -> bool:
    """Whether a name holds what an unpacking left, or keys of a number that is computed: `first, *keys = ...`,
    `split(key, depth + 1)`."""
    scope = loop.scope.function.node
    if not isinstance(walked, ast.Name) or isinstance(scope, ast.Lambda):
        return False
    for statement in assignments(getattr(scope, "body", ()), walked.id):
        if isinstance(statement, ast.Assign):
            targets = [each for target in statement.targets for each in nodes_in(target)]
            if any(isinstance(each, ast.Starred) and walked.id in target_names(each) for each in targets):
                return True
            if any(isinstance(each.op, ast.Add | ast.Mult) for each in _computed_counts(statement.value)):
                return True
    return False


def may_be_shorter(loop: Loop, walked: ast.expr) -> bool:
    """Whether what is walked are keys of a number that is a difference or a quotient: `split(key, depth - 1)`."""
    scope = loop.scope.function.node
    made = [walked]
    if isinstance(walked, ast.Name):
        statements = assignments(getattr(scope, "body", ()), walked.id) if not isinstance(scope, ast.Lambda) else ()
        made = [each.value for each in statements if isinstance(each, ast.Assign)]
    return any(isinstance(each.op, ast.Sub | ast.FloorDiv) for value in made for each in _computed_counts(value))


def _computed_counts(node: ast.expr) -> Iterator[ast.BinOp]:
    """The numbers of keys that are computed, where an expression splits a key."""
    for call in nodes_in(node):
        if isinstance(call, ast.Call) and (called(call) or dotted(call.func) or "").rpartition(".")[2] == "split":
            counts = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "num")]
            yield from (each for each in counts if isinstance(each, ast.BinOp))
