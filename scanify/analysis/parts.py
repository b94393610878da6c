"""How the elements of a list differ: in keys, rates and labels alone, or so that they are equal only in parts."""

from collections.abc import Sequence

import libcst as cst

from scanify.analysis.branched import argument_branches
from scanify.analysis.children import children
from scanify.analysis.elements import Element, ElementClass, Mixed, element_class, takes_key
from scanify.analysis.keys import is_keys
from scanify.analysis.names import target_names
from scanify.analysis.project import Project, dotted
from scanify.analysis.tables import of_rates, one_value, same_in_every_call
from scanify.analysis.varied import How, Varied, is_rate, varied


def reads_names(node: cst.CSTNode, names: frozenset[str]) -> bool:
    """Whether one of some names stands anywhere in a node."""
    if isinstance(node, cst.Name) and node.value in names:
        return True
    return any(reads_names(child, names) for child in children(node))


def differ_in_parts(project: Project, elements: Sequence[Element]) -> str | None:
    """Why layers that these expressions build are equal only in parts; None where nothing shows that."""
    for element in elements:
        found = differs_by_turn(project, element)
        if found is not None:
            return found
    return _differs_by_place(project, elements)


def differs_by_turn(project: Project, element: Element) -> str | None:
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


def differs_by_flags(project: Project, element: Element) -> bool:
    """Whether the layers that one expression builds in several turns are of two kinds at the most: all in which they
    differ beside keys, rates and labels are comparisons, `last=i == depth - 1`."""
    if not element.repeated or _choice(element) is not None:
        return False
    loops = _loops(element)
    kinds = [one for one in varied(project, element, loops) if _parts(project, element, one, loops)]
    return all(one.arg is not None and one.flag for one in kinds)


def own_size(project: Project, element: Element) -> str | None:
    """The argument of which every turn gives its own: from a table of sizes, or computed from the index."""
    if not element.repeated or _choice(element) is not None:
        return None
    loops = _loops(element)
    for one in varied(project, element, loops):
        if one.how is How.OTHERWISE and _parts(project, element, one, loops):
            return one.text
    return None


def _choice(element: Element) -> cst.BaseExpression | None:
    """The condition that chooses between what is built, or the class of it, where it varies from layer to layer."""
    node: cst.CSTNode = element.node
    while isinstance(node, cst.IfExp | cst.Call):
        if isinstance(node, cst.IfExp):
            if reads_names(node.test, frozenset(element.environment)):
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
    if one.arg.star:
        return False  # a configuration each: what is in it is not shown
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
        level = above.for_in if isinstance(above, cst.ListComp | cst.GeneratorExp | cst.DictComp) else None
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
    one, other = pair
    keyed = isinstance(element.node, cst.Call) and takes_key(element.node)
    if (slot == "key" or not keyed) and all(arg is None or is_keys(project, element.at, arg.value) for arg in pair):
        return True
    if one is not None and other is not None and one.value.deep_equals(other.value):
        return True
    return any(one is not None and is_rate(slot if one.keyword is not None else "", one.value) for one in pair)
