"""Forward derivatives of a version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from scanify.verify.arrays import is_inexact
from scanify.verify.trace import Version, differentiated, flat_outputs


def jvp(program: Version, leaves: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """The tangents of the inexact outputs, from those of the inexact leaves of the original."""
    at = differentiated(leaves)

    def inner(*moved: Any) -> list[Any]:
        full = list(leaves)
        for i, value in zip(at, moved, strict=True):
            full[i] = value
        return [y for y in flat_outputs(program.call(program.own(full)))[0] if is_inexact(y)]

    return list(jax.jvp(inner, tuple(leaves[i] for i in at), tuple(tangents))[1])
