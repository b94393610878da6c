"""Which files may have something to remark on: a cheap first look at their text, which lets through too much."""

# What runs layers one after another, stacks them, or says what is computed again.
_SCANS = ("scan", "fold", "Stacked", "vmap", "merge", "these_names", "ScanCheckpointPolicy", ".init(", "tree_at")
_STACKS = ("Stacked", "BlockSeq")


def may_have_remarks(text: str) -> bool:
    """Whether there is a word in a file that a remark is about."""
    return any(word in text for word in _SCANS)


def may_know_stacks(text: str) -> bool:
    """Whether a file may make or name a stack of layers."""
    return any(word in text for word in _STACKS)
