"""The proof that two traced programs of the same inputs are equal for all inputs of these shapes and dtypes.

Both jaxprs are numbered in one table (`scanify.jaxpr`); outputs with the same number are the same expression of the
inputs. Equal means equal as jaxprs define them: elementwise and bit for bit, except for the order in which cotangents
of one value are summed (`scanify.jaxpr.rules.combine.add_any`). No user code runs, and only indices are computed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scanify.errors import ScanifyError
from scanify.jaxpr.reading.calls import children, opened
from scanify.verify.programs.readings import Derived, Readings
from scanify.verify.proof.explain import explain
from scanify.verify.proof.wording import Programs
from scanify.verify.verdict import Difference

Files = Callable[[str], str | None]


@dataclass(frozen=True)
class Proof:
    """The result of comparing two programs.

    equal: per output, whether the values are proved equal. avals_equal: per output, whether shape, dtype and weak type
    are the same. effects_equal: whether effects (prints, callbacks) happen with the same operands in the same order.
    difference: the first operation that differs, if some value or effect is not proved equal. not_understood: parts
    that the prover could not read, if that may be the reason; empty if everything is proved.
    """

    equal: tuple[bool, ...]
    avals_equal: tuple[bool, ...]
    effects_equal: bool
    difference: Difference | None = None
    not_understood: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Return whether all values and effects are equal. Avals are separate: weak types change no values."""
        return all(self.equal) and self.effects_equal


def prove(
    before: Any,
    after: Any,
    *,
    inputs: Sequence[str] = (),
    layers: Sequence[int | None] = (),
    files: Files | None = None,
    cotangents: int = 0,
    tangents: int = 0,
    readings: Readings | None = None,
) -> Proof:
    """Compare two `ClosedJaxpr`s with the same inputs.

    Args:
        before: the original program, in messages "the loop".
        after: the rewritten program; it stacks its xs itself.
        inputs: the key path of each input, `.blocks[3].attn.weight`.
        layers: the index of the layer that each input belongs to, or None.
        files: returns the displayed name of a file of the user's source, or None for other files (default: show none).
        cotangents: the number of inputs, from the end, that are cotangents of outputs: the programs compute
            derivatives in reverse mode, and adding zeros to values that depend on these is a sum of cotangents.
        tangents: the number of inputs, from the end, that are tangents of others, to which zeros may be added.
        readings: readings of `before` from other comparisons (default: none).

    Raises:
        ScanifyError: the programs have different inputs or numbers of outputs, so there is nothing to compare.
    """
    _check(before, after, inputs, layers)
    readings = Readings() if readings is None else readings
    names = tuple(inputs) or tuple(f"input {index}" for index in range(len(before.in_avals)))
    describe = _Describe(names, tuple(layers) or (None,) * len(names), files)
    count = len(before.in_avals)
    derived = Derived(range(count - cotangents, count), range(count - tangents, count))
    shared = _shared_scans(readings, before, after, derived)
    proof = _attempt(readings, before, after, describe, shared, derived)
    if not proof.proved and shared:
        proof = _attempt(readings, before, after, describe, frozenset(), derived)
    return proof


@dataclass(frozen=True)
class _Describe:
    names: tuple[str, ...]
    layers: tuple[int | None, ...]
    files: Files | None


def _check(before: Any, after: Any, inputs: Sequence[str], layers: Sequence[int | None]) -> None:
    old, new = before.in_avals, after.in_avals
    if len(old) != len(new):
        raise ScanifyError(
            f"expected two programs of the same inputs, got one of {len(old)} and one of {len(new)}: "
            "trace both as functions of the leaves of the original model"
        )
    for index, (left, right) in enumerate(zip(old, new, strict=True)):
        if (left.shape, left.dtype) != (right.shape, right.dtype):
            name = inputs[index] if index < len(inputs) else f"input {index}"
            raise ScanifyError(
                f"expected two programs of the same inputs, but {name} is {left.str_short()} in the original and "
                f"{right.str_short()} in the rewritten program: trace both on the same leaves"
            )
    if len(before.out_avals) != len(after.out_avals):
        raise ScanifyError(
            f"expected as many outputs as the original has, {len(before.out_avals)}, got {len(after.out_avals)}: "
            "the rewritten program returns another structure"
        )
    for given, what in ((inputs, "inputs"), (layers, "layers")):
        if given and len(given) != len(old):
            raise ScanifyError(f"expected {what} to name all {len(old)} inputs, got {len(given)}")


def _shared_scans(readings: Readings, before: Any, after: Any, derived: Derived) -> frozenset[Any]:
    """Return scans in both programs, which need not be unrolled to be compared (`scanify.jaxpr.rules.control`)."""
    if not (_has_scan(before.jaxpr) and _has_scan(after.jaxpr)):
        return frozenset()
    old, new = readings.original(before, None, derived), readings.read(after, None, derived)
    return frozenset(old.numbering.scans & new.numbering.scans)


def _has_scan(jaxpr: Any) -> bool:
    seen: set[int] = set()
    waiting = [jaxpr]
    while waiting:
        inner, _ = opened(waiting.pop())
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        for equation in inner.eqns:
            if equation.primitive.name == "scan":
                return True
            waiting += children(equation)
    return False


def _attempt(
    readings: Readings, before: Any, after: Any, describe: _Describe, whole: frozenset[Any], derived: Derived
) -> Proof:
    first, second = readings.original(before, whole, derived), readings.read(after, whole, derived)
    old, new, left, right = first.numbering, second.numbering, first.outputs, second.outputs
    shown = (old.signs.left_out or new.signs.left_out) and (old.signs.shown or new.signs.shown)
    if shown and not derived.exact:
        return _attempt(readings, before, after, describe, whole, replace(derived, exact=True))
    equal = tuple(a == b for a, b in zip(left, right, strict=True))
    effects = old.token == new.token
    avals = tuple(_aval(a) == _aval(b) for a, b in zip(before.out_avals, after.out_avals, strict=True))
    if all(equal) and effects:
        return Proof(equal, avals, effects)
    programs = Programs(readings.table, old.places, new.places, describe.names, describe.layers, describe.files)
    difference = explain(programs, [*left, old.token], [*right, new.token])
    return Proof(equal, avals, effects, difference, tuple(dict.fromkeys([*first.notes, *second.notes])))


def _aval(aval: Any) -> tuple[Any, ...]:
    return aval.shape, aval.dtype, getattr(aval, "weak_type", False)
