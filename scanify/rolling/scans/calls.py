"""Restore inlined `jit` calls where they affect gradients.

Calls do not change values. But the gradient of a call is computed separately: the contributions of its operations to
the cotangent of a value are summed inside the call, and then added to the others. Inlined, all are summed one after the
other, in a different order and with different rounding.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import jax.numpy as jnp

from scanify.rolling.find.program import Call, Operation, Program

# Operations whose derivative contributes once to each operand. (That of `tanh`, for one, contributes twice.)
_ONCE = frozenset(
    "add sub neg mul exp logistic dot_general conv_general_dilated reduce_sum reshape squeeze expand_dims transpose "
    "broadcast_in_dim convert_element_type slice concatenate rev pad copy select_n stop_gradient".split()
)


@dataclass(frozen=True, eq=False)
class Called:
    """A stretch of operations that form one call: its inputs, its outputs, and inner calls by their first operation."""

    start: int
    stop: int
    call: Call
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    inner: dict[int, Called] = field(default_factory=dict)


def called(program: Program, scans: Sequence[tuple[int, int]], rows: Collection[int]) -> dict[int, Called]:
    """Return the outermost calls to restore, by their first operation.

    `scans` are stretches in order that must stay whole: a call that overlaps one partially is not restored. `rows` are
    values that scans return stacked: a call that would have to unstack them is not restored either.
    """
    spans = {call: span for call, span in _spans(program.operations).items() if _stays(span, scans)}
    reads = _Reads(program) if spans else None
    found: dict[int, Called] = {}
    around: list[Called] = []
    for call, (start, stop) in sorted(spans.items(), key=lambda item: (item[1][0], -item[1][1], item[0].depth)):
        made = None if reads is None else reads.called(call, start, stop, rows)
        if made is None:
            continue
        while around and around[-1].stop <= start:
            around.pop()
        siblings = around[-1].inner if around else found
        siblings[start] = made
        around.append(made)
    return found


def whole_calls(program: Program, part: Sequence[Operation]) -> Mapping[Call, Call]:
    """Map the calls that are entirely in a part of a program to copies for the part by itself."""
    there, here = program.calls, Counter(_calls(part))
    alone: dict[Call, Call] = {}
    for call in sorted((call for call, count in here.items() if count == there[call]), key=lambda call: call.depth):
        alone[call] = Call(call.equation, None if call.within is None else alone.get(call.within))
    return alone


def _calls(operations: Sequence[Operation]) -> Iterator[Call]:
    """Yield the calls that contain each of these operations."""
    for operation in operations:
        call = operation.call
        while call is not None:
            yield call
            call = call.within


def _spans(operations: Sequence[Operation]) -> dict[Call, tuple[int, int]]:
    """Return the first operation of each call, and the index after its last one."""
    spans: dict[Call, tuple[int, int]] = {}
    for at, operation in enumerate(operations):
        for call in _calls((operation,)):
            spans[call] = spans.get(call, (at, at))[0], at + 1
    return spans


def _stays(span: tuple[int, int], scans: Sequence[tuple[int, int]]) -> bool:
    """True if each scan is entirely inside or outside of a call."""
    start, stop = span
    for first, last in scans[max(bisect.bisect_right(scans, (start, 0)) - 1, 0) :]:
        if first >= stop:
            break
        if last > start and not (start <= first and last <= stop):
            return False
    return True


class _Reads:
    """The reads of a program's values."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.made: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.count: Counter[int] = Counter()
        for at, operation in enumerate(program.operations):
            self.made.update(dict.fromkeys(operation.outputs, at))
            for atom in operation.inputs:
                if type(atom) is int:
                    self.last[atom] = at
                    self.count[atom] += 1
        for atom in program.outputs:
            if type(atom) is int:
                self.last[atom] = len(program.operations)
                self.count[atom] += 1

    def called(self, call: Call, start: int, stop: int, rows: Collection[int]) -> Called | None:
        """Return a stretch as a call; None if that makes no difference or would require unstacking its outputs."""
        operations = self.program.operations[start:stop]
        inside: Counter[int] = Counter()
        more: set[int] = set()
        for operation in operations:
            for atom in operation.inputs:
                if type(atom) is int and self.made.get(atom, -1) < start:
                    inside[atom] += 1
                    if operation.equation.primitive.name not in _ONCE:
                        more.add(atom)
        if not any(
            self.count[value] > count and (count > 1 or value in more) and self._is_moved(value)
            for value, count in inside.items()
        ):
            return None
        outputs = tuple(
            value for operation in operations for value in operation.outputs if self.last.get(value, -1) >= stop
        )
        if any(value in rows or value in self.program.views for value in outputs):
            return None
        return Called(start, stop, call, tuple(inside), outputs)

    def _is_moved(self, value: int) -> bool:
        """True if a value may have a gradient."""
        dtype = getattr(self.program.avals[value], "dtype", None)
        return dtype is not None and jnp.issubdtype(dtype, jnp.inexact)
