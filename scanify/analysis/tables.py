"""Tables that a constructor reads one value a layer from, and whether by default each layer gets the same."""

from collections.abc import Iterator

import libcst as cst

from scanify.analysis.children import all_of
from scanify.analysis.keys import is_keys
from scanify.analysis.project import Definition, Project, dotted
from scanify.analysis.varied import is_rate
from scanify.analysis.where import Where, assignments, builtin_called, where

_MAX_DEPTH = 5


def one_value(project: Project, at: Where, node: cst.BaseExpression, depth: int = 0) -> bool:
    """Whether a table repeats one value: `(width,) * n`, a part of such a table, or a name that may hold one.

    Where a function makes a table of a single number, each layer gets that number unless the caller says more.
    """
    if depth > _MAX_DEPTH:
        return False
    match node:
        case cst.BinaryOperation(operator=cst.Multiply()):
            sides = [one for one in (node.left, node.right) if isinstance(one, cst.List | cst.Tuple)]
            return bool(sides) and len(sides[0].elements) == 1
        case cst.Subscript():
            sliced = len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Slice)
            return sliced and one_value(project, at, node.value, depth + 1)
        case cst.ListComp() | cst.GeneratorExp():
            names = {one.value for one in all_of(cst.Name, node.for_in.target)}
            return not any(one.value in names for one in all_of(cst.Name, node.elt))
        case cst.Call() if builtin_called(project, at, node) in ("list", "tuple") and node.args:
            return one_value(project, at, node.args[0].value, depth + 1)
        case cst.IfExp():
            return any(one_value(project, at, one, depth + 1) for one in (node.body, node.orelse))
        case cst.Name():
            values = [one.value for one in assignments(at.body(), node.value) if isinstance(one, cst.Assign)]
            return any(one_value(project, at, value, depth + 1) for value in values)
        case _:
            return is_keys(project, at, node)


def of_rates(project: Project, at: Where, node: cst.BaseExpression, depth: int = 0) -> bool:
    """Whether a table is one of rates: what `linspace` gives, or fractions, or a name that holds such a table."""
    if depth > _MAX_DEPTH:
        return False
    match node:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="tolist" | "astype"))):
            return of_rates(project, at, inner, depth + 1)
        case cst.Call():
            if builtin_called(project, at, node) in ("list", "tuple") and node.args:
                return of_rates(project, at, node.args[0].value, depth + 1)
            return (dotted(node.func) or "").rpartition(".")[2] in ("linspace", "geomspace", "logspace")
        case cst.ListComp() | cst.GeneratorExp():
            return of_rates(project, at, node.for_in.iter, depth + 1) or is_rate("", node.elt)
        case cst.Subscript():
            return of_rates(project, at, node.value, depth + 1)
        case cst.Name():
            values = [one.value for one in assignments(at.body(), node.value) if isinstance(one, cst.Assign)]
            return bool(values) and all(of_rates(project, at, value, depth + 1) for value in values)
        case _:
            return False


def same_in_every_call(project: Project, at: Where, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    """Whether two parameters of a constructor are given the same by all calls in the project, and there are some."""
    names = (dotted(one), dotted(other))
    if at.owner is None or at.function is None or any(name is None or at.parameter(name) is None for name in names):
        return False
    calls = list(calls_of(project, at.owner))
    given = [[_given(call, name) for name in names] for call in calls]
    return bool(given) and all(
        mine is not None and theirs is not None and mine.deep_equals(theirs) for mine, theirs in given
    )


def _given(call: cst.Call, name: str | None) -> cst.BaseExpression | None:
    return next((arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)


def calls_of(project: Project, owner: Definition) -> Iterator[cst.Call]:
    """The calls in the given files that make an instance of exactly this class by its name."""
    for module in project.given_with(owner.name):
        for call in all_of(cst.Call, module.parsed.module):
            name = dotted(call.func)
            if name is None or name.rpartition(".")[2] != owner.name:
                continue
            if name.partition(".")[0] in where(module, call).locals:
                continue
            meaning = project.resolve(module, name)
            if isinstance(meaning, Definition) and meaning.node is owner.node:
                yield call
