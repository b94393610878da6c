"""A function of arrays as a jaxpr, by as little of `jax.make_jaxpr` as that takes.

`make_jaxpr` goes by way of `jax.jit`: a third of a millisecond for each function, and here each layer is one. What is
left out are names for arguments and results, and a cache that no function here could be found in.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax

try:  # jax has promised none of these
    from jax.api_util import debug_info, shaped_abstractify
    from jax.extend.linear_util import wrap_init
    from jax.interpreters.partial_eval import trace_to_jaxpr_dynamic
except ImportError:
    trace_to_jaxpr_dynamic = None


def jaxpr_of(
    fn: Callable[..., list[Any]], arrays: Sequence[Any], names: Sequence[str] | None = None
) -> tuple[Any, tuple[Any, ...], list[Any]]:
    """The open jaxpr of a function that gives a list of arrays, the arrays that it closes over, and the avals that it
    gives. `names` are what jax calls the arrays in errors."""
    if trace_to_jaxpr_dynamic is None:
        return made(fn, arrays)
    info = _INFO._replace(arg_names=None if names is None else tuple(names), result_paths=None)
    wrapped = wrap_init(fn, debug_info=info)
    jaxpr, avals, consts = trace_to_jaxpr_dynamic(wrapped, list(map(_aval, arrays)))
    return over(jaxpr, consts), tuple(consts), list(avals)


def over(jaxpr: Any, consts: Sequence[Any]) -> Any:
    """The jaxpr with the variables of what it closes over apart: jax 0.12 gives them among the inputs."""
    return jaxpr.with_consts(consts) if len(jaxpr.constvars) < len(consts) else jaxpr


def _aval(array: Any) -> Any:
    # Sizes that are symbols of two exports cannot be compared, so nothing with such is kept.
    known = isinstance(array, jax.ShapeDtypeStruct) and all(type(size) is int for size in array.shape)
    return _of_struct(array) if known else shaped_abstractify(array)


@functools.lru_cache(maxsize=1024)
def _of_struct(struct: jax.ShapeDtypeStruct) -> Any:
    return shaped_abstractify(struct)


def made(fn: Callable[..., list[Any]], arrays: Sequence[Any]) -> tuple[Any, tuple[Any, ...], list[Any]]:
    """The same by `jax.make_jaxpr`."""
    closed = jax.make_jaxpr(fn)(*arrays)
    return closed.jaxpr, tuple(closed.consts), list(closed.out_avals)


def layer(*arrays: Any) -> Any:
    """What errors of jax name as the function that is traced."""


if trace_to_jaxpr_dynamic is not None:
    _INFO = debug_info("a stack of layers", layer, (), {})
