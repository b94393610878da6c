"""A first pass over a file: nodes that could be loops over modules, before any name is resolved.

It passes too many and never too few, since a file with a loop over modules may import no library.
"""

import ast
import re
from collections.abc import Sequence

from scanify.analysis.index.parse import Problem
from scanify.analysis.linen.first_look import may_be_linen
from scanify.analysis.lower.nodes import by_kind, kept, names_in, nodes_in

_WORDS = re.compile(r"\b(?:for|while|map|reduce)\b")
_ALIASED = re.compile(r"\breduce\s+as\s+(\w+)")
_CALLS = frozenset({"map", "reduce"})
_ASKING = frozenset("isinstance getattr hasattr print zip max min".split())
_PARTS = (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp, ast.Tuple, ast.JoinedStr)

Candidate = ast.For | ast.AsyncFor | ast.While | ast.ListComp | ast.GeneratorExp | ast.Call


def may_hold_loop(text: str, tree: ast.Module | Problem) -> bool:
    """True if a file has candidates, or cannot be parsed, so that the caller reports why.

    Files with Flax Linen modules pass too, because their loops build the layers that they apply.
    """
    return isinstance(tree, Problem) or may_be_linen(text) or bool(candidates(text, tree))


def candidates(text: str, tree: ast.Module) -> tuple[Candidate, ...]:
    """Return the loops, comprehensions and calls of a file that may iterate over modules, in source order."""
    return kept(tree, "_candidates", lambda: _found(text, tree) if _WORDS.search(text) else ())


def _found(text: str, tree: ast.Module) -> tuple[Candidate, ...]:
    kinds = by_kind(tree)
    loops = [*kinds[ast.For], *kinds[ast.AsyncFor]]
    found: list[Candidate] = [each for each in loops if _applies(each.target, each.iter, each.body)]
    found += [each for each in kinds[ast.While] if _applies(each.test, each.test, each.body)]
    for each in (*kinds[ast.ListComp], *kinds[ast.GeneratorExp]):
        if _applies(each.generators[0].target, each.generators[0].iter, [each.elt]):
            found.append(each)
    names = _CALLS.union(_ALIASED.findall(text)) if " as " in text else _CALLS
    for each in kinds[ast.Call]:
        name = getattr(each.func, "attr", None) or getattr(each.func, "id", None)
        if name in names and _walks(each, name):
            found.append(each)
    return tuple(sorted(found, key=lambda node: (node.lineno, node.col_offset)))


def _applies(head: ast.expr, walked: ast.expr, body: Sequence[ast.AST]) -> bool:
    """True if a body may call a name that its head binds: `layer(x)`, `self.layers[i](x)`, `jax.vmap(layer)(x)`.

    `x = layer.attend(x)`, `x = apply(layer, x)` and `x = x + layer.weight` count too, if they use a name that the body
    binds.
    """
    nodes, elements = nodes_in(*body), names_in([head])
    for node in nodes:
        match node:
            case ast.AugAssign(target=ast.Name(id=counter), value=ast.Constant()):
                elements.add(counter)
            case ast.Assign(value=value) | ast.AnnAssign(value=value) if _is_part(value, elements):
                targets = names_in(node.targets if isinstance(node, ast.Assign) else [node.target])
                if value is not None and not (targets - elements) & names_in([value]):  # not `x = layer.linear(x)[1:]`
                    elements |= targets
            case ast.For() | ast.comprehension() if _is_part(node.iter, elements):
                elements |= names_in([node.target])
    bound = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)} - elements
    collects = isinstance(body[0], ast.expr) or any(getattr(each, "attr", None) == "append" for each in nodes)
    of_object = collects and _is_of_object(walked)
    for node in nodes:
        if isinstance(node, ast.Call) and not elements.isdisjoint(inside := names_in([node])):
            if bound & inside or _is_called(node, elements, of_object=of_object):
                return True
        elif isinstance(node, ast.BinOp) and bound & names_in([node]):
            parts = (each for each in nodes_in(node) if isinstance(each, ast.Attribute))
            if any(not elements.isdisjoint(names_in([each])) for each in parts):
                return True
    return False


def _is_of_object(walked: ast.expr) -> bool:
    """True for `self.layers`, `self.heads.values()` and `zip(self.layers, keys)`; not for `jax.random.split(key)`."""
    if isinstance(walked, ast.Call):
        view = isinstance(walked.func, ast.Attribute) and walked.func.attr in ("values", "items")
        given = [walked.func] if view else [*walked.args, *(each.value for each in walked.keywords)]
        return any(map(_is_of_object, given))
    return any(isinstance(each, ast.Attribute) for each in nodes_in(walked))


def _is_part(value: ast.expr | None, elements: set[str]) -> bool:
    """True for `layer.attn`, `self.layers[i]`, `jax.checkpoint(layer)`; not for `apply(layer, x)`."""
    if isinstance(value, ast.Call):
        given = value.args[-1:] if getattr(value.func, "id", "") == "getattr" else value.args
        return bool(given) and all(_is_part(each, elements) for each in given)
    return isinstance(value, _PARTS) and not elements.isdisjoint(names_in([value]))


def _is_called(call: ast.Call, elements: set[str], *, of_object: bool) -> bool:
    """True for `layer(x)` and `jax.vmap(layer)(x)`.

    Methods, which any object has, and functions that are passed an element count only for a list of an object.
    """
    given = [*call.args, *(each.value for each in call.keywords)]
    called, method = not elements.isdisjoint(names_in([call.func])), isinstance(call.func, ast.Attribute)
    if called:
        return of_object if method else bool(given)
    passed = len(given) > 1 and any(isinstance(each, ast.Name) and each.id in elements for each in given)
    return of_object and passed and getattr(call.func, "id", "") not in _ASKING


def _walks(call: ast.Call, name: str) -> bool:
    """True for `map(lambda layer: layer(x), layers)` and `reduce(f, layers, x)`."""
    match call.args:
        case [ast.Lambda(body=body), _, *_]:
            return any(isinstance(each, ast.Call) and (each.args or each.keywords) for each in nodes_in(body))
        case given:
            return name != "map" and len(given) > 1
