"""The class of an object, by `self`, an annotation, or one constructor call."""

import ast
from collections.abc import Iterator

from scanify.analysis.classes.nnx import VARIABLES
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.language.tables import MEASURING
from scanify.analysis.lists.contents import Contents
from scanify.analysis.lists.declared import declared
from scanify.analysis.lists.fields import field_facts, related_to
from scanify.analysis.lists.home import Home, columns
from scanify.analysis.lists.layer_list import Class
from scanify.analysis.lists.reader import ContentsReader
from scanify.analysis.lists.statements import Put, statements_about
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parameters, scope_of
from scanify.analysis.project_facts import ProjectFacts

_DEEPEST = 6  # attributes of attributes that are followed; a deeper one has no class that is shown
ARRAY = External("jax.Array")
_ARRAYS = ("jax.numpy.", "jax.random.")
_KEYS = frozenset("PRNGKey fold_in key split".split())
_PLAIN_PARTS = frozenset("shape dtype ndim size itemsize item tolist".split())


def home_of(project: ProjectFacts, module: Module, node: ast.AST) -> Home:
    """Return where a node stands."""
    function = scope_of(module, node).function.node
    return Home(project, module, function if isinstance(function, FUNCTIONS) else None)


def class_of(project: ProjectFacts, module: Module, node: ast.expr, depth: int = 0) -> Class | None:
    """Return the class of an object, `ARRAY` for an array; None if it is not shown."""
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
            holder = home_of(project, module, node).meaning(value)
            if isinstance(holder, Definition) and isinstance(holder.node, ast.ClassDef):
                constant = project.classes.constant(holder, attr)
                return class_of(project, constant[0].module, constant[1], depth + 1) if constant else None
            owner = class_of(project, module, value, depth + 1)
            if isinstance(owner, External):
                of_array = owner == ARRAY and attr not in _PLAIN_PARTS
                return ARRAY if of_array or attr in ("weight", "bias") else None
            return _of_field(project, owner, attr) if owner is not None else None
        case ast.Subscript(value=value):
            return ARRAY if class_of(project, module, value, depth + 1) == ARRAY else None
        case ast.BinOp(left=left, right=right):
            return ARRAY if ARRAY in (class_of(project, module, each, depth + 1) for each in (left, right)) else None
        case ast.Call():
            return _of_call(project, module, node, depth)
        case _:
            return None


def _of_call(project: ProjectFacts, module: Module, node: ast.Call, depth: int) -> Class | None:
    """The class that a call makes an object of, or an array that a function or a method of an array computes."""
    found = home_of(project, module, node).meaning(node.func)
    if isinstance(found, External):
        if found.qualname.startswith(_ARRAYS):
            return ARRAY if found.qualname.rpartition(".")[2] not in MEASURING | _KEYS else None
        return found if project.classes.is_module(found) or found.qualname in VARIABLES else None
    if isinstance(found, Definition):
        return found if project.classes.is_module(found) else None
    if isinstance(node.func, ast.Call):
        return ARRAY if home_of(project, module, node).library(node.func).endswith("vmap") else None
    method = node.func if isinstance(node.func, ast.Attribute) else None
    return ARRAY if method is not None and class_of(project, module, method, depth + 1) == ARRAY else None


def contents_of(project: ProjectFacts, module: Module, node: ast.expr) -> Contents:
    """Return what a list holds by the code that fills it, which a field or a local name holds."""
    if isinstance(node, ast.Attribute):
        owner = class_of(project, module, node.value)
        return field_facts(project, owner, node.attr).contents if isinstance(owner, Definition) else Contents()
    reader = ContentsReader(project)
    reader.value(home_of(project, module, node), node)
    return reader.contents


def _of_field(project: ProjectFacts, owner: Definition, attribute: str) -> Class | None:
    """The class of a field: the class that the only assignment calls, else the declared class."""
    values = [pair for cls in related_to(project, owner) for pair in assigned_values(project, cls, attribute)]
    if len(values) == 1 and isinstance(values[0][1], ast.Call):
        made = class_of(project, values[0][0], values[0][1])
        if made is not None:
            return made
    annotated = project.classes.fields(owner).get(attribute)
    return _of_annotation(project, annotated.owner.module, annotated.statement.annotation) if annotated else None


def _of_annotation(project: ProjectFacts, module: Module, annotation: ast.expr | None) -> Class | None:
    said = declared(project, module, annotation)
    return ARRAY if said.array else None if said.listed else said.cls


def assigned_values(project: ProjectFacts, cls: Definition, attribute: str) -> Iterator[tuple[Module, ast.expr]]:
    """Yield the expressions that the methods of a class assign to a field."""
    for method in project.classes.methods(cls).values() if cls.module.writes(attribute) else ():
        names = parameters(method)
        target = f"{names[0].arg}.{attribute}" if names else attribute
        for each in statements_about(Home(project, cls.module, method), method.body, target):
            if isinstance(each, Put):
                yield cls.module, each.value


def only_value(home: Home, node: ast.Name | ast.Attribute) -> tuple[Home, ast.expr] | None:
    """Return the one expression that a local name is assigned, or a field by the methods of its class."""
    if isinstance(node, ast.Name):
        values = [value for _, value in home.values_of(node.id)]
        return (home, values[0]) if len(values) == 1 and values[0] and not home.is_parameter(node.id) else None
    owner = class_of(home.project, home.module, node.value)
    stored = list(assigned_values(home.project, owner, node.attr)) if isinstance(owner, Definition) else []
    return (home_of(home.project, *stored[0]), stored[0][1]) if len(stored) == 1 else None


def _of_name(project: ProjectFacts, module: Module, node: ast.Name, depth: int) -> Class | None:
    home = home_of(project, module, node).binder(node)
    values = home.values_of(node.id)
    if walked_by(home, node) is not None:
        return None  # an element of a list, whose class is not read
    if home.is_local(node):
        arguments = parameters(home.function) if home.function is not None else ()
        said = [each.annotation for each in arguments if each.arg == node.id]
        if said:
            return _of_annotation(project, module, said[0]) if not values else None
        value = values[0][1] if len(values) == 1 else None
        return class_of(project, module, value, depth + 1) if value is not None else None
    match home.meaning(node):
        case Definition(module=other, node=ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value)):
            return class_of(project, other, value, depth + 1)
        case _:
            return None


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
