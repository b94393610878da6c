"""A name for the class of the layers in the file of a loop, so that its method can be named: `Block.__call__`."""

import ast

from scanify.analysis.classes.classes import dotted
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.layer_list import Class, LayerList
from scanify.analysis.lower.loop import Loop
from scanify.analysis.project_facts import ProjectFacts


def owner_name(project: ProjectFacts, loop: Loop, layers: LayerList, method: str) -> str | None:
    """Return a name, in scope at the loop, of the class of the layers, None if there is none or it may be no method."""
    cls = layers.classes[0]
    if isinstance(cls, External):
        return _library_name(project, loop, layers, cls) if method == "__call__" else None
    if method != "__call__" and not _is_plain(project, cls, method):
        return None
    return _name_for(project, loop, cls)


def _is_plain(project: ProjectFacts, cls: Definition, name: str) -> bool:
    found = project.classes.method(cls, name)
    if found is None:
        return False
    names = {(dotted(each) or "").rpartition(".")[2] for each in found[1].decorator_list}
    return not names & {"staticmethod", "classmethod", "property"}


def _library_name(project: ProjectFacts, loop: Loop, layers: LayerList, cls: External) -> str | None:
    """The name by which the constructor was called, if it means the same in the loop's file."""
    node = layers.made[0].node
    name = dotted(node.func) if isinstance(node, ast.Call) else None
    if name is None or loop.scope.binding(name.partition(".")[0]) not in (None, _module_scope(loop)):
        return None
    return name if project.index.resolve(loop.module, name) == cls else None


def _name_for(project: ProjectFacts, loop: Loop, cls: Definition) -> str | None:
    module = loop.module
    for name in [cls.name, *module.imports]:
        if loop.scope.binding(name) in (None, _module_scope(loop)) and _means(project, loop, name, cls):
            return name
    dotted_names = (f"{name}.{cls.name}" for name in module.imports)
    return next((name for name in dotted_names if _means(project, loop, name, cls)), None)


def _means(project: ProjectFacts, loop: Loop, name: str, cls: Class) -> bool:
    meaning = project.index.resolve(loop.module, name)
    return isinstance(meaning, Definition) and isinstance(cls, Definition) and meaning.node is cls.node


def _module_scope(loop: Loop) -> object:
    return next(scope for scope in loop.scope.chain() if scope.parent is None)
