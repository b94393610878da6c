"""The field that holds a list: the methods that fill it, its annotation, and how it converts assigned values."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.contents import Contents
from scanify.analysis.lists.declared import Declared, declared, declared_parameter
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.layer_list import not_shown
from scanify.analysis.lists.reader import ContentsReader
from scanify.analysis.lists.statements import Grown, Put, statements_about
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import Function, parameters
from scanify.analysis.lower.text import dotted
from scanify.analysis.obligation import Obligation
from scanify.analysis.project_facts import ProjectFacts

_CONSTRUCTORS = ("__init__", "__post_init__")
_STORED_BY_NAME = ("setattr", "__setattr__")


@dataclass(frozen=True, eq=False)
class Filling:
    """One method that fills the field: the class whose method it is, and the name of the field in it."""

    owner: Definition
    home: Home
    target: str

    @property
    def function(self) -> Function:
        """The method."""
        assert self.home.function is not None
        return self.home.function


@dataclass(eq=False)
class FieldFacts:
    """A field of a class: its contents, the methods that fill it, and its annotation.

    `others` are obligations for the methods that fill it but for one constructor.
    """

    project: ProjectFacts
    owner: Definition
    attribute: str
    contents: Contents
    fillings: list[Filling] = field(default_factory=list)
    declared: Declared = field(default_factory=Declared)
    others: list[Obligation] = field(default_factory=list)
    parameter: bool = False

    @property
    def constructor(self) -> Filling | None:
        """The first constructor that fills it."""
        return next((each for each in self.fillings if each.function.name in _CONSTRUCTORS), None)


def field_facts(project: ProjectFacts, owner: Definition, attribute: str) -> FieldFacts:
    """Read what a class, those that it inherits from and those that inherit from it put into a field."""
    reader = ContentsReader(project)
    facts = FieldFacts(project, owner, attribute, reader.contents)
    facts.fillings = [each for cls in related_to(project, owner) for each in _fillings(project, cls, attribute)]
    annotated = project.classes.fields(owner).get(attribute)
    if annotated is not None:
        facts.declared = declared(project, annotated.owner.module, annotated.statement.annotation)
    for filling in facts.fillings:
        reader.filled(filling.home, filling.function.body, filling.target)
    _note_others(project, facts)
    _note_parameters(project, facts)
    reader.contents.optional |= facts.declared.optional
    return facts


def _fillings(project: ProjectFacts, cls: Definition, attribute: str) -> Iterator[Filling]:
    for method in project.classes.methods(cls).values() if cls.module.writes(attribute) else ():
        names = parameters(method)
        if not names:
            continue
        home, target = Home(project, cls.module, method), f"{names[0].arg}.{attribute}"
        mentioned = any(isinstance(each, ast.Attribute) and each.attr == attribute for each in nodes_in(*method.body))
        about = statements_about(home, method.body, target) if mentioned else []
        if any(isinstance(each, Put | Grown) for each in about):
            yield Filling(cls, home, target)


def _note_others(project: ProjectFacts, facts: FieldFacts) -> None:
    """Note all code but one constructor that may put layers into the field."""
    attribute, contents = facts.attribute, facts.contents
    others = (each for each in facts.fillings if each is not facts.constructor)
    facts.others = [
        not_shown(
            f"`{each.function.name}` of `{each.owner.name}` fills the list, too",
            each.home.module.place(each.function),
        )
        for each in others
    ]
    contents.open += facts.others
    if project.classes.is_replaced(facts.owner, attribute):
        text = f"code outside of the constructor may put another list into `{attribute}`"
        contents.open.append(not_shown(text, facts.owner.module.place(facts.owner.node)))
    for cls in related_to(project, facts.owner):
        contents.open += _intercepted(project, cls, attribute)
    for filling in facts.fillings:
        for decorator in filling.function.decorator_list:
            text = f"`{ast.unparse(decorator)}` may do more than `{filling.function.name}`, which fills `{attribute}`"
            contents.open.append(not_shown(text, filling.home.module.place(decorator)))


def _intercepted(project: ProjectFacts, cls: Definition, attribute: str) -> Iterator[Obligation]:
    """Obligations for a class that does more than assign a field: a property, `__setattr__`, a store by name."""
    classes, module = project.classes, cls.module
    for name in (attribute, "__setattr__", "__getattribute__"):
        if name in classes.methods(cls):
            text = f"`{name}` of `{cls.name}` decides what `{attribute}` holds"
            yield not_shown(text, module.place(classes.methods(cls)[name]))
    constant = classes.constant(cls, attribute)
    if constant is not None and isinstance(constant[1], ast.Call):
        text = f"`{attribute}` is a value of the class `{constant[0].name}`"
        yield not_shown(text, constant[0].module.place(constant[1]))
    stores = any(map(module.writes, ("setattr", "vars(", "__dict__")))
    for node in nodes_in(cls.node) if stores else ():
        name_given = _name_given(node)
        if name_given is not None and not (isinstance(name_given, ast.Constant) and name_given.value != attribute):
            yield not_shown(f"`{attribute}` is stored by its name, as a text", module.place(node))


def _name_given(node: ast.AST) -> ast.expr | None:
    """The name in `setattr(self, name, value)`, `self.__dict__[name] = value` and the like."""
    match node:
        case ast.Call(func=function, args=[*_, name, _]):
            return name if (dotted(function) or "").rpartition(".")[2] in _STORED_BY_NAME else None
        case ast.Subscript(value=ast.Attribute(attr="__dict__"), slice=name, ctx=ast.Store()):
            return name
        case ast.Subscript(value=ast.Call(func=ast.Name(id="vars")), slice=name, ctx=ast.Store()):
            return name
        case _:
            return None


def related_to(project: ProjectFacts, owner: Definition) -> tuple[Definition, ...]:
    """Return a class, its base classes and its subclasses in the project."""
    return tuple(dict.fromkeys((*project.classes.lineage(owner), *project.classes.heirs(owner))))


def _note_parameters(project: ProjectFacts, facts: FieldFacts) -> None:
    """Note layers that callers give: a parameter of a constructor, or a field of a class without a constructor."""
    owner, contents = facts.owner, facts.contents
    for home, name in contents.parameters:
        found = declared_parameter(project, home.module, home.function, name)
        if facts.declared.cls is None and (found.cls is not None or found.data):
            facts.declared = found
        facts.parameter = True
        text = f"`{facts.owner.name}` gets `{name}` from its caller"
        contents.open.append(not_shown(text, home.module.place(home.function or owner.node)))
    if facts.fillings:
        return
    annotated = project.classes.fields(owner).get(facts.attribute)
    constructor = project.classes.method(owner, "__init__")
    if annotated is not None and constructor is None:
        facts.parameter = True
        text = f"the callers of `{owner.name}` fill its field `{facts.attribute}`"
        contents.open.append(not_shown(text, annotated.owner.module.place(annotated.statement)))
    elif not contents.open:
        text = f"nothing is shown to fill `{facts.attribute}` of `{owner.name}`"
        contents.open.append(not_shown(text, owner.module.place(owner.node)))


def keeps_otherwise(project: ProjectFacts, owner: Definition, attribute: str) -> tuple[str, Place] | None:
    """Return why a field may hold something else than is assigned, as text, and where it is declared."""
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
