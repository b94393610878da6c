"""From the container expression of a loop (`self.layers`, `model.encoder.blocks`, `layers`) to its list of layers."""

from dataclasses import replace

import libcst as cst

from scanify.analysis.answers import Answer, Built, DictOf, Elsewhere, LayerList, NotLayers, Unclear
from scanify.analysis.classes import attribute_assignments, declarations, is_module
from scanify.analysis.elements import Element, ElementClass, element_class
from scanify.analysis.header import NUMBERED, Part, header, plain_walk
from scanify.analysis.layers import in_branches, local_list
from scanify.analysis.project import Assigned, Definition, Project, dotted
from scanify.analysis.several import members
from scanify.analysis.views import views_of
from scanify.analysis.where import Where, assignments

_MAX_DEPTH = 6
_DICT_TYPES = frozenset("dict Dict OrderedDict Mapping MutableMapping".split())


def container(project: Project, at: Where, node: cst.CSTNode, depth: int = 0) -> LayerList:
    """The list that a plain name or a chain of attributes stands for."""
    if depth > _MAX_DEPTH:
        return LayerList(Unclear("the list goes through too many names to be followed"), at)
    if isinstance(node, cst.Attribute):
        owner = class_of(project, at, node.value, depth)
        if owner is None:
            return LayerList(Unclear(f"the class of `{dotted(node.value)}` is not shown"), at)
        return _attribute(project, owner, node.attr.value, depth)
    if isinstance(node, cst.Name):
        return _name(project, at, node, depth)
    return LayerList(Unclear("the loop walks the value of an expression"), at)


def walked_list(project: Project, at: Where, part: Part) -> LayerList:
    """The list whose elements a part of a loop's head is bound to: of a dict its values, where the loop asks for them.

    The values of what is not shown to be a dict are no layers, nor are the names that a walk of a dict itself gives.
    """
    layers = container(project, at, part.source)
    return _walked(project, layers, of_values=part.of_values, by_name=part.form == NUMBERED)


def _walked(project: Project, layers: LayerList, *, of_values: bool, by_name: bool = False) -> LayerList:
    if layers.views:
        views = tuple(_walked(project, one, of_values=of_values, by_name=by_name) for one in layers.views)
        return replace(layers, views=views)
    if layers.of_dict:
        return layers
    values = _values(project, layers)
    if of_values or (values is not None and by_name):
        return replace(layers, answer=values or NotLayers(), of_dict=values is not None)
    return layers if values is None else replace(layers, answer=NotLayers())


def _values(project: Project, layers: LayerList) -> Built | Elsewhere | Unclear | None:
    """What the values of a dict are; None where the source does not show that it is one."""
    answer = layers.answer
    if isinstance(answer, DictOf):
        return answer.values
    if isinstance(answer, Elsewhere) and answer.annotation is not None:
        said = values_annotation(answer.annotation)
        return replace(answer, annotation=said) if said is not None else None
    if isinstance(answer, Unclear) and layers.owner is not None and layers.attribute is not None:
        declared = declarations(project, layers.owner, layers.attribute)
        return answer if any(values_annotation(one.annotation) is not None for one in declared) else None
    return None


def is_dict(project: Project, at: Where, node: cst.BaseExpression) -> bool:
    """Whether the source shows that a name or an attribute stands for a dict."""
    return dotted(node) is not None and _values(project, container(project, at, node)) is not None


def values_annotation(annotation: cst.BaseExpression) -> cst.BaseExpression | None:
    """`list[Block]` for `dict[str, Block]`, quoted or not: what a list of the values has; None where it is no dict."""
    plain = unquoted(annotation)
    name = dotted(plain.value if isinstance(plain, cst.Subscript) else plain) or ""
    if name.rpartition(".")[2] not in _DICT_TYPES:
        return None
    match plain:
        case cst.Subscript(slice=[_, cst.SubscriptElement(slice=cst.Index() as value)]):
            return cst.Subscript(cst.Name("list"), [cst.SubscriptElement(value)])
        case _:
            return cst.Name("list")


def unquoted(annotation: cst.BaseExpression) -> cst.BaseExpression:
    """The expression that an annotation written as a string stands for."""
    if isinstance(annotation, cst.SimpleString) and isinstance(annotation.evaluated_value, str):
        try:
            return cst.parse_expression(annotation.evaluated_value)
        except cst.ParserSyntaxError:
            return annotation
    return annotation


def _name(project: Project, at: Where, node: cst.Name, depth: int) -> LayerList:
    name = node.value
    scope = _binding_scope(at, name)
    if scope is None:
        meaning = project.resolve(at.module, name)
        if not isinstance(meaning, Assigned):
            return LayerList(Unclear(f"`{name}` is not a list built in this project"), at)
        scope = Where(meaning.module)
    views = views_of(scope, name)
    if len(views) > 1 or any(not one.whole for one in views):
        lists = tuple(
            _walked(project, container(project, scope, one.source, depth + 1), of_values=one.of_values) for one in views
        )
        return replace(lists[0], views=lists, walked_once=any(one.walked_once for one in views))
    bound = assignments(scope.body(), name)
    alias = None
    if bound and all(isinstance(one, cst.For) for one in bound) and scope.parameter(name) is None:
        around = next((one for one in at.module.parsed.ancestors(node) if one in bound), None)
        if isinstance(around, cst.For):
            return _element(project, scope, around, name, depth)
    if len(bound) == 1 and isinstance(bound[0], cst.Assign):
        plain = any(dotted(target.target) == name for target in bound[0].targets)
        alias = bound[0].value if plain else None
    if isinstance(alias, cst.Attribute) and scope.parameter(name) is None:
        return container(project, scope, alias, depth + 1)  # `layers = self.layers`
    return LayerList(local_list(project, scope, name, depth), scope)


def _element(project: Project, at: Where, loop: cst.For, name: str, depth: int) -> LayerList:
    """`for stage in self.stages`, `for pool, blocks in self.levels`: what `stage` and `blocks` are lists of."""
    for part in header(project, at, loop).parts:
        path = _path(part.target, name)
        if path is None or dotted(part.source) is None or not plain_walk(part):
            continue
        around = _walked(project, container(project, at, part.source, depth + 1), of_values=part.of_values)
        answer = _elements_at(project, around.answer, path)
        what = f"an element of `{dotted(part.source)}`"
        return LayerList(answer or Elsewhere(None, at, what), around.scope, element_of=dotted(part.source))
    return LayerList(Unclear(f"`{name}` is not a list built in this project"), at)


def _path(target: cst.BaseExpression, name: str) -> tuple[int, ...] | None:
    """Where a name stands in a target: `(1,)` for `b` in `a, b`."""
    if isinstance(target, cst.Name):
        return () if target.value == name else None
    if isinstance(target, cst.Tuple | cst.List):
        for at, one in enumerate(target.elements):
            inner = _path(one.value, name) if isinstance(one, cst.Element) else None
            if inner is not None:
                return (at, *inner)
    return None


def _elements_at(project: Project, answer: Answer, path: tuple[int, ...]) -> Built | None:
    """The elements of all lists that stand at a place of the elements of a list; None where one is not shown."""
    found: list[Element] = []
    for element in answer.elements if isinstance(answer, Built) and not answer.others else ():
        within = [element]
        for at in path:
            inner = members(project, within[0])
            within = list(inner[at : at + 1])
            if not within:
                return None
        lists = members(project, within[0])
        if not lists:
            return None
        found.extend(lists)
    return Built(tuple(found)) if found else None


def _binding_scope(at: Where, name: str) -> Where | None:
    """The innermost function around that binds a name, as a place; None where none does."""
    functions = at.functions
    while functions:
        inner = Where(at.module, functions, at.owner)
        if inner.parameter(name) is not None or assignments(inner.body(), name):
            return inner
        functions = functions[1:]
    return None


def class_of(project: Project, at: Where, node: cst.CSTNode, depth: int = 0) -> Definition | None:
    """The class of the project that an expression is an instance of, None where the source does not show it."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(node, cst.Name):
        if node.value == at.self_name:
            return at.owner
        return _class_of_name(project, at, node.value, depth)
    if isinstance(node, cst.Attribute):
        owner = class_of(project, at, node.value, depth + 1)
        return class_of_attribute(project, owner, node.attr.value, depth) if owner is not None else None
    if isinstance(node, cst.Call):
        return _class(element_class(project, Element(node, at)))
    if isinstance(node, cst.IfExp):  # where it is None, nothing of it is asked
        branches = [one for one in (node.body, node.orelse) if dotted(one) != "None"]
        return class_of(project, at, branches[0], depth + 1) if len(branches) == 1 else None
    return None


def _class(answer: object) -> Definition | None:
    if isinstance(answer, ElementClass) and isinstance(answer.meaning, Definition):
        return answer.meaning
    return None


def _class_of_name(project: Project, at: Where, name: str, depth: int) -> Definition | None:
    scope = _binding_scope(at, name)
    if scope is None:
        return None
    param = scope.parameter(name)
    if param is not None:
        if param.annotation is None or assignments(scope.body(), name):
            return None
        return annotated_class(project, scope, param.annotation.annotation)
    bound = assignments(scope.body(), name)
    if len(bound) != 1 or not isinstance(bound[0], cst.Assign) or dotted(bound[0].targets[0].target) != name:
        return None
    return class_of(project, scope, bound[0].value, depth + 1)


def class_of_attribute(project: Project, owner: Definition, attribute: str, depth: int = 0) -> Definition | None:
    """The class of the project that an attribute of a class's instances is an instance of, None where not shown."""
    stores = [one for one in attribute_assignments(project, owner, attribute) if dotted(one.value) != "None"]
    if len(stores) == 1:
        return class_of(project, stores[0].at, stores[0].value, depth + 1)
    declared = declarations(project, owner, attribute)
    if len(declared) == 1:
        return annotated_class(project, Where(declared[0].owner.module), declared[0].annotation)
    return None


def annotated_class(project: Project, at: Where, annotation: cst.BaseExpression) -> Definition | None:
    """The class of the project that an annotation names, alone or beside None: `Block | None`, `Optional[Block]`."""
    name = annotation_name(_not_none(annotation))
    meaning = project.resolve(at.module, name) if name is not None else None
    return meaning if isinstance(meaning, Definition) and isinstance(meaning.node, cst.ClassDef) else None


def _not_none(annotation: cst.BaseExpression) -> cst.BaseExpression:
    match annotation:
        case cst.BinaryOperation(left=left, operator=cst.BitOr(), right=cst.Name(value="None")):
            return left
        case cst.BinaryOperation(left=cst.Name(value="None"), operator=cst.BitOr(), right=right):
            return right
        case cst.Subscript(value=value, slice=[cst.SubscriptElement(slice=cst.Index(value=inner))]):
            return inner if (dotted(value) or "").rpartition(".")[2] == "Optional" else annotation
        case _:
            return annotation


def annotation_name(annotation: cst.BaseExpression) -> str | None:
    """The dotted name an annotation consists of, quoted or not."""
    if isinstance(annotation, cst.SimpleString):
        text = annotation.evaluated_value
        return text if isinstance(text, str) else None
    return dotted(annotation)


def _attribute(project: Project, owner: Definition, attribute: str, depth: int) -> LayerList:
    if not is_module(project, owner):
        inside = Where(owner.module)
        return LayerList(Unclear(f"`{owner.name}` is not an equinox.Module"), inside, owner, attribute)
    stores = attribute_assignments(project, owner, attribute)
    if not stores:
        return _field(project, owner, attribute)
    store = stores[0]
    home = store.at.owner
    assert home is not None
    if isinstance(store.statement, cst.Assign) and len(store.statement.targets) > 1:
        return LayerList(Unclear(f"`self.{attribute}` shares its list with another name"), store.at, home, attribute)
    stores = [one for one in stores if dotted(one.value) != "None"] or stores  # then there are no layers
    if any(one.at.function is not store.at.function for one in stores):
        reason = f"`self.{attribute}` is assigned in {len(stores)} places"
        place = stores[1].at.module.parsed.place(stores[1].statement)
        return LayerList(Unclear(reason, at=place), store.at, home, attribute)
    if store.at.functions[-1].name.value not in ("__init__", "__post_init__"):
        reason = f"`self.{attribute}` is assigned outside of `__init__`"
        place = store.at.module.parsed.place(store.statement)
        return LayerList(Unclear(reason, at=place), store.at, home, attribute)
    target = f"{store.at.self_name}.{attribute}"
    answer = in_branches(project, store.at, target, [one.statement for one in stores], depth)
    if isinstance(answer, Elsewhere) and answer.annotation is None:
        declared = declarations(project, owner, attribute)
        if declared:  # `def __init__(self, layers): self.layers = layers`, the field says what they are
            answer = Elsewhere(declared[0].annotation, Where(declared[0].owner.module), answer.what, answer.name)
    return LayerList(answer, store.at, home, attribute)


def _field(project: Project, owner: Definition, attribute: str) -> LayerList:
    declared = declarations(project, owner, attribute)
    inside = Where(owner.module)
    if not declared:
        reason = f"`{owner.name}` does not show where `{attribute}` comes from"
        return LayerList(Unclear(reason), inside, owner, attribute)
    home = Where(declared[0].owner.module)
    answer = Elsewhere(declared[0].annotation, home, f"the field `{attribute}` that the caller sets", attribute)
    return LayerList(answer, home, owner, attribute)
