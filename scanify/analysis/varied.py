"""How the arguments of a layer's constructor vary from layer to layer: as rates do, by a condition, or otherwise."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import libcst as cst

from scanify.analysis.blocks import blocks
from scanify.analysis.children import nodes_in
from scanify.analysis.code import code_of
from scanify.analysis.elements import Element
from scanify.analysis.keys import Variety, culprit
from scanify.analysis.names import body_of
from scanify.analysis.project import Module, Project, dotted
from scanify.analysis.where import assignments

_RATE = re.compile(r"drop|prob|^(?!.*dilation).*rate|dpr|(^|_)(p|sd|eps)($|_)", re.IGNORECASE)
_LABEL = re.compile(r"(^|_)(i|idx|index|id|layer|number|name)($|_)", re.IGNORECASE)

_LONG = 40


class How(Enum):
    """NUMBER: layers of one structure (a rate, a number, a name). CHOICE: a condition picks, so that some are alike.
    OTHERWISE: nothing says that any two are alike."""

    NUMBER = "number"
    CHOICE = "choice"
    OTHERWISE = "otherwise"


@dataclass(frozen=True, eq=False)
class Varied:
    """An argument that differs between layers, otherwise than as a key does.

    `arg` is it with its keyword, None for the class itself. `rate` says that it is a number that layers compute with
    and that their shapes do not depend on. `made` is what a name is assigned in the loops.
    """

    how: How
    node: cst.BaseExpression
    name: str
    arg: cst.Arg | None = None
    rate: bool = False
    made: tuple[cst.BaseExpression, ...] = ()
    flag: bool = False

    @property
    def text(self) -> str:
        """The argument, or of a long one the name through which it varies."""
        code = code_of(self.node)
        return code if len(code) < _LONG and "\n" not in code else self.name


def varied(project: Project, element: Element, loops: Sequence[cst.For | cst.While]) -> list[Varied]:
    """The arguments of an element's constructor that vary; `loops` are those that append it, the innermost last."""
    call = element.node
    if not isinstance(call, cst.Call):
        return []
    changed = _changed(loops)
    environment = {**element.environment, **dict.fromkeys(changed, Variety.VALUE)}
    element = Element(call, element.at, environment, element.repeated)
    found = []
    for arg in call.args:
        name = culprit(project, element.at, arg.value, environment)
        if name is not None:
            keyword = arg.keyword.value if arg.keyword is not None else ""
            made = tuple(one.value for one in _made(arg.value, loops))
            rate = any(is_rate(keyword, value) for value in (arg.value, *made))
            how = _how(project, element, keyword, arg.value, loops)
            found.append(Varied(how, arg.value, name, arg, rate, made, _is_flag(project, element, arg.value, loops)))
    name = culprit(project, element.at, call.func, environment)
    if name is not None:
        found.append(Varied(How.OTHERWISE, call.func, name))
    return found


def _how(
    project: Project, element: Element, keyword: str, node: cst.BaseExpression, loops: Sequence[cst.For | cst.While]
) -> How:
    statements = _made(node, loops)
    made = [one.value for one in statements]
    for value in (node, *made):
        if any(_chooses(project, element, one) for one in nodes_in(value)):
            return How.CHOICE
    if any(_on_a_choice(project, element, one, loops) for one in statements):
        return How.CHOICE
    if any(is_rate(keyword, value) for value in (node, *made)):
        return How.NUMBER
    name = _last_name(node)
    plain = isinstance(node, cst.Name | cst.FormattedString | cst.SimpleString)
    if plain and (_LABEL.search(keyword) or (_LABEL.search(name) and not made)):
        return How.NUMBER
    return How.OTHERWISE


def _is_flag(
    project: Project, element: Element, node: cst.BaseExpression, loops: Sequence[cst.For | cst.While]
) -> bool:
    statements = _made(node, loops)
    inside = nodes_in(node, *(one.value for one in statements))
    decided = [isinstance(one, cst.Comparison) for one in inside if _chooses(project, element, one)]
    return any(decided) and all(decided) and not any(_on_a_choice(project, element, one, loops) for one in statements)


def is_rate(keyword: str, node: cst.BaseExpression) -> bool:
    """Whether an argument is a rate, by its name or because it is surely a fraction."""
    named = _RATE.search(keyword) or _RATE.search(_last_name(node))
    return bool(named) or _fraction(node)


def _last_name(node: cst.BaseExpression) -> str:
    return (dotted(node.value if isinstance(node, cst.Subscript) else node) or "").rpartition(".")[2]


def _made(node: cst.BaseExpression, loops: Sequence[cst.For | cst.While]) -> list[cst.Assign]:
    """Where a name is assigned in the loops: `rate = 0.1 * i / n` before `Block(rate)`."""
    name = dotted(node)
    found = [one for loop in loops for one in assignments(body_of(loop.body), name)] if name is not None else []
    return [one for one in found if isinstance(one, cst.Assign)]


def _on_a_choice(
    project: Project, element: Element, statement: cst.CSTNode, loops: Sequence[cst.For | cst.While]
) -> bool:
    """Whether a statement in the loops runs only in some turns of them: `if i == 0: stride = 2`."""
    for above in element.at.module.parsed.ancestors(statement):
        if above in loops:
            return False
        if isinstance(above, cst.If) and _varies(project, element, above.test):
            return True
    return False


def _chooses(project: Project, element: Element, node: cst.CSTNode) -> bool:
    """Whether a condition or a remainder that depends on the layer decides here."""
    if isinstance(node, cst.IfExp):
        return _varies(project, element, node.test)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
        return _varies(project, element, node)
    return isinstance(node, cst.Comparison) and _varies(project, element, node)


def _varies(project: Project, element: Element, node: cst.CSTNode) -> bool:
    return culprit(project, element.at, node, element.environment) is not None


def _fraction(node: cst.CSTNode) -> bool:
    """Whether an expression is surely a float: it divides, or holds a float literal, and is not made an int."""
    if isinstance(node, cst.Call) and dotted(node.func) in ("int", "round"):
        return False
    for one in nodes_in(node):
        if isinstance(one, cst.Float) or (
            isinstance(one, cst.BinaryOperation) and isinstance(one.operator, cst.Divide)
        ):
            return True
    return False


def _changed(loops: Sequence[cst.For | cst.While]) -> set[str]:
    """The names whose objects the loops change: `config.stride = 1`, `stage.append(...)`."""
    found: set[str] = set()
    for loop in loops:
        for statement in blocks(body_of(loop.body)):
            for target in _stored(statement):
                node: cst.CSTNode = target
                while isinstance(node, cst.Attribute | cst.Subscript):
                    node = node.value
                if node is not target and isinstance(node, cst.Name):
                    found.add(node.value)
    return found - {"self"}


def _stored(statement: cst.CSTNode) -> list[cst.BaseExpression]:
    match statement:
        case cst.Assign():
            return [one.target for one in statement.targets]
        case cst.AugAssign() | cst.AnnAssign():
            return [statement.target]
        case cst.Expr(value=cst.Call(func=cst.Attribute() as method)):
            return [method]
        case _:
            return []


def loops_around(module: Module, element: Element, outside: cst.CSTNode) -> list[cst.For | cst.While]:
    """The loops that an element is made in and that `outside` is not in, the innermost last."""
    around = module.parsed.ancestors(outside)
    above = module.parsed.ancestors(element.node)
    return [one for one in reversed(above) if isinstance(one, cst.For | cst.While) and one not in around]
