"""Where a body reads and stores the elements of lists by the number of its iteration: `self.layers[i]`, `keys[i + 1]`.

So are attributes by a name with a number in it: `getattr(self, f"layer{i}")`.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from scanify.analysis.flow.names import reads
from scanify.analysis.lower.nodes import children, nodes_in
from scanify.analysis.lower.scope import COMPREHENSIONS, FUNCTIONS, parameters
from scanify.analysis.lower.text import arithmetic, container_text, dotted, label

_SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef, *COMPREHENSIONS)


@dataclass
class Places:
    """Where a body reads one element, and where it stores it or something in it."""

    container: ast.expr
    number: ast.expr
    reads: list[ast.expr] = field(default_factory=list)
    stores: list[ast.expr] = field(default_factory=list)


def collect(nodes: Sequence[ast.AST], index: str, bound: set[str], every: dict[tuple[str, str], Places]) -> None:
    """The elements whose number depends on the index and on nothing that the body binds."""
    for node in nodes:
        stored = isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.Subscript | ast.Attribute) and stored:
            _stored(node, node, index, bound, every)
            continue
        key = _key(node, index, bound)
        if key is not None and isinstance(node, ast.Subscript | ast.Call):
            every.setdefault(key[0], Places(*key[1])).reads.append(node)
            continue
        inner = _own_names(node) if isinstance(node, _SCOPES) else set()
        if index not in inner:  # else the scope has an index of its own, and stays as it is
            collect(list(children(node)), index, bound | inner, every)


def _stored(
    target: ast.expr, node: ast.expr, index: str, bound: set[str], every: dict[tuple[str, str], Places]
) -> None:
    """What a target stores into: `self.layers[i]`, an element of it, an attribute of it; and what it reads for that."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        key = _key(node, index, bound)
        if key is not None:
            every.setdefault(key[0], Places(*key[1])).stores.append(target)
            return
        if isinstance(node, ast.Subscript):
            name = container_text(node.value)
            if name is not None:  # by a number that is not understood
                every.setdefault((name, ""), Places(node.value, node.slice)).stores.append(target)
            collect([node.slice], index, bound, every)
        node = node.value
    collect([node], index, bound, every)


def _key(node: ast.AST, index: str, bound: set[str]) -> tuple[tuple[str, str], tuple[ast.expr, ast.expr]] | None:
    match node:
        case ast.Subscript(value=owner, slice=number):
            known = arithmetic(number) or label(number)
            text = container_text(owner)
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, number], keywords=[]):
            known, text = label(number), dotted(owner)
        case _:
            return None
    if text is None or not known:
        return None
    names = set(reads(number))
    if index not in names or names & bound or set(reads(owner)) & (bound | {index}):
        return None
    attribute = "." if isinstance(node, ast.Call) else ""
    return (text + attribute, ast.unparse(number)), (owner, number)


def _own_names(node: ast.AST) -> set[str]:
    """The names that a scope binds for itself, at whatever depth."""
    bound = {each.id for each in nodes_in(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return bound | {arg.arg for each in nodes_in(node) for arg in parameters(each)}
