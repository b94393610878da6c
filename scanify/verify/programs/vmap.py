"""A version under `jax.vmap`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from scanify.verify.programs.flat import flat_outputs
from scanify.verify.programs.trace import Version

SIZE = 2


def batch(program: Version, leaves: Sequence[Any], axes: Sequence[int | None], size: int = SIZE) -> list[Any]:
    """The arrays of a call, with a leading axis of `size` as those leaves have whose entry in `axes` is 0."""
    call = jax.vmap(lambda xs: flat_outputs(program.call(program.own(xs)))[0], in_axes=(list(axes),), axis_size=size)
    return list(call(list(leaves)))
