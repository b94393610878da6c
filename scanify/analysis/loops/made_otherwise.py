"""Classes whose calls do more than make an object: what one call makes may be unlike what the next one makes.

A decorator may give a function that numbers the layers, a metaclass may add an argument to each call.
"""

import ast
from collections.abc import Sequence

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.values.calls.attributes import class_env
from scanify.analysis.values.calls.calls import call
from scanify.analysis.values.classes import is_harmless
from scanify.analysis.values.code.expressions import evaluate
from scanify.analysis.values.domain import Class, Function, Library, options
from scanify.analysis.values.run.effects import Act, Effect
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
        if any(each.arg == "metaclass" and _has_call(run, owner, each.value) for each in node.keywords):
            return f"the metaclass of `{owner.name}` makes them"
        for decorator in node.decorator_list:
            if not _gives_back(run, owner, decorator):
                return f"`{ast.unparse(decorator)}` makes `{owner.name}`"
    for above in lineage[1:]:
        told = run.classes.methods(above).get("__init_subclass__")
        if told is not None and _changes(run, Function(told, class_env(run, above), Class(cls)), []):
            return f"`__init_subclass__` of `{above.name}` changes `{cls.name}`"
    return None


def _has_call(run: Interpreter, owner: Definition, metaclass: ast.expr) -> bool:
    with run.question(), run.recording():
        meta = evaluate(run, run.module_env(owner.module), metaclass)
    if isinstance(meta, Class):
        return run.classes.method(meta.definition, "__call__") is not None
    return not isinstance(meta, Library)


def _gives_back(run: Interpreter, owner: Definition, decorator: ast.expr) -> bool:
    """Whether a decorator gives the class that it is given, with the methods that it has."""
    name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
    meaning = run.index.resolve(owner.module, name)
    if isinstance(meaning, External):
        return is_harmless(meaning)
    with run.question(), run.recording():
        function = evaluate(run, run.module_env(owner.module), decorator)
    return isinstance(function, Function) and not _changes(run, function, [Class(owner)], gives=owner)


def _changes(run: Interpreter, function: Function, given: Sequence[Class], gives: Definition | None = None) -> bool:
    """Whether a function writes to methods of the class that it is given, or does not give the class back."""
    with run.question(), run.recording() as effects:
        value = call(run, function.env, function.node, function, given, {})
    back = all(isinstance(each, Class) and each.definition == gives for each in options(value))
    return any(map(_is_of_methods, effects)) or (gives is not None and not back)


def _is_of_methods(effect: Effect) -> bool:
    """Whether an effect may be that of `cls.__init__ = made`; a class may be given names beside what it does."""
    if effect.act is not Act.WRITE:
        return False
    match effect.node:
        case ast.Attribute(attr=name):
            return name.startswith("__")
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str(name)), _]):
            return name.startswith("__")
        case ast.Call(func=function):
            return ast.unparse(function).rpartition(".")[2] in ("setattr", "__setattr__")
        case _:
            return False
