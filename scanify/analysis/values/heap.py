"""The heap: lists, tuples and dicts by the place that allocates them, with what was put into them and who uses them."""

import ast
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place
from scanify.analysis.values.data import Data
from scanify.analysis.values.domain import Value, join
from scanify.analysis.values.objects.part import Part, taken

if TYPE_CHECKING:
    from scanify.analysis.index.module import Module


@dataclass(frozen=True, eq=False)
class Group:
    """Elements that one expression makes: one, or one an iteration of the loops numbered `loops`.

    `count` is how many, where that is known; `node` the expression, in `module`. `spread` says that they are all the
    elements of what `node` gives, `own` that each is made for its place there, `part` that they are taken from a list.
    """

    element: Value
    node: ast.AST
    module: "Module"
    loops: tuple[int, ...] = ()
    count: int | None = 1
    spread: bool = False
    conditional: bool = False
    own: bool = False
    part: Part | None = None

    @property
    def repeated(self) -> bool:
        """Whether there may be several."""
        return bool(self.loops) or self.count != 1


class Does(Enum):
    """What a use does with a list (or a dict)."""

    WALK = "walks it"
    INDEX = "reads an element"
    SLICE = "takes a part of it"
    LENGTH = "asks for its length"
    TEST = "asks whether it is there"
    GROW = "adds to it"
    CHANGE = "changes it"
    PASS = "gives it to a function"
    READ = "gives it to a function that only reads it"
    TEXT = "makes text of it"
    JOIN = "joins it with another list"
    COMPARE = "compares it"
    TYPE = "asks for its type"
    ATTRIBUTE = "asks for an attribute of it"
    STORE = "keeps it in another object"
    REPLACE = "replaces a part of it"
    RETURN = "gives it back"


@dataclass(frozen=True, eq=False)
class Use:
    """One use of a cell: what it does, where, in which function, and in words what it is given to.

    `clock` is when; `building` says that the constructor that the object is made for is still running, `making` that
    the function that makes it is, `guessed` that it may be another object.
    """

    does: Does
    node: ast.AST
    place: Place
    function: ast.AST | None
    what: str = ""
    clock: int = 0
    building: bool = False
    guessed: bool = False
    making: bool = False


_runs = 0  # how often `forget_uses` was called


def forget_uses() -> None:
    """Begin anew where trees outlive a run: some of the uses that were noted may be gone from their files."""
    global _runs
    _runs += 1


@dataclass(eq=False)
class Site:
    """A place that allocates: all objects that are made there share what is known of their uses."""

    node: ast.AST
    module: "Module"
    uses: dict[tuple[ast.AST, Does], Use] = field(default_factory=dict)
    run: int = field(default_factory=lambda: _runs)

    def is_new(self, node: ast.AST, does: Does, building: bool, making: bool = False) -> bool:
        """Whether a use says more than what is noted."""
        known = self.uses.get((node, does))
        return known is None or (known.building and not building) or (known.making and not making)

    def use(self, use: Use) -> None:
        """Note a use; each node once for each thing that it does. A use beside the building of the object stays."""
        if self.is_new(use.node, use.does, use.building, use.making):
            self.uses[use.node, use.does] = use


@dataclass(eq=False)
class Cell:
    """An object of the heap: the place that allocates it, and when (`born` counts allocations and calls).

    `lasts` says that there is one for as long as its file: the value of a name of it, of a default, a class's constant.
    """

    node: ast.AST
    module: "Module"
    born: int
    function: ast.AST | None = None
    lasts: bool = field(default=False, init=False)

    @property
    def site(self) -> Site:
        """What all objects that are allocated here share; it is kept with the tree and goes with it or the run."""
        site: Site | None = getattr(self.node, "_site", None)
        if site is None or site.run != _runs:
            site = Site(self.node, self.module)
            self.node._site = site  # type: ignore[attr-defined]
        return site

    @property
    def uses(self) -> list[Use]:
        """The uses of all objects that are allocated here."""
        return list(self.site.uses.values())

    @property
    def changes(self) -> bool:
        """Whether anything is known to change it after it was made."""
        return any(use.does in (Does.GROW, Does.CHANGE, Does.REPLACE) for use in self.uses)


@dataclass(eq=False)
class ListCell(Cell):
    """A list or a tuple: its groups in order.

    `whole` says that the groups are all that it holds: where it is false `why` says what else it may hold.
    `given` is what it is, in words, where the code does not build it: a parameter, the result of a call.
    `may_lack` says that it is made of several lists of which one is empty. `data` is what is known of the elements of a
    list of which no group is known.
    """

    groups: list[Group] = field(default_factory=list)
    is_tuple: bool = False
    whole: bool = True
    why: str = ""
    why_at: Place | None = None
    given: str = ""
    grown: list[ast.AST] = field(default_factory=list)
    repeats: ast.AST | None = None
    copied: "ListCell | DictCell | None" = None
    built: tuple[Group, ...] | None = None
    may_lack: bool = False
    data: Data = Data.OPEN

    @property
    def made(self) -> tuple[Group, ...]:
        """What it holds when the constructor that it is made for is done."""
        return self.built if self.built is not None else tuple(self.groups)

    def element(self) -> Value:
        """What any element may be that is taken out."""
        return taken(join(group.element for group in self.groups), Part(self))

    def length(self) -> int | None:
        """How many elements there are, where that is known."""
        counts = [group.count for group in self.groups]
        return sum(one for one in counts if one is not None) if self.whole and None not in counts else None

    def least(self) -> int:
        """How many elements there are at least."""
        return sum(group.count or 0 for group in self.groups if not group.conditional)


@dataclass(eq=False)
class DictCell(Cell):
    """A dict: what is known under constant keys, and a group for everything that is stored under other keys."""

    entries: dict[object, Value] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    whole: bool = True
    why: str = ""
    why_at: Place | None = None
    given: str = ""
    grown: list[ast.AST] = field(default_factory=list)

    def value(self) -> Value:
        """What any value in it may be."""
        return taken(join([*self.entries.values(), *(group.element for group in self.groups)]), Part(self))
