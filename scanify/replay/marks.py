"""Track dependence on cotangents of outputs or tangents of inputs, and whether signs of zeros among them matter.

Sums of derivatives may omit zeros, which changes at most the sign of a zero. That is no difference as long as no value
computed from it distinguishes 0.0 from -0.0; the table of primitives lists the operations that do not.
"""

from collections.abc import Sequence

from scanify.jaxpr.primitives import CALLS, IDENTITIES, LINEAR, REAL
from scanify.replay.read import Equation, Jaxpr, Tables
from scanify.replay.terms import Term, indices, leaves
from scanify.replay.values import Values, zero


class Marks:
    """The marks of one program: arrays that depend on the inputs `given`, and arrays whose zeros have no sign.

    The latter include the former, and values to which a program that differentiates something itself has added zeros.
    """

    def __init__(self, values: Values, tables: Tables, given: frozenset[int]) -> None:
        self.values, self.tables, self.given = values, tables, given
        self._loose: set[int] = set()
        self._known: tuple[dict[int, bool], dict[int, bool]] = ({}, {})

    def loosen(self, number: int) -> bool:
        """Mark the zeros of an array as unsigned from now on; false if a nonzero constant makes that impossible."""
        terms = [term for _, term in self.values[number].pieces]
        if not all(leaves(term) or zero(term, self.values[number].dtype) for term in terms):
            return False
        self._loose.update(leaf[1] for term in terms for leaf in leaves(term))
        self._known[True].clear()
        return True

    def __call__(self, number: int, *, loose: bool = False) -> bool:
        """True if an array depends on the given inputs or, with `loose`, may have zeros without a sign."""
        known, waiting = self._known[loose], [number]
        while waiting:
            at = waiting[-1]
            below = [] if at in known else [each for _, term in self.values[at].pieces for each in self._below(term)]
            unknown = [each for each in below if each not in known]
            if unknown:
                waiting += unknown
                continue
            if at not in known:
                own = any(self._is_marked(term, loose) for _, term in self.values[at].pieces)
                known[at] = own or any(known[each] for each in below)
            waiting.pop()
        return known[number]

    def whole(self, number: int) -> bool:
        """True if every element depends on the given inputs or is zero."""
        value = self.values[number]
        return all(self.term(term) or zero(term, value.dtype) for _, term in value.pieces)

    def term(self, term: Term) -> bool:
        """True if a term depends on the given inputs."""
        return self._is_marked(term, False) or any(self(each) for each in self._below(term))

    def _below(self, term: Term) -> list[int]:
        found = [each for leaf in leaves(term) for each in self.values.atoms[leaf[1]].operands]
        return [*found, *indices(term)]

    def _is_marked(self, term: Term, loose: bool) -> bool:
        atoms = [(leaf[1], self.values.atoms[leaf[1]]) for leaf in leaves(term)]
        given = any(atom.op == "input" and atom.output in self.given for _, atom in atoms)
        return given or (loose and any(number in self._loose for number, _ in atoms))

    def shows(self, equation: Equation, operands: Sequence[int]) -> bool:
        """True if an equation may distinguish the signs of zeros in marked operands."""
        marked = [self(each, loose=True) for each in operands]
        dtypes = [self.values[each].dtype for each in operands]
        return any(marked) and self._after(equation, marked, dtypes) is None

    def shows_inside(self, equation: Equation, operands: Sequence[int]) -> bool:
        """Like `shows`, for zeros omitted within a jaxpr of the equation, with any operands."""
        dtypes = [self.values[each].dtype for each in operands]
        return self._after(equation, [True] * len(operands), dtypes) is None

    def _after(self, equation: Equation, marked: list[bool], dtypes: list[str]) -> list[bool] | None:
        """Return which outputs are marked; None if the sign of a zero may show."""
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
