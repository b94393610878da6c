"""What depends on a cotangent of an output or a tangent of an input, and where the sign of a zero among it shows.

Sums of derivatives may leave out zeros, which changes the sign of a zero at most. That is no difference as long as
nothing computed from it tells 0.0 from -0.0; the table of primitives says which operations do not.
"""

from collections.abc import Sequence

from scanify.jaxpr.primitives import CALLS, IDENTITIES, LINEAR, REAL
from scanify.replay.read import Equation, Jaxpr, Tables
from scanify.replay.terms import Term
from scanify.replay.values import Values


class Marks:
    """The marks of one program."""

    def __init__(self, values: Values, tables: Tables, given: frozenset[int]) -> None:
        self.values, self.tables, self.given = values, tables, given
        self._atoms: dict[int, bool] = {}
        self._loose: set[int] = set()
        self._known: dict[int, bool] = {}

    def loosen(self, number: int) -> None:
        """From now on the zeros of an array have no sign."""
        self._loose.add(number)
        self._known[number] = True

    def __call__(self, number: int) -> bool:
        """Whether an array depends on what is given."""
        waiting = [number]
        while waiting:
            at = waiting[-1]
            if at in self._known:
                waiting.pop()
                continue
            below = [each for _, term in self.values[at].pieces for each in self._below(term)]
            unknown = [each for each in below if each not in self._known]
            if unknown:
                waiting += unknown
                continue
            inputs = any(self._is_given(term) for _, term in self.values[at].pieces)
            self._known[at] = inputs or any(self._known[each] for each in below)
            waiting.pop()
        return self._known[number]

    def _below(self, term: Term) -> list[int]:
        if term[0] == "at":
            return list(self.values.atoms[term[1]].operands)
        if term[0] == "is":
            return []
        if term[0] == "cast":
            return self._below(term[2])
        found = [each for inner in term[-1] for each in self._below(inner)]
        return [*found, term[1]] if term[0] == "choose" else found

    def _is_given(self, term: Term) -> bool:
        if term[0] == "at":
            atom = self.values.atoms[term[1]]
            return atom.op == "input" and atom.output in self.given
        if term[0] == "is":
            return False
        return self._is_given(term[2]) if term[0] == "cast" else any(map(self._is_given, term[-1]))

    def shows(self, equation: Equation, operands: Sequence[int]) -> bool:
        """Whether an equation may tell the signs of zeros apart among what is marked."""
        marked = [self(each) for each in operands]
        dtypes = [self.values[each].dtype for each in operands]
        return any(marked) and self._after(equation, marked, dtypes) is None

    def _after(self, equation: Equation, marked: list[bool], dtypes: list[str]) -> list[bool] | None:
        """Which outputs are marked; None where the sign shows."""
        count = len(equation.outputs)
        if not any(marked):
            return [False] * count
        name, inner = equation.name, [self.tables.jaxprs[each] for each in equation.inner]
        if not inner:
            return None if _tells(equation, marked, dtypes) else [True] * count
        if name in ("reduce_sum", "cumsum", "scatter-add", "scatter_add"):
            return [True] * count
        if name in CALLS and "call" in equation.params:
            return self._through(inner[0], marked)
        if name == "cond":
            found = None if marked[0] else [self._through(each, marked[1:]) for each in inner]
        elif name == "scan":
            found = [self._through(inner[0], [True] * len(marked))]
        elif name == "while":
            found = [self._through(each, [True] * len(each.inputs)) for each in inner]
        else:
            found = None
        return None if found is None or None in found else [True] * count

    def _through(self, jaxpr: Jaxpr, marked: list[bool]) -> list[bool] | None:
        if len(marked) != len(jaxpr.inputs):
            return None
        held, dtypes = list(marked), [aval.dtype for aval in jaxpr.inputs]
        constants = self.tables.constants
        for equation in jaxpr.equations:
            marks = [held[k] if k >= 0 else False for k in equation.operands]
            kinds = [dtypes[k] if k >= 0 else constants[-1 - k].aval.dtype for k in equation.operands]
            after = self._after(equation, marks, kinds)
            if after is None:
                return None
            held += after
            dtypes += [aval.dtype for aval in equation.outputs]
        return [held[k] if k >= 0 else False for k in jaxpr.outputs]


def _tells(equation: Equation, marked: list[bool], dtypes: list[str]) -> bool:
    name = equation.name
    if any(mark and "complex" in dtype for mark, dtype in zip(marked, dtypes, strict=True)):
        return name not in LINEAR
    if name == "integer_pow":
        return not (isinstance(equation.params.get("y"), int) and equation.params["y"] >= 0)
    if name in ("div", "rem"):
        return marked[1]
    if name == "triangular_solve":
        return marked[0]
    return name not in LINEAR and name not in REAL and name not in IDENTITIES
