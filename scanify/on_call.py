"""Functions whose modules are imported on the first call, because they need libcst, rich or jax.

The `__init__` of a package that needs such a library exports these functions, and imports nothing.
"""

import importlib
from collections.abc import Callable
from typing import Any


def on_call(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports the module when called, and calls the function of this name in it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    return call
