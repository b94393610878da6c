"""How many layers a list has, where the source says so in numbers."""

import libcst as cst

from scanify.analysis.answers import Built
from scanify.analysis.classify import Found
from scanify.analysis.elements import Element
from scanify.analysis.names import target_names
from scanify.analysis.project import dotted

FEW = 3  # fewer layers than these gain nothing


def few_layers(found: Found) -> bool:
    """Whether the source shows fewer than three layers: written out, or made in as few turns of a loop."""
    return _written_few(found) or turns_few(found)


def turns_few(found: Found) -> bool:
    """Whether the only layers of a list are made in fewer than three turns: `range(2)`, `split(key, 2)`, `(a, b)`."""
    answer = found.layers.answer
    if not isinstance(answer, Built) or len(answer.elements) != 1 or answer.others:
        return False
    element = answer.elements[0]
    walked = _walked(element)
    return element.repeated and len(walked) == 1 and _few_turns(walked[0])


def _written_few(found: Found) -> bool:
    answer = found.layers.answer
    if not isinstance(answer, Built) or any(element.repeated for element in answer.elements):
        return False
    return len(answer.elements) < FEW


def _walked(element: Element) -> list[cst.BaseExpression | None]:
    """What the loops walk that make an element; None for one that asks a condition."""
    found: list[cst.BaseExpression | None] = []
    for above in element.at.module.parsed.ancestors(element.node):
        if isinstance(above, cst.FunctionDef):
            break
        if isinstance(above, cst.While):
            found.append(None)
        elif isinstance(above, cst.For) and set(target_names(above.target)) & set(element.environment):
            found.append(above.iter)
        level = above.for_in if isinstance(above, cst.ListComp | cst.GeneratorExp | cst.DictComp) else None
        while level is not None:
            found.append(level.iter)
            level = level.inner_for_in
    return found


def _few_turns(walked: cst.BaseExpression | None) -> bool:
    if isinstance(walked, cst.Tuple | cst.List):
        starred = any(isinstance(one, cst.StarredElement) for one in walked.elements)
        return not starred and len(walked.elements) < FEW
    if not isinstance(walked, cst.Call) or not walked.args:
        return False
    name, last = (dotted(walked.func) or "").rpartition(".")[2], walked.args[-1].value
    if name in ("enumerate", "zip"):
        return any(_few_turns(arg.value) for arg in walked.args)
    alone = name == "split" or (name == "range" and len(walked.args) == 1)
    return alone and isinstance(last, cst.Integer) and last.evaluated_value < FEW
