"""Rematerialisation around a scan over layers, where it saves next to nothing, instead of inside."""

import ast
from collections.abc import Iterator

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import COMPREHENSIONS, ancestors
from scanify.analysis.plan import Remark
from scanify.analysis.remarks.scans.body import body_of
from scanify.analysis.remarks.scans.forms import LAX, LIFTED, REMATS, function_of
from scanify.analysis.remarks.view import View, argument, names_read

RULE = "SCN332"
_AROUND = "is around the scan: all layers are run again and keep all that they keep"
_INSIDE = (
    "`jax.checkpoint` the function that is scanned: `jax.lax.scan(jax.checkpoint(f, prevent_cse=False), x, layers)`"
)
_LIFTED = "lift the other way round: `nn.scan(nn.remat(Block), ...)`"
_REPEATS = (ast.For, ast.While, ast.Lambda, *COMPREHENSIONS)


def remarks(view: View, call: ast.Call) -> Iterator[Remark]:
    """Check `jax.checkpoint(lambda x: jax.lax.scan(f, x, layers)[0])`, `nn.remat(nn.scan(Block, ...))`."""
    known = function_of(view, call)
    if known in REMATS and call.args:
        inner = view.value(call.args[0])
        lifted = isinstance(inner, ast.Call) and function_of(view, inner) in LIFTED and inner.args
        if lifted and isinstance(inner, ast.Call) and not _is_rematerialised(view, inner.args[0]):
            yield view.remark(call, RULE, f"`{view.code(call.func)}` {_AROUND}", _LIFTED)
    elif known in LAX:
        body, function = body_of(view, call), argument(call, 0, "f")
        if body is None or function is None or not body.over_layers or _is_rematerialised(view, function):
            return
        around = next(view.functions_around(call), None)
        remat = _remat_of(view, around) if around is not None else None
        if remat is not None:
            yield view.remark(call, RULE, f"`jax.checkpoint` {_AROUND}", _INSIDE, remat)


def _is_rematerialised(view: View, function: ast.expr) -> bool:
    """True if a scanned function or a lifted module is rematerialised, or uses remat inside."""
    made, found = view.value(function), view.body(function)
    inside = nodes_in(*(each for each in (made, found and found.node) if isinstance(each, ast.AST)))
    return any(_is_remat(view, each) for each in inside if isinstance(each, ast.Call | ast.Name | ast.Attribute))


def _is_remat(view: View, node: ast.expr) -> bool:
    return (function_of(view, node) if isinstance(node, ast.Call) else view.called(node)) in REMATS


def _remat_of(view: View, function: ast.AST) -> ast.AST | None:
    """Return the remat of a function that is called once; with several calls, remat around each one saves memory."""
    if isinstance(function, ast.FunctionDef):
        remat = next((each for each in function.decorator_list if _is_remat(view, each)), None)
        use = _only_use(view, view.module.tree, function.name)
        if remat is not None:
            return remat if use is not None and _is_called_once(view, use) else None
    else:
        use = function
    call = view.parent(use) if use is not None else None
    if isinstance(call, ast.Call) and call.args[:1] == [use] and _is_remat(view, call):
        return call if _is_called_once(view, call) else None
    return None


def _only_use(view: View, around: ast.AST, name: str) -> ast.AST | None:
    uses = [each for each in names_read(around) if each.id == name]
    return uses[0] if len(uses) == 1 else None


def _is_called_once(view: View, function: ast.AST) -> bool:
    """True if a function is called in one place, outside loops and functions that are scanned, mapped or kept."""
    match above := view.parent(function):
        case ast.Assign(targets=[ast.Name(id=name)]):
            use = _only_use(view, next(view.functions_around(above), view.module.tree), name)
            return use is not None and _is_called_once(view, use)
        case ast.Call(func=called) if called is function:
            pass
        case _:
            return False
    around = next(view.functions_around(above), None)
    own = getattr(around, "name", None)
    given = (view.parent(each) for each in names_read(view.module.tree) if each.id == own)
    passed = any(isinstance(each, ast.Call) and getattr(each.func, "id", None) != own for each in given)
    return not passed and not any(isinstance(each, _REPEATS) for each in ancestors(view.module, above))
