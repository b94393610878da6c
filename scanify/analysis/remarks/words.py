"""Which files may have something to remark on: a cheap first look at their text, which lets through too much."""

import re

# What runs layers one after another, stacks them, or keeps what is to be computed again.
SCANS = re.compile(
    r"\b(?:scan|fold|fold_via|scan_via|remat_scan|Stacked|ArrayStacked|filter_vmap|merge|save_only_these_names|"
    r"save_any_names_but_these|save_anything_except_these_names|save_and_offload_only_these_names|"
    r"ScanCheckpointPolicy)\b"
)


def may_have_remarks(text: str) -> bool:
    """Whether there is a word in a file that a remark is about."""
    return SCANS.search(text) is not None
