"""Layers of the original that the rewritten version does not apply, or gives no gradient, though the numbers agree."""

import jax
import jax.numpy as jnp
import pytest

from scanify.verify.compare.compare import compare_case
from scanify.verify.leaves.layer_names import walked
from scanify.verify.verdict import CaseResult, Status
from tests.verify.loop_model import REWRITE, SOURCE

# The gates are parameters, so no proof knows that the last one is closed, and what its layer computes is not used.
# They are integers, because a test with other bools would open it.
GATED = """
import equinox as eqx
import jax
import jax.numpy as jnp
from scanify.nn import ArrayStacked


class Block(eqx.Module):
    w: jax.Array
    b: jax.Array

    def __call__(self, x, gate):
        return jnp.where(gate, jnp.tanh(x @ self.w + self.b), x)


class Model(eqx.Module):
    layers: list[Block]
    gates: jax.Array

    def __init__(self, *, key):
        self.layers = [Block(jax.random.normal(k, (4, 4)), jnp.zeros(4)) for k in jax.random.split(key, 3)]
        self.gates = jnp.array([1, 1, 0])

    def __call__(self, x):
        for layer, gate in zip(self.layers, self.gates):
            x = layer(x, gate)
        return x
"""
LIST = "[Block(jax.random.normal(k, (4, 4)), jnp.zeros(4)) for k in jax.random.split(key, 3)]"
LOOP = """        for layer, gate in zip(self.layers, self.gates):
            x = layer(x, gate)
"""
FOLD = "        x = self.layers.fold_via(Block.__call__, in_axes=(0,))(x, self.gates)\n"
FAITHFUL = {LIST: f"ArrayStacked.of({LIST})", LOOP: FOLD}
FIRST_TWO = """        first = ArrayStacked.of([self.layers[0], self.layers[1]])
        x = first.fold_via(Block.__call__, in_axes=(0,))(x, self.gates[:2])
"""
LAST_FROZEN = FIRST_TWO + "        x = jax.lax.stop_gradient(self.layers[2])(x, self.gates[2])\n"
BIAS_FROZEN = FIRST_TWO + (
    "        last = self.layers[2]\n"
    "        x = eqx.tree_at(lambda l: l.b, last, jax.lax.stop_gradient(last.b))(x, self.gates[2])\n"
)


SCANNING = SOURCE.replace(
    "y = jnp.tanh(x @ self.w + self.b) * mask",
    "y = jax.lax.scan(lambda c, row: (c, jnp.tanh(row @ self.w + self.b) * mask), 0, x)[1]",
)


@pytest.fixture
def compare_gated(load_twice):
    def run(changes: dict[str, str], source: str = GATED) -> CaseResult:
        two = load_twice(source, changes)
        cases = [lambda m=m: (m.Model(key=jax.random.key(0)), (jnp.ones((2, 4)),)) for m in (two.before, two.after)]
        return compare_case("gated", *cases, policies=("none",), requested=None, abstract=False, measure=False)

    return run


def test_a_faithful_rewrite_scans_over_all_layers(compare_gated):
    result = compare_gated(FAITHFUL)
    assert result.good
    assert result.layers == 3


def test_a_layer_that_is_left_out_is_a_finding_though_it_changes_no_number(compare_gated):
    frozen = GATED.replace("x @ self.w + self.b", "x @ jax.lax.stop_gradient(self.w) + jax.lax.stop_gradient(self.b)")
    result = compare_gated(FAITHFUL | {LOOP: FIRST_TWO}, frozen)
    (policy,) = result.policies
    assert policy.outputs.status is Status.TESTED
    assert policy.gradients.good and policy.findings == ()
    assert result.tangents.good and result.batched.good
    assert result.findings == (
        "layers[2] is never applied in the rewritten version: it scans over 2 of the 3 layers that the original applies",
    )
    assert result.layers == 2
    assert not result.good


@pytest.mark.parametrize(
    ("call", "lost"), [(LAST_FROZEN, "layers[2]"), (BIAS_FROZEN, "layers[2].b")], ids=["a layer", "a parameter"]
)
def test_a_gradient_that_is_lost_is_a_finding_though_it_is_zero_in_the_original(compare_gated, call, lost):
    result = compare_gated(FAITHFUL | {LOOP: call})
    (policy,) = result.policies
    assert policy.outputs.status is Status.PROVED
    assert policy.gradients.status is Status.TESTED
    assert policy.findings == (f"{lost} receives no gradient in the rewritten version, and does in the original",)
    assert result.findings == ()
    assert not result.good


def test_a_gradient_that_is_lost_and_not_zero_is_a_reason(compare):
    wrong = REWRITE | {"x = x * self.norm": "x = x * jax.lax.stop_gradient(self.norm)"}
    (policy,) = compare(wrong, policies=("none",), dropout=False).policies
    assert policy.gradients.status is Status.FAILED
    assert policy.gradients.reason.startswith("norm receives no gradient in the rewritten version, and does in the")
    assert policy.findings == ()


@pytest.mark.parametrize("abstract", [False, True], ids=["concrete", "abstract"])
def test_layers_are_counted_under_any_remat(compare, abstract):
    assert compare(REWRITE, abstract=abstract, policies=("nested",)).layers == 3


def test_a_list_that_is_looped_over_is_not_scanned(compare):
    assert compare({}, policies=(None,), requested=None).layers is None


def test_a_scan_over_time_inside_a_layer_is_no_scan_over_layers(compare):
    assert compare({}, source=SCANNING, policies=(None,), requested=None).layers is None
    assert compare(REWRITE, source=SCANNING, policies=("none",), dropout=False).layers == 3


def test_layers_that_hold_scans_are_scanned_over_with_fewer_scans(compare):
    result = compare(REWRITE, source=SCANNING, policies=("none",), dropout=False)
    assert result.good and result.findings == () and result.layers == 3


def test_a_loop_over_layers_that_hold_scans_is_found(compare):
    result = compare({}, source=SCANNING, policies=("none",), requested=None, dropout=False)
    assert "nothing is scanned" in result.findings[0]


def test_lists_in_lists_are_the_layers_that_the_scan_goes_over(compare):
    """Each layer applies a list of its own, one after another."""
    inner = "[jax.random.normal(k, (width, width)) for k in jax.random.split(key, 5)]"
    source = (
        SOURCE.replace("w: jax.Array", "w: list[jax.Array]")
        .replace("jax.random.normal(key, (width, width))", inner)
        .replace("x @ self.w + self.b", "sum(x @ w for w in self.w) + self.b")
    )
    assert compare(REWRITE, source=source, policies=("none",), dropout=False).layers == 3


@pytest.mark.parametrize(
    ("names", "layers"),
    [
        (["blocks[0].w", "blocks[2].w"], {("blocks", 0), ("blocks", 2)}),
        (["blocks[0][4].w", "blocks[1][4].w"], {("blocks", 0), ("blocks", 1)}),
        (["blocks[1][4].w", "blocks[1][5].w"], {("blocks[1]", 4), ("blocks[1]", 5)}),
        (["a[0].b[0].w", "a[0].b[1].w", "a[1].b[0].w", "a[1].b[1].w"], {("a", 0), ("a", 1)}),
        (["blocks[0].q", "blocks[0].k"], set()),
        (["blocks[0].w", "others[1].w"], set()),
        (["blocks[0].w"], set()),
    ],
    ids=lambda case: case[0] if isinstance(case, list) else "",
)
def test_the_list_is_the_outermost_whose_index_differs(names, layers):
    assert {(layer.list, layer.index) for layer in walked(names)} == layers


def test_a_stack_of_one_layer_is_scanned(compare_gated):
    one = GATED.replace("split(key, 3)", "split(key, 1)").replace("[1, 1, 0]", "[1]")
    changes = {key.replace("split(key, 3)", "split(key, 1)"): value for key, value in FAITHFUL.items()}
    changes = {key: value.replace("split(key, 3)", "split(key, 1)") for key, value in changes.items()}
    assert compare_gated(changes, one).layers == 1
