"""What a rerolled function is held against: the function itself, traced and run."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import scanify
from scanify.jaxpr.reading.calls import children, opened


def scans(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[int]:
    """The lengths of the scans in the program of a function, those inside others after them."""
    return lengths(eqx.filter_make_jaxpr(f)(*args, **kwargs)[0])


def lengths(jaxpr: Any) -> list[int]:
    found = []
    for equation in opened(jaxpr)[0].eqns:
        found += [equation.params["length"]] if equation.primitive.name == "scan" else []
        for child in children(equation):
            found += lengths(child)
    return found


def same(f: Callable[..., Any], *args: Any, rtol: float = 0.0, **options: Any) -> list[int]:
    """Hold a rerolled function against itself, jitted; the lengths of its scans."""
    rerolled = scanify.reroll(f, **{"min_layers": 3, **options})
    ours, theirs = eqx.filter_jit(rerolled)(*args), eqx.filter_jit(f)(*args)
    equal(ours, theirs, rtol)
    return scans(rerolled, *args)


def same_gradient(f: Callable[..., Any], *args: Any, rtol: float = 1e-5, **options: Any) -> None:
    """Hold the gradient of the sum of a rerolled function with respect to its first argument against its own."""

    def total(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: sum(jnp.sum(leaf) for leaf in jax.tree.leaves(f(*args)) if eqx.is_inexact_array(leaf))

    rerolled = scanify.reroll(f, **{"min_layers": 3, **options})
    ours, theirs = (eqx.filter_jit(eqx.filter_grad(total(each)))(*args) for each in (rerolled, f))
    equal(ours, theirs, rtol)


def equal(ours: Any, theirs: Any, rtol: float) -> None:
    """The same pytree with the same types and values; bit for bit where `rtol` is 0."""
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        if not isinstance(other, jax.Array):
            assert type(one) is type(other)
            assert np.array_equal(one, other)
            continue
        assert jax.typeof(one) == jax.typeof(other)
        if jax.dtypes.issubdtype(one.dtype, jax.dtypes.prng_key):
            one, other = jax.random.key_data(one), jax.random.key_data(other)
        scale = float(np.max(np.abs(np.asarray(other, np.float64)), initial=1e-30)) if rtol else 1.0
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * scale)
