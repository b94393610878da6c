"""Run a planned program; under a trace, this gives the rolled program."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np

from scanify.jaxpr.reading.calls import opened
from scanify.nn.scans.checkpoint import ScanCheckpointPolicy
from scanify.nn.scans.loop import run_scan
from scanify.nn.trees.weak import weakly_typed
from scanify.rolling.find.program import Atom, Number, Operation
from scanify.rolling.find.slices import Slices
from scanify.rolling.scans.bind import array_of, bind, strong
from scanify.rolling.scans.body import stack
from scanify.rolling.scans.calls import Called
from scanify.rolling.scans.plan import Plan, Scan

Policy = ScanCheckpointPolicy | None


class Rows:
    """The stacked results of a scan, unstacked when the first row is read.

    All rows are split at once: the gradient is then one array of their gradients, while the gradient of a single row is
    a zero-padded array, and these would have to be summed.
    """

    def __init__(self, array: Any, several: bool) -> None:
        self.array, self.several = array, several and isinstance(array.dtype, np.dtype)

    def row(self, at: int) -> Any:
        """Return one row."""
        return self.parts[at] if self.several else self.array[at]

    @cached_property
    def parts(self) -> list[Any]:
        """All rows."""
        parts = jax.lax.split(self.array, [1] * self.array.shape[0])
        return [jax.lax.squeeze(part, [0]) for part in parts]


@dataclass(frozen=True, eq=False)
class Row:
    """A value that is a row of a scan's results."""

    rows: Rows
    at: int


def run(plan: Plan, arrays: Sequence[Any], policy: Policy = None) -> list[Any]:
    """Run a planned program on arrays or tracers; `policy` is the remat policy of its scans, None for none."""
    return _Run(plan, policy)(arrays)


class _Run:
    def __init__(self, plan: Plan, policy: Policy) -> None:
        self.plan, self.program, self.policy = plan, plan.program, policy
        self.values: dict[int, Any] = {}
        self.stacked: dict[tuple[int, ...], Any] = {}

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        self.values.update(zip(self.program.inputs, arrays, strict=True))
        self._through(0, len(self.program.operations), self.plan.calls)
        return [self._result(atom) for atom in self.program.outputs]

    def _through(self, start: int, stop: int, calls: Mapping[int, Called]) -> None:
        """Run the operations of a stretch."""
        at = start
        while at < stop:
            called, scan = calls.get(at), self.plan.scans.get(at)
            if called is not None:
                self._call(called)
                at = called.stop
            elif scan is not None:
                self._scan(scan)
                at = scan.roll.wired.stop
            else:
                self._operation(at)
                at += 1

    def _operation(self, at: int) -> None:
        operation = self._with_scans_inside(at)
        if self.program.views.get(operation.outputs[0] if operation.outputs else -1) is operation:
            self.values[operation.outputs[0]] = operation  # sliced when it is read
            return
        results = bind(operation, [self.read(atom) for atom in operation.inputs])
        self.values.update(zip(operation.outputs, results, strict=True))

    def _call(self, called: Called) -> None:
        """Run a stretch as a call."""

        def function(*arrays: Any) -> list[Any]:
            inside = _Run(self.plan, self.policy)
            inside.values.update(zip(called.inputs, arrays, strict=True))
            inside._through(called.start, called.stop, called.inner)
            return [inside.read(value) for value in called.outputs]

        equation = called.call.equation
        function.__name__ = function.__qualname__ = equation.params["name"]
        with equation.ctx.manager:
            results = jax.jit(function)(*map(self.read, called.inputs))
        self.values.update(zip(called.outputs, results, strict=True))

    def read(self, atom: Atom) -> Any:
        """Return a value, or a constant of the program."""
        if isinstance(atom, Number):
            return atom
        value = self.values[atom]
        if isinstance(value, Row):
            value = self.values[atom] = value.rows.row(value.at)
        elif isinstance(value, Operation):
            (value,) = bind(value, [self.read(each) for each in value.inputs])
            self.values[atom] = value
        return value

    def _result(self, atom: Atom) -> Any:
        value = array_of(self.read(atom))
        aval = atom.aval if isinstance(atom, Number) else self.program.avals[atom]
        return weakly_typed(value) if getattr(aval, "weak_type", False) else strong(value)

    def _scan(self, scan: Scan) -> None:
        body, count, slots = scan.body, scan.roll.wired.count, len(scan.body.slots)
        constants = [self.read(atom) for atom in body.constants]
        # Inner scans are not chunked again.
        inner = None if self.policy is None else dataclasses.replace(self.policy, nested=False)

        def step(carry: Sequence[Any], xs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            results = [strong(each) for each in run(scan.inside, [*carry, *xs, *constants], inner)]
            return results[:slots], results[slots:]

        init = [slot.init(self.read) for slot in body.slots]
        xs = [self._stack(column) for column in body.columns]
        if self.policy is None:
            carry, ys = jax.lax.scan(step, init, xs, length=count)
        else:
            carry, ys = run_scan(step, init, xs, count, policy=self.policy)
        self._give(scan, carry, ys)

    def _stack(self, column: list[Atom] | Slices) -> Any:
        """Return the stacked values to scan over. Rows that a scan returned together stay stacked."""
        if isinstance(column, Slices):
            return column.of(self.read(column.value))
        names = tuple(-1 if isinstance(atom, Number) else atom for atom in column)
        for given, reverse in ((names, False), (names[::-1], True)):
            if given in self.stacked:
                rows = self.stacked[given]
                return jax.lax.rev(rows, (0,)) if reverse else rows
        return stack([self.read(atom) for atom in column])

    def _give(self, scan: Scan, carry: Sequence[Any], ys: Sequence[Any]) -> None:
        """Store the results of a scan that are read after it."""
        operations, wired = self.program.operations, scan.roll.wired

        def value(place: tuple[int, int], repetition: int) -> int:
            return operations[wired.start + repetition * wired.period + place[0]].outputs[place[1]]

        for place, slot in scan.body.carried.items():
            self.values[value(place, wired.count - 1)] = carry[slot]
        for place, rows in zip(scan.body.kept, ys, strict=True):
            self.stacked[tuple(value(place, each) for each in range(wired.count))] = rows
            apart = Rows(rows, len(scan.roll.kept[place]) > 1)
            for repetition in scan.roll.kept[place]:
                self.values.setdefault(value(place, repetition), Row(apart, repetition))  # the last may be carried

    def _with_scans_inside(self, at: int) -> Operation:
        """Return an operation with the planned scans in its sub-programs."""
        operation, inside = self.program.operations[at], self.plan.inside.get(at)
        if inside is None:
            return operation
        equation = operation.equation
        if any(not isinstance(number, Number) for number in operation.inputs[len(equation.invars) :]):
            return operation  # constants are replaced by position in the original sub-program
        params = dict(equation.params)
        for name, plans in inside.items():
            value = params[name]
            whole = value if isinstance(value, tuple) else (value,)
            made = tuple(_rolled(one, plan, self.policy) for one, plan in zip(whole, plans, strict=True))
            params[name] = made if isinstance(value, tuple) else made[0]
        return dataclasses.replace(operation, equation=equation.replace(params=params))


def _rolled(jaxpr: Any, plan: Plan | None, policy: Policy) -> Any:
    """Return the rolled form of a jaxpr in a parameter; the original jaxpr if the types would differ."""
    if plan is None:
        return jaxpr
    inner, consts = opened(jaxpr)
    avals = [variable.aval for variable in inner.invars]
    structs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type) for aval in avals]
    made = jax.make_jaxpr(lambda *given: run(plan, [*consts, *given], policy))(*structs)
    opened_made, made_consts = opened(made)
    same_types = [v.aval for v in opened_made.invars] == avals and list(made.out_avals) == [
        v.aval for v in inner.outvars
    ]
    if made_consts or not same_types or opened_made.effects != inner.effects:
        return jaxpr
    return made if hasattr(jaxpr, "consts") else opened_made
