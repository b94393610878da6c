"""Classes whose calls do more than make an object: what one call makes may be unlike what the next one makes.

A decorator may give a function that numbers the layers, a metaclass may add an argument to each call.
"""

import ast

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.values.classes import dotted, is_harmless
from scanify.analysis.values.run.interpreter import Interpreter


def made_otherwise(run: Interpreter, cls: Definition) -> str | None:
    """What may make each layer of a class another one, in words; None where calling it makes an object and no more."""
    lineage = run.classes.lineage(cls)
    replaced = next((each for each in ("__init__", "__new__") if run.classes.is_patched(each)), None)
    if replaced is not None:
        return f"code puts something in the place of a class's `{replaced}`"
    for owner in lineage:
        node = owner.node
        if not isinstance(node, ast.ClassDef):
            continue
        if any(each.arg == "metaclass" and not _is_of_library(run, owner, each.value) for each in node.keywords):
            return f"the metaclass of `{owner.name}` makes them"
        for decorator in node.decorator_list:
            function = decorator.func if isinstance(decorator, ast.Call) else decorator
            if not _is_of_library(run, owner, function, harmless=True):
                return f"`{ast.unparse(decorator)}` makes `{owner.name}`"
    for above in lineage[1:]:
        if "__init_subclass__" in run.classes.methods(above):
            return f"`__init_subclass__` of `{above.name}` may change `{cls.name}`"
    return None


def _is_of_library(run: Interpreter, owner: Definition, node: ast.expr, *, harmless: bool = False) -> bool:
    """True for a metaclass of a library, or with `harmless` a decorator that gives the class back."""
    name = dotted(node)
    meaning = run.index.resolve(owner.module, name) if name is not None else None
    return isinstance(meaning, External) and (is_harmless(meaning) or not harmless)
