"""Pairs of random programs, equal and nearly equal, proved or not, held against what they compute."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.verify.proof.prove import Proof, prove
from tests.soundness import evaluate, kinds_control  # kinds_control registers its kinds
from tests.soundness.kinds import EFFECTS, FORWARD_ONLY, KINDS, function
from tests.soundness.programs import Program, draw, live, mutated, same, walk
from tests.soundness.replayed import unfollowed
from tests.soundness.spelling import Spelling

INPUTS = "mmik"
SHAPES = {"m": (4, 3), "v": (3,)}
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -7.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, -1e-3)
INTEGERS = (0, 1, -1, 2, 3, 4, 2**31 - 1, -(2**31))

# Sums of cotangents may be added in another order, and lose the sign of a zero: in float64, on numbers of no size, that
# is all that may differ, but where something is divided by such a zero.
MILD = (1.0, -1.0, 0.5, 2.0, -3.0)
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Pair:
    """Two programs and how each is spelled. With `gradients` the programs are the derivatives of what is spelled."""

    seed: int
    before: Program
    after: Program
    gradients: bool

    @property
    def equal(self) -> bool:
        """Equal by construction: one program, spelled twice."""
        return same(self.before, self.after)

    def traced(self) -> tuple[Any, Any]:
        return tuple(_traced(program, spelling, self) for program, spelling in self.spelled())  # type: ignore[return-value]

    def spelled(self) -> Iterator[tuple[Program, Spelling]]:
        effects = any(step.kind in EFFECTS for one in (self.before, self.after) for step in walk(one))
        yield self.before, Spelling(self.seed, plain=self.seed % 2 == 0, effects=effects)
        yield self.after, Spelling(self.seed + 1, effects=effects)


@dataclass
class Found:
    """What a run has found. unfollowed: proved, and not followed by the checker of certificates. wrong: proved, though the numbers differ. reordered: one
    program, two answers, where sums of cotangents in another order were rounded to few bits. harness: the same without
    cotangents, a mistake of ours.
    """

    pairs: int = 0
    equal: int = 0
    proved: int = 0
    differing: int = 0
    changed_proved: int = 0
    reordered: int = 0
    untraced: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    unfollowed: Counter[str] = field(default_factory=Counter)
    wrong: list[Pair] = field(default_factory=list)
    harness: list[Pair] = field(default_factory=list)
    missed: list[Pair] = field(default_factory=list)


def pair(seed: int) -> Pair:
    """The pair of a seed: half of them one program, half a program and a changed one; a third of them derivatives."""
    rng = random.Random(seed)
    gradients = rng.random() < 0.25
    kinds = {name: kind for name, kind in KINDS.items() if not (gradients and name in FORWARD_ONLY)}
    outputs = "mv"[: rng.randint(1, 2)] if gradients else "m"
    before = live(draw(rng, kinds, INPUTS, outputs, rng.randint(2, 6), 2), EFFECTS)
    after = before
    if rng.random() < 0.5:
        after = mutated(rng, kinds, before)
        while rng.random() < 0.15:
            after = mutated(rng, kinds, after)
    return Pair(2 * seed + rng.randint(0, 1), before, after, gradients)


def near(seed: int, names: Sequence[str], *, gradients: bool = False) -> Pair:
    """A small program of these kinds of steps alone, and the same with one thing changed."""
    rng = random.Random(seed)
    kinds = {name: KINDS[name] for name in names}
    before = live(draw(rng, kinds, INPUTS, "m", rng.randint(1, 3), 1), EFFECTS)
    return Pair(2 * seed + rng.randint(0, 1), before, mutated(rng, kinds, before, 1), gradients)


def _traced(program: Program, spelling: Spelling, pair: Pair) -> Any:
    run = function(program, spelling)
    with jax.enable_x64(pair.gradients):
        key = jax.eval_shape(lambda: jax.random.key(0))
        kind = jnp.zeros(()).dtype
        m, n = jax.ShapeDtypeStruct((4, 3), kind), jax.ShapeDtypeStruct((), np.int32)
        if not pair.gradients:
            return jax.make_jaxpr(run)(m, m, n, key)
        cts = [jax.ShapeDtypeStruct(SHAPES[one], kind) for one in types(program)]
        return jax.make_jaxpr(lambda x, w, n, k, cts: jax.vjp(lambda x, w: run(x, w, n, k), x, w)[1](tuple(cts)))(
            m, m, n, key, cts
        )


def types(program: Program) -> list[str]:
    pool = [*program.inputs, *(KINDS[step.kind].out for step in program.steps)]
    return [pool[place] for place in program.results]


def inputs(pair: Pair, avals: Any, which: int) -> list[Any]:
    """Arguments: random numbers first, then special values. Keys are of jax."""
    rng = np.random.default_rng(pair.seed * 7 + which)
    special = MILD if pair.gradients or inexact(pair) else FLOATS
    found: list[Any] = []
    for aval in avals:
        if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended):
            found.append(jax.random.key(pair.seed % 1000 + which))
        elif aval.dtype.kind == "i":
            found.append(np.asarray(rng.choice(INTEGERS[:5] if which == 0 else INTEGERS), aval.dtype))
        elif which == 0:
            found.append(rng.normal(size=aval.shape).astype(aval.dtype))
        else:
            with np.errstate(all="ignore"):
                found.append(rng.choice(special, aval.shape).astype(aval.dtype))
    return found


def inexact(pair: Pair) -> bool:
    """Whether there are sums of cotangents inside, whose order is not kept."""
    return any(step.kind == "inner_gradient" for one in (pair.before, pair.after) for step in walk(one))


def answers(pair: Pair, closed: Any, which: int) -> tuple[list[Any], list[Any]]:
    """The outputs, and what callbacks saw."""
    kinds_control.LOG.clear()
    with jax.enable_x64(pair.gradients):
        outputs = evaluate.of(closed, inputs(pair, closed.in_avals, which))
    return outputs, list(kinds_control.LOG)


def differ(pair: Pair, before: Any, after: Any) -> bool:
    """Whether two programs were seen to differ, on random numbers and on special values."""
    for which in range(3):
        (old, old_log), (new, new_log) = (answers(pair, one, which) for one in (before, after))
        if [name for name, _ in old_log] != [name for name, _ in new_log]:
            return True
        seen = [*zip(old, new, strict=True), *((a, b) for (_, a), (_, b) in zip(old_log, new_log, strict=True))]
        if not all(_alike(pair, a, b) for a, b in seen):
            return True
    return False


def _alike(pair: Pair, one: Any, other: Any) -> bool:
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    if not (pair.gradients or inexact(pair)):
        numbers = one == one
        return bool(
            np.array_equal(numbers, other == other)
            and np.where(numbers, one, 0).tobytes() == np.where(numbers, other, 0).tobytes()
        )
    finite = np.isfinite(one)
    if not np.array_equal(finite, np.isfinite(other)):
        return False
    one, other = one[finite], other[finite]  # inf, -inf, and what comes of them, may be from zeros of two signs
    scale = 1.0 + float(np.max(np.abs(one), initial=0.0))
    allowed = TOLERANCE if one.dtype == np.float64 else 1e-3
    return bool(np.all(np.abs(one - other) <= allowed * scale))


def examine(pair: Pair, found: Found) -> None:
    """Trace, prove, compute, and count."""
    found.pairs += 1
    try:
        before, after = pair.traced()
    except Exception as error:  # jax refuses some programs, as effects under remat; they are counted
        found.untraced[f"{type(error).__name__}: {_short(str(error))}"] += 1
        return
    proof = prove(before, after, cotangents=len(types(pair.before)) if pair.gradients else 0)
    found.equal += pair.equal
    if pair.equal and not proof.proved:
        found.reasons[reason(proof)] += 1
        found.missed.append(pair)
    if pair.equal and proof.proved:
        found.proved += 1
        why = unfollowed(before, after, len(types(pair.before)) if pair.gradients else 0)
        found.unfollowed.update([] if why is None else [why])
    if differ(pair, before, after):
        found.differing += not pair.equal
        if pair.equal and not (pair.gradients or inexact(pair)):
            found.harness.append(pair)
        found.reordered += pair.equal
        if proof.proved:
            found.wrong.append(pair)
    elif proof.proved and not pair.equal:
        found.changed_proved += 1


def reason(proof: Proof) -> str:
    """Why a pair was not proved, in words that many pairs share."""
    if proof.not_understood:
        return _short(proof.not_understood[0])
    return _short(proof.difference.what if proof.difference else "no difference found")


def _short(text: str) -> str:
    return re.sub(r"\d+", "#", text.strip().splitlines()[0] if text.strip() else "")[:90]


def run(first: int, pairs: int, tell: Callable[[int, Found], None] = lambda seed, found: None) -> Found:
    """Examine so many pairs; `tell` is called after each with its seed and what was found until then."""
    found = Found()
    for seed in range(first, first + pairs):
        examine(pair(seed), found)
        tell(seed, found)
        if seed % 2500 == 2499:  # traces of jitted functions add up
            jax.clear_caches()
    return found
