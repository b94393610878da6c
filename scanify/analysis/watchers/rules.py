"""The rule of what code reads of the leaves of trees: each has a page that says what to write instead."""

RANK, NORM, SHAPE, PATH, KEY = "SCN310", "SCN311", "SCN312", "SCN313", "SCN314"
MODULES, REPLACED, LIST, FIELDS, BYTES, PROGRAM = "SCN315", "SCN316", "SCN317", "SCN318", "SCN319", "SCN320"

_RULES = {
    "the rank of each leaf": RANK,
    "a norm of each leaf": NORM,
    "a mean of each leaf": NORM,
    "a total of each leaf": NORM,
    "a total over some axes of each leaf": NORM,
    "the value of each leaf as a whole": NORM,
    "each leaf as one number": NORM,
    "the shape of each leaf": SHAPE,
    "rank and size of each leaf": SHAPE,
    "the length of each leaf": SHAPE,
    "each leaf as a matrix": SHAPE,
    "a part of each leaf": SHAPE,
    "the layers by their parameters": SHAPE,
    "the path of each leaf": PATH,
    "a random key for each leaf": KEY,
    "random numbers for each leaf": KEY,
    "what the fields of an object hold": FIELDS,
    "fields by their names": FIELDS,
    "the bytes of a saved tree": BYTES,
}
# How the sentences end that say more than what is read of an array: which kind of module is looked for, which field.
_ENDS = ((" in a tree", MODULES), (" of each part of a tree", MODULES), (" by its name", FIELDS))


def rule_of(reads: str) -> str:
    """The rule for what is read, in the words of a watcher; what no other is about takes leaves one after another."""
    known = _RULES.get(reads)
    return known or next((rule for end, rule in _ENDS if reads.endswith(end)), LIST)


def rule_of_optimizer(reads: str) -> str:
    """The rule for an optimizer: one that asks for ranks takes a leaf of rank two for a matrix."""
    return SHAPE if reads == "the rank of each leaf" else rule_of(reads)
