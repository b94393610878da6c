"""scanify rewrites Python loops over equal layers to scans, and proves the rewrite right."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scanify import testing as testing
    from scanify.library import Equality as Equality
    from scanify.library import prove_equal as prove_equal
    from scanify.rolling.parameters import reroll_parameters as reroll_parameters
    from scanify.rolling.reroll import reroll as reroll

__version__ = "0.1.0"

_LAZY = {
    "Equality": "scanify.library",
    "prove_equal": "scanify.library",
    "reroll": "scanify.rolling",
    "reroll_parameters": "scanify.rolling",
}


def __getattr__(name: str) -> Any:
    """Import an attribute on first access, since the command line does not need it."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name == "testing":
        return importlib.import_module("scanify.testing")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
