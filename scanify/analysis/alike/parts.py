"""The classes that make up a layer, the code that builds one, and the stores into its fields."""

import ast
from collections.abc import Iterable, Iterator

from scanify.analysis.facts import Place
from scanify.analysis.index.by_name import by_name
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.layer_list import Class, identity
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import Function
from scanify.analysis.project_facts import ProjectFacts

_OF_LIBRARIES = ("weight", "bias", "inference")  # fields of equinox modules


def composition(project: ProjectFacts, cls: Class) -> Iterator[Class]:
    """Yield a class and, recursively, the classes of the modules that its constructors build."""
    waiting, seen = [cls], {identity(cls)}
    for each in waiting:  # the body appends to it
        yield each
        for home, function in constructors(project, each):
            for call in (node for node in nodes_in(*function.body) if isinstance(node, ast.Call)):
                made = home.meaning(call.func)
                if isinstance(made, Definition | External) and project.classes.is_module(made):
                    waiting += [made] if identity(made) not in seen else []
                    seen.add(identity(made))


def constructors(project: ProjectFacts, cls: Class) -> Iterator[tuple[Home, Function]]:
    """Yield the constructors of a class of the project and of its base classes."""
    for owner in project.classes.lineage(cls) if isinstance(cls, Definition) else ():
        for name in ("__init__", "__post_init__", "__check_init__"):
            function = project.classes.methods(owner).get(name)
            if function is not None:
                yield Home(project, owner.module, function), function


def writes_into(project: ProjectFacts, parts: Iterable[Class]) -> Iterator[tuple[str, Place]]:
    """Yield the fields that code sets although the class is frozen, or changes in place, each with one such place.

    They are found by name in the whole project: `object.__setattr__(layer, "rate", 0.1)`, `vars(layer)["rate"] = 0.1`,
    and `layer.weight[0] = 0.0` for a numpy array. Such a store reaches layers of a list, but no rows of a stack.
    """
    patches, names = project.index.patches, dict[str, None]()
    for part in parts:
        own = isinstance(part, Definition)
        names |= dict.fromkeys(project.classes.fields(part) if own else _OF_LIBRARIES)  # type: ignore[arg-type]
    for name in names:
        yield from ((name, patches.place(store)) for store in patches.stores(name) if store.forced)
        for module in project.index.modules_with(name):
            yield from ((name, module.place(node)) for node in by_name(module).elements.get(name, ()))
