"""What a value is that is computed from a leaf of a tree: the same on a stack of leaves, or not."""

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a value is. `SAME`: the same for every leaf. `ELEMENTWISE`: computed from each number of the leaf by itself.

    `LEAVES`: one leaf of each of several trees. `STACKED`: those as one array, along a new first axis. `SHAPE`: the
    shape of the leaf. `SUM`, `MAX`, `MIN`, `ALL`, `ANY`: a total that can go on over all leaves. `NORM`: the root of a
    sum. `OTHER`: what depends on how numbers are held in leaves.
    """

    SAME = "same"
    ELEMENTWISE = "elementwise"
    LEAVES = "leaves"
    STACKED = "stacked"
    SHAPE = "shape"
    SUM = "sum"
    MAX = "max"
    MIN = "min"
    ALL = "all"
    ANY = "any"
    NORM = "norm"
    OTHER = "other"


TOTAL = frozenset({Kind.SUM, Kind.MAX, Kind.MIN, Kind.ALL, Kind.ANY})
HARMLESS = frozenset({Kind.SAME, Kind.ELEMENTWISE, Kind.STACKED})


@dataclass(frozen=True)
class Value:
    """A value, and of an `OTHER` what it reads of the leaf. `zero` says that it is the literal 0."""

    kind: Kind
    reads: str = ""
    zero: bool = False


SAME, ELEMENTWISE = Value(Kind.SAME), Value(Kind.ELEMENTWISE)
FILE = Value(Kind.SAME, "a file of leaves")
"""What leaves are written to and read from one after the other, where a library opens it for that."""


def other(reads: str) -> Value:
    return Value(Kind.OTHER, reads)


def joined(values: list[Value]) -> Value:
    """What is one of several values, or computed from all of them number by number."""
    bad = next((each for each in values if each.kind is Kind.OTHER), None)
    if bad is not None:
        return bad
    kinds = {each.kind for each in values}
    if Kind.NORM in kinds:
        return (
            next(each for each in values if each.kind is Kind.NORM)
            if kinds == {Kind.NORM}
            else other("a norm of each leaf")
        )
    if Kind.SHAPE in kinds:
        return Value(Kind.SHAPE, "the shape of each leaf") if kinds == {Kind.SHAPE} else other("the shape of each leaf")
    totals = kinds & TOTAL
    if totals:
        rest = [each for each in values if each.kind not in TOTAL]
        if len(totals) == 1 and all(each.zero for each in rest):
            return Value(next(iter(totals)))
        return other("a total of each leaf")
    if Kind.STACKED in kinds:
        return Value(Kind.STACKED) if kinds <= {Kind.STACKED, Kind.SAME} else other("several leaves as one array")
    if Kind.LEAVES in kinds:
        return Value(Kind.LEAVES) if kinds == {Kind.LEAVES} else other("several leaves at once")
    return ELEMENTWISE if Kind.ELEMENTWISE in kinds else SAME
