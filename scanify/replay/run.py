"""Evaluate a program of a certificate: express each of its outputs as an array of `Values`.

Calls are inlined, scans are unrolled or kept as recorded in the steps, primitives with a rule are evaluated, and every
other operation is an atom.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from scanify.jaxpr.primitives import CALLS, COMMUTE, IDENTITIES, STATEFUL
from scanify.replay import moves, pointwise
from scanify.replay.arithmetic import ARITHMETIC
from scanify.replay.digests import Digests
from scanify.replay.form import Rejected
from scanify.replay.marks import Marks
from scanify.replay.movement import MOVEMENT
from scanify.replay.read import Aval, Equation, Tables, jaxprs_in
from scanify.replay.rules import Rule, Run
from scanify.replay.values import Atom, Values

RULES: dict[str, Rule] = {**MOVEMENT, **ARITHMETIC}

_WINDOWS = {"indices_are_sorted", "mode", "unique_indices"}
# The known parameters of primitives with a rule. With any other parameter, the primitive is not evaluated.
READ: dict[str, set[str]] = {
    "reshape": {"dimensions"},
    "squeeze": {"dimensions"},
    "expand_dims": {"dimensions"},
    "broadcast_in_dim": {"broadcast_dimensions"},
    "transpose": {"permutation"},
    "slice": {"start_indices", "limit_indices", "strides"},
    "concatenate": {"dimension"},
    "stack": {"axis"},
    "unstack": {"axis"},
    "split": {"axis", "sizes"},
    "rev": {"dimensions"},
    "pad": {"padding_config"},
    "tile": {"reps"},
    "dynamic_slice": {"slice_sizes"},
    "dynamic_update_slice": set(),
    "gather": {"dimension_numbers", "slice_sizes", *_WINDOWS, "fill_value"},
    "scatter": {"dimension_numbers", "update_jaxpr", "update_consts", *_WINDOWS},
    "scatter-add": {"dimension_numbers", "update_jaxpr", "update_consts", *_WINDOWS},
    "reduce_precision": {"exponent_bits", "mantissa_bits"},
    "reduce_sum": {"axes"},
    "iota": {"dimension"},
    "dot_general": {"dimension_numbers", "precision"},
}

# The position of an equation: the number of its jaxpr, and its index in it.
Where = tuple[int, int]


class Program:
    """The evaluation of one program.

    `derived` is the number of inputs at the end that are cotangents of outputs, and the number of tangents of other
    inputs. With `signs`, no zero may be omitted from a sum of derivatives. `scans` tells whether to unroll each scan.
    `steps` are the rules used per equation, and `scanned` identifies the bodies of scans.
    """

    def __init__(
        self,
        tables: Tables,
        values: Values,
        digests: Digests,
        number: int,
        derived: tuple[int, int],
        signs: bool,
        scans: Mapping[Where, str],
    ) -> None:
        count = len(tables.jaxprs[number].inputs)
        given = frozenset(range(count - max(derived), count))
        self.tables, self.values, self.digests, self.scans = tables, values, digests, scans
        self.steps: dict[Where, set[str]] = {}
        self.scanned: dict[Where, str] = {}
        self.shown = False
        self._keys: dict[int, str] = {}
        self._without: set[int] = set()
        self._constants: dict[int, int] = {}
        self._fresh = 0
        self._run = Run(values, digests, Marks(values, tables, given), derived[0] > 0, derived[1] > 0, signs, _NOTHING)
        self.token = self._atom("start", "", ())
        inputs = [
            values.atom(Atom("input", "", (), at, aval.shape, aval.dtype))
            for at, aval in enumerate(tables.jaxprs[number].inputs)
        ]
        self.outputs = self.run(number, inputs)

    @property
    def left_out(self) -> bool:
        """True if zeros were omitted from a sum of derivatives."""
        return self._run.left_out > 0

    def run(self, number: int, inputs: Sequence[int]) -> list[int]:
        """Return the outputs of a jaxpr for these inputs."""
        jaxpr = self.tables.jaxprs[number]
        self._fits(inputs, jaxpr.inputs, f"the inputs of jaxpr {number}")
        held = list(inputs)
        for at, equation in enumerate(jaxpr.equations):
            operands = [held[each] if each >= 0 else self._constant(each) for each in equation.operands]
            outputs = self._equation(equation, operands, (number, at))
            self._fits(outputs, equation.outputs, f"what equation {at} of jaxpr {number} ({equation.name}) gives")
            held += outputs
        return [held[each] if each >= 0 else self._constant(each) for each in jaxpr.outputs]

    def _fits(self, numbers: Sequence[int], avals: Sequence[Aval], what: str) -> None:
        found = [(self.values[each].dtype, self.values[each].shape) for each in numbers]
        if found != [(aval.dtype, aval.shape) for aval in avals]:
            raise Rejected(f"{what} has another shape or dtype than is written")

    def _equation(self, equation: Equation, operands: list[int], where: Where) -> list[int]:
        name, run = equation.name, self._run
        if name in IDENTITIES and not (equation.params or equation.effects) and len(operands) == len(equation.outputs):
            return self._used(where, "same", operands)
        if name in CALLS and set(equation.params) == {"call"}:
            return self.run(equation.inner[0], operands)
        if not equation.inner:
            self._look(equation, operands)
        if name == "scan" and "body" in equation.params:
            return self._scan(equation, operands, where)
        if name == "cond" and "branches" in equation.params:
            return self._cond(equation, operands, where)
        rule = RULES.get(name)
        if rule is not None and not equation.effects and set(equation.params) <= READ.get(name, set()):
            before, run.equation, run.operands = run.equation, equation, operands
            try:
                found = rule(run, operands)
            except (KeyError, IndexError, TypeError, ValueError, StopIteration) as error:
                raise Rejected(f"{name} has parameters that are not known: {type(error).__name__} {error}") from None
            operands, run.equation = run.operands, before
            if found is not None:
                return self._used(where, "compute" if name in ARITHMETIC else "move", found)
        return self._generic(equation, operands)

    def _used(self, where: Where, rule: str, outputs: list[int]) -> list[int]:
        self.steps.setdefault(where, set()).add(rule)
        return outputs

    def _look(self, equation: Equation, operands: Sequence[int]) -> None:
        run = self._run
        if (run.cotangents or run.tangents or run.left_out) and not self.shown:
            self.shown = run.marks.shows(equation, operands)

    def _generic(self, equation: Equation, operands: Sequence[int]) -> list[int]:
        """Treat an operation as an opaque function of its operands and parameters."""
        if equation.name in STATEFUL:
            self._fresh += 1
            key = f"{equation.key} {self._fresh} {id(self)}"
        else:
            key = self._key(equation)
        if equation.inner:
            self._look(equation, operands)
        if equation.name in COMMUTE and len(operands) == 2:
            operands = sorted(operands)
        given = (*operands, self.token) if equation.effects else tuple(operands)
        op = f"lax {equation.name}"
        if equation.effects:
            self.token = self._atom(op, f"after {key}", given)
        found = [
            self.values.atom(Atom(op, key, given, at, aval.shape, aval.dtype))
            for at, aval in enumerate(equation.outputs)
        ]
        if not self._without.isdisjoint(equation.inner):
            self.shown = self.shown or self._run.marks.shows_inside(equation, operands)
            for number in found:
                self._run.marks.loosen(number)
        return found

    def _key(self, equation: Equation) -> str:
        """Return the parameters as text, with jaxprs replaced by digests of their results."""
        inner = equation.inner
        return " ".join([equation.key if not inner else _blind(equation.params), *map(self._body, inner)])

    def _body(self, number: int) -> str:
        """Return the digest of a jaxpr as a function of its inputs."""
        if number not in self._keys:
            token, self.token = self.token, self._atom("bound", "", ())
            avals = self.tables.jaxprs[number].inputs
            bound = [self.values.atom(Atom("bound", "", (), at, a.shape, a.dtype)) for at, a in enumerate(avals)]
            count = self._run.left_out
            outputs = [*self.run(number, bound), self.token]
            self.token = token
            if self._run.left_out > count:
                self._without.add(number)
            self._keys[number] = self.digests.of(outputs, [f"{a.dtype}{list(a.shape)}" for a in avals])
        elif number in self._without:
            self._run.left_out += 1
        return self._keys[number]

    def _atom(self, op: str, params: str, operands: tuple[int, ...]) -> int:
        return self.values.atom(Atom(op, params, operands, -1, (), "token"))

    def _constant(self, operand: int) -> int:
        if operand not in self._constants:
            constant = self.tables.constants[-1 - operand]
            aval, held = constant.aval, constant.held
            if constant.every is not None:
                number = self.values.fill(constant.every, held.shape, held.dtype)
            elif constant.data is None:
                number = self.values.atom(Atom("large", constant.digest, (), 0, held.shape, held.dtype))
            else:
                number = self.values.const(constant.data, held.dtype)
            if aval != held:
                number = self.values.atom(Atom("key", "", (number,), 0, aval.shape, aval.dtype))
            self._constants[operand] = number
        return self._constants[operand]

    def _scan(self, equation: Equation, operands: list[int], where: Where) -> list[int]:
        """Unroll a scan over the rows of its xs, or keep it as an opaque operation."""
        how, params, values = self.scans.get(where), equation.params, self.values
        if how != "unroll":
            self.scanned[where] = self._key(equation)
            return self._used(where, "whole", self._generic(equation, operands))
        length, (body,) = params["length"], jaxprs_in(params["body"])
        consts, carry = operands[: params["consts"]], operands[params["consts"] :][: params["carry"]]
        xs = operands[params["consts"] + params["carry"] :]
        rows = [values[each].shape[:1] for each in xs]
        rows += [aval.shape[:1] for aval in equation.outputs[params["carry"] :]]
        if min(length, params["consts"], params["carry"]) < 0 or any(each != (length,) for each in rows):
            raise Rejected(f"a loop over {length} rows has arrays of other lengths")
        collected: dict[int, list[int]] = {}
        for index in range(length)[::-1] if params["reverse"] else range(length):
            outputs = self.run(body, [*consts, *carry, *(moves.row(values, each, index) for each in xs)])
            carry, collected[index] = outputs[: len(carry)], outputs[len(carry) :]
        ys = []
        for place, aval in enumerate(equation.outputs[len(carry) :]):
            found = [collected[index][place] for index in range(length)]
            ys.append(moves.stack(values, found, 0) if found else values.make(aval.shape, aval.dtype, []))
        return self._used(where, "unroll", [*carry, *ys])

    def _cond(self, equation: Equation, operands: list[int], where: Where) -> list[int]:
        """Evaluate the known branch, or choose elementwise between the results of all branches."""
        branches, (index, *given) = jaxprs_in(equation.params["branches"]), operands
        index = self._unclamped(index, len(branches) - 1)
        known = self.values.constant(index)
        if known is not None and 0 <= int(known) < len(branches):
            return self._used(where, "branch", self.run(branches[int(known)], given))
        before, results, tokens = self.token, [], []
        for branch in branches:
            self.token = before
            results.append(self.run(branch, given))
            tokens.append(self.token)
        self.token = pointwise.choose(self.values, index, tokens)
        found = [pointwise.choose(self.values, index, each) for each in zip(*results, strict=True)]
        return self._used(where, "choose", found)

    def _unclamped(self, index: int, last: int) -> int:
        """Return the boolean index of a cond if it was only clamped to the range of the branches."""
        (_, term), *more = self.values[index].pieces
        atom = self.values.atoms[term[1]] if term[0] == "at" and not more else None
        if atom is None or atom.op != "lax clamp":
            return index
        low, inner, high = atom.operands
        ends = [None if each is None else int(each) for each in map(self.values.constant, (low, high))]
        cast = self.values[inner].pieces[0][1][:2] == ("cast", "bool")
        return inner if cast and last >= 1 and ends == [0, last] else index


def _blind(spelled: Any) -> str:
    """Return parameters as text, without the numbers of jaxprs."""

    def without(each: Any) -> Any:
        if isinstance(each, dict):
            return "jaxpr" if set(each) == {"jaxpr"} else {key: without(each[key]) for key in each}
        return [without(one) for one in each] if isinstance(each, list) else each

    return json.dumps(without(spelled), sort_keys=True)


_NOTHING = Equation("", {}, "", (), (), False)
