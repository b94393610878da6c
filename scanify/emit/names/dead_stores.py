"""Local names that lost their last reader in a rewrite, such as a counter that the loop kept by hand."""

import ast
from collections.abc import Iterator
from pathlib import Path

from scanify.emit.edits import Edit
from scanify.emit.loops.enclosing import FUNCTIONS, Module, module
from scanify.emit.loops.made_empty import is_empty_list
from scanify.emit.names.free_names import reads
from scanify.emit.text.newlines import line_start, next_line

_INERT = (ast.Constant, ast.Name, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)
_EMPTY = (ast.List, ast.Dict, ast.Tuple)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def dead_stores(path: Path, before: str, after: str) -> list[Edit]:
    """Return the edits that remove assignments which were read before and are not read any more."""
    old, new = module(before), module(after)
    if old is None or new is None:
        return []
    known = dict(_functions(old.tree))
    made = []
    for name, function in _functions(new.tree):
        was = known.get(name)
        if was is None or ast.dump(was) == ast.dump(function):
            continue
        old_reads, new_reads = reads(was), reads(function)
        if {"locals", "exec", "eval", "vars"} & new_reads:
            continue
        known_statements = {ast.dump(each) for block in _blocks(was) for each in block}
        for block in _blocks(function):
            for at, statement in enumerate(block):
                if isinstance(statement, ast.Assign):
                    dead = (old_reads - new_reads) | _filled_whole(statement, block[at + 1 :], known_statements)
                    edit = _without(path, new, statement, dead, block)
                    made += [edit] if edit is not None else []
    return made


def _filled_whole(statement: ast.Assign, below: list[ast.stmt], known: set[str]) -> set[str]:
    """Return the name of a list that is created empty, and that a new statement assigns as a whole: `x, outputs = ...`,
    or `outputs = ...` for independent layers."""
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or not is_empty_list(statement, target.id):
        return set()
    named = (each for each in below if any(isinstance(one, ast.Name) and one.id == target.id for one in ast.walk(each)))
    match next(named, None):
        case ast.Assign(targets=[into], value=value) as filled if ast.dump(filled) not in known:
            names = into.elts if isinstance(into, ast.Tuple) else [into]
            whole = any(isinstance(each, ast.Name) and each.id == target.id for each in names)
            return {target.id} if whole and target.id not in reads(value) else set()
    return set()


def _functions(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, _Function]]:
    """Yield the functions of a module and its classes, except nested ones, with names made of name and number."""
    count: dict[str, int] = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Function):
            count[node.name] = count.get(node.name, 0) + 1
            yield f"{inside}.{node.name}/{count[node.name]}", node
        elif isinstance(node, ast.ClassDef | ast.If | ast.Try | ast.With):
            yield from _functions(node, f"{inside}.{getattr(node, 'name', '')}")


def _blocks(function: _Function) -> Iterator[list[ast.stmt]]:
    left: list[ast.AST] = [function]
    while left:
        node = left.pop()
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield block
        left += [
            each
            for each in ast.iter_child_nodes(node)
            if isinstance(each, ast.stmt | ast.ExceptHandler) and not isinstance(each, (*FUNCTIONS, ast.ClassDef))
        ]


def _without(path: Path, parsed: Module, node: ast.Assign, dead: set[str], block: list[ast.stmt]) -> Edit | None:
    gone = [each for each in node.targets if isinstance(each, ast.Name) and each.id in dead]
    if not gone:
        return None
    text, start, end = parsed.text, parsed.start(node), parsed.end(node)
    kept = [each for each in node.targets if each not in gone]
    if kept:
        head = "".join(f"{parsed.code(each)} = " for each in kept)
        if parsed.code(node).startswith("".join(f"{parsed.code(each)} = " for each in node.targets)):
            return Edit(path, start, parsed.start(node.value), head)
        return None
    begin, stop = line_start(text, start), next_line(text, end)
    whole = not text[begin:start].strip() and not text[end:stop].strip()
    if not whole or len(block) == 1 or not _is_inert(node.value):
        return None
    while block[0] is node and not text[stop : next_line(text, stop)].strip():
        stop = next_line(text, stop)
    return Edit(path, begin, stop, "")


def _is_inert(value: ast.expr) -> bool:
    """True if computing a value has no side effects: no call except `len`, no subscript."""
    if isinstance(value, ast.BinOp):
        return _is_inert(value.left) and _is_inert(value.right)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "len":
        return len(value.args) == 1 and not value.keywords and _is_inert(value.args[0])
    if isinstance(value, _EMPTY):
        return not list(ast.iter_child_nodes(value))[1:] and not getattr(value, "elts", None)
    return all(isinstance(node, _INERT) for node in ast.walk(value))
