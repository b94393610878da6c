"""Code that reads the leaves of trees of parameters, and the rules whose pages say what to write instead."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from scanify.analysis.facts import Place

RANK, NORM, SHAPE, PATH, KEY = "SCN310", "SCN311", "SCN312", "SCN313", "SCN314"
MODULES, REPLACED, LIST, FIELDS, BYTES, PROGRAM = "SCN315", "SCN316", "SCN317", "SCN318", "SCN319", "SCN320"
# Rules by words in `Reader.reads`; the first match counts.
_RULES = {
    "of a program": PROGRAM,
    "of each part of a tree": MODULES,
    "of a tree that": REPLACED,
    "rank and size": SHAPE,
    "the rank": RANK,
    **dict.fromkeys(("a norm", "a mean", "a total", "the value of each leaf"), NORM),
    **dict.fromkeys(
        ("the shape", "a sharding names", "the length", "as a matrix", "the layers by their parameters"), SHAPE
    ),
    "the path": PATH,
    **dict.fromkeys(("a random key", "random numbers"), KEY),
    **dict.fromkeys(("saved tree", "saves or loads"), BYTES),
    "field": FIELDS,
}
_ALIKE = (
    frozenset(f"the {each} of each leaf" for each in ("rank", "shape", "length"))
    | frozenset(f"{each} for each leaf" for each in ("a random key", "random numbers"))
    | {"rank and size of each leaf", "the bytes of a saved tree"}
)
_SHOWN = 3


@dataclass(frozen=True)
class Reader:
    """A place that depends on how layers are stored. `attributes` are the attributes named in its code.

    `reads` describes the property that it reads: "the rank of each leaf".
    """

    place: Place
    reads: str
    attributes: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    @property
    def rule(self) -> str:
        """The rule about this kind of reader."""
        return next((rule for words, rule in _RULES.items() if words in self.reads), LIST)

    @property
    def leaves_alike(self) -> bool:
        """True if such code keeps the structure of equal layers equal; other code may make layers unlike."""
        return self.reads in _ALIKE


def readers_in_words(readers: Sequence[Reader]) -> str:
    """Describe the first readers, and count the others."""
    shown = [f"{each.place} reads {each.reads} ({each.rule})" for each in readers[:_SHOWN]]
    others = len(readers) - _SHOWN
    return ", ".join(shown) + (f", and {others} more {'place' if others == 1 else 'places'}" if others > 0 else "")
