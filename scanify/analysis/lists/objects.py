"""The class of an object, by `self`, an annotation, or one constructor call."""

import ast
from collections.abc import Iterator

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.lists.declared import declared
from scanify.analysis.lists.fields import field_facts, related_to
from scanify.analysis.lists.home import Home, columns
from scanify.analysis.lists.layer_list import Class
from scanify.analysis.lists.statements import Put, statements_about
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parameters, scope_of
from scanify.analysis.project_facts import ProjectFacts

_DEEPEST = 6  # attributes of attributes that are followed; a deeper one has no class that is shown


def home_of(project: ProjectFacts, module: Module, node: ast.AST) -> Home:
    """Return where a node stands."""
    function = scope_of(module, node).function.node
    return Home(project, module, function if isinstance(function, FUNCTIONS) else None)


def class_of(project: ProjectFacts, module: Module, node: ast.expr, depth: int = 0) -> Class | None:
    """Return the class of an object, or of each element of a list; None if it is not shown."""
    if depth > _DEEPEST:
        return None
    match node:
        case ast.Name(id=name):
            scope = scope_of(module, node)
            bound = home_of(project, module, node).values_of(name)
            if scope.self_name == name and scope.owner is not None and not bound:
                return Definition(module, scope.owner.name, scope.owner)
            return _of_name(project, module, node, depth)
        case ast.Attribute(value=value, attr=attr):
            owner = class_of(project, module, value, depth + 1)
            return _of_field(project, owner, attr) if isinstance(owner, Definition) else None
        case ast.Subscript(value=ast.Attribute(value=value, attr=attr)):
            owner = class_of(project, module, value, depth + 1)
            return element_class(project, owner, attr) if isinstance(owner, Definition) else None
        case ast.Call():
            found = home_of(project, module, node).meaning(node.func)
            return found if isinstance(found, Definition | External) and project.classes.is_module(found) else None
        case _:
            return None


def element_class(project: ProjectFacts, owner: Definition, attribute: str) -> Class | None:
    """Return the one class of the elements of a field that holds a list."""
    facts = field_facts(project, owner, attribute)
    if facts.contents.made and not facts.contents.open:
        classes = {getattr(each.cls, "node", each.cls): each.cls for each in facts.contents.made}
        return next(iter(classes.values())) if len(classes) == 1 else None
    return facts.declared.cls if facts.declared.listed else None


def _of_field(project: ProjectFacts, owner: Definition, attribute: str) -> Class | None:
    """The class of a field: the class that the only assignment calls, else the declared class."""
    values = [pair for cls in related_to(project, owner) for pair in assigned_values(project, cls, attribute)]
    if len(values) == 1 and isinstance(values[0][1], ast.Call):
        made = class_of(project, values[0][0], values[0][1])
        if made is not None:
            return made
    annotated = project.classes.fields(owner).get(attribute)
    if annotated is None:
        return None
    found = declared(project, annotated.owner.module, annotated.statement.annotation)
    return None if found.listed else found.cls


def assigned_values(project: ProjectFacts, cls: Definition, attribute: str) -> Iterator[tuple[Module, ast.expr]]:
    """Yield the expressions that the methods of a class assign to a field."""
    for method in project.classes.methods(cls).values() if cls.module.writes(attribute) else ():
        names = parameters(method)
        target = f"{names[0].arg}.{attribute}" if names else attribute
        for each in statements_about(Home(project, cls.module, method), method.body, target):
            if isinstance(each, Put):
                yield cls.module, each.value


def _of_name(project: ProjectFacts, module: Module, node: ast.Name, depth: int) -> Class | None:
    home = home_of(project, module, node).binder(node)
    values = home.values_of(node.id)
    if not values and home.is_local(node) and home.function is not None:
        said = next((each.annotation for each in parameters(home.function) if each.arg == node.id), None)
        found = declared(project, module, said)
        return None if found.listed else found.cls
    if home.is_local(node) and home.is_parameter(node.id):
        return None  # which is assigned, too
    container = walked_by(home, node)
    if container is not None and len(values) <= 1:
        if isinstance(container, ast.Attribute):
            owner = class_of(project, module, container.value, depth + 1)
            return element_class(project, owner, container.attr) if isinstance(owner, Definition) else None
        return None
    value = values[0][1] if len(values) == 1 else None
    return class_of(project, module, value, depth + 1) if value is not None else None


def walked_by(home: Home, node: ast.Name) -> ast.expr | None:
    """Return what a loop around walks to bind a name, to an element each: `self.stages` of `zip(self.stages, keys)`."""
    for around in ancestors(home.module, node):
        heads = getattr(around, "generators", ()) or ([around] if isinstance(around, ast.For) else ())
        for head in heads:
            for target, source in columns(home, head.target, head.iter):
                if isinstance(target, ast.Name) and target.id == node.id:
                    return source
        if isinstance(around, (*FUNCTIONS, ast.Lambda)):
            return None
    return None
