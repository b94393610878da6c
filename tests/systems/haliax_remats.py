"""Every way to say what haliax keeps of a scan, under the names that haliax gives them."""

from typing import Any

import pytest

SPELLINGS = (
    "False",
    "True",
    '"full"',
    '"recompute"',
    '"nested"',
    '"save_all"',
    '"offload"',
    "Policy()",
    "Policy(disable=True)",
    "Policy(simple=True)",
    "Policy(nested=2)",
    "Policy(nested=True, save_block_internals=True)",
    "Policy(save_carries=False)",
    "Policy(save_inputs=True)",
    'Policy(save_carries="offload", save_inputs="offload")',
    'Policy(save_block_internals=["y"])',
    'Policy(save_block_internals=["y"], offload_block_internals=["z"])',
    "Policy(prevent_cse=True)",
)
_SAMPLE = ("True", '"nested"', 'Policy(save_block_internals=["y"], offload_block_internals=["z"])')
every_spelling = pytest.mark.parametrize(
    "spelling", [pytest.param(each, marks=() if each in _SAMPLE else pytest.mark.whole) for each in SPELLINGS]
)


def policy(spelling: str) -> Any:
    """What one of the spellings stands for."""
    import haliax as hax

    return eval(spelling, {"Policy": hax.ScanCheckpointPolicy})  # a literal of the list above
