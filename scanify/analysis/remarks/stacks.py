"""Recognise stacks of layers by their construction or declaration."""

import ast

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.lists.declared import options_of
from scanify.analysis.lists.objects import assigned_values, class_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.remarks.view import bindings

STACKED, ARRAY_STACKED, BLOCK_SEQ = "Stacked", "ArrayStacked", "BlockSeq"
_KINDS = (STACKED, ARRAY_STACKED, BLOCK_SEQ)
_PACKAGES = ("haliax", "scanify", "levanter")
_DEEPEST = 5  # chained names and fields


def kind_of(project: ProjectFacts, module: Module, node: ast.expr, depth: int = 0) -> str | None:
    """Return the kind of stack that an expression is; None if it is not known to be one."""
    match node:
        case _ if depth > _DEEPEST:
            return None
        case ast.Call(func=ast.Call(func=made)) | ast.Call(func=made):
            # `ArrayStacked.of(layers)`, `Stacked.init(axis, Block)(...)`, `Stacked(stacked, axis, policy)`
            cls = made.value if isinstance(made, ast.Attribute) and made.attr in ("of", "init") else made
            return _kind_named(project, module, dotted(cls))
        case ast.Attribute(value=value, attr=attribute):
            owner = class_of(project, module, value)
            return field_kind(project, owner, attribute, depth + 1) if isinstance(owner, Definition) else None
        case ast.Name():
            for statement, assigned in bindings(module, node):
                if isinstance(statement, ast.arg):
                    return kind_declared(project, module, statement.annotation)
                return kind_of(project, module, assigned, depth + 1) if assigned is not None else None
            return None
        case _:
            return None


def kind_declared(project: ProjectFacts, module: Module, annotation: ast.expr | None) -> str | None:
    """Return the kind of stack that an annotation declares: `Stacked[Block]`, `"ArrayStacked | None"`."""
    options = [each.value if isinstance(each, ast.Subscript) else each for each in options_of(annotation)]
    return next(filter(None, (_kind_named(project, module, dotted(each)) for each in options)), None)


def field_kind(project: ProjectFacts, owner: Definition, attribute: str, depth: int = 0) -> str | None:
    """Return the kind of stack that objects of a class have in a field, by its annotation or its values."""
    declared = project.classes.fields(owner).get(attribute)
    if declared is not None and (kind := kind_declared(project, declared.owner.module, declared.statement.annotation)):
        return kind
    assigned = assigned_values(project, owner, attribute)
    kinds = (kind_of(project, home.module, value, depth + 1) for home, value in assigned)
    return next(filter(None, kinds), None)


def _kind_named(project: ProjectFacts, module: Module, name: str | None) -> str | None:
    """Return the kind of stack that a class name in a file refers to: `hnn.Stacked`, `ArrayStacked`."""
    found = project.index.resolve(module, name) if name is not None else None
    if not isinstance(found, External) or found.qualname.partition(".")[0] not in _PACKAGES:
        return None
    last = found.qualname.rpartition(".")[2]
    return last if last in _KINDS else None
