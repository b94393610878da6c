"""Elements that are tuples or lists of layers: `(Attention(...), MLP(...))`, `[Block(...) for _ in range(2)]`."""

import libcst as cst

from scanify.analysis.answers import Built
from scanify.analysis.children import children
from scanify.analysis.elements import Element, ElementClass, Mixed, element_class
from scanify.analysis.keys import first_culprit
from scanify.analysis.layers import list_value, local_list
from scanify.analysis.project import Project, dotted
from scanify.analysis.where import assignments

_MAX_DEPTH = 3
_CONSTANTS = ("None", "True", "False")


def members(project: Project, element: Element) -> tuple[Element, ...]:
    """The elements of the tuple or list that an element makes; none where it makes none, or the source shows none."""
    answer = (
        local_list(project, element.at, element.node.value)
        if isinstance(element.node, cst.Name)
        else list_value(project, element.at, element.node)
    )
    if not isinstance(answer, Built):
        return ()
    return tuple(each for one in (answer, *answer.others) for each in one.elements)


def member_classes(project: Project, element: Element, depth: int = 0) -> tuple[ElementClass | None, ...]:
    """The classes of what a tuple or list that an element makes holds, at any depth; None for what is not shown to be a
    module and may be a function. What is surely neither is left out."""
    found: list[ElementClass | None] = []
    for one in members(project, element) if depth < _MAX_DEPTH else ():
        made = Element(_made(one), one.at)
        answer = element_class(project, made)
        if isinstance(answer, ElementClass):
            found.append(answer)
        elif isinstance(answer, Mixed):
            found.extend(answer.classes)
        elif not isinstance(made.node, cst.BaseNumber | cst.BaseString) and dotted(made.node) not in _CONSTANTS:
            found.extend(member_classes(project, made, depth + 1) or (None,))
    return tuple(found)


def _made(element: Element) -> cst.BaseExpression:
    """`attn = Attention(...)`, then `(attn, mlp)`: the element is the call."""
    if not isinstance(element.node, cst.Name):
        return element.node
    made = assignments(element.at.body(), element.node.value)
    value = made[0].value if len(made) == 1 and isinstance(made[0], cst.Assign) else None
    return value if isinstance(value, cst.Call | cst.IfExp | cst.Lambda) else element.node


def varied_member(project: Project, element: Element, depth: int = 0) -> str | None:
    """A value that differs from one tuple or list to the next beside keys, and that its members are built with."""
    if not isinstance(element.node, cst.Name):
        found = first_culprit(project, element.at, children(element.node), element.environment)
        if found is not None:
            return found
    for one in members(project, element) if depth < _MAX_DEPTH else ():
        node = _made(one)
        if node is not element.node:
            found = varied_member(project, Element(node, one.at, element.environment, element.repeated), depth + 1)
            if found is not None:
                return found
    return None
