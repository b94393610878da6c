"""One step of training with the optimiser of a case: proved, tested, or told what to write instead."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.errors import ScanifyError
from scanify.nn import ArrayStacked
from scanify.verify.compare.compare import compare_case
from scanify.verify.training.step import optimizer_of
from scanify.verify.verdict import CaseResult, Status
from tests.command import MODEL, Tool


class Optimizer(NamedTuple):
    """What optax calls a GradientTransformation."""

    init: Any
    update: Any


def each(function: Any) -> Optimizer:
    """An optimiser without a state, by what it makes of a gradient and its parameter."""
    return Optimizer(lambda params: None, lambda grads, state, params: (jax.tree.map(function, grads, params), state))


def of_norm(grads: Any, state: Any, params: Any) -> Any:
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))
    return jax.tree.map(lambda g: -0.1 * g / norm, grads), state


ENTRIES = each(lambda g, p: -0.1 * g / (jnp.abs(g) + 1e-8) - 0.01 * p)
NORMS = each(lambda g, p: -0.1 * g / (jnp.linalg.norm(g) + 1e-8))
RANKS = each(lambda g, p: -0.1 * g - (0.01 * p if p.ndim > 1 else 0.0))
WHOLE = Optimizer(lambda params: None, of_norm)


class Layers(eqx.Module):
    layers: Any

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = jax.nn.gelu(layer(x))
        return x


class Stack(Layers):
    def __call__(self, x: Any) -> Any:
        return self.layers.fold_via(lambda layer, x: jax.nn.gelu(layer(x)))(x)


Stack.__qualname__ = "Layers"  # the versions of a file have one name


def versions(optimizer: Any, after: Any = None) -> tuple[Any, Any]:
    """Two cases, a list of layers and their stack."""

    def built(kind: Any, make: Any) -> Any:
        keys = jax.random.split(jax.random.key(0), 3)
        return kind(make([eqx.nn.Linear(3, 3, key=key) for key in keys])), (jnp.arange(3.0),)

    def first() -> Any:
        return built(Layers, list)

    def second() -> Any:
        return built(Stack, ArrayStacked.of)

    first.optimizer, second.optimizer = optimizer, after or optimizer  # type: ignore[attr-defined]
    return first, second


def compared(optimizer: Any, after: Any = None, *, abstract: bool = False) -> CaseResult:
    options: Any = {"policies": ["none"], "requested": None, "abstract": abstract, "measure": False}
    return compare_case("case", *versions(optimizer, after), **options)


def verdict(*given: Any, **options: Any) -> Any:
    result = compared(*given, **options)
    assert result.updates is not None
    assert result.good == result.updates.good
    return result.updates


@pytest.mark.parametrize("abstract", [False, True])
def test_what_is_done_to_each_entry_is_proved(abstract: bool) -> None:
    assert verdict(ENTRIES, abstract=abstract).status is Status.PROVED


@pytest.mark.parametrize("optimizer", [NORMS, RANKS], ids=["norms", "ranks"])
def test_what_looks_at_an_array_as_a_whole_fails_and_is_told_what_to_write(optimizer: Optimizer) -> None:
    found = verdict(optimizer)
    assert found.status is Status.FAILED
    assert "at the updated layers[" in found.reason
    assert "scanify.optim.per_layer(optimizer) shows it each layer" in found.reason


def test_a_norm_of_the_whole_model_is_tested() -> None:
    found = verdict(WHOLE)
    assert found.status is Status.TESTED
    assert "one step: float64" in found.reason


def test_another_optimiser_after_the_rewrite_is_seen() -> None:
    slower = each(lambda g, p: -0.09 * g / (jnp.abs(g) + 1e-8) - 0.01 * p)
    assert verdict(ENTRIES, slower).status is Status.FAILED


def test_an_optimiser_that_cannot_update_the_stack_fails() -> None:
    def only_lists(grads: Any, state: Any, params: Any) -> Any:
        assert isinstance(params.layers, list)
        return grads, state

    found = verdict(Optimizer(lambda params: None, only_lists))
    assert (found.status, "cannot update the rewritten model: AssertionError" in found.reason) == (Status.FAILED, True)


def test_an_optimiser_that_cannot_update_the_original_is_a_mistake_of_the_case() -> None:
    def broken(grads: Any, state: Any, params: Any) -> Any:
        raise TypeError("no")

    with pytest.raises(ScanifyError, match="the case's optimizer cannot update the original model: TypeError: no"):
        compared(Optimizer(lambda params: None, broken))


def test_without_an_optimiser_nothing_is_said() -> None:
    result = compared(None)
    assert result.updates is None and result.good


@pytest.mark.parametrize(
    "optimizer",
    [
        "lamb",
        pytest.param("adafactor", marks=pytest.mark.whole),
        pytest.param("muon", marks=pytest.mark.whole),
    ],
)
def test_per_layer_is_proved(optimizer: str) -> None:
    optax = pytest.importorskip("optax", reason="per_layer wraps optimisers of optax")
    from scanify.optim import per_layer

    make = optax.contrib.muon if optimizer == "muon" else getattr(optax, optimizer)
    assert verdict(per_layer(make(0.1))).status is Status.PROVED


def test_what_an_optimiser_may_be() -> None:
    assert optimizer_of(None, "module") is None
    assert optimizer_of(ENTRIES, "module") is ENTRIES
    assert optimizer_of(lambda module: (ENTRIES, module)[0], "module") is ENTRIES
    with pytest.raises(ScanifyError, match=r"expected the case's `optimizer` to be one of optax, .* got int"):
        optimizer_of(3, "module")


CASES = """\
import jax
import jax.numpy as jnp
from tests.verify.test_updates import ENTRIES, NORMS


def case(module):
    return module.Model(4, 3, key=jax.random.key(0)), (jnp.ones(4),)


case.optimizer = lambda module: NORMS if hasattr(module, "ArrayStacked") == {scanned} else ENTRIES
"""


@pytest.mark.parametrize(("scanned", "code"), [pytest.param("None", 0, marks=pytest.mark.whole), ("True", 3)])
def test_a_rewrite_is_written_only_where_training_stays_the_same(tool: Tool, scanned: str, code: int) -> None:
    tool.write("model.py", MODEL)
    tool.write("cases.py", CASES.format(scanned=scanned))
    done = tool("rewrite", "model.py", "--case", "cases.py:case", "--remat", "none")
    assert (done.code, f"updates {'PROVED' if code == 0 else 'FAILED'}" in done.err) == (code, True), done.err
    assert ("ArrayStacked" in (tool.folder / "model.py").read_text()) == (code == 0)
