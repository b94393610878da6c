"""What a loop's carries are before the first layer: nothing yet, Python numbers, arrays of numpy."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from scanify.analysis.asked import tests_in
from scanify.analysis.blocks import blocks
from scanify.analysis.children import children
from scanify.analysis.effects import Problem
from scanify.analysis.growth import growths
from scanify.analysis.keys import key_name, qualified
from scanify.analysis.names import Names, body_of, parameter_names
from scanify.analysis.project import Project, dotted
from scanify.analysis.tails import last_of
from scanify.analysis.where import Where, assignments, builtin_called, matched

_CARRIED = "that goes from layer to layer, and the body asks for its value"
_NUMBER_TYPES = frozenset("int float bool complex".split())
_NUMBER_MAKERS = frozenset("len int float bool complex abs round sum ord".split())


def starts(at: Where, loop: cst.For, carry: Sequence[str], names: Names) -> list[Problem]:
    """Carries that have no value, or no array, before the first layer."""
    problems = []
    for name in carry:
        node = names.exposed[name]
        if not _defined_before(at, loop, name):
            problems.append(Problem("SCN210", f"`{name}` has no value before the loop", node))
            continue
        if any(map(_is_empty, values_before(at, loop, name)[-1:])):
            problems.append(Problem("SCN206", f"`{name}` starts empty and grows with every layer", node))
    return problems


def starts_otherwise(at: Where, loop: cst.CSTNode, carry: Sequence[str]) -> bool:
    """Whether a carry may be None before the first layer, or a string, or hold one or a number, and an array after it.

    A stack has one structure and dtype for all layers, a sequence of layers has not. A key that is None stays None.
    """
    for name in _sources(at, loop, carry):
        if key_name(name):
            continue
        parameter = at.parameter(name)
        if parameter is not None and parameter.default is not None and _otherwise(parameter.default):
            return True
        inside = assignments([loop], name)
        for statement in (one for one in assignments(at.body(), name) if one not in inside):
            values: list[cst.BaseExpression] = []
            if isinstance(statement, cst.Assign):
                values = [value for one in statement.targets for value in matched(one.target, statement.value, name)]
            elif isinstance(statement, cst.AnnAssign) and statement.value is not None:
                values = [statement.value]
            if any(_otherwise(one) for value in values for one in _seen_through(at, loop, value)):
                return True
    return False


def _otherwise(value: cst.BaseExpression, within: bool = False) -> bool:
    match value:
        case cst.IfExp():
            return _otherwise(value.body, within) or _otherwise(value.orelse, within)
        case cst.Tuple() | cst.List():
            return any(_otherwise(one.value, within=True) for one in value.elements)
        case cst.Dict():
            return any(_otherwise(one.value, within=True) for one in value.elements)
        case cst.BaseNumber():
            return within
        case cst.BaseString():
            return True
        case _:
            return dotted(value) == "None"


def _defined_before(at: Where, loop: cst.For, name: str) -> bool:
    """Whether something outside of the loop may give a name its value before the first layer."""
    function = at.function
    if function is not None and name in parameter_names(function.params):
        return True
    start = at.module.parsed.span(loop).start
    around = any(isinstance(above, cst.For | cst.While) for above in at.module.parsed.ancestors(loop))
    inside = assignments([loop], name)
    for statement in assignments(at.body(), name):
        span = at.module.parsed.span(statement)
        holds = isinstance(statement, cst.For | cst.With) and span.start < start
        if statement is not loop and statement not in inside and (span.end <= start or holds or around):
            return True
    return False


def values_before(at: Where, loop: cst.CSTNode, name: str) -> list[cst.BaseExpression]:
    """The values that a name may be assigned before the loop, in source order; those of tuples by their place, and
    those of the last element of a list that is made here."""
    return [each for value in _given(at, loop, name) for each in _seen_through(at, loop, value)]


def _given(at: Where, loop: cst.CSTNode, name: str) -> list[cst.BaseExpression]:
    start = at.module.parsed.span(loop).start
    found: list[cst.BaseExpression] = []
    for statement in assignments(at.body(), name):
        if at.module.parsed.span(statement).end > start:
            continue
        if isinstance(statement, cst.Assign):
            for target in statement.targets:
                found.extend(matched(target.target, statement.value, name))
        elif isinstance(statement, cst.AnnAssign | cst.AugAssign) and statement.value is not None:
            found.append(statement.value)
    return found


def _seen_through(at: Where, loop: cst.CSTNode, value: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The values that `hidden[-1]` may have where a list is made or added to above a loop; others as they are."""
    listed = last_of(value)
    if listed is None:
        return [value]
    start = at.module.parsed.span(loop).start
    # Not `values_before`: in `x = x[-1]` the list is the name itself.
    made = [one for one in _given(at, loop, listed) if isinstance(one, cst.List | cst.Tuple)]
    if not made:
        return [value]
    elements = [one.elements[-1].value for one in made if one.elements]
    for growth in growths(body_of(at.function.body) if at.function is not None else ()).get(listed, ()):
        if at.module.parsed.span(growth.node).end <= start:
            elements += growth.values[-1:]
    return elements or [value]


def _sources(at: Where, loop: cst.CSTNode, carry: Sequence[str]) -> list[str]:
    """The carries, and the names whose values those of them begin with that are the last elements of lists."""
    found = list(carry)
    for name in carry:
        begins = [value for value in _given(at, loop, name) if last_of(value) is not None]
        found += [one.value for value in begins for one in _seen_through(at, loop, value) if isinstance(one, cst.Name)]
    return [name for name in dict.fromkeys(found) if name not in ("None", "True", "False")]


def start_obligations(project: Project, at: Where, loop: cst.CSTNode, carry: Sequence[str]) -> list[str]:
    """What a run must show of carries that a loop leaves Python numbers or numpy arrays, and a scan does not."""
    found = []
    for name in _sources(at, loop, carry):
        values = values_before(at, loop, name)
        found += _kept(project, at, name, values, number=_number_parameter(at, name))
    return found


def asked_for(project: Project, at: Where, loop: cst.For, carry: Sequence[str]) -> list[Problem]:
    """Carries that are Python numbers or flags, `seen += 1`, `first = False`, and of which the body needs the value."""
    return number_asked_for(loop.body, {name for name in carry if _starts_as_number(project, at, loop, name)})


def _starts_as_number(project: Project, at: Where, loop: cst.CSTNode, name: str) -> bool:
    for source in _sources(at, loop, (name,)):
        values = values_before(at, loop, source)
        if (values and _number(project, at, values[-1])) or _number_parameter(at, source):
            return True
    return False


def number_asked_for(body: cst.CSTNode, numbers: Container[str]) -> list[Problem]:
    """Where a body needs the value of one of some carries that begin as Python numbers."""
    return [
        Problem("SCN208", f"`{name}` is a Python number {_CARRIED}", test)
        for test in tests_in(body)
        for name in dict.fromkeys(_by_value(test))
        if name in numbers
    ]


def _by_value(test: cst.CSTNode) -> Iterator[str]:
    """The names in a condition that stand for their values: not `x` of `x.ndim`, or of `isinstance(x, tuple)`."""
    if isinstance(test, cst.Name):
        yield test.value
    plain = isinstance(test, cst.Comparison) and isinstance(test.comparisons[0].operator, cst.Is | cst.IsNot)
    if plain or isinstance(test, cst.Attribute | cst.Call | cst.Lambda):
        return
    for child in children(test):
        yield from _by_value(child)


def _kept(
    project: Project, at: Where, name: str, values: Sequence[cst.BaseExpression], *, number: bool = False
) -> list[str]:
    if number or any(_number(project, at, value) for value in values):
        return [f"`{name}` keeps its dtype, though it starts as a Python number"]
    if any(_numpy(project, at, value) for value in values):
        return [f"`{name}` keeps its dtype, though it starts as an array of numpy"]
    return []


@dataclass(frozen=True)
class Start:
    """What is known of the value that a fold begins with: whether it is `empty` and would grow, what a run must show of
    it, and whether it may be of `another` structure than what a layer gives, or shape: sums begin with a `number`."""

    empty: bool
    obligations: tuple[str, ...]
    another: bool
    number: bool


def start_of(project: Project, at: Where, node: cst.CSTNode, carry: str, start: cst.BaseExpression) -> Start:
    """The same questions of an expression that begins a fold, which the expression `node` is."""
    if isinstance(start, cst.Name) and start.value not in ("None", "True", "False"):
        empty = any(map(_is_empty, values_before(at, node, start.value)[-1:]))
        obligations = start_obligations(project, at, node, (start.value,))
        another = starts_otherwise(at, node, (start.value,)) or bool(obligations)
        return Start(empty, tuple(obligations), another, _starts_as_number(project, at, node, start.value))
    parts = [one.value for one in start.elements] if isinstance(start, cst.Tuple | cst.List) else []
    known = [start_of(project, at, node, carry, part) for part in parts]
    obligations = [*_kept(project, at, carry, [start]), *(text for one in known for text in one.obligations)]
    another = _otherwise(start) or bool(obligations) or any(one.another for one in known)
    number = _number(project, at, start) or any(one.number for one in known)
    return Start(_is_empty(start), tuple(dict.fromkeys(obligations)), another, number)


def _is_empty(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.List | cst.Tuple | cst.Dict) and not value.elements


def changed_in_place(
    project: Project, at: Where, loop: cst.For, carry: Sequence[str], statements: Sequence[cst.CSTNode]
) -> list[Problem]:
    """`h += layer(x)` where `h` is an array of numpy: whoever else holds the array sees it change."""
    found = []
    for statement in blocks(statements):
        name = dotted(statement.target) if isinstance(statement, cst.AugAssign) else None
        if name not in carry or name is None:
            continue
        if any(_numpy(project, at, value) for value in values_before(at, loop, name)) or _numpy_parameter(at, name):
            found.append(Problem("SCN207", f"`{name}` is an array of numpy, which is changed in place", statement))
    return found


def _number(project: Project, at: Where, value: cst.BaseExpression) -> bool:
    match value:
        case cst.BaseNumber():
            return True
        case cst.UnaryOperation():
            return _number(project, at, value.expression)
        case cst.BinaryOperation():
            return _number(project, at, value.left) and _number(project, at, value.right)
        case cst.IfExp():
            return _number(project, at, value.body) or _number(project, at, value.orelse)
        case cst.Call():
            name = qualified(project, at, value.func) or ""
            return builtin_called(project, at, value) in _NUMBER_MAKERS or name.startswith("math.")
        case _:
            name = dotted(value) or ""
            return name in ("True", "False") or (qualified(project, at, value) or "").startswith("math.")


def _number_parameter(at: Where, name: str) -> bool:
    parameter = at.parameter(name)
    if parameter is None:
        return False
    default = parameter.default
    if isinstance(default, cst.UnaryOperation):
        default = default.expression
    if isinstance(default, cst.BaseNumber) or (default is not None and dotted(default) in ("True", "False")):
        return True
    return _annotation(parameter) in _NUMBER_TYPES


def _annotation(parameter: cst.Param) -> str | None:
    if parameter.annotation is None:
        return None
    annotation = parameter.annotation.annotation
    if isinstance(annotation, cst.SimpleString) and isinstance(annotation.evaluated_value, str):
        return annotation.evaluated_value
    return dotted(annotation)


def _numpy(project: Project, at: Where, value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Call) and (qualified(project, at, value.func) or "").startswith("numpy.")


def _numpy_parameter(at: Where, name: str) -> bool:
    parameter = at.parameter(name)
    return parameter is not None and (_annotation(parameter) or "").rpartition(".")[2] == "ndarray"
