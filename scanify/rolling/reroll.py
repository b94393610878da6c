"""`scanify.reroll`: a function whose traced program has its repeated layers as scans, with no line of it changed."""

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

# How many traces of one function are remembered; `jit` has a bound of its own.
_REMEMBERED = 64
# How often it may have captured other things.
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
    """`f`, computed by a program in which layers that repeat are one `lax.scan` each.

    `f` is traced once for each signature, as by `jax.jit`, under which it must give the same each time. Source,
    parameters and keys stay as they are. Put it under `jit`, `grad`, `vmap` and the like: `jax.jit(reroll(f))`. Without
    `f` it is a decorator.

    **Arguments:**

    - `remat`: what each scan keeps for its backward pass, as in `scanify.nn.ScanCheckpointPolicy`: True, "full",
        "nested", "dots", "offload", a policy; None leaves that to `f`.
    - `min_layers`: how many equal layers make a scan, 2 at the least. By default it is 3, where the scan compiles
        faster than the layers: on a CPU a few small layers without random numbers do not, and are left as they are.
        With a number, or with `remat`, layers are rolled wherever that makes the program smaller.
    - `check`: prove that each program computes what `f` does; where there is a doubt `f` runs as it is, with a warning
        that names the operation.
    - `explain`: print what became of each program.
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
    """What a trace is given is a copy, so what is written to it would be lost."""


class _Traces:
    """The traces of a function that reads the same beside its arguments, and what was made of each."""

    def __init__(self, f: Callable[..., Any]) -> None:
        # By the identity of the trace, which is kept with it.
        self.made: OrderedDict[int, tuple[Any, Any, Rolled | None]] = OrderedDict()

        def traced(given: Arguments, leaves: list[Any]) -> Result:
            tree = given.tree(leaves)
            before = jax.tree.flatten(tree)
            result = Result.of(f(*tree[0], **tree[1]))
            if written(before, jax.tree.flatten(tree)):
                raise _WritesToArguments
            return result

        # jax remembers traces by what it is told to do with them, too: 64 bits, precisions, meshes.
        self.trace = jax.make_jaxpr(traced, static_argnums=0, return_shape=True)

    def add(self, jaxpr: Any, closed: Any, found: Rolled | None) -> None:
        """Remember what was made of a trace; of many the first are forgotten."""
        self.made[id(jaxpr)] = (jaxpr, closed, found)
        if len(self.made) > _REMEMBERED:
            self.made.popitem(last=False)


class _Rerolled:
    """The programs of one function, each made when it is needed first."""

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
        """The traces of the function with what it has captured: new ones where it may have been written to."""
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
        except Exception as error:  # whatever stands in a program that is not known here
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
