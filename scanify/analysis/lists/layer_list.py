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
"""A rule, why it refuses, where, and a remedy if it has one of its own."""

FEW = 3  # a scan over fewer layers saves nothing

CALLED = "()"  # the name of the argument that is the function itself, where that is no class that is shown

Class = Definition | External


class Varies(IntEnum):
    """How an expression differs from layer to layer, in order of what can be said of it.

    SAME: equal for all layers. KEY: a random key, or an object that each layer has of its own, made alike but for its
    key. FEW: one of a few values, such as `64 if i == 0 else 128`. OTHER: anything.
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

    `node` is that of a layer, such as `Block(dim, key=k)`; `cls` is the class that it calls, None where that is not
    shown. `repeated`: a comprehension or a loop around an `append` evaluates it for several layers. `conditional`: an
    `if` or a `break` decides whether it makes a layer. `shared`: several layers may be the one object that it gives.
    `count` is the number of layers that it makes as text: `n`, `len(keys)`, `12`; None where that is not plain.
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
        """The worst of its arguments."""
        return max((each.varies for each in self.arguments), default=Varies.SAME)


@dataclass(frozen=True, eq=False)
class LayerList:
    """The list of layers that one walk of a loop goes over.

    `name` is the list as it is written: `self.layers`. `owner` and `attribute` are the class and the field that hold
    it, None for a local name or a parameter. `made` are the expressions that make its layers, in their order; empty if
    nothing is shown. `declared` is the class of an element by annotation: `list[Block]`, `tuple[Block, ...]`.
    `sites` are the places where it could be stacked, `annotations` those that have to change with it; without sites
    `in_call` says why it stays a list; `refusal` why it can be stacked nowhere.

    `parameter`: it is a parameter of the function, or a field that a caller fills. `optional`: it may be None.
    `of_dict`: the layers are the values of a dict. `may_be_empty`: it may have no layer at all. `open` says what is not
    shown.
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
        """The classes of the layers that are shown, without repeats; by annotation where no expression is."""
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
    """Return the identity of a class: resolving a name gives another `Definition` each time."""
    return cls.node if isinstance(cls, Definition) else getattr(cls, "qualname", None)


def class_name(cls: Class) -> str:
    """Return the name of a class in a sentence."""
    return cls.name if isinstance(cls, Definition) else cls.qualname


def not_shown(text: str, place: Place | None) -> Obligation:
    """Return the obligation that something about the layers is not shown, on one line, whatever code it quotes."""
    return Obligation(Kind.LAYERS, " ".join(text.split()), place)
