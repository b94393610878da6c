"""Programs of tests, evaluated equation by equation where users' are compiled.

What takes long in a test that holds a scan against a loop is to compile programs that run once. Their equations are few
and small, and `tests/soundness/evaluate.py` computes them one after the other, loops and branches too; an operation that
numpy rounds as jax does is not compiled even by itself. What jax traces, differentiates and refuses is the same, as only
running is replaced.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax._src import pjit
from jax._src.state.types import AbstractRef
from jax.extend.core.primitives import cond_p, scan_p, while_p

from tests.soundness import evaluate

_CONTROL = (scan_p, while_p, cond_p)
# Of numpy these have other last digits than of jax.
_BY_JAX = ("sin", "cos", "tanh", "sqrt", "dot_general", "reduce_sum", "reduce_prod", "cumsum", "cumprod")
_JAX = str(Path(jax.__file__).parent)


@contextmanager
def evaluated(*, digits: bool = True) -> Iterator[None]:
    """Loops and branches that are called eagerly, and programs of `jax.jit`, are evaluated.

    Without `digits` the last ones need not be jax's: where all that is compared is evaluated.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in _BY_JAX if digits else ():
            patch.delitem(evaluate.NUMPY, name)
        for primitive in _CONTROL:
            patch.setattr(primitive, "impl", _eager(primitive))
        jit = _Jit()
        patch.setattr(pjit, "_pjit_call_impl_python", jit.run)
        patch.setattr(evaluate, "_by_jax", jit.by_jax)
        yield


def _eager(primitive: Any) -> Any:
    control, compiled = evaluate.CONTROL[primitive.name], primitive.impl

    def run(*args: Any, **params: Any) -> list[Any]:
        if _left_to_jax(args):
            return compiled(*args, **params)
        avals = jax.tree.leaves(jax.eval_shape(lambda *given: primitive.bind(*given, **params), *args))
        return _arrays(control(params, [evaluate.plain(each) for each in args]), avals)

    return run


class _Jit:
    """What runs the programs of `jax.jit`, and the operations that are left to jax."""

    def __init__(self) -> None:
        self._compiled, self._operation = pjit._pjit_call_impl_python, evaluate._by_jax
        self._compiling = False

    def by_jax(self, equation: Any, inputs: list[Any]) -> list[Any]:
        before, self._compiling = self._compiling, True
        try:
            return self._operation(equation, inputs)
        finally:
            self._compiling = before

    def run(self, *args: Any, jaxpr: Any, **params: Any) -> tuple[list[Any], Any, Any, Sequence[Any]]:
        if (
            self._compiling
            or _left_to_jax((*args, *getattr(jaxpr, "consts", ())))
            or (_of_jax(jaxpr) and not _of_numpy(jaxpr))
        ):
            return self._compiled(*args, jaxpr=jaxpr, **params)
        avals = [variable.aval for variable in _open(jaxpr).outvars]
        return _arrays(evaluate.of(jaxpr, args), avals), None, None, []


def _left_to_jax(values: Sequence[Any]) -> bool:
    """Whether there are mutable arrays, which only jax writes to, or such as were put on a device, where they stay."""
    return any(isinstance(jax.typeof(each), AbstractRef) or getattr(each, "committed", False) for each in values)


def _of_jax(jaxpr: Any) -> bool:
    """Whether the function is one of jax's own: compiled once, in one piece, for all tests."""
    return _JAX in (_open(jaxpr).debug_info.func_src_info or _JAX)


def _of_numpy(jaxpr: Any) -> bool:
    """Whether all operations are numpy's. jax compiles even `x + y`, for each shape."""
    for equation in _open(jaxpr).eqns:
        inner = [equation.params[name] for name in ("jaxpr", "call_jaxpr") if name in equation.params]
        if equation.primitive.name in evaluate.CALLS and inner:
            if not _of_numpy(inner[0]):
                return False
        elif equation.primitive.name not in evaluate.NUMPY or not _plain(equation):
            return False
    return True


def _plain(equation: Any) -> bool:
    """Whether numpy computes it: of no keys nor complex numbers, and to divide or to choose by, of no integers."""
    dtypes = [each.aval.dtype for each in (*equation.invars, *equation.outvars)]
    kinds = [each.kind if isinstance(each, np.dtype) else "" for each in dtypes]
    whole = {"div": kinds, "select_n": kinds[:1]}.get(equation.primitive.name, [])
    return {*kinds} <= {*"biuf"} and not {*whole} & {*"iu"}


def _open(jaxpr: Any) -> Any:
    return getattr(jaxpr, "jaxpr", jaxpr)


def _arrays(values: Sequence[Any], avals: Sequence[Any]) -> list[Any]:
    return [_array(value, aval) for value, aval in zip(values, avals, strict=True)]


def _array(value: Any, aval: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    array = jax.device_put(value)
    if aval.weak_type:
        kind = jax.core.ShapedArray(array.shape, array.dtype, weak_type=True)
        return type(array)(kind, array.sharding, array._arrays, committed=False)
    return array
