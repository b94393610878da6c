"""What is known of the layers that a loop walks."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import Definition
from scanify.analysis.lower.loop import Walk
from scanify.analysis.values.domain import Instance, Unknown, options
from scanify.analysis.values.heap import DictCell, Group, ListCell

FUNCTIONS = "an element is a function"
FEW = 3  # fewer layers than these gain nothing


Reason = tuple[str, str, Place | None] | tuple[str, str, Place | None, str]  # the last is a remedy of its own


@dataclass(frozen=True, eq=False)
class Layers:
    """What is known of the layers that a walk goes over.

    `classes` has an instance for each class that they are shown to be of; `exact` says that there is one and that they
    are of that very class. `unlike` says why they may differ in more than arrays, `grouped` why they are equal only in
    parts, `refusal` why nothing can be done. `cells` are the lists. `given` says where the list comes from where the
    project does not build it; `hidden` that some elements are not shown. `several` says that each is a tuple or a list
    of layers, `functions` that some elements are functions, which are applied as layers are. `view` says that a name
    stands for a part of a list, or another order of it. `owner` and `attribute` are those of the field that holds the
    list; `guessed` is an object of unknown class whose attribute it is. `sequentials` are the calls that make what is
    walked, where that is no list but a `Sequential`. `trees` says that they are no modules but trees of arrays.
    `obligations` are what must hold of them for a scan to save anything.
    """

    walk: Walk
    cells: tuple[ListCell | DictCell, ...]
    classes: tuple[Instance, ...]
    exact: bool = False
    unlike: str | None = None
    grouped: str | None = None
    refusal: Reason | None = None
    few: str | None = None
    given: str = ""
    hidden: str = ""
    several: bool = False
    functions: bool = False
    optional: bool = False
    view: bool = False
    owner: Definition | None = None
    attribute: str | None = None
    guessed: str = ""
    sequentials: tuple[ast.AST, ...] = ()
    trees: bool = False
    why: Unknown | None = None
    obligations: tuple[str, ...] = ()

    @property
    def of_dict(self) -> bool:
        """Whether they are the values of a dict."""
        return any(isinstance(cell, DictCell) for cell in self.cells)

    @property
    def known(self) -> bool:
        """Whether the class of the layers is shown."""
        return bool(self.classes)


def groups_of(cell: ListCell | DictCell) -> list[Group]:
    """What a list or a dict of layers holds when it is built, in groups."""
    if isinstance(cell, ListCell):
        return list(cell.made)
    made = [Group(value, getattr(value, "node", None) or cell.node, cell.module) for value in cell.entries.values()]
    return [*made, *cell.groups]


def sources(cells: Iterable[ListCell | DictCell]) -> Iterator[ListCell | DictCell]:
    """Some lists and those that they are copies or parts of: what is put into these is in the copies, too."""
    for cell in cells:
        yield cell
        if isinstance(cell, ListCell) and cell.copied is not None:
            yield from sources([cell.copied])


def is_unshown(group: Group) -> bool:
    """Whether a group stands for all that something else holds, of which nothing is known: `[first, *others]`."""
    return group.spread and all(isinstance(option, Unknown) for option in options(group.element))


def sources_of(layers: Layers) -> Iterable[ListCell | DictCell]:
    """The list, and what it is a copy of where a function copies it: what others put there is in the copy, too."""
    return sources(layers.cells) if layers.attribute is None else layers.cells
