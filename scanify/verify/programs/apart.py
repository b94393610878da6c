"""Programs that jax keeps are kept apart.

jax traces a function that is wrapped in jit once for arguments of the same avals and equal static arguments, and again
in another context. The function may be a library's and find by a name what a version has registered there, or it may
look at the remat policy: then it is another program for another version or policy, and jax cannot know.
"""

from __future__ import annotations

import itertools
from contextlib import AbstractContextManager

import jax

_CONTEXT = jax.make_user_context("")
_NUMBERS = itertools.count()


def traced_apart(name: str) -> AbstractContextManager[None]:
    """Inside, jax finds no program that was traced outside, or inside under another name."""
    context: AbstractContextManager[None] = _CONTEXT(name)
    return context


def traced_anew(name: str) -> AbstractContextManager[None]:
    """Inside, jax finds no program that was traced before, here or elsewhere: what tracing notes is noted each time."""
    return traced_apart(f"{name} {next(_NUMBERS)}")
