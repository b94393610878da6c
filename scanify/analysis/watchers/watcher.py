"""One place in the project that looks at the leaves of trees in a way that depends on how layers are stored."""

from dataclasses import dataclass

from scanify.analysis.facts import Place
from scanify.analysis.index import Definition


@dataclass(frozen=True)
class Watcher:
    """`reads` says what it looks at: "the rank of each leaf".

    `classes` are the classes whose instances alone it looks for, where it does: it sees nothing of layers that hold
    none of them. They are definitions of the project, or qualified names. `attributes` are the names of the fields that
    alone it reads, where it reads some by name. `element_of` is the field of which it looks at one element alone, as in
    `jax.tree.leaves(model.layers[0])`: a stack gives the same layer there.
    """

    place: Place
    reads: str
    classes: tuple[Definition | str, ...] = ()
    attributes: frozenset[str] | None = None
    element_of: str | None = None
