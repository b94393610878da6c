"""Running a flat program with repetitions as scans: under a trace, that is the rolled program."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn.scans.checkpoint import ScanCheckpointPolicy
from scanify.nn.scans.loop import run_scan
from scanify.nn.trees.weak import weakly_typed
from scanify.rolling.bind import array_of, bind, spread, strong
from scanify.rolling.body import Body, Row, Slices
from scanify.rolling.choose import Roll
from scanify.rolling.program import Atom, Number, Program


class Emitted:
    """One run of a program on arrays or tracers."""

    def __init__(self, program: Program, rolls: Sequence[Roll], policy: ScanCheckpointPolicy | None) -> None:
        self.program = program
        self.rolls = {roll.wired.start: roll for roll in rolls}
        self.policy = policy
        self.values: list[Any] = [None] * len(program.avals)
        self.stacked: dict[tuple[int, ...], Any] = {}

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """The results of the program."""
        for value, array in zip(self.program.inputs, arrays, strict=True):
            self.values[value] = array
        at, operations = 0, self.program.operations
        while at < len(operations):
            roll = self.rolls.get(at)
            if roll is not None:
                self._scan(roll)
                at = roll.wired.stop
                continue
            operation = operations[at]
            results = bind(operation.equation, [self.read(atom) for atom in operation.inputs])
            for value, result in zip(operation.outputs, results, strict=True):
                self.values[value] = result
            at += 1
        return [self._result(atom) for atom in self.program.outputs]

    def read(self, atom: Atom) -> Any:
        if isinstance(atom, Number):
            return atom
        value = self.values[atom]
        if isinstance(value, Row):
            value = self.values[atom] = value.rows[value.at]
        return value

    def _result(self, atom: Atom) -> Any:
        value = self.read(atom)
        aval = atom.aval if isinstance(atom, Number) else self.program.avals[atom]
        if isinstance(value, Number):
            value = array_of(value)
        weak = getattr(aval, "weak_type", False)
        return weakly_typed(value) if weak else strong(value)

    def _scan(self, roll: Roll) -> None:
        body = Body(self, roll)
        init = [body.first(slot) for slot in body.slots]
        xs = [self._stack(column) for column in body.columns]
        count = roll.wired.count
        if self.policy is None:
            carry, ys = jax.lax.scan(body, init, xs, length=count)
        else:
            carry, ys = run_scan(body, init, xs, count, policy=self.policy)
        body.give(carry, ys)

    def _stack(self, column: list[Atom] | Slices) -> Any:
        if isinstance(column, Slices):
            return column.of(self.read(column.value))
        if all(isinstance(atom, Number) for atom in column) and isinstance(column[0].aval.dtype, np.dtype):  # type: ignore[union-attr]
            return np.stack([np.asarray(atom.value, atom.aval.dtype) for atom in column])  # type: ignore[union-attr]
        names = tuple(-1 if isinstance(atom, Number) else atom for atom in column)
        for given, reverse in ((names, False), (names[::-1], True)):
            if given in self.stacked:
                rows = self.stacked[given]
                return jax.lax.rev(rows, (0,)) if reverse else rows
        arrays = [array_of(self.read(atom)) for atom in column]
        shape = max((array.shape for array in arrays), key=len)
        return jnp.stack([strong(spread(array, shape)) for array in arrays])
