"""Trace a sequence of layers for one call: once per layer that differs in more than arrays, in the order of the loop.

A layer is traced for the carry of the layer before it, so a carry may change its shape or dtype on the way, as in a
loop.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax

from scanify.nn.arguments.layer_inputs import Ref
from scanify.nn.checks.named_layer import name_of, named_layer
from scanify.nn.programs.program import Program, trace
from scanify.nn.programs.skeleton import Known, const_key
from scanify.nn.programs.state_parts import StateParts
from scanify.nn.scans.carry import split
from scanify.nn.trees.difference import first_difference
from scanify.nn.trees.leaves import has_aval
from scanify.nn.trees.outline import outline
from scanify.nn.trees.structs import struct


@dataclass(frozen=True, eq=False)
class Step:
    """One layer of the sequence: its program, the arrays it reads after the carry, and its kind.

    `captured` are the arrays that its function closes over, such as `self.norms[i]`. `name` is the name of the layer in
    profiles. `carries` are numbers for its input carry and its output carry.
    """

    program: Program
    refs: tuple[Ref, ...]
    kind: int
    carried: int
    markers: tuple[Any, ...]
    carries: tuple[int, int]
    captured: tuple[Ref, ...] = ()
    name: str = "layer"

    @property
    def inputs(self) -> tuple[Ref, ...]:
        """Return all arrays that the program reads after the carry."""
        return (*self.refs, *self.captured)

    def parts(self, arrays: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Split the results of the program: the arrays of the carry, and all others."""
        return list(arrays[: self.carried]), list(arrays[self.carried :])


class Kinds:
    """Numbers for pytrees, equal if they differ in no more than the values of arrays."""

    def __init__(self) -> None:
        self._count = 0
        self._known: dict[Any, list[tuple[int, Any]]] = {}

    def of(self, tree: Any) -> int:
        """Return the number of a pytree, whose arrays may be `jax.ShapeDtypeStruct`s."""
        alike = self._known.setdefault(outline(tree), [])
        for number, known in alike:
            if first_difference(known, tree) is None:
                return number
        alike.append((self._count, tree))
        self._count += 1
        return self._count - 1


class _Captured:
    """The arrays that programs close over, one object per distinct array, so that a scan can detect shared ones."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def refs(self, program: Program) -> tuple[Ref, ...]:
        arrays = [program.consts[at] for at in program.captured]
        return tuple(Ref(self._known.setdefault((const_key(array), struct(array)), array)) for array in arrays)


Call = Callable[[Any, Any, Any], Any]


def trace_layers(
    call: Call,
    carry: Any,
    layers: Sequence[tuple[Any, Any]],
    order: Sequence[int],
    parts: StateParts | None,
    *,
    until: Callable[[Any], bool] | None = None,
) -> list[Step]:
    """Return the steps, in the order of the sequence, up to the first layer for whose y `until` is true.

    `call(layer, carry, arguments)` returns `(carry, y)`; `layers` has, for each position, the layer and its own
    arguments, with a `Ref` for each array; `order` is the order in which the layers are applied.
    """
    inputs, carries = Kinds(), Kinds()
    programs: dict[tuple[int, int], Program] = {}
    read, shapes = Known(), _Shapes()
    traced: dict[int, _Traced] = {}
    current = _structs(carry if parts is None else parts.rest)
    given = carries.of(current)
    for position in order:
        state = {} if parts is None else parts.entries[position]
        entries = [jax.tree.map(Ref, value) for value in state.values()]
        one = shapes.of((*layers[position], entries))
        which = (inputs.of(one.outline), given)
        if which not in programs:
            with named_layer(layers[position][0], f"layer {position}"):
                programs[which] = _trace_one(call, one, current, tuple(state), parts, read)
        program = programs[which]
        current, y, values = program.result(program.outs)
        gives = carries.of(current)
        traced[position] = _Traced(
            program, one.refs, tuple(state), (given, gives), current, (y, values), name_of(layers[position][0])
        )
        given = gives
        if until is not None and until(y):
            break
    return _steps([traced[position] for position in sorted(traced)])


@dataclass(frozen=True, eq=False)
class _Traced:
    """A traced layer: the numbers of its input and output carry, the new carry, and its outputs."""

    program: Program
    refs: tuple[Ref, ...]
    markers: tuple[Any, ...]
    carries: tuple[int, int]
    new: Any
    beside: tuple[Any, Any]
    name: str


def _steps(traced: Sequence[_Traced]) -> list[Step]:
    """Number the kinds of the layers: their programs are read here, one after another."""
    bodies: dict[Any, int] = {}
    known, others = _Captured(), Kinds()
    steps = []
    for one in traced:
        y, values = one.beside
        # The y of a layer may have its own structure: a scan sees only its arrays.
        beside = [leaf for leaf in jax.tree.leaves(y) if has_aval(leaf)]
        body = (one.program.key, one.carries, others.of((beside, values)))
        number = bodies.setdefault(body, len(bodies))
        carried = sum(map(has_aval, jax.tree.leaves(one.new)))
        captured = known.refs(one.program)
        steps.append(Step(one.program, one.refs, number, carried, one.markers, one.carries, captured, one.name))
    return steps


@dataclass(frozen=True)
class _Taken:
    """A flattened pytree: its leaves, the indices and shapes of its arrays, and the pytree of those shapes."""

    leaves: list[Any]
    treedef: Any
    holes: list[int]
    structs: list[Any]

    @property
    def refs(self) -> tuple[Ref, ...]:
        """Return its arrays."""
        return tuple(self.leaves[hole] for hole in self.holes)

    @property
    def outline(self) -> Any:
        """Return the pytree with shapes and dtypes in place of arrays."""
        return self.filled(self.structs)

    def names(self) -> list[str]:
        """Return the names of its arrays, for a layer with its arguments and its entries of a state."""
        paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(self.outline)[0]]
        return [_name(paths[hole]) for hole in self.holes]

    def filled(self, arrays: Sequence[Any]) -> Any:
        """Return the pytree with new arrays."""
        leaves = list(self.leaves)
        for hole, array in zip(self.holes, arrays, strict=True):
            leaves[hole] = array
        return jax.tree.unflatten(self.treedef, leaves)


def _name(path: Any) -> str:
    """Return `layer.norm.weight`, `args[0]`, `kwargs['mask']` or `state[2]`."""
    which, *inside = path
    if which.idx == 1:
        named, *inside = inside
        return f"{'kwargs' if named.idx else 'args'}{jax.tree_util.keystr(tuple(inside))}"
    return f"{'state' if which.idx else 'layer'}{jax.tree_util.keystr(tuple(inside))}"


class _Shapes:
    """Flattens pytrees. Layers in one stack share the shapes of its rows."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, bool], tuple[Any, Any]] = {}

    def of(self, tree: Any) -> _Taken:
        """Flatten a pytree, whose arrays are `Ref`s."""
        leaves, treedef = jax.tree.flatten(tree)
        holes = [index for index, leaf in enumerate(leaves) if isinstance(leaf, Ref)]
        return _Taken(leaves, treedef, holes, [self._struct(leaves[hole]) for hole in holes])

    def _struct(self, ref: Ref) -> Any:
        which = (id(ref.source), ref.row is None)
        if which not in self._rows:
            self._rows[which] = (ref.struct(), ref.source)
        return self._rows[which][0]


def _trace_one(
    call: Call, layer: _Taken, carry: Any, markers: tuple[Any, ...], parts: StateParts | None, known: Known
) -> Program:
    carry_arrays, carry_static = eqx.partition(carry, has_aval)
    carry_leaves, carry_def = jax.tree.flatten(carry_arrays)

    def fn(arrays: Sequence[Any]) -> Any:
        carry = eqx.combine(jax.tree.unflatten(carry_def, arrays[: len(carry_leaves)]), carry_static)
        one, arguments, entries = layer.filled(arrays[len(carry_leaves) :])
        if parts is None:
            return (*call(one, carry, arguments), [])
        new, y = call(one, parts.carry_with(carry, markers, entries), arguments)
        rest, values = parts.taken_from(new, markers)
        return rest, y, values

    def names() -> list[str]:
        carried = jax.tree_util.tree_flatten_with_path(carry_arrays)[0]
        return [*(f"carry{jax.tree_util.keystr(path)}" for path, _ in carried), *layer.names()]

    return trace(fn, [*carry_leaves, *layer.structs], known=known, names=names)


def _structs(carry: Any) -> Any:
    arrays, static = split(carry)
    return eqx.combine(jax.tree.map(struct, arrays), static)
