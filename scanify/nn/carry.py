"""The carry of a scan: what of it is arrays, that a layer gives it back as it was, and its weak types."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.jaxpr.calls import children
from scanify.nn.difference import Difference, first_difference
from scanify.nn.leaves import aval, is_array, is_number, path_text

Step = Callable[[Any, Any], tuple[Any, Any]]


class WeakTypeChanges(Exception):
    """A weak-typed carry (a Python number) comes back with another type; `scan` is the one that it belongs to."""

    def __init__(self, scan: object) -> None:
        self.scan = scan
        super().__init__()


def split(tree: Any) -> tuple[Any, Any]:
    """Arrays and Python numbers, those as weak-typed arrays, and everything else."""
    arrays, static = eqx.partition(tree, lambda leaf: is_array(leaf) or is_number(leaf))
    return jax.tree.map(jnp.asarray, arrays), static


def checked_step(body: Step, static: Any, scan: object | None) -> Callable[[Any, Any], tuple[Any, Any, Any]]:
    """`body` on the arrays of a carry: new arrays, the arrays of y, and the leaves of y that are none.

    The step raises TypeError where the new carry has another structure, other leaves that are no arrays, or arrays of
    another shape or dtype, and WeakTypeChanges where that is a matter of a weak type, unless `scan` is None.
    """

    def step(carry: Any, x: Any) -> tuple[Any, Any, Any]:
        result = body(eqx.combine(carry, static), x)
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise TypeError(
                f"expected the function of a scan to give a pair (carry, y), got {type(result).__name__}; use fold for "
                "functions that give the carry alone"
            )
        arrays, rest = split(result[0])
        _refuse_change(eqx.combine(carry, static), eqx.combine(arrays, rest))
        if scan is not None and _avals(carry) != _avals(arrays):
            raise WeakTypeChanges(scan)
        return arrays, *split(result[1])

    return step


def settled(body: Step, carry: Any, static: Any, x: Any) -> Any:
    """The carry in the type that it settles into, for carries that begin with a weak type.

    `0.0 + loss` is weak before the first layer and strong after it. A scan has one type for all layers; with it the
    first layers compute what they compute in a loop if the program traced for their types is the same but for
    conversions. That is checked here, because jax.lax.scan promotes without a word.

    Raises TypeError where the programs differ, or where the types do not settle.
    """
    types, traces = [carry], [_traced(body, carry, static, x)]
    while _avals(traces[-1].carry) != _avals(types[-1]) and len(types) < _ROUNDS:
        types.append(traces[-1].carry)
        traces.append(_traced(body, types[-1], static, x))
    settles = _avals(traces[-1].carry) == _avals(types[-1])
    cast = jax.tree.map(_cast, carry, types[-1])
    scanned = _traced(body, cast, static, x)
    if not settles or any((one.operations, one.y) != (scanned.operations, scanned.y) for one in traces):
        difference = first_difference(carry, traces[-1].carry) or Difference("", carry, traces[-1].carry)
        raise TypeError(
            f"{_changed(difference)} The layers compute something else for the type of the first carry (weak, as that "
            "of a Python number) than for that of the later ones: write the first one as an array with a dtype"
        )
    return cast


_ROUNDS = 4  # weak to strong, integer to float, float to complex


@dataclass(frozen=True)
class _Trace:
    """One layer for one type of carry: the new carry as `jax.ShapeDtypeStruct`s, the avals of y, and what it does."""

    carry: Any
    y: list[Any]
    operations: list[Any]


def _traced(body: Step, carry: Any, static: Any, x: Any) -> _Trace:
    def arrays_only(carry: Any, x: Any) -> Any:
        out, y = body(eqx.combine(carry, static), x)
        arrays, rest = split(out)
        _refuse_change(eqx.combine(carry, static), eqx.combine(arrays, rest))
        return arrays, split(y)[0]

    jaxpr, shapes = jax.make_jaxpr(arrays_only, return_shape=True)(carry, x)
    avals = [jax.ShapeDtypeStruct(out.shape, out.dtype, weak_type=aval(out)[2]) for out in jaxpr.out_avals]
    new, y = jax.tree.unflatten(jax.tree.structure(shapes), avals)
    return _Trace(new, _avals(y, 2), _operations(jaxpr.jaxpr))


def _refuse_change(before: Any, after: Any) -> None:
    """Raises TypeError for every change of a carry that is not one of a weak type."""
    if _same_structure(before, after):
        before = jax.tree.map(lambda one, other: other if _may_follow(one, other) else one, before, after)
    difference = first_difference(before, after, weak=False)
    if difference is not None:
        raise TypeError(_changed(difference))


def _same_structure(before: Any, after: Any) -> bool:
    try:
        return bool(jax.tree.structure(before) == jax.tree.structure(after))
    except Exception:  # static fields that cannot be compared
        return False


def _may_follow(one: Any, other: Any) -> bool:
    """Whether `one` is a weak-typed array and `other` an array of the same shape."""
    return is_array(one) and is_array(other) and aval(one)[0] == aval(other)[0] and aval(one)[2]


def _avals(tree: Any, count: int = 3) -> list[Any]:
    return [aval(leaf)[:count] for leaf in jax.tree.leaves(tree)]


def _cast(leaf: Any, like: Any) -> Any:
    if leaf.dtype == like.dtype and (like.weak_type or not aval(leaf)[2]):
        return leaf  # what comes back weak stays strong: the programs are the same, and jax cannot cast it
    if not like.weak_type:
        return jax.lax.convert_element_type(leaf, like.dtype)
    # jax has no public cast to a weak type; a Python number gives its own.
    return leaf * (1 + 0j if jnp.issubdtype(like.dtype, jnp.complexfloating) else 1.0)


def _operations(jaxpr: Any) -> list[Any]:
    """What a program does, conversions left out: primitives with the shapes and dtypes of their results."""
    found: list[Any] = []
    for equation in jaxpr.eqns:
        inner = [_operations(getattr(child, "jaxpr", child)) for child in children(equation)]
        if equation.primitive.name != "convert_element_type":
            found.append((equation.primitive.name, [_avals([out.aval], 2) for out in equation.outvars], inner))
    return found


def _changed(difference: Difference) -> str:
    before, after = difference.texts()
    place = f" at {path_text(difference.path)}" if difference.path else ""
    return (
        f"expected a layer to give back a carry like the one it was given; it changed{place}: {before} went in, "
        f"{after} came out. A Python loop lets the carry change from layer to layer, a scan cannot. Where only the "
        "first layer changes it, apply that layer before the scan, or start with a carry of the type that the layers "
        "give. (Casting it back in every layer would make the error go away and change the results.)"
    )
