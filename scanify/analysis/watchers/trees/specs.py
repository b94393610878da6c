"""Functions of a leaf that calls on trees are given: which leaves are meant, how one is saved, which axis is mapped."""

import ast
from collections.abc import Iterator, Sequence

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.names import Body, callee, local_scope
from scanify.analysis.watchers.tables import LEAF_LOADS, LEAF_SAVES, VMAPS
from scanify.analysis.watchers.trees.leaf import applied
from scanify.analysis.watchers.trees.values import FILE, Kind, Value


def filtered(index: Index, module: Module, call: ast.Call) -> str | None:
    """`eqx.filter(model, spec)`: what a function of each leaf reads; a tree was asked about where it is made."""
    spec = _argument(call, 1, "filter_spec")
    found = [(module, spec)] if spec is not None else []
    if isinstance(spec, ast.Name):
        found += given_to(index, module, spec)
    reads = (_read_by(index, home, each, []) for home, each in found if callee(index, home, each) is not None)
    return next((each for each in reads if each is not None), None)


def saved_by(index: Index, module: Module, call: ast.Call) -> str | None:
    """`eqx.tree_serialise_leaves(file, model, spec)`: what a function reads of each leaf that it saves or loads."""
    spec = _argument(call, 2, "filter_spec")
    known = callee(index, module, spec) if spec is not None else None
    if spec is None or known in LEAF_SAVES | LEAF_LOADS:
        return None
    return _read_by(index, module, spec, [FILE])


def replaced_fields(index: Index, module: Module, call: ast.Call) -> frozenset[str] | None:
    """`eqx.tree_at(where, model, new)`: the names of the fields that `where` reads; None if that is not shown."""
    where = _argument(call, 0, "where")
    known = callee(index, module, where) if where is not None else None
    if isinstance(known, Body):
        nodes = nodes_in(known.node)
        if any(isinstance(each, ast.Call) for each in nodes):
            return None
        return frozenset(each.attr for each in nodes if isinstance(each, ast.Attribute))
    if isinstance(where, ast.Call) and callee(index, module, where.func) == "operator.attrgetter":
        paths = [each.value for each in where.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        return frozenset(".".join(paths).split(".")) if len(paths) == len(where.args) else None
    return None


def mapped_by(index: Index, module: Module, call: ast.Call, known: object) -> Iterator[str]:
    """`eqx.filter_vmap(f, in_axes=axis_of)`: what functions read of each leaf that say which axis is mapped over."""
    for name in ("in_axes", "out_axes") if known in VMAPS else ():
        given = _argument(call, None, name)
        inner = {id(each.func) for each in nodes_in(given) if isinstance(each, ast.Call)} if given is not None else ()
        for each in nodes_in(given) if given is not None else ():
            if not isinstance(each, ast.Name | ast.Attribute | ast.Lambda) or id(each) in inner:
                continue
            if isinstance(callee(index, module, each), Body):
                reads = _read_by(index, module, each, [])
                yield from [reads] if reads is not None else []


def given_to(index: Index, module: Module, name: ast.Name) -> Iterator[tuple[Module, ast.expr]]:
    """What the calls of a function in the project give to its parameter of a name."""
    holder = local_scope(module, name, name.id)
    function = holder.node if holder is not None and name.id in holder.params else None
    if not isinstance(function, ast.FunctionDef):
        return
    args = function.args
    at = next((at for at, each in enumerate([*args.posonlyargs, *args.args]) if each.arg == name.id), None)
    for home in index.modules_with(function.name):
        for call in nodes_in(home.tree):
            if not isinstance(call, ast.Call) or (dotted(call.func) or "").rpartition(".")[2] != function.name:
                continue
            method = isinstance(call.func, ast.Attribute) and not isinstance(callee(index, home, call.func), Body)
            given = _argument(call, at - method if at is not None else None, name.id)
            if given is not None:
                yield home, given


def _read_by(index: Index, module: Module, function: ast.expr, before: Sequence[Value]) -> str | None:
    value = applied(index, module, function, before)
    return None if value.kind in (Kind.SAME, Kind.ELEMENTWISE) else value.reads or "a total of each leaf"


def _argument(call: ast.Call, at: int | None, name: str) -> ast.expr | None:
    if at is not None and len(call.args) > at:
        return call.args[at]
    return next((each.value for each in call.keywords if each.arg == name), None)
