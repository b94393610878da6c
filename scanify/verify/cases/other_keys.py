"""Building both models a second time, from other random keys than those that the case makes.

A constructor that does not read the key that it is given, or reads it otherwise, may give the same parameters for the
one key of the case. Only keys that the case makes are others: one that the model makes by itself is part of the model.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.verify.values.arrays import is_key

SHIFT = 7919


@dataclass(eq=False)
class Shifted:
    """Whether a key was made otherwise."""

    any: bool = False


@contextmanager
def other_keys(namespace: MutableMapping[str, Any], is_models: Callable[[FrameType], bool]) -> Iterator[Shifted]:
    """Inside, keys that are made are others, and so are those that `namespace`, that of the case file, holds.

    Those are left alone that are made while a frame runs that `is_models` says to belong to the model.
    """
    made = Shifted()
    module: Any = getattr(sys.modules[jax.random.key.__module__], "prng", None)
    seed = getattr(module, "random_seed", None)
    held = {name: value for name, value in namespace.items() if _is_key(value)}

    def other(seeds: Any, *args: Any, **kwargs: Any) -> Any:
        assert seed is not None
        if _runs(sys._getframe(1), is_models):
            return seed(seeds, *args, **kwargs)
        made.any = True
        return seed(jnp.asarray(seeds) + SHIFT, *args, **kwargs)

    made.any = bool(held)
    namespace.update({name: moved(value) for name, value in held.items()})
    if seed is not None:
        module.random_seed = other
    try:
        yield made
    finally:
        namespace.update(held)
        if seed is not None:
            module.random_seed = seed


def moved(value: Any) -> Any:
    """Another key of the same kind; anything else is itself."""
    if is_key(value):
        return jax.random.wrap_key_data(jax.random.key_data(value) + SHIFT, impl=jax.random.key_impl(value))
    return value + np.uint32(SHIFT) if _is_key(value) else value


def moved_in(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a case, with other keys."""
    return {name: jax.tree.map(moved, value) for name, value in arguments.items()}


def _is_key(value: Any) -> bool:
    """A typed key, or what looks as raw keys do."""
    return is_key(value) or (isinstance(value, jax.Array) and value.dtype == np.uint32 and value.shape in ((2,), (4,)))


def _runs(frame: FrameType | None, is_models: Callable[[FrameType], bool]) -> bool:
    while frame is not None:
        if is_models(frame):
            return True
        frame = frame.f_back
    return False
