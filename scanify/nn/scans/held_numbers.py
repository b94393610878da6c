"""Python numbers in the carry of a sequence of layers, kept as such while the layers return them unchanged.

A loop passes a number on, and a layer may branch on it; to jax it is an array. An `equinox.nn.State` in the carry is
not flattened.
"""

from collections.abc import Collection
from typing import Any

import equinox as eqx
import jax

from scanify.nn.trees.boxed import Number
from scanify.nn.trees.leaves import is_number, same_value

# Added to the error of a layer that needs the value of such a number.
BRANCHED = (
    "A layer needs the value of a Python number in the carry that the layers change: such a number is an array in the "
    "program of a scan, which holds one layer for all. Pass what is known of each layer beside the carry, as a list or "
    "a range with in_axes=0, and hold the layers in a BlockSeq where they do something else for it; or use jnp.where"
)


class NumbersMove(Exception):
    """A layer returns other numbers than it took; `leaves` are the indices of those leaves of the carry."""

    def __init__(self, trace: object, leaves: frozenset[int]) -> None:
        self.trace, self.leaves = trace, leaves
        super().__init__()


def hold(carry: Any, moving: Collection[int]) -> Any:
    """Box the Python numbers of the carry, except the leaves in `moving`."""
    leaves, treedef = _flatten(carry)
    boxed = [Number(leaf) if is_number(leaf) and at not in moving else leaf for at, leaf in enumerate(leaves)]
    return jax.tree.unflatten(treedef, boxed)


def let_go(carry: Any) -> Any:
    """Unbox the carry for a layer."""
    return jax.tree.map(_unboxed, carry, is_leaf=_is_state)


def hold_again(before: Any, after: Any, trace: object) -> Any:
    """Box the numbers of a layer's output carry as in its input.

    Raises NumbersMove if they have changed.
    """
    given, treedef = _flatten(before)
    gave, treedef_after = _flatten(after)
    if not any(isinstance(leaf, Number) for leaf in given) or not _same(treedef, treedef_after):
        return after
    pairs = list(zip(given, gave, strict=True))
    moved = [at for at, (one, other) in enumerate(pairs) if _is_other(one, other)]
    if moved:
        raise NumbersMove(trace, frozenset(moved))
    return jax.tree.unflatten(treedef_after, [one if isinstance(one, Number) else other for one, other in pairs])


def _is_other(one: Any, other: Any) -> bool:
    return isinstance(one, Number) and not same_value(one.value, other)


def _unboxed(leaf: Any) -> Any:
    return leaf.value if isinstance(leaf, Number) else leaf


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # static fields that cannot be compared
        return False


def _is_state(node: Any) -> bool:
    return isinstance(node, eqx.nn.State)


def _flatten(tree: Any) -> tuple[list[Any], Any]:
    leaves, treedef = jax.tree.flatten(tree, is_leaf=_is_state)
    return leaves, treedef
