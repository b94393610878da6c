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
    "the shape of each leaf": SHAPE,
    "rank and size of each leaf": SHAPE,
    "the length of each leaf": SHAPE,
    "each leaf as a matrix": SHAPE,
    "a part of each leaf": SHAPE,
    "the layers by their parameters": SHAPE,
    "the path of each leaf": PATH,
    "a random key for each leaf": KEY,
    "random numbers for each leaf": KEY,
    "the bytes of a saved tree": BYTES,
    "each leaf that it saves or loads": BYTES,
}


def rule_of(reads: str) -> str:
    """Return the rule for what is read, in the words of a watcher: for the first of several that has one."""
    if reads.endswith(" of each part of a tree"):
        return MODULES
    known = _RULES.get(reads)
    return known or next((rule for each in reads.split(" and ") if (rule := _RULES.get(each))), LIST)
