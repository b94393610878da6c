"""One object in several layers: a layer that stands in the list twice, a module or an array that layers have in common.

A stack has an array of its own for each layer, so that training makes the copies differ.
"""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.names import target_names
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.declared import declared, is_static
from scanify.analysis.lists.home import Home, columns
from scanify.analysis.lists.layer_list import CALLED, LayerList, Reason, Varies
from scanify.analysis.lists.objects import home_of
from scanify.analysis.lists.reader import ContentsReader
from scanify.analysis.lists.statements import Put, statements_about
from scanify.analysis.lists.varies import Variation
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parameters
from scanify.analysis.lower.text import dotted
from scanify.analysis.project_facts import ProjectFacts

_NO_ARRAYS = frozenset(f"jax.numpy.{name}" for name in ("dtype", "shape", "ndim", "size", "finfo", "issubdtype"))
_ARRAY_TYPES = frozenset({"Array", "ndarray", "ArrayLike"})
_SAME_ARRAY = frozenset({"jax.numpy.asarray", "numpy.asarray", "jax.device_put", "jax.lax.stop_gradient", "copy.copy"})


def shared_objects(project: ProjectFacts, layers: LayerList) -> Iterator[Reason]:
    """One object that several layers are, or that several layers hold."""
    for made in layers.made:
        code = made.module.code(made.node)
        if made.shared and isinstance(made.node, ast.Subscript):
            yield "SCN204", f"several layers may be one object, `{code}`", made.place
        elif made.shared and not made.loops and made.repeated:
            yield "SCN204", "the list repeats one layer object with `*`", made.place
        elif made.shared and made.repeated:
            yield "SCN204", f"every layer is the same object, `{code}`", made.place
        elif made.shared:
            yield "SCN204", "one layer object stands in the list more than once", made.place
    nodes = (
        [made.node for made in layers.made] if len(layers.walk.bases) == 1 else []
    )  # `a + a` stacks both in the call
    for at, made in enumerate(layers.made):
        if made.node in nodes[:at]:
            yield "SCN204", f"`{made.module.code(made.node)}` stands in the list more than once", made.place
        variation = Variation(home_of(project, made.module, made.node), made.loops)
        for each in made.arguments if made.repeated and made.cls is not None else ():
            what = _one_object(variation, each.value) if each.varies is Varies.SAME and each.name != CALLED else None
            if what is not None:
                code = made.module.code(each.value)
                text = f"every layer is given the same {what}, `{code}`; pass it to the layer's call instead"
                yield "SCN204", text, made.place
            elif (
                each.varies is Varies.OTHER
                and not layers.open
                and any(_may_repeat(variation, node) for node in nodes_in(each.value))
            ):
                text = f"several layers may hold one object that `{made.module.code(each.value)}` gives"
                yield "SCN204", text, made.place


def _may_repeat(variation: Variation, node: ast.AST) -> bool:
    """True if an expression takes modules out of a list, which it may give to several layers."""
    home, loops = variation.home, variation.loops
    names = [
        (part, source)
        for loop in loops
        if not isinstance(loop, ast.While)
        for target, source in columns(home, loop.target, loop.iter)
        for part in target_names(target)
    ]
    match node:
        case ast.Subscript(value=ast.Name() as listed, slice=index):
            source, plain = listed, isinstance(index, ast.Name) and (index.id, None) in names
        case ast.Name(id=name):
            source, plain = next((each for part, each in names if part == name), None), True
        case _:
            return False
    if source is None:
        return False
    reader = ContentsReader(home.project)
    reader.value(home, source)
    made = [each for each in reader.contents.made if each.cls is not None and home.project.classes.is_module(each.cls)]
    nodes = [each.node for each in made]
    twice = any(each.shared for each in made) or any(each in nodes[:at] for at, each in enumerate(nodes))
    return bool(made) and (twice or bool(reader.contents.open) or not plain or len(loops) > 1)


def _one_object(variation: Variation, node: ast.expr) -> str | None:
    """Return "module" or "array" if an expression is shown to give all layers one and the same object of that kind."""
    home = variation.home
    if home.library(node) in _SAME_ARRAY and isinstance(node, ast.Call) and node.args:
        return _one_object(variation, node.args[0])
    name = dotted(node)
    if name is None or home.function is None or variation.is_key(node):
        return None
    values = [each.value for each in statements_about(home, home.function.body, name) if isinstance(each, Put)]
    meaning = home.meaning(node) if not values else None
    if isinstance(meaning, Definition) and isinstance(value := getattr(meaning.node, "value", None), ast.expr):
        values, home = [value], Home(home.project, meaning.module, None)
    if any(Variation(home, ()).makes_module(each) for each in values):
        made_of = [home.meaning(each.func) for each in values if isinstance(each, ast.Call)]
        return None if all(_holds_settings(home.project, each) for each in made_of) else "module"
    made = [home.library(each) for each in values]
    made += [
        "jax.numpy.stack" for each in values if isinstance(each, ast.Call) and home.library(each.func).endswith("vmap")
    ]
    if any(each.startswith(("jax.numpy.", "jax.random.")) and each not in _NO_ARRAYS for each in made):
        return "array"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):  # `first.weight`, of a layer
        return (
            "array" if any(_holds_array(home, each, node.attr) for _, each in home.values_of(node.value.id)) else None
        )
    annotation = next((each.annotation for each in parameters(home.function) if each.arg == name), None)
    if values or annotation is None:
        return None
    said = declared(home.project, home.module, annotation)
    if said.cls is not None and not said.data:
        return None if _holds_settings(home.project, said.cls) else "module"
    return "array" if _is_array(annotation) else None


def _holds_settings(project: ProjectFacts, cls: object) -> bool:
    """True if all fields of a class and of its subclasses are static: its objects hold no arrays."""
    if not isinstance(cls, Definition):
        return False
    fields = [field for each in (cls, *project.classes.heirs(cls)) for field in project.classes.fields(each).values()]
    return all(is_static(each.default) for each in fields)


def _holds_array(home: Home, value: ast.expr | None, name: str) -> bool:
    """True if a call makes a module whose field of that name is an array."""
    cls = home.meaning(value.func) if isinstance(value, ast.Call) else None
    if isinstance(cls, External):
        return home.project.classes.is_module(cls) and name in ("weight", "bias")
    field = home.project.classes.fields(cls).get(name) if isinstance(cls, Definition) else None
    return field is not None and _is_array(field.statement.annotation)


def _is_array(annotation: ast.expr) -> bool:
    names = set(_names(annotation))
    return bool(names & _ARRAY_TYPES) and not names & {"int", "float", "bool"}


def _names(annotation: ast.expr) -> Iterator[str]:
    for each in nodes_in(annotation):
        if isinstance(each, ast.Name | ast.Attribute | ast.Constant):
            yield str(getattr(each, "id", None) or getattr(each, "attr", None) or getattr(each, "value", ""))
