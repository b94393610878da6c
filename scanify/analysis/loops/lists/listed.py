"""Whether anybody lists equal sizes in a row, where each layer is built from its own of a list that a caller gives."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scanify.analysis.flow.names import target_names
from scanify.analysis.index import Index
from scanify.analysis.index.module import Module
from scanify.analysis.loops.lists.calls import calls_of, defaults_of
from scanify.analysis.loops.lists.layer_list import FEW
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import ancestors, parameters, parent_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.values.heap import Group, ListCell

_MOST = 8  # functions on the way from who gives the sizes to who builds the layers


def listed_alike(index: Index, cell: ListCell) -> bool:
    """Whether some list that the project writes for a parameter of the function that builds the layers has three equal
    values in a row, or repeats: `MLP(2, [64, 64, 64], key)`, `sizes: tuple = (8,) * 4`. A project that writes none, as
    libraries do, leaves it open.

    By the names of the parameters and of what calls give for them, wherever in the project something of that name is
    bound, so that it may be another one's list: then a run shows what is true.
    """
    if not isinstance(cell.function, ast.FunctionDef):
        return False
    given: list[ast.expr] = []
    names: set[str] = set()
    functions: list[tuple[Module, ast.FunctionDef]] = [(cell.module, cell.function)]
    for home, function in functions:  # which grows: a helper is called by a constructor, which others call
        given_to = {each.arg for each in parameters(function)} - {"self", "cls", "key"}
        names |= given_to | _parts_of(given_to, function)
        around = parent_of(home, function)
        builder = around.name if isinstance(around, ast.ClassDef) else function.name
        for caller, call in calls_of(index, builder, "partial"):
            given += _arguments(call)
            outer = next((each for each in ancestors(caller, call) if isinstance(each, ast.FunctionDef)), None)
            if outer is not None and all(outer is not each for _, each in functions) and len(functions) < _MOST:
                functions.append((caller, outer))
    names |= {_last(each) for each in given} - {""}
    homes = [(name, _lists_of(home)) for name in names for home in index.modules_with(name)]
    if any(name in lists.repeat for name, lists in homes):
        return True
    written = [part for listed in given for part in nodes_in(listed) if isinstance(part, ast.List | ast.Tuple)]
    if written or any(name in lists.written for name, lists in homes):
        return any(_repeats(part) for listed in given for part in nodes_in(listed))
    return True


def walks_repeated(index: Index, group: Group, via: str) -> bool:
    """Whether what layers are built from, one for each, is walked in a list that the project writes with a pattern:
    `attention_types=(LOCAL, GLOBAL) * 6`, of which each layer gets one. By names, as above."""
    for around in ancestors(group.module, group.node):
        walked = [around] if isinstance(around, ast.For) else getattr(around, "generators", ())
        for each in walked:
            if via in target_names(each.target):
                parts = (part for part in nodes_in(each.iter) if isinstance(part, ast.Name | ast.Attribute))
                names = {_last(part) for part in parts} - {"", "range", "zip", "enumerate"}
                return any(name in _lists_of(home).repeat for name in names for home in index.modules_with(name))
        if isinstance(around, ast.FunctionDef | ast.Lambda):
            return False
    return False


def _arguments(call: ast.Call) -> Sequence[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


@dataclass(frozen=True)
class _Lists:
    """The names that a file gives a list that it writes out, and of them those whose lists repeat: variables, fields,
    defaults, keywords, entries of a dict, flags of a command line."""

    written: frozenset[str]
    repeat: frozenset[str]


def _lists_of(module: Module) -> _Lists:
    """Asked for once for each file, and kept with its tree."""
    known: _Lists | None = getattr(module.tree, "_lists", None)
    if known is None:
        nodes = nodes_in(module.tree)
        repeating = {node for node in nodes if _repeats(node)}
        pairs = [pair for node in nodes for pair in _bound(node)]
        written = frozenset(name for name, value in pairs if _is_written(value))
        repeat = (name for name, value in pairs if repeating and repeating.intersection(nodes_in(value)))
        known = _Lists(written, frozenset(repeat))
        module.tree._lists = known  # type: ignore[attr-defined]
    return known


def _parts_of(names: set[str], function: ast.FunctionDef) -> set[str]:
    """The attributes and entries of some names that a function reads: `sizes` of `cfg.sizes` and of `cfg["sizes"]`."""
    parts: set[str] = set()
    for node in nodes_in(*function.body):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=part) if name in names:
                parts.add(part)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(part))) if name in names:
                parts.add(part)
            case _:
                pass
    return parts


def _is_written(value: ast.expr) -> bool:
    """Whether a value is a list as it is written, a table of such, or the default of a field that is one."""
    match value:
        case ast.List() | ast.Tuple():
            return True
        case ast.Dict(values=values):
            return bool(values) and all(isinstance(each, ast.List | ast.Tuple) for each in values)
        case ast.Call(keywords=keywords):
            defaults = [each.value for each in keywords if each.arg in ("default", "default_factory")]
            return any(_is_written(each.body if isinstance(each, ast.Lambda) else each) for each in defaults)
        case _:
            return False


def _bound(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a node binds, or says, each with the value that it is given."""
    match node:
        case ast.Assign(targets=[target], value=value):
            yield _last(target), value
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield _last(target), value
        case ast.keyword(arg=str(name), value=value):
            yield name, value
        case ast.Dict(keys=keys, values=values):
            yield from ((_said(key), one) for key, one in zip(keys, values, strict=True))
        case ast.arguments():
            yield from defaults_of(node).items()
        case ast.Call(args=[option, *_]):
            defaults = [each.value for each in node.keywords if each.arg == "default"]
            yield from ((_said(option).lstrip("-").replace("-", "_"), each) for each in defaults)
        case _:
            pass


def _last(target: ast.expr) -> str:
    """The last name of a target or a value; of an entry of a table that of the table: `PRESETS[name]`."""
    table = target.value if isinstance(target, ast.Subscript) else target
    return (dotted(table) or "").rpartition(".")[2]


def _said(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _repeats(node: ast.AST) -> bool:
    """Whether an expression is a list with three equal values in a row, or one of a pattern that is repeated:
    `(LOCAL, GLOBAL) * 6`, `["full" if i % 6 == 5 else "local" for i in range(n)]`."""
    match node:
        case ast.BinOp(left=ast.List() | ast.Tuple(), op=ast.Mult(), right=count):
            return not (isinstance(count, ast.Constant) and count.value in range(FEW))
        case ast.BinOp(left=count, op=ast.Mult(), right=ast.List() | ast.Tuple()):
            return not (isinstance(count, ast.Constant) and count.value in range(FEW))
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            texts = [ast.unparse(each) for each in elements]
            return any(len({*texts[at : at + FEW]}) == 1 for at in range(len(texts) - FEW + 1))
        case ast.ListComp(elt=ast.IfExp(test=test)) | ast.GeneratorExp(elt=ast.IfExp(test=test)):
            return any(isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mod) for each in nodes_in(test))
        case _:
            return False
