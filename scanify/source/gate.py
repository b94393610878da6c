"""The cheap gate before libcst: could this file hold a loop over layers at all?

`ast.parse` is about fifteen times faster than `libcst.parse_module`, so most files never reach libcst. The gate may
let through too much, never too little: it knows nothing of equinox, since a loop over modules may stand in a file that
never imports it.
"""

import ast
import re
import warnings
from collections.abc import Iterator

_WALKS = re.compile(r"\b(for|map|reduce)\b")
_FEW = 3  # layers of a `Sequential` written out one by one: fewer are left alone


def may_hold_layer_loop(text: str) -> bool:
    """Whether a `for` in the file calls its own target, as `x = layer(x)` and `x = layer.attn(x)` do.

    Comprehensions, and lambdas given to `map` and `reduce`, count where the target is called itself, or where a method
    of it is called and what is walked is somebody's attribute: `[head.attend(x) for head in self.heads]`, but not
    `[line.split(",") for line in lines]`.

    So does a call of something named `Sequential` with one argument that may hold a few layers.

    A text that the running Python cannot parse passes: libcst may know syntax that this Python does not, and where
    libcst fails too, its message is the better one.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are not ours to report
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    if "Sequential" in text and _makes_sequential(tree):
        return True
    if not _WALKS.search(text):  # asked last, so that no file with a syntax error passes in silence
        return False
    names = _names_of(tree, "reduce")
    return any(_may_be_one(node) or _may_walk(node, names) for node in ast.walk(tree))


def _makes_sequential(tree: ast.Module) -> bool:
    names = _names_of(tree, "Sequential")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or len(node.args) + len(node.keywords) != 1:
            continue
        if _last_name(node) in names and not _are_few(next(_values(node))):
            return True
    return False


def _names_of(tree: ast.Module, name: str) -> set[str]:
    """A name, and those that imports from somewhere give to what has it there."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    others = (alias.asname for node in imports for alias in node.names if alias.name == name)
    return {name, *(one for one in others if one is not None)}


def _last_name(call: ast.Call) -> str | None:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)


def _may_walk(node: ast.AST, reduces: set[str]) -> bool:
    """`map(lambda layer: layer(x), layers)`, `reduce(lambda x, layer: layer(x), layers, x)`, `reduce(f, layers, x)`."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return False
    name, function = _last_name(node), node.args[0]
    if name not in reduces and name != "map":
        return False
    if not isinstance(function, ast.Lambda):
        return name in reduces and isinstance(function, ast.Name | ast.Attribute)
    calls = (each for each in ast.walk(function.body) if isinstance(each, ast.Call))
    return any(call.args or call.keywords for call in calls)


def _are_few(given: ast.expr) -> bool:
    if not isinstance(given, ast.List | ast.Tuple):
        return False
    return len(given.elts) < _FEW and not any(isinstance(each, ast.Starred) for each in given.elts)


def _may_be_one(node: ast.AST) -> bool:
    if isinstance(node, ast.For | ast.AsyncFor):
        return _applies_its_target(node)
    return isinstance(node, ast.ListComp | ast.GeneratorExp) and _applies_to_its_element(node)


def _applies_its_target(loop: ast.For | ast.AsyncFor) -> bool:
    targets = _names(loop.target)
    targets |= _taken_by(targets, loop)
    bound: set[str] = set()
    given: set[str] = set()
    for statement in loop.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound.add(node.id)
            elif isinstance(node, ast.Call):
                if _applies(node, targets):
                    return True
                if _root(node.func) in targets:  # `h = layer.norm(x)`, and `x = x + h` in another statement
                    given |= {name for value in _values(node) for name in _names(value)}
            elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and _rebinds_through(node, targets):
                return True
    return bool(bound & given - targets)


def _taken_by(index: set[str], loop: ast.For | ast.AsyncFor) -> set[str]:
    """The names that stand for what a loop takes by number: `layer = self.layers[i]`."""
    assigned = [node for node in ast.walk(loop) if isinstance(node, ast.Assign | ast.AnnAssign)]
    return {
        name
        for node in assigned
        if isinstance(node.value, ast.Subscript) and _names(node.value.slice) & index
        for target in _targets(node)
        if isinstance(target, ast.Name)
        for name in _names(target)
    }


def _applies_to_its_element(node: ast.ListComp | ast.GeneratorExp) -> bool:
    first = node.generators[0]
    targets = _names(first.target)
    attribute = any(isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load) for each in _read(first.iter))
    calls = [each for each in ast.walk(node.elt) if isinstance(each, ast.Call) and (each.args or each.keywords)]
    return any(_applies(call, targets) or (attribute and _root(call.func) in targets) for call in calls)


def _read(node: ast.expr) -> Iterator[ast.AST]:
    """The parts of an expression without the functions that it calls: `x.split` of `x.split()` is none. What gives the
    elements of a dict is read through: `self.heads.values()`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("values", "items"):
        node = node.func.value
    if not isinstance(node, ast.Call):
        yield from ast.walk(node)
        return
    for value in _values(node):
        yield from _read(value)


def _applies(call: ast.Call, targets: set[str]) -> bool:
    """`layer(x)`, `self.layers[i](x)`, `self.layers[i].attend(x)`, `jax.vmap(layer.norm)(x)`."""
    func = call.func
    while isinstance(func, ast.Attribute) and isinstance(func.value, ast.Attribute | ast.Subscript):
        func = func.value
    match func:
        case ast.Name(id=name):
            return name in targets and bool(call.args or call.keywords)
        case ast.Subscript(value=value, slice=index):
            return bool(_names(index) & targets) or _root(value) in targets  # `self.layers[i](x)`, `pair[0](x)`
        case ast.Call() as inner:
            taken = [value for value in _values(inner) if isinstance(value, ast.Subscript)]
            return any(_root(value) in targets for value in _values(inner)) or any(
                _names(value.slice) & targets for value in taken
            )
        case _:
            return False


def _rebinds_through(node: ast.Assign | ast.AugAssign | ast.AnnAssign, targets: set[str]) -> bool:
    """`x = apply(layer, x)`: a call that is given the target and the name that is bound."""
    bound = {name for target in _targets(node) for name in _names(target)}
    for call in ast.walk(node.value) if node.value is not None else ():
        if isinstance(call, ast.Call):
            values = list(_values(call))
            through = any(_root(value) in targets for value in values)
            if through and bound & {name for value in values for name in _names(value)}:
                return True
    return False


def _targets(node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _values(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (keyword.value for keyword in call.keywords)


def _names(node: ast.AST) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None
