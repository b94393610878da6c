"""A name for the class of the layers in the file of a loop, so that its method can be named: `Block.__call__`."""

import ast

from scanify.analysis.index.meaning import External
from scanify.analysis.lists.layer_list import LayerList, identity
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.text import dotted
from scanify.analysis.project_facts import ProjectFacts


def owner_name(project: ProjectFacts, loop: Loop, layers: LayerList, method: str) -> str | None:
    """Return a name, in scope at the loop, of the class of the layers, None if there is none or it may be no method."""
    cls, node = layers.classes[0], layers.made[0].node
    if isinstance(cls, External):
        names = [dotted(node.func) or ""] if method == "__call__" and isinstance(node, ast.Call) else []
    else:
        found = project.classes.method(cls, method)
        if method != "__call__" and (found is None or found[1].decorator_list):
            return None
        imports = list(loop.module.imports)
        names = [cls.name, *imports, *(f"{name}.{cls.name}" for name in imports)]
    for name in names:
        binding = loop.scope.binding(name.partition(".")[0])
        in_module = binding is None or binding.parent is None
        if name and in_module and identity(project.index.resolve(loop.module, name)) == identity(cls):  # type: ignore[arg-type]
            return name
    return None
