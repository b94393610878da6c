"""Compare two versions by their values if no proof was found.

The tolerances are fixed numbers, not functions of the size of an array as in `jax.test_util.check_grads`, where a large
array hides a large error. In float64 a loop and its scan differ by rounding only (1e-15 was measured), so 1e-12 of the
size of an array is both wide enough and narrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.verify.programs.precision import full_precision
from scanify.verify.programs.trace import Policy, Version, trace, under
from scanify.verify.values import checks
from scanify.verify.values.arrays import is_inexact, struct
from scanify.verify.values.checks import Check
from scanify.verify.values.edge import at_edge
from scanify.verify.values.figures import EQUAL, Distance, distance
from scanify.verify.values.limited import SECONDS, TIMES, allowing, left_out
from scanify.verify.values.points import Point, far, near, shaken
from scanify.verify.values.tolerances import (
    EXACT,
    LOOSEST,
    NATIVE_EPS,
    coarsest,
    dtypes_of,
    limit_of,
    narrower,
    rounding_size,
    tolerance,
)

WORSE = 4.0  # times the error of the original against the float64 result
SHAKEN = 10.0  # far from the values of the case: times the effect of rounding the leaves in the original
LOOSE = 1e-3  # beyond this tolerance float64 shows no more than the dtype
# The number of points at which integers and truth values are compared.
POINTS = 16
UNENDED = TimeoutError.__name__

_Arrays = Sequence[Any]


@dataclass(frozen=True)
class Outcome:
    """Whether values agree, in which sense, and with which figures; `ran`: whether the values show anything."""

    agree: bool
    text: str
    ran: bool = True


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two versions, one remat policy, and the concrete leaves of both, with their key paths.

    `outputs` are the key paths of the arrays that a call returns, `inexact` the indices of those that can be
    differentiated. `memo` caches results of the original, which are the same under every policy. `inputs` are the
    indices of leaves that are arguments of the call.
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
    """Compare values, under jit."""
    return compare(case, _outputs(case))


def _outputs(case: Comparison) -> Check:
    return Check("values", checks.values, case.outputs)


def about_leaves(leaves: Sequence[int] | None) -> str:
    return "" if leaves is None else ", ".join(map(str, leaves))


def compare(case: Comparison, check: Check) -> Outcome:
    """Run a check on both versions."""
    native = _Runner(case, _outputs(case), wide=False)
    point, moved = case.once("near", lambda: near(case.leaves, lambda xs: native.function(xs)(xs)))
    outcome = _one(case, point, check)
    as_given = "" if moved else "; with the values of the case, as perturbed ones give NaN"
    return Outcome(outcome.agree, f"{check.title}: {outcome.text}{as_given}", outcome.ran)


def _one(case: Comparison, point: Point, check: Check) -> Outcome:
    runner = _Runner(case, check, wide=True)
    wide = runner.both(point)
    limit = case.once("limit", lambda: _limit(case, point.leaves)) if wide.ran else None
    narrower = case.once("narrower", lambda: _narrower(case, point.leaves)) if limit is not None else ""
    if limit is None or limit > LOOSE or narrower:
        why = wide.unsupported or wide.error or narrower or "it computes in less than float32 whatever it is given"
        limit = None if narrower else limit
        narrow = _Runner(case, check, wide=False)
        return _native_only(narrow, narrow.both(point), point, limit, f"not in float64: {why}")
    if not tells(wide.before):
        return Outcome(True, "nothing finite came out, so that nothing is shown", ran=False)
    text = f"float64 {wide.apart}" + (f" (tolerance {limit:.2g})" if limit > EXACT else "")
    if not wide.apart.relative <= limit:
        return Outcome(False, f"float64, tolerance {limit:.2g}: {wide.apart}")
    hidden = _hidden(runner, point, wide, limit)
    if hidden:
        return Outcome(False, f"float64, tolerance {limit:.2g}, beside much larger values: {hidden}")
    if not any(map(is_inexact, wide.before)):
        return _discrete(runner, wide, text)
    elsewhere = _elsewhere(runner, point, limit) if check.far else Outcome(True, "")
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


def _elsewhere(runner: _Runner, point: Point, limit: float) -> Outcome:
    """Check that both agree far from the values of the case, too, including errors and NaN.

    Large values magnify rounding: the tolerance there is at least a multiple of the effect of rounding the leaves in
    the original, and if that is large, only NaN and infinities are compared, as long as rounding moves none of them.
    """
    told, unended = [], []
    for other in runner.case.once("far", lambda: far(point.leaves, runner.case.inputs)):
        found = runner.both(other)
        if found.wrong:
            return Outcome(False, f"with {other.about}: {found.wrong}")
        unended += [other.about] if found.unended else []
        edge = "" if found.unended else at_edge(runner, point, other, found, limit)
        if edge:
            return Outcome(False, edge)
        if found.unsupported:
            continue
        noise = runner.rounding(other, found, limit)
        bound = max(limit, SHAKEN * noise)
        odd = np.isinf(found.apart.relative) and not np.isinf(noise)
        loose = not bound <= max(LOOSEST, limit)
        if odd or not (loose or found.apart.relative <= bound):
            return Outcome(False, f"with {other.about}: float64, tolerance {bound:.2g}: {found.apart}")
        told += [] if loose or not tells(found.before) else [other.about]
    return Outcome(True, (f"; with {' and with '.join(told)}, too" if told else "") + left_out(unended, SECONDS))


def _native_only(runner: _Runner, native: _Pair, point: Point, limit: float | None, why: str) -> Outcome:
    """Return the outcome if float64 cannot be used: both versions in their own dtypes, or no comparison."""
    if native.wrong:
        return Outcome(False, native.wrong)
    if native.unsupported:
        return Outcome(True, f"nothing was compared, as the original raised {native.unsupported}", ran=False)
    if not tells(native.before):
        return Outcome(True, "nothing finite came out, so that nothing is shown", ran=False)
    alone = _native_alone(native, limit)
    hidden = _hidden(runner, point, native, limit or _native_limit(native)) if alone.agree else ""
    if not alone.agree or hidden:
        return Outcome(
            False, f"its own dtypes {hidden and 'beside much larger values: '}{hidden or alone.text} ({why})"
        )
    elsewhere = _elsewhere(runner, point, limit or _native_limit(native)) if runner.check.far else alone
    text = f"its own dtypes {alone.text} ({why})"
    return (
        Outcome(True, text + elsewhere.text)
        if elsewhere.agree and runner.check.far
        else Outcome(elsewhere.agree, text if elsewhere.agree else elsewhere.text)
    )


def tells(values: _Arrays) -> bool:
    """True if there is a finite result, or one that is not a float."""
    return not values or any(
        not is_inexact(x) or bool(np.isfinite(np.asarray(x).astype(np.complex128)).any()) or x.size == 0 for x in values
    )


def _hidden(runner: _Runner, point: Point, found: _Pair, limit: float) -> str:
    """Describe a difference among values that are small next to others, beyond the effect of rounding; or ""."""
    if found.apart.among <= limit:
        return ""
    noise = runner.rounding(point, found, limit, among=True)
    return str(found.apart) if found.apart.among > max(limit, SHAKEN * noise) else ""


def _discrete(runner: _Runner, here: _Pair, text: str) -> Outcome:
    """Compare integers and truth values at several points, where they must vary, since they hide their inputs."""
    case, varies, told, unended = runner.case, False, text, list[str]()
    for seed in range(1, 1 + POINTS):
        leaves = near(case.leaves, lambda xs: xs, seed)[0].leaves
        found = runner.both(Point(leaves, f"other values {seed}"))
        if found.wrong or not found.apart.bitwise:
            return Outcome(False, f"with other values: {found.wrong or found.apart}")
        unended += [f"other values {seed}"] if found.unended else []
        if found.unsupported:
            continue
        varies = varies or not distance(runner.check.names, here.before, found.before).bitwise
    for other in case.once("far", lambda: far(case.leaves, case.inputs)):
        found = runner.both(other)
        if found.wrong or not found.apart.bitwise:
            return Outcome(False, f"with {other.about}: {found.wrong or found.apart}")
        unended += [other.about] if found.unended else []
    told += left_out(unended, SECONDS)
    if not varies:
        return Outcome(True, f"{told}, which is the same whatever the values are, so that nothing is shown", ran=False)
    return Outcome(True, told)


@dataclass(frozen=True, eq=False)
class _Pair:
    """The results of both versions, or their errors: `unsupported` of the original, `error` of the rewritten."""

    before: list[Any]
    after: list[Any]
    apart: Distance = EQUAL
    unsupported: str = ""
    error: str = ""

    @property
    def unended(self) -> bool:
        """True if neither version ended in time."""
        return self.unsupported.startswith(UNENDED) and UNENDED in self.error

    @property
    def wrong(self) -> str:
        """Describe an error that only one version raises; "" if both or neither do."""
        if bool(self.unsupported) == bool(self.error):
            return ""
        return self.error or f"the original raised {self.unsupported}, and the rewritten version raised nothing"

    @property
    def ran(self) -> bool:
        return not (self.unsupported or self.error)


@dataclass(eq=False)
class _Runner:
    """Runs one check of both versions, in float64 (`wide`) or in the model's own dtypes; each is compiled once."""

    case: Comparison
    check: Check
    wide: bool
    rewritten: checks.Function | None = None

    def both(self, point: Point) -> _Pair:
        with self.width():
            given = self.given(point.leaves)
            before, unsupported = self.case.once(self.key(point), lambda: self.original(given))
            try:
                ended = not unsupported.startswith(UNENDED)
                with under(self.case.policy, self.case.after), allowing(SECONDS * TIMES if ended else SECONDS / TIMES):
                    self.rewritten = self.rewritten or self.made(self.case.after, given)
                    after = self.rewritten(given)
            except Exception as error:
                return _Pair(before, [], EQUAL, unsupported, f"the rewritten version raised {raised(error)}")
            if unsupported:
                return _Pair([], after, unsupported=unsupported)
            if len(before) != len(after):
                return _Pair(
                    before, after, error=f"{len(before)} arrays in the original, {len(after)} in the rewritten"
                )
            return _Pair(before, after, self.check.apart(before, after))

    def rounding(self, point: Point, found: _Pair, limit: float, *, among: bool = False) -> float:
        """Return the distance of the original's results if its leaves are rounded to a size that is small against
        `limit`.

        `among`: among values that are small next to others; in a coarse dtype its own rounding is the minimum there.
        """

        def compute() -> Distance | None:
            with self.width():
                rounded = shaken(self.given(point.leaves), rounding_size(limit, coarse=among))
                moved, unsupported = self.original(self.given(rounded))
                return None if unsupported else self.check.apart(found.before, moved)

        apart: Distance | None = self.case.once((*self.key(point), "rounding", among), compute)
        return float("inf") if apart is None else apart.among if among else apart.relative

    def original(self, given: _Arrays) -> tuple[list[Any], str]:
        try:
            with under(None, self.case.before):
                return self.function(given)(given), ""
        except Exception as error:  # user code may raise anything; the error is reported
            return [], raised(error)

    def function(self, given: _Arrays) -> checks.Function:
        """Return the check of the original, compiled once for all policies."""
        made: checks.Function = self.case.once((self.check.key, self.wide), lambda: self.made(self.case.before, given))
        return made

    def made(self, program: Version, given: _Arrays) -> checks.Function:
        return self.check.make(program, given, np.random.default_rng(1))

    def key(self, point: Point) -> tuple[Any, ...]:
        return self.check.key, self.wide, point.about

    def given(self, leaves: _Arrays) -> list[Any]:
        return [widened(x) for x in leaves] if self.wide else list(leaves)

    @contextmanager
    def width(self) -> Iterator[None]:
        with jax.enable_x64(self.wide or bool(jax.config.jax_enable_x64)), full_precision():
            yield


def widened(x: Any) -> Any:
    """Return an inexact array in float64 or complex128; any other unchanged."""
    if not is_inexact(x):
        return x
    wide = jnp.complex128 if jnp.issubdtype(x.dtype, jnp.complexfloating) else jnp.float64
    return jnp.asarray(np.asarray(x).astype(wide))


def _limit(case: Comparison, leaves: _Arrays) -> float:
    """Return the tolerance in float64: 1e-12, or of the narrowest dtype that the original casts to on its own."""
    return limit_of(_inexact_dtypes(case.before, leaves, wide=True))


def _narrower(case: Comparison, leaves: _Arrays) -> str:
    """Return why float64 cannot be used, if only one version has a narrower dtype there; otherwise ""."""
    before, after = (_inexact_dtypes(each, leaves, wide=True, held=True) for each in (case.before, case.after))
    return narrower(before, after, _inexact_dtypes(case.before, leaves, wide=False))


def _inexact_dtypes(program: Version, leaves: _Arrays, *, wide: bool, held: bool = False) -> set[Any]:
    with jax.enable_x64(wide or bool(jax.config.jax_enable_x64)):
        traced = trace(program, [struct(widened(x) if wide else x) for x in leaves])
    dtypes = {d for jaxpr in (traced.forward, traced.gradient) if jaxpr for d in dtypes_of(jaxpr, held=held)}
    return {d for d in dtypes if jnp.issubdtype(d, jnp.inexact)}


def _native_alone(native: _Pair, limit: float | None = None) -> Outcome:
    """Return whether both agree in their own dtypes, within `limit` or the tolerance of the result dtypes."""
    limit = _native_limit(native) if limit is None else limit
    if native.apart.bitwise:
        return Outcome(True, str(native.apart))
    return Outcome(native.apart.relative <= limit, f"{native.apart} (tolerance {limit:.2g})")


def _native_limit(native: _Pair) -> float:
    return tolerance(coarsest(x.dtype for x in native.before))


def _worse_than_original(native: _Pair, wide: _Pair, names: Sequence[str]) -> str | None:
    """Describe an error of the rewritten version against float64 that exceeds the original's by more than rounding."""
    if native.apart.bitwise:
        return None
    for name, truth, a, b in zip(names, wide.before, native.before, native.after, strict=True):
        if not is_inexact(a):
            continue
        errors = [distance([name], [_like(truth)], [_like(x)]).relative for x in (a, b)]
        if errors[0] > 1e-2:  # float64 computed something else, for example if random bits depend on the dtype
            alone = _native_alone(native)
            return None if alone.agree else alone.text
        if errors[1] > WORSE * errors[0] + NATIVE_EPS * float(jnp.finfo(a.dtype).eps):
            return f"{name}: error {errors[1]:.2g} against float64, where the original has {errors[0]:.2g}"
    return None


def _like(x: Any) -> Any:
    return np.asarray(x).astype(np.complex128 if jnp.issubdtype(x.dtype, jnp.complexfloating) else np.float64)


def raised(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
