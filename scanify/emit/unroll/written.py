"""Write a walk over a stack as a person would: a loop, or a comprehension."""

import ast
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass

from scanify.emit.edits import Edit
from scanify.emit.loops.collecting import one_of_each
from scanify.emit.loops.enclosing import FUNCTIONS, LOOPS
from scanify.emit.names.free_names import own
from scanify.emit.names.fresh_name import fresh
from scanify.emit.text import layout
from scanify.emit.text.loop_text import step_of
from scanify.emit.text.newlines import line_start, newline_of, next_line, previous_line
from scanify.emit.unroll.bodies import Body, body_of, leaks
from scanify.emit.unroll.stacks import File, last_name
from scanify.emit.unroll.walks import Argument, Walk

_PLAIN = (ast.Name, ast.Attribute, ast.Constant, ast.Load)


@dataclass(frozen=True)
class Names:
    """The names of a file, and of the function around a walk, so that new ones do not clash."""

    taken: set[str]

    def one_of(self, text: str, otherwise: str) -> str:
        """Name an element of an expression: `block` for `self.blocks`."""
        word = re.fullmatch(r"(?:.*\.)?([A-Za-z_]\w*)", text)
        wanted = one_of_each([word[1]], set())[0] if word is not None else otherwise
        if word is None or wanted.startswith("new_"):
            wanted = otherwise
        name = fresh(wanted.lstrip("_") or otherwise, self.taken)
        self.taken.add(name)
        return name


def in_place(file: File, walk: Walk) -> list[Edit] | str:
    """Return the edits that turn a walk into a loop; the reason if there is none."""
    if walk.kind == "map":
        return _comprehension(file, walk)
    statement = file.statement(walk.call)
    target = _target(file, statement, walk)
    if target is None:
        return "its result is a part of a larger expression; assign it to a name first"
    assert walk.initial is not None
    if walk.kind == "collect" and (not isinstance(target, tuple)):
        return "its two results are not assigned to two names"
    scope = file.scope(walk.call)
    names = Names(_used(scope))
    function = _function(file, walk, scope)
    if function is not None:
        items = sum(one.per_layer for one in walk.arguments)
        shared = len(walk.arguments) > items or any(one.keyword for one in walk.arguments)
        body = None if shared else body_of(file.parsed, function, items, collects=walk.kind == "collect")
        if body is not None and _fits(file, walk, function, statement, body, scope):
            return _loop_of_body(file, walk, function, statement, target, body)
    if walk.kind == "collect":
        return "what its function does cannot stand in a loop"
    return _loop_of_call(file, walk, statement, target, names)


Target = str | tuple[str, str] | None


def _target(file: File, statement: ast.stmt, walk: Walk) -> Target:
    """Return the target of a walk's result, "return" if it is returned; None for another place."""
    code = file.parsed.code
    match statement:
        case ast.Assign([ast.Tuple([carry, collected])], value) if value is walk.call and walk.kind == "collect":
            return (code(carry), code(collected)) if isinstance(collected, ast.Name) else None
        case ast.Assign([target], value) if value is walk.call and walk.kind == "fold":
            plain = all(isinstance(node, ast.Name | ast.Tuple | ast.Store) for node in ast.walk(target))
            return code(target) if plain else None
        case ast.Return(value) if value is walk.call and walk.kind == "fold":
            return "return"
    return None


def _used(scope: ast.AST) -> set[str]:
    """Return the names used in a scope, except the locals of nested functions."""
    found = own(scope) if isinstance(scope, FUNCTIONS) else set()
    left: list[ast.AST] = list(ast.iter_child_nodes(scope))
    while left:
        node = left.pop()
        if isinstance(node, ast.Name):
            found.add(node.id)
        if isinstance(node, FUNCTIONS):
            found |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - own(node)
        else:
            left += ast.iter_child_nodes(node)
    return found


def _function(file: File, walk: Walk, scope: ast.AST) -> ast.FunctionDef | None:
    """Return the local function that a walk applies, if nothing else uses it."""
    if not isinstance(walk.function, ast.Name):
        return None
    name = walk.function.id
    uses = [node for node in ast.walk(scope) if isinstance(node, ast.Name) and node.id == name]
    made = [node for node in ast.walk(scope) if isinstance(node, ast.FunctionDef) and node.name == name]
    return made[0] if len(uses) == len(made) == 1 and file.scope(made[0]) is scope else None


def _fits(file: File, walk: Walk, function: ast.FunctionDef, statement: ast.stmt, body: Body, scope: ast.AST) -> bool:
    """True if nothing else reads the loop's names, and its function is defined right before it is applied."""
    if file.parents[function] is not file.parents[statement]:
        return False
    parsed = file.parsed
    looped = any(isinstance(node, LOOPS) for node in _above(file, statement, scope))
    used = leaks(function, scope, (parsed.start(function), parsed.end(statement)), parsed, looped=looped)
    targets = {
        node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    carried = {node.id for node in ast.walk(ast.parse(body.carry)) if isinstance(node, ast.Name)}
    assert walk.initial is not None
    starts_alike = ast.unparse(walk.initial) == ast.unparse(ast.parse(body.carry, mode="eval").body)
    read = {node.id for one in walk.arguments for node in ast.walk(ast.parse(one.text)) if isinstance(node, ast.Name)}
    read |= {node.id for node in ast.walk(walk.stack) if isinstance(node, ast.Name)}
    if carried & read and not starts_alike:
        return False
    own_targets = carried & targets
    own_targets |= carried if starts_alike and targets >= carried else set()
    return not (body.bound - own_targets) & used


def _above(file: File, node: ast.AST, scope: ast.AST) -> Iterator[ast.AST]:
    while node is not scope:
        node = file.parents[node]
        yield node


def _header(
    walk: Walk, file: File, layer: str, items: list[tuple[str, str]], names: Set[str]
) -> tuple[str, str | None]:
    """Write `for i, (layer, k) in enumerate(zip(self.layers, keys))` and the line that takes the layer, if needed."""
    container = file.parsed.code(walk.container)
    if walk.taken is not None:
        positions = file.parsed.code(walk.taken)
        index = next((target for target, source in items if source == positions), None)
        left = [(target, source) for target, source in items if target != index]
        line = f"{layer} = {layout.attribute_of(container)}[{index or fresh('i', names)}]"
        sources = [(index or fresh("i", names), positions), *left]
        return _for(sources), line
    numbered = [target for target, source in items if source.replace(" ", "") == f"range(len({container}))"]
    if numbered:
        left = [(target, source) for target, source in items if target != numbered[0]]
        inner = [(layer, container), *left]
        target, source = _zipped(inner)
        whole = f"({target})" if left or (layer and "," in layer and not layer.startswith("(")) else target
        return f"for {numbered[0]}, {whole} in enumerate({source}):", None
    return _for([(layer, f"reversed({container})" if walk.reverse else container), *items]), None


def _zipped(pairs: list[tuple[str, str]]) -> tuple[str, str]:
    if len(pairs) == 1:
        return pairs[0]
    return ", ".join(target for target, _ in pairs), f"zip({', '.join(source for _, source in pairs)})"


def _for(pairs: list[tuple[str, str]]) -> str:
    target, source = _zipped(pairs)
    plain = target[1:-1] if len(pairs) == 1 and target.startswith("(") and target.endswith(")") else target
    return f"for {plain} in {source}:"


def _loop_of_body(
    file: File, walk: Walk, function: ast.FunctionDef, statement: ast.stmt, target: Target, body: Body
) -> list[Edit]:
    parsed = file.parsed
    text, newline = parsed.text, newline_of(parsed.text)
    start = line_start(text, parsed.start(function))
    indent = text[start : parsed.start(function)]
    inner = indent + step_of(text, indent)
    assert walk.initial is not None
    items = list(zip(body.items, (one.text for one in walk.arguments if one.per_layer), strict=True))
    header, line = _header(walk, file, body.layer, items, body.bound)
    before = []
    if not _is(body.carry, walk.initial):
        before.append(f"{body.carry} = {parsed.code(walk.initial)}")
    after = []
    if isinstance(target, tuple):
        carry, collected = target
        into, follower = _extended(file, statement, collected)
        if into is None:
            before.append(f"{collected} = []")
        after += [] if _same(carry, body.carry) else [f"{carry} = {body.carry}"]
    else:
        into, follower, collected = None, None, ""
        after += [f"return {body.carry}"] if target == "return" else []
        after += [f"{target} = {body.carry}"] if target != "return" and not _same(target or "", body.carry) else []
    lines = [*before, f"{header.removesuffix(':')}:"]
    above = newline.join(f"{indent}{each}" for each in lines) + body.header
    taken = f"{inner}{line}{newline}" if line is not None else ""
    appended = f"{inner}{into or collected}.append({body.gives}){newline}" if body.gives is not None else ""
    below = "".join(f"{indent}{each}{newline}" for each in after)
    new = f"{above}{taken}{body.lines}{appended}{below}"
    begin = _without_blank(text, start)
    between = text[next_line(text, parsed.end(function)) : line_start(text, parsed.start(statement))]
    stop = next_line(text, parsed.end(statement if follower is None else follower))
    if not between.strip():
        return [Edit(file.path, begin, stop, new)]
    gone = next_line(text, parsed.end(function))
    gone += len(between) - len(between.lstrip("\r\n \t")) - len(indent)
    at = line_start(text, parsed.start(statement))
    return [Edit(file.path, start, gone, ""), Edit(file.path, at, stop, new)]


def _extended(file: File, statement: ast.stmt, collected: str) -> tuple[str | None, ast.stmt | None]:
    """Return the list that the next statement extends by the collected outputs, if nothing else reads them."""
    holder = file.parents[statement]
    block = next((b for b in (getattr(holder, n, []) for n in ("body", "orelse", "finalbody")) if statement in b), [])
    at = block.index(statement) if block else 0
    scope = file.scope(statement)
    uses = [node for node in ast.walk(scope) if isinstance(node, ast.Name) and node.id == collected]
    match block[at + 1 : at + 2]:
        case [ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "extend"), [ast.Name(given)], [])) as follower]:
            if given == collected and len(uses) == 2:
                return name, follower
    return None, None


def _without_blank(text: str, start: int) -> int:
    """Return the start of a function's text, including the blank line above it, which a loop does not need."""
    if start == 0:
        return start
    above = previous_line(text, start)
    return above if not text[above:start].strip() and above > 0 else start


def _is(text: str, node: ast.expr) -> bool:
    return ast.unparse(ast.parse(text, mode="eval").body) == ast.unparse(node)


def _same(first: str, second: str) -> bool:
    return first == second or _is(first, ast.parse(second, mode="eval").body)


def _loop_of_call(file: File, walk: Walk, statement: ast.stmt, target: Target, names: Names) -> list[Edit] | str:
    """Write a loop whose body is one call: of the layer, of its class's method, or of a function."""
    parsed, text = file.parsed, file.parsed.text
    assert walk.initial is not None and isinstance(target, str)
    start = parsed.start(statement)
    indent = text[line_start(text, start) : start]
    if indent.strip():
        return "it does not stand on a line of its own"
    newline, before, after = newline_of(text), [], []
    initial = parsed.code(walk.initial)
    if target == "return":
        simple = all(isinstance(node, (*_PLAIN[:1], ast.Load, ast.Tuple)) for node in ast.walk(walk.initial))
        carry = initial if simple else fresh("x", names.taken)
        after.append(f"return {carry}")
    else:
        carry = target
    if isinstance(walk.initial, ast.Tuple) or "," in carry:
        inside = f"({carry})" if "," in carry and not carry.startswith("(") else carry
    else:
        inside = carry
    if not _is(carry, walk.initial):
        before.append(f"{carry} = {initial}")
    read = {n.id for one in walk.arguments for n in ast.walk(ast.parse(one.text)) if isinstance(n, ast.Name)}
    read |= {node.id for node in ast.walk(walk.stack) if isinstance(node, ast.Name)}
    carried = {node.id for node in ast.walk(ast.parse(carry)) if isinstance(node, ast.Name)}
    if before and carried & read:
        return "what its carry is called is something else in its arguments; assign the result to another name"
    layer = names.one_of(parsed.code(walk.container), "layer")
    given, items = _given(walk, carried, names, before)
    header, line = _header(walk, file, layer, items, names.taken)
    called = _called(file, walk, layer, inside, given)
    if called is None:
        return "what it applies is not known here"
    step = step_of(text, indent)
    lines = [*before, header, *([f"{step}{line}"] if line else []), f"{step}{carry} = {called}", *after]
    return [Edit(file.path, start, parsed.end(statement), f"{newline}{indent}".join(lines))]


def _given(walk: Walk, carried: Set[str], names: Names, before: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the arguments of the call in a loop, and the xs of the loop.

    Shared arguments are computed once: they get a name in front of the loop unless they are plain.
    """
    given, items = [], []
    for one in walk.arguments:
        if one.per_layer:
            name = _item(one, names)
            items.append((name, one.text))
        else:
            tree = ast.parse(one.text, mode="eval").body
            plain = all(isinstance(node, _PLAIN) for node in ast.walk(tree))
            name = one.text
            if not plain or {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} & carried:
                name = fresh(one.keyword or "shared", names.taken)
                names.taken.add(name)
                before.append(f"{name} = {one.text}")
        given.append(f"{one.keyword}={name}" if one.keyword else name)
    return given, items


def _item(one: Argument, names: Names) -> str:
    wanted = names.one_of(one.text, "k" if (one.keyword or "").endswith(("key", "rng")) else "item")
    if wanted.rstrip("_0123456789") in ("key", "rng"):
        names.taken.discard(wanted)
        wanted = fresh("k", names.taken)
        names.taken.add(wanted)
    return wanted


def _called(file: File, walk: Walk, layer: str, carry: str, given: list[str]) -> str | None:
    """Apply one layer. `Block.__call__` is a plain call of the layer; another method of the class is called by name."""
    arguments = ", ".join([carry, *given]) if carry else ", ".join(given)
    match walk.function:
        case None:
            return f"{layer}({arguments})"
        case ast.Attribute(owner, method) if (last_name(owner) or "")[:1].isupper():
            return f"{layer}({arguments})" if method == "__call__" else f"{layer}.{method}({arguments})"
        case ast.Name() | ast.Attribute():
            return f"{file.parsed.code(walk.function)}({', '.join([layer, arguments]).rstrip(', ')})"
    return None


def _comprehension(file: File, walk: Walk) -> list[Edit] | str:
    parsed = file.parsed
    scope = file.scope(walk.call)
    names = Names(_used(scope))
    if walk.taken is not None:
        return "it takes some of the layers by their numbers"
    before: list[str] = []
    if isinstance(walk.function, ast.Lambda):
        own = walk.function.args
        parameters = [each.arg for each in own.args]
        simple = not (own.defaults or own.posonlyargs or own.kwonlyargs or own.vararg or own.kwarg)
        if not simple or len(parameters) != 1 + len(walk.arguments) or any(a.keyword for a in walk.arguments):
            return "its function is not one of a layer and what it is given"
        if not all(one.per_layer for one in walk.arguments):
            return "its function is given something that all layers share"
        pairs = [(parameters[0], parsed.code(walk.container))]
        pairs += [(p, one.text) for p, one in zip(parameters[1:], walk.arguments, strict=True)]
        element = parsed.code(walk.function.body)
    else:
        layer = names.one_of(parsed.code(walk.container), "layer")
        given, items = _given(walk, set(), names, before)
        if before:
            return "what all layers share is computed in the call; give it a name first"
        called = _called(file, walk, layer, "", given)
        if called is None:
            return "what it applies is not known here"
        pairs, element = [(layer, parsed.code(walk.container)), *items], called
    target, source = _zipped(pairs)
    new = f"[{element} for {target} in {source}]"
    return [Edit(file.path, parsed.start(walk.call), parsed.end(walk.call), new)]
