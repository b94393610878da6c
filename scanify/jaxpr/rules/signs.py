"""Track sums of derivatives from which zeros were omitted, and where the sign of a zero shows that.

jax omits the tangent of constants, so the first layer of a loop that sums up a loss has the tangent of its own term; a
scan carries zeros from the start and adds the term to them. The two differ only in the sign of a zero (0.0 + -0.0 is
0.0). Tangents are linear in the tangents of the inputs, so the sign reaches no other value. That holds only for values
that depend on a tangent of an input: the primal values are in the same program, and 1 / (x + 0.0) is not 1 / x. The
same holds for cotangents of outputs and for derivatives within a program.

Nevertheless, a custom rule may divide by a derivative; in that case zeros are kept. So `Signs` tracks every value that
may contain a zero with another sign than its node, from equation to equation. Nodes alone are not enough: a slice of a
sum of concatenations may be a constant or an input.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scanify.jaxpr.primitives import LINEAR, REAL
from scanify.jaxpr.reading.calls import callee, children, opened
from scanify.jaxpr.reading.primitives import is_own

if TYPE_CHECKING:
    from scanify.jaxpr.number import Numbering


def without_zeros(numbering: "Numbering", name: str, inputs: list[int]) -> list[int] | None:
    """Return the tangent in a sum or difference with zeros; None for anything else."""
    table = numbering.table
    if name not in ("add", "sub") or len(inputs) != 2:
        return None
    first, second = inputs
    for kept, zeros in ((first, second), (second, first))[: 2 if name == "add" else 1]:
        if table.is_zero(zeros) and is_derivative(numbering, kept):
            table.zeros_left_out += 1
            return [kept]
    return None


class Signs:
    """The values of one program whose zeros may have another sign than in their nodes.

    `left_out` is true if zeros were omitted from a sum, `shown` if the sign of a zero shows nevertheless.
    """

    def __init__(self, numbering: "Numbering") -> None:
        self.numbering = numbering
        self.left_out = False
        self.shown = False
        self._loose: set[int] = set()
        self._looked: dict[tuple[int, tuple[bool, ...], bool], tuple[Any, bool]] = {}
        self._given = frozenset({*numbering.cotangents, *numbering.tangents})

    def is_loose(self, value: int) -> bool:
        table = self.numbering.table
        return value in self._loose or (table.op[value] == "input" and table.params[value] in self._given)

    def look(self, equation: Any, inputs: Sequence[int], *, inside: bool = False) -> None:
        """Check whether an equation may distinguish the signs of loose zeros, other than by the sign of a zero result.

        An equation with inner jaxprs is inlined or, with `inside`, kept as a whole together with them.
        """
        numbering = self.numbering
        if self.shown or not (self._loose or numbering.cotangents or numbering.tangents):
            return
        marked = tuple([self.is_loose(value) for value in inputs])
        if not any(marked):
            return
        key = id(equation), marked, inside  # an unrolled scan visits the same equation once per layer
        if key not in self._looked:
            shows = bool(children(equation)) is inside and _marks(equation, list(marked)) is None
            self._looked[key] = equation, shows
        self.shown = self._looked[key][1]

    def follow(self, sources: Iterable[int], outputs: Iterable[int], since: int, whole: Any = None) -> None:
        """Mark outputs as loose if a source is, or if zeros were omitted since the count was `since`.

        They may have been omitted within a jaxpr of an equation that is kept as a `whole`, in a loop.
        """
        left_out = self.numbering.table.zeros_left_out != since
        self.left_out = self.left_out or left_out
        if left_out and not self.shown and whole is not None and children(whole):
            self.shown = _marks(whole, [True] * len(whole.invars)) is None
        if left_out or any(map(self.is_loose, sources)):
            self._loose.update(value for value in outputs if self._has_sign(value))

    def _has_sign(self, value: int) -> bool:
        """True if a value may contain a signed zero. Constants without -0.0 do not, since no zero gains that sign."""
        table = self.numbering.table
        if table.op[value] == "fill":
            array = table.fill_value(value)
        elif value in table.arrays:
            array = table.arrays[value]
        else:
            return True
        if array.dtype.kind in "biuV":
            return False
        parts = (array.real, array.imag) if array.dtype.kind == "c" else (array,)
        return any(bool(np.any((part == 0) & np.signbit(part))) for part in parts)


def _shows(equation: Any, marked: Sequence[bool]) -> bool:
    """True if an operation without inner jaxprs shows the sign of a zero in the marked operands."""
    name = equation.primitive.name
    if not is_own(equation.primitive):
        return True
    places = [place for place, mark in enumerate(marked) if mark]
    if any(np.issubdtype(_dtype(equation.invars[place]), np.complexfloating) for place in places):
        return name not in LINEAR
    if name == "integer_pow":
        return bool(equation.params["y"] < 0)
    if name in ("div", "rem"):
        return 1 in places
    if name == "triangular_solve":
        return 0 in places
    return name not in LINEAR and name not in REAL


def _dtype(atom: Any) -> Any:
    dtype = getattr(atom.aval, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) else np.dtype(np.bool_)


def _marks(equation: Any, marked: Sequence[bool]) -> list[bool] | None:
    """Return which outputs depend on the marked operands; None if the sign of a zero in those shows."""
    count = len(equation.outvars)
    if not any(marked):
        return [False] * count
    inner = [opened(child)[0] for child in children(equation)]
    if not inner:
        return None if _shows(equation, marked) else [True] * count
    name = equation.primitive.name
    if not is_own(equation.primitive):
        return None
    if name == "cond":
        return None if marked[0] else _through(inner, [list(marked[1:])] * len(inner), count)
    if name == "scan":
        return _through_loop(inner[0], list(marked), equation.outvars)
    if name == "while":
        return _through_while(equation, list(marked))
    if name == "custom_linear_solve":
        return _through_solve(equation, list(marked))
    if name in ("reduce_sum", "cumsum", "scatter-add", "scatter_add"):
        return [True] * count
    fits = len(inner) == 1 and len(inner[0].invars) == len(marked) and len(inner[0].outvars) == count
    called = name == "shard_map" or callee(equation) is not None
    return _through(inner, [list(marked)], count) if fits and called else None


def _through(jaxprs: list[Any], given: list[list[bool]], count: int) -> list[bool] | None:
    found = [False] * count
    for jaxpr, marks in zip(jaxprs, given, strict=True):
        out = _run(jaxpr, marks)
        if out is None:
            return None
        found = [a or b for a, b in zip(found, out, strict=True)]
    return found


def _run(jaxpr: Any, marks: list[bool]) -> list[bool] | None:
    """Return the marks of the outputs of a jaxpr, given those of its inputs."""
    held = dict(zip(jaxpr.invars, marks, strict=True))

    def read(atom: Any) -> bool:
        return False if hasattr(atom, "val") else held.get(atom, False)

    for equation in jaxpr.eqns:
        out = _marks(equation, [read(atom) for atom in equation.invars])
        if out is None:
            return None
        held.update(zip(equation.outvars, out, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _through_loop(body: Any, marks: list[bool], outvars: Any) -> list[bool] | None:
    """Handle a scan: all operands are marked if any is, regardless of which are carried."""
    everything = [True] * len(marks) if any(marks) else marks
    out = _run(body, marks)
    if out is not None and any(out):
        out = _run(body, everything)
    return out if out is None else [any(out)] * len(outvars)


def _through_solve(equation: Any, marks: list[bool]) -> list[bool] | None:
    """Handle `lax.custom_linear_solve`, which runs its third function on its captured values and the other operands."""
    lengths = list(equation.params["const_lengths"])
    start = sum(lengths[:2])
    given = [*marks[start : start + lengths[2]], *marks[sum(lengths) :]]
    return _through([opened(equation.params["jaxprs"][2])[0]], [given], len(equation.outvars))


def _through_while(equation: Any, marks: list[bool]) -> list[bool] | None:
    parts = [opened(equation.params[name])[0] for name in ("cond_jaxpr", "body_jaxpr")]
    if any(_run(part, [True] * len(part.invars)) is None for part in parts):
        return None
    return [True] * len(equation.outvars)


def is_derivative(numbering: "Numbering", value: int) -> bool:
    """True if a value depends on a tangent of an input or a cotangent of an output."""
    table, known = numbering.table, numbering.moved
    waiting = [value]
    while waiting:
        node = waiting[-1]
        if node not in known and _is_given(numbering, node):
            known[node] = True
        unknown = [below for below in table.inputs[node] if below not in known] if node not in known else []
        if unknown:
            waiting += unknown
            continue
        known.setdefault(node, any(known[below] for below in table.inputs[node]))
        waiting.pop()
    return known[value]


def _is_given(numbering: "Numbering", node: int) -> bool:
    place = numbering.table.params[node]
    return numbering.table.op[node] == "input" and (place in numbering.tangents or place in numbering.cotangents)
