"""How a list is filled after it was made: what each statement adds to it, and where it is complete."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from scanify.analysis.blocks import blocks
from scanify.analysis.children import children
from scanify.analysis.elements import Element
from scanify.analysis.facts import Place
from scanify.analysis.keys import Variety, bind_iteration, culprit, is_keys
from scanify.analysis.names import flow, target_names
from scanify.analysis.plan import After
from scanify.analysis.project import Project, dotted
from scanify.analysis.where import Where, assignments

GROWS = ("append", "extend", "insert")


@dataclass(frozen=True, eq=False)
class Growth:
    """One statement that adds to a list: a layer, or a whole `list`, at the end or in front."""

    node: cst.CSTNode
    value: cst.BaseExpression
    whole: bool = False
    front: bool = False


def growths(at: Where, target: str) -> list[Growth | cst.Call]:
    """The statements that add to `target`, in order; a call of another method of it by itself."""
    found: list[Growth | cst.Call] = []
    for statement in blocks(at.body()):
        match statement:
            case cst.Expr(value=cst.Call() as call):
                head, _, last = (dotted(call.func) or "").rpartition(".")
                if head == target:
                    found.append(_grown(call, last))
            case cst.AugAssign(operator=cst.AddAssign()) if dotted(statement.target) == target:
                found.append(Growth(statement, statement.value, whole=True))
            case _:
                pass
    return found


def _grown(call: cst.Call, name: str) -> Growth | cst.Call:
    values = [arg.value for arg in call.args if not arg.star and arg.keyword is None]
    if name not in GROWS or len(values) != len(call.args) or len(values) != (2 if name == "insert" else 1):
        return call
    front = name == "insert"
    if front and not (isinstance(values[0], cst.Integer) and values[0].evaluated_value == 0):
        return call
    return Growth(call, values[-1], whole=name == "extend", front=front)


def placed(at: Where, target: str) -> list[Growth]:
    """The statements `target[i] = layer` that fill a list made at its full length."""
    found = []
    for statement in blocks(at.body()):
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            stored = statement.targets[0].target
            if isinstance(stored, cst.Subscript) and dotted(stored.value) == target:
                found.append(Growth(statement, statement.value))
    return found


def entries(at: Where, target: str) -> list[Growth | cst.Call]:
    """The statements that put values into a dict, in order; a call of another method of it by itself."""
    found: list[Growth | cst.Call] = []
    for statement in blocks(at.body()):
        match statement:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript(value=stored))]) if dotted(stored) == target:
                found.append(Growth(statement, statement.value))
            case cst.AugAssign(operator=cst.BitOrAssign()) if dotted(statement.target) == target:
                found.append(Growth(statement, statement.value, whole=True))
            case cst.Expr(value=cst.Call(func=cst.Attribute(value=owner, attr=method), args=args) as call):
                if dotted(owner) == target and method.value == "update" and len(args) == 1 and args[0].keyword is None:
                    found.append(Growth(call, args[0].value, whole=True))
                elif dotted(owner) == target:
                    found.append(call)
            case _:
                pass
    return found


def changed_later(at: Where, statement: cst.CSTNode, name: str) -> cst.CSTNode | None:
    """A mention of a name, after a statement that gave its list away, that may change the list."""
    parsed = at.module.parsed
    around = any(isinstance(above, cst.For | cst.While) for above in parsed.ancestors(statement))
    start = 0 if around else parsed.span(statement).end
    for node in _mentions(at.body(), name):
        above = parsed.parent(node)
        if parsed.span(node).start < start or parsed.parent(above or node) is statement or above is statement:
            continue
        if isinstance(above, cst.AssignTarget | cst.For | cst.CompFor):
            continue
        call = parsed.parent(above) if isinstance(above, cst.Arg) else None
        if call is None or not isinstance(call, cst.Call) or dotted(call.func) not in ("len", "zip", "enumerate"):
            return node
    return None


def _mentions(nodes: Sequence[cst.CSTNode], name: str) -> Iterator[cst.Name]:
    for node in nodes:
        if isinstance(node, cst.Name) and node.value == name:
            yield node
        elif not isinstance(node, cst.Attribute):
            yield from _mentions(children(node), name)
        else:
            yield from _mentions([node.value], name)


def added_element(project: Project, at: Where, growth: Growth, made: cst.CSTNode) -> Element:
    """The element a statement adds, with what varies in the loops around it that `made`, the list's own statement, is
    not in: each of their turns makes another list."""
    environment: dict[str, Variety] = {}
    repeated = False
    node = growth.value
    outside = at.module.parsed.ancestors(made)
    for above in reversed(at.module.parsed.ancestors(growth.node)):
        if above in outside:
            continue
        if isinstance(above, cst.For):
            repeated = True
            bind_iteration(project, at, above.target, above.iter, environment)
            _vary_through_body(project, at, above.body.body, environment)
            node = _made_in_loop(above, node)
        elif isinstance(above, cst.While):
            repeated = True
            _vary_through_body(project, at, above.body.body, environment)
            node = _made_in_loop(above, node)
    return Element(node, at, environment, repeated)


def in_turns(project: Project, at: Where, element: Element, growth: Growth, made: cst.CSTNode) -> Element:
    """An element of a list that is added whole, with what varies in the loops around the statement."""
    around = added_element(project, at, growth, made)
    environment = {**around.environment, **element.environment}
    return Element(element.node, element.at, environment, element.repeated or around.repeated)


def _made_in_loop(loop: cst.For | cst.While, node: cst.BaseExpression) -> cst.BaseExpression:
    """`block = Block(...)` in the loop, then `blocks.append(block)`: the element is the call."""
    if isinstance(node, cst.Name):
        made = assignments(loop.body.body, node.value)
        if len(made) == 1 and isinstance(made[0], cst.Assign) and not any(_filling(loop, node.value)):
            return made[0].value
    return node


def _filling(loop: cst.For | cst.While, name: str) -> Iterator[cst.Call]:
    """The calls in a loop that add to a list: it is made anew in every turn, and more than its first value."""
    for statement in blocks(loop.body.body):
        value = statement.value if isinstance(statement, cst.Expr) else None
        head, _, last = (dotted(value.func) or "").rpartition(".") if isinstance(value, cst.Call) else ("", "", "")
        if isinstance(value, cst.Call) and head == name and last in GROWS:
            yield value


def _vary_through_body(
    project: Project, at: Where, body: Sequence[cst.CSTNode], environment: dict[str, Variety]
) -> None:
    names = flow(body)
    carried = {name for name in names.bound if name in names.exposed}
    for name in carried:
        environment.setdefault(name, Variety.VALUE)
    for statement in blocks(body):
        if not isinstance(statement, cst.Assign | cst.AugAssign | cst.AnnAssign) or statement.value is None:
            continue
        targets = [t.target for t in statement.targets] if isinstance(statement, cst.Assign) else [statement.target]
        key = is_keys(project, at, statement.value)
        varies = culprit(project, at, statement.value, environment) is not None
        varies = varies or _in_some_turns(project, at, statement, body, environment)
        for name in [name for target in targets for name in target_names(target)]:
            if key:
                environment[name] = Variety.KEY
            elif varies or (name in carried and not isinstance(statement, cst.Assign)):
                environment[name] = Variety.VALUE
            elif name not in carried:
                environment.pop(name, None)


def _in_some_turns(
    project: Project, at: Where, statement: cst.CSTNode, body: Sequence[cst.CSTNode], environment: dict[str, Variety]
) -> bool:
    """Whether a statement of a loop's body stands under a condition that varies from turn to turn."""
    for above in at.module.parsed.ancestors(statement):
        if isinstance(above, cst.If) and culprit(project, at, above.test, environment) is not None:
            return True
        if above in body:
            return False
    return False


def statement_beside(at: Where, first: cst.CSTNode, inner: cst.CSTNode) -> cst.CSTNode | None:
    """The statement that holds `inner` in the very block that holds `first`."""
    parsed = at.module.parsed
    line = parsed.parent(first)
    block = parsed.parent(line) if line is not None else None
    below = inner
    for above in parsed.ancestors(inner):
        if above is block:
            return below
        below = above
    return None


def after(at: Where, statement: cst.CSTNode, target: str) -> After:
    parsed = at.module.parsed
    span = parsed.span(statement)
    text = parsed.source.text
    start = parsed.line_start(span.line)
    indent = text[start : len(text) - len(text[start:].lstrip(" \t"))]
    place = Place(parsed.source.path, type(span)(start, parsed.line_start(span.end_line + 1), span.line, span.end_line))
    return After(place, target, indent)


def of_nothing(value: cst.BaseExpression) -> bool:
    """`[None] * n`: a list that is filled place by place."""
    if not isinstance(value, cst.BinaryOperation) or not isinstance(value.operator, cst.Multiply):
        return False
    shown = [one for one in (value.left, value.right) if isinstance(one, cst.List)]
    return any(len(one.elements) == 1 and dotted(one.elements[0].value) == "None" for one in shown)
