"""What in a file could be a loop over modules: a cheap first look, by text before any tree is walked.

It lets through too much and never too little: it knows no names of libraries, since a loop over modules may stand in a
file that imports none. A `for` counts where its target, or what the target is an index of, is called or given to a call
beside a name that the loop binds; a comprehension, a generator, `map` and `reduce` where the element is called.
"""

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from scanify.analysis.index.parse import Problem
from scanify.analysis.linen.first_look import may_be_linen
from scanify.analysis.lower.nodes import children, names_in, nodes_in
from scanify.analysis.lower.text import dotted

_KEYWORDS = re.compile(r"\b(?:for|while|map|reduce|Sequential)\b")
_ALIASED = re.compile(r"\b(?:reduce|Sequential)\s+as\s+(\w+)")
_ASKING = ("isinstance", "getattr", "hasattr", "print", "zip", "max", "min")
_FEW = 3  # layers of a `Sequential` that is written out: fewer are left alone
_STATEMENTS = (ast.For, ast.AsyncFor, ast.While)
_EXPRESSIONS = (ast.ListComp, ast.GeneratorExp, ast.Call)

Candidate = ast.For | ast.AsyncFor | ast.While | ast.ListComp | ast.GeneratorExp | ast.Call


def may_hold_loop(text: str, tree: ast.Module | Problem) -> bool:
    """Whether there are such in a file. One that cannot be parsed passes: the reason why is for those who report it.

    So does one with modules of Flax Linen, whose loops build the layers that they apply.
    """
    return isinstance(tree, Problem) or may_be_linen(text) or next(candidates(text, tree), None) is not None


def candidates(text: str, tree: ast.Module) -> Iterator[Candidate]:
    """The loops, comprehensions and calls of a file that may go over modules, in source order."""
    aliases = _ALIASED.findall(text) if "reduce as " in text or "Sequential as " in text else []
    words = re.compile(rf"{_KEYWORDS.pattern}|\b(?:{'|'.join(aliases)})\b") if aliases else _KEYWORDS
    lines = _lines_with(words, text)
    reduces = {"reduce", *aliases}
    yield from (node for node in _within(tree.body, lines) if _may_be_loop(node, reduces))


def _lines_with(words: re.Pattern[str], text: str) -> list[int]:
    """The lines on which one of some words stands, comments left out."""
    lines: list[int] = []
    line, at = 1, 0
    for match in words.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        if not lines or lines[-1] != line:
            lines.append(line)
    return lines if "\r" not in text.replace("\r\n", "") else list(range(1, line + text.count("\r") + 2))


def _within(statements: Sequence[ast.AST], lines: Sequence[int]) -> Iterator[Candidate]:
    """The loops and calls in statements that stand on some lines. Other statements are not looked at."""
    for statement in statements:
        if not _holds(statement, lines):
            continue
        if isinstance(statement, _STATEMENTS):
            yield statement
        for name, value in ast.iter_fields(statement):
            if (
                isinstance(value, list)
                and value
                and isinstance(value[0], ast.stmt | ast.excepthandler | ast.match_case)
            ):
                yield from _within(value, lines)
            elif name not in ("op", "ctx", "type_comment"):
                yield from _in_expressions(value if isinstance(value, list) else [value], lines)


def _holds(statement: ast.AST, lines: Sequence[int]) -> bool:
    if not isinstance(statement, ast.stmt | ast.excepthandler):
        return True  # a case of a `match`
    first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
    at = bisect_left(lines, first)
    return at < len(lines) and lines[at] <= (statement.end_lineno or statement.lineno)


def _in_expressions(nodes: Sequence[object], lines: Sequence[int]) -> Iterator[Candidate]:
    waiting = [node for node in reversed(nodes) if isinstance(node, ast.AST)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant | ast.Name):
            continue
        if isinstance(node, _EXPRESSIONS):
            yield node
        waiting.extend(reversed(list(children(node))))


# -- whether a loop may be one -------------------------------------------------------------------------------------


def _may_be_loop(node: Candidate, reduces: set[str]) -> bool:
    match node:
        case ast.For() | ast.AsyncFor() | ast.While():
            return _applies_its_target(node)
        case ast.ListComp() | ast.GeneratorExp():
            return _applies_to_its_element(node)
        case ast.Call():
            return _may_walk(node, reduces) or _makes_sequential(node, reduces)


def _makes_sequential(call: ast.Call, names: set[str]) -> bool:
    if len(call.args) + len(call.keywords) != 1 or _last_name(call) not in ({"Sequential"} | names) - {"reduce"}:
        return False
    given = next(_values(call))
    written_out = isinstance(given, ast.List | ast.Tuple) and len(given.elts) < _FEW
    return not written_out or any(isinstance(each, ast.Starred) for each in given.elts)  # type: ignore[attr-defined]


def _last_name(call: ast.Call) -> str | None:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)


def _may_walk(node: ast.Call, reduces: set[str]) -> bool:
    """`map(lambda layer: layer(x), layers)`, `reduce(lambda x, layer: layer(x), layers, x)`, `reduce(f, layers, x)`."""
    if len(node.args) < 2:
        return False
    name, function = _last_name(node), node.args[0]
    if name not in reduces and not (name == "map" and isinstance(node.func, ast.Name)):
        return False
    if not isinstance(function, ast.Lambda):
        return name in reduces and isinstance(function, ast.Name | ast.Attribute | ast.Call)
    calls = (each for each in nodes_in(function.body) if isinstance(each, ast.Call))
    return any(call.args or call.keywords for call in calls)


def _applies_its_target(loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    nodes = nodes_in(*loop.body)
    bound = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    head = loop.test if isinstance(loop, ast.While) else loop.target
    counted = (each.target for each in nodes if isinstance(each, ast.AugAssign))
    targets = _names(head) | {each.id for each in counted if isinstance(each, ast.Name)}
    elements = _with_parts(targets, nodes)
    collects = any(isinstance(each, ast.Attribute) and each.attr == "append" for each in nodes)
    walks = collects and not isinstance(loop, ast.While) and _walks_attribute(loop.iter)
    return any(_applies(each, elements, walks) for each in nodes) or _binds_through(nodes, elements, bound - elements)


def _applies_to_its_element(node: ast.ListComp | ast.GeneratorExp) -> bool:
    first, nodes = node.generators[0], nodes_in(node.elt)
    elements = _with_parts(_names(first.target), nodes)
    walks = _walks_attribute(first.iter)
    asks = isinstance(node.elt, ast.Call) and isinstance(node.elt.func, ast.Attribute)  # `layer.kl()`
    return any(_applies(each, elements, walks) for each in nodes) or (
        walks and asks and _is_element(node.elt.func, elements)  # type: ignore[attr-defined]
    )


def _with_parts(names: set[str], nodes: Sequence[ast.AST]) -> set[str]:
    """The names of elements, with those of their parts and of functions that are made of them: `attn = layer.attn`,
    `layer = self.layers[i]`, `f = jax.checkpoint(layer)`, `for layer in stage`."""
    found = set(names)
    for node in nodes:
        if isinstance(node, ast.For | ast.comprehension) and _is_element(node.iter, found):
            found |= _names(node.target)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and _is_element(node.value, found):
            if isinstance(node.value, ast.Call) and not all(_is_element(each, found) for each in node.value.args):
                continue  # `x = apply(layer, x)` is no part
            found |= {name for target in _targets(node) for name in _names(target)}
    return found


def _is_element(value: ast.expr | None, elements: set[str]) -> bool:
    match value:
        case ast.Name(id=name):
            return name in elements
        case ast.Attribute(value=inner) | ast.NamedExpr(value=inner) | ast.Starred(value=inner):
            return _is_element(inner, elements)
        case ast.Subscript(value=inner, slice=number):
            return bool(_names(number) & elements) or _is_element(inner, elements)
        case ast.IfExp(body=inner, orelse=other):
            return _is_element(inner, elements) or _is_element(other, elements)
        case ast.Tuple(elts=parts):
            return any(_is_element(each, elements) for each in parts)
        case ast.Call(func=ast.Name(id="getattr"), args=[_, name, *_]):
            return bool(_names(name) & elements)
        case ast.Call():
            return any(_is_element(each, elements) for each in _values(value))
        case _:
            return False


def _applies(call: ast.AST, elements: set[str], walks_attribute: bool) -> bool:
    """`layer(x)`, `self.layers[i](x)`, `jax.vmap(layer)(x)`; of what is walked of an object also `layer.norm(x)` and
    `apply(layer, x)`."""
    if not isinstance(call, ast.Call) or not (call.args or call.keywords):
        return False
    if isinstance(call.func, ast.Attribute) and dotted(call.func) is not None:  # any method: `name.split(",")`
        given = list(_values(call))
        passed = len(given) > 1 and any(isinstance(each, ast.Name) and each.id in elements for each in given)
        return walks_attribute and (passed or _is_element(call.func, elements))
    if isinstance(call.func, ast.Call) and (call.func.args and _applies(call.func, elements, walks_attribute)):
        return True
    if _is_element(call.func, elements):
        return True
    given = list(_values(call)) if walks_attribute and _last_name(call) not in _ASKING else []
    return len(given) > 1 and any(isinstance(each, ast.Name) and each.id in elements for each in given)


def _binds_through(nodes: Sequence[ast.AST], elements: set[str], bound: set[str]) -> bool:
    """`x = layer.attend(x)`, `x = apply(layer, x)`, `x = x + layer.weight`: a name that a body binds goes through."""
    for node in nodes:
        if isinstance(node, ast.Call):
            through = _is_element(node.func, elements) or any(_is_element(each, elements) for each in _values(node))
            if through and bound & {name for each in _values(node) for name in _names(each)}:
                return True
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
            names = {name for target in _targets(node) for name in _names(target)}
            parts = (each for each in nodes_in(node.value) if isinstance(each, ast.Attribute))
            again = isinstance(node, ast.AugAssign) or names & _names(node.value)
            if again and any(_is_element(each, elements) for each in parts):
                return True
    return False


def _walks_attribute(walked: ast.expr) -> bool:
    return any(isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load) for each in _read(walked))


def _read(node: ast.expr) -> Iterator[ast.AST]:
    """The parts of an expression without the functions that it calls: `x.split` of `x.split()` is none. What gives the
    elements of a dict is read through: `self.heads.values()`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("values", "items"):
        node = node.func.value
    if not isinstance(node, ast.Call):
        yield from nodes_in(node)
        return
    for value in _values(node):
        yield from _read(value)


def _targets(node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _values(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (keyword.value for keyword in call.keywords)


def _names(node: ast.AST) -> set[str]:
    return {node.id} if isinstance(node, ast.Name) else names_in([node])
