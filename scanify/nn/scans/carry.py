"""The carry of a scan: its arrays and weak types, and checks that a layer returns it with the same structure."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.jaxpr.reading.calls import children
from scanify.nn.scans.promotion import promotion
from scanify.nn.trees.difference import Difference, first_difference
from scanify.nn.trees.leaves import aval, is_array, is_number, path_text, same_value, varying
from scanify.nn.trees.structs import struct

Step = Callable[[Any, Any], tuple[Any, Any]]


class CarryChanges(Exception):
    """A layer returns a carry that a scan cannot take in the original form; `scan` is the affected one."""

    def __init__(self, scan: object) -> None:
        self.scan = scan
        super().__init__()


class CarryDiffers(TypeError):
    """A layer returns a carry unlike its input, which no scan can take."""

    def __init__(self, difference: Difference) -> None:
        self.difference = difference
        super().__init__(_changed(difference))


class WeakTypeChanges(CarryChanges):
    """A weak-typed carry (a Python number) comes back with another type."""


class NumbersChange(CarryChanges):
    """Python numbers of the carry come back changed; `leaves` are the indices of those leaves."""

    def __init__(self, scan: object, leaves: frozenset[int]) -> None:
        self.leaves = leaves
        super().__init__(scan)


class VariesOver(CarryChanges):
    """Under `jax.shard_map`, a carry comes back varying over more mesh axes than before; `axes` has the axes of each of
    its arrays."""

    def __init__(self, scan: object, axes: list[frozenset[str]]) -> None:
        self.axes = axes
        super().__init__(scan)


def split(tree: Any, held: Collection[int] = ()) -> tuple[Any, Any]:
    """Split a pytree into arrays, with weak-typed arrays for Python numbers, and the rest with leaves at `held`."""
    leaves, treedef = jax.tree.flatten(tree)
    moves = [at not in held and (is_array(leaf) or is_number(leaf)) for at, leaf in enumerate(leaves)]
    arrays = [_as_array(leaf) if move else None for leaf, move in zip(leaves, moves, strict=True)]
    others = [None if move else leaf for leaf, move in zip(leaves, moves, strict=True)]
    return jax.tree.unflatten(treedef, arrays), jax.tree.unflatten(treedef, others)


def _as_array(leaf: Any) -> Any:
    return leaf if isinstance(leaf, jax.core.Tracer) else jnp.asarray(leaf)


def numbers(tree: Any) -> frozenset[int]:
    """Return the indices of the leaves that are Python numbers."""
    return frozenset(at for at, leaf in enumerate(jax.tree.leaves(tree)) if is_number(leaf))


def changed_numbers(before: Any, after: Any) -> frozenset[int]:
    """Return the indices of the Python numbers in `before` that have changed; none if structures differ, which is
    reported elsewhere."""
    held = numbers(before)
    if not held or not _same_structure(before, after):
        return frozenset()
    found = enumerate(zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True))
    return frozenset(at for at, (one, other) in found if at in held and not same_value(one, other))


def varied(tree: Any, axes: list[frozenset[str]]) -> Any:
    """Make each array of a tree vary over its mesh axes too; their values are unchanged."""
    leaves, treedef = jax.tree.flatten(tree)
    more = [tuple(sorted(over - varying(leaf))) for leaf, over in zip(leaves, axes, strict=True)]
    cast = [jax.lax.pcast(leaf, over, to="varying") if over else leaf for leaf, over in zip(leaves, more, strict=True)]
    return jax.tree.unflatten(treedef, cast)


def _varying_as(after: Any, before: Any, scan: object) -> Any:
    given, gave = ([varying(leaf) for leaf in jax.tree.leaves(tree)] for tree in (before, after))
    if given == gave:
        return after
    if any(over - known for over, known in zip(gave, given, strict=True)):
        raise VariesOver(scan, [one | other for one, other in zip(given, gave, strict=True)])
    return varied(after, given)


def checked_step(
    body: Step, static: Any, scan: object, *, settled: bool = False
) -> Callable[[Any, Any], tuple[Any, Any, Any]]:
    """Wrap `body` as a function of a carry's arrays: new arrays, the arrays of y, and the other leaves of y.

    The step raises TypeError if the new carry has another structure, other non-array leaves, or arrays of another shape
    or dtype; and a CarryChanges if the scan can be run for another form of the carry. `settled`: weak types have been
    checked.
    """

    def carried(carry: Any, x: Any) -> list[Any]:
        new, _ = split(body(eqx.combine(carry, static), x)[0])
        return list(jax.tree.leaves(new))

    def step(carry: Any, x: Any) -> tuple[Any, Any, Any]:
        result = body(eqx.combine(carry, static), x)
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise TypeError(
                f"expected the function of a scan to give a pair (carry, y), got {type(result).__name__}; use fold for "
                "functions that give the carry alone"
            )
        before = eqx.combine(carry, static)  # recombined, since an `equinox.nn.State` may be used once
        changed = changed_numbers(before, result[0])
        if changed:
            raise NumbersChange(scan, changed)
        try:
            taken = _taken(before, result[0])
        except CarryDiffers as error:
            raise TypeError(f"{error}{promotion(error.difference, carried, carry, x)}") from None
        arrays = _varying_as(taken, carry, scan)
        if not settled and _avals(carry) != _avals(arrays):
            raise WeakTypeChanges(scan)
        return arrays, *split(result[1])

    return step


def _taken(before: Any, after: Any) -> Any:
    """Return the arrays of a layer's output carry. Raises TypeError if it does not match the input carry."""
    if _same_structure(before, after):
        arrays, rest = split(after, numbers(before))
    else:
        before, (arrays, rest) = eqx.combine(*split(before)), split(after)
    _refuse_change(before, eqx.combine(arrays, rest))
    return arrays


def settled(body: Step, carry: Any, static: Any, x: Any) -> Any:
    """Return the carry in the type that it settles into, for carries that begin with a weak type.

    `0.0 + loss` is weak before the first layer and strong after it. A scan has one type for all layers; with it the
    first layers compute the same as in a loop if the program traced for their types is the same up to conversions. That
    is checked here, because jax.lax.scan promotes silently.

    Raises TypeError if the programs differ, or if the types do not settle.
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
    """One layer for one type of carry: the new carry as `jax.ShapeDtypeStruct`s, the avals of y, and its operations."""

    carry: Any
    y: list[Any]
    operations: list[Any]


def _traced(body: Step, carry: Any, static: Any, x: Any) -> _Trace:
    def arrays_only(carry: Any, x: Any) -> Any:
        out, y = body(eqx.combine(carry, static), x)
        return _taken(eqx.combine(carry, static), out), split(y)[0]

    jaxpr, shapes = jax.make_jaxpr(arrays_only, return_shape=True)(carry, x)
    new, y = jax.tree.unflatten(jax.tree.structure(shapes), map(struct, jaxpr.out_avals))
    return _Trace(new, _avals(y, 2), _operations(jaxpr.jaxpr))


def _refuse_change(before: Any, after: Any) -> None:
    """Raise TypeError for every change of a carry except of a weak type."""
    if _same_structure(before, after):
        before = jax.tree.map(lambda one, other: other if _may_follow(one, other) else one, before, after)
    difference = first_difference(before, after, weak=False)
    if difference is not None:
        raise CarryDiffers(difference)


def _same_structure(before: Any, after: Any) -> bool:
    try:
        return bool(jax.tree.structure(before) == jax.tree.structure(after))
    except Exception:  # static fields that cannot be compared
        return False


def _may_follow(one: Any, other: Any) -> bool:
    """True if `one` is a weak-typed array and `other` an array of the same shape."""
    return is_array(one) and is_array(other) and aval(one)[0] == aval(other)[0] and aval(one)[2]


def _avals(tree: Any, count: int = 3) -> list[Any]:
    return [aval(leaf)[:count] for leaf in jax.tree.leaves(tree)]


def _cast(leaf: Any, like: Any) -> Any:
    if leaf.dtype == like.dtype and (like.weak_type or not aval(leaf)[2]):
        return leaf  # a weak result stays strong: the programs are the same, and jax cannot cast it
    if not like.weak_type:
        return jax.lax.convert_element_type(leaf, like.dtype)
    # jax has no public cast to a weak type; a Python number has one.
    return leaf * (1 + 0j if jnp.issubdtype(like.dtype, jnp.complexfloating) else 1.0)


def _operations(jaxpr: Any) -> list[Any]:
    """Return the operations of a program except conversions: primitives with the shapes and dtypes of their results."""
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
