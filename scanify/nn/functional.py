"""`fold`, `scan` and `map` over the first axis of arrays: a loop over time steps, chunks or layers, with remat.

They follow `haliax.fold`, `haliax.scan` and `haliax.map` (stanford-crfm/haliax, src/haliax/_src/scan.py), on positional
axes: the function and options come first, the values in a second call.
"""

import operator
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn.arguments.axes import ElementsDiffer, parameter_names, stack_elements
from scanify.nn.arguments.layer_inputs import entries_of
from scanify.nn.programs.layer_call import as_pair, trace_call
from scanify.nn.scans.checkpoint import RematPolicy, ScanCheckpointPolicy
from scanify.nn.scans.loop import Unroll, run_scan
from scanify.nn.stacking import is_stacked
from scanify.nn.trees.as_jax import as_jax
from scanify.nn.trees.has_layers import is_stack
from scanify.nn.trees.leaves import aval_text, is_array, is_number


def scan(
    f: Callable[..., tuple[Any, Any]],
    length: int | None = None,
    *,
    remat: RematPolicy = False,
    unroll: Unroll = 1,
    reverse: bool = False,
) -> Callable[..., tuple[Any, Any]]:
    """`scan(f)(init, xs)` is this loop, compiled as one step:

        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, jnp.stack(ys)

    **Arguments:**

    - `f`: takes the carry and an element of `xs`, and returns `(carry, y)`. The carry keeps its structure, shapes and
        dtypes.
    - `length`: the number of steps; only needed if nothing is scanned over, as in `scan(f, 100)(init, None)`.
    - `remat`: what to keep for the backward pass: False (everything), True, "nested", "dots", "offload", "save_all" or
        a `ScanCheckpointPolicy`.
    - `unroll`, `reverse`: see `jax.lax.scan`.

    **Returns** a function of `(init, *xs, **xs)`. The arrays in `xs`, each of shape `(length, ...)`, are split along
    axis 0, and a stack into its layers. If the layers of a `BlockSeq` differ, each kind is traced by itself. Values
    without an axis are the same in all steps: numbers, functions, None. The function returns the last carry and the ys,
    each array of shape `(length, ...)`.

    **Raises** ValueError if lengths differ or are unknown, for one typed PRNG key where each step needs its own, and
    for an unknown `remat`; TypeError if `f` does not return a pair, or returns a carry of another structure, shape or
    dtype.
    """
    return _scanner(f, parameter_names(f, 1), length, remat, unroll, reverse)


def fold(
    f: Callable[..., Any],
    length: int | None = None,
    *,
    remat: RematPolicy = False,
    unroll: Unroll = 1,
    reverse: bool = False,
) -> Callable[..., Any]:
    """`fold(f)(init, xs)` is this loop, compiled as one step; see `scan` for arguments and errors:

    carry = init
    for x in xs:
        carry = f(carry, x)
    return carry
    """

    def with_nothing(carry: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, None]:
        return f(carry, *args, **kwargs), None

    scanned = _scanner(with_nothing, parameter_names(f, 1), length, remat, unroll, reverse)

    def run(init: Any, /, *xs: Any, **named: Any) -> Any:
        return scanned(init, *xs, **named)[0]

    return run


def map(
    f: Callable[..., Any],
    length: int | None = None,
    *,
    remat: RematPolicy = False,
    unroll: Unroll = 1,
    reverse: bool = False,
) -> Callable[..., Any]:
    """`map(f)(xs)` is `jnp.stack([f(x) for x in xs])`, one element after the other.

    `jax.vmap` is faster, but keeps the intermediate values of all elements at once, while this keeps those for one
    element (without a gradient, or with `remat=True`). Arguments and errors are the same as for `scan`.
    """

    def without_carry(carry: None, /, *args: Any, **kwargs: Any) -> tuple[None, Any]:
        return None, f(*args, **kwargs)

    scanned = _scanner(without_carry, parameter_names(f, 0), length, remat, unroll, reverse)

    def run(*xs: Any, **named: Any) -> Any:
        return scanned(None, *xs, **named)[1]

    return run


def _scanner(
    f: Callable[..., tuple[Any, Any]],
    names: list[str],
    length: int | None,
    remat: RematPolicy,
    unroll: Unroll,
    reverse: bool,
) -> Callable[..., tuple[Any, Any]]:
    policy = ScanCheckpointPolicy.of(remat)
    length = _checked_length(length)

    def run(init: Any, /, *xs: Any, **named: Any) -> tuple[Any, Any]:
        try:
            whole = _with_layers((xs, named), names)
        except ElementsDiffer:
            steps = _length(_lengths((xs, named)), length, names)
            return _one_by_one(f, init, (xs, named), steps, policy, unroll, reverse)
        steps = _length(whole, length, names)
        scanned, same = eqx.partition(whole, is_stacked)

        def body(carry: Any, x: Any) -> Any:
            args, kwargs = eqx.combine(x, same)
            return f(carry, *args, **kwargs)

        # A scan of no steps keeps nothing, under any policy.
        used = policy if steps else ScanCheckpointPolicy(disable=True)
        arrays = jax.tree.map(as_jax, scanned)
        return run_scan(body, init, arrays, steps, policy=used, unroll=unroll, reverse=reverse)

    return run


def _with_layers(whole: Any, names: list[str]) -> Any:
    """Replace each stack in the arguments by one layer whose arrays have the layers along axis 0."""

    def layers(path: Any, value: Any) -> Any:
        if not is_stack(value) or not len(value):
            return value
        return stack_elements(type(value)._refs(value), _place(path, names))

    return jax.tree_util.tree_map_with_path(layers, whole, is_leaf=is_stack)


def _lengths(whole: Any) -> Any:
    """Replace each stack in the arguments by an array with as many entries as it has layers."""
    return jax.tree.map(lambda value: np.zeros(len(value)) if is_stack(value) else value, whole, is_leaf=is_stack)


def _one_by_one(
    f: Callable[..., tuple[Any, Any]],
    init: Any,
    whole: Any,
    steps: int,
    policy: ScanCheckpointPolicy,
    unroll: Unroll,
    reverse: bool,
) -> tuple[Any, Any]:
    """Run the steps if layers of a stack differ: they are traced one by one, and equal ones are scanned over."""
    leaves, treedef = jax.tree.flatten(whole, is_leaf=is_stack)
    columns = [
        type(leaf)._refs(leaf) if is_stack(leaf) else entries_of(leaf, steps) if is_stacked(leaf) else [leaf] * steps
        for leaf in leaves
    ]
    elements = [treedef.unflatten([column[at] for column in columns]) for at in range(steps)]

    def call(element: Any, carry: Any) -> tuple[Any, Any]:
        return f(carry, *element[0], **element[1])

    traced = trace_call(as_pair(call), init, (), {}, layers=elements, in_axes=None, names=(), reverse=reverse)
    carry, pieces = traced.apply(policy, unroll)
    return carry, traced.stacked(pieces)


def _checked_length(length: Any) -> int | None:
    if length is None:
        return None
    try:
        if isinstance(length, bool):
            raise TypeError
        count = operator.index(length)
    except TypeError:
        raise TypeError(
            f"expected `length` to be a number of steps or None, got {aval_text(length)}; the values to scan over are "
            "given in the second call: scan(f)(init, xs)"
        ) from None
    if count < 0:
        raise ValueError(f"expected `length` to be a number of steps, got {count}")
    return count


def _length(whole: Any, length: int | None, names: list[str]) -> int:
    """Return the common size of axis 0 of all arrays. Raises ValueError if they differ, or without arrays."""
    _refuse_numbers(whole, names)
    told = None if length is None else ("`length`", length)
    for path, leaf in jax.tree_util.tree_flatten_with_path(whole)[0]:
        if not is_array(leaf):
            continue
        place = _place(path, names)
        if not is_stacked(leaf):
            if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
                raise ValueError(
                    f"{place}: expected a PRNG key for each step, got one ({aval_text(leaf)}), which every step would "
                    "use again. Pass jax.random.split(key, length), or carry the key and split it in each step"
                )
            continue
        if told is None:
            told = place, leaf.shape[0]
        elif told[1] != leaf.shape[0]:
            raise ValueError(
                f"{place}: expected {told[1]} steps along axis 0, as {told[0]} has, got {leaf.shape[0]} "
                f"({aval_text(leaf)}). What all steps share is closed over by the function"
            )
    if told is None:
        raise ValueError("expected arrays to scan over, got none, so the number of steps is not known; give `length`")
    return told[1]


def _refuse_numbers(whole: Any, names: list[str]) -> None:
    """Refuse lists of numbers, which have an element for each step in Python, but no axis in jax."""

    def is_numbers(value: Any) -> bool:
        sequence = type(value) in (list, tuple) and value is not whole[0] and len(value) > 0
        return sequence and all(is_number(one) for one in value)

    for path, value in jax.tree_util.tree_flatten_with_path(whole, is_leaf=is_numbers)[0]:
        if is_numbers(value):
            raise ValueError(
                f"{_place(path, names)}: expected arrays to scan over, got a {type(value).__name__} of "
                f"{len(value)} numbers; pass jnp.asarray(...) of it"
            )


def _place(path: Any, names: list[str]) -> str:
    """Name an argument, ``argument `x`.weight``: the path begins with 0 for positional and 1 for keyword arguments."""
    kind, first, *rest = path
    if kind.idx == 1:
        name = f"`{first.key}`"
    else:
        name = f"`{names[first.idx]}`" if first.idx < len(names) else str(first.idx)
    return f"argument {name}{jax.tree_util.keystr(tuple(rest))}"
