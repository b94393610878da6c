"""Layers that some code needs as the very objects that they are: it writes into one, or asks which one it is."""

from scanify.analysis.facts import Place
from scanify.analysis.loops.lists.layer_list import Layers, groups_of, sources_of
from scanify.analysis.values.domain import Instance, options
from scanify.analysis.values.heap import DictCell, Does, ListCell, Use
from scanify.analysis.values.run.interpreter import Interpreter

_WORDS = {
    Does.COMPARE: "compares layers as objects",
    Does.CHANGE: "writes into a layer",
    Does.PASS: "is given a layer, and may keep it",
}


def touched_layer(run: Interpreter, cell: ListCell | DictCell) -> tuple[str, Place] | None:
    """A use of an element of a list that needs the very object, in words and with its place."""
    for group in cell.made if isinstance(cell, ListCell) else cell.groups:
        for option in options(group.element):
            touched = _touched(run, option)
            if touched is not None:
                return f"`{touched.what}` {_WORDS[touched.does]}", touched.place
    return None


def may_be_unlike(run: Interpreter, layers: Layers) -> bool:
    """Whether other code writes into single layers, so that they may differ in more than the values of arrays."""
    elements = (group.element for cell in sources_of(layers) for group in groups_of(cell))
    uses = (_touched(run, option) for element in elements for option in options(element))
    return any(use is not None and use.does in (Does.CHANGE, Does.PASS) for use in uses)


def _touched(run: Interpreter, value: object, seen: frozenset[int] = frozenset()) -> Use | None:
    """A use of a layer, or of a module in it, that needs the very object."""
    if not isinstance(value, Instance) or id(value.fields) in seen or not run.touched:
        return None
    use = run.touched.get(id(value.fields)) or (run.touched_at.get(value.node) if value.node is not None else None)
    if use is not None:
        return use
    parts = (option for field in list(value.fields.values()) for option in options(field))
    return next((use for part in parts if (use := _touched(run, part, seen | {id(value.fields)})) is not None), None)
