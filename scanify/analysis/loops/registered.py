"""Layers that hold objects of classes which the project registers as pytrees, with functions of its own.

To stack layers is to take such an object apart, and to put it together with the arrays of all layers: what the
functions forget or compute then is another one than that of each layer.
"""

import ast
from collections.abc import Iterator

from scanify.analysis.index.meaning import Definition
from scanify.analysis.loops.lists.layer_list import Layers, groups_of
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import dotted
from scanify.analysis.values.domain import Instance, Value
from scanify.analysis.values.objects.held import held
from scanify.analysis.values.run.interpreter import Interpreter

# What makes an object and computes nothing.
_MAKERS = ("cls", "type", "zip", "dict", "tuple", "list", "__new__", "setattr", "__setattr__", "super", "replace")


def registered_obligations(run: Interpreter, layers: Layers) -> Iterator[str]:
    """What must hold of the pytrees of the project that layers hold."""
    found = (value for cell in layers.cells for group in groups_of(cell) for value in _held(group.element))
    for cls in dict.fromkeys(each.cls for each in found if isinstance(each.cls, Definition)):
        if isinstance(cls, Definition) and run.classes.is_pytree(cls) and not run.classes.is_module(cls):
            why = _why_not_plain(run, cls)
            if why:
                place = cls.module.place(cls.node)
                yield f"objects of `{cls.name}` ({place.named}) are the same with the arrays of all layers: {why}"


def _held(value: Value) -> Iterator[Instance]:
    """The objects in a layer, at any depth."""
    return (each for each, _ in held(value) if isinstance(each, Instance))


def _why_not_plain(run: Interpreter, cls: Definition) -> str:
    """Why taking an object apart and putting it together may give another one; "" where it gives the same."""
    owners = reversed(run.classes.lineage(cls))  # what a class has itself comes last, and stays
    methods = {name: each for owner in owners for name, each in run.classes.methods(owner).items()}
    flatten: list[ast.AST] = [each for name, each in methods.items() if name.startswith("tree_flatten")]
    unflatten: ast.AST | None = methods.get("tree_unflatten")
    if not flatten and unflatten is None and _by_fields(cls):
        return ""
    if not flatten and unflatten is None:
        flatten, unflatten = _functions_beside(cls)
    if not flatten or unflatten is None:
        return "the source does not show how it is taken apart and put together"
    init = methods.get("__init__") or methods.get("__post_init__")
    if init is not None and not all(_only_keeps(statement) for statement in init.body):
        return "it computes when it is made"
    calls = (dotted(each.func) or "" for each in nodes_in(unflatten) if isinstance(each, ast.Call))
    computes = any(isinstance(each, ast.BinOp | ast.UnaryOp) for each in nodes_in(unflatten))
    if computes or any(name.rpartition(".")[2] not in (*_MAKERS, cls.name) for name in calls):
        return "it computes when it is put together"
    if any(_asks_for_all(each) for each in flatten):
        return ""
    kept = {each.attr for part in flatten for each in nodes_in(part) if isinstance(each, ast.Attribute)}
    missing = sorted(_attributes(run, cls) - kept)
    return f"`{missing[0]}` is no part of what it is taken apart into" if missing else ""


def _functions_beside(cls: Definition) -> tuple[list[ast.AST], ast.AST | None]:
    """The functions that `register_pytree_node(Class, flatten, unflatten)` is given, as far as they are shown."""
    tree = cls.module.tree
    functions = {each.name: each for each in nodes_in(tree) if isinstance(each, ast.FunctionDef)}
    for call in nodes_in(tree):
        match call:
            case ast.Call(args=[ast.Name(id=cls.name), flatten, unflatten]) if "register" in (dotted(call.func) or ""):
                apart, together = (functions.get(getattr(each, "id", ""), each) for each in (flatten, unflatten))
                if all(isinstance(each, ast.FunctionDef | ast.Lambda) for each in (apart, together)):
                    return [apart], together
    return [], None


def _by_fields(cls: Definition) -> bool:
    """Whether jax or flax take the class apart by its fields."""
    names = [dotted(getattr(each, "func", each)) or "" for each in getattr(cls.node, "decorator_list", ())]
    names += [each for each in ("register_dataclass",) if cls.module.writes(each)]
    return any("dataclass" in name.rpartition(".")[2] and name != "dataclasses.dataclass" for name in names)


def _only_keeps(statement: ast.stmt) -> bool:
    """`self.value = value`: what is given is kept as it is."""
    match statement:
        case ast.Assign(value=ast.Name() | ast.Constant()) | ast.AnnAssign(value=ast.Name() | ast.Constant()):
            return True
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            return True
        case _:
            return False


def _asks_for_all(function: ast.AST) -> bool:
    """Whether a function asks for all that an object has: `vars(self)`, `self.__dict__`, `fields(self)`."""
    called = {dotted(each.func) for each in nodes_in(function) if isinstance(each, ast.Call)}
    asks = {"vars", "fields", "dataclasses.fields", "dataclasses.astuple", "astuple"}
    return bool(called & asks) or any(getattr(each, "attr", "") == "__dict__" for each in nodes_in(function))


def _attributes(run: Interpreter, cls: Definition) -> set[str]:
    """What objects of a class may have of their own: its fields, and what its methods store."""
    owners = run.classes.lineage(cls)
    stores = (each for owner in owners for method in run.classes.methods(owner).values() for each in nodes_in(method))
    found = {each.attr for each in stores if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)}
    return found | set(run.classes.fields(cls))
