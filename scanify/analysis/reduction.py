"""`functools.reduce(lambda x, layer: layer(x), layers, x)` as the loop that it is.

The loop stands nowhere in the file: `for layer in layers: x = layer(x)`, where the carry is the first parameter and the
layer the second. Of what `zip` and `enumerate` walk the function is given a tuple: where it takes that apart by number,
as in `pair[0](x, key=pair[1])`, its parts have names in the loop.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import libcst as cst

from scanify.analysis.children import all_of
from scanify.analysis.keys import is_keys
from scanify.analysis.project import Project, dotted
from scanify.analysis.taken import fresh, one_of
from scanify.analysis.walking_calls import Function, function_of, is_reduce, plain_names
from scanify.analysis.where import Where, builtin_called


@dataclass(frozen=True, eq=False)
class Reduction:
    """One call of `reduce`: `carry = update` in every turn of `loop`, which begins with `start`.

    Without a `start` the first layer is the carry. `function` is the one given by name, where it is no lambda.
    `problem` says why no loop says the same, though `loop` stands for it.
    """

    node: cst.Call
    loop: cst.For
    carry: str
    update: cst.BaseExpression
    start: cst.BaseExpression | None
    function: Function | None = None
    problem: str | None = None


def reduction(project: Project, at: Where, call: cst.Call) -> Reduction | None:
    """A call of `functools.reduce` as a loop; None for other calls, and where its function is not shown."""
    given = _given(call) if is_reduce(project, at, call) else None
    if given is None:
        return None
    function, walked, start = given
    columns = _columns(project, at, walked)
    used = set(_names(function))
    targets = _targets(project, at, columns, used) if columns is not None else None
    if not isinstance(function, cst.Lambda):
        return _by_name(call, function, function_of(project, at, function), walked, start, targets)
    names = plain_names(function.params)
    if names is None or len(names) != 2:
        return None
    carry, item = names[0].value, names[1].value
    if targets is None:
        return Reduction(call, _loop(names[1], walked, carry, function.body), carry, function.body, start)
    try:
        update = cast(cst.BaseExpression, function.body.visit(_Taker(item, [name.value for name in targets])))
    except cst.CSTValidationError:  # `x if pair[0]else y`
        return None
    problem = f"`{item}` is not only taken apart by number" if item in _names(update) else None
    return Reduction(call, _loop(_tuple(targets), walked, carry, update), carry, update, start, problem=problem)


def _by_name(
    call: cst.Call,
    name: cst.BaseExpression,
    function: Function | None,
    walked: cst.BaseExpression,
    start: cst.BaseExpression | None,
    targets: list[cst.Name] | None,
) -> Reduction | None:
    """`reduce(step, layers, x)`: each turn is `x = step(x, layer)`.

    A tuple that a function is given as a whole may be taken apart in ways that are not followed there.
    """
    if function is None:
        return None
    root = (dotted(name) or "").partition(".")[0]
    used = {root, *(one.value for one in targets or ())}
    carry = start.value if isinstance(start, cst.Name) and start.value not in used else fresh("carry", used)
    layer = cst.Name(fresh("layer", {root, carry}))
    given = layer if targets is None else _tuple(targets)
    update = cst.Call(name, [cst.Arg(cst.Name(carry)), cst.Arg(given.deep_clone())])
    problem = f"`{dotted(name)}` is given a tuple in every turn" if targets is not None else None
    return Reduction(call, _loop(given, walked, carry, update), carry, update, start, function, problem)


def _tuple(names: list[cst.Name]) -> cst.Tuple:
    return cst.Tuple([cst.Element(name) for name in names])


def _given(call: cst.Call) -> tuple[cst.BaseExpression, cst.BaseExpression, cst.BaseExpression | None] | None:
    """The function, what is walked and the value to begin with, which Python 3.14 takes by keyword too."""
    values = [arg.value for arg in call.args if arg.keyword is None]
    named = [arg for arg in call.args if arg.keyword is not None]
    if any(arg.star for arg in call.args) or any(arg.keyword.value != "initial" for arg in named if arg.keyword):
        return None
    values += [arg.value for arg in named]
    if len(values) not in (2, 3) or (named and len(values) == 2):
        return None
    return values[0], values[1], values[2] if len(values) == 3 else None


def _columns(project: Project, at: Where, walked: cst.BaseExpression) -> list[cst.BaseExpression | None] | None:
    """What `zip` walks side by side, and `enumerate` beside its numbers, for which there is None."""
    name = builtin_called(project, at, walked)
    if not isinstance(walked, cst.Call) or name not in ("zip", "enumerate") or not walked.args:
        return None
    if name == "enumerate":
        return [None, walked.args[0].value]
    return [arg.value for arg in walked.args if arg.keyword is None]


def _targets(project: Project, at: Where, columns: list[cst.BaseExpression | None], used: set[str]) -> list[cst.Name]:
    """A name for each column that stands for nothing else: `layer` for `self.layers`, `key` for `keys`, `i`."""
    found = []
    for column in columns:
        walked = dotted(column) if column is not None else None
        if column is None:
            name = "i"
        elif walked is not None:
            name = one_of(walked, "one_")
        else:
            name = "key" if is_keys(project, at, column) else "one"
        found.append(cst.Name(fresh(name, used)))
        used = {*used, found[-1].value}
    return found


def _names(node: cst.CSTNode) -> Iterator[str]:
    """The names in some code, those of attributes and of keywords left out."""
    labels = {id(one.attr) for one in all_of(cst.Attribute, node)} | {id(one.keyword) for one in all_of(cst.Arg, node)}
    return (one.value for one in all_of(cst.Name, node) if id(one) not in labels)


class _Taker(cst.CSTTransformer):
    """Puts a name in the place of each `item[0]`, `item[1]`."""

    def __init__(self, item: str, names: list[str]) -> None:
        super().__init__()
        self.item, self.names = item, names

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.BaseExpression:
        match updated_node:
            case cst.Subscript(
                value=cst.Name(value=self.item), slice=[cst.SubscriptElement(slice=cst.Index() as index)]
            ):
                number = index.value
                if isinstance(number, cst.Integer) and number.evaluated_value < len(self.names):
                    name = self.names[number.evaluated_value]
                    return cst.Name(name, lpar=updated_node.lpar, rpar=updated_node.rpar)
        return updated_node


def _loop(
    target: cst.BaseAssignTargetExpression, walked: cst.BaseExpression, carry: str, update: cst.BaseExpression
) -> cst.For:
    body = cst.Assign([cst.AssignTarget(cst.Name(carry))], update)
    return cst.For(target, walked, cst.IndentedBlock([cst.SimpleStatementLine([body])]))
