"""Outputs of a rewrite: what is proved, what is tested, and what fails."""

import jax
import jax.numpy as jnp
import pytest

from scanify.verify.verdict import Status
from tests.verify.functions import outputs
from tests.verify.loop_model import (
    CALL,
    FOLD,
    KEYS,
    LIST,
    LOOP,
    PLAIN,
    PROVED,
    REWRITE,
    SOURCE,
    STACK,
    changed,
    statuses,
)

WRONG_FORWARD = {
    "one key for all layers": (
        CALL,
        CALL.replace("(None, 0)", "(None, None)").replace("jax.random.split(key, 3)", "key"),
    ),
    "the keys in reverse": (CALL, CALL.replace("split(key, 3)", "split(key, 3)[::-1]")),
    "a call without its mask": (PLAIN, PLAIN.replace("mask", "jnp.ones_like(mask)")),
    "a result that is thrown away": (PLAIN, PLAIN.replace("x =", "_ =")),
    "a mask that is scanned": (PLAIN, PLAIN.replace("(None,)", "(0,)").replace("mask", "mask[:3]")),
}


@pytest.mark.parametrize("name", WRONG_FORWARD)
def test_a_wrong_fold_fails_the_outputs_and_the_gradients_are_not_tested(compare, name):
    result = compare(changed(*WRONG_FORWARD[name]), policies=("nested",), dropout="key" in name)
    assert result.parameters.status is Status.PROVED
    assert statuses(result) == {(Status.FAILED, Status.NOT_RUN)}
    assert "relative difference" in result.policies[0].outputs.reason
    assert result.policies[0].outputs.difference is not None
    assert "not tested as the outputs differ already" in result.policies[0].gradients.reason


def test_a_dropped_statement_after_the_loop_fails(compare):
    result = compare(REWRITE | {"        x = x * self.norm\n": ""}, policies=("nested",), dropout=False)
    verdict = result.policies[0]
    # The initial norm is all ones: only perturbed parameters tell.
    assert verdict.outputs.status is Status.FAILED
    assert verdict.gradients.status is Status.NOT_RUN


def test_a_dropped_layer_fails(compare):
    rewrite = changed("(x, mask)", "(x, mask)\n            x = x + 0 * jnp.sum(self.layers.stacked.w)")
    faithful = compare(rewrite, policies=("none",), dropout=False)
    assert faithful.policies[0].outputs.status is Status.TESTED  # adding a zero is no difference
    drop = {LIST: STACK, KEYS + LOOP: FOLD.replace("self.layers.fold_via", "_without_last(self.layers).fold_via")}
    drop["class Model"] = (
        "def _without_last(stack):\n"
        "    return ArrayStacked.of([stack[i] for i in range(stack.num_layers - 1)])\n\n\nclass Model"
    )
    result = compare(drop, policies=("none",), dropout=False)
    assert statuses(result) == {(Status.FAILED, Status.NOT_RUN)}


def test_the_rate_of_the_first_layer_for_all_fails_and_names_the_field(compare):
    source = SOURCE.replace("[0.25] * n", "[0.25, 0.5, 0.25][:n]")
    wrong = REWRITE | {"rates = [0.25, 0.5, 0.25][:n]": "rates = [0.25] * n"}
    result = compare(wrong, source=source, policies=("nested",))
    assert result.parameters.status is Status.FAILED
    assert result.parameters.reason == "layers[1].rate: 0.5 in the original, 0.25 in the rewritten version"
    assert statuses(result) == {(Status.FAILED, Status.NOT_RUN)}


@pytest.mark.parametrize("abstract", [False, True], ids=["concrete", "abstract"])
def test_outputs_of_another_dtype_fail_without_any_values(compare, abstract):
    narrow = {"self.norm\n        return x": "self.norm\n        return x.astype(jnp.float16)"}
    result = compare(REWRITE | narrow, abstract=abstract, policies=("none",))
    verdict = result.policies[0]
    assert verdict.outputs.status is Status.FAILED
    assert "float32[2, 4]" in verdict.outputs.reason and "float16[2, 4]" in verdict.outputs.reason
    assert verdict.gradients.status is Status.NOT_RUN


def test_another_pytree_of_outputs_fails(compare):
    result = compare(REWRITE | {"self.norm\n        return x": "self.norm\n        return x, x"}, policies=("none",))
    assert result.policies[0].outputs.status is Status.FAILED


def test_what_is_no_array_in_the_outputs_is_compared_too(compare):
    source = SOURCE.replace("self.norm\n        return x", "self.norm\n        return x, 'a'")
    result = compare(REWRITE | {"return x, 'a'": "return x, 'b'"}, source=source, policies=("none",))
    assert result.policies[0].outputs.reason == "output[1]: 'a' in the original, 'b' in the rewritten version"


def test_reassociated_sums_are_tested_and_not_proved(compare):
    source = SOURCE.replace("x = x * self.norm", "x = (x + self.norm) + 0.1")
    moved = REWRITE | {"x = (x + self.norm) + 0.1": "x = x + (self.norm + 0.1)"}
    result = compare(moved, source=source, policies=("none",), dropout=False)
    verdict = result.policies[0]
    assert verdict.outputs.status is Status.TESTED
    assert "not proved" in verdict.outputs.reason and "float64" in verdict.outputs.reason
    assert verdict.outputs.difference is not None
    assert verdict.gradients.good


def test_an_error_of_a_millionth_fails_in_float64(compare):
    wrong = REWRITE | {"x = x * self.norm": "x = x * self.norm * (1 + 1e-6)"}
    result = compare(wrong, policies=("none",), dropout=False)
    verdict = result.policies[0]
    assert verdict.outputs.status is Status.FAILED
    assert "float64, tolerance 1e-12" in verdict.outputs.reason
    assert "1e-06" in verdict.outputs.reason


def test_unproved_abstract_weights_are_not_good(compare):
    wrong = REWRITE | {"x = x * self.norm": "x = self.norm * (x + 0)"}
    result = compare(wrong, policies=("none",), abstract=True)
    verdict = result.policies[0]
    if verdict.outputs.status is not Status.PROVED:
        assert verdict.outputs.status is Status.NOT_RUN
        assert "abstract weights" in verdict.outputs.reason
    broken = compare(REWRITE | {"x = x * self.norm": "x = x * self.norm * 2"}, policies=("none",), abstract=True)
    assert broken.policies[0].outputs.status is Status.NOT_RUN
    assert not broken.good


def test_a_rewritten_version_that_cannot_be_traced_fails(compare):
    result = compare(changed("(x, mask, jax", "(x, mask[:2], jax"), policies=("none",))
    assert result.policies[0].outputs.status is Status.FAILED
    assert result.policies[0].outputs.reason.startswith("the rewritten version cannot be traced: ")


def test_a_prover_that_stumbles_leaves_the_case_to_the_numbers(compare, monkeypatch):
    def stumble(*args, **kwargs):
        raise RecursionError("too deep")

    monkeypatch.setattr("scanify.verify.proof.attempt.prove", stumble)
    verdict = compare(REWRITE, policies=("none",), dropout=False).policies[0]
    assert verdict.outputs.status is Status.TESTED
    assert "the prover stopped with RecursionError: too deep" in verdict.outputs.reason
    assert verdict.gradients.status is Status.TESTED


PRINTS = SOURCE.replace(
    "        return x + y", "        jax.debug.print('{}', y[0, 0], ordered=True)\n        return x + y"
)


def test_prints_in_the_same_order_are_proved(compare):
    assert statuses(compare(REWRITE, source=PRINTS, policies=("none",), requested=None, dropout=False)) == PROVED


def test_a_print_that_is_lost_is_not_good_though_the_values_agree(compare, capfd):
    silent = REWRITE | {"        jax.debug.print('{}', y[0, 0], ordered=True)\n": ""}
    verdict = compare(silent, source=PRINTS, policies=("none",), requested=None, dropout=False).policies[0].outputs
    assert verdict.status is Status.NOT_RUN
    assert "the values agree" in verdict.reason
    assert "effects" in verdict.reason


def test_differences_name_the_lines_of_both_versions(compare):
    def files(name):
        return "model.py" if name == "model_under_test.py" else None

    wrong = REWRITE | {"        return x + y\n": "        return x - y\n"}
    verdict = compare(wrong, policies=("none",), files=files, dropout=False).policies[0].outputs
    for operation in (verdict.difference.before, verdict.difference.after):
        assert operation.file == "model.py"
        assert f"model.py:{operation.line}" in verdict.reason


RATES = [0.1 * i / 3 for i in range(4)]


def _dropped(x, rate, key):
    keep = jax.random.bernoulli(key, 1 - rate, x.shape)
    return x + jnp.where(keep, jnp.tanh(x) / (1 - rate), 0.0)


def _in_turn(p, x, key):
    for rate, k in zip(RATES, jax.random.split(key, 4), strict=True):
        x = _dropped(p * x, rate, k)
    return x


def _scanned(rates, dtype):
    def run(p, x, key):
        given = jnp.array(rates, dtype), jax.random.split(key, 4)
        return jax.lax.scan(lambda c, each: (_dropped(p * c, each[0].astype(c.dtype), each[1]), None), x, given)[0]

    return run


@pytest.mark.parametrize(
    ("rates", "dtype", "status"),
    [
        (RATES, jnp.float32, Status.TESTED),
        ([0.11 * i / 3 for i in range(4)], jnp.float32, Status.FAILED),
        (RATES[::-1], jnp.float32, Status.FAILED),
        (RATES, jnp.bfloat16, Status.FAILED),
    ],
    ids=["the same", "others", "in another order", "of another dtype"],
)
def test_rates_in_an_array_are_compared_in_the_dtype_that_they_have(rates, dtype, status):
    """A Python number is float64 where everything else is, and random bits depend on the dtype that they are for."""
    x = jnp.linspace(-1.0, 1.0, 32).reshape(4, 8)
    verdict = outputs(_in_turn, _scanned(rates, dtype), jnp.asarray(0.7), x, jax.random.key(1))
    assert verdict.status is status, verdict
