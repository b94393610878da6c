"""What the target `nnx` writes does what the loop does: outputs, gradients, the state afterwards; or says that it cannot."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.pipeline import Project, rewrite_sources
from tests.emit.targets.nnx_models import BESIDE_LAYERS, LOOP, model, with_norms
from tests.emit.targets.nnx_run import X, arrays, loaded, scanned

nnx: Any = pytest.importorskip("flax.nnx", reason="flax is not installed")
if not hasattr(nnx, "List"):
    pytest.skip("flax is older than 0.12", allow_module_level=True)


def trained(text: str, *, train: bool = True) -> tuple[Any, ...]:
    """What a model gives in a call and in a second one, its gradients under `jit`, and its state after all of it."""
    with loaded(text) as module:
        made = module.Model(3, rngs=nnx.Rngs(0))
        if not train:
            made.eval()
        first, second = made(X), made(X)

        @nnx.jit
        def step(given: Any) -> Any:
            return nnx.value_and_grad(lambda one: jnp.sum(jnp.sin(one(X))))(given)

        return first, second, step(made), nnx.split(made)[1]


@pytest.mark.parametrize(
    ("block", "remat"),
    [("dense", "full"), ("dropout", "none"), ("statistics", "full"), ("statistics", "dots"), ("counting", "full")],
)
def test_training_gives_what_the_loop_gives(block: str, remat: str) -> None:
    text = model(block)
    expected, found = trained(text), trained(scanned(text, remat))
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(arrays(found), arrays(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def test_the_state_afterwards_is_that_of_the_loop() -> None:
    text = model("statistics")
    with loaded(scanned(text)) as module:
        made = module.Model(3, rngs=nnx.Rngs(0))
        before = [layer.norm.mean[...] for layer in made.layers]
        layers = list(made.layers)
        made(X)
        assert [int(layer.dropout.rngs.count[...]) for layer in made.layers] == [1, 1, 1]
        after = [layer.norm.mean[...] for layer in made.layers]
        assert all(bool((one != other).any()) for one, other in zip(before, after, strict=True))
        assert not np.allclose(after[0], after[1])
        assert all(one is other for one, other in zip(layers, made.layers, strict=True))
        made.eval()
        held = [layer.norm.mean for layer in made.layers]
        values = [each.get_value() for each in held]
        jax.jit(lambda x: made(x))(X)  # what is only read may be closed over, as in the loop
        assert all(each.get_value() is value for each, value in zip(held, values, strict=True))


COLLECTED = """
        hidden = []
        for layer in self.layers:
            x = layer(x)
            hidden.append(x)
        return x, hidden
"""
BESIDE = """
        for layer, scale in zip(self.layers, jnp.arange(1.0, 4.0)):
            x = layer(x) * scale
        return x
"""


NUMBERED = """
        for i, layer in enumerate(self.layers):
            x = layer(x) * (i + 0.5)
        return x
"""
BACKWARDS = """
        for i in range(len(self.layers) - 1, -1, -1):
            x = self.layers[i](x) / (i + 1)
        return x
"""
CALLS = {"collected": COLLECTED, "beside": BESIDE, "numbered": NUMBERED, "backwards": BACKWARDS}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_outputs_are_collected_and_values_given_layer_by_layer(call: str) -> None:
    text = model("dense", call)
    results = []
    for each in (text, scanned(text)):
        with loaded(each) as module:
            results.append(module.Model(3, rngs=nnx.Rngs(0))(X))
    assert jax.tree.structure(results[1]) == jax.tree.structure(results[0])
    for one, other in zip(arrays(results[1]), arrays(results[0]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "call", [BESIDE_LAYERS, "\n        return [layer(x) for layer in self.layers]\n"], ids=["two lists", "map"]
)
def test_layers_of_two_lists_and_maps_have_the_outputs_and_the_state_of_the_loop(call: str, tmp_path: Path) -> None:
    text = with_norms(model("statistics", call))
    path = tmp_path / "model.py"
    path.write_text(text)
    outcome = rewrite_sources(Project.load([path]), target="nnx", accept=lambda plan: True)
    assert outcome.applied
    results = []
    for each in (text, outcome.texts[path]):
        with loaded(each) as module:
            made = module.Model(3, rngs=nnx.Rngs(0))
            results.append((made(X), nnx.jit(lambda one: one(X))(made), nnx.split(made)[1]))
    assert jax.tree.structure(results[1]) == jax.tree.structure(results[0])
    for one, other in zip(arrays(results[1]), arrays(results[0]), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def test_lists_of_other_lengths_or_other_modules_are_an_error(tmp_path: Path) -> None:
    text = scanned(with_norms(model("dense", BESIDE_LAYERS)))
    with loaded(text) as module:
        made = module.Model(3, rngs=nnx.Rngs(0))
        made.norms[1].momentum = 0.5
        with pytest.raises(ValueError, match="layers 0 and 1 that differ"):
            made(X)
        made = module.Model(3, rngs=nnx.Rngs(0))
        made.norms = nnx.List(list(made.norms)[:2])
        with pytest.raises(ValueError, match="zip"):
            made(X)


def test_a_function_that_each_layer_makes_anew_is_one_where_its_code_holds_the_same() -> None:
    plain = scanned(model("dense")).replace("class Block", "NUMBERS = iter(range(9))\n\n\nclass Block", 1)
    for held, agrees in (("dim", True), ("next(NUMBERS)", False), ("dim if rngs.params() is None else 1.0", True)):
        text = plain.replace("self.norm =", f"self.scale = lambda x, by={held}: x * by\n        self.norm =")
        with loaded(text) as module:
            made = module.Model(3, rngs=nnx.Rngs(0))
            if agrees:
                assert made(X).shape == X.shape
                continue
            with pytest.raises(ValueError, match="layers 0 and 1 that differ in the values of arrays alone"):
                made(X)


LOUD: dict[str, tuple[str, Callable[[Any], Any], type[Exception], str]] = {
    "another rate": (
        "dropout",
        lambda made: setattr(made.layers[1].dropout, "rate", 0.5),
        ValueError,
        "layers 0 and 1 that differ",
    ),
    "a rate of another type": (
        "dropout",
        lambda made: (setattr(made.layers[0].dropout, "rate", 1.0), setattr(made.layers[1].dropout, "rate", 1)),
        ValueError,
        "layers 0 and 1 that differ",
    ),
    "another width": (
        "dense",
        lambda made: made.layers[2].linear.kernel.set_value(jnp.ones((4, 4), jnp.bfloat16)),
        ValueError,
        "one shape and dtype",
    ),
    "another shape": (
        "dense",
        lambda made: setattr(made.layers[2], "linear", nnx.Linear(4, 1, rngs=nnx.Rngs(0))),
        ValueError,
        "layers 0 and 2 that differ",
    ),
    "another shape of a variable alone": (
        "dense",
        lambda made: made.layers[2].linear.bias.set_value(jnp.zeros(1)),
        ValueError,
        "one shape and dtype",
    ),
    "another type of variable": (
        "dense",
        lambda made: setattr(made.layers[1].linear, "bias", nnx.BatchStat(jnp.zeros(4))),
        ValueError,
        "layers 0 and 1 that differ",
    ),
    "no variable": (
        "dense",
        lambda made: setattr(made.layers[1].linear, "bias", None),
        ValueError,
        "layers 0 and 1 that differ",
    ),
    "another way to collect statistics": (
        "statistics",
        lambda made: setattr(made.layers[1].norm, "momentum", 0.5),
        ValueError,
        "layers 0 and 1 that differ",
    ),
    "statistics that are used in one layer": (
        "statistics",
        lambda made: setattr(made.layers[2].norm, "use_running_average", True),
        ValueError,
        "layers 0 and 2 that differ",
    ),
    "statistics of another width": (
        "statistics",
        lambda made: made.layers[1].norm.mean.set_value(jnp.zeros(1)),
        ValueError,
        "one shape and dtype",
    ),
    "a stream of its own for one layer alone": (
        "dropout",
        lambda made: [setattr(made.layers[at].dropout, "rngs", made.layers[1].dropout.rngs) for at in (0,)],
        ValueError,
        "layers that share some",
    ),
    "no stream in one layer": (
        "dropout",
        lambda made: setattr(made.layers[1].dropout, "rngs", None),
        ValueError,
        "layers 0 and 1 that differ",
    ),
    "another class": (
        "dense",
        lambda made: setattr(made.layers[1], "norm", nnx.RMSNorm(4, rngs=nnx.Rngs(0))),
        ValueError,
        "layers 0 and 1 that differ",
    ),
    "a number of Python": ("dense", lambda made: made.layers[0].linear.bias.set_value(0.5), TypeError, "arrays of jax"),
    "a shared variable": (
        "dense",
        lambda made: setattr(made.layers[1].linear, "bias", made.layers[0].linear.bias),
        ValueError,
        "layers that share some",
    ),
    "a shared stream": (
        "dropout",
        lambda made: setattr(made.layers[1].dropout, "rngs", made.layers[0].dropout.rngs),
        ValueError,
        "layers that share some",
    ),
    "one layer in training": ("dropout", lambda made: made.layers[0].eval(), ValueError, "layers 0 and 1 that differ"),
}


@pytest.mark.parametrize("name", LOUD)
def test_layers_that_no_scan_can_apply_are_an_error(name: str) -> None:
    block, change, kind, said = LOUD[name]
    with loaded(scanned(model(block))) as module, warnings.catch_warnings():
        made = module.Model(3, rngs=nnx.Rngs(0))
        change(made)
        with pytest.raises(kind, match=said):
            made(X)


BODIES: dict[str, tuple[str, type[Exception], str]] = {
    "a number that counts": (
        "self.calls = getattr(self, 'calls', 0) + 1\n        return x",
        ValueError,
        "before and after its call",
    ),
    "a value for later": (
        "self.sow(nnx.Intermediate, 'h', x)\n        return x",
        ValueError,
        "before and after its call",
    ),
    "another dtype": ("return x.astype(jnp.bfloat16)", ValueError, "give on what they are given"),
}


@pytest.mark.parametrize("name", BODIES)
def test_what_a_layer_may_not_do_in_a_scan_is_an_error(name: str) -> None:
    body, kind, said = BODIES[name]
    plain = scanned(model("dense"))
    text = plain.replace("return x + nnx.gelu(self.linear(self.norm(x)))", body)
    assert text != plain
    with loaded(text) as module, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with pytest.raises(kind, match=said):
            module.Model(3, rngs=nnx.Rngs(0))(X)


def test_a_module_beside_the_layers_that_the_loop_writes_to_is_an_error() -> None:
    text = model("dense", LOOP.replace("layer(x)", "self.norm(layer(x))")).replace(
        "        self.layers", "        self.norm = nnx.BatchNorm(4, rngs=rngs)\n        self.layers"
    )
    with loaded(scanned(text)) as module:
        made = module.Model(3, rngs=nnx.Rngs(0))
        with pytest.raises(Exception, match="trace level"):
            made(X)
        made.eval()
        assert made(X).shape == X.shape


def read_elsewhere(variable: str) -> str:
    """A model whose loop reads a variable of its first layer in each turn, as a text with a scan."""
    plain = scanned(model("statistics"))
    text = plain.replace("x = layer(x)", f"x = layer(x) + first.{variable}[...]")
    text = text.replace("def apply_layer(", "first = self.layers[0]\n\n        def apply_layer(")
    assert text.count("first") == 2
    return text


def test_what_a_layer_writes_to_is_not_read_elsewhere() -> None:
    with loaded(read_elsewhere("norm.mean")) as module:
        made = module.Model(3, rngs=nnx.Rngs(0))
        before = arrays(nnx.split(made)[1])
        with pytest.raises(ValueError, match="got one that reads it elsewhere, too"):
            made(X)
        for one, other in zip(arrays(nnx.split(made)[1]), before, strict=True):
            np.testing.assert_array_equal(one, other)
        made.eval()
        assert made(X).shape == X.shape


def test_what_no_layer_writes_to_may_be_read_elsewhere() -> None:
    loop = LOOP.replace("layer(x)", "layer(x) + self.layers[0].norm.bias[...]")
    expected = model("statistics", loop)
    results = []
    for text in (expected, read_elsewhere("norm.bias")):
        with loaded(text) as module:
            made = module.Model(3, rngs=nnx.Rngs(0))
            results.append((made(X), made(X), nnx.split(made)[1]))
    for one, other in zip(arrays(results[1]), arrays(results[0]), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("walk", ["self.layers[1:]", "reversed(self.layers)"])
def test_a_part_of_the_list_and_its_other_order_have_the_state_of_the_loop(walk: str, tmp_path: Path) -> None:
    text = model("statistics", LOOP.replace("self.layers", walk))
    path = tmp_path / "model.py"
    path.write_text(text)
    outcome = rewrite_sources(Project.load([path]), target="nnx", accept=lambda plan: True)
    results = []
    for each in (text, outcome.texts[path]):
        with loaded(each) as module:
            made = module.Model(3, rngs=nnx.Rngs(0))
            results.append((made(X), nnx.jit(lambda one: one(X))(made), nnx.split(made)[1]))
    assert outcome.applied
    for one, other in zip(arrays(results[1]), arrays(results[0]), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def test_no_layers_are_no_scan() -> None:
    with loaded(scanned(model("dense"))) as module:
        assert module.Model(0, rngs=nnx.Rngs(0))(X) is X
