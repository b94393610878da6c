"""`equinox.nn.State` in the carry, split by layer: each layer takes and returns its own entries.

Two batch norms read different entries of a state, so as programs of the whole state they differ; as programs of their
own entries (`State.substate`) they are equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax

State = eqx.nn.State


@dataclass(frozen=True)
class StateParts:
    """`rest`: the carry without its state. `entries`: per layer, the values of its entries, by marker."""

    rest: Any
    place: int
    state: Any
    entries: tuple[dict[Any, Any], ...]

    def carry_with(self, rest: Any, markers: Sequence[Any], values: Sequence[Any]) -> Any:
        """Return the carry with a state of only these entries."""
        return self.carry_with_state(rest, _state(tuple(markers), tuple(values)))

    def taken_from(self, carry: Any, markers: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Split the output carry of a layer into the carry without its state, and the values of the entries."""
        leaves, treedef = _flatten(carry)
        state = leaves[self.place] if self.place < len(leaves) else None
        if not isinstance(state, State):
            raise TypeError("expected a layer to give back its equinox.nn.State in the place where it got it")
        values, keys = state.tree_flatten()
        found = dict(zip(keys, values, strict=True))
        if list(found) != list(markers):
            raise TypeError("expected a layer to give back a state with the entries that it was given")
        leaves[self.place] = None
        return jax.tree.unflatten(treedef, leaves), [found[marker] for marker in markers]

    def carry_with_state(self, rest: Any, state: Any) -> Any:
        """Return the carry with a whole state."""
        leaves, treedef = _flatten(rest)
        leaves[self.place] = state
        return jax.tree.unflatten(treedef, leaves)

    def whole(self, entries: dict[Any, Any]) -> Any:
        """Return the original state, with these entries replaced."""
        values, keys = self.state.tree_flatten()
        return _state(keys, tuple(entries.get(key, value) for key, value in zip(keys, values, strict=True)))


def state_parts(carry: Any, layers: Sequence[Any]) -> StateParts | None:
    """Split the state in the carry; None if it has no state, or if layers do not have entries of their own: then the
    state is carried whole."""
    leaves, treedef = _flatten(carry)
    places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, State)]
    if len(places) != 1:
        return None
    state = leaves[places[0]]
    values, keys = state.tree_flatten()
    found = dict(zip(keys, values, strict=True))
    markers = [list(dict.fromkeys(index.marker for index in _indices(layer))) for layer in layers]
    flat = [marker for own in markers for marker in own]
    if len(set(flat)) != len(flat) or not set(flat) <= set(found):
        return None
    leaves[places[0]] = None
    rest = jax.tree.unflatten(treedef, leaves)
    return StateParts(rest, places[0], state, tuple({marker: found[marker] for marker in own} for own in markers))


def _indices(layer: Any) -> list[Any]:
    leaves = jax.tree.leaves(layer, is_leaf=lambda leaf: isinstance(leaf, eqx.nn.StateIndex))
    return [leaf for leaf in leaves if isinstance(leaf, eqx.nn.StateIndex)]


def _flatten(tree: Any) -> tuple[list[Any], Any]:
    leaves, treedef = jax.tree.flatten(tree, is_leaf=lambda leaf: leaf is None or isinstance(leaf, State))
    return leaves, treedef


def _state(keys: tuple[Any, ...], values: tuple[Any, ...]) -> Any:
    return State.tree_unflatten(keys, values)
