"""A cheap first check of the text of a file, which may pass files without remarks."""

import re

# Functions that run layers in sequence, build them stacked, or choose what remat recomputes.
_SCANS = ("scan", "fold(", "fold_via", "nnx", "vmap", "_these_names", "ScanCheckpointPolicy")
_OPTIMISER = re.compile(r"(opt\w*|tx|\))\.init\(")
_STACKS = ("Stacked", "BlockSeq")


def may_have_remarks(text: str) -> bool:
    """True if a file contains a word that a remark is about."""
    return any(word in text for word in _SCANS) or (".init(" in text and _OPTIMISER.search(text) is not None)


def may_know_stacks(text: str) -> bool:
    """True if a file may build or name a stack of layers."""
    return any(word in text for word in _STACKS)
