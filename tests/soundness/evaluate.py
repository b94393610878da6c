"""What a jaxpr computes, equation by equation: the oracle.

Nothing is fused and no order of sums is chosen, so two programs that are equal as jaxprs agree bit for bit. Cheap
operations are numpy's, all others are jax's own, compiled one by one. It shares no code with the prover.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Array = Any


def evaluate(jaxpr: Any, consts: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """The outputs of an open jaxpr; arrays of numpy, keys of jax."""
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, map(plain, consts), strict=True))
    values.update(zip(jaxpr.invars, inputs, strict=True))

    def read(atom: Any) -> Any:
        return _literal(atom) if hasattr(atom, "val") else values[atom]

    for equation in jaxpr.eqns:
        outputs = _equation(equation, [read(atom) for atom in equation.invars])
        for variable, output in zip(equation.outvars, outputs, strict=True):
            assert output.shape == variable.aval.shape and output.dtype == variable.aval.dtype, equation
            values[variable] = output
    return [read(atom) for atom in jaxpr.outvars]


def of(closed: Any, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of a traced program on these inputs."""
    return evaluate(*_opened(closed), [plain(x) for x in inputs])


def _opened(closed: Any) -> tuple[Any, Sequence[Any]]:
    return closed.jaxpr, closed.consts


def plain(value: Any) -> Any:
    """An array of numpy, row-major; keys stay what they are."""
    if jax.dtypes.issubdtype(getattr(value, "dtype", np.float32), jax.dtypes.extended):
        return value
    return np.ascontiguousarray(np.asarray(value)).reshape(np.shape(value))


def _literal(atom: Any) -> Any:
    return np.asarray(atom.val, atom.aval.dtype).reshape(atom.aval.shape)


def _equation(equation: Any, inputs: list[Any]) -> list[Any]:
    name = equation.primitive.name
    control = CONTROL.get(name)
    if control is not None:
        return control(equation.params, inputs)
    for param in ("jaxpr", "call_jaxpr"):
        if name in CALLS and param in equation.params:
            called = equation.params[param]
            return (
                evaluate(called.jaxpr, called.consts, inputs)
                if hasattr(called, "consts")
                else evaluate(called, (), inputs)
            )
    own = NUMPY.get(name)
    if own is not None and all(isinstance(x, np.ndarray) and x.dtype.kind != "c" for x in inputs):
        with np.errstate(all="ignore"):
            answer = own(equation.params, *inputs)
        if answer is not None:
            answers = answer if isinstance(answer, list) else [answer]
            pairs = zip(answers, equation.outvars, strict=True)
            with np.errstate(all="ignore"):
                return [
                    np.ascontiguousarray(a).reshape(v.aval.shape).astype(v.aval.dtype, copy=False) for a, v in pairs
                ]
    return _by_jax(equation, inputs)


def _by_jax(equation: Any, inputs: list[Any]) -> list[Any]:
    primitive, params = equation.primitive, equation.params
    threefry = getattr(equation.ctx, "threefry_partitionable", True)
    with jax.threefry_partitionable(threefry):
        answer = primitive.bind(*map(jnp.asarray, inputs), **primitive.get_bind_params(params))
    return [plain(x) for x in answer] if primitive.multiple_results else [plain(answer)]


# Control flow -----------------------------------------------------------------------------------------------------------

CALLS = {
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "remat2",
    "checkpoint",
    "remat",
    "custom_jvp_call",
    "custom_vjp_call",
}


def _scan(params: dict[str, Any], inputs: list[Any]) -> list[Any]:
    if "num_consts" in params:
        consts, carry = params["num_consts"], params["num_carry"]
    else:
        groups = params["ft_in"].unpack()
        consts, carry = len(groups[0]), len(groups[1])
    fixed, state, xs = inputs[:consts], inputs[consts : consts + carry], inputs[consts + carry :]
    order = range(params["length"])
    body = params["jaxpr"]
    rows: list[list[Any]] = []
    for index in reversed(order) if params["reverse"] else order:
        outputs = evaluate(*_opened(body), [*fixed, *state, *(plain(x[index]) for x in xs)])
        state = outputs[:carry]
        rows.append(outputs[carry:])
    if params["reverse"]:
        rows.reverse()
    avals = [variable.aval for variable in body.jaxpr.outvars[carry:]]
    ys = [_stacked([row[i] for row in rows], aval) for i, aval in enumerate(avals)]
    return [*state, *ys]


def _stacked(rows: list[Any], aval: Any) -> Any:
    if not rows:
        return np.zeros((0, *aval.shape), aval.dtype)
    return np.stack(rows) if isinstance(rows[0], np.ndarray) else jnp.stack(rows)


def _while(params: dict[str, Any], inputs: list[Any]) -> list[Any]:
    first, second = params["cond_nconsts"], params["body_nconsts"]
    tests, fixed, state = inputs[:first], inputs[first : first + second], inputs[first + second :]
    while np.any(going := evaluate(*_opened(params["cond_jaxpr"]), [*tests, *state])[0]):
        new = evaluate(*_opened(params["body_jaxpr"]), [*fixed, *state])
        state = new if not going.ndim else [_where(going, *both) for both in zip(new, state, strict=True)]
    return state


def _where(going: Array, new: Array, old: Array) -> Array:
    """Of a batch of loops those that have ended stay as they are."""
    wide = going.reshape(*going.shape, *[1] * (new.ndim - going.ndim))
    return np.where(wide, new, old) if isinstance(new, np.ndarray) else jnp.where(wide, new, old)


def _cond(params: dict[str, Any], inputs: list[Any]) -> list[Any]:
    branches = params["branches"]
    return evaluate(*_opened(branches[min(max(int(inputs[0]), 0), len(branches) - 1)]), inputs[1:])


def _callback(params: dict[str, Any], inputs: list[Any]) -> list[Any]:
    return [np.asarray(x) for x in params["callback"](*inputs)]


def _debug(params: dict[str, Any], inputs: list[Any]) -> list[Any]:
    params["callback"](*inputs)
    return []


CONTROL: dict[str, Callable[[dict[str, Any], list[Any]], list[Any]]] = {
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    "io_callback": _callback,
    "pure_callback": _callback,
    "debug_callback": _debug,
    **dict.fromkeys(("optimization_barrier", "name"), lambda params, inputs: inputs),
}

# Cheap operations -------------------------------------------------------------------------------------------------------


def _precisely(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """In float64 and then rounded, so that an element does not depend on where it stands in the array."""
    return lambda params, x: function(x.astype(np.float64)).astype(x.dtype)


def _binary(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda params, x, y: function(x, y)


def _div(params: dict[str, Any], x: Array, y: Array) -> Array:
    return x / y if x.dtype.kind == "f" else None


def _convert(params: dict[str, Any], x: Array) -> Array:
    new = np.dtype(params["new_dtype"]) if isinstance(params["new_dtype"], np.dtype | type) else None
    plain = new is not None and (x.dtype.kind in "biu" or new.kind == "f") and x.dtype.kind in "biuf"
    return x.astype(new) if plain and new.kind in "biuf" else None  # type: ignore[union-attr]


def _broadcast(params: dict[str, Any], x: Array, *rest: Any) -> Array:
    wide = [1] * len(params["shape"])
    for axis, place in enumerate(params["broadcast_dimensions"]):
        wide[place] = x.shape[axis]
    return np.broadcast_to(x.reshape(wide), params["shape"])


def _slice(params: dict[str, Any], x: Array) -> Array:
    strides = params["strides"] or (1,) * x.ndim
    box = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return x[tuple(slice(*one) for one in box)]


def _pad(params: dict[str, Any], x: Array, value: Array) -> Array:
    """With elements between those of `x` and around them; a negative number takes away what is at an edge."""
    config = params["padding_config"]
    if not config:
        return x
    wide = np.full([n + max(n - 1, 0) * between for n, (_, _, between) in zip(x.shape, config, strict=True)], value)
    wide[tuple(slice(None, None, between + 1) for _, _, between in config)] = x
    wide = np.pad(wide, [(max(low, 0), max(high, 0)) for low, high, _ in config], constant_values=value)
    edges = [(max(-low, 0), n - max(-high, 0)) for n, (low, high, _) in zip(wide.shape, config, strict=True)]
    return wide[tuple(slice(*one) for one in edges)]


def _dynamic_slice(params: dict[str, Any], x: Array, *starts: Any) -> Array:
    sizes = params["slice_sizes"]
    inside = [min(max(int(s), 0), n - k) for s, n, k in zip(starts, x.shape, sizes, strict=True)]
    return x[tuple(slice(s, s + k) for s, k in zip(inside, sizes, strict=True))]


def _dynamic_update_slice(params: dict[str, Any], x: Array, part: Array, *starts: Any) -> Array:
    inside = [min(max(int(s), 0), n - k) for s, n, k in zip(starts, x.shape, part.shape, strict=True)]
    new = x.copy()
    new[tuple(slice(s, s + k) for s, k in zip(inside, part.shape, strict=True))] = part
    return new


def _select(params: dict[str, Any], which: Array, *cases: Array) -> Array:
    return np.where(which, cases[1], cases[0]) if which.dtype == bool and len(cases) == 2 else None


def _split(params: dict[str, Any], x: Array) -> list[Array]:
    return np.split(x, np.cumsum(params["sizes"])[:-1], params["axis"])


def _reduced(function: Any) -> Callable[..., Any]:
    return lambda params, x: function(x, axis=tuple(params["axes"])) if x.dtype.kind in "fiu" else None


def _accumulated(function: Any) -> Callable[..., Any]:
    def run(params: dict[str, Any], x: Array) -> Array:
        if params["reverse"]:
            return np.flip(function(np.flip(x, params["axis"]), axis=params["axis"]), params["axis"])
        return function(x, axis=params["axis"])

    return run


def _dot(params: dict[str, Any], x: Array, y: Array) -> Array:
    (left, right), batch = params["dimension_numbers"]
    if x.dtype.kind != "f":
        return None
    x, y = (_rows(one.astype(np.float64), *axes) for one, axes in ((x, (batch[0], left)), (y, (batch[1], right))))
    return x @ np.swapaxes(y, -1, -2)  # the aval has the free axes apart


def _rows(x: Array, batch: Sequence[int], summed: Sequence[int]) -> Array:
    """As a matrix for each of the batch: its columns are what is summed over."""
    free = [axis for axis in range(x.ndim) if axis not in {*batch, *summed}]
    sizes = [[x.shape[axis] for axis in axes] for axes in (batch, free, summed)]
    return np.transpose(x, [*batch, *free, *summed]).reshape(*sizes[0], *(math.prod(each) for each in sizes[1:]))


def _reshape(params: dict[str, Any], x: Array, *rest: Any) -> Array:
    return x  # the aval has the new shape


NUMPY: dict[str, Callable[..., Any]] = {
    "add": _binary(np.add),
    "add_any": _binary(np.add),
    "sub": _binary(np.subtract),
    "mul": _binary(np.multiply),
    "max": _binary(np.maximum),
    "min": _binary(np.minimum),
    "lt": _binary(np.less),
    "le": _binary(np.less_equal),
    "gt": _binary(np.greater),
    "ge": _binary(np.greater_equal),
    "eq": _binary(np.equal),
    "ne": _binary(np.not_equal),
    "and": _binary(np.bitwise_and),
    "or": _binary(np.bitwise_or),
    "xor": _binary(np.bitwise_xor),
    "div": _div,
    "dot_general": _dot,
    "reduce_sum": _reduced(np.sum),
    "reduce_max": _reduced(np.max),
    "reduce_min": _reduced(np.min),
    "reduce_prod": _reduced(np.prod),
    "cumsum": _accumulated(np.cumsum),
    "cumprod": _accumulated(np.cumprod),
    "cummax": _accumulated(np.maximum.accumulate),
    "is_finite": lambda params, x: np.isfinite(x),
    "sign": lambda params, x: np.sign(x),
    "not": lambda params, x: np.invert(x),
    "neg": lambda params, x: np.negative(x),
    "abs": lambda params, x: np.abs(x),
    "floor": lambda params, x: np.floor(x),
    "sqrt": lambda params, x: np.sqrt(x),
    "sin": _precisely(np.sin),
    "cos": _precisely(np.cos),
    "tanh": _precisely(np.tanh),
    "convert_element_type": _convert,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "squeeze": _reshape,
    "expand_dims": _reshape,
    "transpose": lambda params, x: np.transpose(x, params["permutation"]),
    "slice": _slice,
    "concatenate": lambda params, *xs: np.concatenate(xs, params["dimension"]),
    "stack": lambda params, *xs: np.stack(xs, params["axis"]),
    "unstack": lambda params, x: [np.take(x, i, params["axis"]) for i in range(x.shape[params["axis"]])],
    "split": _split,
    "rev": lambda params, x: np.flip(x, params["dimensions"]),
    "pad": _pad,
    "stage": _reshape,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "select_n": _select,
    "stop_gradient": _reshape,
    "copy": _reshape,
    "copy_p": _reshape,
}
