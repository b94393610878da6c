"""Layers that hold objects of classes which the project registers as pytrees, with functions of its own.

To stack layers is to take such an object apart, and to put it together with the arrays of all layers: what the
functions forget or compute then is another one than that of each layer.
"""

from collections.abc import Iterator

from scanify.analysis.index.meaning import Definition
from scanify.analysis.loops.lists.layer_list import Layers, groups_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.values.domain import Instance, Value
from scanify.analysis.values.objects.held import held
from scanify.analysis.values.run.interpreter import Interpreter

_DATACLASSES = ("chex.dataclass", "struct.dataclass", "flax.struct.dataclass")


def registered_obligations(run: Interpreter, layers: Layers) -> Iterator[str]:
    """What must hold of the pytrees of the project that layers hold."""
    found = (value for cell in layers.cells for group in groups_of(cell) for value in _held(group.element))
    for cls in dict.fromkeys(each.cls for each in found if isinstance(each.cls, Definition)):
        pytree = isinstance(cls, Definition) and run.classes.is_pytree(cls) and not run.classes.is_module(cls)
        if isinstance(cls, Definition) and pytree and not _by_fields(run, cls):
            place = cls.module.place(cls.node).named
            yield f"the functions that take objects of `{cls.name}` ({place}) apart forget and compute nothing"


def _held(value: Value) -> Iterator[Instance]:
    """The objects in a layer, at any depth."""
    return (each for each, _ in held(value) if isinstance(each, Instance))


def _by_fields(run: Interpreter, cls: Definition) -> bool:
    """True if jax or flax take the class apart by its fields, and it has no functions of its own for that."""
    names = [dotted(getattr(each, "func", each)) or "" for each in getattr(cls.node, "decorator_list", ())]
    by_fields = cls.module.writes(f"register_dataclass({cls.name}") or cls.module.writes("partial(register_dataclass")
    by_fields |= any(name in _DATACLASSES or name.rpartition(".")[2] == "register_dataclass" for name in names)
    own = any(
        name.startswith("tree_flatten") for owner in run.classes.lineage(cls) for name in run.classes.methods(owner)
    )
    return by_fields and not own and not cls.module.writes(f"register_pytree_node({cls.name}")
