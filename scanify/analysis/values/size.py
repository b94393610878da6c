"""How the shape of an array differs from that of the carry that it is made from, as far as the source shows it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from scanify.analysis.facts import Place
from scanify.analysis.values.replace import replace

Change = int | None  # one of those below; None: not known
SHORTER, NOT_LONGER, SAME, NOT_SHORTER, LONGER = -2, -1, 0, 1, 2


@dataclass(frozen=True)
class Extent:
    """A number that is made of the length of an axis of the carry `of`, as `x.shape[0] // 2` is, or the lengths of all
    its axes: `change` says how it differs from that length.
    """

    of: str
    change: int = SAME

    def moved(self, change: Change) -> "Extent | None":
        """The number after an operation that changes it so; None where nothing is known any more."""
        found = after(self.change, change)
        return Extent(self.of, found) if found is not None else None


@dataclass(frozen=True)
class Size:
    """How a shape differs from that of the carry `of`: along the axes that convolutions and pools walk in `space`, as a
    whole, features included, in `total`.

    `what` is the operation that gave another shape first, as written, at `at`. `each` says that it is the size of each
    of several arrays, which one has been cut into.
    """

    of: str
    space: Change = 0
    total: Change = 0
    what: str = field(default="", compare=False)
    at: Place | None = field(default=None, compare=False)
    each: bool = False

    @property
    def extent(self) -> Extent | None:
        """The lengths of the axes; None where they may be others than the carry's, or in another order."""
        return Extent(self.of) if self.space == SAME and self.total == SAME else None

    @property
    def changed(self) -> bool:
        """Whether it is shown to be another shape than that of the carry."""
        return any(each in (SHORTER, LONGER) for each in (self.space, self.total))

    def moved(self, space: Change, total: Change, what: str, at: Place | None) -> "Size | None":
        """The size after an operation that changes it so; None where nothing is known any more."""
        made = replace(self, space=after(self.space, space), total=after(self.total, total), each=False)
        if made.space is None and made.total is None:
            return None
        return replace(made, what=what, at=at) if made.changed and not self.what else made


def after(mine: Change, other: Change) -> Change:
    """Two changes one after the other: what grows and shrinks may be as long as before."""
    if mine is None or other is None or mine * other < 0:
        return None
    return max(mine, other, key=abs)


def common(sizes: Iterable[Size | None]) -> Size | None:
    """What all of several sizes are, be it of alternatives or of what is added up."""
    known = list(sizes)
    first = known[0] if known else None
    if first is None or any(each is None or each.of != first.of for each in known):
        return None
    space = first.space if all(each is not None and each.space == first.space for each in known) else None
    total = first.total if all(each is not None and each.total == first.total for each in known) else None
    if space is None and total is None:
        return None
    told = next((each for each in known if each is not None and each.what), first)
    return replace(told, space=space, total=total)
