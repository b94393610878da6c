"""One case in both versions: a faithful rewrite passes all checks, and its parameters are compared."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.verify.compare.compare import compare_case
from scanify.verify.measure.choose import choose
from scanify.verify.verdict import Status
from tests.verify.loop_model import POLICIES, PROVED, REWRITE, SOURCE, changed, statuses


@pytest.mark.parametrize("abstract", [False, True], ids=["concrete", "abstract"])
@pytest.mark.parametrize("dropout", [False, True], ids=["inference", "training"])
def test_a_faithful_rewrite_is_proved(compare, abstract, dropout):
    result = compare(REWRITE, abstract=abstract, dropout=dropout, policies=("none", "full", "nested", "save_all", None))
    assert statuses(result) == PROVED
    assert result.parameters.status is Status.PROVED
    assert result.findings == ()
    assert result.good
    assert [p.policy for p in result.policies] == ["none", "full", "nested", "save_all", "as written"]
    assert {"build", "trace", "prove"} <= {name for name, _ in result.seconds}


@pytest.mark.whole
def test_measuring_compiles_every_version(compare):
    result = compare(REWRITE, measure=True, policies=("nested",))
    for measured in (result.original, result.policies[0].measured):
        assert measured.stablehlo_lines > 10
        assert measured.temp_bytes is not None
        assert measured.backend == jax.default_backend()
        assert min(measured.trace_seconds, measured.lower_seconds, measured.compile_seconds) > 0
    assert result.original.temp_bytes >= 0


@pytest.mark.whole
def test_the_memory_of_abstract_weights_is_measured_and_their_loop_is_not_compiled(compare):
    found = compare(REWRITE, abstract=True, measure=True, policies=("none",))
    needed = [policy.measured.needed_bytes for policy in found.policies]
    real = compare(REWRITE, measure=True, policies=("none",))
    assert None not in needed and needed == [policy.measured.needed_bytes for policy in real.policies]
    assert found.original.flops and found.original.compile_seconds is None
    assert choose([found], needed[0]).policy == "none" and choose([found], needed[0] - 1).policy is None


def test_layers_in_reverse_order_fail_the_parameters_alone(compare):
    result = compare(changed("jax.random.split(key, n))]", "jax.random.split(key, n)[::-1])]"))
    assert result.parameters.status is Status.FAILED
    assert "layers[0].w is" in result.parameters.reason
    assert statuses(result) == PROVED
    assert not result.good


def test_abstract_layers_in_reverse_order_are_not_proved(compare):
    result = compare(changed("jax.random.split(key, n))]", "jax.random.split(key, n)[::-1])]"), abstract=True)
    assert result.parameters.status is Status.NOT_RUN
    assert "layers[0].w" in result.parameters.reason
    assert result.parameters.difference is not None
    assert not result.good


def test_a_rate_that_is_not_read_differs_as_a_field_only(compare):
    source = SOURCE.replace("[0.25] * n", "[0.25, 0.5, 0.25][:n]")
    wrong = REWRITE | {"rates = [0.25, 0.5, 0.25][:n]": "rates = [0.25] * n"}
    result = compare(wrong, source=source, policies=("nested",), dropout=False)
    assert result.parameters.status is Status.FAILED
    assert statuses(result) == PROVED


def test_layers_that_cannot_be_stacked_fail_with_the_message_of_the_runtime(compare):
    source = SOURCE.replace("[0.25] * n", "[0.25, 0.5, 0.25][:n]")
    result = compare(REWRITE, source=source)
    assert result.parameters.status is Status.FAILED
    assert result.parameters.reason.startswith("the rewritten version cannot be built: ")
    assert "rate" in result.parameters.reason
    assert {p.outputs.status for p in result.policies} == {Status.NOT_RUN}
    assert not result.good


def test_a_model_under_filter_vmap_is_proved(load_twice):
    two = load_twice(SOURCE, REWRITE)
    cases = [
        lambda m=m: (eqx.filter_vmap(m.Model(3, 4, key=jax.random.key(0))), (jnp.ones((2, 4)), jnp.ones((2, 4))))
        for m in (two.before, two.after)
    ]
    result = compare_case("case", *cases, policies=POLICIES, requested=None, abstract=False, measure=False)
    assert statuses(result) == PROVED


def test_a_parameter_that_is_weakly_typed_in_one_version_only_fails_the_parameters(compare):
    source = SOURCE.replace("self.norm = jnp.ones(width)", "self.norm = jnp.asarray(2.0)")
    assert compare(REWRITE, source=source).good
    result = compare(REWRITE | {"jnp.asarray(2.0)": "jnp.asarray(2.0, jnp.float32)"}, source=source)
    assert result.parameters.reason == "norm: weakly typed in the original, not weakly typed in the rewritten version"
    assert not result.good


def test_numpy_arrays_of_a_model_are_parameters_like_others(compare):
    source = SOURCE.replace("self.b = jnp.zeros(width)", "self.b = np.zeros(width, np.float32)")
    source = source.replace("import jax\n", "import jax\nimport numpy as np\n", 1)
    result = compare(REWRITE, source=source, policies=("none",), requested=None, dropout=False)
    assert result.good
    assert statuses(result) == PROVED


def test_a_method_of_a_model_can_be_the_call(load_twice):
    two = load_twice(SOURCE.replace("def __call__(self, x, mask, *,", "def apply(self, x, mask, *,"), REWRITE)
    cases = [
        lambda m=m: (m.Model(3, 4, key=jax.random.key(0)).apply, (jnp.ones(4), jnp.ones(4)))
        for m in (two.before, two.after)
    ]
    result = compare_case("case", *cases, policies=("none",), requested=None, abstract=False, measure=False)
    assert statuses(result) == PROVED
    assert result.parameters.status is Status.PROVED
