"""Find parameters that receive no gradient in the rewritten version, but do in the original.

No gradient means one that is zero for all values, because no cotangent ever reaches the parameter (`stop_gradient`, an
operation that cannot be differentiated). If it happens to be zero in the original as well, for the tested values, the
values show no difference.
"""

from __future__ import annotations

from collections.abc import Sequence

from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.number import Numbering
from scanify.jaxpr.table import Table
from scanify.verify.compare.judge import Subject
from scanify.verify.leaves.layer_names import layer_of
from scanify.verify.programs.reading import or_none, read
from scanify.verify.programs.trace import differentiated


def lost_gradients(subject: Subject, before: ClosedJaxpr, after: ClosedJaxpr) -> str | None:
    """Describe the parameters whose gradient is lost, by layers if a layer loses all; None if no gradient is lost."""
    zeros = or_none(lambda: [_zeros(program, len(subject.both.avals)) for program in (before, after)])
    if zeros is None:
        return None
    leaves = differentiated(subject.both.avals)
    moving = [leaf for leaf, zero in zip(leaves, zeros[0], strict=True) if not zero]
    lost = [leaf for leaf, old, new in zip(leaves, *zeros, strict=True) if new and not old]
    names = _names(subject, moving, lost)
    if not names:
        return None
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    verb = "receive" if len(names) > 1 else "receives"
    does = "do" if len(names) > 1 else "does"
    return f"{', '.join(names[:3])}{more} {verb} no gradient in the rewritten version, and {does} in the original"


def _zeros(program: ClosedJaxpr, leaves: int) -> list[bool]:
    numbering = Numbering(Table(), cotangents=range(leaves, len(program.in_avals)))
    return [numbering.table.is_zero(node) for node in read(numbering, program)]


def _names(subject: Subject, moving: Sequence[int], lost: Sequence[int]) -> list[str]:
    """Return the layers that lose the gradients of all their parameters, and the key paths of other parameters."""
    found = subject.both.found
    layers = {leaf: layer_of(found.names[leaf], found.layers[leaf]) for leaf in moving}
    kept = {layers[leaf] for leaf in moving if leaf not in lost}
    names = [
        str(layer) if (layer := layers[leaf]) is not None and layer not in kept else found.names[leaf] for leaf in lost
    ]
    return list(dict.fromkeys(names))
