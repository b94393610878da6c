"""Forward derivatives: what only jvp tells, and models that have none."""

import pytest

from scanify.verify.verdict import Status
from tests.verify.loop_model import PROVED, REWRITE, SOURCE, statuses

NO_FORWARD_RULE = """
same = jax.custom_vjp(lambda x: x)
same.defvjp(lambda x: (x, None), lambda _, ct: (ct,))


"""
WRONG_FORWARD_RULE = """
same = jax.custom_jvp(lambda x: x)


@same.defjvp
def _(primals, tangents):
    moved = jax.custom_derivatives.linear_call(lambda _, t: 1.001 * t, lambda _, ct: ct, (), tangents[0])
    return primals[0], moved


"""


def with_rule(rule):
    return {"class Block(": rule + "class Block(", "x = x * self.norm": "x = same(x) * self.norm"}


@pytest.mark.parametrize("abstract", [False, True], ids=["concrete", "abstract"])
@pytest.mark.parametrize("dropout", [False, True], ids=["inference", "training"])
def test_the_tangents_of_a_faithful_rewrite_are_proved(compare, abstract, dropout):
    result = compare(REWRITE, abstract=abstract, dropout=dropout)
    assert result.tangents.status is Status.PROVED
    assert result.good


def test_a_rewrite_that_loses_the_forward_derivative_fails_the_tangents_alone(compare):
    result = compare(REWRITE | with_rule(NO_FORWARD_RULE), policies=("none",))
    assert statuses(result) == PROVED
    assert result.tangents.status is Status.FAILED
    assert result.tangents.reason.startswith("the rewritten version has no forward derivative (jvp): TypeError")
    assert result.findings == () and result.batched.good and result.keys.good
    assert not result.good


def test_a_wrong_forward_rule_fails_the_tangents_alone(compare):
    result = compare(REWRITE | with_rule(WRONG_FORWARD_RULE), policies=("none",), dropout=False)
    assert all(p.outputs.good and p.gradients.good and not p.findings for p in result.policies)
    assert result.tangents.status is Status.FAILED
    assert result.tangents.reason.startswith("jvp: float64, tolerance 1e-12: relative difference 0.00")
    assert result.findings == () and result.batched.good
    assert not result.good


@pytest.mark.whole
def test_an_original_without_forward_derivatives_is_not_compared_by_them(compare):
    source = SOURCE
    for old, new in with_rule(NO_FORWARD_RULE).items():
        source = source.replace(old, new)
    result = compare(REWRITE, source=source, policies=("none",))
    assert result.tangents is None
    assert "no forward derivatives (jvp), as the original raises TypeError" in result.notes[0]
    assert result.good


def test_tangents_are_not_tested_where_the_outputs_differ_already(compare):
    result = compare(REWRITE | {"x * self.norm": "x * self.norm * 2"}, policies=("none",), dropout=False)
    assert result.tangents.status is Status.NOT_RUN
    assert "not tested as the outputs differ already" in result.tangents.reason
