"""Whether code branches on what a parameter is given: on the index of a layer, which then decides what the layer is."""

from collections.abc import Iterator, Sequence

import libcst as cst

from scanify.analysis.blocks import blocks
from scanify.analysis.children import children
from scanify.analysis.classes import lineage, method, methods
from scanify.analysis.names import body_of, target_names
from scanify.analysis.project import Definition, Project, dotted
from scanify.analysis.where import Where, method_where

_MAX_DEPTH = 4
_NUMERIC = frozenset("int float bool str max min abs round".split())


def argument_branches(project: Project, at: Where, call: cst.Call, arg: cst.Arg, depth: int = 0) -> bool:
    """Whether the class or function that a call calls branches on one of its arguments, as far as the source shows."""
    callee = _callee(project, at, call)
    if callee is None or depth > _MAX_DEPTH or arg.star:
        return False
    inside, owner = callee
    name = _parameter(inside, owner, call, arg)
    if name is None:
        return False
    if inside.function is None:
        return owner is not None and attribute_branches(project, owner, name)
    return parameter_branches(project, inside, owner, name, depth)


def parameter_branches(project: Project, inside: Where, owner: Definition | None, name: str, depth: int = 0) -> bool:
    """Whether a function branches on a parameter: itself, in what it calls, or in what reads an attribute it sets."""
    tainted = {name}
    for statement in blocks(inside.body()):
        if any(_asks(test, tainted) for test in decisions(statement)):
            return True
        if any(
            any(_mentions(arg.value, tainted) for arg in call.args)
            and any(
                argument_branches(project, inside, call, arg, depth + 1)
                for arg in call.args
                if _number(arg.value) and _mentions(arg.value, tainted)
            )
            for call in _calls(statement)
        ):
            return True
        for target, value in _stores(statement):
            if not _number(value) or not _mentions(value, tainted):
                continue
            tainted |= set(target_names(target))
            head, _, attribute = (dotted(target) or "").partition(".")
            own = owner is not None and head == inside.self_name and attribute
            if own and owner is not None and attribute_branches(project, owner, attribute):
                return True
    return False


def attribute_branches(project: Project, owner: Definition, attribute: str) -> bool:
    """Whether a method of a class branches on an attribute of the instance."""
    for home in lineage(project, owner):
        for function in methods(home):
            at = method_where(home, function)
            name = f"{at.self_name}.{attribute}"
            if at.self_name is None:
                continue
            for statement in blocks(body_of(function.body)):
                if any(_asks(test, {name}) for test in decisions(statement)):
                    return True
    return False


def decisions(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What one statement (without the blocks in it) decides by: conditions, remainders, what is looked up in a table.

    A condition that only leads to an error decides nothing.
    """
    if isinstance(statement, cst.Assert):
        return
    if isinstance(statement, cst.If):
        raised = [one for one in blocks(body_of(statement.body)) if not isinstance(one, cst.Expr)]
        if not raised or not all(isinstance(one, cst.Raise) for one in raised):
            yield statement.test
        return
    if isinstance(statement, cst.While):
        yield statement.test
        return
    if isinstance(statement, cst.Match):
        yield statement.subject
        return
    if isinstance(statement, cst.For):
        yield from _within(statement.iter)
        return
    if not isinstance(statement, cst.BaseCompoundStatement):
        yield from _within(statement)


def _within(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    match node:
        case cst.IfExp():
            yield node.test
        case cst.CompIf():
            yield node.test
        case cst.Comparison():
            yield node
        case cst.BinaryOperation(operator=cst.Modulo()) if not isinstance(node.left, cst.BaseString):
            yield node
        case cst.Subscript():
            yield from node.slice
        case cst.Call() if dotted(node.func) == "range":
            yield from node.args
        case _:
            pass
    for child in children(node):
        yield from _within(child)


def _asks(test: cst.CSTNode, names: set[str]) -> bool:
    """Whether a condition reads one of some names; what is only held against None is no number there."""
    if isinstance(test, cst.Comparison) and isinstance(test.comparisons[0].operator, cst.Is | cst.IsNot):
        return False
    if isinstance(test, cst.Name | cst.Attribute) and (dotted(test) or "") in names:
        return True
    if isinstance(test, cst.Attribute):
        return _asks(test.value, names)
    return any(_asks(child, names) for child in children(test) if not isinstance(test, cst.Arg) or child is test.value)


def _mentions(node: cst.CSTNode, names: set[str]) -> bool:
    return _asks(node, names)


def _number(node: cst.CSTNode) -> bool:
    """Whether an expression is made of names and operators alone, as a number is that another one gives."""
    if isinstance(node, cst.Call) and (dotted(node.func) or "") not in _NUMERIC:
        return False
    if isinstance(node, cst.List | cst.Tuple | cst.Dict | cst.ListComp | cst.Lambda):
        return False
    return all(_number(child) for child in children(node))


def _stores(statement: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    if isinstance(statement, cst.Assign):
        for target in statement.targets:
            yield target.target, statement.value
    elif isinstance(statement, cst.AnnAssign | cst.AugAssign) and statement.value is not None:
        yield statement.target, statement.value


def _calls(node: cst.CSTNode) -> Iterator[cst.Call]:
    if isinstance(node, cst.Call):
        yield node
    for child in children(node):
        if not isinstance(child, cst.BaseSuite):
            yield from _calls(child)


def _callee(project: Project, at: Where, call: cst.Call) -> tuple[Where, Definition | None] | None:
    """The inside of what a call runs, and the class it makes; no function where a dataclass takes its fields."""
    name = dotted(call.func)
    if name is None:
        return None
    head, _, last = name.rpartition(".")
    if at.owner is not None and head and head == at.self_name:
        found = method(project, at.owner, last)
        return (method_where(*found), at.owner) if found is not None else None
    for index, function in enumerate(at.functions):  # a local function that builds
        local = [one for one in blocks(body_of(function.body)) if isinstance(one, cst.FunctionDef)]
        made = next((one for one in local if one.name.value == name), None)
        if made is not None:
            return Where(at.module, (made, *at.functions[index:]), at.owner), None
    if name.partition(".")[0] in at.locals:
        return None
    meaning = project.resolve(at.module, name)
    if isinstance(meaning, Definition):
        if isinstance(meaning.node, cst.FunctionDef):
            return method_where(meaning, meaning.node), None
        found = method(project, meaning, "__init__")
        return (method_where(*found), meaning) if found is not None else (Where(meaning.module), meaning)
    owner = project.resolve(at.module, head) if head else None
    if isinstance(owner, Definition) and isinstance(owner.node, cst.ClassDef):
        found = method(project, owner, last)
        return (method_where(*found), owner) if found is not None else None
    return None


def _parameter(inside: Where, owner: Definition | None, call: cst.Call, arg: cst.Arg) -> str | None:
    """The name of the parameter that takes an argument."""
    if arg.keyword is not None:
        return arg.keyword.value
    if any(one.star for one in call.args[: call.args.index(arg)]):
        return None
    position = call.args.index(arg)
    if inside.function is None:
        names = _fields(owner) if owner is not None else []
    else:
        params = inside.function.params
        names = [one.name.value for one in (*params.posonly_params, *params.params)]
        if names and inside.self_name == names[0]:
            names = names[1:]
    return names[position] if position < len(names) else None


def _fields(owner: Definition) -> Sequence[str]:
    assert isinstance(owner.node, cst.ClassDef)
    found = [one for one in blocks(body_of(owner.node.body)) if isinstance(one, cst.AnnAssign)]
    return [one.target.value for one in found if isinstance(one.target, cst.Name)]
