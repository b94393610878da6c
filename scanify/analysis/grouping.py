"""Whether layers are equal only in parts: after peeling an end, by period, or in runs. This makes a loop a group.

It is said where the source shows one of these, whether the loop can be rewritten or not:

- state: an `equinox.nn.State`, whose index differs by layer, goes through the layers beside their outputs;
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

from scanify.analysis.answers import Built, Elsewhere
from scanify.analysis.blocks import blocks
from scanify.analysis.children import children, nodes_in
from scanify.analysis.classify import Found, element_annotation
from scanify.analysis.container import annotated_class
from scanify.analysis.elements import Element, ElementClass, element_class
from scanify.analysis.header import Header
from scanify.analysis.layer_class import class_with_state, holds_state, state_of_any, state_of_its_own
from scanify.analysis.names import flow, target_names
from scanify.analysis.parts import differ_in_parts, reads_names
from scanify.analysis.project import Project, dotted
from scanify.analysis.where import Where


def parted(
    project: Project, at: Where, head: Header, found: Found, loop: cst.For, carry: Sequence[str] = ()
) -> str | None:
    """Why the layers of a loop are equal only in parts; None where nothing shows that."""
    layer = dotted(found.part.target) or ""
    return (
        _state(project, at, found, carry)
        or branching(loop.body, head, layer, frozenset(carry))
        or (found.several or None)
        or (_built_in_parts(project, found) if found.several is None else None)
    )


def parted_elements(project: Project, elements: Sequence[Element]) -> str | None:
    """Why layers that are built here are equal only in parts; None where nothing shows that."""
    kinds = [element_class(project, one) for one in elements]
    stateful = [state_of_its_own(project, one) for one in kinds if isinstance(one, ElementClass)]
    return next((one for one in stateful if one is not None), None) or differ_in_parts(project, elements)


# -- state --------------------------------------------------------------------------------------------------------


def _state(project: Project, at: Where, found: Found, carry: Sequence[str]) -> str | None:
    if len(carry) == 1 and _no_state(project, at, carry[0]):
        return None  # what keeps state in a layer is then not used
    own = state_of_any(project, found.kinds)
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


def _no_state(project: Project, at: Where, name: str) -> bool:
    """Whether a carry by that name is not said to be a state: the layers' outputs alone."""
    param = at.parameter(name)
    annotation = param.annotation if param is not None else None
    return annotation is None or not holds_state(project, at, annotation.annotation)


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
    for node in nodes_in(body):
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
        ) and (reads_names(test, index))
    if isinstance(test, cst.BinaryOperation):
        return isinstance(test.operator, cst.Modulo) and reads_names(test, index)
    return any(_compares(child, index) for child in children(test) if not isinstance(test, cst.Call | cst.Subscript))


def _hands_on(node: cst.If, carry: frozenset[str]) -> bool:
    """Whether a branch changes a value that goes from layer to layer, or leaves the loop."""
    bound = flow([node]).bound
    return bool(carry.intersection(bound)) or any(
        isinstance(one, cst.Return | cst.Break | cst.Continue) for one in blocks([node])
    )


# -- how the elements are built -----------------------------------------------------------------------------------


def _built_in_parts(project: Project, found: Found) -> str | None:
    lists = [found.layers.answer, *(one.answer for one in found.handed)]
    built = [each for one in lists if isinstance(one, Built) for each in (one, *one.others)]
    reasons = (differ_in_parts(project, _walked(one.elements, found)) for one in built)
    return next((reason for reason in reasons if reason is not None), None)


def _walked(elements: Sequence[Element], found: Found) -> Sequence[Element]:
    """The elements that a loop over a slice walks: `[:-1]` leaves a last one out, that is built by itself."""
    cuts = (one for one in nodes_in(found.part.whole) if isinstance(one, cst.Subscript))
    part = next((one for one in cuts if one.value is found.part.source), None)
    if part is None or len(part.slice) != 1:
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
