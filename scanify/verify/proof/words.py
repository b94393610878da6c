"""Proofs and exceptions in words."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from scanify.verify.verdict import Difference, Operation

if TYPE_CHECKING:  # The reports use the words, and they import no jax.
    from scanify.verify.proof.prove import Proof

FIRST_DIFFERENCE = "first operation that differs: "


def show_operation(operation: Operation) -> str:
    """Return `dot_general (8, 64) float32 at model.py:41 (layer 3)`."""
    where = f" at {operation.file}:{operation.line}" if operation.file and operation.line else ""
    layer = f" (layer {operation.layer})" if operation.layer is not None else ""
    return f"{operation.text}{where}{layer}"


def show_difference(difference: Difference) -> str:
    """Describe a difference, with the operation of each version."""
    sides = [("original", difference.before), ("rewritten", difference.after)]
    shown = [f"{name}: {show_operation(op)}" for name, op in sides if op is not None]
    return difference.what + (f" ({'; '.join(shown)})" if shown else "")


def unproved(proof: Proof) -> str:
    """Describe why there is no proof."""
    parts = []
    if proof.difference is not None:
        parts.append(FIRST_DIFFERENCE + show_difference(proof.difference))
    if proof.not_understood:
        parts.append(f"not understood: {', '.join(proof.not_understood[:4])}")
    if not proof.effects_equal:
        parts.append("the effects differ")
    return "; ".join(parts) or "the programs differ"


def raised(error: Exception, files: Callable[[str], str | None] | None) -> str:
    """Describe an exception of user code: type, message, and the last of the user's lines in its traceback."""
    where = ""
    for frame in traceback.extract_tb(error.__traceback__):
        shown = files(frame.filename) if files is not None else None
        if shown is not None:
            where = f" at {shown}:{frame.lineno}"
    return f"{type(error).__name__}{where}: {str(error).strip() or 'no message'}"
