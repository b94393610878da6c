"""Whether layers are equal only in parts: after peeling an end, by period, or in runs. This makes a loop a group.

It is said where the source shows one of these, whether the loop can be rewritten or not:

- state: the layers, or the values that go through them, hold an `equinox.nn.State`, whose index differs by layer;
- the body branches: on the class of the layer, or on its index in what it computes;
- several places build elements that the loop walks, of different classes or with different arguments;
- an argument, or the class, is chosen by a condition or a remainder that the layer's index decides;
- the index itself is given to a class that branches on it;
- an argument is read from a table of a value a layer (sizes, names of kinds), or computed from the index as a size is.

It is not said where layers differ in random keys alone, in rates, in an index that nothing branches on, or in what
is read from a table that repeats one value. A choice that is the same for all layers is none.
"""

from collections.abc import Iterator, Sequence

import libcst as cst

from scanify.analysis.branched import argument_branches
from scanify.analysis.classify import Found, element_annotation
from scanify.analysis.container import annotated_class
from scanify.analysis.elements import Element, ElementClass, Mixed, element_class
from scanify.analysis.header import Header
from scanify.analysis.keys import is_keys
from scanify.analysis.layer_class import class_with_state, holds_state, state_of_its_own
from scanify.analysis.layers import Built, Elsewhere
from scanify.analysis.names import flow, target_names
from scanify.analysis.project import Project, dotted
from scanify.analysis.tables import of_rates, one_value, same_in_every_call
from scanify.analysis.varied import How, Varied, is_rate, varied
from scanify.analysis.where import Where, blocks


def parted(
    project: Project, at: Where, head: Header, found: Found, loop: cst.For, carry: Sequence[str] = ()
) -> str | None:
    """Why the layers of a loop are equal only in parts; None where nothing shows that."""
    layer = dotted(found.part.target) or ""
    answer = found.layers.answer
    return (
        _state(project, at, found, carry)
        or branching(loop.body, head, layer, frozenset(carry))
        or (_differ(project, _walked(answer.elements, found)) if isinstance(answer, Built) else None)
    )


def parted_elements(project: Project, elements: Sequence[Element]) -> str | None:
    """Why layers that are built here are equal only in parts; None where nothing shows that."""
    kinds = [element_class(project, one) for one in elements]
    stateful = [state_of_its_own(project, one) for one in kinds if isinstance(one, ElementClass)]
    return next((one for one in stateful if one is not None), None) or _differ(project, elements)


# -- state --------------------------------------------------------------------------------------------------------


def _state(project: Project, at: Where, found: Found, carry: Sequence[str]) -> str | None:
    own = state_of_its_own(project, found.kind)
    if own is not None:
        return own
    for name in carry:
        param = at.parameter(name)
        annotation = param.annotation if param is not None else None
        if annotation is not None and holds_state(project, at, annotation.annotation):
            return f"`{name}` is an `equinox.nn.State`"
    answer = found.layers.answer
    if isinstance(answer, Elsewhere) and answer.annotation is not None:
        element = element_annotation(answer.annotation)
        for one in _members(element) if element is not None else ():
            owner = annotated_class(project, answer.at, one)
            own = class_with_state(project, owner) if owner is not None else None
            if own is not None:
                return own
    return None


def _members(annotation: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The classes of `A | B`, or the one of `A`."""
    if isinstance(annotation, cst.BinaryOperation):
        yield from _members(annotation.left)
        yield from _members(annotation.right)
    else:
        yield annotation


# -- the body -----------------------------------------------------------------------------------------------------


def branching(body: cst.BaseSuite, head: Header, layer: str, carry: frozenset[str]) -> str | None:
    """Where a body asks for the class of its layer, or for its index in what it hands on."""
    index = frozenset(target_names(head.index)) if head.index is not None else frozenset()
    for node in _nodes(body):
        asked = node.args[:1] if isinstance(node, cst.Call) and dotted(node.func) == "isinstance" else ()
        if any(dotted(arg.value) == layer for arg in asked):
            return f"the body asks for the class of `{layer}`"
        if not isinstance(node, cst.If | cst.IfExp) or not _compares(node.test, index):
            continue
        if isinstance(node, cst.IfExp) or _hands_on(node, carry):
            return "the body branches on the layer's index"
    return None


def _compares(test: cst.CSTNode, index: frozenset[str]) -> bool:
    """Whether a condition orders, counts or divides one of some names: `i < n - 1`, `i % 2`, `not i`."""
    if isinstance(test, cst.Name):
        return test.value in index
    if isinstance(test, cst.Comparison):
        return not any(
            isinstance(one.operator, cst.In | cst.NotIn | cst.Is | cst.IsNot) for one in test.comparisons
        ) and (_reads(test, index))
    if isinstance(test, cst.BinaryOperation):
        return isinstance(test.operator, cst.Modulo) and _reads(test, index)
    return any(_compares(child, index) for child in test.children if not isinstance(test, cst.Call | cst.Subscript))


def _hands_on(node: cst.If, carry: frozenset[str]) -> bool:
    """Whether a branch changes a value that goes from layer to layer, or leaves the loop."""
    bound = flow([node]).bound
    return bool(carry.intersection(bound)) or any(
        isinstance(one, cst.Return | cst.Break | cst.Continue) for one in blocks([node])
    )


# -- how the elements are built -----------------------------------------------------------------------------------


def _walked(elements: Sequence[Element], found: Found) -> Sequence[Element]:
    """The elements that a loop over a slice walks: `[:-1]` leaves a last one out, that is built by itself."""
    part = found.part.whole
    if found.part.form != "a slice" or not isinstance(part, cst.Subscript) or len(part.slice) != 1:
        return elements
    cut = part.slice[0].slice
    kept = list(elements)
    if isinstance(cut, cst.Slice) and cut.step is None:
        if _is_number(cut.lower, 1) and len(kept) > 1 and not kept[0].repeated:
            kept = kept[1:]
        if _is_number(cut.upper, -1) and len(kept) > 1 and not kept[-1].repeated:
            kept = kept[:-1]
    return kept


def _is_number(node: cst.CSTNode | None, value: int) -> bool:
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        return _is_number(node.expression, -value)
    return isinstance(node, cst.Integer) and node.evaluated_value == value


def _differ(project: Project, elements: Sequence[Element]) -> str | None:
    for element in elements:
        found = _differs_by_turn(project, element)
        if found is not None:
            return found
    return _differs_by_place(project, elements)


def _differs_by_turn(project: Project, element: Element) -> str | None:
    """Why what one expression builds in several turns differs in more than keys, rates and labels."""
    if not element.repeated:
        return None
    chosen = _choice(element)
    if chosen is not None:
        return f"`{element.at.module.parsed.code(chosen)}` chooses what a layer is"
    loops = _loops(element)
    for one in varied(project, element, loops):
        if _parts(project, element, one, loops):
            return f"each layer is built with its own value of `{one.text}`"
    return None


def _choice(element: Element) -> cst.BaseExpression | None:
    """The condition that chooses between what is built, or the class of it, where it varies from layer to layer."""
    node: cst.CSTNode = element.node
    while isinstance(node, cst.IfExp | cst.Call):
        if isinstance(node, cst.IfExp):
            if _reads(node.test, frozenset(element.environment)):
                return node.test
            node = node.body
        else:
            node = node.func
    return None


def _parts(project: Project, element: Element, one: Varied, loops: Sequence[cst.For | cst.While]) -> bool:
    """Whether an argument that varies makes layers that are equal only in parts."""
    assert isinstance(element.node, cst.Call)
    if one.rate:
        return False
    if one.how is How.CHOICE:
        return not _same_by_default(project, element, one)
    if one.arg is None:
        return True
    numbers, tables = _bound(element, loops)
    name = dotted(one.node)
    table = one.node.value if isinstance(one.node, cst.Subscript) else tables.get(name)
    if table is not None:
        return not one_value(project, element.at, table) and not of_rates(project, element.at, table)
    if one.how is How.NUMBER or name in numbers:
        return argument_branches(project, element.at, element.node, one.arg)
    return True


def _same_by_default(project: Project, element: Element, one: Varied) -> bool:
    """Whether all that a condition chooses between is given as one value by every caller in the project."""
    values = [one.node] if isinstance(one.node, cst.IfExp) else list(one.made)
    chosen: list[cst.BaseExpression] = []
    for value in values:
        chosen += [value.body, value.orelse] if isinstance(value, cst.IfExp) else [value]
    return len(chosen) > 1 and all(same_in_every_call(project, element.at, chosen[0], each) for each in chosen[1:])


def _loops(element: Element) -> list[cst.For | cst.While]:
    """The loops that an element is made in one turn after another of, the innermost last."""
    found: list[cst.For | cst.While] = []
    for above in element.at.module.parsed.ancestors(element.node):
        if isinstance(above, cst.FunctionDef):
            break
        turns = isinstance(above, cst.For) and set(target_names(above.target)) & set(element.environment)
        if isinstance(above, cst.For | cst.While) and (turns or isinstance(above, cst.While)):
            found.append(above)
    return found[::-1]


def _bound(
    element: Element, loops: Sequence[cst.For | cst.While]
) -> tuple[set[str], dict[str | None, cst.BaseExpression]]:
    """The names that count turns, and those that walk a table, with the table."""
    numbers: set[str] = set()
    tables: dict[str | None, cst.BaseExpression] = {}
    pairs: list[tuple[cst.BaseExpression, cst.BaseExpression]] = [
        (one.target, one.iter) for one in loops if isinstance(one, cst.For)
    ]
    for above in element.at.module.parsed.ancestors(element.node):
        level = above.for_in if isinstance(above, cst.ListComp | cst.GeneratorExp) else None
        while level is not None:
            pairs.append((level.target, level.iter))
            level = level.inner_for_in
    for target, walked in pairs:
        _bind(target, walked, numbers, tables)
    return numbers, tables


def _bind(
    target: cst.BaseExpression,
    walked: cst.BaseExpression,
    numbers: set[str],
    tables: dict[str | None, cst.BaseExpression],
) -> None:
    name = dotted(walked.func) if isinstance(walked, cst.Call) else None
    if isinstance(walked, cst.Call) and name == "range":
        numbers.update(target_names(target))
    elif isinstance(walked, cst.Call) and name == "enumerate" and isinstance(target, cst.Tuple) and walked.args:
        numbers.update(target_names(target.elements[0].value))
        _bind(target.elements[-1].value, walked.args[0].value, numbers, tables)
    elif isinstance(walked, cst.Call) and name == "zip" and isinstance(target, cst.Tuple):
        for each, arg in zip(target.elements, walked.args, strict=False):
            _bind(each.value, arg.value, numbers, tables)
    elif isinstance(target, cst.Name):
        tables[target.value] = walked


def _differs_by_place(project: Project, elements: Sequence[Element]) -> str | None:
    """Why elements that several expressions build are not all alike."""
    if len(elements) < 2:
        return None
    kinds = [element_class(project, one) for one in elements]
    if any(isinstance(one, Mixed) for one in kinds):
        return None if len(elements) == 1 else "the layers are of different classes"
    known = [one for one in kinds if isinstance(one, ElementClass)]
    if len({one.name for one in known}) > 1:
        return "the layers are of different classes"
    calls = [(one, one.node) for one in elements if isinstance(one.node, cst.Call)]
    for element, call in calls[1:]:
        first = calls[0][1]
        if not first.func.deep_equals(call.func):
            return "the layers are built by different calls"
        mine, theirs = ({_slot(call, arg): arg for arg in call.args} for call in (first, call))
        for slot in dict.fromkeys([*mine, *theirs]):
            pair = [calls_args.get(slot) for calls_args in (mine, theirs)]
            if not _alike(project, element, pair, slot):
                return f"layers are built with different values of `{slot}`"
    return None


def _slot(call: cst.Call, arg: cst.Arg) -> str:
    return arg.keyword.value if arg.keyword is not None else f"argument {call.args.index(arg)}"


def _alike(project: Project, element: Element, pair: Sequence[cst.Arg | None], slot: str) -> bool:
    if all(one is None or is_keys(project, element.at, one.value) for one in pair):
        return True
    one, other = pair
    if one is not None and other is not None and one.value.deep_equals(other.value):
        return True
    return any(one is not None and is_rate(slot if one.keyword is not None else "", one.value) for one in pair)


def _reads(node: cst.CSTNode, names: frozenset[str]) -> bool:
    return any(isinstance(one, cst.Name) and one.value in names for one in _nodes(node))


def _nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _nodes(child)
