"""Stacks that are built with extra layers, so that the size of the layer axis identifies it.

If a program is traced for its shapes alone, a length that no other axis has distinguishes the layer axis from those
that `jax.vmap` and similar functions have added.
"""

from contextlib import AbstractContextManager
from typing import Any, TypeVar

import jax

S = TypeVar("S")

_contexts: list[Any] = []


def padding_to(length: int) -> AbstractContextManager[None]:
    """Return a context in which each stack is built with `length` layers, by repeating the last one.

    A context of jax is part of the keys of its caches: a jitted constructor is traced again, and not cached for later.
    It is created on first use, because a new context makes jax trace everything again.
    """
    if not _contexts:
        _contexts.append(jax.make_user_context(None))
    entered: AbstractContextManager[None] = _contexts[0](length)
    return entered


def padded(stack: S) -> S:
    """Return the stack, or a longer one within `padding_to`."""
    length = next((context.value for context in _contexts), None)
    if length is None:
        return stack
    kind: Any = type(stack)
    longer: S = kind._padded(stack, length)
    return longer


def repeated_last(count: int, length: int) -> list[int]:
    """Return the positions of `count` layers, with the last one repeated up to `length`."""
    return [min(at, count - 1) for at in range(length)]
