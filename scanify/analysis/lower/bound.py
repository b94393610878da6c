"""Names bound by nodes."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from scanify.analysis.lower.nodes import children

BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
_BINDERS = (ast.stmt, ast.excepthandler, ast.match_case)


@lru_cache(maxsize=1 << 14)  # every lookup of a name visits every statement
def bound_by(statement: ast.AST) -> frozenset[str]:
    """Return the names that a statement binds itself, outside the blocks in it."""
    bound: set[str] = set()
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.AnnAssign) and node.value is None:
            continue
        bound.update(names_bound_by(node))
        waiting += [each for each in evaluated_here(node) if not isinstance(each, _BINDERS)]
    return frozenset(bound)


def evaluated_here(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the children of a node that are evaluated in the node's own scope."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from (*node.decorator_list, node.args, *((node.returns,) if node.returns is not None else ()))
        case ast.Lambda():
            yield node.args
        case ast.ClassDef():
            yield from (*node.decorator_list, *node.bases, *node.keywords)
        case ast.comprehension():
            yield from (node.iter, *node.ifs)
        case _:
            yield from children(node)


def names_bound_by(node: ast.AST) -> Iterator[str]:
    """Yield the names that one node binds, without its children."""
    match node:
        case ast.Name(ctx=ast.Store() | ast.Del()):
            yield node.id
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Import() | ast.ImportFrom():
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case ast.AST() if type(node).__name__ in ("TypeVar", "ParamSpec", "TypeVarTuple"):
            yield node.name  # type: ignore[attr-defined]
