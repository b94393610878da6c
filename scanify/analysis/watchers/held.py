"""Which classes the layers of a list may hold, as far as the source names them."""

import ast
from collections.abc import Iterable

from scanify.analysis.facts import Place
from scanify.analysis.index import Definition, External, Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import dotted

_MAX_CLASSES = 300
_INSIDE = {"MLP": ("Linear",), "MultiheadAttention": ("Linear", "Dropout"), "Conv": ()}


def may_hold(named: Iterable[Definition | External | None], classes: Iterable[Definition | str]) -> bool:
    """Whether layers whose builders name some classes (`named_by`) may be, or hold, an instance of one of others."""
    asked = list(classes)
    nodes = {id(each.node) for each in asked if isinstance(each, Definition)}
    names = {each.rpartition(".")[2] for each in asked if isinstance(each, str)}
    for found in named:
        if found is None or (isinstance(found, Definition) and id(found.node) in nodes):
            return True
        if isinstance(found, External) and found.qualname.startswith(("equinox.", "haliax.")):
            last = found.qualname.rpartition(".")[2]
            # `Conv` is what `Conv1d` and `Conv2d` inherit from.
            if any(each.startswith(name) for each in (last, *_INSIDE.get(last, ())) for name in names):
                return True
    return False


def named_by(index: Index, places: Iterable[Place]) -> tuple[Definition | External | None, ...]:
    """What is named in the functions that build layers at some places, in the classes that those name, and so on.

    None is among them where something is built that the source does not name.
    """
    found: list[Definition | External | None] = []
    waiting: list[tuple[Module, ast.AST]] = []
    for place in places:
        module = index.module_at(place.path)
        around = _around(module, place) if module is not None else None
        if module is None or around is None:
            return (None,)
        waiting.append((module, around))
    seen: set[int] = set()
    seen_outside: set[External] = set()
    while waiting:
        if len(found) >= _MAX_CLASSES:
            return (None,)
        module, node = waiting.pop()
        given = _parameters(node)
        for each in nodes_in(node):
            if isinstance(each, ast.Call):
                if isinstance(each.func, ast.Name) and each.func.id in given:
                    return (None,)  # whoever calls the function says what is made there
                for one in _methods(index, each.func.attr) if isinstance(each.func, ast.Attribute) else ():
                    if id(one[1]) not in seen:
                        seen.add(id(one[1]))
                        waiting.append(one)
            name = dotted(each) if isinstance(each, ast.Name | ast.Attribute) else None
            meaning = index.resolve(module, name) if name is not None else None
            if isinstance(meaning, External):
                if meaning not in seen_outside:
                    seen_outside.add(meaning)
                    found.append(meaning)
            elif isinstance(meaning, Definition) and id(meaning.node) not in seen:
                seen.add(id(meaning.node))
                found.append(meaning)
                waiting.append((meaning.module, meaning.node))
    return tuple(found)


def _parameters(node: ast.AST) -> set[str]:
    """The names of what a function is given."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return set()
    args = node.args
    return {each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)} - {"self", "cls"}


def _methods(index: Index, name: str) -> list[tuple[Module, ast.AST]]:
    """The methods of a name that the classes of the project have: `self.make_blocks(...)` may call any of them."""
    return [(module, method) for module in index.modules_with(name) for method in module.methods.get(name, ())]


def _around(module: Module, place: Place) -> ast.AST | None:
    """The function that a place is in, or the statement of module level."""
    best: ast.AST | None = None
    line = place.span.line
    body: list[ast.stmt] = module.tree.body
    while True:
        inner = next((each for each in body if each.lineno <= line <= (each.end_lineno or each.lineno)), None)
        if inner is None:
            return best
        best = inner
        if not isinstance(inner, ast.ClassDef):
            return best
        body = inner.body
