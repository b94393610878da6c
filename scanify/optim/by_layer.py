"""Evaluate a program with many results, computing the results of equal layers at once by `jax.vmap`.

Equations needed by the results of a single layer form the program of that layer. Layers whose programs differ only in
their inputs are one class: the differing inputs are stacked, and the program is mapped over them. Everything else is
computed once, unchanged.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from scanify.nn.programs.one_by_one import one_by_one
from scanify.nn.programs.skeleton import Known, skeleton
from scanify.optim.without_calls import part_of

Owner = tuple[int, int]  # the number of layers in a list, and the index of one of them

_SEVERAL: Any = "several"  # used by several layers, or by none


@dataclass(frozen=True)
class Row:
    """An input of a program: an array, or a row of one.

    `rows` holds an index for each enclosing stack, and `axes` the layer axis of each.
    """

    array: Any
    rows: tuple[int, ...]
    axes: tuple[int, ...]

    def struct(self) -> jax.ShapeDtypeStruct:
        weak = bool(getattr(self.array, "weak_type", False))
        left = [size for axis, size in enumerate(self.array.shape) if axis not in self.axes]
        return jax.ShapeDtypeStruct(left, self.array.dtype, weak_type=weak)

    def value(self) -> Any:
        return self.array[self._at(self.rows)] if self.rows else self.array

    def column(self) -> Any:
        """Return the values of all rows of the outermost stack at this place, layers first."""
        within = self.array[self._at((slice(None), *self.rows[1:]))] if len(self.rows) > 1 else self.array
        axis = self.axes[0] - sum(other < self.axes[0] for other in self.axes[1:])
        return jnp.moveaxis(within, axis, 0) if axis else within

    def _at(self, rows: tuple[Any, ...]) -> tuple[Any, ...]:
        at = dict(zip(self.axes, rows, strict=True))
        return tuple(at.get(axis, slice(None)) for axis in range(max(self.axes) + 1))


@dataclass(frozen=True)
class _Part:
    """The program of one layer: an open jaxpr, the variables it reads, and the indices of its results."""

    jaxpr: Any
    reads: tuple[Any, ...]
    results: tuple[int, ...]
    key: Hashable


class Results:
    """The results of a program, by index."""

    def __init__(self) -> None:
        self._plain: dict[int, Any] = {}
        self._mapped: dict[int, tuple[Any, int]] = {}  # an array of several results, and the index of this one

    def add(self, number: int, value: Any) -> None:
        self._plain[number] = value

    def add_column(self, numbers: Sequence[int], array: Any) -> None:
        for at, number in enumerate(numbers):
            self._mapped[number] = array, at

    def one(self, number: int) -> Any:
        if number in self._plain:
            return self._plain[number]
        array, at = self._mapped[number]
        return array[at]

    def column(self, numbers: Sequence[int]) -> Any:
        """Stack several results."""
        pieces: dict[int, tuple[Any, list[int], list[int]]] = {}
        for place, number in enumerate(numbers):
            array, at = self._mapped.get(number, (None, 0))
            if array is None:
                array = jnp.asarray(self._plain[number])[None]
            _, rows, places = pieces.setdefault(id(array), (array, [], []))
            rows.append(at)
            places.append(place)
        found = [
            array if rows == list(range(array.shape[0])) else array[np.array(rows)]
            for array, rows, _ in pieces.values()
        ]
        order = [place for _, _, places in pieces.values() for place in places]
        whole = found[0] if len(found) == 1 else jnp.concatenate(found)
        return whole if order == sorted(order) else whole[np.argsort(order)]


def by_layer(closed: Any, inputs: Sequence[Row], owners: Sequence[Owner | None]) -> Results:
    """Return the results of a program. `owners` gives the layer of each result, or None."""
    jaxpr, results = closed.jaxpr, Results()
    uses = _uses(jaxpr, owners)
    parts = _parts(jaxpr, uses, owners)
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    rows = dict(zip(jaxpr.invars, inputs, strict=True))
    needed = {var for part in parts for var in part.reads} | {
        var for var, owner in zip(jaxpr.outvars, owners, strict=True) if owner is None and not isinstance(var, Literal)
    }
    _common(jaxpr, uses, needed, env, rows)

    def value(var: Any) -> Any:
        if isinstance(var, Literal):
            return jnp.asarray(var.val, var.aval.dtype)
        if var not in env:
            env[var] = rows[var].value()
        return env[var]

    for number, (var, owner) in enumerate(zip(jaxpr.outvars, owners, strict=True)):
        if owner is None:
            results.add(number, value(var))
    classes: dict[Hashable, list[_Part]] = {}
    for part in parts:
        classes.setdefault(part.key, []).append(part)
    for members in classes.values():
        _run(members, rows, value, results)
    return results


def _run(members: Sequence[_Part], rows: dict[Any, Row], value: Any, results: Results) -> None:
    """Compute the results of layers that share a program."""
    first = members[0]
    run = partial(jax.core.eval_jaxpr, first.jaxpr, ())
    if len(members) == 1:
        for number, array in zip(first.results, run(*map(value, first.reads)), strict=True):
            results.add(number, array)
        return
    columns = list(zip(*(part.reads for part in members), strict=True))
    alike = [all(var is column[0] for var in column) for column in columns]
    given = [
        value(column[0]) if one else _stacked(column, rows, value) for column, one in zip(columns, alike, strict=True)
    ]
    mapped = jax.vmap(run, in_axes=tuple(None if one else 0 for one in alike), axis_size=len(members))(*given)
    for at, array in enumerate(mapped):
        results.add_column([part.results[at] for part in members], array)


def _stacked(column: Sequence[Any], rows: dict[Any, Row], value: Any) -> Any:
    """Stack the inputs that several layers read at the same place of their program along a new first axis."""
    read = [rows.get(var) for var in column]
    first = read[0]
    if first is not None and first.rows:
        same = [row is not None and row.array is first.array and row.rows[1:] == first.rows[1:] for row in read]
        if all(same):
            numbers = [row.rows[0] for row in read if row is not None]
            whole = first.column()
            return whole if numbers == list(range(whole.shape[0])) else whole[np.array(numbers)]
    return jnp.stack([value(var) for var in column])


def _uses(jaxpr: Any, owners: Sequence[Owner | None]) -> dict[Any, Any]:
    """Map each variable to the only layer whose results need it, or to `_SEVERAL`; unused variables are left out."""
    found: dict[Any, Any] = {}
    # With effects, everything is computed once, to keep their order.
    whole = bool(jaxpr.effects)

    def note(var: Any, owner: Any) -> None:
        if not isinstance(var, Literal):
            found[var] = owner if found.get(var, owner) == owner else _SEVERAL

    for var, owner in zip(jaxpr.outvars, owners, strict=True):
        note(var, _SEVERAL if owner is None or whole else owner)
    for equation in reversed(jaxpr.eqns):
        used = {found[var] for var in equation.outvars if var in found}
        if used or equation.effects:
            owner = used.pop() if len(used) == 1 and not equation.effects else _SEVERAL
            for var in equation.invars:
                note(var, owner)
            for var in equation.outvars:
                found[var] = owner
    return found


def _parts(jaxpr: Any, uses: dict[Any, Any], owners: Sequence[Owner | None]) -> list[_Part]:
    """Return the program of each layer, in the order of the layers."""
    equations: dict[Owner, list[Any]] = {
        owner: [] for owner in sorted({owner for owner in owners if owner is not None})
    }
    for equation in jaxpr.eqns:
        owner = next((uses[var] for var in equation.outvars if var in uses), None)
        if owner is not None and owner != _SEVERAL:
            equations[owner].append(equation)
    results: dict[Owner, list[int]] = {owner: [] for owner in equations}
    for number, owner in enumerate(owners):
        if owner is not None:
            results[owner].append(number)
    known = Known()
    return [_part(jaxpr, mine, results[owner], known, owner) for owner, mine in equations.items()]


def _part(jaxpr: Any, equations: Sequence[Any], results: Sequence[int], known: Known, owner: Owner) -> _Part:
    made = {var for equation in equations for var in equation.outvars}
    outs = [jaxpr.outvars[number] for number in results]
    read = [var for equation in equations for var in equation.invars] + outs
    reads = tuple(dict.fromkeys(var for var in read if not isinstance(var, Literal) and var not in made))
    own = part_of(jaxpr, reads, outs, equations)
    bones = skeleton(own, (), known=known)
    numbers = tuple((number.place, number.bits, number.weak_type) for number in bones.constants)
    places = {var: at for at, var in enumerate(reads)}
    operands = tuple(
        None if isinstance(var, Literal) else places.get(var) for equation in equations for var in equation.invars
    )
    kinds = tuple(str(var.aval) for var in reads)
    key: Hashable = (owner[0], bones.key, numbers, operands, kinds, _passed(own))
    if one_by_one(own):
        key = owner  # no other layer shares it
    return _Part(own, reads, tuple(results), key)


def _passed(jaxpr: Any) -> Hashable:
    """Describe the results that no equation computes: inputs or constants."""
    inputs = {var: at for at, var in enumerate(jaxpr.invars)}
    return tuple(
        (str(var.aval), np.asarray(var.val).tobytes()) if isinstance(var, Literal) else inputs.get(var)
        for var in jaxpr.outvars
    )


def _common(jaxpr: Any, uses: dict[Any, Any], needed: set[Any], env: dict[Any, Any], rows: dict[Any, Row]) -> None:
    """Compute the values needed by several layers or by none, and store them in `env`."""
    equations = [
        equation
        for equation in jaxpr.eqns
        if equation.effects or any(uses.get(var) == _SEVERAL for var in equation.outvars)
    ]
    made = {var for equation in equations for var in equation.outvars}
    wanted = [var for var in dict.fromkeys(needed) if var in made]
    read = dict.fromkeys(var for equation in equations for var in equation.invars if not isinstance(var, Literal))
    reads = [var for var in read if var not in made]
    for var in reads:
        if var not in env:
            env[var] = rows[var].value()
    own = part_of(jaxpr, reads, wanted, equations)
    env |= dict(zip(wanted, jax.core.eval_jaxpr(own, (), *(env[var] for var in reads)), strict=True))
