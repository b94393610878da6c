"""Find the class of an object by `self`, an annotation, or a single constructor call."""

import ast
from collections.abc import Iterator

from scanify.analysis.classes.nnx import VARIABLES
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.language.tables import MEASURES, MEASURING
from scanify.analysis.lists.declared import Declared, declared, declared_parameter
from scanify.analysis.lists.fields import field_facts, related_to
from scanify.analysis.lists.home import Home, columns
from scanify.analysis.lists.layer_list import Class
from scanify.analysis.lists.reader import PLAIN, Contents, ContentsReader
from scanify.analysis.lists.statements import Put, statements_about
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parameters, scope_of
from scanify.analysis.project_facts import ProjectFacts

_DEEPEST = 6  # names and fields to follow; the class of an object behind more of them is not shown
ARRAY = External("jax.Array")
_ARRAYS = ("jax.numpy.", "jax.random.")
_NO_ARRAYS = MEASURING | frozenset("PRNGKey fold_in key split".split())


def home_of(project: ProjectFacts, module: Module, node: ast.AST) -> Home:
    """Return the file and the function around a node."""
    function = scope_of(module, node).function.node
    return Home(project, module, function if isinstance(function, FUNCTIONS) else None)


def class_of(project: ProjectFacts, module: Module, node: ast.expr, depth: int = 0) -> Class | None:
    """Return the class of an object, `ARRAY` for an array; None if it is not shown."""
    home, scope = home_of(project, module, node), scope_of(module, node)
    match node:
        case _ if depth > _DEEPEST:
            return None
        case ast.Name(id=name) if scope.self_name == name and scope.owner is not None and not home.values_of(name):
            return Definition(module, scope.owner.name, scope.owner)
        case ast.Name() | ast.Attribute():
            stored = only_value(home, node, depth)
            made = class_of(project, stored[0].module, stored[1], depth + 1) if stored is not None else None
            return made if made is not None else _of_annotation(home, node, depth)
        case ast.Subscript(value=value):
            return ARRAY if class_of(project, module, value, depth + 1) == ARRAY else None
        case ast.BinOp(left=left, right=right):
            return ARRAY if ARRAY in (class_of(project, module, each, depth + 1) for each in (left, right)) else None
        case ast.Call(func=func):
            return _of_call(home, func, depth)
        case _:
            return None


def _of_call(home: Home, func: ast.expr, depth: int) -> Class | None:
    """Return the class that a call instantiates, or `ARRAY` if a function or a method of an array computes one."""
    found = home.meaning(func)
    if isinstance(found, External) and found.qualname.startswith(_ARRAYS):
        return ARRAY if found.qualname.rpartition(".")[2] not in _NO_ARRAYS else None
    if isinstance(found, Definition | External):
        made = home.project.classes.is_module(found) or getattr(found, "qualname", "") in VARIABLES
        return found if made else None
    if isinstance(func, ast.Call):
        return ARRAY if home.library(func).endswith("vmap") else None
    method = isinstance(func, ast.Attribute) and class_of(home.project, home.module, func, depth + 1) == ARRAY
    return ARRAY if method else None


def _of_annotation(home: Home, node: ast.Name | ast.Attribute, depth: int) -> Class | None:
    """Return the declared class of a parameter or field; `ARRAY` for attributes of arrays that are arrays."""
    said = Declared()
    if isinstance(node, ast.Name):
        if home.is_local(node) and not home.values_of(node.id):
            said = declared_parameter(home.project, home.module, home.function, node.id)
    else:
        owner = class_of(home.project, home.module, node.value, depth + 1)
        if isinstance(owner, External):
            array = (owner == ARRAY and node.attr not in MEASURES) or node.attr in ("weight", "bias")
            return ARRAY if array else None
        field = home.project.classes.fields(owner).get(node.attr) if owner is not None else None
        if field is not None:
            said = declared(home.project, field.owner.module, field.statement.annotation)
    return ARRAY if said.array else None if said.listed else said.cls


def contents_of(project: ProjectFacts, module: Module, node: ast.expr) -> Contents:
    """Return the contents of a list in a field or under a local name, as read off the code that fills it."""
    if isinstance(node, ast.Attribute):
        owner = class_of(project, module, node.value)
        return field_facts(project, owner, node.attr).contents if isinstance(owner, Definition) else Contents()
    reader = ContentsReader(project)
    reader.value(home_of(project, module, node), node, PLAIN)
    return reader.contents


def only_value(home: Home, node: ast.Name | ast.Attribute, depth: int = 0) -> tuple[Home, ast.expr] | None:
    """Return the only expression assigned to a name, or to a field by the methods of its class; None if not unique."""
    project = home.project
    match home.meaning(node.value) if isinstance(node, ast.Attribute) else home.meaning(node):
        case Definition(module=module, node=ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value)) if (
            isinstance(node, ast.Name)
        ):
            return home_of(project, module, value), value
        case Definition(node=ast.ClassDef()) as cls if isinstance(node, ast.Attribute):
            constant = project.classes.constant(cls, node.attr)
            return (home_of(project, constant[0].module, constant[1]), constant[1]) if constant is not None else None
    if isinstance(node, ast.Name):
        values = [value for _, value in home.values_of(node.id)] if not home.is_parameter(node.id) else []
        return (home, values[0]) if len(values) == 1 and values[0] is not None else None
    owner = class_of(project, home.module, node.value, depth + 1)
    related = related_to(project, owner) if isinstance(owner, Definition) else ()
    stored = [pair for cls in related for pair in assigned_values(project, cls, node.attr)]
    return stored[0] if len(stored) == 1 else None


def assigned_values(project: ProjectFacts, cls: Definition, attribute: str) -> Iterator[tuple[Home, ast.expr]]:
    """Yield the expressions that the methods of a class assign to a field."""
    for method in project.classes.methods(cls).values() if cls.module.writes(attribute) else ():
        names, home = parameters(method), Home(project, cls.module, method)
        for each in statements_about(home, method.body, f"{names[0].arg}.{attribute}") if names else ():
            if isinstance(each, Put):
                yield home, each.value


def walked_by(home: Home, node: ast.Name) -> ast.expr | None:
    """Return the container that an enclosing loop takes a name from: `self.stages` in `zip(self.stages, keys)`."""
    for around in ancestors(home.module, node):
        heads = getattr(around, "generators", ()) or ([around] if isinstance(around, ast.For) else ())
        for target, source in (pair for head in heads for pair in columns(home, head.target, head.iter)):
            if isinstance(target, ast.Name) and target.id == node.id:
                return source
        if isinstance(around, (*FUNCTIONS, ast.Lambda)):
            return None
    return None
