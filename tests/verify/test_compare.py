"""One case in both versions: each check catches what it is for, and a faithful rewrite passes all of them."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.errors import ScanifyError
from scanify.verify.compare import compare_case
from scanify.verify.verdict import Status

SOURCE = """
import equinox as eqx
import jax
import jax.numpy as jnp
from scanify.nn import ArrayStacked


class Block(eqx.Module):
    w: jax.Array
    b: jax.Array
    rate: float = eqx.field(static=True)

    def __init__(self, width, rate, *, key):
        self.w = jax.random.normal(key, (width, width))
        self.b = jnp.zeros(width)
        self.rate = rate

    def __call__(self, x, mask, key=None):
        y = jnp.tanh(x @ self.w + self.b) * mask
        if key is not None:
            y = jnp.where(jax.random.bernoulli(key, 1 - self.rate, y.shape), y, 0.0)
        return x + y


class Model(eqx.Module):
    layers: list[Block]
    norm: jax.Array

    def __init__(self, n, width, *, key):
        rates = [0.25] * n
        self.layers = [Block(width, r, key=k) for r, k in zip(rates, jax.random.split(key, n))]
        self.norm = jnp.ones(width)

    def __call__(self, x, mask, *, key=None):
        keys = [None] * 3 if key is None else jax.random.split(key, 3)
        for layer, k in zip(self.layers, keys):
            x = layer(x, mask, k)
        x = x * self.norm
        return x
"""
LIST = "[Block(width, r, key=k) for r, k in zip(rates, jax.random.split(key, n))]"
STACK = f"ArrayStacked.of({LIST}, gradient_checkpointing='nested')"
LOOP = """        for layer, k in zip(self.layers, keys):
            x = layer(x, mask, k)
"""
KEYS = "        keys = [None] * 3 if key is None else jax.random.split(key, 3)\n"
FOLD = """        if key is None:
            x = self.layers.fold_via(Block.__call__, in_axes=(None,))(x, mask)
        else:
            x = self.layers.fold_via(Block.__call__, in_axes=(None, 0))(x, mask, jax.random.split(key, 3))
"""
REWRITE = {LIST: STACK, KEYS + LOOP: FOLD}
POLICIES = ("none", "nested")


def case(module, *, dropout=True, n=3):
    def build():
        kwargs = {"key": jax.random.key(7)} if dropout else {}
        x = jnp.linspace(-1.0, 1.0, 8).reshape(2, 4)
        return module.Model(n, 4, key=jax.random.key(0)), (x, jnp.array([1.0, 0.0, 1.0, 1.0])), kwargs

    return build


@pytest.fixture(autouse=True, scope="module")
def quick_compilation():
    """The programs here run once: most of the time would go to optimising them."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture
def compare(load_twice):
    def run(changes, **options):
        chosen = {"policies": POLICIES, "requested": "nested", "abstract": False, "measure": False} | options
        dropout = chosen.pop("dropout", True)
        two = load_twice(chosen.pop("source", SOURCE), changes)
        return compare_case("case", case(two.before, dropout=dropout), case(two.after, dropout=dropout), **chosen)

    return run


def changed(old, new, base=REWRITE):
    """The rewrite with one mistake in it."""
    assert any(old in value for value in base.values()), f"nothing to replace: {old}"
    return {key: value.replace(old, new) for key, value in base.items()}


def statuses(result):
    return {(p.outputs.status, p.gradients.status) for p in result.policies}


PROVED = {(Status.PROVED, Status.PROVED)}


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


def test_saved_bytes_tell_the_policies_apart(compare):
    result = compare(REWRITE)
    saved = {p.policy: p.measured.saved_bytes for p in result.policies}
    assert 0 < saved["nested"] < saved["none"]
    assert result.original.saved_bytes > saved["nested"]


def test_measuring_compiles_every_version(compare):
    result = compare(REWRITE, measure=True, policies=("nested",))
    for measured in (result.original, result.policies[0].measured):
        assert measured.stablehlo_lines > 10
        assert measured.temp_bytes is not None
        assert measured.backend == jax.default_backend()
        assert min(measured.trace_seconds, measured.lower_seconds, measured.compile_seconds) > 0
    assert result.original.temp_bytes >= 0


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


CALL = "x = self.layers.fold_via(Block.__call__, in_axes=(None, 0))(x, mask, jax.random.split(key, 3))"
PLAIN = "x = self.layers.fold_via(Block.__call__, in_axes=(None,))(x, mask)"
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
def test_a_wrong_fold_fails_outputs_and_gradients(compare, name):
    result = compare(changed(*WRONG_FORWARD[name]), policies=("nested",), dropout="key" in name)
    assert result.parameters.status is Status.PROVED
    assert statuses(result) == {(Status.FAILED, Status.FAILED)}
    assert "relative difference" in result.policies[0].outputs.reason
    assert result.policies[0].outputs.difference is not None


def test_a_dropped_statement_after_the_loop_fails(compare):
    result = compare(REWRITE | {"        x = x * self.norm\n": ""}, policies=("nested",), dropout=False)
    verdict = result.policies[0]
    # The initial norm is all ones: only perturbed parameters tell.
    assert verdict.outputs.status is Status.FAILED
    assert verdict.gradients.status is Status.FAILED


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
    assert statuses(result) == {(Status.FAILED, Status.FAILED)}


def test_the_rate_of_the_first_layer_for_all_fails_and_names_the_field(compare):
    source = SOURCE.replace("[0.25] * n", "[0.25, 0.5, 0.25][:n]")
    wrong = REWRITE | {"rates = [0.25, 0.5, 0.25][:n]": "rates = [0.25] * n"}
    result = compare(wrong, source=source, policies=("nested",))
    assert result.parameters.status is Status.FAILED
    assert result.parameters.reason == "layers[1].rate: 0.5 in the original, 0.25 in the rewritten version"
    assert statuses(result) == {(Status.FAILED, Status.FAILED)}


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


def test_remat_that_was_dropped_is_a_finding(compare):
    result = compare(changed("'nested'", "False"))
    by_name = {p.policy: p for p in result.policies}
    assert statuses(result) == PROVED
    assert "does not: as written it saves" in by_name["nested"].findings[0]
    assert by_name["none"].findings == ()
    assert not result.good


def test_dropped_remat_is_a_finding_of_the_case_where_its_policy_is_not_compared(compare):
    result = compare(changed("'nested'", "False"), policies=("none",))
    assert "does not: as written" in result.findings[0]
    assert not result.good


def test_a_rewrite_that_scans_nothing_is_a_finding(compare):
    result = compare({}, policies=(None,), requested=None)
    assert statuses(result) == PROVED
    assert "nothing is scanned" in result.findings[0]


def test_a_stack_that_is_looped_over_is_a_finding(compare):
    result = compare({LIST: STACK}, policies=(None,), requested=None)
    assert "nothing is scanned in the rewritten version: it holds a stack of 3 layers" in result.findings[0]


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


def test_what_the_original_raises_reaches_the_caller(compare):
    broken = SOURCE.replace("        rates =", "        raise RuntimeError('broken model')\n        rates =")
    with pytest.raises(RuntimeError, match="broken model"):
        compare({}, source=broken)


def test_a_gradient_that_is_wrong_alone_fails_the_gradients_alone(compare):
    wrong = REWRITE | {"x = x * self.norm": "x = x * jax.lax.stop_gradient(self.norm)"}
    verdict = compare(wrong, policies=("none",), dropout=False).policies[0]
    assert verdict.outputs.good
    assert verdict.gradients.status is Status.FAILED
    assert "the gradient of norm" in verdict.gradients.reason


@pytest.mark.parametrize(
    "returned",
    [lambda model: model, lambda model: (model,), lambda model: (model, jnp.ones(3)), lambda model: (None, ())],
    ids=["the model alone", "a tuple of one", "an array of arguments", "no model"],
)
def test_a_case_that_returns_something_else_is_a_mistake(load_twice, returned):
    two = load_twice(SOURCE, REWRITE)
    cases = [lambda m=m: returned(m.Model(1, 2, key=jax.random.key(0))) for m in (two.before, two.after)]
    with pytest.raises(ScanifyError, match=r"^expected .*model.*, got"):
        compare_case("case", *cases, policies=("none",), requested=None, abstract=False, measure=False)


@pytest.mark.parametrize(
    "value", [lambda i: jnp.full((1, 4), float(i)), lambda i: np.ones((i, 4))], ids=["values", "shapes"]
)
def test_arguments_that_differ_between_the_calls_are_a_mistake(load_twice, value):
    two = load_twice(SOURCE, REWRITE)
    cases = [
        lambda m=m, i=i: (m.Model(3, 4, key=jax.random.key(0)), (value(i), jnp.ones(4)))
        for i, m in ((1, two.before), (2, two.after))
    ]
    with pytest.raises(ScanifyError, match=r"the same arguments.* x"):
        compare_case("case", *cases, policies=("none",), requested=None, abstract=False, measure=False)


def test_a_jitted_call_is_traced_anew_under_each_policy(compare):
    signature = "    def __call__(self, x, mask, *, key=None):"
    source = SOURCE.replace(signature, f"    @eqx.filter_jit\n{signature}")
    saved = {p.policy: p.measured.saved_bytes for p in compare(REWRITE, source=source).policies}
    assert saved["nested"] < saved["none"]


class Plain:
    """No pytree: jax does not see what it holds."""

    def __init__(self, model):
        self.models = [model]

    def __call__(self, x, mask):
        return self.models[0](x, mask)


@pytest.mark.parametrize("abstract", [False, True], ids=["concrete", "abstract"])
@pytest.mark.parametrize(
    "wrap",
    [
        jax.vmap,
        jax.jit,
        lambda model: lambda x, mask: model(x, mask),
        lambda model: functools.partial(jax.vmap(model)),
        Plain,
    ],
    ids=["vmap", "jit", "a lambda", "a partial", "an object"],
)
def test_parameters_hidden_in_a_function_are_a_mistake(load_twice, wrap, abstract):
    two = load_twice(SOURCE, REWRITE)
    cases = [
        lambda m=m: (wrap(m.Model(3, 4, key=jax.random.key(0))), (jnp.ones((1, 4)), jnp.ones((1, 4))))
        for m in (two.before, two.after)
    ]
    with pytest.raises(ScanifyError, match=r"closes over them.*eqx\.filter_vmap"):
        compare_case("case", *cases, policies=("none",), requested=None, abstract=abstract, measure=False)


def test_a_model_under_filter_vmap_is_proved(load_twice):
    two = load_twice(SOURCE, REWRITE)
    cases = [
        lambda m=m: (eqx.filter_vmap(m.Model(3, 4, key=jax.random.key(0))), (jnp.ones((2, 4)), jnp.ones((2, 4))))
        for m in (two.before, two.after)
    ]
    result = compare_case("case", *cases, policies=POLICIES, requested=None, abstract=False, measure=False)
    assert statuses(result) == PROVED


def test_a_call_that_returns_no_array_is_a_mistake(compare):
    with pytest.raises(ScanifyError, match="nothing to compare"):
        compare({}, source=SOURCE.replace("self.norm\n        return x", "self.norm\n        return None"))


def test_a_parameter_that_is_weakly_typed_in_one_version_only_fails_the_parameters(compare):
    source = SOURCE.replace("self.norm = jnp.ones(width)", "self.norm = jnp.asarray(2.0)")
    assert compare(REWRITE, source=source).good
    result = compare(REWRITE | {"jnp.asarray(2.0)": "jnp.asarray(2.0, jnp.float32)"}, source=source)
    assert result.parameters.reason == "norm: weakly typed in the original, not weakly typed in the rewritten version"
    assert not result.good


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


def test_a_prover_that_stumbles_leaves_the_case_to_the_numbers(compare, monkeypatch):
    def stumble(*args, **kwargs):
        raise RecursionError("too deep")

    monkeypatch.setattr("scanify.verify.attempt.prove", stumble)
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


def test_differences_name_the_lines_of_both_versions(compare):
    def files(name):
        return "model.py" if name == "model_under_test.py" else None

    wrong = REWRITE | {"        return x + y\n": "        return x - y\n"}
    verdict = compare(wrong, policies=("none",), files=files, dropout=False).policies[0].outputs
    for operation in (verdict.difference.before, verdict.difference.after):
        assert operation.file == "model.py"
        assert f"model.py:{operation.line}" in verdict.reason
