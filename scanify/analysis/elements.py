"""What the layers of a list are: their class, and whether they are built alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import libcst as cst

from scanify.analysis.blocks import blocks
from scanify.analysis.children import children
from scanify.analysis.classes import is_module, method
from scanify.analysis.code import code_of
from scanify.analysis.keys import Variety, first_culprit, is_keys, qualified
from scanify.analysis.names import body_of, parameter_names
from scanify.analysis.project import Assigned, Definition, External, Project, dotted
from scanify.analysis.where import Where, assignments, method_where

_MAX_DEPTH = 6
_VMAPS = frozenset({"jax.vmap", "equinox.filter_vmap"})


@dataclass(frozen=True, eq=False)
class Element:
    """One expression that makes layers: once, or once a turn of the loops whose targets are in `environment`.

    `through` is a function that is given each of them, and gives the layer of which the list is then made.
    """

    node: cst.BaseExpression
    at: Where
    environment: Mapping[str, Variety] = field(default_factory=dict)
    repeated: bool = False
    through: str | None = None


@dataclass(frozen=True)
class ElementClass:
    """The class of a layer. `exact` where the source shows a call of that very class, no factory in between."""

    meaning: Definition | External
    exact: bool

    def same(self, other: "ElementClass") -> bool:
        mine, theirs = self.meaning, other.meaning
        if isinstance(mine, Definition) and isinstance(theirs, Definition):
            return mine.node is theirs.node
        return mine == theirs

    @property
    def name(self) -> str:
        return self.meaning.name if isinstance(self.meaning, Definition) else self.meaning.qualname


@dataclass(frozen=True)
class Mixed:
    """The expression makes layers of different classes."""

    classes: tuple[ElementClass, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.name for one in self.classes))


@dataclass(frozen=True)
class Shared:
    """The expression gives an object that was made before: every layer would be the same one."""

    name: str


@dataclass(frozen=True)
class NotAModule:
    """The expression makes something that is not an Equinox module."""


ClassAnswer = ElementClass | Mixed | Shared | NotAModule | None


def element_class(project: Project, element: Element, depth: int = 0) -> ClassAnswer:
    """The class of what an element makes; None where the source does not show it."""
    if depth > _MAX_DEPTH:
        return None
    if element.through is not None:
        given = element_class(project, replace(element, through=None), depth)
        return replace(given, exact=False) if isinstance(given, ElementClass) else given
    match element.node:
        case cst.Call(func=cst.IfExp(body=first, orelse=second)):
            return _agree([_made(project, element, element.node, func, depth) for func in (first, second)])
        case cst.Call():
            return _called(project, element, element.node, depth)
        case cst.IfExp():
            branches = [
                element_class(project, Element(one, element.at, element.environment, element.repeated), depth + 1)
                for one in (element.node.body, element.node.orelse)
            ]
            return _agree(branches)
        case cst.Name():
            return _named(project, element, element.node.value, depth)
        case cst.Attribute() if element.repeated:
            return Shared(dotted(element.node) or "it")
        case (
            cst.BaseNumber()
            | cst.BaseString()
            | cst.Dict()
            | cst.Tuple()
            | cst.Lambda()
            | cst.BinaryOperation()
            | cst.Comparison()
            | cst.BooleanOperation()
            | cst.UnaryOperation()
        ):
            return NotAModule()
        case _:
            return None


def _agree(answers: Sequence[ClassAnswer]) -> ClassAnswer:
    classes = [one for one in answers if isinstance(one, ElementClass)]
    if len(classes) != len(answers) or not classes:
        return next((one for one in answers if not isinstance(one, ElementClass)), None)
    if all(classes[0].same(other) for other in classes[1:]):
        return ElementClass(classes[0].meaning, all(one.exact for one in classes))
    return Mixed(tuple(classes))


def _made(project: Project, element: Element, call: cst.Call, func: cst.BaseExpression, depth: int) -> ClassAnswer:
    """The class of what one branch of `(A if condition else B)(...)` makes."""
    node = call.with_changes(func=func)
    return element_class(project, Element(node, element.at, element.environment, element.repeated), depth + 1)


def _called(project: Project, element: Element, call: cst.Call, depth: int) -> ClassAnswer:
    at = element.at
    if isinstance(call.func, cst.Subscript):
        return _from_table(project, element, call, call.func, depth)
    vmapped = _vmapped(project, at, call)
    if vmapped is not None:
        made = Element(call.with_changes(func=vmapped), at, element.environment, element.repeated)
        return _inexact(element_class(project, made, depth + 1))
    name = dotted(call.func)
    if name is None:
        return None
    head, _, last = name.rpartition(".")
    if at.owner is not None and head == at.self_name and head:
        found = method(project, at.owner, last)
        return _returned(project, method_where(*found), found[1], depth) if found else None
    if name.partition(".")[0] in at.locals:
        return _called_local(project, element, call, name, depth)
    meaning = project.resolve(at.module, name)
    if is_module(project, meaning) and isinstance(meaning, Definition | External):
        return ElementClass(meaning, exact=True)
    if isinstance(meaning, Definition):
        if isinstance(meaning.node, cst.ClassDef):
            return NotAModule() if _plain_class(project, meaning) else None
        inside = method_where(meaning, meaning.node)
        return _returned(project, inside, meaning.node, depth) or _passed_on(project, element, call, inside, depth)
    if isinstance(meaning, External) and meaning.qualname == "equinox.tree_at" and len(call.args) > 1:
        made = Element(call.args[1].value, at, element.environment, element.repeated)
        return _inexact(element_class(project, made, depth + 1))
    owner = project.resolve(at.module, head) if head else None
    if isinstance(owner, Definition) and is_module(project, owner):
        found = method(project, owner, last)
        return _constructed(project, owner, found, depth) if found else None
    if isinstance(meaning, External) and meaning.qualname.split(".")[0] in ("jax", "numpy", "math", "functools"):
        return NotAModule() if meaning.qualname != "functools.partial" else None
    return None


def _vmapped(project: Project, at: Where, call: cst.Call) -> cst.BaseExpression | None:
    """What `jax.vmap(make)(keys)` maps: one layer of the class `make` gives, with a leading axis."""
    if not isinstance(call.func, cst.Call) or not call.func.args:
        return None
    mapped = call.func.args[0]
    if qualified(project, at, call.func.func) not in _VMAPS or mapped.star or mapped.keyword is not None:
        return None
    return mapped.value


def _passed_on(project: Project, element: Element, call: cst.Call, inside: Where, depth: int) -> ClassAnswer:
    """The class of what a function is given and gives back with other weights: `initialised(Linear(8, 8, key=k))`."""
    assert inside.function is not None
    params = [one.name.value for one in (*inside.function.params.posonly_params, *inside.function.params.params)]
    names = {_given_back(inside, value, params) for value in _returns(inside)}
    name = names.pop() if len(names) == 1 else None
    for position, arg in enumerate(call.args):
        keyword = arg.keyword.value if arg.keyword is not None else None
        if (
            name is not None
            and not arg.star
            and name in (keyword, params[position] if position < len(params) else None)
        ):
            made = Element(arg.value, element.at, element.environment, element.repeated)
            return _inexact(element_class(project, made, depth + 1))
    return None


def _given_back(inside: Where, value: cst.BaseExpression, params: Sequence[str]) -> str | None:
    """The parameter that a value is, as it was given or through `tree_at`."""
    if isinstance(value, cst.Call):
        replaced = (dotted(value.func) or "").rpartition(".")[2] == "tree_at" and len(value.args) > 1
        return _given_back(inside, value.args[1].value, params) if replaced else None
    name = dotted(value)
    if name not in params or name is None:
        return None
    bound = assignments(inside.body(), name)
    again = [isinstance(one, cst.Assign) and isinstance(one.value, cst.Call) for one in bound]
    whole = [one.value for one in bound if isinstance(one, cst.Assign) and isinstance(one.value, cst.Call)]
    same = all((dotted(one.func) or "").endswith("tree_at") and dotted(one.args[1].value) == name for one in whole)
    return name if all(again) and same else None


def _from_table(project: Project, element: Element, call: cst.Call, func: cst.Subscript, depth: int) -> ClassAnswer:
    """`BLOCKS[kind](...)`: one of the classes in a dict that the module writes out."""
    name = dotted(func.value)
    meaning = None if name is None or name in element.at.locals else project.resolve(element.at.module, name)
    if not isinstance(meaning, Assigned) or not isinstance(meaning.value, cst.Dict):
        return None
    scope = Where(meaning.module)
    made = [
        element_class(project, Element(call.with_changes(func=one.value), scope), depth + 1)
        for one in meaning.value.elements
        if isinstance(one, cst.DictElement)
    ]
    return _agree(made) if len(made) == len(meaning.value.elements) else None


def _called_local(project: Project, element: Element, call: cst.Call, name: str, depth: int) -> ClassAnswer:
    """The class of what a function or a class gives that a local name stands for."""
    at = element.at
    for index, function in enumerate(at.functions):
        bound = assignments(body_of(function.body), name)
        scope = Where(at.module, at.functions[index:], at.owner)
        if not bound and scope.parameter(name) is None:
            continue
        if scope.parameter(name) is not None and name in parameter_names(function.params):
            return None
        made = bound[0] if len(bound) == 1 else None
        if isinstance(made, cst.FunctionDef):
            return _returned(project, Where(at.module, (made, *scope.functions), at.owner), made, depth)
        if not isinstance(made, cst.Assign) or dotted(made.targets[0].target) != name:
            return None
        value = made.value
        if isinstance(value, cst.Lambda):
            return _inexact(element_class(project, Element(value.body, scope), depth + 1))
        if isinstance(value, cst.Call):
            if qualified(project, scope, value.func) != "functools.partial" or not value.args:
                return None
            value = value.args[0].value
        inner = Element(call.with_changes(func=value), scope, element.environment, element.repeated)
        return _inexact(element_class(project, inner, depth + 1))
    return None


def _inexact(answer: ClassAnswer) -> ClassAnswer:
    """The class through a function made on the way; what it names is not made before."""
    if isinstance(answer, ElementClass):
        return ElementClass(answer.meaning, exact=False)
    return None if isinstance(answer, Shared) else answer


def _plain_class(project: Project, meaning: Definition) -> bool:
    """Whether all bases of a class are known, so that it is surely no module."""
    assert isinstance(meaning.node, cst.ClassDef)
    return not meaning.node.bases


def _constructed(
    project: Project, owner: Definition, found: tuple[Definition, cst.FunctionDef], depth: int
) -> ClassAnswer:
    """`Block.init(...)`: an alternative constructor gives its class, perhaps a subclass."""
    inside = method_where(*found)
    returned = _returns(inside)
    cls = inside.functions[0].params.params[:1]
    for value in returned:
        made = dotted(value.func) if isinstance(value, cst.Call) else None
        if made is None or made not in ("cls", owner.name, cls[0].name.value if cls else ""):
            return _returned(project, inside, found[1], depth)
    return ElementClass(owner, exact=False) if returned else None


def _returns(inside: Where) -> list[cst.BaseExpression]:
    return [
        statement.value
        for statement in blocks(inside.body())
        if isinstance(statement, cst.Return) and statement.value is not None
    ]


def _returned(project: Project, inside: Where, function: cst.FunctionDef, depth: int) -> ClassAnswer:
    """The class of what a factory returns: the same on every path, or it is not shown."""
    answers = [element_class(project, Element(value, inside), depth + 1) for value in _returns(inside)]
    answer = _agree(answers) if answers else None
    if isinstance(answer, ElementClass):
        return ElementClass(answer.meaning, exact=False)
    # A factory's local name is made anew on every call: it is not shared.
    return None if isinstance(answer, Shared) else answer


def _named(project: Project, element: Element, name: str, depth: int) -> ClassAnswer:
    if name in element.environment:
        return None
    bound = assignments(element.at.body(), name)
    if len(bound) != 1 or not isinstance(bound[0], cst.Assign) or bound[0].value is None:
        return Shared(name) if element.repeated and not bound else None
    if element.repeated:
        return Shared(name)
    return element_class(project, Element(bound[0].value, element.at, element.environment), depth + 1)


def difference(project: Project, elements: Sequence[Element]) -> str | None:
    """Why the layers may not be built alike, None where they differ only in their keys."""
    for element in elements:
        if element.through is not None:
            return f"`{element.through}` makes each layer of another one"
        if isinstance(element.node, cst.Call) and _vmapped(project, element.at, element.node) is not None:
            return f"`{code_of(element.node)}` makes layers that are stacked already"
        found = first_culprit(project, element.at, children(element.node), element.environment)
        if found is not None:
            return f"each layer is built with its own value of `{found}`"
    return _unlike(project, elements)


def _unlike(project: Project, elements: Sequence[Element]) -> str | None:
    calls = [element.node for element in elements if isinstance(element.node, cst.Call)]
    for index, call in enumerate(calls[1:], start=1):
        first = calls[0]
        if len(first.args) != len(call.args):
            return f"layers 0 and {index} are built with different arguments"
        for mine, theirs in zip(first.args, call.args, strict=True):
            if not _alike(project, elements[0].at, mine, theirs, keyed=takes_key(first)):
                what = f"`{code_of(mine.value)}` and `{code_of(theirs.value)}`"
                return f"layers 0 and {index} are built with different arguments: {what}"
    return None


def takes_key(call: cst.Call) -> bool:
    """Whether a call is given a PRNG key by the keyword `key`: then what is called `input_keys` is none."""
    return any(arg.keyword is not None and arg.keyword.value == "key" for arg in call.args)


def _alike(project: Project, at: Where, mine: cst.Arg, theirs: cst.Arg, *, keyed: bool) -> bool:
    keyword = mine.keyword.value if mine.keyword else None
    if keyword != (theirs.keyword.value if theirs.keyword else None):
        return False
    if mine.value.deep_equals(theirs.value):
        return True
    if keyed and keyword != "key":
        return False
    return is_keys(project, at, mine.value) and is_keys(project, at, theirs.value)


def list_walked(target: cst.BaseExpression, walked: cst.BaseExpression, name: str) -> str | None:
    """The list whose elements a walk binds to a name, where it has a plain name itself."""
    if isinstance(walked, cst.Name):
        return walked.value if dotted(target) == name else None
    if not isinstance(walked, cst.Call) or not isinstance(target, cst.Tuple):
        return None
    values = [arg.value for arg in walked.args if arg.keyword is None]
    targets = [one.value for one in target.elements]
    if dotted(walked.func) == "enumerate" and len(targets) == 2 and values:
        return list_walked(targets[1], values[0], name)
    if dotted(walked.func) != "zip":
        return None
    found = [list_walked(one, value, name) for one, value in zip(targets, values, strict=False)]
    return next((one for one in found if one is not None), None)


def made_by(value: cst.ListComp | cst.GeneratorExp) -> cst.BaseExpression:
    """What a comprehension makes: of `[block for k in keys if (block := Block(k))]` what the condition names."""
    name = dotted(value.elt)
    for condition in value.for_in.ifs if value.for_in.inner_for_in is None else ():
        test: cst.CSTNode = condition.test
        while isinstance(test, cst.Comparison):
            test = test.left
        if isinstance(test, cst.NamedExpr) and dotted(test.target) == name is not None:
            return test.value
    return value.elt
