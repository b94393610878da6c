"""The field that holds a list: the methods that fill it, its annotation, and its conversion of assigned values."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.declared import Declared, declared, declared_parameter
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.layer_list import not_shown
from scanify.analysis.lists.reader import PLAIN, Contents, ContentsReader
from scanify.analysis.lists.statements import Put, statements_about
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import Function, parameters
from scanify.analysis.lower.text import dotted
from scanify.analysis.obligation import Obligation
from scanify.analysis.project_facts import ProjectFacts

_CONSTRUCTORS = ("__init__", "__post_init__")


@dataclass(eq=False)
class FieldFacts:
    """A field of a class: its contents, its annotation, and the first constructor that fills it.

    `constructor` includes the name of the field there, such as `self.layers`. `others` are obligations for the other
    methods that fill the field. `parameter`: callers pass the list or its elements.
    """

    project: ProjectFacts
    owner: Definition
    attribute: str
    contents: Contents
    declared: Declared = field(default_factory=Declared)
    constructor: tuple[Home, Function, str] | None = None
    others: list[Obligation] = field(default_factory=list)
    parameter: bool = False


def field_facts(project: ProjectFacts, owner: Definition, attribute: str) -> FieldFacts:
    """Return the contents of a field, as filled by a class, its base classes and its subclasses."""
    reader = ContentsReader(project)
    contents = reader.contents
    facts = FieldFacts(project, owner, attribute, contents)
    annotated = project.classes.fields(owner).get(attribute)
    if annotated is not None:
        facts.declared = declared(project, annotated.owner.module, annotated.statement.annotation)
    fillings = [(cls, *each) for cls in related_to(project, owner) for each in _fillings(project, cls, attribute)]
    for cls, home, method, target in fillings:
        reader.filled(home, method.body, target, PLAIN)
        if facts.constructor is None and method.name in _CONSTRUCTORS:
            facts.constructor = home, method, target
        else:
            text = f"`{method.name}` of `{cls.name}` fills the list, too"
            facts.others.append(not_shown(text, home.module.place(method)))
        for decorator in method.decorator_list:
            text = f"`{ast.unparse(decorator)}` may do more than `{method.name}`, which fills `{attribute}`"
            contents.open.append(not_shown(text, home.module.place(decorator)))
    contents.open += [*facts.others, *_stored_otherwise(project, owner, attribute)]
    _note_parameters(facts)
    contents.optional |= facts.declared.optional
    return facts


def _fillings(project: ProjectFacts, cls: Definition, attribute: str) -> Iterator[tuple[Home, Function, str]]:
    """Yield the methods of a class that fill a field, each with the field's name in it, such as `self.layers`."""
    for method in project.classes.methods(cls).values() if cls.module.writes(attribute) else ():
        home, names = Home(project, cls.module, method), parameters(method)
        target = f"{names[0].arg}.{attribute}" if names else ""
        if target and any(isinstance(each, Put) for each in statements_about(home, method.body, target)):
            yield home, method, target


def _stored_otherwise(project: ProjectFacts, owner: Definition, attribute: str) -> Iterator[Obligation]:
    """Yield an obligation for each way by which a field may get another value than its methods assign."""
    classes = project.classes
    if classes.is_replaced(owner, attribute):
        text = f"code outside of the constructor may put another list into `{attribute}`"
        yield not_shown(text, owner.module.place(owner.node))
    for cls in related_to(project, owner):
        for name in (attribute, "__setattr__", "__getattribute__"):
            if name in classes.methods(cls):
                text = f"`{name}` of `{cls.name}` decides what `{attribute}` holds"
                yield not_shown(text, cls.module.place(classes.methods(cls)[name]))
        constant = classes.constant(cls, attribute)
        if constant is not None and isinstance(constant[1], ast.Call):
            text = f"`{attribute}` is a value of the class `{constant[0].name}`"
            yield not_shown(text, constant[0].module.place(constant[1]))
        for node in nodes_in(cls.node) if any(map(cls.module.writes, ("setattr", "vars(", "__dict__"))) else ():
            if _stores_by_name(node, attribute):
                yield not_shown(f"`{attribute}` is stored by its name, as a text", cls.module.place(node))


def _stores_by_name(node: ast.AST, attribute: str) -> bool:
    """True for `setattr(self, name, value)`, `self.__dict__[name] = value` and the like, with this or any name."""
    match node:
        case (
            ast.Call(func=ast.Name(id="setattr") | ast.Attribute(attr="setattr" | "__setattr__"), args=[*_, name, _])
            | ast.Subscript(value=ast.Attribute(attr="__dict__"), slice=name, ctx=ast.Store())
            | ast.Subscript(value=ast.Call(func=ast.Name(id="vars")), slice=name, ctx=ast.Store())
        ):
            return not isinstance(name, ast.Constant) or name.value == attribute
        case _:
            return False


def related_to(project: ProjectFacts, owner: Definition) -> tuple[Definition, ...]:
    """Return a class, its base classes and its subclasses in the project."""
    return tuple(dict.fromkeys((*project.classes.lineage(owner), *project.classes.heirs(owner))))


def _note_parameters(facts: FieldFacts) -> None:
    """Note layers that callers pass: to a constructor, or as a field of a class without one."""
    owner, contents, project = facts.owner, facts.contents, facts.project
    for home, name in contents.parameters:
        found = declared_parameter(project, home.module, home.function, name)
        if facts.declared.cls is None and found.cls is not None:
            facts.declared = found
        facts.parameter = True
        text = f"`{owner.name}` gets `{name}` from its caller"
        contents.open.append(not_shown(text, home.module.place(home.function or owner.node)))
    if facts.constructor is not None or facts.others:
        return
    annotated = project.classes.fields(owner).get(facts.attribute)
    if annotated is not None and project.classes.method(owner, "__init__") is None:
        facts.parameter = True
        text = f"the callers of `{owner.name}` fill its field `{facts.attribute}`"
        contents.open.append(not_shown(text, annotated.owner.module.place(annotated.statement)))
    elif not contents.open:
        text = f"nothing is shown to fill `{facts.attribute}` of `{owner.name}`"
        contents.open.append(not_shown(text, owner.module.place(owner.node)))


def keeps_otherwise(project: ProjectFacts, owner: Definition, attribute: str) -> tuple[str, Place] | None:
    """Return why a field may not hold the assigned value, and the place of its declaration; None if it does."""
    found = project.classes.fields(owner).get(attribute)
    made = found.default if found is not None else None
    if found is None or not isinstance(made, ast.Call):
        return None
    place = found.owner.module.place(made)
    if not isinstance(project.index.resolve(found.owner.module, dotted(made.func) or "?"), External):
        text = f"the field `{attribute}` is made by `{ast.unparse(made.func)}`, which may convert what is assigned"
        return text, place
    for keyword in made.keywords:
        off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        if keyword.arg == "converter" or (keyword.arg == "static" and not off):
            return f"the field `{attribute}` has `{keyword.arg}={ast.unparse(keyword.value)}`", place
    return None
