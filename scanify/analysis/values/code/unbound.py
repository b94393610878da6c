"""Branches that Python cannot run to their end: they begin with a name of the function that nothing has bound yet."""

import ast
from collections.abc import Sequence

from scanify.analysis.lower.nodes import children, nodes_in
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.IfExp, ast.BoolOp)


def raises_at_once(run: Interpreter, env: Env, block: Sequence[ast.stmt]) -> bool:
    """Whether the first statement of a branch reads a name that is bound on no way to it: an `UnboundLocalError`.

    In a loop the iteration before may have bound it.
    """
    if not block or env.function is None or run.around or run.exhausted:
        return False
    return any(name not in env.names and name in _assigned(env.function) for name in _reads(block[0]))


def _reads(statement: ast.stmt) -> tuple[str, ...]:
    """The names that a simple statement surely reads; asked once for each."""
    known: tuple[str, ...] | None = getattr(statement, "_surely_reads", None)
    if known is None:
        found: list[str] = []
        if isinstance(statement, ast.Assign | ast.Expr | ast.Return) and statement.value is not None:
            waiting: list[ast.AST] = [statement.value]
            while waiting:
                node = waiting.pop()
                if isinstance(node, ast.Name):
                    found.append(node.id)
                elif not isinstance(node, (*_SCOPES, *_COMPREHENSIONS, ast.NamedExpr)):
                    waiting += children(node)
        known = statement._surely_reads = tuple(found)  # type: ignore[attr-defined]
    return known


def _assigned(function: ast.AST) -> frozenset[str]:
    """The names that a function binds by plain assignments and in no other way; asked once for each."""
    known: frozenset[str] | None = getattr(function, "_assigned", None)
    if known is None:
        arguments = getattr(function, "args", None)
        parameters = {each.arg for each in nodes_in(arguments) if isinstance(each, ast.arg)} if arguments else set()
        plain: set[str] = set()
        others: set[str] = parameters
        waiting = list(getattr(function, "body", ())) if not isinstance(function, ast.Lambda) else []
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Assign):
                plain |= {each.id for each in node.targets if isinstance(each, ast.Name)}
                waiting += [each for each in node.targets if not isinstance(each, ast.Name)] + [node.value]
                continue
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                others.add(node.id)
            elif isinstance(node, ast.Global | ast.Nonlocal):
                others |= set(node.names)
            others |= {
                name
                for name in (getattr(node, "name", None), getattr(node, "rest", None), getattr(node, "asname", None))
                if isinstance(name, str)
            }
            if isinstance(node, ast.Import | ast.ImportFrom):
                others |= {each.asname or each.name.partition(".")[0] for each in node.names}
            waiting += children(node)
        known = function._assigned = frozenset(plain - others)  # type: ignore[attr-defined]
    return known
