"""One call of a sequence of layers by the equivalent Python loop, without a scan and without remat."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from scanify.nn.arguments.axes import InAxes
from scanify.nn.arguments.layer_inputs import Ref
from scanify.nn.arguments.per_layer import per_layer_arguments
from scanify.nn.programs.layer_call import Call
from scanify.nn.scans.checkpoint import ScanCheckpointPolicy
from scanify.nn.scans.loop import Unroll
from scanify.nn.trees.boxed import unboxed
from scanify.nn.trees.leaves import is_array, is_number


@dataclass(frozen=True)
class LoopedCall:
    """The last carry and the y of each applied layer. It has the interface of a `TracedCall`."""

    carry: Any
    ys: list[Any]

    def apply(self, policy: ScanCheckpointPolicy, unroll: Unroll) -> tuple[Any, list[Any]]:
        """Return the last carry, and the ys."""
        return self.carry, self.ys

    def collected(self, ys: list[Any]) -> list[Any]:
        """Return the ys in the order of the sequence."""
        return ys

    def stacked(self, ys: list[Any]) -> Any:
        """Return the ys stacked along axis 0; functions and strings are kept."""

        def column(*each: Any) -> Any:
            return jnp.stack(each) if is_array(each[0]) or is_number(each[0]) else each[0]

        return jax.tree.map(column, *map(unboxed, ys))

    def mapped(self) -> Any:
        """Return the ys stacked along axis 0."""
        return self.stacked(self.ys)


def loop_call(
    call: Call,
    init: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    layers: Sequence[Any],
    in_axes: InAxes,
    names: Sequence[str],
    reverse: bool = False,
    until: Callable[[Any], bool] | None = None,
) -> LoopedCall:
    """Run `for layer in layers: carry, y = call(layer, carry, *args, **kwargs)`, up to a y for which `until` is true.

    Raises the errors of `per_layer_arguments` and of the layers.
    """
    own, with_shared = per_layer_arguments(args, kwargs, in_axes, len(layers), names=names)
    carry, ys = init, {}
    for at in reversed(range(len(layers))) if reverse else range(len(layers)):
        given, given_named = with_shared(_with_arrays(own[at]))
        carry, ys[at] = call(_with_arrays(layers[at]), carry, *given, **given_named)
        if until is not None and until(ys[at]):
            break
    return LoopedCall(carry, [ys[at] for at in sorted(ys)])


def _with_arrays(tree: Any) -> Any:
    def array(leaf: Any) -> Any:
        if not isinstance(leaf, Ref):
            return leaf
        return leaf.source if leaf.row is None else leaf.source[leaf.row]

    return jax.tree.map(array, tree)
