"""Keep the programs in jax's caches apart.

jax traces a function that is wrapped in jit once for arguments of the same avals and equal static arguments, and again
in another context. The function may be a library's and find a version's registered object by name, or it may read the
remat policy: then it is another program for another version or policy, which jax cannot know.
"""

from __future__ import annotations

import itertools
from contextlib import AbstractContextManager

import jax

_CONTEXT = jax.make_user_context("")
_NUMBERS = itertools.count()


def traced_apart(name: str) -> AbstractContextManager[None]:
    """Let jax find no program in this context that was traced outside, or under another name."""
    context: AbstractContextManager[None] = _CONTEXT(name)
    return context


def traced_anew(name: str) -> AbstractContextManager[None]:
    """Let jax find no earlier program in this context at all, so that records made by tracing are made each time."""
    return traced_apart(f"{name} {next(_NUMBERS)}")
