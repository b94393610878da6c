"""Functions whose modules are imported when they are first called, as these need libcst, rich or jax.

Rooms that need such a library have a door: their `__init__` names what others call, and imports nothing.
"""

import importlib
from collections.abc import Callable
from typing import Any


def on_call(module: str, name: str) -> Callable[..., Any]:
    """Return a function that calls the one of this name in a module, which is imported then."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    return call
