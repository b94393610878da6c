"""The normalisations of operations are needed, and a wrong version of it is found out.

For each rule: two spellings that are not proved equal with the rule switched off, and a wrong version of the rule that
proves a pair that differs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.custom_derivatives import linear_call

from scanify.jaxpr import number
from scanify.jaxpr.reading import calls
from scanify.jaxpr.rules import control as rules_control
from scanify.jaxpr.rules import index as rules_index
from scanify.jaxpr.rules import move as rules_move
from scanify.jaxpr.rules import views
from scanify.jaxpr.rules.reverse import reverse
from scanify.verify.proof.prove import prove

Patch = Callable[[pytest.MonkeyPatch], None]
Function = Callable[..., Any]

X = (jnp.arange(12.0) * 0.37 - 1.1).reshape(4, 3)


@dataclass(frozen=True)
class Rule:
    """off: the rule taken away; equal: what it proves; wrong: a wrong version of it; differ: what that proves, too."""

    off: Patch
    equal: tuple[Function, Function]
    wrong: Patch
    differ: tuple[Function, Function]
    gradients: bool = False
    arguments: tuple[Any, ...] = (X,)


def rule(name: str, replacement: Any = lambda numbering, equation, inputs: None) -> Patch:
    return lambda patch: patch.setitem(number.RULES, name, replacement)


def attribute(owner: Any, name: str, replacement: Any) -> Patch:
    return lambda patch: patch.setattr(owner, name, replacement)


def entry(table: dict[str, Any], name: str, replacement: Any) -> Patch:
    return lambda patch: patch.setitem(table, name, replacement)


def unless(original: Any, condition: Callable[[Any], Any]) -> Any:
    """The rule, but for equations of which the condition holds."""
    return lambda numbering, equation, inputs: None if condition(equation) else original(numbering, equation, inputs)


# Wrong rules -----------------------------------------------------------------------------------------------------------

EVERY, COND, SCATTER = rules_move._every, rules_control._cond, rules_index._scatter


def _last_of_group(table: Any, value: int, axis: int, stride: int) -> int:
    return EVERY(table, reverse(table, value, (axis,)), axis, stride) if stride > 1 else value


def _constants_last(table: Any, value: int, axis: int, between: int, scalar: Any) -> int:
    shape = table.shape[value]
    rest = (*shape[:axis], (shape[axis] - 1) * between, *shape[axis + 1 :])
    return views.concat(table, [value, table.fill(scalar, rest)], axis) if between else value


def _repeats(numbering: Any, equation: Any, inputs: list[int]) -> list[int]:
    wide = views.broadcast(numbering.table, inputs[0], (4, 2, 3), (0, 2))
    return [views.reshape(numbering.table, wide, (8, 3))]


def _turned(table: Any, pieces: Any, batch: tuple[int, ...]) -> int:
    rows = [views.reshape(table, piece, (1, *table.shape[piece])) for piece in pieces]
    return views.concat(table, rows[::-1], 0)


def _adds_nothing(numbering: Any, equation: Any, inputs: list[int]) -> Any:
    return inputs[:1] if numbering.table.is_zero(inputs[0]) else SCATTER(numbering, equation, inputs)


def _ones(numbering: Any, equation: Any, inputs: list[int]) -> list[int]:
    return [numbering.table.fill(np.float32(1), tuple(equation.params["slice_sizes"]))]


def _any_clamp(numbering: Any, index: int, last: int) -> int:
    while numbering.table.op[index] == "clamp":
        index = numbering.table.inputs[index][1]
    return index


def _silent(numbering: Any, equation: Any, inputs: list[int]) -> Any:
    token, answer = numbering.token, COND(numbering, equation, inputs)
    numbering.token = token
    return answer


def _right_as_left(table: Any, left: int, right: int, axis: int) -> int | None:
    return views.join(table, left, views.reshape(table, left, table.shape[right]), axis)


def _one_element(numbering: Any, equation: Any, inputs: list[int]) -> list[int]:
    return [views.reshape(numbering.table, inputs[0], tuple(equation.outvars[0].aval.shape))]


# Programs --------------------------------------------------------------------------------------------------------------


def printing(text: str, swapped: bool = False) -> Function:
    """One branch prints; `swapped` hands both their operands in another order."""

    def branch(y: Any, z: Any) -> Any:
        jax.debug.print(text, x=y[0])
        return y + z

    if swapped:
        return lambda x: lax.cond(x[0, 0] > 0, lambda z, y: branch(y, z), lambda z, y: z, x[0], x[1])
    return lambda x: lax.cond(x[0, 0] > 0, branch, lambda y, z: z, x[1], x[0])


def switched(clamp: bool) -> Function:
    def run(x: Any) -> Any:
        index = x[0, 0].astype(jnp.int32)
        return lax.switch(lax.clamp(1, index, 1) if clamp else index, [jnp.cos, jnp.sin], x)

    return run


def rounded(*rows: int) -> Function:
    return lambda x: jnp.stack([x[i].astype(jnp.bfloat16) for i in rows])


def rolled(*rows: int) -> Function:
    return lambda x: jnp.stack([jnp.concatenate([x[i][1:], x[i][:1]]) for i in rows])


def both(x: Any, y: Any) -> Any:
    """x + y as a sum of two cotangents of one value."""
    return jax.vjp(lambda v: (v, v), x)[1]((x, y))[0]


def linear(x: Any) -> Any:
    return linear_call(lambda _, y: y * 2.0, lambda _, ct: ct * 2.0, (), x)


def at_first(value: float) -> Function:
    return lambda x: jnp.zeros((4, 3)).at[x[0].astype(jnp.int32)].add(value)


def composite(x: Any) -> Any:
    return lax.composite(lambda y: y * 2.0, "test.twice")(x)


RULES: dict[str, Rule] = {
    "a strided slice is the first row of each group": Rule(
        rule("slice", unless(rules_move._slice, lambda e: e.params["strides"])),
        (lambda x: x[::2][1], lambda x: x[2]),
        attribute(rules_move, "_every", _last_of_group),
        (lambda x: x[::2][1], lambda x: x[1]),
    ),
    "padding between rows is a group of a row and constants": Rule(
        rule("pad", unless(rules_move._pad, lambda e: any(triple[2] for triple in e.params["padding_config"]))),
        (lambda x: lax.pad(x, 0.0, [(0, 0, 1), (0, 0, 0)])[2], lambda x: x[1]),
        attribute(rules_move, "_spread", _constants_last),
        (lambda x: lax.pad(x, 0.0, [(0, 0, 1), (0, 0, 0)])[2], lambda x: x[2]),
    ),
    "a tile is a broadcast": Rule(
        rule("tile"),
        (lambda x: jnp.tile(x, (2, 1))[5], lambda x: x[1]),
        rule("tile", _repeats),
        (lambda x: jnp.tile(x, (2, 1))[5], lambda x: x[2]),
    ),
    "a gather of several windows is a concatenation": Rule(
        attribute(rules_index, "WINDOWS", 1),
        (lambda x: x[np.array([2, 0])], lambda x: jnp.stack([x[2], x[0]])),
        attribute(rules_index, "_together", _turned),
        (lambda x: x[np.array([2, 0])], lambda x: jnp.stack([x[0], x[2]])),
    ),
    "a scatter of several windows is a concatenation": Rule(
        attribute(rules_index, "WINDOWS", 1),
        (lambda x: x.at[np.array([2, 0])].set(x[:2]), lambda x: jnp.stack([x[1], x[1], x[0], x[3]])),
        attribute(rules_index, "_apart", lambda boxes: True),
        (lambda x: x.at[np.array([1, 1])].set(x[1:3]), lambda x: x.at[1].set(x[2])),
    ),
    "zeros added to zeros are zeros": Rule(
        rule("scatter-add"),
        (at_first(0.0), lambda x: jnp.zeros((4, 3))),
        rule("scatter-add", _adds_nothing),
        (at_first(1.0), lambda x: jnp.zeros((4, 3))),
    ),
    "a slice of equal elements is the same anywhere": Rule(
        rule("dynamic_slice"),
        (
            lambda x: lax.dynamic_slice(jnp.ones((4, 3)), (x[0, 0].astype(jnp.int32), 0), (1, 3)),
            lambda x: jnp.ones((1, 3)),
        ),
        rule("dynamic_slice", _ones),
        (lambda x: lax.dynamic_slice(x, (x[0, 0].astype(jnp.int32), 0), (1, 3)), lambda x: jnp.ones((1, 3))),
    ),
    "a sum of one cotangent is that cotangent": Rule(
        rule("reduce_sum"),
        (
            lambda x, ct: jax.vjp(lambda y: lax.broadcast(y, (1,)), x)[1](ct[None])[0],
            lambda x, ct: jax.vjp(lambda y: y, x)[1](ct)[0],
        ),
        rule("reduce_sum", _one_element),
        (lambda x, ct: 1 / lax.reduce_sum(ct[None], (0,)), lambda x, ct: 1 / ct),
        gradients=True,
        arguments=(X, X),
    ),
    "a choice clamps its index by itself": Rule(
        attribute(rules_control, "_unclamped", lambda numbering, index, last: index),
        (
            lambda x: lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x),
            lambda x: lax.switch((x[0, 0] > 0).astype(jnp.int32), [jnp.cos, jnp.sin], x),
        ),
        attribute(rules_control, "_unclamped", _any_clamp),
        (switched(True), switched(False)),
    ),
    "what branches print is chosen, too": Rule(
        rule("cond", unless(COND, lambda e: e.effects)),
        (printing("{x}"), printing("{x}", swapped=True)),
        rule("cond", _silent),
        (printing("{x}"), printing("a {x}")),
    ),
    "converted rows are rows of what is converted": Rule(
        entry(views.JOIN_THROUGH, "convert_element_type", lambda *_: None),
        (lambda x: x.astype(jnp.bfloat16), rounded(0, 1, 2, 3)),
        entry(views.JOIN_THROUGH, "convert_element_type", _right_as_left),
        (rounded(0, 2), rounded(0, 0)),
    ),
    "a stack of what is put together is put together of stacks": Rule(
        entry(views.JOIN_THROUGH, "concat", lambda *_: None),
        (lambda x: jnp.concatenate([x[:, 1:], x[:, :1]], axis=1), rolled(0, 1, 2, 3)),
        entry(views.JOIN_THROUGH, "concat", _right_as_left),
        (rolled(0, 1), rolled(0, 0)),
    ),
    "rows of sums are sums of rows": Rule(
        entry(views.JOIN_THROUGH, "add_any", lambda *_: None),
        (both, lambda x, y: jnp.stack([both(x[i], y[i]) for i in range(4)])),
        entry(views.JOIN_THROUGH, "add_any", _right_as_left),
        (
            lambda x, y: jnp.stack([both(x[0], y[0]), both(x[1], y[1])]),
            lambda x, y: jnp.stack([both(x[0], y[0])] * 2),
        ),
        gradients=True,
        arguments=(X, X * 2),
    ),
    "a linear call is its function": Rule(
        attribute(calls, "CALLS", calls.CALLS - {"linear_call"}),
        (linear, lambda x: x * 2.0),
        attribute(number, "IDENTITIES", number.IDENTITIES | {"linear_call"}),
        (linear, lambda x: x),
    ),
    "a composite is its decomposition": Rule(
        attribute(calls, "CALLS", calls.CALLS - {"composite"}),
        (composite, lambda x: x * 2.0),
        attribute(number, "IDENTITIES", number.IDENTITIES | {"composite"}),
        (composite, lambda x: x),
    ),
}


def proved(pair: tuple[Function, Function], case: Rule, *, gradients: bool) -> bool:
    # A function of its own for each trace: jax remembers what it traced.
    traced = [jax.make_jaxpr(lambda *args, f=function: f(*args))(*case.arguments) for function in pair]
    return prove(*traced, cotangents=1 if gradients else 0).proved


@pytest.mark.parametrize("name", RULES)
def test_the_rule_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = RULES[name]
    one, other = case.equal
    np.testing.assert_array_equal(one(*case.arguments), other(*case.arguments))
    assert proved(case.equal, case, gradients=case.gradients)
    case.off(monkeypatch)
    assert not proved(case.equal, case, gradients=case.gradients)


@pytest.mark.parametrize("name", RULES)
def test_a_wrong_version_of_the_rule_proves_what_differs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = RULES[name]
    assert not proved(case.differ, case, gradients=case.gradients)
    case.wrong(monkeypatch)
    assert proved(case.differ, case, gradients=case.gradients)
