"""Programs that may not end at some values, run for a limited time.

Only a `while` loop runs for as long as values say: one that doubles until a sum is reached does not end at inputs of
zeros. XLA cannot interrupt a program, so such a program runs in a process that can be terminated
(`scanify.verify.children.points`). A program that calls Python cannot be sent there, and runs here without a limit.
"""

from __future__ import annotations

import contextvars
import dataclasses
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.export
from jax.extend.core import jaxprs_in_params

from scanify.verify.children.points import Points
from scanify.verify.values.arrays import is_key, plain

SECONDS = 10.0  # for one run at one point, without compilation
TIMES = 5.0  # the rewritten version's limit is this many times longer if the original ends, else shorter

_POINTS = Points()
_ALLOWED: contextvars.ContextVar[float] = contextvars.ContextVar("allowed", default=SECONDS)


@contextmanager
def allowing(seconds: float) -> Iterator[None]:
    """Limit runs in this context to these seconds."""
    token = _ALLOWED.set(seconds)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


class Limited:
    """A compiled function of arrays and lists of arrays. A call that takes longer than allowed raises TimeoutError."""

    def __init__(self, function: Callable[..., Sequence[Any]]) -> None:
        self._function = function
        self._programs: dict[Any, tuple[Callable[..., Any], bytes | None]] = {}

    def __call__(self, *args: Any) -> list[Any]:
        leaves, tree = jax.tree.flatten(args)
        raw = [jax.random.key_data(leaf) if is_key(leaf) else leaf for leaf in leaves]
        kinds = tuple(jax.random.key_impl(leaf) if is_key(leaf) else None for leaf in leaves)
        form = tree, kinds, tuple((leaf.shape, str(leaf.dtype), getattr(leaf, "weak_type", False)) for leaf in leaves)
        if form not in self._programs:
            self._programs[form] = self._compiled(tree, kinds, raw)
        jitted, exported = self._programs[form]
        if exported is None:
            return list(jitted(*raw))
        impls = [getattr(each.dtype, "_impl", None) for each in jax.eval_shape(self._function, *args)]
        found = _POINTS.run(exported, [plain(leaf) for leaf in raw], _ALLOWED.get())
        return [
            jax.numpy.asarray(each) if impl is None else jax.random.wrap_key_data(each, impl=impl.name)
            for each, impl in zip(found, impls, strict=True)
        ]

    def _compiled(self, tree: Any, kinds: Sequence[Any], raw: Sequence[Any]) -> tuple[Callable[..., Any], bytes | None]:
        """Return the function of arrays without keys under `jax.jit`, and its exported program if it may not end."""

        def unkeyed(*given: Any) -> list[Any]:
            leaves = [
                each if impl is None else jax.random.wrap_key_data(each, impl=impl)
                for each, impl in zip(given, kinds, strict=True)
            ]
            return list(self._function(*jax.tree.unflatten(tree, leaves)))

        jitted = jax.jit(unkeyed)
        traced = jitted.trace(*raw).jaxpr  # closed or not, depending on the jax release
        if not may_not_end(getattr(traced, "jaxpr", traced)):
            return jitted, None
        try:
            exported = jax.export.export(jax.jit(lambda *given: [_raw(each) for each in unkeyed(*given)]))(*raw)
            # Pickled, since `Exported.serialize` needs a library that jax does not install: both ends use one jax.
            return jitted, pickle.dumps(dataclasses.replace(exported, _get_vjp=None))
        except Exception:  # callbacks, and custom calls without guaranteed stability
            return jitted, None


def _raw(value: Any) -> Any:
    return jax.random.key_data(value) if jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key) else value


def may_not_end(jaxpr: Any) -> bool:
    """True if a program has a loop whose length depends on values."""
    return any(
        equation.primitive.name == "while" or any(map(may_not_end, jaxprs_in_params(equation.params)))
        for equation in jaxpr.eqns
    )


def left_out(points: Sequence[str], seconds: float) -> str:
    """Name the points that are skipped because no version ended there within so many seconds."""
    if not points:
        return ""
    return (
        f"; with {' and with '.join(points)} neither version ended within {seconds:g} s, so nothing is shown there (if "
        "they are only slow, give the case a smaller model)"
    )
