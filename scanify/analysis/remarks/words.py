"""Which files may have something to remark on: a cheap first look at their text, which lets through too much."""

import re

# Functions that run layers one after another, build them stacked, or choose what is computed again.
_SCANS = ("scan", "fold(", "fold_via", "nnx", "vmap", "_these_names", "ScanCheckpointPolicy")
_OPTIMISER = re.compile(r"(opt\w*|tx|\))\.init\(")
_STACKS = ("Stacked", "BlockSeq")


def may_have_remarks(text: str) -> bool:
    """True if there is a word in a file that a remark is about."""
    return any(word in text for word in _SCANS) or (".init(" in text and _OPTIMISER.search(text) is not None)


def may_know_stacks(text: str) -> bool:
    """True if a file may make or name a stack of layers."""
    return any(word in text for word in _STACKS)
