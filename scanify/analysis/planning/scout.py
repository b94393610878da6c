"""A first, shallow run: which loops may be over modules, whatever the functions do that are called on the way.

Most loops of a project walk numbers, texts, records. To see that, the function around a loop is run by itself: what it
calls is taken at what it declares to give. Only functions with loops that may be over modules are then run for good.
"""

import ast
from collections.abc import Sequence

from scanify.analysis.index.meaning import Definition
from scanify.analysis.loops.applied import calls_itself
from scanify.analysis.loops.lists.layers import walked_values
from scanify.analysis.loops.lists.unshown import modules_among, says_no_class
from scanify.analysis.lower.loop import Form, Loop
from scanify.analysis.values.classes import dotted
from scanify.analysis.values.domain import (
    Array,
    Const,
    Instance,
    Key,
    Listed,
    Mapped,
    Number,
    Text,
    Unknown,
    Value,
    Walked,
    options,
)
from scanify.analysis.values.heap import DictCell, ListCell
from scanify.analysis.values.objects.likeness import is_layer
from scanify.analysis.values.run.explore import CONSTRUCTORS, Explorer
from scanify.analysis.values.run.interpreter import Interpreter

_DEPTH = 4  # lists in lists


def is_foreign(run: Interpreter, loop: Loop) -> bool:
    """Whether a loop walks fields of a module of PyTorch, Keras and their like, which hold none of Equinox."""
    owner, function = loop.scope.owner, loop.scope.function
    if owner is None or function is None or not loop.scope.params:
        return False
    if not all(_root(base) == loop.scope.params[0] for walk in loop.walks for base in walk.bases):
        return False
    meaning = run.index.resolve(loop.module, owner.name)
    return isinstance(meaning, Definition) and meaning.node is owner and run.classes.is_foreign(meaning)


def _root(node: ast.expr) -> str | None:
    """`self` of `self.encoder.layers`; None for a name by itself, and for all else."""
    name = dotted(node)
    return name.partition(".")[0] if name is not None and "." in name else None


def scout(run: Interpreter) -> Interpreter:
    """An interpreter of the same project that does not go into calls."""
    return Interpreter(run.index, run.classes, shallow=True)


def may_walk_modules(run: Interpreter, explorer: Explorer, loop: Loop, *, alone: bool = False) -> bool:
    """Whether anything that a shallow run shows of what a loop walks may be, or may hold, modules.

    Where the loop is looked at `alone`, what is not shown in a constructor may be anything: a shallow run of other code
    goes into those, and may give it modules.
    """
    envs = explorer.envs(loop.node)
    if not envs or loop.form is Form.SEQUENTIAL:
        return True
    function = loop.scope.function
    given = alone and function is not None and function.name in CONSTRUCTORS
    for walk in loop.walks:
        values = walked_values(run, walk, envs)
        if given and any(isinstance(value, Unknown) for value in values):
            return True
        if any(_may_hold(run, value) for value in values if not isinstance(value, Unknown)):
            return True
        unknown = [value for value in values if isinstance(value, Unknown)]
        if any(value.born for value in unknown) or (unknown and calls_itself(loop, walk)):
            return True
    return False


def _may_hold(run: Interpreter, value: Value, depth: int = 0) -> bool:
    if depth > _DEPTH:
        return True
    match value:
        case Array() | Number() | Text() | Key() | Const():
            return False
        case Listed() | Mapped():
            return _cell_may_hold(run, value.cell, depth)
        case Walked():
            return any(_may_hold(run, option, depth + 1) for part in value.parts for option in options(part))
        case _:
            return True


def _cell_may_hold(run: Interpreter, cell: ListCell | DictCell, depth: int) -> bool:
    elements: Sequence[Value] = [group.element for group in cell.groups]
    if isinstance(cell, DictCell):
        elements = [*elements, *cell.entries.values()]
    if not elements or cell.given:
        return True
    return any(_may_be(run, option, depth) for element in elements for option in options(element))


def _may_be(run: Interpreter, element: Value, depth: int) -> bool:
    """Whether an element may be a module, or hold some."""
    if isinstance(element, Instance) and isinstance(element.cls, Definition):
        return is_layer(run, element) or says_no_class(run, element) or bool(modules_among(run, element))
    return _may_hold(run, element, depth + 1)
