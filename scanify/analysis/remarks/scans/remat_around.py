"""Rematerialisation around a scan over layers, where it saves next to nothing, in place of inside."""

import ast
from collections.abc import Iterator

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import COMPREHENSIONS, ancestors, parent_of
from scanify.analysis.plan import Remark
from scanify.analysis.remarks.scans.body import body_of
from scanify.analysis.remarks.scans.forms import LAX, LIFTED, REMATS, asked
from scanify.analysis.remarks.seen import Seen, argument, names_read

RULE = "SCN332"
_INSIDE = (
    "`jax.checkpoint` the function that is scanned: `jax.lax.scan(jax.checkpoint(f, prevent_cse=False), x, layers)`"
)
_LIFTED = "lift the other way round: `nn.scan(nn.remat(Block), ...)`"
_REPEATS = (ast.For, ast.While, *COMPREHENSIONS)


def remarks(seen: Seen, call: ast.Call) -> Iterator[Remark]:
    """`jax.checkpoint(lambda x: jax.lax.scan(f, x, layers)[0])`, `nn.remat(nn.scan(Block, ...))`."""
    known = asked(seen, call)
    if known in REMATS and call.args:
        inner = seen.meant(call.args[0])
        lifted = isinstance(inner, ast.Call) and asked(seen, inner) in LIFTED and inner.args
        if lifted and isinstance(inner, ast.Call) and not _is_rematerialised(seen, inner.args[0]):
            reason = (
                f"`{seen.code(call.func)}` is around the scan: all layers are run again and keep all that they keep"
            )
            yield seen.remark(call, RULE, reason, _LIFTED)
    elif known in LAX:
        body, function = body_of(seen, call), argument(call, 0, "f")
        if body is None or function is None or not body.over_layers or _is_rematerialised(seen, function):
            return
        around = seen.function_around(call)
        remat = _remat_of(seen, around) if around is not None else None
        if remat is not None:
            reason = "`jax.checkpoint` is around the scan: all layers are run again and keep all that they keep"
            yield seen.remark(call, RULE, reason, _INSIDE, remat)


def _is_rematerialised(seen: Seen, function: ast.expr) -> bool:
    """Whether a function that is scanned, or a module that is lifted, is so by itself, or calls what is."""
    meant = seen.meant(function)
    if isinstance(meant, ast.Call) and asked(seen, meant) in REMATS:
        return True
    found = seen.body(function)
    if found is None:
        return False
    decorated = any(_is_remat(seen, each) for each in getattr(found.node, "decorator_list", ()))
    return decorated or any(
        isinstance(each, ast.Call) and seen.called(each.func) in REMATS for each in nodes_in(found.node)
    )


def _is_remat(seen: Seen, decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Call):
        return asked(seen, decorator) in REMATS
    return seen.called(decorator) in REMATS


def _remat_of(seen: Seen, function: ast.AST) -> ast.AST | None:
    """What rematerialises a function that is called once: as one of several parts it saves what its parts keep."""
    if isinstance(function, ast.Lambda):
        return _remat_call(seen, function)
    uses = [each for each in names_read(seen.module.tree) if each.id == getattr(function, "name", None)]
    if not isinstance(function, ast.FunctionDef) or len(uses) != 1:
        return None
    decorator = next((each for each in function.decorator_list if _is_remat(seen, each)), None)
    if decorator is None:
        return _remat_call(seen, uses[0])
    call = parent_of(seen.module, uses[0])
    called = isinstance(call, ast.Call) and call.func is uses[0]
    return decorator if called and not _repeated(seen, uses[0]) else None


def _remat_call(seen: Seen, function: ast.expr) -> ast.Call | None:
    """`jax.checkpoint(f)` around the expression of a function."""
    call = parent_of(seen.module, function)
    if isinstance(call, ast.Call) and call.args[:1] == [function] and asked(seen, call) in REMATS:
        return call if _is_once(seen, call) else None
    return None


def _is_once(seen: Seen, remat: ast.Call) -> bool:
    """Whether what a call of `jax.checkpoint` gives is called in one place, and not for each of several parts."""
    above = parent_of(seen.module, remat)
    if isinstance(above, ast.Call) and above.func is remat:
        return not _repeated(seen, remat)
    if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
        name = above.targets[0].id
        loads = [each for each in names_read(seen.function_around(remat) or seen.module.tree) if each.id == name]
        call = parent_of(seen.module, loads[0]) if len(loads) == 1 else None
        return isinstance(call, ast.Call) and call.func is loads[0] and not _repeated(seen, loads[0])
    return False


def _repeated(seen: Seen, node: ast.AST) -> bool:
    """Whether a call is part of a loop, or of a function that is scanned, mapped or kept itself."""
    inside = list(ancestors(seen.module, node))
    if any(isinstance(each, _REPEATS) for each in inside):
        return True
    around = seen.function_around(node)
    if isinstance(around, ast.Lambda):
        return True
    name = getattr(around, "name", None)
    given = (parent_of(seen.module, each) for each in names_read(seen.module.tree) if each.id == name)
    return any(isinstance(each, ast.Call) and getattr(each.func, "id", None) != name for each in given)
