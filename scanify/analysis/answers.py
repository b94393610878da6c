"""What the source says of a list: what it is built of, where it comes from, or why neither is shown."""

from dataclasses import dataclass

import libcst as cst

from scanify.analysis.elements import Element
from scanify.analysis.facts import Place
from scanify.analysis.plan import After, Wrap
from scanify.analysis.project import Definition
from scanify.analysis.where import Where


@dataclass(frozen=True, eq=False)
class Built:
    """A list that the source shows being built: its elements and the place where it can be built stacked.

    `others` are the lists that other branches build in its place; `placed` says that it is made at its full length and
    each layer is put into its place.
    """

    elements: tuple[Element, ...]
    site: Wrap | After | None = None
    others: tuple["Built", ...] = ()
    placed: bool = False


@dataclass(frozen=True, eq=False)
class Elsewhere:
    """A list that is handed in: a parameter or a field of a dataclass-like module, with the annotation it carries.

    `name` is that of the parameter or the field.
    """

    annotation: cst.BaseExpression | None
    at: Where
    what: str
    name: str | None = None


@dataclass(frozen=True)
class Unclear:
    """A list whose building the source does not show, and why."""

    reason: str
    rule: str = "SCN201"
    at: Place | None = None


@dataclass(frozen=True)
class NotLayers:
    """Something that is surely no list of modules."""


@dataclass(frozen=True, eq=False)
class DictOf:
    """A dict: what is known of the list of its values."""

    values: "Built | Elsewhere | Unclear"


Answer = Built | Elsewhere | Unclear | NotLayers | DictOf


@dataclass(frozen=True, eq=False)
class LayerList:
    """A list of layers as a loop sees it.

    `owner` and `attribute` say whose attribute it is (None for a local list); `scope` is where it is built.
    `element_of` is the list around it, where it is an element of one: `for stage in self.stages: for block in stage:`.
    `views` are the lists that a local name stands for, one of them in each run or a part of it; `walked_once` that what
    it stands for may be an iterator.
    """

    answer: Answer
    scope: Where
    owner: Definition | None = None
    attribute: str | None = None
    element_of: str | None = None
    views: "tuple[LayerList, ...]" = ()
    walked_once: bool = False
    of_dict: bool = False
