"""Statements of a body that a function of one layer cannot hold, and questions that have another answer in a scan."""

import ast
from collections.abc import Iterator, Sequence

from scanify.analysis.flow.names import target_names
from scanify.analysis.flow.statements import bound_by, statements_in
from scanify.analysis.lower.loop import Loop, Problem
from scanify.analysis.lower.nodes import children, nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, parent_of
from scanify.analysis.lower.text import called, dotted

_WORDS = {
    "ClassDef": "a class definition",
    "Import": "an import",
    "ImportFrom": "an import",
    "AsyncFor": "`async for`",
    "AsyncWith": "`async with`",
    "TryStar": "`try`",
    "Delete": "`del`",
    "Match": "`match`",
    "While": "`while`",
    "Try": "`try`",
    "AsyncFunctionDef": "an asynchronous function",
    "TypeAlias": "a type alias",
}
_PAUSES = "pauses the loop in the middle of an iteration; a scan cannot pause"
_NUMBER_TYPES = frozenset("int float bool complex Number Integral Real ndarray generic".split())
# Managers that mean the same when they are entered once, while the body of a scan is traced.
MANAGERS = frozenset(
    "jax.named_scope jax.profiler.annotate_function jax.default_matmul_precision jax.profiler.TraceAnnotation".split()
)


def unsupported(loop: Loop) -> Iterator[Problem]:
    """The statements of a body that cannot stand in a function of one layer, in source order."""
    for statement in statements_in(loop.body):
        match statement:
            case ast.Global() | ast.Nonlocal():
                word = type(statement).__name__.lower()
                yield Problem(
                    "SCN207", f"`{word}` assigns a name outside of the loop; a scan does that once", statement
                )
            case ast.AnnAssign(value=None):
                # In a local function it would make the name local.
                yield Problem("SCN212", "an annotation without a value cannot move into a function", statement)
            case ast.For(orelse=[first, *_]):
                yield Problem("SCN212", "a `for` with an `else` cannot stand in the function of a scan", first)
            case ast.FunctionDef() if not _only_called(loop, statement):
                yield Problem(
                    "SCN212", f"the function `{statement.name}` is kept; a scan makes one, not one per layer", statement
                )
            case ast.With():
                yield from _managers(loop, statement)
            case ast.Match() if not _is_of_a_loop(loop, statement):
                continue
            case ast.Expr(value=value) if not isinstance(value, ast.Call | ast.Constant | ast.Yield | ast.Await):
                if loop.element is None and not isinstance(value, ast.YieldFrom):
                    yield Problem("SCN212", "an expression in the body is computed and not used", statement)
            case _ if type(statement).__name__ in _WORDS:
                yield Problem(
                    "SCN212", f"{_WORDS[type(statement).__name__]} cannot stand in the function of a scan", statement
                )
        yield from _leaving(statement)


def _leaving(statement: ast.AST) -> Iterator[Problem]:
    """`yield` and `await` in the expressions of one statement."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await):
            word = type(node).__name__.lower().removesuffix("from")
            yield Problem("SCN205", f"`{word}` {_PAUSES}", node)
        if isinstance(node, ast.comprehension) and node.is_async:
            yield Problem("SCN205", f"`async for` {_PAUSES}", node.iter)
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            waiting.extend(each for each in children(node) if not isinstance(each, ast.stmt))


def _is_of_a_loop(loop: Loop, statement: ast.Match) -> bool:
    """Whether a `match` may take another case in another iteration, or asks for more than whether values are equal."""
    bound = {name for walk in loop.walks for name in target_names(walk.target)} | {loop.carry}
    bound |= set(target_names(loop.index.target)) if loop.index is not None else set()
    bound |= {name for each in statements_in(loop.body) for name in bound_by(each)}
    reads = [each for each in nodes_in(statement.subject) if isinstance(each, ast.Name)]
    values = (ast.MatchValue, ast.MatchSingleton, ast.MatchOr, ast.expr, ast.expr_context)
    patterns = (each for case in statement.cases for each in nodes_in(case.pattern))
    plain = all(isinstance(each, values) or (isinstance(each, ast.MatchAs) and each.name is None) for each in patterns)
    guarded = any(case.guard is not None for case in statement.cases)
    return (
        guarded
        or not plain
        or any(isinstance(each, ast.Call) for each in nodes_in(statement.subject))
        or any(each.id in bound for each in reads)
    )


def _managers(loop: Loop, statement: ast.With) -> Iterator[Problem]:
    for item in statement.items:
        call = item.context_expr
        name = loop.scope.qualified(call.func) if isinstance(call, ast.Call) else None
        if name not in MANAGERS:
            text = called(call) or dotted(call) or loop.code(call)
            yield Problem("SCN212", f"`with {text}` would be entered once, not once per layer", statement)


def _only_called(loop: Loop, function: ast.FunctionDef) -> bool:
    """Whether a function made in the body is called there and never kept: it reads names as they are then.

    Kept beyond an iteration, it would see the names of the last one in the loop, and of its own in a local function.
    """
    for statement in loop.body:
        for node in nodes_in(statement):
            if not isinstance(node, ast.Name) or node.id != function.name:
                continue
            above = parent_of(loop.module, node)
            call = parent_of(loop.module, above) if isinstance(above, ast.keyword) else above
            if not isinstance(call, ast.Call):
                return False
            library = (loop.scope.qualified(call.func) or "").partition(".")[0]
            if call.func is not node and library not in ("jax", "equinox"):
                return False
    return True


# -- identity ----------------------------------------------------------------------------------------------------------


def identity_problems(loop: Loop, layers: frozenset[str], own: frozenset[str]) -> Iterator[Problem]:
    """Comparisons and calls in a body whose answer is another one in a scan, where every iteration sees one tracer.

    `own` are the names that the loop binds: objects of its iterations.
    """
    for statement in loop.body:
        for node in nodes_in(statement):
            if isinstance(node, ast.Compare):
                told = _compares(node, layers, own)
            else:
                told = isinstance(node, ast.Call) and _tells_apart(loop, node, layers, own)
            if told:
                reason = "compares object identity; in a scan every iteration sees the same tracer"
                yield Problem("SCN208", f"`{loop.code(node)}` {reason}", node)


def _tells_apart(loop: Loop, node: ast.Call, layers: frozenset[str], own: frozenset[str]) -> bool:
    name = loop.scope.builtin(node)
    given = dotted(node.args[0]) if node.args else None
    if given not in own:
        return False
    if name == "isinstance":
        return len(node.args) == 2 and _number_type(node.args[1])
    return name in ("id", "hash") or (name == "type" and given not in layers)


def _compares(node: ast.Compare, layers: frozenset[str], own: frozenset[str]) -> bool:
    sides: Sequence[ast.expr] = [node.left, *node.comparators]
    for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
        both = {dotted(left), dotted(right)}
        # What is None is so in every iteration, or the scan says that the structure differs.
        if any(isinstance(each, ast.Constant) and each.value is None for each in (left, right)):
            continue
        if (isinstance(operator, ast.Is | ast.IsNot) and own & both) or layers & both:
            return True
    return False


def _number_type(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return any(map(_number_type, node.elts))
    if isinstance(node, ast.BinOp):
        return _number_type(node.left) or _number_type(node.right)
    return (dotted(node) or "").rpartition(".")[2] in _NUMBER_TYPES
