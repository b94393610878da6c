"""Number the values of a jaxpr: every equation becomes nodes of a `Table`, with calls and layer scans inlined.

Equations are visited in program order. A call is replaced by its jaxpr (`calls`), a primitive with a rule by the result
of the rule (`RULES`), and everything else becomes a node of its own: the primitive, its parameters as keys from
`canonical`, and its operands. Nothing is executed and no user code runs.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from scanify.jaxpr.primitives import IDENTITIES, IRRELEVANT, STATEFUL
from scanify.jaxpr.reading.calls import callee, opened
from scanify.jaxpr.reading.canonical import Canonical, NotUnderstood
from scanify.jaxpr.reading.primitives import is_own
from scanify.jaxpr.reading.user_rules import Enclosing
from scanify.jaxpr.rules.control import CONTROL
from scanify.jaxpr.rules.index import INDEXED
from scanify.jaxpr.rules.move import MOVES
from scanify.jaxpr.rules.rowwise import ROWWISE
from scanify.jaxpr.rules.signs import Signs
from scanify.jaxpr.rules.value import VALUES
from scanify.jaxpr.rules.views import SLICE_THROUGH
from scanify.jaxpr.table import Place, Table

Rule = Callable[["Numbering", Any, list[int]], "list[int] | None"]

# Primitive name -> rule. A rule returns the nodes of the outputs, or None if it does not apply.
RULES: dict[str, Rule] = {**MOVES, **INDEXED, **ROWWISE, **VALUES, **CONTROL}

# Our own operations, whose parameters the rules read; a primitive without a rule must never take such a name.
RESERVED = {*SLICE_THROUGH, "input", "bound", "out", "token", "fresh", "key", "empty"}


class Numbering:
    """One program, numbered into a table that other programs share.

    `whole` holds the keys of scans that become one node each (`scan_key`); None means every scan. All other scans are
    unrolled. `cotangents` and `tangents` are the inputs that are cotangents of outputs, and tangents of other inputs.
    In values computed from those, the sign of a zero is not kept (`scanify.jaxpr.rules.combine.add_any`), as long as it
    does not show (`signs`). With `exact` it is kept.
    """

    def __init__(
        self,
        table: Table,
        whole: frozenset[Hashable] | None = frozenset(),
        *,
        cotangents: range = range(0),
        tangents: range = range(0),
        exact: bool = False,
    ) -> None:
        self.table = table
        self.whole = whole
        self.cotangents = cotangents
        self.tangents = tangents
        self.exact = exact
        self.moved: dict[int, bool] = {}
        self.signs = Signs(self)
        self.token = table.node("token", "start", (), (), None)
        self.calls: tuple[Any, ...] = ()
        self.iterations: tuple[int, ...] = ()
        self.places: dict[int, Place] = {}
        self.costs: dict[int, int] = {}
        self.unrolled = 0
        self.scans: set[Hashable] = set()
        self.enclosing = Enclosing()
        self._canonical = Canonical(self.jaxpr_key, table.kept_alive, table.alike)
        self._keys: dict[tuple[int, tuple[bool, bool]], tuple[Hashable, bool]] = {}
        self._parameters: dict[tuple[int, bool], tuple[Any, Hashable, bool]] = {}

    def run(self, jaxpr: Any, consts: Sequence[Any], inputs: Sequence[int]) -> list[int]:
        """Return the output nodes of an open jaxpr, given the values of its constants and its input nodes."""
        values = dict(zip(jaxpr.invars, inputs, strict=True))
        for variable, const in zip(jaxpr.constvars, consts, strict=True):
            values[variable] = self.constant(const, variable.aval)
        table = self.table
        table.exact = self.exact

        def read(atom: Any) -> int:
            return self.constant(atom.val, atom.aval) if hasattr(atom, "val") else values[atom]

        for equation in jaxpr.eqns:
            place = Place(equation, self.calls, self.iterations)
            table.place = place
            outputs = self.equation(equation, [read(atom) for atom in equation.invars])
            for variable, output in zip(equation.outvars, outputs, strict=True):
                values[variable] = output
                self.places.setdefault(output, place)
        return [read(atom) for atom in jaxpr.outvars]

    def equation(self, equation: Any, inputs: list[int]) -> list[int]:
        """Return the nodes of the outputs of one equation."""
        with self.enclosing(equation):
            return self._outputs(equation, inputs)

    def _outputs(self, equation: Any, inputs: list[int]) -> list[int]:
        name = equation.primitive.name
        if is_own(equation.primitive) and name in IDENTITIES and len(inputs) == len(equation.outvars):
            return inputs
        called = callee(equation) if is_own(equation.primitive) else None
        if called is not None:
            around = self.calls
            self.calls = (*around, equation)
            try:
                return self.run(*called, inputs)
            finally:
                self.calls = around
        self.signs.look(equation, inputs)
        since = self.table.zeros_left_out
        outputs = self._by_rule(equation, inputs)
        if name not in CONTROL:  # the rules for control flow follow their inner jaxprs themselves
            self.signs.follow(inputs, outputs, since, equation)
        return outputs

    def _by_rule(self, equation: Any, inputs: list[int]) -> list[int]:
        name = equation.primitive.name
        rule = RULES.get(name)
        if rule is not None and is_own(equation.primitive):
            try:
                answer = rule(self, equation, inputs)
            except NotUnderstood as why:
                return self.unknown(equation, inputs, f"{name}: {why}")
            if answer is not None:
                return answer
        return self.generic(equation, inputs)

    def generic(self, equation: Any, inputs: list[int]) -> list[int]:
        """A primitive without a rule: equal to itself for equal operands and equal parameters.

        A primitive that does not belong to jax is identified by its id, since its name is not reserved.
        """
        if equation.primitive.name in STATEFUL:
            return self.unknown(equation, inputs, f"{equation.primitive.name}: gives another value every time")
        try:
            key = self.parameters(equation)
        except NotUnderstood as why:
            return self.unknown(equation, inputs, f"{equation.primitive.name}: {why}")
        return self.apply(equation, key, inputs)

    def parameters(self, equation: Any) -> Hashable:
        """Return the key of an equation's parameters, cached since an unrolled scan visits it once per layer.

        Raises:
            NotUnderstood: no rule handles the type of a parameter.
        """
        how = id(equation), bool(self.cotangents) and self.enclosing.in_written_rule(around=True)
        known = self._parameters.get(how)
        if known is not None:
            self.table.zeros_left_out += known[2]
            return known[1]
        made, since = self.table.fresh_count, self.table.zeros_left_out
        params = {name: value for name, value in equation.params.items() if name not in IRRELEVANT}
        if equation.primitive.name.startswith(("random", "threefry", "rng")):
            # The layout of threefry's counters: the same operands give other bits, although no parameter differs.
            params["threefry_partitionable"] = getattr(equation.ctx, "threefry_partitionable", None)
        key: tuple[Hashable, ...] = tuple((name, self._canonical.key(params[name])) for name in sorted(params))
        if not is_own(equation.primitive):
            self.table.kept_alive.append(equation.primitive)
            key = (("primitive", id(equation.primitive)), *key)
        if self.table.fresh_count == made:  # unknown parameters get a new key each time
            # The equation is stored too, so that its id is not reused.
            self._parameters[how] = (equation, key, self.table.zeros_left_out > since)
        return key

    def apply(self, equation: Any, key: Hashable, inputs: Sequence[int]) -> list[int]:
        """Return the nodes of a primitive with a key for its parameters; effects are ordered by a token."""
        table, name = self.table, equation.primitive.name
        if name in RESERVED or not is_own(equation.primitive):
            name += "*"  # not the operation that the rules know by that name
        self.signs.look(equation, inputs, inside=True)
        ordered = bool(equation.effects) or any("Ref" in type(atom.aval).__name__ for atom in equation.invars)
        if ordered:
            inputs = (*inputs, self.token)
        shapes = [_shape_dtype(variable.aval) for variable in equation.outvars]
        if len(shapes) == 1 and not ordered:
            return [table.node(name, key, inputs, *shapes[0])]
        whole = table.node(name, (key, tuple(shapes)), inputs, (), None)
        if ordered:
            self.token = table.node("token", "after", (whole,), (), None)
            self.places.setdefault(self.token, Place(equation, self.calls, self.iterations))
        return [table.node("out", index, (whole,), *aval) for index, aval in enumerate(shapes)]

    def unknown(self, equation: Any, inputs: Sequence[int], why: str) -> list[int]:
        """Return outputs that are equal to nothing, with an effect that is equal to nothing."""
        if equation.effects:
            self.token = self.table.fresh(why, (self.token,), (), None)
        return [self.table.fresh(why, inputs, *_shape_dtype(variable.aval)) for variable in equation.outvars]

    def constant(self, value: Any, aval: Any) -> int:
        """Return the node of a literal or of an array that the trace closed over."""
        shape, dtype = _shape_dtype(aval)
        if "Ref" in type(aval).__name__:
            return self.table.fresh("a mutable array that the trace closed over", (), shape, dtype)
        if isinstance(dtype, np.dtype):
            try:
                return self.table.const(np.asarray(value, dtype).reshape(shape))
            except (TypeError, ValueError, OverflowError):
                return self.table.fresh(f"a constant of type {type(value).__name__}", (), shape, dtype)
        data = getattr(value, "_base_array", None)
        if data is None:
            return self.table.fresh(f"a constant of dtype {dtype}", (), shape, dtype)
        return self.table.node("key", (), (self.table.const(np.asarray(data)),), shape, dtype)

    def jaxpr_key(self, jaxpr: Any) -> Hashable:
        """Return a key for the function that a jaxpr computes: the nodes of its outputs for placeholder inputs.

        The jaxpr is closed, so its nodes contain only placeholders of this scope: two keys are equal exactly if the
        outputs are the same expressions of the inputs. Effects inside are ordered from a separate token.
        """
        inner, consts = opened(jaxpr)
        how = self.whole is None, bool(self.cotangents) and self.enclosing.in_written_rule()
        cached = self._keys.get((id(inner), how))
        if cached is not None:
            self.table.zeros_left_out += cached[1]
            return cached[0]
        if len(inner.constvars) != len(consts):
            raise NotUnderstood("a jaxpr without its constants")
        table = self.table
        made, since = table.fresh_count, table.zeros_left_out
        avals = [_shape_dtype(variable.aval) for variable in inner.invars]
        bound = [table.node("bound", index, (), *aval) for index, aval in enumerate(avals)]
        token, place = self.token, table.place
        self.token = table.node("token", "bound", (), (), None)
        try:
            outputs = self.run(inner, consts, bound)
            key = (tuple(avals), tuple(outputs), self.token)
        finally:
            self.token, table.place = token, place
        if table.fresh_count == made:
            table.kept_alive.append(inner)  # keeps its id from being reused
            self._keys[id(inner), how] = key, table.zeros_left_out > since
        return key


def _shape_dtype(aval: Any) -> tuple[tuple[int, ...], Any]:
    shape = getattr(aval, "shape", ())
    return tuple(shape), getattr(aval, "dtype", None) if hasattr(aval, "shape") else type(aval)
