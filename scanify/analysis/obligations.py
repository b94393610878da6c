"""The kinds of obligations that no case shows, by the names under which users accept them (`--accept elsewhere`)."""

from collections.abc import Sequence
from dataclasses import dataclass

from scanify.analysis.facts import Place

ALIKE = frozenset(
    {
        "the rank of each leaf",
        "rank and size of each leaf",
        "the shape of each leaf",
        "the length of each leaf",
        "a random key for each leaf",
        "the bytes of a saved tree",
    }
)
"""What code reads that leaves equal layers equal in structure. All other code that sees them may make them unlike: by
their values, too."""

_SHOWN = 3

ELSEWHERE = "elsewhere"
"""Obligations about code outside of the loop, of its layers and of what these call: no case runs that code."""

COST = "cost"
"""Obligations about the time that a scan takes, or that a program is said to take: no proof of equality shows it."""

ACCEPTABLE = (ELSEWHERE, COST)

UNSAFE = "unsafe"
"""Every obligation, by the name of the option that accepts all (`--unsafe`)."""


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
