"""Recognise jax's own primitives.

Primitives are recognised by name, but anyone can create one of any name (`jax.extend.core.Primitive("add")`). The rules
apply only to jax's own; any other primitive is different from its namesake.
"""

import sys
from typing import Any

from jax.extend.core import Primitive

_own: dict[int, Primitive] = {}
_looked_at: set[str] = set()


def is_own(primitive: Any) -> bool:
    """True if a module of jax defines the primitive. Modules imported later are searched on demand."""
    if id(primitive) in _own:
        return True
    _look()
    return id(primitive) in _own


def _look() -> None:
    for name, module in list(sys.modules.items()):
        if name in _looked_at or not (name == "jax" or name.startswith("jax.")):
            continue
        _looked_at.add(name)
        for value in list(vars(module).values()):
            if isinstance(value, Primitive):
                _own[id(value)] = value
