"""Stacks that are built longer than they are, so that the axis of their layers shows by its size.

Where a program is traced for its shapes alone, a length that no other axis has tells the axis of the layers from those
that `jax.vmap` and its like have added.
"""

from contextlib import AbstractContextManager
from typing import Any, TypeVar

import jax

S = TypeVar("S")

# A context of jax is part of the keys of its caches: a jitted constructor is traced again, and not kept for later.
_length: Any = jax.make_user_context(None)


def padding_to(length: int) -> AbstractContextManager[None]:
    """A context in which each stack that is built has as many layers, repetitions of the last one."""
    entered: AbstractContextManager[None] = _length(length)
    return entered


def padded(stack: S) -> S:
    """Return the stack, or a longer one within `padding_to`."""
    if _length.value is None:
        return stack
    kind: Any = type(stack)
    longer: S = kind._padded(stack, _length.value)
    return longer


def repeated_last(count: int, length: int) -> list[int]:
    """The positions of `count` layers, and the last one again up to `length`."""
    return [min(at, count - 1) for at in range(length)]
