"""Code that asks which object it has: in a scan every layer, carry and xs is one tracer for all turns of the loop."""

from collections.abc import Iterator, Sequence

import libcst as cst

from scanify.analysis.calls import Problem
from scanify.analysis.children import nodes_in
from scanify.analysis.code import code_of
from scanify.analysis.names import body_of, parameter_names
from scanify.analysis.project import Project, dotted
from scanify.analysis.where import Where, builtin_called

_NUMBER_TYPES = frozenset("int float bool complex Number Integral Real ndarray generic".split())


def identity_problems(
    project: Project, at: Where, statements: Sequence[cst.CSTNode], layers: frozenset[str], own: frozenset[str]
) -> list[Problem]:
    """Comparisons and calls in a body whose answer is another one in a scan.

    `own` are the names that the loop binds: objects of the loop's turns.
    """
    found: list[Problem] = []
    for node in nodes_in(*statements):
        match node:
            case cst.Comparison():
                found.extend(_comparison(node, layers, own))
            case cst.Call() if _tells_apart(project, at, node, layers, own):
                found.append(_problem(node))
            case _:
                pass
    return found


def compared(nodes: Sequence[cst.CSTNode], names: frozenset[str], *, pairs: bool = False) -> cst.CSTNode | None:
    """The first place in some code that asks which object one of `names` is: a stack makes its layers anew.

    With `pairs` a name may stand for a tuple with a layer in it, as in `pair[0] is first`.
    """

    def named(node: cst.CSTNode) -> str | None:
        return dotted(node.value if pairs and isinstance(node, cst.Subscript) else node)

    for node in nodes_in(*nodes):
        if isinstance(node, cst.Comparison):
            sides = {named(one) for one in (node.left, *(target.comparator for target in node.comparisons))}
            if sides & names and "None" not in sides:
                return node
        asked = node.args if isinstance(node, cst.Call) and dotted(node.func) == "id" else ()
        if any(named(arg.value) in names for arg in asked):
            return node
    return None


def asks_which(project: Project, inside: Where, function: cst.FunctionDef) -> Iterator[str]:
    """Where a function asks which object it is given: `layer is self.layers[0]`, not `kind is None`, `kind is KIND`."""
    given = parameter_names(function.params) - {inside.self_name}
    for node in nodes_in(*body_of(function.body)):
        if isinstance(node, cst.Comparison):
            sides = [node.left, *(target.comparator for target in node.comparisons)]
            same = all(isinstance(target.operator, cst.Is | cst.IsNot) for target in node.comparisons)
            if same and any(dotted(one) in given for one in sides) and any(_is_made(inside, one) for one in sides):
                yield code_of(node)
        elif isinstance(node, cst.Call) and builtin_called(project, inside, node) == "id":
            yield code_of(node)


def _is_made(inside: Where, node: cst.BaseExpression) -> bool:
    """Whether an expression may be an object of one turn: it hangs on a parameter or a local name by more than that."""
    name = dotted(node)
    if name is None:
        return not isinstance(node, cst.BaseNumber | cst.BaseString)
    return "." in name and name.partition(".")[0] in inside.locals


def _tells_apart(project: Project, at: Where, node: cst.Call, layers: frozenset[str], own: frozenset[str]) -> bool:
    name = builtin_called(project, at, node)
    given = dotted(node.args[0].value) if node.args else None
    if given not in own:
        return False
    if name == "isinstance":
        return len(node.args) == 2 and _number_type(node.args[1].value)
    return name in ("id", "hash") or (name == "type" and given not in layers)


def _comparison(node: cst.Comparison, layers: frozenset[str], own: frozenset[str]) -> Iterator[Problem]:
    left = node.left
    for target in node.comparisons:
        right = target.comparator
        sides = (dotted(left), dotted(right))
        same = isinstance(target.operator, cst.Is | cst.IsNot)
        # What is None is so in every turn, or the scan says that the structure differs.
        if "None" not in sides and ((same and own & set(sides)) or layers & set(sides)):
            yield _problem(node)
        left = right


def _problem(node: cst.CSTNode) -> Problem:
    text = code_of(node)
    return Problem("SCN208", f"`{text}` tells the turns of the loop apart, which are one in a scan", node)


def _number_type(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Tuple):
        return any(_number_type(element.value) for element in node.elements)
    if isinstance(node, cst.BinaryOperation):
        return _number_type(node.left) or _number_type(node.right)
    return (dotted(node) or "").rpartition(".")[2] in _NUMBER_TYPES
