"""Names that are bound to more of themselves: `layers += (layer,)`, `layers = layers + [layer]`, `[*layers, layer]`.

Where nobody else reads the name before the loop is over, that is a list that grows.
"""

import ast

from scanify.analysis.index import Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import ancestors, parent_of
from scanify.analysis.values.calls.methods import extend, grow
from scanify.analysis.values.code.expressions import evaluate
from scanify.analysis.values.domain import Listed
from scanify.analysis.values.heap import ListCell
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter


def regrow(run: Interpreter, env: Env, node: ast.Assign | ast.AugAssign) -> bool:
    """Add to the list of a name what a statement in a loop binds it to beside itself; False where it does no such
    thing, or the list may be seen as it was before."""
    found = _growth(node)
    if found is None or env.function is None:
        return False
    name, added = found
    before = env.lookup(name)
    if not isinstance(before, Listed) or not _is_own(run, env, before.cell, name):
        return False
    if not run.loops_since(before.cell.born) or not _grows_alone(env.module, env.function, name):
        return False
    for each in added:
        if isinstance(each, ast.Starred):
            extend(run, env, before.cell, evaluate(run, env, each.value), each.value, node)
        else:
            grow(run, env, before.cell, evaluate(run, env, each), each, node)
    return True


def _growth(node: ast.AST) -> tuple[str, list[ast.expr]] | None:
    """The name that a statement binds to itself and what comes behind it, and the latter."""
    match node:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
            return name, _parts(value)
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=old), op=ast.Add(), right=right)):
            return (name, _parts(right)) if name == old else None
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Tuple(elts=[ast.Starred(value=ast.Name(id=old)), *rest])
            | ast.List(elts=[ast.Starred(value=ast.Name(id=old)), *rest]),
        ):
            return (name, rest) if name == old else None
        case _:
            return None


def _parts(value: ast.expr) -> list[ast.expr]:
    return list(value.elts) if isinstance(value, ast.List | ast.Tuple) else [ast.Starred(value, ast.Load())]


def _is_own(run: Interpreter, env: Env, cell: ListCell, name: str) -> bool:
    """Whether a list was made for the name by the call that runs."""
    above = parent_of(env.module, cell.node)
    bound = isinstance(above, ast.Assign) and len(above.targets) == 1 and above.value is cell.node
    target = above.targets[0] if bound and isinstance(above, ast.Assign) else getattr(above, "target", None)
    return isinstance(target, ast.Name) and target.id == name and run.is_fresh(cell.born, env.call)


def _grows_alone(module: Module, function: ast.AST, name: str) -> bool:
    """Whether a name is read by what adds to it alone, or behind the loops in which that stands."""
    known: dict[str, bool] | None = getattr(function, "_regrown", None)
    if known is None:
        known = function._regrown = {}  # type: ignore[attr-defined]
    if name not in known:
        known[name] = _reads_behind(module, function, name)
    return known[name]


def _reads_behind(module: Module, function: ast.AST, name: str) -> bool:
    growths = [each for each in nodes_in(function) if (_growth(each) or ("",))[0] == name]
    loops = [
        above
        for each in growths
        for above in ancestors(module, each)
        if isinstance(above, ast.For | ast.While) and _is_in(module, above, function)
    ]
    end = max((loop.end_lineno or 0 for loop in loops), default=0)
    own = {id(each) for growth in growths for each in nodes_in(growth)}
    reads = [each for each in nodes_in(function) if isinstance(each, ast.Name) and each.id == name]
    return all(id(each) in own or each.lineno > end for each in reads if isinstance(each.ctx, ast.Load)) and all(
        sum(1 for each in nodes_in(one) if each in reads) <= 2 for one in growths
    )


def _is_in(module: Module, node: ast.AST, function: ast.AST) -> bool:
    return any(above is function for above in ancestors(module, node))
