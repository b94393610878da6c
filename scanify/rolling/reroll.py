"""`scanify.reroll`: trace a function and run its repeated layers as scans, without changing its source."""

from __future__ import annotations

import functools
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

import jax

from scanify.errors import ScanifyError
from scanify.jaxpr.reading.calls import opened
from scanify.nn.scans.checkpoint import RematPolicy, ScanCheckpointPolicy
from scanify.rolling.arguments import Arguments, Result, written
from scanify.rolling.captured import Captured
from scanify.rolling.explain import doubt, explained
from scanify.rolling.find.choose import COUNTED, ON_CPU
from scanify.rolling.roll import Rolled, rolled

P = ParamSpec("P")
R = TypeVar("R")

# The number of traces cached per function; `jit` has its own limit.
_REMEMBERED = 64
# The number of different captures cached per function.
_CAPTURED = 4


class NotRerolled(UserWarning):
    """The function runs as it was written."""


@overload
def reroll(
    f: Callable[P, R],
    *,
    remat: RematPolicy | None = None,
    min_layers: int | None = None,
    check: bool = True,
    explain: bool = False,
) -> Callable[P, R]: ...


@overload
def reroll(
    f: None = None,
    *,
    remat: RematPolicy | None = None,
    min_layers: int | None = None,
    check: bool = True,
    explain: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def reroll(
    f: Any = None,
    *,
    remat: RematPolicy | None = None,
    min_layers: int | None = None,
    check: bool = True,
    explain: bool = False,
) -> Any:
    """Compute `f` by a program in which repeated layers are one `lax.scan` each.

    `f` is traced once per signature, as by `jax.jit`, under which it must always compute the same. Source, parameters
    and keys do not change. Use it inside `jit`, `grad`, `vmap` and other transformations: `jax.jit(reroll(f))`. Without
    `f`, it is a decorator.

    **Arguments:**

    - `remat`: what each scan saves for its backward pass, as in `scanify.nn.ScanCheckpointPolicy`: True, "full",
        "nested", "dots", "offload", or a policy; None leaves that to `f`.
    - `min_layers`: the least number of equal layers in a scan, at least 2. By default it is 3, and layers are rolled
        only if their scan compiles faster; on a CPU, that excludes a few small layers without random numbers. With a
        number, or with `remat`, layers are rolled wherever that makes the program smaller.
    - `check`: prove that each program computes the same as `f`; if that fails, `f` runs unchanged, with a warning that
        names the operation.
    - `explain`: print a report on each program.
    """
    if f is None:
        return functools.partial(reroll, remat=remat, min_layers=min_layers, check=check, explain=explain)
    if not callable(f):
        raise ScanifyError(f"expected a function to reroll, got {type(f).__name__}; give its options by name")
    if min_layers is not None and (type(min_layers) is not int or min_layers < 2):
        raise ScanifyError(f"expected min_layers to be a number of layers, 2 at the least; got {min_layers!r}")
    policy = None if remat is None else ScanCheckpointPolicy.of(remat)
    fitted = min_layers is None and policy is None
    made = _Rerolled(f, policy, 3 if min_layers is None else min_layers, fitted, check, explain)

    @functools.wraps(f)
    def rerolled(*args: Any, **kwargs: Any) -> Any:
        return made(args, kwargs)

    return rerolled


class _WritesToArguments(Exception):
    """A traced function writes to its arguments, which are copies, so that the writes would be lost."""


class _Traces:
    """The traces of a function with the same captured values, and the programs made from them."""

    def __init__(self, f: Callable[..., Any]) -> None:
        # Keyed by the id of the trace, which is stored with it.
        self.made: OrderedDict[int, tuple[Any, Any, Rolled | None]] = OrderedDict()

        def traced(given: Arguments, leaves: list[Any]) -> Result:
            tree = given.tree(leaves)
            before = jax.tree.flatten(tree)
            result = Result.of(f(*tree[0], **tree[1]))
            if written(before, jax.tree.flatten(tree)):
                raise _WritesToArguments
            return result

        # jax caches traces by configuration as well: 64 bits, precisions, meshes.
        self.trace = jax.make_jaxpr(traced, static_argnums=0, return_shape=True)

    def add(self, jaxpr: Any, closed: Any, found: Rolled | None) -> None:
        """Cache the program of a trace; beyond the limit, the oldest is dropped."""
        self.made[id(jaxpr)] = (jaxpr, closed, found)
        if len(self.made) > _REMEMBERED:
            self.made.popitem(last=False)


class _Rerolled:
    """The programs of one function, each made on first use."""

    def __init__(
        self,
        f: Callable[..., Any],
        policy: ScanCheckpointPolicy | None,
        least: int,
        fitted: bool,
        check: bool,
        explain: bool,
    ) -> None:
        self.f, self.policy, self.least, self.fitted = f, policy, least, fitted
        self.check, self.explain = check, explain
        self.name = getattr(f, "__qualname__", type(f).__name__)
        self.writes: set[Any] = set()
        self.traces: OrderedDict[Captured, _Traces] = OrderedDict()

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given, leaves = Arguments.of((args, kwargs))
        if given in self.writes:
            return self.f(*args, **kwargs)
        start = time.perf_counter()
        traces = self._remembered(Captured.by((self.f, *given.others)))
        try:
            closed, shape = traces.trace(given, leaves)
        except _WritesToArguments:
            self.writes.add(given)
            self._warn("it writes to its arguments; give it their arrays and return those that are new", 4)
            return self.f(*args, **kwargs)
        jaxpr, consts = opened(closed)
        arrays = [*closed.consts, *leaves]
        if id(jaxpr) not in traces.made:
            traces.add(jaxpr, closed, self._made(closed, arrays, start))
        found = traces.made[id(jaxpr)][2]
        if found is None:
            results = jax.core.eval_jaxpr(jaxpr, consts, *leaves)
        else:
            results = jax.core.eval_jaxpr(opened(found.program)[0], found.program.consts, *arrays)
        tree = jax.tree.structure(shape)
        return jax.tree.unflatten(tree, results).whole()

    def _remembered(self, captured: Captured | None) -> _Traces:
        """Return the traces for these captured values, or new ones if they may have been mutated."""
        if captured is None:
            return _Traces(self.f)
        found = self.traces.pop(captured, None) or _Traces(self.f)
        self.traces[captured] = found
        if len(self.traces) > _CAPTURED:
            self.traces.popitem(last=False)
        return found

    def _made(self, closed: Any, arrays: list[Any], start: float) -> Rolled | None:
        traced = time.perf_counter()
        costs = ON_CPU if self.fitted and jax.default_backend() == "cpu" else COUNTED
        try:
            found = rolled(closed, arrays, least=self.least, policy=self.policy, costs=costs)
        except Exception as error:  # a program may contain anything
            self._warn(f"rolling it stopped with {type(error).__name__}: {str(error)[:300]}")
            return None
        if found.plan.rolls and self.check:
            proof = found.proof()
            if not proof.proved:
                self._warn(doubt(proof))
                return None
        if self.explain:
            print(explained(self.name, found.plan, traced - start, time.perf_counter() - traced))
        return found if found.plan.rolls else None

    def _warn(self, why: str, level: int = 5) -> None:
        warnings.warn(f"{self.name} runs as it is written, not rerolled: {why}", NotRerolled, stacklevel=level)
