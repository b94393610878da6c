"""Layers whose y is computed from their new carry: this needs no layer, and is computed after the scan.

Features of some layers (`if i in self.wanted: features.append(self.norm(x))`) make equal layers differ. A scan for each
run of equal ones would copy the parameters of the run out of the stack. Here one scan applies all layers and returns
their carries, and the features are computed from these afterwards.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
from jax.extend.core import Var

from scanify.nn.covers.apply_cover import Piece, with_names_of
from scanify.nn.covers.cover import cheapest_cover
from scanify.nn.programs.jaxpr_of import over
from scanify.nn.programs.layer_programs import Step
from scanify.nn.programs.literals import replay
from scanify.nn.programs.program import Program
from scanify.nn.scans.checkpoint import ScanCheckpointPolicy

Tail: TypeAlias = tuple[Any, tuple[Any, ...]]
"""The computation of a y from the new carry: a jaxpr, and the arrays that it closes over."""


@dataclass(frozen=True)
class Tails:
    """Layers that return their carry twice, as the carry and as y, and the computations on each y."""

    steps: Sequence[Step]
    tails: Sequence[Tail]

    def apply(self, pieces: Sequence[Piece], policy: ScanCheckpointPolicy) -> list[Piece]:
        """Compute the y of each layer from the carries of all layers."""
        found = []
        for piece in pieces:
            for at, position in enumerate(piece.positions):
                jaxpr, consts = self.tails[position]
                ys: list[Any] = []
                if jaxpr.outvars:
                    carry = [jax.lax.index_in_dim(array, at, keepdims=False) for array in piece.arrays]
                    body = with_names_of(policy, jaxpr).checkpoint(_tail(jaxpr, consts), straight=True)
                    ys = body(carry, None)[1]
                found.append(Piece((position,), tuple(y[None] for y in ys)))
        return found


def tails_of(steps: Sequence[Step]) -> Tails | None:
    """Split the tails off the layers, if that needs fewer scans; else None.

    The carries of all layers are kept for it, so none may be larger than the arrays that a layer reads.
    """
    kinds = [step.kind for step in steps]
    large = (_bytes(each.program.outs[: each.carried]) > _bytes(ref.struct() for ref in each.refs) for each in steps)
    if len(set(kinds)) == 1 or any(large):
        return None
    parted: dict[int, _Parted | None] = {}
    bodies: dict[Any, int] = {}
    heads, tails = [], []
    for step in steps:
        if id(step.program) not in parted:
            parted[id(step.program)] = _part(step)
        part = parted[id(step.program)]
        if part is None:
            return None
        captured = dict(zip(step.program.captured, step.captured, strict=True))
        own = tuple(captured[part.consts[at]] for at in part.head.captured)
        kind = bodies.setdefault((part.head.key, step.carries), len(bodies))
        refs = tuple(step.refs[at] for at in part.refs)
        heads.append(dataclasses.replace(step, program=part.head, refs=refs, kind=kind, captured=own))
        tails.append(part.tail)
    fewer = len(cheapest_cover(tuple(step.kind for step in heads))) < len(cheapest_cover(tuple(kinds)))
    return Tails(heads, tails) if fewer else None


def _bytes(structs: Iterable[Any]) -> int:
    return sum(struct.size * struct.dtype.itemsize for struct in structs)


@dataclass(frozen=True)
class _Parted:
    """A layer's program that returns its carry twice, the used `refs` and `consts` of the layer, and the tail."""

    head: Program
    refs: Sequence[int]
    consts: Sequence[int]
    tail: Tail


def _part(step: Step) -> _Parted | None:
    """Split a layer's program; None if its y depends on more than the new carry."""
    program, jaxpr = step.program, step.program.jaxpr
    carry, beside = jaxpr.outvars[: step.carried], jaxpr.outvars[step.carried :]
    given = [out if _is_var(out) and out not in carry[:at] else Var(out.aval) for at, out in enumerate(carry)]
    equations, read = _computing(beside, jaxpr.eqns, given)
    if jaxpr.effects or read - set(jaxpr.constvars):
        return None
    tail = jaxpr.replace(invars=given, outvars=list(beside), eqns=equations), program.consts
    equations, read = _computing(carry, jaxpr.eqns)
    carries = len(jaxpr.invars) - len(step.refs)
    refs = [at for at, var in enumerate(jaxpr.invars[carries:]) if var in read]
    kept = [at for at, var in enumerate(jaxpr.constvars) if var in read]
    consts = tuple(program.consts[at] for at in kept)
    head = jaxpr.replace(
        constvars=[jaxpr.constvars[at] for at in kept],
        invars=[*jaxpr.invars[:carries], *(jaxpr.invars[carries + at] for at in refs)],
        outvars=[*carry, *carry],
        eqns=equations,
    )
    outs = program.outs[: step.carried] * 2
    return _Parted(dataclasses.replace(program, jaxpr=over(head, consts), consts=consts, outs=outs), refs, kept, tail)


def _computing(
    wanted: Sequence[Any], equations: Sequence[Any], given: Sequence[Any] = ()
) -> tuple[list[Any], set[Any]]:
    """Return the equations that compute `wanted` from `given`, and the other variables that they read."""
    known = set(given)
    read = set(filter(_is_var, wanted)) - known
    found = []
    for equation in reversed(equations):
        if read.intersection(equation.outvars):
            found.append(equation)
            read.difference_update(equation.outvars)
            read.update(set(filter(_is_var, equation.invars)) - known)
    return found[::-1], read


def _is_var(atom: Any) -> bool:
    return not hasattr(atom, "val")


def _tail(jaxpr: Any, consts: Sequence[Any]) -> Callable[[Any, Any], tuple[Any, Any]]:
    return lambda carry, _: (carry, replay(jaxpr, consts, carry, {}))
