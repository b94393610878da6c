"""Comprehensions as they stand in the source: what one evaluates for each element, and who takes what it gives."""

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from scanify.analysis.children import all_of, children
from scanify.analysis.keys import qualified
from scanify.analysis.names import body_of, parameter_names, target_names
from scanify.analysis.project import Project, dotted
from scanify.analysis.where import Where, assignments, builtin_called

Node = cst.ListComp | cst.GeneratorExp

# These go through a generator before they do anything else: a list serves them.
_EAGER = frozenset("sum tuple list".split())
_LAZY = frozenset("zip enumerate".split())


@dataclass(frozen=True, eq=False)
class Walk:
    """`[element for target in walked]`, or `for target in walked: appends_to.append(element)`.

    `loop` is the statement that walks as the comprehension does; a comprehension's stands nowhere in the source, nor
    does that of a `map`, whose `node` is the call, or the `list(...)` around it.
    """

    node: Node | cst.Call | cst.For
    element: cst.BaseExpression
    loop: cst.For
    appends_to: str | None = None


def walk_of(node: Node) -> Walk:
    """A comprehension as a walk of its first `for`."""
    body = cst.IndentedBlock([cst.SimpleStatementLine([cst.Expr(node.elt)])])
    return Walk(node, node.elt, cst.For(node.for_in.target, node.for_in.iter, body, asynchronous=_async(node)))


def _async(node: Node) -> cst.Asynchronous | None:
    return node.for_in.asynchronous


def appending(at: Where, loop: cst.For) -> Walk | None:
    """`for layer in layers: outs.append(layer(x))`, where `outs` is a list of the function; None for other loops."""
    statements: Sequence[cst.CSTNode] = body_of(loop.body)
    if len(statements) == 1 and isinstance(statements[0], cst.SimpleStatementLine):
        statements = statements[0].body
    if len(statements) != 1 or not isinstance(statements[0], cst.Expr):
        return None
    match statements[0].value:
        case cst.Call(
            func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="append")),
            args=[cst.Arg(star="", keyword=None) as given],
        ):
            if _is_own_list(at, name):
                return Walk(loop, given.value, loop, name)
    return None


def _is_list(value: cst.BaseExpression | None) -> bool:
    return isinstance(value, cst.List | cst.ListComp)


def comprehensions_of(node: cst.CSTNode) -> Sequence[Node]:
    """Every list comprehension and generator expression of a file, in source order."""
    found: list[Node] = [node] if isinstance(node, cst.ListComp | cst.GeneratorExp) else []
    for child in children(node):
        found.extend(comprehensions_of(child))
    return found


def may_apply(node: Node) -> bool:
    """A first look: whether the element calls something with a name that the first `for` binds."""
    return _mentions_in_call(node.elt, frozenset(target_names(node.for_in.target)))


def _mentions_in_call(node: cst.CSTNode, names: frozenset[str]) -> bool:
    if isinstance(node, cst.Call) and node.args:
        made = node.func
        given = [arg.value for arg in made.args] if isinstance(made, cst.Call) else []
        if any((dotted(one) or "").partition(".")[0] in names for one in (made, *given)):
            return True
    return any(_mentions_in_call(child, names) for child in children(node))


def names_around(at: Where, node: cst.CSTNode) -> frozenset[str] | None:
    """The names that lambdas and comprehensions around an expression bind; None where it stands in no block.

    A default argument and a decorator are evaluated elsewhere, and an f-string is no place for a call of several lines.
    """
    found: set[str] = set()
    below: cst.CSTNode = node
    for above in at.module.parsed.ancestors(node):
        if isinstance(above, cst.FormattedString):
            return None
        if isinstance(above, cst.FunctionDef | cst.ClassDef):
            return frozenset(found) if below is above.body else None
        if isinstance(above, cst.Lambda):
            found |= parameter_names(above.params)
        elif isinstance(above, cst.ListComp | cst.GeneratorExp | cst.SetComp | cst.DictComp):
            level: cst.CompFor | None = above.for_in
            while level is not None:
                found |= set(target_names(level.target))
                level = level.inner_for_in
        below = above
    return frozenset(found)


def taken_whole(project: Project, at: Where, node: Node | cst.Call) -> bool:
    """Whether a list can stand in the place of a comprehension: a generator, or a `map`, must be walked at once and to
    its end.

    A generator evaluates each element when it is asked for, with what names are bound to then.
    """
    if isinstance(node, cst.ListComp) or builtin_called(project, at, node) == "list":
        return True
    parsed = at.module.parsed
    holder = parsed.parent(node)
    if isinstance(holder, cst.Assign) and holder.value is node:  # `a, b = ...`
        return all(isinstance(one.target, cst.Tuple | cst.List) for one in holder.targets)
    while isinstance(holder, cst.Arg | cst.StarredElement):
        if isinstance(holder, cst.StarredElement) or holder.star == "*":
            return True
        call = parsed.parent(holder)
        if not isinstance(call, cst.Call) or holder.keyword is not None:
            return False
        name = builtin_called(project, at, call)
        if name in _EAGER:
            return True
        outside = qualified(project, at, call.func)
        if outside is not None and (outside.split(".")[0] in ("jax", "numpy") or outside == "functools.reduce"):
            return True
        if name not in _LAZY:
            return _extends(at, call)
        holder = parsed.parent(call)
    return False


def _extends(at: Where, call: cst.Call) -> bool:
    """`outs.extend(head(x) for head in heads)` for a list of the function: nothing looks at it while it grows."""
    match call:
        case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="extend")), args=[_]):
            return _is_own_list(at, name) and not _seen_before(at, name, call)
        case _:
            return False


def _seen_before(at: Where, name: str, call: cst.Call) -> bool:
    """Whether anything but what makes a list and adds to it may hold or read it by the time that a call runs."""
    assert at.function is not None
    parsed = at.module.parsed
    again = any(isinstance(one, cst.For | cst.While) for one in parsed.ancestors(call))
    uses = [one for one in all_of(cst.Name, at.function.body) if one.value == name]
    before = [one for one in uses if again or parsed.span(one).start < parsed.span(call).end]
    return not all(_makes_or_adds(parsed.parent(one), one) for one in before)


def _makes_or_adds(above: cst.CSTNode | None, use: cst.Name) -> bool:
    match above:
        case cst.AssignTarget():
            return True
        case cst.AnnAssign():
            return above.target is use
        case cst.Attribute():
            return above.value is not use or above.attr.value in ("append", "extend")
        case _:
            return False


def _is_own_list(at: Where, name: str) -> bool:
    """Whether a name is assigned new lists in the function and nothing else."""
    bound = assignments(at.body(), name)
    made = [one.value for one in bound if isinstance(one, cst.Assign | cst.AnnAssign)]
    return bool(bound) and len(made) == len(bound) and at.parameter(name) is None and all(map(_is_list, made))


def applies(project: Project, at: Where, element: cst.CSTNode, layer: str) -> bool:
    """Whether an element applies the layer to something: `head(x)`, `head.attend(x)`, `jax.vmap(head)(x)`.

    A method without arguments, such as `layer.reset()`, or a function of the layer, `count(layer)`, does not.
    """
    if isinstance(element, cst.Call) and element.args:
        if _of(element.func, layer):
            return True
        made = element.func
        if isinstance(made, cst.Call) and any(_of(arg.value, layer) for arg in made.args):
            outside = qualified(project, at, made.func)
            if outside is not None and outside.split(".")[0] in ("jax", "equinox", "functools"):
                return True
    return any(applies(project, at, child, layer) for child in children(element))


def _of(node: cst.CSTNode, layer: str) -> bool:
    name = dotted(node)
    return name is not None and name.partition(".")[0] == layer
