"""The proof: two traced programs of the same inputs compute the same for all inputs of these shapes and dtypes.

Both jaxprs are numbered in one table (`scanify.jaxpr`); outputs with the same number are the same expression of the
inputs. Equal means equal as jaxprs define them: elementwise and bit for bit, but for the order in which cotangents of
one value are summed (`scanify.jaxpr.combine.add_any`). No code of the user runs, and nothing is computed but indices.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scanify.errors import ScanifyError
from scanify.jaxpr.calls import children, opened
from scanify.jaxpr.number import Numbering
from scanify.jaxpr.table import Table
from scanify.verify.explain import explain
from scanify.verify.verdict import Difference
from scanify.verify.wording import Programs

Files = Callable[[str], str | None]


@dataclass(frozen=True)
class Proof:
    """What was shown of two programs.

    equal: per output, whether the values are proved equal. avals_equal: per output, whether shape, dtype and weak
    type are the same. effects_equal: whether effects (prints, callbacks) happen with the same operands in the same
    order. difference: the first operation that differs, where some value or effect is not proved equal.
    not_understood: what the prover could not read, where that may be why; it is empty where everything is proved.
    """

    equal: tuple[bool, ...]
    avals_equal: tuple[bool, ...]
    effects_equal: bool
    difference: Difference | None = None
    not_understood: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether all values and effects are equal. Avals are reported apart: a weak type changes no value here."""
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
) -> Proof:
    """Compares two `ClosedJaxpr`s with the same inputs.

    Args:
        before: the original program, in messages "the loop".
        after: the rewritten program; it stacks what it scans over itself.
        inputs: the key path of each input, `.blocks[3].attn.weight`.
        layers: the index of the layer that each input belongs to, or None.
        files: the name to show for a file of the user's source, or None for a file that is not (default: show none).
        cotangents: how many inputs, the last ones, are cotangents of outputs: the programs compute derivatives in
            reverse mode, and adding to zeros what depends on these is a sum of cotangents.
        tangents: how many inputs, the last ones, are tangents of others, to which zeros may be added.

    Raises:
        ScanifyError: the programs have different inputs or numbers of outputs, so there is nothing to compare.
    """
    _check(before, after, inputs, layers)
    table = Table()
    names = tuple(inputs) or tuple(f"input {index}" for index in range(len(before.in_avals)))
    describe = _Describe(names, tuple(layers) or (None,) * len(names), files)
    count = len(before.in_avals)
    derived = _Derived(range(count - cotangents, count), range(count - tangents, count))
    shared = _shared_scans(table, before, after, derived)
    proof = _attempt(table, before, after, describe, shared, derived)
    if not proof.proved and shared:
        proof = _attempt(table, before, after, describe, frozenset(), derived)
    return proof


@dataclass(frozen=True)
class _Describe:
    names: tuple[str, ...]
    layers: tuple[int | None, ...]
    files: Files | None


@dataclass(frozen=True)
class _Derived:
    """The inputs that derivatives are computed from: in reverse mode `cotangents`, in forward mode `tangents`."""

    cotangents: range
    tangents: range


_NOTHING = _Derived(range(0), range(0))


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


def _read(table: Table, program: Any, whole: frozenset[Any] | None, derived: _Derived) -> tuple[Numbering, list[int]]:
    numbering = Numbering(table, whole, cotangents=derived.cotangents, tangents=derived.tangents)
    leaves = [
        table.node("input", index, (), tuple(aval.shape), aval.dtype) for index, aval in enumerate(program.in_avals)
    ]
    return numbering, numbering.run(program.jaxpr, program.consts, leaves)


def _shared_scans(table: Table, before: Any, after: Any, derived: _Derived) -> frozenset[Any]:
    """Scans that stand in both programs: they need not be unrolled to be compared (`scanify.jaxpr.rules_control`)."""
    if not (_has_scan(before.jaxpr) and _has_scan(after.jaxpr)):
        return frozenset()
    return frozenset(_read(table, before, None, derived)[0].scans & _read(table, after, None, derived)[0].scans)


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
    table: Table, before: Any, after: Any, describe: _Describe, whole: frozenset[Any], derived: _Derived
) -> Proof:
    old, left = _read(table, before, whole, derived)
    new, right = _read(table, after, whole, derived)
    shown = (old.dropped_zeros or new.dropped_zeros) and (old.shown_signs or new.shown_signs)
    if shown and derived != _NOTHING:
        return _attempt(table, before, after, describe, whole, _NOTHING)
    equal = tuple(a == b for a, b in zip(left, right, strict=True))
    effects = old.token == new.token
    avals = tuple(_aval(a) == _aval(b) for a, b in zip(before.out_avals, after.out_avals, strict=True))
    if all(equal) and effects:
        return Proof(equal, avals, effects)
    programs = Programs(table, old.places, new.places, describe.names, describe.layers, describe.files)
    difference = explain(programs, [*left, old.token], [*right, new.token])
    return Proof(equal, avals, effects, difference, tuple(table.notes))


def _aval(aval: Any) -> tuple[Any, ...]:
    return aval.shape, aval.dtype, getattr(aval, "weak_type", False)
