"""Two things at once, of which the one would hide the other: what rules compute, and what values tell."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from scanify.verify.verdict import Status
from tests.verify.functions import compared, outputs, proved, verdicts

W, X = jnp.linspace(0.5, 1.5, 4), jnp.arange(4.0) + 0.25
Function = Callable[..., Any]


def halved(by: float) -> Function:
    """A loss whose forward rule gives another value than the call."""

    @jax.custom_vjp
    def loss(x: Any) -> Any:
        return jnp.sum(jnp.sin(x))

    loss.defvjp(lambda x: (by * jnp.sum(jnp.sin(x)), x), lambda x, ct: (ct * jnp.cos(x),))
    return loss


def asked(by: float) -> Function:
    """A rule that gives the parameter another cotangent where nothing else is differentiated."""

    @jax.custom_vjp
    def product(w: Any, x: Any) -> Any:
        return w * x

    def forward(w: Any, x: Any) -> Any:
        scale = by if w.perturbed and not x.perturbed else 1.0
        return w.value * x.value, (w.value, x.value, scale)

    product.defvjp(forward, lambda kept, ct: (ct * kept[1] * kept[2], ct * kept[0]), symbolic_zeros=True)
    return product


def batched(by: float) -> Function:
    @jax.custom_batching.custom_vmap
    def act(x: Any) -> Any:
        return jnp.tanh(x)

    @act.def_vmap
    def _(size: int, given: Any, x: Any) -> Any:
        return by * jnp.tanh(x), given[0]

    return act


def half(by: float) -> Function:
    """Half of the output is otherwise, in bfloat16 inside of float32."""
    return lambda w, x: (jnp.where(jnp.arange(4) < 2, 1.0, by) * (w * x)).astype(jnp.bfloat16).astype(jnp.float32)


def written(of: Function) -> Function:
    return lambda w, x, log: (log.append(w * x), of(w, x))[1]


def closed(of: Function) -> Function:
    return lambda w, x: (of(w, x), lambda z: z + w)


def masked(of: Function) -> Function:
    return lambda w, x: jnp.where(jnp.arange(4) == 3, -1e30, of(w, x))


def flagged(of: Function) -> Function:
    return lambda w, x, flag: jax.lax.cond(flag, lambda: x, lambda: of(w, x))


def looped(of: Function) -> Function:
    """With so many trips as an integer says."""
    return lambda w, x, n: jax.lax.while_loop(
        lambda c: c[0] < n, lambda c: (c[0] + 1, jnp.where(c[0] > 3, of(w, c[1]), c[1])), (0, x)
    )[1]


def of_product(make: Function) -> Function:
    def made(by: float) -> Function:
        of = make(by)
        return lambda w, x: of(w * x) * x

    return made


# What a pair is made of, what it is put into, further arguments, and which check tells the difference.
PAIRS: dict[str, tuple[Function, Function, tuple[Any, ...], str]] = {
    "a value under differentiation, and a list": (
        of_product(halved),
        written,
        ([],),
        "gradients",
    ),
    "what is differentiated, and a function that is returned": (asked, closed, (), "gradients"),
    "a batch, and a list": (of_product(batched), written, ([],), "batched"),
    "half of an output, and masked logits": (half, masked, (), "outputs"),
    "half of an output, and a branch": (half, flagged, (jnp.array(True),), "outputs"),
    "a factor, and trips that the case has not": (
        lambda by: lambda w, x: by * w * x,
        looped,
        (jnp.array(2),),
        "outputs",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_neither_hides_the_other(name: str) -> None:
    make, around, more, tells = PAIRS[name]
    first, same, other = (around(make(by)) for by in (1.0, 1.0, 0.5))
    if tells == "outputs":
        assert outputs(first, same, W, X, *more).status is Status.PROVED
        assert outputs(first, other, W, X, *more).status is Status.FAILED
    else:
        assert proved(compared(first, same, W, X, *more)) or tells == "batched"
        found = verdicts(compared(first, other, W, X, *more))
        assert found[tells] is Status.FAILED and found["outputs"] is Status.PROVED
