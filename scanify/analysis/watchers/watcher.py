"""One place that depends on how the leaves of trees are stored, and the rule whose page says what to write instead."""

import ast
from dataclasses import dataclass, field

from scanify.analysis.facts import Place

RANK, NORM, SHAPE, PATH, KEY = "SCN310", "SCN311", "SCN312", "SCN313", "SCN314"
MODULES, REPLACED, LIST, FIELDS, BYTES, PROGRAM = "SCN315", "SCN316", "SCN317", "SCN318", "SCN319", "SCN320"

# The first of these words in what is read.
_RULES = {
    "of each part of a tree": MODULES,
    "of a tree that": REPLACED,
    "rank and size": SHAPE,
    "the rank": RANK,
    "a norm": NORM,
    "a mean": NORM,
    "a total": NORM,
    "the value of each leaf": NORM,
    "the shape": SHAPE,
    "the length": SHAPE,
    "as a matrix": SHAPE,
    "the layers by their parameters": SHAPE,
    "the path": PATH,
    "a random key": KEY,
    "random numbers": KEY,
    "saved tree": BYTES,
    "saves or loads": BYTES,
    "field": FIELDS,
}


def rule_of(reads: str) -> str:
    """Return the rule for what is read, in the words of a watcher."""
    return next((rule for words, rule in _RULES.items() if words in reads), LIST)


@dataclass(frozen=True)
class Watcher:
    """`reads` is what it looks at: "the rank of each leaf".

    `node` is the code, None for a file that cannot be parsed.
    """

    place: Place
    reads: str
    rule: str
    node: ast.AST | None = field(default=None, compare=False, repr=False)
