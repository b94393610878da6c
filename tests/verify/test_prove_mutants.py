"""The checks of the prover are needed: with a rule made wrong, a pair that differs is PROVED.

Each mutant breaks one rule and names the pair of `test_prove_pairs` that would then pass for equal, so those tests can
fail, each for its own reason.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from scanify.jaxpr import number, table
from scanify.jaxpr.reading import canonical
from scanify.jaxpr.rules import control as rules_control
from scanify.jaxpr.rules import index as rules_index
from scanify.jaxpr.rules import move as rules_move
from scanify.verify.proof.prove import prove
from tests.verify.test_prove_pairs import PAIRS

Patch = Callable[[pytest.MonkeyPatch], None]


def rule(name: str, mutant: Any) -> Patch:
    return lambda patch: patch.setitem(number.RULES, name, mutant)


def attribute(owner: Any, name: str, mutant: Any) -> Patch:
    return lambda patch: patch.setattr(owner, name, mutant)


def with_params(equation: Any, **params: Any) -> Any:
    return SimpleNamespace(
        primitive=equation.primitive,
        params={**equation.params, **params},
        outvars=equation.outvars,
        invars=equation.invars,
        effects=equation.effects,
    )


def _scatter(numbering: Any, equation: Any, inputs: list[int]) -> Any:
    return rules_index._scatter(numbering, with_params(equation, update_jaxpr=None), inputs)


def _added(numbering: Any, equation: Any, inputs: list[int]) -> Any:
    numbering.cotangents, numbering.exact = range(1), False
    numbering.signs.look = lambda *_, **__: None
    return rules_index._scatter(numbering, equation, inputs)


def _without_strides(numbering: Any, equation: Any, inputs: list[int]) -> Any:
    if equation.params["strides"] is None:
        return rules_move._slice(numbering, equation, inputs)
    return [numbering.table.node("slice", (), inputs, tuple(equation.outvars[0].aval.shape), np.dtype("float32"))]


def _from_the_start(numbering: Any, equation: Any, inputs: list[int]) -> Any:
    zero = numbering.table.zeros((), np.dtype("int32"))
    return rules_index._dynamic_slice(numbering, equation, [inputs[0], *(zero for _ in inputs[1:])])


def _ends_alike(numbering: Any, equation: Any, inputs: list[int]) -> Any:
    config = [(*sorted((low, high)), between) for low, high, between in equation.params["padding_config"]]
    return rules_move._pad(numbering, with_params(equation, padding_config=config), inputs)


def _forwards(params: Any) -> Any:
    scan = READ(params)
    return scan and rules_control.Scan(scan.jaxpr, scan.length, False, scan.consts, scan.carry)


READ = rules_control.read_scan


def _effects_forgotten(self: Any, equation: Any, key: Any, inputs: Any) -> Any:
    token, found = self.token, APPLY(self, equation, key, inputs)
    self.token = token
    return found


APPLY = number.Numbering.apply
FILL = table.Table.fill


def _outputs_alike(self: Any, op: str, params: Any, *rest: Any) -> int:
    return NODE(self, op, "" if op == "while" else params, *rest)


NODE = table.Table.node

MUTANTS: dict[str, tuple[Patch, str]] = {
    "any scatter sets": (rule("scatter", _scatter), "functions applied to an element"),
    "adding to zeros puts": (rule("scatter-add", _added), "a minus zero added to zeros"),
    "zeros have no sign": (
        attribute(
            table.Table, "fill", lambda self, value, shape: FILL(self, np.add(value, 0).astype(value.dtype), shape)
        ),
        "a zero multiplied",
    ),
    "draws are functions": (attribute(number, "STATEFUL", set()), "two draws of the device and one"),
    "functions keep nothing": (
        attribute(canonical, "keeps_state", lambda function: False),
        "callbacks that count their calls",
    ),
    "functions by type": (
        attribute(canonical.Canonical, "_callable", lambda self, value: type(value)),
        "callbacks",
    ),
    "effects are not counted": (attribute(number.Numbering, "apply", _effects_forgotten), "a print more"),
    "effects have no order": (attribute(number.Numbering, "apply", _effects_forgotten), "prints in another order"),
    "conversions change nothing": (rule("convert_element_type", lambda n, e, i: i), "rounding and back"),
    "precision is not reduced": (rule("reduce_precision", lambda n, e, i: i), "less precision"),
    "cases have no order": (
        rule(
            "select_n",
            lambda n, e, i: [n.table.node("select_n", (), [i[0], *sorted(i[1:])], (4,), np.dtype("float32"))],
        ),
        "choices the other way round",
    ),
    "parameters are not read": (
        attribute(canonical.Canonical, "key", lambda self, value: ""),
        "sorting that is stable and not",
    ),
    "precision is not read": (attribute(canonical.Canonical, "key", lambda self, value: ""), "precision of products"),
    "strides are not read": (rule("slice", _without_strides), "strides"),
    "ends of padding are alike": (rule("pad", _ends_alike), "padding and cutting"),
    "scans run forwards": (attribute(rules_control, "read_scan", _forwards), "scans from the other end"),
    "loops are alike": (attribute(table.Table, "node", _outputs_alike), "turns of a loop"),
    "any start lies inside": (rule("dynamic_slice", _from_the_start), "a start beyond the end and none"),
    "a branch is as good": (attribute(rules_control, "choose", lambda table, index, values: values[0]), "branches"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_rule_proves_what_differs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate, pair = MUTANTS[name]
    one, other, argument = PAIRS[pair]
    traced = [jax.make_jaxpr(program)(argument) for program in (one, other)]
    assert not prove(*traced).proved
    mutate(monkeypatch)
    assert prove(*traced).proved
