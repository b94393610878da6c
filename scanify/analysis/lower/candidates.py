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
from scanify.analysis.lower.text import root

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
        case ast.For() | ast.AsyncFor():
            return _applies_its_target(node, _names(node.target))
        case ast.While():
            return _applies_its_target(node, _names(node.test))
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


def _applies_its_target(loop: ast.For | ast.AsyncFor | ast.While, targets: set[str]) -> bool:
    nodes = [node for statement in loop.body for node in nodes_in(statement)]
    targets = targets | _taken_by(targets, nodes)
    targets = targets | _parts_of(targets, nodes)
    for node in nodes:  # `for layer in stage`
        if isinstance(node, ast.For | ast.comprehension) and targets & _names(node.iter):
            targets = targets | _names(node.target)
    bound: set[str] = set()
    given: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.Call):
            if _applies(node, targets):
                return True
            if root(node.func) in targets:  # `h = layer.norm(x)`, and `x = x + h` in another statement
                given |= {name for value in _values(node) for name in _names(value)}
            if isinstance(node.func, ast.Attribute) and node.func.attr == "append":
                walks = isinstance(loop, ast.For) and _walks_attribute(loop.iter)
                made = _with_their_values(node.args, nodes) if walks else []
                if _calls_method(made, targets) or _gives_to_call(made, targets):
                    return True
                bound |= _names(node.func.value)  # `outs.append(layer.norm(outs[-1]))`
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and _rebinds_through(node, targets):
            return True
    return bool(bound & given - targets)


def _with_their_values(given: Sequence[ast.expr], nodes: Sequence[ast.AST]) -> list[ast.expr]:
    """What is given, and what the names in it are assigned in the body: `code, _ = layer.encode(x)`, `append(code)`."""
    names = {name for value in given for name in _names(value)}
    return [
        *given,
        *(
            node.value
            for node in nodes
            if isinstance(node, ast.Assign | ast.AnnAssign)
            and node.value is not None
            and any(not names.isdisjoint(_names(target)) for target in _targets(node) if _binds(target))
        ),
    ]


def _binds(target: ast.expr) -> bool:
    return isinstance(target, ast.Name | ast.Tuple | ast.List)


def _taken_by(index: set[str], nodes: Sequence[ast.AST]) -> set[str]:
    """The names that stand for what a loop takes by number, or by a name with a number in it: `layer = self.layers[i]`,
    `layer = getattr(self, f"layer{i}")`, and for what it walks of that: `for layer in self.stages[i]`."""
    taken: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if any(_is_taken(value, index) for value in values):
                taken |= {name for target in _targets(node) for name in _names(target)} - index
    return taken


def _parts_of(targets: set[str], nodes: Sequence[ast.AST]) -> set[str]:
    """The names that stand for an element, a part of one or a function that is made of one: `attn = layer.attn`,
    `fn = jax.checkpoint(self.layers[i]) if self.remat else self.layers[i]`."""
    parts: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if any(_is_part(value, targets | parts) for value in values):
                parts |= {name for target in _targets(node) for name in _names(target)}
    return parts


def _is_part(value: ast.expr, targets: set[str]) -> bool:
    if isinstance(value, ast.IfExp):
        return _is_part(value.body, targets) or _is_part(value.orelse, targets)
    if isinstance(value, ast.Call):
        return any(_is_element(each, targets) for each in value.args)
    return _is_element(value, targets) or (isinstance(value, ast.Attribute) and root(value) in targets)


def _is_element(value: ast.expr, targets: set[str]) -> bool:
    return (isinstance(value, ast.Name) and value.id in targets) or _is_taken(value, targets)


def _is_taken(value: ast.expr | None, index: set[str]) -> bool:
    if isinstance(value, ast.Subscript):
        return bool(_names(value.slice) & index)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "getattr":
        return any(_names(each) & index for each in value.args[1:])
    return False


def _applies_to_its_element(node: ast.ListComp | ast.GeneratorExp) -> bool:
    first = node.generators[0]
    targets = _names(first.target)
    calls = [each for each in nodes_in(node.elt) if isinstance(each, ast.Call) and (each.args or each.keywords)]
    if any(_applies(call, targets) for call in calls):
        return True
    gives = any(root(call.func) in targets for call in calls) or _gives_to_call([node.elt], targets)
    return (gives or _asks(node.elt, targets)) and _walks_attribute(first.iter)


def _asks(value: ast.expr, targets: set[str]) -> bool:
    """Whether a value is what a method gives that is given nothing: `layer.kl()`."""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=[], keywords=[]):
            return name in targets
        case _:
            return False


def _walks_attribute(walked: ast.expr) -> bool:
    return any(isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load) for each in _read(walked))


def _calls_method(values: Sequence[ast.expr], targets: set[str]) -> bool:
    """Whether some values are made by a method of an element that is given something."""
    calls = (each for value in values for each in nodes_in(value) if isinstance(each, ast.Call))
    return any(root(each.func) in targets and bool(each.args or each.keywords) for each in calls)


def _gives_to_call(values: Sequence[ast.expr], targets: set[str]) -> bool:
    """Whether some values are made by a call that is given an element beside something: `self.rollout(policy, x)`."""
    calls = (each for value in values for each in nodes_in(value) if isinstance(each, ast.Call))
    return any(
        len(given := list(_values(each))) > 1
        and _last_name(each) not in _ASKING
        and any(isinstance(one, ast.Name) and one.id in targets for one in given)
        for each in calls
    )


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


def _applies(call: ast.Call, targets: set[str]) -> bool:
    """`layer(x)`, `self.layers[i](x)`, `self.layers[i].attend(x)`, `jax.vmap(jax.vmap(layer.norm))(x)`."""
    func = call.func
    while isinstance(func, ast.Attribute) and isinstance(func.value, ast.Attribute | ast.Subscript | ast.Call):
        func = func.value
    match func:
        case ast.NamedExpr(value=value):
            return _is_of(value, targets)
        case ast.Name(id=name):
            return name in targets and bool(call.args or call.keywords)
        case ast.Subscript(value=value, slice=index):
            names = _names(index)
            while isinstance(value, ast.Subscript):  # `self.grus[i][j](x)`
                names |= _names(value.slice)
                value = value.value
            return bool(names & targets) or root(value) in targets  # `self.layers[i](x)`, `pair[0](x)`
        case ast.Call() as inner:
            if _is_taken(inner, targets) or (inner.args and _applies(inner, targets)):
                return True
            return any(_is_of(value, targets) for value in _values(inner))
        case _:
            return False


def _is_of(value: ast.expr, targets: set[str]) -> bool:
    """Whether a value is an element, something of it, or a function made of one: `jax.vmap(layer)`."""
    if isinstance(value, ast.Call):
        return any(_is_of(each, targets) for each in _values(value))
    taken = isinstance(value, ast.Subscript) and bool(_names(value.slice) & targets)
    return taken or root(value) in targets


def _rebinds_through(node: ast.Assign | ast.AugAssign | ast.AnnAssign, targets: set[str]) -> bool:
    """`x = apply(layer, x)`: a call that is given the target and the name that is bound; `x = x + layer.weight`."""
    bound = {name for target in _targets(node) for name in _names(target)}
    again = isinstance(node, ast.AugAssign) or bool(node.value is not None and bound & _names(node.value))
    for call in nodes_in(node.value) if node.value is not None else ():
        if again and isinstance(call, ast.Attribute) and root(call) in targets:
            return True
        if isinstance(call, ast.Call):
            values = list(_values(call))
            through = any(_is_of(value, targets) for value in values)
            if through and bound & {name for value in values for name in _names(value)}:
                return True
    return False


def _targets(node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _values(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (keyword.value for keyword in call.keywords)


def _names(node: ast.AST) -> set[str]:
    return {node.id} if isinstance(node, ast.Name) else names_in([node])
