"""Stacks that are built longer than they are, so that the axis of their layers shows by its size.

Where a program is traced for its shapes alone, a length that no other axis has tells the axis of the layers from those
that `jax.vmap` and its like have added.
"""

from contextlib import AbstractContextManager
from typing import Any, TypeVar

import jax

S = TypeVar("S")

_contexts: list[Any] = []


def padding_to(length: int) -> AbstractContextManager[None]:
    """A context in which each stack that is built has as many layers, repetitions of the last one.

    A context of jax is part of the keys of its caches: a jitted constructor is traced again, and not kept for later. It
    is made when it is needed, because everything is traced again once there is a new one.
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
    """The positions of `count` layers, and the last one again up to `length`."""
    return [min(at, count - 1) for at in range(length)]
