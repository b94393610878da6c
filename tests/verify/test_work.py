"""The operations of a traced program: scans as often as they are long, what nothing uses not at all."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from scanify.verify.measure import work as counter
from scanify.verify.measure.work import Work, work

N, D = 6, 8
X, W = jnp.ones(D), jnp.ones((N, D, D))


def of(function: Any, *args: Any) -> Work:
    return work(jax.make_jaxpr(function)(*args))


def layers(x: jax.Array, w: jax.Array) -> jax.Array:
    return lax.scan(lambda x, w: (jnp.sin(w @ x), None), x, w)[0]


TWICE = jax.jit(jnp.sin)

# Each is counted by hand: `(function, arguments, operations)`.
PROGRAMS: dict[str, tuple[Any, tuple[Any, ...], int]] = {
    "elementwise": (lambda x: jnp.sin(x) + x, (X,), 2 * D),
    "a product of matrices": (lambda a, b: a @ b, (jnp.ones((2, 3)), jnp.ones((3, 5))), 2 * 2 * 3 * 5),
    "a batched product": (
        lambda a, b: jnp.einsum("bij,bjk->bik", a, b),
        (jnp.ones((7, 2, 3)), jnp.ones((7, 3, 5))),
        7 * 2 * 2 * 3 * 5,
    ),
    "a convolution": (
        lambda x, k: lax.conv(x, k, (1, 1), "VALID"),
        (jnp.ones((2, 3, 8, 8)), jnp.ones((4, 3, 3, 3))),
        2 * (2 * 4 * 6 * 6) * (3 * 3 * 3),
    ),
    "a reduction": (lambda x: lax.reduce_max(x, (0,)), (X,), D),
    "only moves": (lambda w: lax.transpose(w[0], (1, 0)).reshape(-1), (W,), 0),
    "a scan": (layers, (X, W), N * (2 * D * D + D)),
    "a call": (jax.jit(lambda x: jnp.sin(x)), (X,), D),
    "a call twice": (lambda x: TWICE(TWICE(x)), (X,), 2 * D),
    "the costlier branch": (
        lambda x: lax.cond(True, lambda x: jnp.sin(jnp.cos(x)), jnp.sin, x),
        (X,),
        2 * D,
    ),
    "what nothing uses": (lambda x: (jnp.cos(x), jnp.sin(x))[1], (X,), D),
    "a function with rules of its own": (lambda x: jax.nn.relu(x), (X,), D),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    function, args, operations = PROGRAMS[name]
    assert of(function, *args) == Work(operations, 0)


@pytest.mark.parametrize(
    ("name", "attribute", "wrong"),
    [
        ("a scan", "children", lambda equation: []),
        ("what nothing uses", "_used", lambda jaxpr: jaxpr.eqns),
        ("only moves", "_MOVES", frozenset()),
    ],
)
def test_the_program_would_catch_a_wrong_count(
    name: str, attribute: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter, attribute, wrong)
    function, args, operations = PROGRAMS[name]
    assert of(function, *args) != Work(operations, 0)


def gradient(apply: Any, w: Any = W) -> int:
    return of(jax.grad(lambda x, w: apply(x, w).sum(), argnums=(0, 1)), X, w).flops


def by_loop(x: jax.Array, w: tuple[jax.Array, ...]) -> jax.Array:
    for layer in w:
        x = jnp.sin(layer @ x)
    return x


def by_scan(remat: bool, chunk: int = 0) -> Any:
    def body(x: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
        return jnp.sin(w @ x), None

    step = jax.checkpoint(body, prevent_cse=False) if remat else body

    def outer(x: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
        return lax.scan(step, x, w)

    chunks = jax.checkpoint(outer, prevent_cse=False)
    return lambda x, w: lax.scan(chunks, x, w.reshape(-1, chunk, D, D))[0] if chunk else lax.scan(step, x, w)[0]


def test_a_scan_does_what_its_loop_does_and_remat_runs_the_forward_pass_again() -> None:
    plain, full, nested = gradient(by_scan(False)), gradient(by_scan(True)), gradient(by_scan(True, chunk=2))
    assert plain == N * (3 * 2 * D * D + 3 * D)  # sine, cosine, and a product with it
    assert gradient(by_loop, tuple(W)) == plain - D  # the sine of the last layer, which the derivative does not need
    assert full - plain == N * (2 * D * D)  # what the derivative needs: its sine is not
    assert nested - full == N * (2 * D * D + D)


def test_xla_counts_the_body_of_a_scan_once() -> None:
    """Why the count is our own. Where this fails XLA has learnt to count, and its figure can be used."""
    counted = jax.jit(layers).lower(X, W).compile().cost_analysis()["flops"]
    assert counted < of(layers, X, W).flops / 2


def test_what_goes_to_host_memory_is_counted() -> None:
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["kept"],
        offload_src="device",
        offload_dst="pinned_host",
    )

    def body(x: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
        return jnp.sin(w @ jax.ad_checkpoint.checkpoint_name(x, "kept")), None

    def apply(offload: bool) -> Work:
        step = jax.checkpoint(body, policy=policy if offload else None, prevent_cse=False)
        return of(jax.grad(lambda x: lax.scan(step, x, W)[0].sum()), X)

    assert apply(False).moved == 0
    assert apply(True).moved == 2 * N * D * 4  # there and back, float32
    assert apply(True).flops == apply(False).flops
