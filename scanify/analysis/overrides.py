"""Methods that classes of the given files put in place of one that they inherit: which one runs, an instance tells."""

from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from scanify.analysis.classes import lineage, methods
from scanify.analysis.project import Definition, Project


def overrides(project: Project, owner: Definition, name: str) -> Iterator[tuple[Definition, cst.FunctionDef]]:
    """The methods of a name that classes have which inherit from `owner`."""
    for heir in heirs(project, owner):
        for function in methods(heir):
            if function.name.value == name:
                yield heir, function


@lru_cache(maxsize=64)  # asked for each call of a method in the body of a loop, and in what it calls
def heirs(project: Project, owner: Definition) -> tuple[Definition, ...]:
    """The classes in the given files that inherit from a class, directly or not."""
    found: list[Definition] = []
    seen = {owner.key}
    names = [owner.name]
    while names:
        for module in project.given_with(names.pop()):
            for bound in module.bindings.values():
                for node in bound:
                    heir = Definition(module, node) if isinstance(node, cst.ClassDef) else None
                    if heir is None or heir.key in seen:
                        continue
                    if any(one.node is owner.node for one in lineage(project, heir)):
                        seen.add(heir.key)
                        found.append(heir)
                        names.append(heir.name)
    return tuple(found)
