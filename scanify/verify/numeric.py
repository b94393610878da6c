"""Comparing two versions by their values, where no proof was found.

The tolerances are fixed numbers, not functions of the size of an array as those of `jax.test_util.check_grads` are:
there a large array hides a large error. In float64 a loop and its scan differ by rounding only (1e-15 was measured),
so 1e-12 of the size of an array is both wide enough and narrow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, jaxprs_in_params

from scanify.verify.arrays import is_inexact, is_key, struct
from scanify.verify.figures import EQUAL, Distance, distance
from scanify.verify.jvp import jvp
from scanify.verify.points import Point, far, near, not_finite, shaken
from scanify.verify.trace import Policy, Version, differentiated, flat_outputs, gradients, trace, under
from scanify.verify.vmap import batch

FLOAT64 = 1e-12  # of the size of an array
NATIVE_EPS = 128  # times the machine epsilon, where there is no float64 truth
WORSE = 4.0  # times the error of the original against the float64 truth
# Far from the values of the case: how small the rounding of the leaves is against the tolerance, how many times what it
# does to the original the tolerance is at least, and the tolerance with which a comparison says nothing any more.
ROUNDED, SHAKEN, LOOSEST = 64.0, 10.0, 1e-4

_Arrays = Sequence[Any]


@dataclass(frozen=True)
class Outcome:
    """Whether values agree, in which sense, and with which figures."""

    agree: bool
    text: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two versions, one remat policy, and the concrete leaves that both are functions of, with their key paths.

    `outputs` are the key paths of the arrays that a call returns, `inexact` which of them can be differentiated.
    `memo` keeps what the original computed, which is the same under every policy. `inputs` says which leaves are
    arguments of the call.
    """

    before: Version
    after: Version
    leaves: tuple[Any, ...]
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    inexact: tuple[int, ...]
    policy: Policy
    memo: dict[Any, Any] = field(default_factory=dict)
    inputs: tuple[int, ...] = ()

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        if key not in self.memo:
            self.memo[key] = compute()
        return self.memo[key]


def compare_outputs(case: Comparison) -> Outcome:
    """Values, under jit."""
    return _test(case, _outputs(case))


def _outputs(case: Comparison) -> _Check:
    return _Check("values", _values, case.outputs)


def compare_gradients(case: Comparison) -> Outcome:
    """vjp with random cotangents."""
    grads = tuple(f"the gradient of {case.names[i]}" for i in differentiated(case.leaves))
    return _test(case, _Check("vjp", _vjp, grads))


def compare_tangents(case: Comparison) -> Outcome:
    """jvp with random tangents."""
    tangents = tuple(f"the tangent of {case.outputs[i]}" for i in case.inexact)
    return _test(case, _Check("jvp", _jvp, tangents, native=False, far=False))


def compare_batched(case: Comparison, inputs: Sequence[int]) -> Outcome:
    """Values under vmap over these leaves."""
    return _test(case, _Check("vmap", functools.partial(_vmapped, inputs), case.outputs, native=False, far=False))


_Function = Callable[[_Arrays], list[Any]]
_Make = Callable[[Version, _Arrays, np.random.Generator], _Function]


@dataclass(frozen=True, eq=False)
class _Check:
    """What is computed of both versions, and the names of the arrays that it gives.

    `make` gives the function of a version, compiled for leaves like these. `native`: also in the model's own dtypes,
    where a rewrite can lose accuracy that float64 does not show. `far`: at points far from the case's own values, too.
    """

    title: str
    make: _Make
    names: tuple[str, ...]
    native: bool = True
    far: bool = True


def _test(case: Comparison, check: _Check) -> Outcome:
    native = _Runner(case, _outputs(case), wide=False)
    point, moved = case.once("near", lambda: near(case.leaves, lambda xs: native.function(xs)(xs)))
    outcome = _one(case, point, check)
    as_given = "" if moved else "; with the values of the case, as perturbed ones give NaN"
    return Outcome(outcome.agree, f"{check.title}: {outcome.text}{as_given}")


def _one(case: Comparison, point: Point, check: _Check) -> Outcome:
    runner = _Runner(case, check, wide=True)
    wide = runner.both(point)
    limit = case.once("limit", lambda: _limit(case, point.leaves)) if wide.ran else None
    if limit is None:
        why = wide.unsupported or wide.error or "it computes in less than float32 whatever it is given"
        return _native_only(_Runner(case, check, wide=False).both(point), f"not in float64: {why}")
    text = f"float64 {wide.apart}" + (f" (tolerance {limit:.2g})" if limit > FLOAT64 else "")
    if not wide.apart.relative <= limit:
        return Outcome(False, f"float64, tolerance {limit:.2g}: {wide.apart}")
    elsewhere = _elsewhere(runner, point, wide, limit) if check.far else Outcome(True, "")
    if not elsewhere.agree:
        return elsewhere
    if not check.native:
        return Outcome(True, text + elsewhere.text)
    native = _Runner(case, check, wide=False).both(point)
    if not native.ran:
        return Outcome(not native.error, f"{text}, but in its own dtypes {native.error or native.unsupported}")
    worse = _worse_than_original(native, wide, check.names)
    text = f"{text}, its own dtypes {native.apart}{elsewhere.text}"
    return Outcome(worse is None, text + (f"; {worse}" if worse else ""))


def _elsewhere(runner: _Runner, point: Point, here: _Pair, limit: float) -> Outcome:
    """Whether both agree far from the values of the case, too, where the original is as finite as it is near them.

    What is large magnifies rounding: there the tolerance is no less than a multiple of what rounding of the leaves does
    to the original, and where that is much, nothing is said.
    """
    told = []
    for other in runner.case.once("far", lambda: far(point.leaves, runner.case.inputs)):
        found = runner.both(other)
        if found.unsupported or not_finite(found.before) > not_finite(here.before):
            continue
        bound = max(limit, SHAKEN * runner.rounding(other, found, limit))
        if not bound <= LOOSEST:
            continue
        if found.error or not found.apart.relative <= bound:
            return Outcome(
                False, f"with {other.about}: {found.error or f'float64, tolerance {bound:.2g}: {found.apart}'}"
            )
        told.append(other.about)
    return Outcome(True, f"; with {' and with '.join(told)}, too" if told else "")


def _native_only(native: _Pair, why: str) -> Outcome:
    """The outcome where float64 cannot serve: both versions in their own dtypes, or neither."""
    if native.unsupported:
        return Outcome(True, f"the original does not support it ({native.unsupported})")
    if native.error:
        return Outcome(False, native.error)
    alone = _native_alone(native)
    return Outcome(alone.agree, f"its own dtypes {alone.text} ({why})")


@dataclass(frozen=True, eq=False)
class _Pair:
    """The results of both versions, or what was raised: `unsupported` by the original, `error` by the rewritten."""

    before: list[Any]
    after: list[Any]
    apart: Distance = EQUAL
    unsupported: str = ""
    error: str = ""

    @property
    def ran(self) -> bool:
        return not (self.unsupported or self.error)


@dataclass(eq=False)
class _Runner:
    """Runs one check of both versions, in float64 (`wide`) or in the model's own dtypes; each is compiled once."""

    case: Comparison
    check: _Check
    wide: bool
    rewritten: _Function | None = None

    def both(self, point: Point) -> _Pair:
        with self.width():
            given = self.given(point.leaves)
            before, unsupported = self.case.once(self.key(point), lambda: self.original(given))
            if unsupported:
                return _Pair([], [], unsupported=unsupported)
            try:
                with under(self.case.policy, self.case.after):
                    self.rewritten = self.rewritten or self.made(self.case.after, given)
                    after = self.rewritten(given)
            except Exception as error:
                return _Pair(before, [], error=f"the rewritten version raised {_raised(error)}")
            if len(before) != len(after):
                return _Pair(
                    before, after, error=f"{len(before)} arrays in the original, {len(after)} in the rewritten"
                )
            return _Pair(before, after, distance(self.check.names, before, after))

    def rounding(self, point: Point, found: _Pair, limit: float) -> float:
        """How far the original goes where its leaves are rounded to a size that is small against `limit`."""

        def compute() -> float:
            with self.width():
                moved, unsupported = self.original(self.given(shaken(self.given(point.leaves), limit / ROUNDED)))
                return float("inf") if unsupported else distance(self.check.names, found.before, moved).relative

        return float(self.case.once((*self.key(point), "rounding"), compute))

    def original(self, given: _Arrays) -> tuple[list[Any], str]:
        try:
            with under(None, self.case.before):
                return self.function(given)(given), ""
        except Exception as error:  # user code may raise anything; what it does is reported
            return [], _raised(error)

    def function(self, given: _Arrays) -> _Function:
        """The check of the original, compiled once for all policies."""
        made: _Function = self.case.once((self.check.title, self.wide), lambda: self.made(self.case.before, given))
        return made

    def made(self, program: Version, given: _Arrays) -> _Function:
        return self.check.make(program, given, np.random.default_rng(1))

    def key(self, point: Point) -> tuple[Any, ...]:
        return self.check.title, self.wide, point.about

    def given(self, leaves: _Arrays) -> list[Any]:
        return [_widened(x) for x in leaves] if self.wide else list(leaves)

    def width(self) -> AbstractContextManager[Any]:
        context: AbstractContextManager[Any] = jax.enable_x64(self.wide or bool(jax.config.jax_enable_x64))
        return context


def _called(program: Version, leaves: _Arrays) -> list[Any]:
    return flat_outputs(program.call(program.own(leaves)))[0]


def _values(program: Version, leaves: _Arrays, rng: np.random.Generator) -> _Function:
    function = jax.jit(lambda xs: _called(program, xs))
    return lambda given: _listed(function(list(given)))


def _vmapped(inputs: Sequence[int], program: Version, leaves: _Arrays, rng: np.random.Generator) -> _Function:
    axes = [0 if i in set(inputs) else None for i in range(len(leaves))]
    function = jax.jit(lambda xs: batch(program, xs, axes))

    def run(given: _Arrays) -> list[Any]:
        two = [x if axis is None else jnp.stack([x, _another(x)]) for x, axis in zip(given, axes, strict=True)]
        return _listed(function(two))

    return run


def _another(x: Any) -> Any:
    """Other values of the same kind: an integer stays the index that it may be, a key is a key of the same kind."""
    if is_inexact(x):
        return x * 1.25
    if is_key(x):
        return jax.random.wrap_key_data(jnp.flip(jax.random.key_data(x)), impl=jax.random.key_impl(x))
    return jnp.flip(x)


def _vjp(program: Version, leaves: _Arrays, rng: np.random.Generator) -> _Function:
    shapes = jax.eval_shape(lambda xs: _called(program, xs), list(leaves))
    cotangents = [_noise(rng, s) for s in shapes if is_inexact(s)]
    function = jax.jit(lambda xs, cts: gradients(program, xs, cts))
    return lambda given: _listed(function(list(given), cotangents))


def _jvp(program: Version, leaves: _Arrays, rng: np.random.Generator) -> _Function:
    tangents = [_noise(rng, leaves[i]) for i in differentiated(leaves)]
    function = jax.jit(lambda xs, moves: jvp(program, xs, moves))
    return lambda given: _listed(function(list(given), tangents))


def _listed(values: Any) -> list[Any]:
    return [jax.block_until_ready(value) for value in values]


def _noise(rng: np.random.Generator, like: Any) -> Any:
    return jnp.asarray(rng.standard_normal(like.shape).astype(like.dtype))


def _widened(x: Any) -> Any:
    if not is_inexact(x):
        return x
    wide = jnp.complex128 if jnp.issubdtype(x.dtype, jnp.complexfloating) else jnp.float64
    return jnp.asarray(np.asarray(x).astype(wide))


def _limit(case: Comparison, leaves: _Arrays) -> float | None:
    """The tolerance in float64: 1e-12, or 128 float32 epsilons where the original casts to float32 on its own.

    None where it casts to something narrower, which leaves nothing to compare by.
    """
    with jax.enable_x64(True):
        traced = trace(case.before, [struct(_widened(x)) for x in leaves])
    narrow = {str(d) for jaxpr in (traced.forward, traced.gradient) if jaxpr for d in _dtypes(jaxpr)}
    if narrow & {"bfloat16", "float16"} or any(name.startswith("float8") for name in narrow):
        return None
    return NATIVE_EPS * float(np.finfo(np.float32).eps) if narrow & {"float32", "complex64"} else FLOAT64


def _dtypes(closed: ClosedJaxpr) -> Iterator[Any]:
    todo: list[Any] = [closed.jaxpr]
    while todo:
        jaxpr = todo.pop()
        for eqn in jaxpr.eqns:
            yield from (var.aval.dtype for var in eqn.outvars if hasattr(var.aval, "dtype"))
            todo.extend(jaxprs_in_params(eqn.params))


def _native_alone(native: _Pair) -> Outcome:
    eps = max((float(jnp.finfo(x.dtype).eps) for x in native.before if is_inexact(x)), default=0.0)
    limit = NATIVE_EPS * eps
    if native.apart.bitwise:
        return Outcome(True, str(native.apart))
    return Outcome(native.apart.relative <= limit, f"{native.apart} (tolerance {limit:.2g})")


def _worse_than_original(native: _Pair, wide: _Pair, names: Sequence[str]) -> str | None:
    """Why the rewritten version's error against float64 is larger than the original's by more than rounding."""
    if native.apart.bitwise:
        return None
    for name, truth, a, b in zip(names, wide.before, native.before, native.after, strict=True):
        if not is_inexact(a):
            continue
        errors = [distance([name], [_like(truth)], [_like(x)]).relative for x in (a, b)]
        if errors[0] > 1e-2:  # float64 computed something else, as where random bits depend on the dtype
            alone = _native_alone(native)
            return None if alone.agree else alone.text
        if errors[1] > WORSE * errors[0] + NATIVE_EPS * float(jnp.finfo(a.dtype).eps):
            return f"{name}: error {errors[1]:.2g} against float64, where the original has {errors[0]:.2g}"
    return None


def _like(x: Any) -> Any:
    return np.asarray(x).astype(np.complex128 if jnp.issubdtype(x.dtype, jnp.complexfloating) else np.float64)


def _raised(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
