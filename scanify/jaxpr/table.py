"""One hash-consed table of values: two expressions are the same value exactly where they have the same number.

Global value numbering (Alpern, Wegman, Zadeck, "Detecting equality of variables in programs", POPL 1988; Click,
"Global code motion, global value numbering", PLDI 1995), over straight-line programs, which is what a jaxpr is once
its calls are inlined. A node is an operation, its parameters, its input nodes and its aval (shape and dtype; a weak
type is no part of a value). Nodes are numbered in order of creation, so an input always has a smaller number than
what reads it.
"""

import hashlib
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from scanify.jaxpr.primitives import COMMUTE

Shape = tuple[int, ...]

# What a node of a constant keeps to be computed with; beyond this a constant is only compared, by its digest.
FOLDABLE_ELEMENTS = 1 << 20


class Place(NamedTuple):
    """Where a program computes something: the equation, the equations of the calls around it, the scan iterations."""

    equation: Any
    calls: tuple[Any, ...] = ()
    iterations: tuple[int, ...] = ()


class Table:
    """Nodes, by number. `op` names a primitive of jax, or one of ours: input, const, fill, bound, out, token,
    fresh."""

    def __init__(self, alike: Any = None) -> None:
        self.alike = alike
        self.op: list[str] = []
        self.params: list[Hashable] = []
        self.inputs: list[tuple[int, ...]] = []
        self.shape: list[Shape] = []
        self.dtype: list[Any] = []
        self.made: list[Place | None] = []
        self.arrays: dict[int, np.ndarray[Any, Any]] = {}
        self.notes: dict[str, None] = {}
        self.place: Place | None = None
        self.kept_alive: list[Any] = []
        self._number: dict[Hashable, int] = {}
        self.fresh_count = 0
        self._answers: dict[Hashable, tuple[int | None, bool]] = {}
        # Zeros that were left out of sums of derivatives so far, and whether none may be (`scanify.jaxpr.rules.signs`).
        self.zeros_left_out = 0
        self.exact = False

    def once(self, find: Callable[..., int | None], *given: Hashable) -> int | None:
        """What `find` says of values of the table, found once: what operations share would be looked at again on every
        path to it, of which there may be as many as two to the number of operations.

        Where zeros may be left out of sums it is another answer than where not, and those that are left out on the way
        are counted for everyone who asks.
        """
        key = (find, given, self.exact)
        known = self._answers.get(key)
        if known is None:
            since = self.zeros_left_out
            answer = find(self, *given)
            self._answers[key] = answer, self.zeros_left_out != since
            return answer
        self.zeros_left_out += known[1]
        return known[0]

    def node(self, op: str, params: Hashable, inputs: Iterable[int], shape: Shape, dtype: Any) -> int:
        """The number of this expression, the same for every equal expression."""
        inputs = tuple(inputs)
        swapped = op in COMMUTE and len(inputs) == 2 and inputs[0] > inputs[1]
        key = (op, params, inputs[::-1] if swapped else inputs, shape, dtype)
        found = self._number.get(key)
        if found is not None:
            return found
        number = len(self.op)
        self._number[key] = number
        self.op.append(op)
        self.params.append(params)
        self.inputs.append(inputs)
        self.shape.append(shape)
        self.dtype.append(dtype)
        self.made.append(self.place)
        return number

    def fresh(self, why: str, inputs: Iterable[int], shape: Shape, dtype: Any) -> int:
        """A value equal to nothing, itself computed again included: what is not understood must never be proved."""
        self.notes[why] = None
        self.fresh_count += 1
        return self.node("fresh", (why, self.fresh_count), inputs, shape, dtype)

    def const(self, value: np.ndarray[Any, Any]) -> int:
        """A constant, by dtype, shape and bytes, so that 0.0 and -0.0 differ and a NaN equals itself."""
        value = np.asarray(value)
        if value.size == 0:
            return self.fill(np.zeros((), value.dtype), value.shape)
        raw = value.tobytes()
        width = value.dtype.itemsize
        if raw == raw[:width] * value.size:
            return self.fill(value.reshape(-1)[0], value.shape)
        digest = hashlib.sha256(raw).digest()
        number = self.node("const", digest, (), value.shape, value.dtype)
        if value.size <= FOLDABLE_ELEMENTS:
            self.arrays[number] = value
        return number

    def fill(self, scalar: Any, shape: Shape) -> int:
        """An array of one value; with shape () a scalar constant."""
        scalar = np.asarray(scalar)
        return self.node("fill", scalar.tobytes(), (), shape, scalar.dtype)

    def zeros(self, shape: Shape, dtype: Any) -> int:
        """Zeros; of a dtype that numpy does not know (keys) only the empty array, which has one value."""
        if isinstance(dtype, np.dtype):
            return self.fill(np.zeros((), dtype), shape)
        assert 0 in shape
        return self.node("empty", (), (), shape, dtype)

    def fill_value(self, number: int) -> np.ndarray[Any, Any]:
        """The scalar of a fill node, shape ()."""
        raw = self.params[number]
        assert isinstance(raw, bytes)
        dtype = self.dtype[number]
        # float0, the dtype of cotangents of integers, has no bytes.
        return np.frombuffer(raw, dtype, 1).reshape(()) if dtype.itemsize else np.zeros((), dtype)

    def is_zero(self, number: int) -> bool:
        """Whether it is zeros whose bits are all zero: -0.0 is not such a zero."""
        if self.op[number] != "fill":
            return False
        raw = self.params[number]
        # float8_e8m0fnu has no zero: its bits are an exponent.
        return isinstance(raw, bytes) and not any(raw) and self.dtype[number].name != "float8_e8m0fnu"

    def value(self, number: int, at_most: int = 4096) -> np.ndarray[Any, Any] | None:
        """The numbers of a constant of up to `at_most` elements, or None where it is no constant or larger."""
        if self.op[number] == "fill" and int(np.prod(self.shape[number])) <= at_most:
            return np.broadcast_to(self.fill_value(number), self.shape[number])
        array = self.arrays.get(number)
        return array if array is not None and array.size <= at_most else None
