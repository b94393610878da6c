"""Check that both constructors give the same initial leaves, and both calls the same inputs.

A stack built in another order than the list fails this check: as functions of the same leaves both versions may well be
equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from scanify.errors import ScanifyError
from scanify.nn.trees.difference import first_difference
from scanify.nn.trees.leaves import path_text
from scanify.verify.cases.build import Built, Case, build
from scanify.verify.cases.other_keys import EXTREME, TAILS, Keys
from scanify.verify.certificate.write import Certificate, Proved
from scanify.verify.leaves.correspond import Correspondence, Recipe
from scanify.verify.linen.streams import Streams
from scanify.verify.programs.apart import traced_anew, traced_apart
from scanify.verify.programs.pair import Pair
from scanify.verify.programs.trace import version
from scanify.verify.proof.attempt import proof_of
from scanify.verify.proof.words import raised, unproved
from scanify.verify.values.arrays import is_traced, plain, same_bits, show_value, struct
from scanify.verify.verdict import Status, Verdict

Files = Callable[[str], str | None] | None

# Models of more bytes than this are not built a second time.
_ROOM = 1 << 30
# The number of other keys, and the maximal seconds, for comparing constructors that are not proved equal; draws from
# the tails are compared if all others took at most `TAIL_SECONDS`.
OTHERS, FIRST, SECONDS, TAIL_SECONDS = 16, 7919, 120.0, 20.0
UNLIKE = "the constructors are not proved to use their random key in the same way"


def same_parameters(
    before: Built,
    after: Built,
    found: Correspondence,
    inputs: Sequence[int],
    files: Files,
    certificate: Certificate | None = None,
) -> Verdict:
    """PROVED if each leaf of the original equals, bit for bit, the leaf (or slice of a stack) of the rewritten version.

    With abstract weights the two constructors are proved equal instead. `inputs` are the leaves that are arguments of
    the call: a case must pass the same ones to both versions. Raises ScanifyError if it does not.
    """
    equal = _concrete(before, after, found) if before.constructor is None else None
    if equal is None:
        return _abstract(before, after, found, inputs, files, certificate)
    wrong = [i for i, (same, _) in enumerate(equal) if not same]
    for i in wrong:
        if i in set(inputs):
            raise ScanifyError(
                f"the case must call both versions with the same arguments, but {found.names[i]} was {equal[i][1]}; "
                "make it from a fixed seed"
            )
    unlike = unlike_statics(found)
    if unlike is not None and unlike.status is Status.FAILED:
        return unlike
    if wrong:
        more = f"; {len(wrong)} of {len(equal)} leaves differ" if len(wrong) > 1 else ""
        return Verdict(Status.FAILED, f"{found.names[wrong[0]]} is {equal[wrong[0]][1]}{more}")
    return unlike or Verdict(Status.PROVED)


def unlike_statics(found: Correspondence) -> Verdict | None:
    """Return the verdict on non-array leaves of the models: FAILED if they differ, NOT RUN if not understood."""
    for certain, status in ((True, Status.FAILED), (False, Status.NOT_RUN)):
        these = [each for each in found.statics if each.certain is certain]
        if these:
            more = f" (and {len(these) - 1} more)" if len(these) > 1 else ""
            return Verdict(status, f"{these[0]}{more}")
    return None


def unlike_alternatives(before: Case, after: Case, both: Pair, files: Files, *, abstract: bool) -> Verdict | None:
    """Return the verdict on the other models that a recorded call may have been traced with; None if all are the same.

    Tracers do not show which of the models that a run constructs is called, so all of them are compared, in the order
    in which each version constructs them.
    """
    first: list[Case] = getattr(before, "alternatives", list)()
    second: list[Case] = getattr(after, "alternatives", list)()
    if len(first) != len(second):
        counts = f"{len(first) + 1} in the original, {len(second) + 1} in the rewritten version"
        return Verdict(Status.NOT_RUN, f"the run constructs several models like the one it traces ({counts})")
    for pair in zip(first, second, strict=True):
        models = [build(case, abstract=abstract) for case in pair]
        found = same_parameters(models[0], models[1], both.found, both.inputs, files)
        if not found.good:
            return found
    return None


@dataclass(frozen=True)
class AnyKey:
    """Both constructors as functions of the random keys of the case; `models` are built with the case's own keys.

    `streams` are the random streams of a Linen model.
    """

    before: Any
    after: Any
    pair: Pair
    models: tuple[Any, Any]
    files: Files
    streams: Streams | None = None

    def verdict(self, *, abstract: bool) -> Verdict | None:
        """Return None if PROVED: both make the same parameters from any key, or the case makes no keys.

        Without a proof, they are compared with `OTHERS` more keys, and with bits that keys rarely give.
        """
        why = "its constructor raises"
        for folded in (False,) if abstract else (False, True):
            try:
                with traced_anew("constructor"):
                    found = [self._built(side, folded=folded) for side in (0, 1)]
            except Exception as error:  # user code may raise anything, such as when it reads the value of a number
                why = f"with any key, one of the constructors raises {raised(error, self.files).partition(chr(10))[0]}"
                continue
            if found[0] is None or found[1] is None:
                return None
            why = self._unproved(found[0], found[1], folded=folded)
            if not why:
                return _unlike_each_other(self.models, (found[0].tree[0], found[1].tree[0]))
        if abstract:
            return Verdict(Status.NOT_RUN, f"{UNLIKE}, and abstract weights have no values to compare: {why}")
        return self._tested(why)

    def _built(self, side: int, keys: Keys | None = None, *, folded: bool = False) -> Built | None:
        """Build one version with other keys, or as a function of the shift of all keys; None if the case has none."""
        case, streams = (self.before, self.streams) if side == 0 else (self.after, None)
        returned: list[Any] = []

        def made(*shift: Any) -> Any:
            found = case.with_other_keys(Keys(*shift) if keys is None else keys)
            returned.append(found)
            return (lambda: None, ()) if found is None else found

        inputs = (jax.ShapeDtypeStruct((), np.int32),) if keys is None else ()
        built = build(made, abstract=keys is None, streams=streams, inputs=inputs, folded=folded)
        return None if returned[0] is None else built

    def _unproved(self, first: Built, second: Built, *, folded: bool) -> str:
        """Return why equal parameters are not proved for any key; "" if they are."""
        if not _same_shapes(first, second, self.pair):
            return "the models have other leaves"
        recipes = self.pair.found.before, self.pair.found.recipes
        programs = [_apart(*each, folded=folded) for each in zip((first, second), recipes, strict=True)]
        proof = proof_of(programs[0], programs[1], files=self.files)
        wrong = [
            name for i, name in enumerate(self.pair.found.names) if i not in self.pair.inputs and not proof.equal[i]
        ]
        return f"{wrong[0]}: {unproved(proof)}" if wrong else ""

    def _tested(self, why: str) -> Verdict:
        start, tried, extremes = time.monotonic(), 0, 0
        every = [*(Keys(0, bits) for bits in EXTREME), *(Keys(FIRST + number) for number in range(OTHERS))]
        every += [Keys(0, bits) for bits in TAILS]
        for number, keys in enumerate([] if _large(self.pair) else every):
            if time.monotonic() - start > (SECONDS if number < len(EXTREME) + OTHERS else TAIL_SECONDS):
                break
            odd = self._difference(keys)
            if odd:
                which = "another key in the case" if keys.bits is None else "extreme random bits"
                text = f"the constructors do not use their random key in the same way: with {which}, {odd}"
                return Verdict(Status.FAILED, text)
            tried, extremes = tried + (keys.bits is None), extremes + (keys.bits is not None)
        said = f"{tried} other keys and with {extremes} kinds of extreme random bits" if tried or extremes else ""
        more = f", with {said}" if said else " alone: the models are too large to be made again"
        return Verdict(Status.TESTED, f"not proved ({why}); the same parameters with the key of the case{more}")

    def _difference(self, keys: Keys) -> str:
        """Describe the difference with these keys; "" without one."""
        made: list[Built | str | None] = []
        for side in (0, 1):
            try:
                with traced_apart(f"drawn {side}") if keys.bits is not None else nullcontext():
                    made.append(self._built(side, keys))
            except Exception as error:
                made.append(raised(error, self.files))
        first, second = made
        if isinstance(first, str) or isinstance(second, str):
            if isinstance(first, str) and isinstance(second, str):
                return ""
            which, text = ("original", first) if isinstance(first, str) else ("rewritten version", second)
            return f"the {which} alone raises {text}"
        if first is None or second is None:
            return ""
        if not _same_shapes(first, second, self.pair):
            return "the models have other leaves"
        equal = _concrete(first, second, self.pair.found)
        wrong = [i for i, (same, _) in enumerate(equal) if not same and i not in self.pair.inputs]
        return f"{self.pair.found.names[wrong[0]]} is another" if wrong else ""


def from_any_key(
    before: Case,
    after: Case,
    pair: Pair,
    models: tuple[Any, Any],
    *,
    abstract: bool,
    files: Files,
    streams: Streams | None = None,
) -> Verdict | None:
    """Return the verdict on the constructors with other random keys than the case's; None if they are proved equal.

    It is also None for a case without a method `with_other_keys`.
    """
    if not all(hasattr(case, "with_other_keys") for case in (before, after)):
        return None
    return AnyKey(before, after, pair, models, files, streams).verdict(abstract=abstract)


def _unlike_each_other(models: tuple[Any, Any], again: tuple[Any, Any]) -> Verdict | None:
    """FAILED if two models of the rewritten version have different tree structures, and two of the original do not.

    A static field that is equal to itself alone does that: `jax.tree.map` over both raises, `jax.jit` compiles again.
    """
    alike = [_same_structure(one, other) for one, other in zip(models, again, strict=True)]
    if alike != [True, False]:
        return None
    text = "two models of the rewritten version have two tree structures, and two of the original have one"
    shapes = [
        jax.tree.map(lambda leaf: struct(leaf) if is_traced(leaf) else leaf, each) for each in (models[1], again[1])
    ]
    difference = first_difference(*shapes)
    where = f"; {path_text(difference.path)} is not equal to that of another model" if difference is not None else ""
    return Verdict(Status.FAILED, text + where)


def _same_structure(one: Any, other: Any) -> bool | None:
    """True if two pytrees have one structure; None if their static values cannot be compared."""
    try:
        return bool(jax.tree.structure(one) == jax.tree.structure(other))
    except Exception:
        return None


def _same_shapes(first: Built, second: Built, pair: Pair) -> bool:
    """True if both versions have the same leaves as with the keys of the case."""
    shapes = [(struct(x).shape, struct(x).dtype) for x in first.arrays]
    expected = [(a.shape, a.dtype) for a in jax.eval_shape(pair.before.own, list(pair.avals))]
    return shapes == expected and len(second.arrays) == len(pair.found.recipes)


def _large(pair: Pair) -> bool:
    """True if there is no room for the arrays of both models a second time."""
    held = sum(leaf.nbytes for leaf in pair.leaves if hasattr(leaf, "nbytes") and isinstance(leaf, jax.Array))
    return bool(held > _ROOM)


def _apart(built: Built, recipes: Sequence[Recipe] | None, *, folded: bool = False) -> ClosedJaxpr:
    """Return the constructor of the leaves that both versions share."""
    apart, constructor = version(built, recipes), built.constructor
    assert constructor is not None
    if recipes is None:
        return constructor
    given = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in constructor.in_avals]
    with jax.ensure_compile_time_eval() if folded else nullcontext():
        rebuilt: ClosedJaxpr = jax.make_jaxpr(lambda *xs: apart.split(jaxpr_as_fun(constructor)(*xs)))(*given)
    return rebuilt


def _concrete(before: Built, after: Built, found: Correspondence) -> list[tuple[bool, str]]:
    """Return per leaf of the original whether it is the same, and both values in words."""
    ours = version(before, found.before).split([plain(x) for x in before.arrays])
    others = version(after, found.recipes).split([plain(x) for x in after.arrays])
    answers = []
    for a, b in zip(ours, others, strict=True):
        same = same_bits(a, b)
        answers.append((same, "" if same else _words(a, b)))
    return answers


def _words(a: Any, b: Any) -> str:
    flat = [x.reshape(-1) for x in (a, b)]
    at = next((i for i in range(min(flat[0].size, 4096)) if not same_bits(flat[0][i], flat[1][i])), None)
    if a.ndim == 0 or at is None:
        return f"{show_value(a)} in the original, {show_value(b)} in the rewritten version"
    shown = [show_value(x[at]) for x in flat]
    return f"{shown[0]} in the original, {shown[1]} in the rewritten version (element {at})"


def _abstract(
    before: Built,
    after: Built,
    found: Correspondence,
    inputs: Sequence[int],
    files: Files,
    certificate: Certificate | None,
) -> Verdict:
    original, rebuilt = _apart(before, found.before), _apart(after, found.recipes)
    proof = proof_of(original, rebuilt, files=files)
    wrong = [i for i, same in enumerate(proof.equal) if not same]
    given = [i for i in wrong if i in set(inputs)]
    unlike = unlike_statics(found)
    if unlike is not None:
        return unlike
    if proof.proved and all(proof.avals_equal):
        if certificate is not None:
            certificate.add(Proved("initial parameters", original, rebuilt, 0, 0))
        return Verdict(Status.PROVED)
    name = found.names[(given or wrong or [0])[0]]
    text = f"the initial values of {name} are not proved equal, and abstract weights have no values to compare"
    return Verdict(Status.NOT_RUN, f"{text}: {unproved(proof)}", proof.difference)
