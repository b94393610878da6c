"""Apply traced layers in order: by scans according to the cover, one after another elsewhere."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.jaxpr.reading.calls import children
from scanify.nn.arguments.layer_inputs import Inputs, Ref, Shared, Slot
from scanify.nn.checks.check_layers import who_is_told
from scanify.nn.checks.traced_layer import POSITION, layer_looked_at
from scanify.nn.covers.cover import Item, Period, Run
from scanify.nn.programs.layer_programs import Step
from scanify.nn.programs.literals import Place, lifted, replay, stacked_constants, with_type
from scanify.nn.programs.skeleton import Constant
from scanify.nn.scans.checkpoint import ScanCheckpointPolicy
from scanify.nn.scans.loop import Unroll, is_straight, run_scan
from scanify.nn.scans.rematted import rematted
from scanify.nn.trees.weak import weakly_typed

Body = Callable[[Any, Any], tuple[Any, Any]]

# The scope of operations for several layers at once, so that readers of a traced program can identify them.
MAPPED = "scanify.nn.mapped"


@dataclass(frozen=True)
class Piece:
    """The outputs of the layers at `positions` after the carry: arrays with a leading axis for the positions."""

    positions: tuple[int, ...]
    arrays: tuple[Any, ...]


@dataclass(frozen=True)
class Applier:
    """Applies the items of a cover to a carry, a flat list of arrays."""

    steps: Sequence[Step]
    cover: Sequence[Item]
    policy: ScanCheckpointPolicy
    unroll: Unroll
    reverse: bool

    def __call__(self, carry: list[Any]) -> tuple[list[Any], list[Piece]]:
        inputs = Inputs([[ref for at in _positions(item) for ref in self.steps[at].inputs] for item in self.cover])
        pieces: list[Piece] = []
        items = list(enumerate(self.cover))
        for part, item in reversed(items) if self.reverse else items:
            if isinstance(item, Period):
                carry, found = self._period(item, carry, inputs, part)
                pieces += found
                continue
            positions, shape = _positions(item), (item.count,)
            columns = [inputs.many(refs, shape, part) for refs in _refs(self.steps, positions)]
            body, xs = _layers(self.steps, positions, shape, columns, self._first)
            carry, arrays = self._apply(body, carry, xs, item, self.policy, straight=True)
            pieces.append(Piece(_positions(item), tuple(arrays)))
        return carry, sorted(pieces, key=lambda piece: piece.positions)

    @property
    def _first(self) -> int:
        return len(self.steps) - 1 if self.reverse else 0

    def _apply(
        self, body: "_LayerBody", carry: list[Any], xs: Any, run: Run, policy: ScanCheckpointPolicy, *, straight: bool
    ) -> tuple[list[Any], list[Any]]:
        """Apply a run by a scan; a single layer, whose `xs` have a leading axis of 1, without one."""
        policy = with_names_of(policy, self.steps[run.start].program.jaxpr)
        if run.count == 1:
            carry, ys = body.rematted(policy, straight=straight)(carry, jax.tree.map(lambda x: x[0], xs))
            return carry, [y[None] for y in ys]
        within: Body = body
        if policy.is_jax_policy:  # it wraps the body, not the scan any more
            within = body.rematted(policy, straight=is_straight(run.count, self.unroll))
            policy = ScanCheckpointPolicy(disable=True)
        how: dict[str, Any] = {"unroll": self.unroll, "reverse": self.reverse, "look": False}
        carry, ys = run_scan(within, carry, xs, run.count, policy=policy, **how)
        return carry, list(ys)

    def _period(self, period: Period, carry: list[Any], inputs: Inputs, part: int) -> tuple[list[Any], list[Piece]]:
        """Apply a period by a scan, in whose body the runs of one period follow one another."""
        inner = dataclasses.replace(self.policy, nested=False, save_carries=self.policy.save_carries or True)
        rounds = range(0, period.size * period.count, period.size)
        positions = [[run.start + at + turn for turn in rounds for at in range(run.count)] for run in period.runs]
        shapes = [(period.count, run.count) for run in period.runs]
        columns, blocks = inputs.in_periods([_refs(self.steps, each) for each in positions], shapes, part)
        layers = [
            _layers(self.steps, each, shape, own, self._first)
            for each, shape, own in zip(positions, shapes, columns, strict=True)
        ]

        def whole(carry: Any, given: Any) -> tuple[Any, Any]:
            blocks, xs = given
            ys: list[Any] = [None] * len(layers)
            order = range(len(layers))
            for at in reversed(order) if self.reverse else order:
                body, own = layers[at][0], _filled(columns[at], xs[at], blocks)
                carry, ys[at] = self._apply(body, carry, own, period.runs[at], inner, straight=False)
            return carry, ys

        how: dict[str, Any] = {"unroll": self.unroll, "reverse": self.reverse, "look": False}
        xs = blocks, [each for _, each in layers]
        carry, ys = run_scan(whole, carry, xs, period.count, policy=_outer(self.policy), **how)
        return carry, _pieces(period, ys)


def with_names_of(policy: ScanCheckpointPolicy, jaxpr: Any) -> ScanCheckpointPolicy:
    """Remove the names that a jaxpr does not set: another layer may."""
    if not policy.names:
        return policy
    given = names_given(jaxpr)
    if None in given:
        return policy
    kept = policy.save_block_internals
    return dataclasses.replace(
        policy,
        save_block_internals=kept if isinstance(kept, bool) else tuple(name for name in kept if name in given),
        offload_block_internals=tuple(name for name in policy.offload_block_internals if name in given),
    )


def names_given(jaxpr: Any) -> set[str | None]:
    """Return the names of `checkpoint_name` in a jaxpr, and None if a custom derivative may hide some."""
    found: set[str | None] = set()
    for equation in jaxpr.eqns:
        if equation.primitive.name == "name":
            found.add(equation.params["name"])
        elif equation.primitive.name.startswith(("custom_vjp", "custom_jvp")):
            found.add(None)
        for child in children(equation):
            found |= names_given(getattr(child, "jaxpr", child))
    return found


def _outer(policy: ScanCheckpointPolicy) -> ScanCheckpointPolicy:
    """Return the policy of a scan over periods: each layer has its own remat, so it keeps the same as in a loop."""
    if policy.nested or not policy.save_carries:
        return ScanCheckpointPolicy(
            nested=policy.nested, save_carries=policy.save_carries, prevent_cse=policy.prevent_cse
        )
    return ScanCheckpointPolicy(disable=True)


def _positions(item: Item) -> tuple[int, ...]:
    count = item.size * item.count if isinstance(item, Period) else item.count
    return tuple(range(item.start, item.start + count))


def _pieces(period: Period, ys: Sequence[Sequence[Any]]) -> list[Piece]:
    """Return the outputs of the layers of all periods: one piece if all are alike, else one per run and period."""
    kinds = [[(y.shape[2:], y.dtype) for y in arrays] for arrays in ys]
    if all(kind == kinds[0] for kind in kinds):
        joined = [jnp.concatenate(column, axis=1) for column in zip(*ys, strict=True)]
        return [Piece(_positions(period), tuple(y.reshape(-1, *y.shape[2:]) for y in joined))]
    found = []
    for run, arrays in zip(period.runs, ys, strict=True):
        for at in range(period.count):
            start = run.start + at * period.size
            positions = tuple(range(start, start + run.count))
            found.append(Piece(positions, tuple(y[at] for y in arrays)))
    return found


def _refs(every: Sequence[Step], positions: Sequence[int]) -> list[tuple[Ref, ...]]:
    """Return for each input of equal layers the refs of all of them."""
    return list(zip(*(every[at].inputs for at in positions), strict=True))


def _filled(columns: Sequence[Any], xs: Any, blocks: Sequence[Any]) -> Any:
    """Return the xs of a run in one period, with its rows of the blocks."""
    waiting, numbers = iter(xs[0]), xs[1]
    scanned = [each for each in columns if not isinstance(each, Shared)]
    return [
        blocks[each.block][each.start : each.start + each.count] if isinstance(each, Slot) else next(waiting)
        for each in scanned
    ], numbers


def _layers(
    every: Sequence[Step], positions: Sequence[int], shape: tuple[int, ...], columns: Sequence[Any], first: int = 0
) -> tuple["_LayerBody", Any]:
    """Return the one body of the equal layers at `positions`, and its xs, with leading axes `shape`. `columns` are
    their inputs, `first` is the position of the layer that is applied first."""
    steps = [every[at] for at in positions]
    lifted = stacked_constants([step.program.constants for step in steps])
    numbers = {_name(place): jnp.asarray(value.reshape(*shape)) for place, value in lifted.items()}
    constants = {one.place: one for one in steps[0].program.constants if one.place in lifted}
    if who_is_told() is not None:
        numbers[POSITION] = jnp.asarray(positions).reshape(shape)
    scanned = [column for column in columns if not isinstance(column, Shared | Slot)]
    return _LayerBody(steps[0], columns, constants, first), (scanned, numbers)


def map_kinds(steps: Sequence[Step]) -> list[Piece]:
    """Apply layers without a carry: one `jax.vmap` for each kind, wherever they occur; a single layer directly."""
    members: dict[int, list[int]] = {}
    for position, step in enumerate(steps):
        members.setdefault(step.kind, []).append(position)
    inputs = Inputs([[ref for at in positions for ref in steps[at].inputs] for positions in members.values()])
    found: list[Piece] = []
    for part, positions in enumerate(members.values()):
        columns = [inputs.many(refs, (len(positions),), part) for refs in _refs(steps, positions)]
        body, xs = _layers(steps, positions, (len(positions),), columns)
        if len(positions) == 1:
            alone = body([], jax.tree.map(lambda x: x[0], xs))[1]
            arrays = [y[None] for y in alone]
        else:
            with jax.named_scope(MAPPED):
                arrays = jax.vmap(lambda x, body=body: body([], x)[1], axis_size=len(positions))(xs)
        found.append(Piece(tuple(positions), tuple(arrays)))
    return found


def map_layers(steps: Sequence[Step]) -> list[Any]:
    """Apply layers without a carry, and stack their outputs in order."""
    pieces = map_kinds(steps)
    order = np.argsort([at for piece in pieces for at in piece.positions])
    columns = [
        column[0] if len(column) == 1 else jnp.concatenate(column)
        for column in zip(*(piece.arrays for piece in pieces), strict=True)
    ]
    in_order = np.array_equal(order, np.arange(len(order)))
    return columns if in_order else [column[order] for column in columns]


def apart(array: Any, count: int) -> list[Any]:
    """Split along a leading axis in one operation: its transpose is one concatenation, while slices have a sum."""
    if not isinstance(array.dtype, np.dtype):  # keys
        return [array[at] for at in range(count)]
    return [piece.reshape(piece.shape[1:]) for piece in jax.lax.split(array, [1] * count)]


def _name(place: Place) -> str:
    return ".".join(map(str, place))


@dataclass(frozen=True, eq=False)
class _LayerBody:
    """A layer as a function of a carry and an x."""

    step: Step
    columns: Sequence[Any]
    constants: dict[Place, Constant]
    first: int

    def __call__(self, carry: Any, x: Any) -> tuple[Any, Any]:
        consts, own, given = self._read(x)
        arrays = [*carry, *own]
        with jax.named_scope(self.step.name):
            if POSITION in x[1]:
                place = x[1][POSITION], self.first
                return self.step.parts(layer_looked_at(self.step, consts, arrays, given, len(carry), place))
            return self.step.parts(replay(self.step.program.jaxpr, consts, arrays, given))

    def rematted(self, policy: ScanCheckpointPolicy, *, straight: bool) -> Body:
        """Apply a policy to the layer: the existing trace is used if possible, else the layer is traced again."""
        anew: Body = policy.checkpoint(self, straight=straight)
        program = self.step.program
        takes = policy.is_jax_policy and who_is_told() is None
        jaxpr = lifted(program.jaxpr, list(self.constants)) if takes else None
        if jaxpr is None or len(program.captured) < len(program.consts):  # some are unused, or not arrays
            return anew

        def body(carry: Any, x: Any) -> tuple[Any, Any]:
            consts, own, given = self._read(x)
            with jax.named_scope(self.step.name):
                done = rematted(jaxpr, consts, [*carry, *own, *given.values()], policy, straight=straight)
            return anew(carry, x) if done is None else self.step.parts(done)

        return body

    def _read(self, x: Any) -> tuple[list[Any], list[Any], dict[Place, Any]]:
        """Return the arrays that the program closes over, its inputs, and the scalars that replace its own."""
        scanned, numbers = x
        waiting = iter(scanned)
        arrays = []
        for ref, column in zip(self.step.inputs, self.columns, strict=True):
            array = column.array if isinstance(column, Shared) else next(waiting)
            arrays.append(weakly_typed(array) if ref.weak_type else array)
        given = {place: with_type(numbers[_name(place)], constant) for place, constant in self.constants.items()}
        own, captured = arrays[: len(self.step.refs)], arrays[len(self.step.refs) :]
        consts = list(self.step.program.consts)
        for at, array in zip(self.step.program.captured, captured, strict=True):
            consts[at] = array
        return consts, own, given
