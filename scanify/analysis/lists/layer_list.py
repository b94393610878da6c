"""The layers that a loop iterates over, as far as the source shows them."""

import ast
from dataclasses import dataclass
from enum import IntEnum

from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.lower.loop import Walk
from scanify.analysis.obligation import Kind, Obligation
from scanify.analysis.stack import After, Annotation, CallStack, Wrap

Reason = tuple[str, str, Place | None] | tuple[str, str, Place | None, str]
"""A rule, the reason for a refusal, its place, and a remedy if the reason has a special one."""

FEW = 3  # a scan over fewer layers saves nothing

CALLED = "()"  # the name of the called function as an argument, if it is not shown to be a class

Class = Definition | External


class Varies(IntEnum):
    """How much an expression varies from layer to layer, in increasing order.

    SAME: equal for all layers. KEY: a random key, or a separate object for each layer that differs only in its key.
    FEW: one of a few values, such as `64 if i == 0 else 128`. OTHER: anything.
    """

    SAME = 0
    KEY = 1
    FEW = 2
    OTHER = 3


@dataclass(frozen=True, eq=False)
class Argument:
    """One argument of a constructor call; `name` is None for a positional one."""

    name: str | None
    value: ast.expr
    varies: Varies


@dataclass(frozen=True, eq=False)
class Made:
    """One expression that makes layers.

    `node` makes one layer, such as `Block(dim, key=k)`; `cls` is the class that it calls, None if that is not shown.
    `repeated`: a comprehension or a loop around an `append` evaluates it for several layers. `conditional`: an `if` or
    a `break` decides whether it makes a layer. `shared`: several layers may be the same object. `count` is the number
    of layers that it makes, as text: `n`, `len(keys)`, `12`; None if that is not a plain expression.
    """

    module: Module
    node: ast.expr
    cls: Class | None
    arguments: tuple[Argument, ...] = ()
    repeated: bool = False
    conditional: bool = False
    shared: bool = False
    count: str | None = None

    @property
    def place(self) -> Place:
        """The place of the expression."""
        return self.module.place(self.node)

    @property
    def varies(self) -> Varies:
        """The largest variation among the arguments."""
        return max((each.varies for each in self.arguments), default=Varies.SAME)


@dataclass(frozen=True, eq=False)
class LayerList:
    """The list of layers that one walk of a loop goes over.

    `name` is the list as written: `self.layers`. `owner` and `attribute` are the class and the field that hold it, None
    for a local name or a parameter. `made` are the expressions that make its layers, in order; empty if none is shown.
    `declared` is the class of the elements by annotation: `list[Block]`, `tuple[Block, ...]`. `sites` are the places
    where the list could be stacked, `annotations` those that have to change with it; without sites, `in_call` says why
    it stays a list. `refusal` says why it can be stacked nowhere.

    `parameter`: the list is a parameter of the function, or a field that a caller fills. `optional`: it may be None.
    `of_dict`: the layers are the values of a dict. `may_be_empty`: there may be no layer at all. `open` are obligations
    for facts that the source does not show.
    """

    walk: Walk
    name: str
    owner: Definition | None = None
    attribute: str | None = None
    made: tuple[Made, ...] = ()
    declared: Class | None = None
    sites: tuple[Wrap | After, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    in_call: CallStack | None = None
    refusal: Reason | None = None
    parameter: bool = False
    optional: bool = False
    of_dict: bool = False
    may_be_empty: bool = False
    open: tuple[Obligation, ...] = ()

    @property
    def classes(self) -> tuple[Class, ...]:
        """The known classes of the layers, without repeats; taken from the annotation if no expression is shown."""
        if not self.made:
            return (self.declared,) if self.declared is not None else ()
        shown: dict[object, Class] = {}
        for made in self.made:
            if made.cls is not None:
                shown.setdefault(identity(made.cls), made.cls)
        return tuple(shown.values())

    @property
    def exact(self) -> bool:
        """True if every layer is shown to be of exactly one class."""
        return bool(self.made) and len(self.classes) == 1 and all(each.cls for each in self.made) and not self.open


def identity(cls: Class | None) -> object:
    """Return a key for a class, since resolving a name gives a new `Definition` each time."""
    return cls.node if isinstance(cls, Definition) else getattr(cls, "qualname", None)


def class_name(cls: Class) -> str:
    """Return the name of a class for messages."""
    return cls.name if isinstance(cls, Definition) else cls.qualname


def not_shown(text: str, place: Place | None) -> Obligation:
    """Return the obligation that something about the layers is not shown, on one line, whatever code it quotes."""
    return Obligation(Kind.LAYERS, " ".join(text.split()), place)
