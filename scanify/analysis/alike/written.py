"""Stores into fields of layers after they were made: they reach the layers of a list, and no rows of a stack."""

import ast
from collections.abc import Iterable, Iterator

from scanify.analysis.facts import Place
from scanify.analysis.index.by_name import by_name
from scanify.analysis.index.meaning import Definition
from scanify.analysis.lists.layer_list import Class
from scanify.analysis.lists.objects import class_of
from scanify.analysis.lower.scope import parent_of
from scanify.analysis.project_facts import ProjectFacts

_OF_LIBRARIES = ("weight", "bias", "inference")  # fields of modules of equinox


def writes_into(project: ProjectFacts, parts: Iterable[Class]) -> Iterator[tuple[str, Place]]:
    """Yield the fields of classes that code stores into past the frozen class or in place, each with a store's place.

    By name in the whole project: `object.__setattr__(layer, "rate", 0.1)`, `vars(layer)["rate"] = 0.1`, and
    `layer.weight[0] = 0.0` of an array of numpy. Stores to objects that are shown to be of other classes are excluded.
    """
    names: dict[str, None] = {}
    related: set[ast.AST] = set()
    for part in parts:
        if isinstance(part, Definition):
            names |= dict.fromkeys(project.classes.fields(part))
            related |= {each.node for each in (*project.classes.lineage(part), *project.classes.heirs(part))}
        else:
            names |= dict.fromkeys(_OF_LIBRARIES)
    for name in names:
        for place in _stores(project, name, related):
            yield name, place


def _stores(project: ProjectFacts, name: str, related: set[ast.AST]) -> Iterator[Place]:
    patches = project.index.patches
    for store in patches.stores(name):
        if not store.forced:
            continue
        module = project.index.module_at(store.path)
        holder = store.node.args[0] if isinstance(store.node, ast.Call) and store.node.args else None
        found = class_of(project, module, holder) if module is not None and holder is not None else None
        if not isinstance(found, Definition) or found.node in related:
            yield patches.place(store)
    for module in project.index.modules_with(name):
        for node in by_name(module.tree).uses.get(name, ()):
            above = parent_of(module, node) if isinstance(node, ast.Attribute) else None
            if isinstance(above, ast.Subscript) and above.value is node and not isinstance(above.ctx, ast.Load):
                yield module.place(node)
