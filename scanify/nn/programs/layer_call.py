"""One call of a sequence of layers: traced, covered by scans, applied."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.nn.arguments.axes import InAxes
from scanify.nn.arguments.per_layer import per_layer_arguments
from scanify.nn.covers.apply_cover import Applier, Piece, apart, map_layers, names_given
from scanify.nn.covers.cover import cheapest_cover
from scanify.nn.covers.tails import tails_of
from scanify.nn.programs.layer_programs import Step, trace_layers
from scanify.nn.programs.one_by_one import draws_otherwise
from scanify.nn.programs.state_parts import StateParts, state_parts
from scanify.nn.scans.carry import split
from scanify.nn.scans.checkpoint import ScanCheckpointPolicy
from scanify.nn.scans.held_numbers import BRANCHED, NumbersMove, hold, hold_again, let_go
from scanify.nn.scans.loop import Unroll
from scanify.nn.trees.boxed import boxed
from scanify.nn.trees.difference import first_difference
from scanify.nn.trees.key_order import ordered, plain
from scanify.nn.trees.leaves import has_aval, path_text
from scanify.nn.trees.weak import weakly_typed

Call = Callable[..., tuple[Any, Any]]


@dataclass(frozen=True, eq=False)
class TracedCall:
    """The layers as traced for the carry and the arguments of a call. `given` is the original carry, `init` the same
    with the order of its dicts."""

    steps: Sequence[Step]
    parts: StateParts | None
    init: Any
    reverse: bool
    given: Any

    @property
    def kinds(self) -> tuple[int, ...]:
        """Return the kind of each layer: equal numbers for layers that one scan can apply."""
        return tuple(step.kind for step in self.steps)

    def apply(self, policy: ScanCheckpointPolicy, unroll: Unroll) -> tuple[Any, list[Piece]]:
        """Return the last carry, and the outputs of the layers. Without layers the carry is unchanged."""
        if not self.steps:
            return self.given, []
        _warn_of_names(policy, self.steps)
        parts = self.parts
        carry = jax.tree.leaves(split(self.init if parts is None else parts.rest)[0])
        tails = tails_of(self.steps) if parts is None else None
        steps = self.steps if tails is None else tails.steps
        applier = Applier(steps, cheapest_cover(tuple(step.kind for step in steps)), policy, unroll, self.reverse)
        carry, pieces = applier(carry)
        if tails is not None:
            pieces = tails.apply(pieces, policy)
        last = self.steps[0 if self.reverse else -1].program
        new = last.result([*carry, *last.outs[len(carry) :]])[0]
        return plain(let_go(new if parts is None else self._with_state(parts, new, pieces))), pieces

    def stacked(self, pieces: Sequence[Piece]) -> Any:
        """Return the ys of all layers, stacked along axis 0."""
        first, treedef, static = self._ys()
        columns = []
        for at in range(len(first)):
            column = [piece.arrays[at] for piece in pieces]
            columns.append(column[0] if len(column) == 1 else jnp.concatenate(column))
        return eqx.combine(jax.tree.unflatten(treedef, columns), static)

    def collected(self, pieces: Iterable[Piece]) -> list[Any]:
        """Return the y of each layer, in the order of the sequence."""
        ys: dict[int, Any] = {}
        for piece in pieces:
            columns = [apart(array, len(piece.positions)) for array in piece.arrays]
            for at, position in enumerate(piece.positions):
                step = self.steps[position]
                carried, outs = step.program.outs[: step.carried], step.program.outs[step.carried :]
                own = [
                    weakly_typed(column[at]) if out.weak_type else column[at]
                    for column, out in zip(columns, outs, strict=True)
                ]
                ys[position] = step.program.result([*carried, *own])[1]
        return [ys[position] for position in range(len(self.steps))]

    def mapped(self) -> Any:
        """Return the ys of all layers, stacked along axis 0, for layers without a carry."""
        _, treedef, static = self._ys()
        if any(draws_otherwise(program.jaxpr) for program in {id(s.program): s.program for s in self.steps}.values()):
            return self.stacked(self.apply(ScanCheckpointPolicy(disable=True), None)[1])
        return eqx.combine(jax.tree.unflatten(treedef, map_layers(self.steps)), static)

    def _ys(self) -> tuple[list[Any], Any, Any]:
        ys = [step.program.result(step.program.outs)[1] for step in self.steps]
        if not ys:
            raise ValueError("expected at least one layer, whose result says what is stacked; there is none")
        for index, y in enumerate(ys):
            difference = first_difference(ys[0], y, weak=False)
            if difference is not None:
                raise ValueError(
                    f"expected layers whose results can be stacked; those of layers 0 and {index} differ at "
                    f"{path_text(difference.path)}: {difference}. Give them one shape and dtype, or collect them in a "
                    "Python loop"
                )
        arrays, static = eqx.partition(ys[0], has_aval)
        leaves, treedef = jax.tree.flatten(arrays)
        return leaves, treedef, static

    def _with_state(self, parts: StateParts, rest: Any, pieces: Sequence[Piece]) -> Any:
        entries: dict[Any, Any] = {}
        for piece in pieces:
            for at, position in enumerate(piece.positions):
                step = self.steps[position]
                carried = step.program.outs[: step.carried]
                values = step.program.result([*carried, *(array[at] for array in piece.arrays)])[2]
                entries.update(zip(step.markers, values, strict=True))
        return parts.carry_with_state(rest, parts.whole(entries))


def trace_call(
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
) -> TracedCall:
    """Trace `call(layer, carry, *args, **kwargs)`, which returns `(carry, y)`, for each of `layers`, up to the first y
    for which `until` is true.

    Raises the errors of `per_layer_arguments` and of the layers.
    """
    own, with_shared = per_layer_arguments(args, kwargs, in_axes, len(layers), names=names)
    order = range(len(layers))[::-1] if reverse else range(len(layers))
    given, trace, moving = init, object(), frozenset[int]()

    def one(layer: Any, carry: Any, arguments: Any) -> tuple[Any, Any]:
        args, kwargs = with_shared(arguments)
        new, y = call(layer, plain(let_go(carry)), *args, **kwargs)
        return hold_again(carry, ordered(new), trace), y

    while True:
        held = hold(ordered(given), moving)
        parts = state_parts(held, layers)
        try:
            steps = trace_layers(one, held, list(zip(layers, own, strict=True)), order, parts, until=until)
        except NumbersMove as moved:
            if moved.trace is not trace:
                raise
            moving |= moved.leaves
        except jax.errors.ConcretizationTypeError as error:
            if moving:
                error.add_note(BRANCHED)
            raise
        else:
            return TracedCall(steps, parts, held, reverse, given)


def _warn_of_names(policy: ScanCheckpointPolicy, steps: Sequence[Step]) -> None:
    """Warn of names in a policy that no layer sets, since it would keep less than requested."""
    if not policy.names:
        return
    programs = {id(step.program): step.program for step in steps}.values()
    given = set().union(*(names_given(program.jaxpr) for program in programs))
    missing = [name for name in policy.names if name not in given]
    if missing and None not in given:
        known = ", ".join(repr(name) for name in sorted(filter(None, given))) or "none"
        warnings.warn(
            f"the remat policy names {', '.join(map(repr, missing))}, which nothing in the layers is called, so it "
            f"keeps less than it says; names that are given: {known}",
            stacklevel=4,
        )


def as_scan(fn: Callable[..., Any]) -> Call:
    """Adapt a layer that returns the carry alone, with None for y."""
    return lambda layer, carry, /, *args, **kwargs: (fn(layer, carry, *args, **kwargs), None)


def as_pair(fn: Callable[..., Any]) -> Call:
    """Check that a layer returns `(carry, y)`. Raises TypeError if it returns anything else."""

    def pair(layer: Any, carry: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        out = fn(layer, carry, *args, **kwargs)
        if not isinstance(out, tuple) or len(out) != 2:
            raise TypeError(
                f"expected a layer to give a pair (carry, y) to `scan`, got {type(out).__qualname__}; `fold` is for "
                "layers that give the carry alone"
            )
        return out

    return pair


def as_boxed_pair(fn: Callable[..., Any]) -> Call:
    """Like `as_pair`, for ys whose Python numbers are kept."""
    pair = as_pair(fn)

    def boxed_pair(layer: Any, carry: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        carry, y = pair(layer, carry, *args, **kwargs)
        return carry, boxed(y)

    return boxed_pair


def as_ending_pair(fn: Callable[..., Any]) -> Call:
    """Adapt a layer that returns `(carry, y, last)` to return `(carry, (y, last))`; `last` is a Python bool.

    Raises TypeError if it returns anything else, and jax's error if `last` is traced.
    """

    def pair(layer: Any, carry: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        out = fn(layer, carry, *args, **kwargs)
        if not isinstance(out, tuple) or len(out) != 3:
            raise TypeError(
                "expected a layer to give (carry, y, last) to `collect_until_via`, with a bool that says whether it is "
                f"the last one, got {type(out).__qualname__}"
            )
        carry, y, last = out
        return carry, boxed((y, bool(last)))

    return pair
