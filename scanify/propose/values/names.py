"""Names of classes in a case: in the module of the model, in equinox, or imported."""

from __future__ import annotations

import re
import sys
from types import ModuleType


class GiveUp(Exception):
    """No value can be chosen; the message completes the sentence "could not build Foo: ..."."""


class References:
    """The names of classes in one case; `imports` are the imports that it needs besides jax and equinox."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.imports: set[str] = set()

    def to(self, cls: type) -> str:
        """Return the expression for `cls`. Raises GiveUp if no name leads to it, as for a class inside a function."""
        for name in (cls.__name__, *sorted(vars(self.module))):
            if vars(self.module).get(name) is cls:
                return f"module.{name}"
        if cls.__module__ == self.module.__name__ and follow(self.module, cls.__qualname__) is cls:
            return f"module.{cls.__qualname__}"
        import equinox as eqx

        if getattr(eqx.nn, cls.__name__, None) is cls:
            return f"eqx.nn.{cls.__name__}"
        home = sys.modules.get(cls.__module__)
        if home is None or follow(home, cls.__qualname__) is not cls:
            raise GiveUp(f"no name leads to the class {cls.__qualname__}")
        if cls.__module__ != "builtins":
            self.imports.add(f"from {cls.__module__} import {cls.__qualname__.partition('.')[0]}")
        return cls.__qualname__


def follow(start: object, qualname: str) -> object:
    """Return the object at a dotted name from `start`, or None if it does not exist."""
    for part in qualname.split("."):
        start = getattr(start, part, None)
    return start


def function_name(cls: str) -> str:
    """Return the name of the case for a class: `VisionTransformer` gives `vision_transformer`."""
    pieces = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.rpartition(".")[2]).lower().split("_")
    joined: list[str] = []
    for piece in filter(None, pieces):
        if joined and len(piece) == 1:
            joined[-1] += piece
        else:
            joined.append(piece)
    name = "_".join(joined) or "model"
    return f"{name}_case" if name in ("module", "model", "jax", "jnp", "eqx") else name
