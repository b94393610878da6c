"""Outputs under vmap: what only a batch axis tells, and models that have no batches."""

import pytest

from scanify.verify.verdict import Status
from tests.verify.loop_model import PROVED, REWRITE, SOURCE, statuses

WRONG_RULE = """
rule = jax.custom_batching.custom_vmap(lambda x: x)
same = jax.custom_jvp(lambda x: rule(x))
same.defjvp(lambda primals, tangents: (primals[0], tangents[0]))


@rule.def_vmap
def _(size, batched, x):
    return 1.001 * x, True


"""
WRONG = REWRITE | {"class Block(": WRONG_RULE + "class Block(", "x = x * self.norm": "x = same(x) * self.norm"}


@pytest.mark.parametrize("abstract", [False, True], ids=["concrete", "abstract"])
@pytest.mark.parametrize("dropout", [False, True], ids=["inference", "training"])
def test_a_faithful_rewrite_is_proved_under_vmap(compare, abstract, dropout):
    result = compare(REWRITE, abstract=abstract, dropout=dropout)
    assert result.batched.status is Status.PROVED
    assert result.good


def test_a_wrong_batching_rule_fails_the_outputs_under_vmap_alone(compare):
    result = compare(WRONG, policies=("none",), dropout=False)
    assert statuses(result) == PROVED
    assert result.tangents.status is Status.PROVED
    assert result.batched.status is Status.FAILED
    assert result.batched.reason.startswith("vmap: float64, tolerance 1e-12: relative difference 0.001")
    assert result.findings == ()
    assert not result.good


@pytest.mark.whole
def test_a_wrong_batching_rule_is_not_proved_without_values(compare):
    assert compare(WRONG, policies=("none",), abstract=True).batched.status is Status.NOT_RUN


def test_a_rewrite_that_does_not_support_vmap_fails(compare):
    raising = WRONG_RULE.replace("return 1.001 * x, True", "raise NotImplementedError('no batches')")
    wrong = REWRITE | {"class Block(": raising + "class Block(", "x = x * self.norm": "x = same(x) * self.norm"}
    result = compare(wrong, policies=("none",), dropout=False)
    assert result.batched.status is Status.FAILED
    assert "cannot be traced under vmap: NotImplementedError" in result.batched.reason
    assert "no batches" in result.batched.reason


CALLBACK = "jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct(x.shape, x.dtype), jax.lax.stop_gradient(x))"


def test_an_original_that_does_not_support_vmap_is_not_compared_under_it(compare):
    source = SOURCE.replace("x = x * self.norm", f"x = x * self.norm + {CALLBACK}")
    result = compare(REWRITE, source=source, policies=("none",), dropout=False)
    assert result.batched is None
    assert any("not compared under vmap, as the original raises NotImplementedError" in each for each in result.notes)


def test_a_call_of_keys_alone_has_no_batches(compare):
    source = SOURCE.replace("def __call__(self, x, mask, *, key=None):", "def __call__(self, *, key=None):")
    source = source.replace(
        "        keys = [None]", "        x, mask = jnp.ones((2, 4)), jnp.ones(4)\n        keys = [None]"
    )
    result = compare(REWRITE, source=source, policies=("none",), arrays=False)
    assert result.batched is None
    assert "not compared under vmap: the call has no array to batch" in result.notes
