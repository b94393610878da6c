"""Trace a function of arrays to a jaxpr, with the necessary parts of `jax.make_jaxpr` alone.

`make_jaxpr` goes through `jax.jit`: a third of a millisecond per function, and here each layer is one. This skips the
names of arguments and results, and a cache that would never hit.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax

try:  # not part of jax's public API
    from jax.api_util import debug_info, shaped_abstractify
    from jax.extend.linear_util import wrap_init
    from jax.interpreters.partial_eval import trace_to_jaxpr_dynamic
except ImportError:
    trace_to_jaxpr_dynamic = None


def jaxpr_of(
    fn: Callable[..., list[Any]], arrays: Sequence[Any], names: Sequence[str] | None = None
) -> tuple[Any, tuple[Any, ...], list[Any]]:
    """Return the open jaxpr of a function that returns a list of arrays, its captured arrays, and its output avals.
    `names` are the names of the arrays in jax's errors."""
    if trace_to_jaxpr_dynamic is None:
        return made(fn, arrays)
    info = _INFO._replace(arg_names=None if names is None else tuple(names), result_paths=None)
    wrapped = wrap_init(fn, debug_info=info)
    jaxpr, avals, consts = trace_to_jaxpr_dynamic(wrapped, list(map(_aval, arrays)))
    return over(jaxpr, consts), tuple(consts), list(avals)


def over(jaxpr: Any, consts: Sequence[Any]) -> Any:
    """Return the jaxpr with separate variables for its constants, which jax 0.12 lists among the inputs."""
    return jaxpr.with_consts(consts) if len(jaxpr.constvars) < len(consts) else jaxpr


def _aval(array: Any) -> Any:
    # Symbolic sizes of two exports cannot be compared, so these are not cached.
    known = isinstance(array, jax.ShapeDtypeStruct) and all(type(size) is int for size in array.shape)
    return _of_struct(array) if known else shaped_abstractify(array)


@functools.lru_cache(maxsize=1024)
def _of_struct(struct: jax.ShapeDtypeStruct) -> Any:
    return shaped_abstractify(struct)


def made(fn: Callable[..., list[Any]], arrays: Sequence[Any]) -> tuple[Any, tuple[Any, ...], list[Any]]:
    """Trace by `jax.make_jaxpr`."""
    closed = jax.make_jaxpr(fn)(*arrays)
    return closed.jaxpr, tuple(closed.consts), list(closed.out_avals)


def layer(*arrays: Any) -> Any:
    """The name of the traced function in jax's errors."""


if trace_to_jaxpr_dynamic is not None:
    _INFO = debug_info("a stack of layers", layer, (), {})
