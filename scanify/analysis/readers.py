"""Code that reads the leaves of trees of parameters, and so depends on how layers are stored."""

from collections.abc import Sequence
from dataclasses import dataclass

from scanify.analysis.facts import Place

_ALIKE = frozenset(
    {
        "the rank of each leaf",
        "rank and size of each leaf",
        "the shape of each leaf",
        "the length of each leaf",
        "a random key for each leaf",
        "random numbers for each leaf",
        "the bytes of a saved tree",
    }
)
_SHOWN = 3


def leaves_alike(reads: str) -> bool:
    """True if code that reads this leaves equal layers equal in structure. Other code may make layers unlike."""
    return reads in _ALIKE or _ALIKE.issuperset(reads.split(" and "))


@dataclass(frozen=True)
class Reader:
    """A place that depends on how layers are stored: `reads` says on what, `rule` names the page about that."""

    place: Place
    reads: str
    rule: str


def readers_in_words(readers: Sequence[Reader]) -> str:
    """Return the first places with what they read, and the number of the others."""
    shown = [f"{each.place} reads {each.reads} ({each.rule})" for each in readers[:_SHOWN]]
    others = len(readers) - _SHOWN
    return ", ".join(shown) + (f", and {others} more {'place' if others == 1 else 'places'}" if others > 0 else "")
