"""The lists that the project hands to a class or a function: what each call of it gives for one parameter or field."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from scanify.analysis.answers import Answer, DictOf, Elsewhere, LayerList, Unclear
from scanify.analysis.blocks import blocks
from scanify.analysis.children import all_of
from scanify.analysis.classes import bases, lineage, method
from scanify.analysis.container import container
from scanify.analysis.layers import list_value
from scanify.analysis.names import body_of
from scanify.analysis.project import Definition, Project, dotted
from scanify.analysis.where import Where, where

_MAX_CALLS = 40


@dataclass(frozen=True, eq=False)
class Handed:
    """What one call gives: the expression, where it stands, and the list that it is as far as the source shows.

    `own` says that a static or class method of the very class makes the instance.
    """

    value: cst.BaseExpression
    at: Where
    answer: Answer
    own: bool


def handed_in(project: Project, layers: LayerList, depth: int = 0) -> list[Handed]:
    """What the calls in the given files hand in for a list that comes from elsewhere; nothing where one cannot be read.

    The list may come from still elsewhere: then its answer says so.
    """
    answer = layers.answer
    if not isinstance(answer, Elsewhere) or answer.name is None or depth > 1:
        return []
    if layers.owner is not None:
        calls = _constructions(project, layers.owner)
        names = _parameters(project, layers.owner)
    elif answer.at.function is not None and answer.at.owner is None and len(answer.at.functions) == 1:
        function = Definition(answer.at.module, answer.at.function)
        calls = ((call, at, False) for call, at in _calls_by_name(project, function))
        names = _names_of(answer.at.function.params)
    else:
        return []
    found: list[Handed] = []
    for call, at, own in calls:
        value = _argument(call, answer.name, names)
        if value is None or len(found) >= _MAX_CALLS:
            return []
        given = _list(project, at, value)
        if layers.of_dict:
            given = (
                given.values if isinstance(given, DictOf) else Unclear("what is handed in is not shown to be a dict")
            )
        found.append(Handed(value, at, given, own))
    return found


def _list(project: Project, at: Where, value: cst.BaseExpression) -> Answer:
    if dotted(value) is not None:
        return container(project, at, value).answer
    return list_value(project, at, value)


def _constructions(project: Project, owner: Definition) -> Iterator[tuple[cst.Call, Where, bool]]:
    """The calls that make instances of a class, or of classes that inherit its constructor."""
    for call, at in _calls_by_name(project, owner):
        yield call, at, _makes_itself(at, owner)
    for function in body_of(owner.node.body) if isinstance(owner.node, cst.ClassDef) else ():
        if isinstance(function, cst.FunctionDef) and _decorated(function, "classmethod"):
            first = function.params.params[:1]
            at = Where(owner.module, (function,), owner)
            for call in all_of(cst.Call, function.body):
                if first and dotted(call.func) == first[0].name.value:
                    yield call, at, True
    mine = method(project, owner, "__init__")
    if mine is None:
        return
    for module in project.given_with("super().__init__"):
        for call in all_of(cst.Call, module.parsed.module):
            if not _calls_super(call):
                continue
            at = where(module, call)
            known = bases(project, at.owner) if at.owner is not None else []
            inherited = [method(project, one, "__init__") for one in known if isinstance(one, Definition)]
            if inherited and inherited[0] is not None and inherited[0][1] is mine[1]:
                yield call, at, False


def _calls_super(call: cst.Call) -> bool:
    func = call.func
    return (
        isinstance(func, cst.Attribute)
        and func.attr.value == "__init__"
        and isinstance(func.value, cst.Call)
        and dotted(func.value.func) == "super"
    )


def _makes_itself(at: Where, owner: Definition) -> bool:
    outer = at.functions[-1] if at.functions else None
    if outer is None or at.owner is None or at.owner.node is not owner.node:
        return False
    return _decorated(outer, "staticmethod") or _decorated(outer, "classmethod")


def _decorated(function: cst.FunctionDef, name: str) -> bool:
    return any(dotted(one.decorator) == name for one in function.decorators)


def _calls_by_name(project: Project, definition: Definition) -> Iterator[tuple[cst.Call, Where]]:
    """The calls in the given files of a class or function by its name, and of classes that add no constructor to it."""
    for module in project.given_with(definition.name):
        for call in all_of(cst.Call, module.parsed.module):
            name = dotted(call.func)
            if name is None or name.rpartition(".")[2] != definition.name:
                continue
            at = where(module, call)
            if name.partition(".")[0] in at.locals:
                continue
            meaning = project.resolve(module, name)
            if isinstance(meaning, Definition) and meaning.node is definition.node:
                yield call, at


def _parameters(project: Project, owner: Definition) -> Sequence[str]:
    """The names of what a constructor is given in order: its parameters, or the fields of a dataclass."""
    found = method(project, owner, "__init__")
    if found is not None:
        return _names_of(found[1].params)[1:]
    names: dict[str, None] = {}
    for one in reversed(lineage(project, owner)):
        assert isinstance(one.node, cst.ClassDef)
        for statement in blocks(body_of(one.node.body)):
            if isinstance(statement, cst.AnnAssign) and isinstance(statement.target, cst.Name):
                names.setdefault(statement.target.value)
    return list(names)


def _names_of(params: cst.Parameters) -> Sequence[str]:
    return [one.name.value for one in (*params.posonly_params, *params.params)]


def _argument(call: cst.Call, name: str, names: Sequence[str]) -> cst.BaseExpression | None:
    """What a call gives for a parameter; None where that cannot be read off it."""
    for position, arg in enumerate(call.args):
        if arg.star:
            return None
        if arg.keyword is not None and arg.keyword.value == name:
            return arg.value
        if arg.keyword is None and position < len(names) and names[position] == name:
            return arg.value
    return None
