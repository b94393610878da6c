"""A hash-consed table of values: two expressions are the same value exactly if they have the same number.

This is global value numbering (Alpern, Wegman, Zadeck, "Detecting equality of variables in programs", POPL 1988; Click,
"Global code motion, global value numbering", PLDI 1995) over straight-line programs, such as a jaxpr with inlined
calls. A node is an operation, its parameters, its input nodes and its aval (shape and dtype; a weak type is not part of
a value). Nodes are numbered in order of creation, so an input always has a smaller number than its users.
"""

import hashlib
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from scanify.jaxpr.primitives import COMMUTE

Shape = tuple[int, ...]

# The size up to which constants can be folded; larger ones are only compared, by digest.
FOLDABLE_ELEMENTS = 1 << 20


class Place(NamedTuple):
    """The place of a computation: the equation, the equations of enclosing calls, and the scan iterations."""

    equation: Any
    calls: tuple[Any, ...] = ()
    iterations: tuple[int, ...] = ()


class Table:
    """Nodes, by number. `op` names a primitive of jax or one of ours: input, const, fill, bound, out, token, fresh."""

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
        # The number of zeros omitted so far from sums of derivatives, and whether none may be
        # (`scanify.jaxpr.rules.signs`).
        self.zeros_left_out = 0
        self.exact = False

    def once(self, find: Callable[..., int | None], *given: Hashable) -> int | None:
        """Return the result of `find` on values of the table, memoised.

        Otherwise shared operations would be visited on every path to them, of which there may be exponentially many.
        Results differ depending on whether zeros may be omitted from sums, and omitted zeros are counted for every
        caller.
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
        """Return the number of this expression, the same for every equal expression."""
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
        """Return a value equal to nothing, not even to itself computed again, so that it is never proved equal."""
        self.notes[why] = None
        self.fresh_count += 1
        return self.node("fresh", (why, self.fresh_count), inputs, shape, dtype)

    def const(self, value: np.ndarray[Any, Any]) -> int:
        """Return a constant, identified by dtype, shape and bytes: 0.0 and -0.0 differ, and a NaN equals itself."""
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
        """An array filled with one value; a scalar constant if the shape is ()."""
        scalar = np.asarray(scalar)
        return self.node("fill", scalar.tobytes(), (), shape, scalar.dtype)

    def zeros(self, shape: Shape, dtype: Any) -> int:
        """Zeros; for a dtype unknown to numpy (keys), only the empty array."""
        if isinstance(dtype, np.dtype):
            return self.fill(np.zeros((), dtype), shape)
        assert 0 in shape
        return self.node("empty", (), (), shape, dtype)

    def fill_value(self, number: int) -> np.ndarray[Any, Any]:
        """The scalar of a fill node, with shape ()."""
        raw = self.params[number]
        assert isinstance(raw, bytes)
        dtype = self.dtype[number]
        # float0, the dtype of cotangents of integers, has no bytes.
        return np.frombuffer(raw, dtype, 1).reshape(()) if dtype.itemsize else np.zeros((), dtype)

    def is_zero(self, number: int) -> bool:
        """True for zeros whose bits are all zero, which excludes -0.0."""
        if self.op[number] != "fill":
            return False
        raw = self.params[number]
        # float8_e8m0fnu has no zero: its bits are an exponent.
        return isinstance(raw, bytes) and not any(raw) and self.dtype[number].name != "float8_e8m0fnu"

    def value(self, number: int, at_most: int = 4096) -> np.ndarray[Any, Any] | None:
        """The values of a constant of up to `at_most` elements, or None for any other value."""
        if self.op[number] == "fill" and int(np.prod(self.shape[number])) <= at_most:
            return np.broadcast_to(self.fill_value(number), self.shape[number])
        array = self.arrays.get(number)
        return array if array is not None and array.size <= at_most else None
