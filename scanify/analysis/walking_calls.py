"""Calls that walk a list and give each element to a function: `map(f, layers)`, `functools.reduce(f, layers, x)`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from scanify.analysis.children import nodes_in
from scanify.analysis.classes import method
from scanify.analysis.comprehension import Walk
from scanify.analysis.keys import qualified
from scanify.analysis.names import body_of
from scanify.analysis.project import Definition, Module, Project, dotted
from scanify.analysis.where import Where, assignments, builtin_called


@dataclass(frozen=True, eq=False)
class Function:
    """A function as far as the source shows it: its parameters, and the code that runs when it is called.

    `bound` says that it is a method of an instance, which is its first parameter.
    """

    module: Module
    params: cst.Parameters
    code: Sequence[cst.CSTNode]
    bound: bool = False

    @property
    def names(self) -> list[str]:
        """The names of what it is given by position."""
        return [one.name.value for one in (*self.params.posonly_params, *self.params.params)][self.bound :]


def is_map(project: Project, at: Where, call: cst.CSTNode) -> bool:
    return builtin_called(project, at, call) == "map"


def is_reduce(project: Project, at: Where, call: cst.CSTNode) -> bool:
    return isinstance(call, cst.Call) and qualified(project, at, call.func) == "functools.reduce"


def function_of(project: Project, at: Where, node: cst.CSTNode) -> Function | None:
    """The function that an expression stands for: a lambda, one of this function or of the project, a method."""
    if isinstance(node, cst.Lambda):
        return Function(at.module, node.params, (node.body,))
    name = dotted(node)
    if name is None:
        return None
    module, found = _definition(project, at, name)
    if not isinstance(found, cst.FunctionDef) or found.decorators or found.asynchronous is not None:
        return None
    bound = name.partition(".")[0] == at.self_name
    return Function(module, found.params, body_of(found.body), bound)


def _definition(project: Project, at: Where, name: str) -> tuple[Module, cst.CSTNode | None]:
    root, _, last = name.partition(".")
    if last and root == at.self_name and at.owner is not None:
        known = method(project, at.owner, last)
        return (known[0].module, known[1]) if known is not None else (at.module, None)
    if root not in at.locals:
        meaning = project.resolve(at.module, name)
        return (meaning.module, meaning.node) if isinstance(meaning, Definition) else (at.module, None)
    bound = assignments(at.body(), name) if at.parameter(root) is None else []
    return at.module, bound[0] if len(bound) == 1 else None


def walking(project: Project, at: Where, arg: cst.Arg, call: cst.CSTNode | None) -> Function | None:
    """The function that a call gives the elements of its argument to; None where the call does something else."""
    if not isinstance(call, cst.Call) or not call.args or call.args[0] is arg or arg.star or arg.keyword is not None:
        return None
    if not is_map(project, at, call) and not (is_reduce(project, at, call) and call.args[1] is arg):
        return None
    return function_of(project, at, call.args[0].value)


def plain_names(params: cst.Parameters) -> list[cst.Name] | None:
    """The parameters of a function that has positional ones alone, without defaults; None for another one."""
    plain = [*params.posonly_params, *params.params]
    if params.kwonly_params or isinstance(params.star_arg, cst.Param) or params.star_kwarg is not None:
        return None
    return [one.name for one in plain] if all(one.default is None for one in plain) else None


def positional(call: cst.Call) -> list[cst.BaseExpression] | None:
    """The arguments of a call that has positional ones alone; None for another one."""
    if any(arg.star or arg.keyword is not None for arg in call.args):
        return None
    return [arg.value for arg in call.args]


def map_walk(project: Project, at: Where, call: cst.Call) -> Walk | None:
    """`map(lambda layer: layer(x), layers)` as a walk, with the `list(...)` around it; None for other calls."""
    given = positional(call) if is_map(project, at, call) else None
    if not given or not isinstance(function := given[0], cst.Lambda):
        return None
    names, walked = plain_names(function.params), given[1:]
    if names is None or not walked or len(names) != len(walked):
        return None
    target: cst.BaseAssignTargetExpression = names[0]
    source = walked[0]
    if len(walked) > 1:
        target = cst.Tuple([cst.Element(name) for name in names])
        source = cst.Call(cst.Name("zip"), [cst.Arg(one) for one in walked])
    body = cst.IndentedBlock([cst.SimpleStatementLine([cst.Expr(function.body)])])
    return Walk(_listed(project, at, call), function.body, cst.For(target, source, body))


def _listed(project: Project, at: Where, call: cst.Call) -> cst.Call:
    """The `list(...)` around a call, or the call itself."""
    parsed = at.module.parsed
    holder = parsed.parent(call)
    around = parsed.parent(holder) if isinstance(holder, cst.Arg) else None
    if isinstance(around, cst.Call) and builtin_called(project, at, around) == "list":
        return around if len(around.args) == 1 and not around.args[0].star else call
    return call


def walking_calls(text: str, node: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls of a file that may be of `map` or `reduce`, which may have another name there."""
    if "map" in text or "reduce" in text:
        calls = (one for one in nodes_in(node) if isinstance(one, cst.Call) and len(one.args) > 1)
        yield from (one for one in calls if "reduce" in text or dotted(one.func) == "map")
