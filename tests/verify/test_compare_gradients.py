"""Gradients of a rewrite, apart from its outputs."""

from scanify.verify.verdict import Status
from tests.verify.loop_model import REWRITE, SOURCE


def test_a_gradient_that_is_wrong_alone_fails_the_gradients_alone(compare):
    wrong = REWRITE | {"x = x * self.norm": "x = x * jax.lax.stop_gradient(self.norm)"}
    verdict = compare(wrong, policies=("none",), dropout=False).policies[0]
    assert verdict.outputs.good
    assert verdict.gradients.status is Status.FAILED
    assert "the gradient of norm" in verdict.gradients.reason


WHILE = "jax.lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, s[1] * self.norm), (0, x))[1]"


def test_a_model_without_reverse_mode_is_compared_by_its_outputs(compare):
    source = SOURCE.replace("x * self.norm", WHILE)
    result = compare(REWRITE, source=source, policies=("none",), requested=None)
    verdict = result.policies[0]
    assert verdict.outputs.status is Status.PROVED
    assert verdict.gradients.status is Status.TESTED
    assert verdict.gradients.reason.startswith("the original cannot be differentiated: ValueError")
    assert verdict.measured.saved_bytes is None


def test_reverse_mode_that_is_lost_fails_the_gradients(compare):
    result = compare(REWRITE | {"x * self.norm": WHILE}, policies=("none",))
    assert result.policies[0].gradients.status is Status.FAILED
    assert "the rewritten version cannot be differentiated: ValueError" in result.policies[0].gradients.reason
