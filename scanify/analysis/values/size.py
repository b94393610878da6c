"""How the shape and the dtype of an array differ from those of the carry that it is made from.

Only listed operations keep a shape: an array is as long as the carry, is shown to be longer or shorter, or is unlike it
in a way that nothing shows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from scanify.analysis.facts import Place
from scanify.analysis.values.replace import replace

Change = int | None  # one of those below; None: not known
SHORTER, NOT_LONGER, SAME, NOT_SHORTER, LONGER = -2, -1, 0, 1, 2

# dtypes that a float32 or bfloat16 carry does not take on when something of them is added to it
_NARROW = frozenset("bfloat16 float16 int8 int16 int32 uint8 uint16 uint32 int bool bool_".split()) | {"a comparison"}


@dataclass(frozen=True)
class Extent:
    """A number that is made of the length of an axis of the carry `of`, as `x.shape[0] // 2` is, or the lengths of all
    its axes with `whole`: `change` says how it differs from that length. With `dtype` it is the carry's `x.dtype`.
    """

    of: frozenset[str]
    change: int = SAME
    whole: bool = False
    dtype: bool = False

    @property
    def part(self) -> "Extent":
        """The length of one axis, or of some of them."""
        return replace(self, whole=False)

    def moved(self, change: Change) -> "Extent | None":
        """The number after an operation that changes it so; None where nothing is known any more."""
        found = after(self.change, change)
        return Extent(self.of, found) if found is not None and not self.dtype else None


@dataclass(frozen=True)
class Size:
    """How a shape differs from that of the carries `of`: along the axes that convolutions and pools walk in `space`, as
    a whole, features included, in `total`. `cast` is another dtype than the carry's, as written.

    `what` is the first operation that is not shown to keep the shape, as written, at `at`; `cast_by` and `cast_at` are
    those of the dtype. `each` says that it is the size of each of several arrays, which one has been cut into. With
    `fits` parameters say how long the axis of features is: where the next layer is given that, as long as the carry's.
    `flipped` says that the axes are in the other order, as those of `x.T` are, `scalar` that there are none, and
    `whole` that it is computed of the carry and whole numbers alone, which keep any dtype.
    """

    of: frozenset[str]
    space: Change = SAME
    total: Change = SAME
    what: str = field(default="", compare=False)
    at: Place | None = field(default=None, compare=False)
    each: bool = False
    fits: bool = False
    flipped: bool = False
    scalar: bool = False
    whole: bool = False
    cast: str = ""
    cast_by: str = field(default="", compare=False)
    cast_at: Place | None = field(default=None, compare=False)

    @property
    def alike(self) -> bool:
        """Whether it is shown to be the shape of the carry, if with its axes in the other order."""
        return self.space == SAME and self.total == SAME and not self.each

    @property
    def kept(self) -> bool:
        """Whether it is shown to be the shape of the carry."""
        return self.alike and not self.flipped

    @property
    def extent(self) -> Extent | None:
        """The lengths of the axes; None where they may be others than the carry's, or in another order."""
        return Extent(self.of, whole=True) if self.kept else None

    @property
    def dtype(self) -> Extent | None:
        """The dtype; None where it may be another one than the carry's."""
        return Extent(self.of, dtype=True) if not self.cast else None

    @property
    def changed(self) -> bool:
        """Whether it is shown to be another shape than that of the carry."""
        return any(each in (SHORTER, LONGER) for each in (self.space, self.total))

    def moved(self, space: Change, total: Change, what: str, at: Place | None) -> "Size":
        """The size after an operation that changes it so."""
        whole = after(self.total, total) if not self.fits or total == SAME else None
        made = replace(self, space=after(self.space, space), total=whole, each=False, scalar=False)
        first = (not self.what and not made.alike) or (made.changed and not self.changed)
        return replace(made, what=what, at=at) if first else made

    def turned(self, what: str, at: Place | None) -> "Size":
        """The size with all axes in the other order."""
        made = replace(self, flipped=not self.flipped)
        return made if self.alike else made.lost(what, at)

    def lost(self, what: str, at: Place | None) -> "Size":
        """The size after an operation of which nothing shows what shape it gives."""
        return self.moved(None, None, what, at)

    def mixed(self, what: str, at: Place | None, *, vector: bool = False) -> "Size":
        """The size after a product with parameters along the axis of features; of a `vector`, that is its only one."""
        joined = vector and self.space in (NOT_LONGER, NOT_SHORTER)
        if self.each or not (self.space == SAME or joined):
            return replace(self.moved(SAME, None, what, at), whole=False)
        return replace(self, space=SAME, total=SAME, fits=True, whole=False, what="", at=None)

    def cast_to(self, dtype: str, asked: Extent | None, by: str, at: Place | None) -> "Size":
        """The size of an array that is cast to a dtype, as written; `asked` is what that has to do with the carry's."""
        if asked is not None and asked.dtype:
            return replace(self, cast="")
        cast = dtype.rpartition(".")[2].strip("'\"")
        return replace(self, cast=cast, cast_by=by, cast_at=at, whole=False) if cast else self


def after(mine: Change, other: Change) -> Change:
    """Two changes one after the other: what grows and shrinks may be as long as before."""
    if mine is None or other is None or mine * other < 0:
        return None
    return max(mine, other, key=abs)


def either(sizes: Sequence[Size | None]) -> Size | None:
    """The size of an array that is one of several alternatives; None where the carry has no part in them."""
    shown = [each for each in sizes if each is not None]
    if not shown:
        return None
    of = frozenset.intersection(*(each.of for each in shown))
    alike = bool(of) and len(shown) == len(sizes) and len({each.flipped for each in shown}) == 1
    space = _of_all([each.space for each in shown]) if alike else None
    total = _of_all([each.total for each in shown]) if alike else None
    told = next((each for each in shown if each.what), shown[0])
    made = replace(told, of=of, space=space, total=total, fits=any(each.fits for each in shown))
    made = replace(made, scalar=all(each.scalar for each in shown), whole=all(each.whole for each in shown))
    return _cast_as(made, next((each for each in shown if each.cast), None))


def _of_all(changes: Sequence[Change]) -> Change:
    """The change that all of several alternatives are: one that some of them grow by is no shorter."""
    if len(set(changes)) == 1:
        return changes[0]
    return NOT_SHORTER if all(each is not None and each >= SAME for each in changes) else None


def together(sizes: Iterable[Size]) -> Size | None:
    """The size of what an operation makes of arrays that are broadcast to one shape: that of the carry where one of
    them has it and none is longer."""
    known = list(sizes)
    wide = [each for each in known if not each.scalar] or known
    kept = [each for each in wide if each.alike]
    turned = len({each.flipped for each in kept}) > 1
    if not kept or turned or any((each.total or SAME) > SAME or (each.space or SAME) > SAME for each in wide):
        return either(wide)
    cast = next((each for each in known if each.cast and each.cast not in _NARROW), None)
    if cast is None and all(each.cast for each in known):
        cast = known[0]
    whole = all(each.whole for each in known)
    return _cast_as(replace(kept[0], of=frozenset().union(*(each.of for each in kept)), whole=whole), cast)


def _cast_as(size: Size, cast: Size | None) -> Size:
    if cast is None:
        return replace(size, cast="")
    return replace(size, cast=cast.cast, cast_by=cast.cast_by, cast_at=cast.cast_at)
