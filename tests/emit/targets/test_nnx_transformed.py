"""A lifted scan with BatchNorm and Dropout, as the target `nnx` writes it, under each transformation of jax.

The model is a function of its variables, in both of Flax's modes, with and without remat: outputs, statistics and counts
of random numbers afterwards are those of the loop.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.emit.targets.nnx_models import model
from tests.emit.targets.nnx_run import X, arrays, loaded, scanned

nnx: Any = pytest.importorskip("flax.nnx", reason="flax is not installed")
if not hasattr(nnx, "List"):
    pytest.skip("flax is older than 0.12", allow_module_level=True)

TEXT = model("statistics")
Pure = Callable[[Any, Any], Any]
SETS_MODE = hasattr(nnx, "set_graph_mode")
MODES = [True, pytest.param(False, marks=pytest.mark.skipif(not SETS_MODE, reason="flax has no tree mode"))]


def graph_mode(*, on: bool) -> AbstractContextManager[Any]:
    """Flax with its graphs, or with trees alone."""
    return nnx.set_graph_mode(on) if SETS_MODE else nullcontext()


def made(text: str, *, train: bool = True) -> tuple[Pure, Any]:
    """The model of a text as a pure function of its parameters and an input, and the parameters."""
    with loaded(text) as module:
        network = module.Model(3, rngs=nnx.Rngs(0))
        if not train:
            network.eval()
        graph, parameters, others = nnx.split(network, nnx.Param, ...)

    def pure(parameters: Any, x: Any) -> Any:
        again = nnx.merge(graph, parameters, jax.tree.map(jnp.asarray, others))  # variables of this trace
        output = again(x)
        _, _, after = nnx.split(again, nnx.Param, ...)
        return output, [_bits(leaf) for leaf in jax.tree.leaves(after)]

    return pure, parameters


def _bits(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


def output_alone(pure: Pure) -> Pure:
    """The output, with statistics, which are functions of the parameters; counts and keys have no derivative."""

    def called(parameters: Any, x: Any) -> Any:
        output, after = pure(parameters, x)
        return output, [leaf for leaf in after if jnp.issubdtype(leaf.dtype, jnp.floating)]

    return called


def ones(tree: Any) -> Any:
    return jax.tree.map(jnp.ones_like, tree)


TRANSFORMED: dict[str, Callable[[Pure, Any], Any]] = {
    "as it is": lambda pure, given: pure(given, X),
    "jit": lambda pure, given: jax.jit(pure)(given, X),
    "vmap": lambda pure, given: jax.vmap(pure, (None, 0))(given, jnp.stack([X, X * 0.5, -X])),
    "jvp": lambda pure, given: jax.jvp(output_alone(pure), (given, X), (ones(given), ones(X))),
    "vjp": lambda pure, given: cotangents(*jax.vjp(output_alone(pure), given, X)),
    "linearize": lambda pure, given: tangents(given, *jax.linearize(output_alone(pure), given, X)),
    "jit of grad": lambda pure, given: jax.jit(jax.grad(lambda given, x: jnp.sum(jnp.sin(pure(given, x)[0]))))(
        given, X
    ),
    "vmap of grad": lambda pure, given: jax.vmap(
        jax.grad(lambda given, x: jnp.sum(jnp.sin(pure(given, x)[0]))), (None, 0)
    )(given, jnp.stack([X, X * 0.5])),
}


def cotangents(outputs: Any, pulled: Callable[[Any], Any]) -> Any:
    return outputs, pulled(ones(outputs))


def tangents(given: Any, outputs: Any, pushed: Callable[[Any, Any], Any]) -> Any:
    return outputs, pushed(ones(given), ones(X))


@pytest.mark.parametrize("on", MODES, ids=["graphs", "trees"])
@pytest.mark.parametrize("remat", ["none", "full"])
@pytest.mark.parametrize("name", TRANSFORMED)
def test_the_scan_is_the_loop_under_each_transformation(name: str, remat: str, on: bool) -> None:
    with graph_mode(on=on):
        expected, found = (TRANSFORMED[name](*made(text)) for text in (TEXT, scanned(TEXT, remat)))
    assert len(arrays(found)) == len(arrays(expected)) > 1
    for one, other in zip(arrays(found), arrays(expected), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("on", MODES, ids=["graphs", "trees"])
def test_the_program_has_one_scan_where_the_loop_has_none(on: bool) -> None:
    with graph_mode(on=on):
        loop, scan = (str(jax.make_jaxpr(pure)(given, X)) for pure, given in (made(TEXT), made(scanned(TEXT, "none"))))
    assert loop.count(" scan[") == 0
    assert scan.count(" scan[") == 1
    assert (loop.count("dot_general["), scan.count("dot_general[")) == (3, 1)


def test_what_is_compared_changes_in_a_call() -> None:
    pure, given = made(TEXT)
    _, before = pure(given, X)
    again, _ = made(TEXT, train=False)
    _, kept = again(given, X)
    assert any(not np.array_equal(one, other) for one, other in zip(before, kept, strict=True))
