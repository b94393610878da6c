"""What the source says of a list: what it is built of, where it comes from, or why neither is shown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

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


def one_of(found: Sequence[Answer], several: Unclear) -> Answer:
    """One of several lists, of which some may be empty, but not all; or one of several dicts of such."""
    if found and all(isinstance(one, DictOf) for one in found):
        values = [one.values for one in found if isinstance(one, DictOf)]
        inner = one_of(values, several) if all(isinstance(one, Built) for one in values) else several
        return DictOf(inner if isinstance(inner, Built | Unclear) else several)
    built = [each for one in found if isinstance(one, Built) for each in (replace(one, others=()), *one.others)]
    unknown = next((one for one in found if not isinstance(one, Built)), None)
    if unknown is not None or not any(one.elements for one in built):
        return unknown or Unclear("the list is empty when it is built")
    first, *others = sorted(built, key=lambda one: not one.elements)
    return replace(first, others=tuple(others))
