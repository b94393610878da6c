"""Where the given files search whole trees for modules of a class: `jax.tree.leaves(model, is_leaf=is_linear)`.

In a list such a search finds the modules of each layer. In a stack it finds one in place of them all, with stacked
arrays: what is counted, drawn anew or measured there by its shape is another value, without a word.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst

from scanify.analysis.children import nodes_in
from scanify.analysis.classes import is_module, lineage
from scanify.analysis.code import code_of
from scanify.analysis.elements import ElementClass
from scanify.analysis.facts import Place
from scanify.analysis.project import Assigned, Definition, External, Module, Project, dotted

_LAYERS = ("equinox", "haliax")  # packages whose classes layers are made of
_HOLD = {"MLP": ("Linear",), "MultiheadAttention": ("Linear", "Dropout")}
_ANY = ("equinox.Module", "equinox.nn.StatefulLayer")
_MAX_CLASSES = 200


@dataclass(frozen=True, eq=False)
class Search:
    """A class that the `is_leaf` of a call asks for."""

    kind: Definition | External
    text: str
    place: Place


def search_for(project: Project, kinds: Sequence[ElementClass]) -> Search | None:
    """The first search for modules that layers of these classes are or hold; of no class, that any layer may hold."""
    searches = _searches(project)
    if not searches:
        return None
    held = _held(project, kinds)
    return next((one for one in searches if not kinds or _finds(one, held)), None)


@lru_cache(maxsize=8)  # asked for each list of a project
def _searches(project: Project) -> tuple[Search, ...]:
    return tuple(one for module in project.given_with("is_leaf") for one in _in(project, module))


def _in(project: Project, module: Module) -> Iterator[Search]:
    for node in nodes_in(module.parsed.module):
        if not isinstance(node, cst.Arg) or node.keyword is None or node.keyword.value != "is_leaf":
            continue
        for asked in _asked(module, node.value):
            meaning = project.resolve(module, dotted(asked) or "")
            external = isinstance(meaning, External) and meaning.qualname.partition(".")[0] in _LAYERS
            if external or (isinstance(meaning, Definition) and is_module(project, meaning)):
                assert isinstance(meaning, Definition | External)
                yield Search(meaning, code_of(asked), module.parsed.place(node))


def _asked(module: Module, predicate: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The classes that a predicate asks for with `isinstance`: of a lambda, or of any function of its name."""
    bodies: list[cst.CSTNode] = [predicate]
    name = (dotted(predicate) or "").rpartition(".")[2]
    for node in nodes_in(module.parsed.module) if name else ():
        match node:
            case cst.FunctionDef(name=cst.Name(value=made)) if made == name:
                bodies.append(node)
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=made))], value=value) if made == name:
                bodies.append(value)
            case _:
                pass
    for node in (one for body in bodies for one in nodes_in(body)):
        if isinstance(node, cst.Call) and dotted(node.func) == "isinstance" and len(node.args) == 2:
            yield from _members(node.args[1].value)


def _members(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    match node:
        case cst.Tuple():
            for element in node.elements:
                yield from _members(element.value)
        case cst.BinaryOperation(operator=cst.BitOr()):
            yield from _members(node.left)
            yield from _members(node.right)
        case _:
            yield node


def _held(project: Project, kinds: Sequence[ElementClass]) -> list[Definition | External]:
    """The classes and functions that layers are made of, as far as their source names them."""
    found: list[Definition | External] = []
    new: list[Definition | External] = [one.meaning for one in kinds]
    seen: set[object] = set()
    while new and len(found) < _MAX_CLASSES:
        meaning = new.pop()
        key = meaning.key if isinstance(meaning, Definition) else meaning
        if key in seen:
            continue
        seen.add(key)
        found.append(meaning)
        if isinstance(meaning, Definition):
            new += [one for one in lineage(project, meaning) if isinstance(meaning.node, cst.ClassDef)]
            new += _named(project, meaning)
    return found


def _named(project: Project, definition: Definition) -> Iterator[Definition | External]:
    for name in dict.fromkeys(
        dotted(node) for node in nodes_in(definition.node) if isinstance(node, cst.Name | cst.Attribute)
    ):
        meaning = project.resolve(definition.module, name) if name else None
        if isinstance(meaning, Assigned):  # a table of classes, perhaps
            for node in nodes_in(meaning.value) if meaning.value is not None else ():
                inner = project.resolve(meaning.module, dotted(node) or "") if isinstance(node, cst.Name) else None
                if isinstance(inner, Definition | External):
                    yield inner
        elif isinstance(meaning, Definition | External):
            yield meaning


def _finds(search: Search, held: Sequence[Definition | External]) -> bool:
    asked = search.kind
    if isinstance(asked, Definition):
        return any(isinstance(one, Definition) and one.node is asked.node for one in held)
    last = asked.qualname.rpartition(".")[2]
    names = {one.qualname.rpartition(".")[2] for one in held if isinstance(one, External) and _is_layer(one)}
    names |= {part for name in names for part in _HOLD.get(name, ())}
    # `Conv` is what `Conv1d` and `Conv2d` inherit from.
    return asked.qualname in _ANY or any(name.startswith(last) for name in names)


def _is_layer(one: External) -> bool:
    return one.qualname.partition(".")[0] in _LAYERS
